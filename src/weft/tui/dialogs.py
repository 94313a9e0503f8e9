"""Dialogs of `weft top`: a question of the run, a confirmation, and the help, which can be searched."""

from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from weft.app.views.wording.style import Style

HELP = (
    ("j k ↓ ↑", "down and up"),
    ("g G", "first and last line"),
    ("h l", "fold and unfold a group"),
    ("Enter", "show the chosen subplan on the right"),
    ("Esc", "back; ends a filter"),
    ("Tab", "from the list of needs to the tree to the right side"),
    ("/", "filter the tree; in a log, search"),
    (":", "jump to a subplan, or type a command such as pause store; Tab completes"),
    ("n", "next subplan that needs you; in a log, next match"),
    ("e", "next failed subplan; in a log, next error"),
    ("L W D", "log, why, diff"),
    ("f", "follow the end of a log"),
    ("z", "show or hide completed work that has landed"),
    ("a", "answer a question: yes or no"),
    ("m", "merge or land what is held"),
    ("p", "pause or resume the chosen subplan"),
    ("s", "stop the chosen subplan"),
    ("R", "retry what has failed"),
    ("y", "then a key: copy the command that the key would run"),
    ("q", "leave; the run continues"),
)


class Dialog(ModalScreen[str]):
    """A text and keys. It returns the key, or an empty string if it was left."""

    DEFAULT_CSS = """
    Dialog { align: center middle; background: ansi_default 40%; }
    Dialog > Vertical { width: 90%; max-width: 100; height: auto; max-height: 90%; border: round ansi_cyan;
                        background: ansi_default; padding: 0 1; overflow-y: auto; }
    Dialog Static { width: 100%; height: auto; }
    """

    def __init__(self, text: str, keys: str, hint: str, style: Style) -> None:
        super().__init__()
        self._text = "\n".join(style.shown(line) for line in text.splitlines())
        self._keys = keys
        self._hint = hint

    def compose(self) -> ComposeResult:
        with Vertical():
            # Without markup: the text comes from agents, and brackets in it are brackets.
            yield Static(self._text, markup=False)
            yield Static("", markup=False)
            yield Static(self._hint, markup=False)

    def on_key(self, event: events.Key) -> None:
        event.stop()
        if event.key in self._keys.split():
            self.dismiss(event.key)
        elif event.key in {"escape", "q"}:
            self.dismiss("")


class Help(ModalScreen[None]):
    DEFAULT_CSS = """
    Help { align: center middle; background: ansi_default 40%; }
    Help > Vertical { width: 90%; max-width: 80; height: 90%; border: round ansi_cyan; background: ansi_default;
                      padding: 0 1; overflow-y: auto; }
    Help Static { height: auto; }
    Help Input { border: none; height: 1; background: ansi_default; padding: 0; }
    """
    BINDINGS: ClassVar = [("escape", "dismiss", "Back")]

    def compose(self) -> ComposeResult:
        with Vertical():
            yield Input(placeholder="type to search; Esc closes", compact=True)
            yield Static(_help_text(""), markup=False, id="entries")

    def on_input_changed(self, event: Input.Changed) -> None:
        self.query_one("#entries", Static).update(_help_text(event.value))


def _help_text(search: str) -> str:
    fitting = [entry for entry in HELP if search.lower() in " ".join(entry).lower()]
    return "\n".join(f"{key:<9}{does}" for key, does in fitting) or "no such key"
