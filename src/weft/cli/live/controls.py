"""The keys of the live view: a small state machine from keys to requests.

It knows the view of the run and no terminal. A key opens a panel, moves in it, or returns a request, which the
caller carries out without waiting for it.
"""

from enum import Enum, auto

from msgspec import Struct

from weft.app.views.rows import OpenStepQuestion
from weft.app.views.run_view import RunView
from weft.app.views.wording.words import answer_command, count

_NEXT = frozenset({"j", "down", "pagedown", "enter"})
_PREVIOUS = frozenset({"k", "up", "pageup"})
_CLOSE = frozenset({"escape", "q"})


class Panel(Enum):
    """What is shown instead of the table."""

    NONE = auto()
    HELP = auto()
    QUESTION = auto()
    LAND = auto()
    LEAVE = auto()
    LOG = auto()


class Command(Struct, frozen=True):
    """A command to run in the background."""

    line: str


class Leave(Struct, frozen=True):
    """To leave the run, which continues in the background."""


class OpenTop(Struct, frozen=True):
    """To show the run in `weft top` until the user leaves that."""


Request = Command | Leave | OpenTop


class AskedQuestion(Struct, frozen=True):
    path: str
    step: str
    question: OpenStepQuestion


class Controls:
    def __init__(self, *, is_own: bool) -> None:
        """`is_own` says whether this process runs the run, so that leaving hands it over to the background."""
        self.is_own = is_own
        self.panel = Panel.NONE
        self.offset = 0
        """How far the panel is scrolled, or which slice its log is of."""
        self.note = ""
        """The result of the last command."""
        self._answered: set[int] = set()
        """Questions that were answered here and that the run has not taken up yet, by firing."""

    def questions(self, view: RunView) -> list[AskedQuestion]:
        """Returns the open questions, the oldest first."""
        asked = [
            AskedQuestion(view.outline.paths[row], step, question)
            for row in view.row_index.asking
            for step, question in view.rows[row].questions.items()
            if question.firing not in self._answered
        ]
        return sorted(asked, key=lambda each: (each.question.asked_at, each.question.firing))

    def running(self, view: RunView) -> list[str]:
        """Returns the subplans with a running step, the one that started last first."""
        started = {path: step.started_at for path, step in view.under_way() if step.command or step.agent}
        return sorted(started, key=lambda path: -started[path])

    def keys(self, view: RunView) -> list[tuple[str, str]]:
        """Returns the keys that do something now, each with its effect, the most urgent first."""
        found: list[tuple[str, str]] = []
        questions = len(self.questions(view))
        if questions:
            found.append(("a", "answer" if questions == 1 else f"answer ({questions:,})"))
        if view.landings.to_agree():
            found.append(("m", "land"))
        found.append(("p", "resume" if _is_paused(view) else "pause"))
        if self.running(view):
            found.append(("l", "log"))
        found += [("t", "top"), ("q", "leave it running" if self.is_own else "leave"), ("?", "help")]
        return found

    def press(self, key: str, view: RunView) -> Request | None:
        """Applies a key, and returns what it asks for."""
        self.note = ""
        match self.panel:
            case Panel.NONE:
                return self._press_plain(key, view)
            case Panel.QUESTION:
                return self._press_question(key, view)
            case Panel.LAND:
                return self._press_land(key)
            case Panel.LEAVE:
                return self._press_leave(key)
            case Panel.HELP | Panel.LOG:
                self._move(key, opener="?" if self.panel is Panel.HELP else "l")
                return None

    def _press_plain(self, key: str, view: RunView) -> Request | None:
        match key:
            case "q" if not self.is_own:
                return Leave()
            case "p":
                return Command("weft resume" if _is_paused(view) else "weft pause")
            case "t":
                return OpenTop()
            case _:
                self._open_panel(key, view)
                return None

    def _open_panel(self, key: str, view: RunView) -> None:
        panels = {
            "a": (Panel.QUESTION, "" if self.questions(view) else "no question is open"),
            "m": (Panel.LAND, "" if view.landings.to_agree() else "nothing waits for your consent to land"),
            "l": (Panel.LOG, "" if self.running(view) else "no step runs"),
            "q": (Panel.LEAVE, ""),
            "?": (Panel.HELP, ""),
        }
        if key in panels:
            panel, self.note = panels[key]
            self.panel, self.offset = (Panel.NONE if self.note else panel), 0

    def _close(self) -> None:
        self.panel, self.offset = Panel.NONE, 0

    def _move(self, key: str, *, opener: str = "") -> None:
        if key in _CLOSE or key == opener:
            self._close()
        elif key in _NEXT:
            self.offset += 1
        elif key in _PREVIOUS:
            self.offset = max(0, self.offset - 1)

    def _press_question(self, key: str, view: RunView) -> Request | None:
        questions = self.questions(view)
        if not questions or key not in {"y", "n"}:
            self._move(key, opener="a")
            return None
        asked = questions[0]
        self._answered.add(asked.question.firing)
        self.offset = 0
        if len(questions) == 1:
            self._close()
        yes = answer_command(asked.path, asked.step)
        return Command(yes if key == "y" else f"{yes.removesuffix(' yes')} no")

    def _press_land(self, key: str) -> Request | None:
        self._close()
        return Command("weft merge") if key in {"y", "m"} else None

    def _press_leave(self, key: str) -> Request | None:
        self._close()
        return Leave() if key in {"y", "q"} else None

    def offer_again(self) -> None:
        """Offers questions again whose answers were refused."""
        self._answered.clear()


def land_question(view: RunView) -> str:
    on = f" on {view.landings.target}" if view.landings.target else ""
    return f"Land {count(len(view.landings.to_agree()), 'result')}{on}?"


def _is_paused(view: RunView) -> bool:
    return bool(view.control_requests.restraints())
