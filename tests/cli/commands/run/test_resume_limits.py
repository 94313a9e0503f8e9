"""`weft resume --limits`: a person ends the usage limits of a run, with a coordinator and without."""

import json
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from app.books import Written, written
from stored_events import make_event
from weft.cli.main import cli
from weft.engine.messages.events import AnyEvent
from weft.store.sqlite import open_reader

LATER = 4e9
"""Seconds since 1970: in the year 2096."""


def limited(*agents: str, until: float = LATER) -> AnyEvent:
    return make_event(
        kind="limited", subplan="docs", step="write", data={"agents": list(agents), "until": until}
    )


@pytest.fixture
def recorded_run(tmp_path: Path) -> Iterator[Written]:
    """A run whose coordinator has died."""
    with written(tmp_path, [make_event(kind="run_started")]) as recorded_run:
        recorded_run.die()
        yield recorded_run


def resume(recorded_run: Written, *arguments: str) -> Result:
    unset = {name: None for name in os.environ if name.startswith("WEFT_")}
    return CliRunner(env=unset).invoke(cli, ["-C", str(recorded_run.root), "resume", "--limits", *arguments])


def requests(recorded_run: Written) -> list[str]:
    return [request.kind for request in recorded_run.journal.requests("r1")]


def test_without_a_limit_nothing_is_asked_of_the_run(recorded_run: Written) -> None:
    done = resume(recorded_run)
    assert (done.exit_code, done.stdout) == (0, "no agent of run r1 has a usage limit\n")
    assert requests(recorded_run) == []


def test_a_limit_whose_time_has_come_needs_no_end(recorded_run: Written) -> None:
    recorded_run.tell(limited("coder", until=1.0))
    assert resume(recorded_run).stdout == "no agent of run r1 has a usage limit\n"
    assert requests(recorded_run) == []


def test_without_a_coordinator_the_next_one_ends_the_limit(recorded_run: Written) -> None:
    recorded_run.tell(limited("tester"), limited("coder", "reviewer"))
    done = resume(recorded_run)
    assert done.exit_code == 0
    assert done.stdout == "the usage limit of coder and reviewer and tester ends when run r1 continues\n"
    command = f"weft start {recorded_run.root / 'weft.yaml'}"
    assert done.stderr == f"no coordinator works on it now; to resume it, type: {command}\n"
    assert requests(recorded_run) == ["limits"]


def test_to_ask_twice_is_to_ask_once(recorded_run: Written) -> None:
    recorded_run.tell(limited("coder"))
    first, second = (json.loads(resume(recorded_run, "--json").stdout)["data"] for _ in range(2))
    expected = {"run": "r1", "agents": ["coder"], "alive": False, "state": "running"}
    assert [first, second] == [{**expected, "changed": True}, {**expected, "changed": False}]
    assert requests(recorded_run) == ["limits"]


def test_limits_that_a_person_has_ended_are_over(recorded_run: Written) -> None:
    recorded_run.tell(limited("coder"), make_event(kind="limits_ended"))
    assert resume(recorded_run).stdout == "no agent of run r1 has a usage limit\n"


def test_it_returns_when_the_coordinator_has_taken_it_up(recorded_run: Written) -> None:
    recorded_run.come_back()
    recorded_run.tell(limited("coder"))
    path = recorded_run.root / ".weft" / "weft.db"

    def take_up() -> None:
        reader = open_reader(path)
        while not (asked := reader.requests("r1")):
            os.sched_yield()
        reader.close()
        taken.extend(request.id for request in asked)

    taken: list[int] = []
    coordinator = threading.Thread(target=take_up)
    coordinator.start()
    answers: list[Result] = []
    person = threading.Thread(target=lambda: answers.append(resume(recorded_run)))
    person.start()
    coordinator.join()
    recorded_run.journal.append("r1", [(1.0, make_event(kind="limits_ended"))], taken=taken)
    person.join()
    assert answers[0].stdout == "the usage limit of coder is ended; what waited for it continues\n"
    assert answers[0].stderr == ""
    assert requests(recorded_run) == []


@pytest.mark.parametrize("state", ["completed", "failed"])
def test_a_run_that_has_ended_has_no_limit_to_end(recorded_run: Written, state: str) -> None:
    recorded_run.tell(limited("coder"), state=state)
    done = resume(recorded_run)
    assert done.stdout == f"run r1 is {state}; there is no usage limit to end\n"
    assert (done.stderr, requests(recorded_run)) == ("", [])


def test_a_limit_belongs_to_agents_and_not_to_a_subplan(recorded_run: Written) -> None:
    done = resume(recorded_run, "docs")
    assert done.exit_code == 2
    assert "type `weft resume --limits` without ID" in done.stderr
