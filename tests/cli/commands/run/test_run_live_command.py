"""`weft run` on a terminal: the picture, questions, Ctrl-C as it is typed, the terminal that goes away."""

from collections.abc import Iterator

import pytest

from cli.running import Project
from cli.terminals import CTRL_C, Terminal

ASKS = """
subplans:
  - id: release
    steps: [{id: sure, action: ask, question: Really?}, {id: work, run: MARK}]
"""
GATED = """
subplans: [{id: a, steps: [{id: work, run: "MARK; echo the last line; GATE x"}]}]
"""


@pytest.fixture
def terminals(project: Project) -> Iterator[list[Terminal]]:
    opened: list[Terminal] = []
    yield opened
    for terminal in opened:
        terminal.close()


def test_what_runs_is_shown_with_the_last_line_it_wrote(project: Project, terminals: list[Terminal]) -> None:
    terminal = Terminal.of(project.plan(GATED), "run")
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
    terminal = Terminal.of(project.plan(ASKS), "run")
    terminals.append(terminal)
    assert terminal.sees("Really?")
    assert terminal.sees("Answer with: weft answer release:sure yes (or no)")
    assert project.weft("answer", "release", "yes").exit_code == 0
    assert terminal.rest().endswith("[0]")


def test_also_where_no_picture_can_be_drawn_it_waits(project: Project, terminals: list[Terminal]) -> None:
    terminal = Terminal.of(project.plan(ASKS), "run", "-q")
    terminals.append(terminal)
    assert terminal.sees("sure asks: Really?  Answer with: weft answer release:sure yes (or no)")
    assert project.weft("answer", "release", "yes").exit_code == 0
    assert terminal.rest().endswith("[0]")


def test_told_not_to_wait_it_ends(project: Project, terminals: list[Terminal]) -> None:
    terminal = Terminal.of(project.plan(ASKS), "run", "--no-wait")
    terminals.append(terminal)
    end = terminal.rest()
    assert "Question   release: Really?" in end
    assert end.endswith("[4]")


def test_ctrl_c_reaches_the_run_and_not_its_steps(project: Project, terminals: list[Terminal]) -> None:
    project.plan("subplans: [{id: a, steps: [{id: work, run: \"trap 'MARK.int' INT; GATE x\"}]}]\n")
    terminal = Terminal.of(project, "run")
    terminals.append(terminal)
    project.reached()
    terminal.type(CTRL_C)
    assert terminal.sees("stopping: running steps are ended gracefully; Ctrl-C again ends them at once\n")
    assert terminal.rest().endswith("weft run  resumes; completed work is kept\n[130]")
    assert project.marks() == []


def test_a_resumed_run_reports_the_steps_that_continued(project: Project, terminals: list[Terminal]) -> None:
    terminal = Terminal.of(project.plan(GATED), "run")
    terminals.append(terminal)
    project.reached()
    terminal.hang_up()
    assert terminal.run.wait() == -1
    again = Terminal.of(project, "run")
    terminals.append(again)
    (run,) = project.runs()
    assert again.sees(f"run {run} resumes\n")
    assert again.sees("resumes after an interruption; 1 step was under way\n")
    project.let_through()
    assert again.rest().endswith("[0]")
    assert project.marks() == ["a:work"]
