"""`weft attach`, and leaving `weft run` with a key: a real terminal, a real coordinator."""

import os
import signal
from collections.abc import Iterator

import pytest
from inline_snapshot import snapshot

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


ASKING = """
subplans:
  - {id: a, steps: [{id: work, run: "echo first line; GATE x"}]}
  - {id: b, steps: [{id: sure, action: ask, question: "Publish it?"}]}
"""


def test_keys_show_a_log_answer_pause_and_open_top(project: Project, terminals: list[Terminal]) -> None:
    assert project.plan(ASKING).process("start").returncode == 0
    project.reached()
    terminal = Terminal.of(project, "attach")
    terminals.append(terminal)
    for keys, text in [
        (b"", "a answer"),
        (b"?", "answer a question of the run"),
        (b"\x1b", "a answer"),
        (b"m", "nothing waits for your consent"),
        (b"l", "first line"),
        (b"\x1b", "a answer"),
        (b"a", "b:sure asks"),
        (b"y", "$ weft answer b:sure yes: answered b:sure: yes"),
        (b"p", "$ weft pause: "),
        (b"t", "L log"),  # the keys of weft top
        (b"q", "l log"),  # those of the live view
    ]:
        terminal.type(keys)
        assert terminal.sees(text)
    terminal.type(b"q")
    assert terminal.rest().endswith("[130]")
    assert ("answered", "b") in [(event.kind, event.subplan) for event in project.events()]
    assert project.process("stop").returncode == 0


def test_without_a_terminal_each_new_event_is_a_line(project: Project) -> None:
    assert project.plan(GATED).process("start").returncode == 0
    project.reached()
    attached = project.start("attach")
    assert attached.stderr is not None
    (run,) = project.runs()
    assert attached.stderr.readline() == f"run {run} is running; new events follow\n"
    project.let_through()
    _, lines = attached.communicate()
    assert attached.returncode == 0
    assert project.told(lines)[0] == snapshot("a  work done in N s")


def test_the_death_of_the_coordinator_is_reported_with_the_command_that_resumes(
    project: Project, terminals: list[Terminal]
) -> None:
    assert project.plan(GATED).process("start").returncode == 0
    project.reached()
    terminal = Terminal.of(project, "attach")
    terminals.append(terminal)
    assert terminal.sees("q leave")
    (coordinator,) = project.coordinators()
    os.kill(coordinator, signal.SIGKILL)
    assert terminal.sees(f"the coordinator (process {coordinator}) has died; running steps continue")
    assert terminal.sees("weft start")
    terminal.type(b"q")
    assert terminal.rest().endswith("[130]")
    refused = project.process("attach")
    assert refused.returncode == 1
    assert "has died" in refused.stderr
