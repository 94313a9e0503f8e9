"""Whole runs in a repository: from a prompt to what has landed, with what it took on the record."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from e2e.projects import Outcome
from e2e.repositories import Repository
from real_agents.benches import HELLO, environ_of
from real_agents.programs import COSTS, NO_SESSIONS, TOKENS, plan_of, ten_at_once, writes
from weft.cli.main import cli
from weft.testing.models.server import ModelServer

COMMANDS = frozenset({"claude", "codex", "gemini", "goose", "opencode", "pi", "aider"})
"""Agents that report what they change."""
TEN = [f"s{number}" for number in range(10)]


def written(agent: str) -> set[tuple[str, str]]:
    """What ten of them are to write: each a file of its own; or all the same, if they can only be told that."""
    if agent == "aider":
        return {("hello.txt", f"{HELLO}first")}
    return {(f"{name}.txt", "written") for name in TEN}


class Real(Repository):
    def __init__(self, agent: str, root: Path) -> None:
        super().__init__(root)
        self.agent = agent
        self.home = root.with_name("home")
        self.home.mkdir()
        self.environ = {**self.environ, **environ_of(agent, self.home)}
        self.commit(hello__txt=HELLO)

    def work(self, server: ModelServer, subplans: str) -> Outcome:
        url = server.scenario("work")
        return self.plan(f"{plan_of(self.agent, self.home, url)}\nsubplans: {subplans}\n").run()


@pytest.fixture
def repository(agent: str, tmp_path: Path) -> Iterator[Real]:
    repository = Real(agent, tmp_path / "project")
    yield repository
    repository.end()


def test_what_an_agent_changed_lands_and_what_it_took_is_on_record(repository: Real, agent: str) -> None:
    with ModelServer(writes(agent)) as server:
        outcome = repository.work(server, "[{id: a, prompt: Add a line to hello.txt}]")
    assert (outcome.state, outcome.ends()) == ("completed", [("a", "work", "done")])
    assert repository.files()["hello.txt"] == f"{HELLO}first"
    assert repository.landed()[-1] == "Merge a"
    assert repository.is_whole()
    (end,) = outcome.of("step_finished", "a", "work")
    assert (end.tokens, end.cost) == (TOKENS.get(agent, 2100), COSTS.get(agent))
    assert bool(end.data.get("session")) is (agent not in NO_SESSIONS)


@pytest.mark.skip_agents(NO_SESSIONS)
def test_a_step_goes_on_with_the_conversation_of_another(repository: Real, agent: str) -> None:
    with ModelServer(writes(agent)) as server:
        steps = "[{id: begin, prompt: Write one line}, {id: further, prompt: GO ON, resume: true}]"
        outcome = repository.work(server, f"[{{id: a, steps: {steps}}}]")
        last = json.dumps(server.requests()[-1].body)
    assert outcome.ends() == [("a", "begin", "done"), ("a", "further", "done")]
    assert repository.files()["hello.txt"] == f"{HELLO}first\nsecond"
    assert "Write one line" in last
    assert [item.tokens for item in outcome.of("step_finished", "a") if item.tokens] == [2100, 2100]


def test_ten_at_once_do_not_disturb_each_other(repository: Real, agent: str) -> None:
    subplans = ", ".join(f"{{id: {name}, prompt: Write it down}}" for name in TEN)
    with ModelServer(ten_at_once(agent)) as server:
        outcome = repository.work(server, f"[{subplans}]")
    # One that met another at its very first start may have been begun again.
    last = {end.subplan: end.outcome for end in outcome.of("step_finished", step="work")}
    assert last == dict.fromkeys(TEN, "done")
    assert written(agent) <= repository.files().items()
    assert repository.is_whole()


def test_what_an_agent_does_is_shown_in_lines_that_people_can_read(
    repository: Real, agent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(repository.root)
    with ModelServer(writes(agent)) as server:
        repository.work(server, "[{id: a, prompt: Add a line to hello.txt}]")
    shown = CliRunner().invoke(cli, ["logs", "a:work"], env=repository.environ).output.splitlines()
    print(*shown, sep="\n")  # noqa: T201 - for people who look at what agents show
    assert not any(line.startswith("{") for line in shown)
    if agent in COMMANDS:
        assert any(line.startswith(("runs ", "edits ", "writes ")) and "hello.txt" in line for line in shown)
