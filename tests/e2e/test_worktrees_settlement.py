"""The plan is edited after the coordinator was killed: what its agents did, or still do, is not paid again."""

import os
import signal
from collections.abc import Callable

import pytest

from e2e.repositories import Repository
from stored_events import StoredEvent
from weft.engine.messages.facts import RunStarted

PLAN = """
merge: {mode: auto}
budget: 10
agents: {coder: {use: command, command: 'sh OUTSIDE/agent.sh'}}
subplans:
  - {id: a, steps: [{id: code, prompt: Do it}, {id: check, run: 'cat work'}]}
  - {id: b, steps: [{id: write, run: 'echo CONTENT > b'}]}
"""
AGENT = """
cat > /dev/null
echo $WEFT_SUBPLAN >> OUTSIDE/paid
echo > OUTSIDE/here
read word < OUTSIDE/gate
echo $word > work
echo '{"cost_usd": 0.5}' > $WEFT_RESULT
"""


@pytest.fixture
def killed(repository: Repository) -> Repository:
    """Its coordinator is dead, its agent stands at the gate, and the plan says something else of another slice."""
    outside = repository.outside
    repository.plan(PLAN)
    (outside / "agent.sh").write_text(AGENT.replace("OUTSIDE", str(outside)))
    for name in ("here", "gate"):
        os.mkfifo(outside / name)
    with repository.started("run") as process:
        (outside / "here").read_text()
        process.kill()
    repository.plan(PLAN.replace("CONTENT", "other"))
    return repository


def at_first(kind: str, act: Callable[[], None]) -> Callable[[StoredEvent], None]:
    waiting = [act]

    def react(event: StoredEvent) -> None:
        if event.kind == kind and waiting:
            waiting.pop()()

    return react


def open_gate(repository: Repository) -> None:
    (repository.outside / "gate").write_text("whole\n")


def test_the_end_of_an_agent_without_a_coordinator_is_collected(killed: Repository) -> None:
    open_gate(killed)
    (host,) = killed.hosts()
    while (log := (host / "log").read_bytes()).count(b'"start"') > log.count(b'"ended"'):
        os.sched_yield()
    done = killed.run()
    assert done.state == "completed"
    assert killed.lines("paid") == ["a"]
    assert killed.files() == {"README": "hello", "work": "whole", "b": "other"}
    assert "a:code" not in done.order()
    started = done.of("run_started")[0].fact
    assert isinstance(started, RunStarted)
    assert [spent.cost for spent in started.earlier or ()] == [500_000]


def test_an_agent_that_still_runs_comes_to_its_end_before_the_new_run_starts(killed: Repository) -> None:
    done = killed.run(at_first("recovered", lambda: open_gate(killed)))
    assert done.state == "completed"
    assert killed.lines("paid") == ["a"]
    assert killed.files() == {"README": "hello", "work": "whole", "b": "other"}
    kinds = [event.kind for event in done.events if event.kind in {"run_finished", "run_started"}]
    assert kinds == ["run_finished", "run_started", "run_finished"]


def test_a_stop_in_the_meantime_prevents_a_new_run(killed: Repository) -> None:
    stopped = killed.run(at_first("recovered", lambda: signal.raise_signal(signal.SIGINT)))
    assert stopped.state == "stopped"
    assert stopped.of("run_started") == []
    assert killed.processes() == []


def test_the_agent_of_a_slice_that_was_edited_is_ended(killed: Repository) -> None:
    killed.plan(PLAN.replace("Do it", "Do it better"))
    with killed.started("run") as process:
        (killed.outside / "here").read_text()  # by the agent of the new run
        open_gate(killed)
        assert process.wait() == 0
    assert killed.lines("paid") == ["a", "a"]
    ends = [event.outcome for event in killed.told("step_finished", "a", "code")]
    assert ends == ["stopped", "done"]
