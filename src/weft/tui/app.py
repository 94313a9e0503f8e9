"""`weft top`: the keys of the screen. A key that changes something runs its command in a process of its own."""

from typing import Any

from textual import events, work
from textual.widgets import Input

from weft.app.control.command_process import CommandResult, run_command
from weft.app.views.wording.style import Style
from weft.plan.order.outline import ROOT
from weft.tui.commands import KEYS, WORDS, PlannedCommand, command_of, complete
from weft.tui.details import is_error
from weft.tui.dialogs import Dialog, Help
from weft.tui.display import TABS, RunDisplay
from weft.tui.line_list import LineList
from weft.tui.prompt import Prompt
from weft.tui.source import RunSource


class TopApp(RunDisplay):
    # Keys

    def on_key(self, event: events.Key) -> None:
        if self._asks or len(self.screen_stack) > 1:
            return
        key = event.character if event.character is not None and event.character.isprintable() else event.key
        self._note = ""
        if self._copies:
            self._copy(key)
        elif not self._move(key) and not self._look(key) and key in {"a", "m", "p", "s", "R"}:
            self._act(key)
        self._show_hint()

    def _lines(self) -> LineList:
        return self.focused if isinstance(self.focused, LineList) else self._tree

    def _move(self, key: str) -> bool:
        lines = self._lines()
        page = lines.page()
        steps = {
            "j": 1,
            "down": 1,
            "k": -1,
            "up": -1,
            "pagedown": page,
            " ": page,
            "space": page,
            "pageup": -page,
        }
        if key in steps:
            lines.move(steps[key])
        elif key in {"g", "home"}:
            lines.move_to(0)
        elif key in {"G", "end"}:
            lines.move_to(lines.count - 1)
            self._details.follows = lines is self._details
        elif key in {"h", "left", "l", "right"}:
            self._tree.fold(is_open=key in {"l", "right"})
        else:
            return False
        return True

    def _look(self, key: str) -> bool:
        """Handles keys that show something else."""
        match key:
            case "q":
                self.exit()
            case "?":
                self.push_screen(Help())
            case "L" | "W" | "D":
                self._open_tab(TABS[key])
            case "enter":
                self._enter()
            case "escape":
                self._back()
            case "/" | ":":
                self._ask(key)
            case _:
                return self._find(key)
        return True

    def _find(self, key: str) -> bool:
        match key:
            case "z":
                self._toggle_hidden()
            case "y":
                self._copies = True
            case "f":
                self._details.follow(is_on=not self._details.follows)
                self._note = "follows the end of the log" if self._details.follows else "does not follow"
            case "n" | "e":
                if self._lines() is self._details:
                    self._next_line(is_error_wanted=key == "e")
                elif not self._tree.find(
                    ["failed"] if key == "e" else ["asking", "held", "conflict", "failed"]
                ):
                    self._note = "nothing failed" if key == "e" else "nothing needs you"
            case _:
                return False
        return True

    def _toggle_hidden(self) -> None:
        if self._tree.tree_rows is not None:
            self._tree.tree_rows.shows_all = not self._tree.tree_rows.shows_all
            self._tree.update_rows()

    def _next_line(self, *, is_error_wanted: bool) -> None:
        lines, start = self._details.lines, self._details.scroll_offset.y
        search = self._search.lower()
        for index in ((start + 1 + number) % len(lines) for number in range(len(lines))):
            is_match = (
                is_error(lines[index]) if is_error_wanted else search and search in lines[index][0].lower()
            )
            if is_match:
                self._details.move_to(index)
                return
        self._note = "no error in this log" if is_error_wanted else f"not found: {self._search}"

    def _open_tab(self, tab: str) -> None:
        self._tab, self._diff, self._tail = tab, None, None
        self._details.follows = tab == "log"
        if self._follower is not None:
            self._show_details(self._follower, has_news=True)
        if not self._details.follows:
            self._details.move_to(0)
        self.screen.add_class("details")

    def _enter(self) -> None:
        if self._lines() is self._needs and self._needs.need is not None:
            self._tree.jump(self._needs.need.row)
            self._open_tab("why")
        elif self._follower is not None and self._lines() is self._tree:
            self.screen.add_class("details")
        self._details.focus()

    def _back(self) -> None:
        self.screen.remove_class("details")
        if self._lines() is self._tree and self._tree.tree_rows is not None and self._tree.tree_rows.filter:
            self._tree.tree_rows.filter = ""
            self._tree.update_rows()
        self._tree.focus()

    # The prompt

    def _ask(self, kind: str) -> None:
        self._asks = kind
        prompt = self.query_one(Prompt)
        prompt.placeholder = {
            "/": "search in the log" if self._lines() is self._details else "filter by path",
            ":": "a subplan, or a command such as: pause store (Tab completes)",
        }[kind]
        prompt.value = ""
        prompt.display = True
        self._before = self._lines()
        prompt.focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        if self._asks == "/" and self._before is not self._details and self._tree.tree_rows is not None:
            self._tree.tree_rows.filter = event.value
            self._tree.update_rows()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        kind, value = self._asks, event.value.strip()
        self._end_prompt()
        if kind == "/" and self._before is self._details:
            self._search = value
            self._next_line(is_error_wanted=False)
        elif kind == ":" and value:
            self._go(value)
        self._show_hint()

    def action_complete(self) -> None:
        if self._asks == ":":
            prompt = self.query_one(Prompt)
            prompt.value = complete(prompt.value, self._paths())
            prompt.cursor_position = len(prompt.value)

    def _end_prompt(self) -> None:
        self._asks = ""
        self.query_one(Prompt).display = False
        self._before.focus()

    def key_escape(self) -> None:
        if self._asks:
            if self._asks == "/" and self._tree.tree_rows is not None:
                self._tree.tree_rows.filter = ""
                self._tree.update_rows()
            self._end_prompt()

    def _go(self, text: str) -> None:
        """Runs a command that was typed, such as `pause store`, or jumps to a subplan by its path or a part."""
        word, _, path = text.partition(" ")
        key = WORDS.get(word, "")
        if not key and not self._jump(text):
            self._note = f"no subplan and no command is called {text!r}"
        elif key and path.strip() and not self._jump(path.strip()):
            self._note = f"no subplan is called {path.strip()!r}"
        elif key and not self._look(key):
            self._act(key, word)

    def _paths(self) -> list[str]:
        return [] if self._follower is None else [str(path) for path in self._follower.view.outline.paths]

    def _jump(self, name: str) -> bool:
        """Moves to the subplan with that path, or else to the first one whose path contains it."""
        paths = list(enumerate(self._paths()))
        exact = [row for row, path in paths if row != ROOT and path == name]
        near = [row for row, path in paths if row != ROOT and name.lower() in path.lower()]
        for row in (exact or near)[:1]:
            self._tree.focus()
            self._tree.jump(row)
        return bool(exact or near)

    # Actions

    def _planned(self, key: str) -> PlannedCommand:
        follower = self._follower
        if follower is None:
            return PlannedCommand(problem="there is no run")
        row = self._tree.row
        if self._lines() is self._needs and self._needs.need is not None:
            row = self._needs.need.row
        return command_of(key, follower.view, row, self._needs.needs)

    def _copy(self, key: str) -> None:
        self._copies = False
        if key not in KEYS:
            self._note = f"{key} stands for no command"
            return
        planned = self._planned(key)
        self._note = planned.problem or f"copied: {planned.line}"
        if planned.line:
            self.copy_to_clipboard(planned.line)

    def _act(self, key: str, word: str = "") -> None:
        """Runs the command of a key. `word` is the command that was typed: the one of `p` may be the other one."""
        planned = self._planned(key)
        if word in {"pause", "resume"} and f"weft {word}" not in planned.line:
            self._note = f"it is {'paused already' if word == 'pause' else 'not paused'}"
        elif planned.problem:
            self._note = planned.problem
        elif key == "a":
            self._answer(planned)
        elif planned.question:
            text = f"{planned.question}\n\n$ {planned.line}"
            self._confirm(Dialog(text, "y", "y yes   n no", self._style), {"y": planned.line})
        else:
            self._start(planned.line)

    def _answer(self, planned: PlannedCommand) -> None:
        need = next(
            need for need in self._needs.needs if any(a.command == planned.line for a in need.actions)
        )
        follower = self._follower
        assert follower is not None
        question = follower.view.rows[need.row].questions.get(need.step)
        text = f"{need.path}:{need.step} asks\n\n{need.title if question is None else question.text}"
        lines = {action.label.lower()[0]: action.command for action in need.actions}
        self._confirm(Dialog(text, "y n", "y yes   n no   Esc back", self._style), lines)

    def _confirm(self, dialog: Dialog, lines: dict[str, str]) -> None:
        def take(key: str | None) -> None:
            if key and key in lines:
                self._start(lines[key])

        self.push_screen(dialog, take)

    def _start(self, line: str) -> None:
        self._note = f"$ {line}"
        self._show_hint()
        self._run(line)

    @work(thread=True, group="commands")
    def _run(self, line: str) -> None:
        result = run_command(line, self._source.directory)
        self.call_from_thread(self._take_result, result)

    def _take_result(self, result: CommandResult) -> None:
        self._note = f"$ {result.command}: {result.summary}"
        self._show_hint()


def run_app(source: RunSource, style: Style, **options: Any) -> None:  # noqa: ANN401 - of Textual
    try:
        TopApp(source, style).run(**options)
    finally:
        source.close()
