"""Costs that agents report while they run: counted once, with alerts, and stopped at the ceiling."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from cli.running import Project as Typed
from e2e.projects import Project
from stored_events import StoredEvent
from weft.app.inspect.replay import replay
from weft.app.project.places import Places
from weft.app.record.journal import RecordedRun
from weft.store.sqlite import open_reader

TELLS = """
agents: {coder: {use: command, command: 'sh OUTSIDE/agent.sh'}}
failure_mode: continue_on_error
"""
HELD = """
echo '{"cost_usd": 0.4, "tokens": 100}' > $WEFT_RESULT
read _ < GATE
echo '{"cost_usd": 0.5, "tokens": 120}' > $WEFT_RESULT
"""


@contextmanager
def gate(folder: Path) -> Iterator[Callable[[], None]]:
    """Steps wait there until it is opened for one of them."""
    os.mkfifo(folder / "gate")
    # Open at both ends, so that nobody waits for anybody to open the other.
    door = os.open(folder / "gate", os.O_RDWR)

    def let_through() -> None:
        os.write(door, b"\n")

    try:
        yield let_through
    finally:
        os.close(door)


def agent(project: Project, script: str) -> None:
    (project.outside / "agent.sh").write_text(_placed(script, project.outside))


def _placed(script: str, folder: Path) -> str:
    return script.replace("GATE", str(folder / "gate")).replace("READY", str(folder / "ready"))


def agrees(project: Project) -> bool:
    """Whether the journal says what follows from its facts."""
    with closing(open_reader(Places(project.root).journal)) as journal:
        return replay(RecordedRun(Places(project.root), journal, journal.runs()[0])).difference is None


def on(kind: str, outcome: str, act: Callable[[], None]) -> Callable[[StoredEvent], None]:
    def react(event: StoredEvent) -> None:
        if (event.kind, event.outcome) == (kind, outcome):
            act()

    return react


def test_what_an_agent_costs_is_heard_while_it_runs_and_counted_once(project: Project) -> None:
    project.plan(f"{TELLS}\nbudget: {{usd: 2, tokens: 1k}}\nsubplans: [{{id: a, prompt: x}}]")
    agent(project, HELD)
    with gate(project.outside) as let_through:
        outcome = project.run(on("spent", "", let_through))
    assert outcome.state == "completed"
    assert [(item.cost, item.tokens) for item in outcome.of("spent", "a", "work")] == [(400_000, 100)]
    assert (outcome.events[-1].cost, outcome.events[-1].tokens) == (500_000, 120)
    assert agrees(project)


def test_at_the_ceiling_the_agents_under_way_end_and_nothing_new_starts(project: Project) -> None:
    project.plan(f"""{TELLS}
budget: 1
max_parallel: 2
subplans: [{{id: a, prompt: x}}, {{id: b, prompt: x}}, {{id: c, prompt: x}}]
""")
    agent(
        project,
        """
if test $WEFT_SUBPLAN = a
then read _ < READY; echo '{"cost_usd": 1.25}' > $WEFT_RESULT
else echo > READY
fi
read _ < GATE
""",
    )
    os.mkfifo(project.outside / "ready")
    with gate(project.outside):
        outcome = project.run()
    assert outcome.states() == dict.fromkeys("abc", "failed budget")
    assert outcome.message("a") == "the budget of the plan is used up: $1.25 of $1.00 spent"
    assert sorted(outcome.ends()) == [("a", "work", "cancelled"), ("b", "work", "cancelled")]
    assert [item.data["percent"] for item in outcome.of("budget")] == [75, 90, 100]
    assert outcome.events[-1].cost == 1_250_000
    assert agrees(project)


def test_drain_lets_the_agents_under_way_finish(project: Project) -> None:
    project.plan(f"{TELLS}\nbudget: {{tokens: 50}}\non_budget: drain\nsubplans: [{{id: a, prompt: x}}]")
    agent(project, HELD)
    with gate(project.outside) as let_through:
        outcome = project.run(on("budget", "reached", let_through))
    assert outcome.states() == {"a": "completed"}
    assert outcome.events[-1].tokens == 120


def test_what_cannot_be_read_costs_nothing_breaks_nothing_and_is_reported(project: Project) -> None:
    project.plan(f"{TELLS}\nbudget: 1\nsubplans: [{{id: a, prompt: x}}]")
    agent(project, "printf '{\"cost_usd\": 0.5' > $WEFT_RESULT; printf 'done'")
    outcome = project.run()
    assert outcome.states() == {"a": "completed"}
    (end,) = outcome.of("step_finished", "a", "work")
    assert (end.cost, end.data["message"]) == (
        None,
        "in its result file, the contents are not JSON",
    )
    assert (outcome.events[-1].cost, outcome.events[-1].data["unknown_costs"]) == (0, 1)


def test_tokens_have_the_price_that_the_configuration_says(project: Project) -> None:
    project.plan(f"{TELLS}\nmodel: large-2\nsubplans: [{{id: a, prompt: x}}]")
    (project.root / ".weft").mkdir()
    (project.root / ".weft" / "config.yaml").write_text("prices: {large*: {input: 3, output: 15}}\n")
    agent(project, """echo '{"tokens": {"input": 1000, "output": 100}}' > $WEFT_RESULT""")
    outcome = project.run()
    assert (outcome.events[-1].cost, outcome.events[-1].tokens) == (4_500, 1_100)


# --- whoever dies ---


@pytest.fixture
def typed(tmp_path: Path) -> Iterator[Typed]:
    project = Typed(tmp_path / "project")
    yield project
    project.end()


def test_a_coordinator_that_is_killed_leaves_a_cost_that_is_counted_once(typed: Typed) -> None:
    project = typed
    (project.outside / "agent.sh").write_text(_placed(HELD, project.outside))
    project.plan(
        f"{TELLS}\nbudget: 2\nsubplans: [{{id: a, prompt: x}}]".replace("OUTSIDE", str(project.outside))
    )
    with gate(project.outside) as let_through:
        first = project.start("run", "--json")
        assert first.stdout is not None
        assert any('"event": "spent"' in line for line in first.stdout)
        first.send_signal(signal.SIGKILL)
        first.wait()
        let_through()
        again = project.process("run", "-q")
    assert again.returncode == 0, again.stderr
    events = project.events()
    assert [event.outcome for event in events if event.kind == "step_finished" and event.step == "work"] == [
        "done"
    ]
    assert next((item.cost, item.tokens) for item in events if item.kind == "spent") == (400_000, 100)
    assert (events[-1].cost, events[-1].tokens) == (500_000, 120)
