"""The live view with its keys: the picture on the terminal, and what keys ask for.

The process that shows it may be the coordinator of the run. So nothing here waits: commands run in processes of
their own, a thread waits for each, and the results are picked up with the next picture.
"""

import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from types import TracebackType
from typing import Self, TextIO

from weft.app.control.command_process import CommandResult, run_command
from weft.app.inspect.running_output import last_lines
from weft.app.record.activity import AgentOutputs
from weft.app.views.run_view import RunView
from weft.app.views.wording.style import Style
from weft.cli.live.choice import choose
from weft.cli.live.controls import Command, Controls, Leave, OpenTop, Panel
from weft.cli.live.footer import footer
from weft.cli.live.keyboard import read_keys
from weft.cli.live.panels import hint_line, panel
from weft.cli.live.screen import SPACIOUS, Screen, screen
from weft.cli.live.table import table
from weft.interpreter import isolated_python
from weft.threads import start_thread

_LEAST_FOR_HINT = 6
"""The least height for the line of keys: with fewer lines, the run itself is more important."""

ReadKeys = Callable[[int], list[str]]


class LiveView:
    """Used with `with`, so that the terminal is restored in any case."""

    def __init__(
        self, stream: TextIO, style: Style, *, directory: Path, is_own: bool, keys: int | None = None
    ) -> None:
        """`keys` is the descriptor of the terminal to read keys from; None if there is none."""
        self.keys = keys
        self._directory = directory
        self.controls = Controls(is_own=is_own)
        self.is_leaving = False
        """Whether the user wants to leave the run."""
        self.screen = Screen(stream, style, compose=self._compose, has_keys=keys is not None)
        self._results: SimpleQueue[CommandResult] = SimpleQueue()
        self._top: subprocess.Popen[bytes] | None = None
        self._agents: AgentOutputs | None = None
        self.run = ""

    @property
    def is_suspended(self) -> bool:
        """Whether `weft top` has the terminal."""
        return self._top is not None

    def __enter__(self) -> Self:
        self.screen.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._top is not None:
            self._top.wait()  # it shares the terminal, which must be free before anything else is printed
            self._end_top()
        self.screen.__exit__(kind, error, trace)

    def show(self, view: RunView, now: float, agents: AgentOutputs) -> None:
        """Handles keys and draws what has changed. Callers may call this often."""
        self._agents = agents
        if self._top is not None:
            if self._top.poll() is None:
                return
            self._end_top()
        self._take_results()
        self.handle_keys(view)
        if not self.is_suspended:
            self.screen.show(view, now)

    def handle_keys(self, view: RunView) -> None:
        if self.keys is None or self.is_suspended:
            return
        try:
            keys = read_keys(self.keys)
        except EOFError:  # the terminal has gone
            self.keys = None
            return
        for key in keys:
            self.screen.invalidate()
            match self.controls.press(key, view):
                case Command(line):
                    self._start(line)
                case Leave():
                    self.is_leaving = True
                case OpenTop():
                    self._open_top()
                    return
                case None:
                    pass

    def _start(self, line: str) -> None:
        self.controls.note = f"$ {line}"
        try:
            start_thread(Thread(target=self._run, args=(line,), daemon=True))
        except OSError as error:
            self.controls.note = f"$ {line}: {error}"

    def _run(self, line: str) -> None:
        self._results.put(run_command(line, self._directory))

    def _take_results(self) -> None:
        while True:
            try:
                result = self._results.get_nowait()
            except Empty:
                return
            self.controls.note = f"$ {result.command}: {result.summary}"
            if result.exit_code and result.command.startswith("weft answer"):
                self.controls.offer_again()
            self.screen.invalidate()

    # `weft top`

    def _open_top(self) -> None:
        self.screen.suspend()
        words = [
            *isolated_python("weft"),
            "-C",
            str(self._directory),
            "top",
            *([self.run] if self.run else []),
        ]
        try:
            self._top = subprocess.Popen(words)  # noqa: S603 - ourselves
        except OSError as error:
            self.controls.note = f"$ {shlex.join(['weft', 'top'])}: {error}"
            self.screen.resume()

    def _end_top(self) -> None:
        self._top = None
        self.screen.resume()

    # The picture

    def _compose(self, view: RunView, now: float, size: tuple[int, int], style: Style) -> list[str]:
        width, height = size
        if self.keys is None or height < _LEAST_FOR_HINT:
            return screen(view, now, size, style)
        below = footer(view, now, width, min(height - 1, max(2, height // 3)), style)
        below = [*below, hint_line(self.controls, view, width, style)]
        space = [""] if height >= SPACIOUS else []
        room = height - len(below) - len(space)
        if self.controls.panel is Panel.NONE:
            above = table(view, now, choose(view, room), width, style)
        else:
            above = panel(self.controls, view, now, (width, room), style, self._log_lines(view))
        return [*above, *space, *below]

    def _log_lines(self, view: RunView) -> Callable[[str, int], list[str]]:
        def read(path: str, most: int) -> list[str]:
            return [] if self._agents is None else last_lines(view, self._agents, path, most)

        return read


def key_descriptor(stream: TextIO | None = None) -> int | None:
    """Returns the descriptor of the terminal that keys come from; None if standard input is none."""
    stream = sys.stdin if stream is None else stream
    try:
        return stream.fileno() if stream is not None and stream.isatty() else None
    except (OSError, ValueError):
        return None
