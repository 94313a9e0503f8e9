"""`weft run` on a terminal: the picture, questions, Ctrl-C as it is typed, the terminal that goes away."""

import os
import pty
import re
import termios
from codecs import getincrementaldecoder
from collections.abc import Iterator
from contextlib import suppress

import pytest

from cli.running import Project

ASKS = """
subplans:
  - id: release
    steps: [{id: sure, action: ask, question: Really?}, {id: work, run: MARK}]
"""
GATED = """
subplans: [{id: a, steps: [{id: work, run: "MARK; echo the last line; GATE x"}]}]
"""
CTRL_C = b"\x03"


class Terminal:
    """The terminal of a run, with somebody who reads it."""

    def __init__(self, project: Project, *arguments: str) -> None:
        self._master, slave = pty.openpty()
        termios.tcsetwinsize(slave, (24, 100))
        self.run = project.start(
            *arguments,
            env=project.env | {"TERM": "xterm", "LANG": "C.UTF-8"},
            preexec_fn=lambda: os.login_tty(slave),
            pass_fds=[slave],
        )
        os.close(slave)
        self._decoder = getincrementaldecoder("utf-8")()
        self._raw = ""
        self._seen = 0

    def sees(self, text: str) -> bool:
        """Reads on until the text has come."""
        while text not in self._unseen():
            self._take()
        self._seen += self._unseen().index(text) + len(text)
        return True

    def rest(self) -> str:
        """What comes until it has ended."""
        with suppress(OSError):  # nobody has the terminal open any more
            while True:
                self._take()
        return f"{self._unseen()}[{self.run.wait()}]"

    def _take(self) -> None:
        self._raw += self._decoder.decode(os.read(self._master, 65536))

    def _unseen(self) -> str:
        """Without what moves the cursor and paints."""
        text = re.sub(r"\x1b\[\??[0-9;]*[A-Za-z]", "", self._raw)
        return re.sub(r"\r+\n", "\n", text)[self._seen :]

    def type(self, keys: bytes) -> None:
        os.write(self._master, keys)

    def echoes(self) -> bool:
        return bool(termios.tcgetattr(self._master)[3] & termios.ECHO)

    def hang_up(self) -> None:
        os.close(self._master)
        self._master = -1

    def close(self) -> None:
        if self._master >= 0:
            self.hang_up()


@pytest.fixture
def terminals(project: Project) -> Iterator[list[Terminal]]:
    opened: list[Terminal] = []
    yield opened
    for terminal in opened:
        terminal.close()


def test_what_runs_is_shown_with_the_last_line_it_wrote(project: Project, terminals: list[Terminal]) -> None:
    terminal = Terminal(project.plan(GATED), "run")
    terminals.append(terminal)
    project.reached()
    assert terminal.sees("the last line")
    assert terminal.sees("0/1 done, 1 running")
    assert not terminal.echoes()
    project.let_through()
    end = terminal.rest()
    assert "The one slice completed in" in end
    assert end.endswith(f"Results    {project.root}/.weft/workspaces/tried/_plan\n[0]")
    assert terminal.echoes()


def test_a_question_is_shown_with_the_command_and_it_waits(
    project: Project, terminals: list[Terminal]
) -> None:
    terminal = Terminal(project.plan(ASKS), "run")
    terminals.append(terminal)
    assert terminal.sees("Really?")
    assert terminal.sees("Answer with: weft answer release:sure yes (or no)")
    assert project.weft("answer", "release", "yes").exit_code == 0
    assert terminal.rest().endswith("[0]")


def test_also_where_no_picture_can_be_drawn_it_waits(project: Project, terminals: list[Terminal]) -> None:
    terminal = Terminal(project.plan(ASKS), "run", "-q")
    terminals.append(terminal)
    assert terminal.sees("sure asks: Really?  Answer with: weft answer release:sure yes (or no)")
    assert project.weft("answer", "release", "yes").exit_code == 0
    assert terminal.rest().endswith("[0]")


def test_told_not_to_wait_it_ends(project: Project, terminals: list[Terminal]) -> None:
    terminal = Terminal(project.plan(ASKS), "run", "--no-wait")
    terminals.append(terminal)
    end = terminal.rest()
    assert "Question   release: Really?" in end
    assert end.endswith("[4]")


def test_ctrl_c_reaches_the_run_and_not_its_steps(project: Project, terminals: list[Terminal]) -> None:
    project.plan("subplans: [{id: a, steps: [{id: work, run: \"trap 'MARK.int' INT; GATE x\"}]}]\n")
    terminal = Terminal(project, "run")
    terminals.append(terminal)
    project.reached()
    terminal.type(CTRL_C)
    assert terminal.sees("stopping: what runs is ended gracefully; Ctrl-C again ends it at once\n")
    assert terminal.rest().endswith("weft run  goes on; what is completed stays so\n[130]")
    assert project.marks() == []


def test_who_goes_on_after_a_death_is_told_what_went_on(project: Project, terminals: list[Terminal]) -> None:
    terminal = Terminal(project.plan(GATED), "run")
    terminals.append(terminal)
    project.reached()
    terminal.hang_up()
    assert terminal.run.wait() == -1
    again = Terminal(project, "run")
    terminals.append(again)
    (run,) = project.runs()
    assert again.sees(f"run {run} goes on\n")
    assert again.sees("goes on after an interruption; 1 step was under way\n")
    project.let_through()
    assert again.rest().endswith("[0]")
    assert project.marks() == ["a:work"]
