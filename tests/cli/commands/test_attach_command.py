"""`weft attach`, and leaving `weft run` with a key: a real terminal, a real coordinator."""

from collections.abc import Iterator

import pytest

from cli.running import Project
from cli.terminals import CTRL_C, Terminal

GATED = 'subplans: [{id: a, steps: [{id: work, run: "GATE x; MARK"}]}]\n'


@pytest.fixture
def terminals() -> Iterator[list[Terminal]]:
    opened: list[Terminal] = []
    yield opened
    for terminal in opened:
        terminal.close()


def test_a_run_that_is_left_continues_in_the_background_and_its_step_is_not_repeated(
    project: Project, terminals: list[Terminal]
) -> None:
    terminal = Terminal.of(project.plan(GATED), "run")
    terminals.append(terminal)
    project.reached()
    assert terminal.sees("q leave it running")
    terminal.type(b"q")
    assert terminal.sees("Leave the run in the background?")
    terminal.type(b"y")
    (run,) = project.runs()
    assert terminal.sees(f"run {run} continues in the background")
    assert terminal.rest().endswith("[130]")
    again = Terminal.of(project, "attach")
    terminals.append(again)
    assert again.sees("q leave")
    project.let_through()
    assert again.rest().endswith("[0]")
    assert project.marks() == ["a:work"]
    assert project.runs() == [run]


@pytest.mark.parametrize("keys", [b"q", CTRL_C])
def test_leaving_an_attached_run_does_not_touch_it(
    project: Project, terminals: list[Terminal], keys: bytes
) -> None:
    assert project.plan(GATED).process("start").returncode == 0
    project.reached()
    terminal = Terminal.of(project, "attach")
    terminals.append(terminal)
    assert terminal.sees("q leave")
    terminal.type(keys)
    end = terminal.rest()
    assert "is running; to come back, type: weft attach" in end
    assert end.endswith("[130]")
    project.let_through()
    assert project.process("attach").returncode == 0
    assert project.marks() == ["a:work"]


def test_without_a_terminal_a_finished_run_prints_its_summary_and_its_exit_code(project: Project) -> None:
    project.plan("subplans: [{id: a, steps: [{id: x, run: 'exit 3'}]}]\n")
    assert project.weft("run").exit_code == 1
    ended = project.weft("attach")
    assert ended.exit_code == 1
    assert "Failed after" in ended.output
