"""`weft top` as a command: what it needs, and what it says otherwise."""

from collections.abc import Iterator

import pytest

from cli.running import Project
from cli.terminals import Terminal
from weft.app.control.command_process import CommandResult, run_command


@pytest.fixture
def terminals() -> Iterator[list[Terminal]]:
    opened: list[Terminal] = []
    yield opened
    for terminal in opened:
        terminal.close()


def test_without_a_terminal_another_command_is_named(project: Project) -> None:
    ended = project.weft("top")
    assert ended.exit_code == 2
    assert "weft top needs a terminal; without one, type: weft status" in ended.output


def test_an_unknown_run_is_refused(project: Project, terminals: list[Terminal]) -> None:
    project.plan("subplans: [{id: a, steps: [{id: x, run: 'true'}]}]\n")
    assert project.weft("run").exit_code == 0
    terminal = Terminal.of(project, "top", "nothing")
    terminals.append(terminal)
    end = terminal.rest()
    assert "no run" in end
    assert end.endswith("[2]")


def test_the_screen_is_left_by_q(project: Project, terminals: list[Terminal]) -> None:
    project.plan("subplans: [{id: a, steps: [{id: x, run: 'exit 1'}]}]\n")
    assert project.weft("run").exit_code == 1
    terminal = Terminal.of(project, "top")
    terminals.append(terminal)
    assert terminal.sees("q leave")
    terminal.type(b"q")
    assert terminal.rest().endswith("[0]")


def test_without_textual_the_command_that_installs_it_is_named(
    project: Project, terminals: list[Terminal]
) -> None:
    # A package of the same name that cannot be imported, as if Textual were not installed.
    package = project.outside / "textual"
    package.mkdir()
    (package / "__init__.py").write_text("raise ModuleNotFoundError('no', name='textual')")
    environ = project.env | {"PYTHONPATH": str(project.outside)}
    terminal = Terminal(project.root, environ, "top")
    terminals.append(terminal)
    end = terminal.rest()
    assert "weft top needs the package Textual; to install it, type: pip install 'weft[tui]'" in end
    assert end.endswith("[2]")


# Commands that keys run


def test_a_command_runs_in_the_directory_of_the_project(project: Project) -> None:
    project.plan("subplans: [{id: a, steps: [{id: x, run: 'true'}]}]\n")
    assert project.weft("run").exit_code == 0
    result = run_command("weft pause nowhere", project.root, environ=project.env)
    assert result.exit_code == 2
    assert result.summary.startswith("error: ")


def test_the_summary_is_the_error_or_else_the_first_line() -> None:
    def summary(*lines: str) -> str:
        return CommandResult(command="weft stop", exit_code=0, lines=lines).summary

    assert summary() == "weft stop: done"
    assert summary("one", "two") == "one"
    assert summary("one", "error: no") == "error: no"
