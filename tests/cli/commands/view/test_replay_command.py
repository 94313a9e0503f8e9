"""`weft replay`: every event comes out again; if not, the first difference is told in words."""

import json
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing

import pytest
from msgspec import structs

from cli.running import Project
from store.books import sign

PLAN = """
failure_mode: continue_on_error
retries: 1
subplans:
  - {id: a, steps: [{id: work, run: "echo one"}]}
  - {id: bad, steps: [{id: work, run: "exit 3"}]}
  - {id: after, depends_on: [bad], steps: [{id: work, run: "true"}]}
"""


BAD_WORK = "kind = 'step_finished' AND subplan = 'bad' AND step = 'work'"


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """Has been run."""
    project = Project(tmp_path_factory.mktemp("ran") / "project")
    project.plan(PLAN).weft("run", "-q")
    yield project
    project.end()


@pytest.fixture
def copied(ran: Project, project: Project) -> Project:
    """A journal to tamper with."""
    (project.root / ".weft").mkdir()
    for name in ("weft.db", "weft.db-wal"):
        if (ran.root / ".weft" / name).exists():
            shutil.copy(ran.root / ".weft" / name, project.root / ".weft")
    return project


def tamper(project: Project, statement: str) -> None:
    with closing(sqlite3.connect(project.journal)) as database, database:
        assert database.execute(statement).rowcount == 1
    sign(project.journal)


def number_of(project: Project, **fields: str) -> int:
    """The number of the one event that has these fields."""
    events = enumerate(project.events(), 1)
    (result,) = [seq for seq, item in events if fields.items() <= structs.asdict(item).items()]
    return result


def end_of_bad_work(project: Project) -> int:
    return number_of(project, kind="step_finished", subplan="bad", step="work")


def difference(project: Project) -> list[str]:
    """What is said after the first line."""
    done = project.weft("replay")
    assert done.exit_code == 1
    first, *rest = done.stdout.splitlines()
    assert first.endswith("; then the journal and the engine differ")
    return rest


def test_every_event_of_a_run_comes_out_again(ran: Project) -> None:
    done = ran.weft("replay")
    assert done.exit_code == 0
    facts = sum(event.fact is not None for event in ran.events())
    assert ran.told(done.stdout) == [
        f"run RUN: {facts} facts give {len(ran.events())} events; failed; 1 completed, 2 failed",
        "every event of the journal comes out again",
    ]
    data = json.loads(ran.weft("replay", "--json").stdout)["data"]
    assert (data["events"], data["state"], data["difference"]) == (len(ran.events()), "failed", None)


def test_a_run_is_replayed_while_it_is_under_way(project: Project) -> None:
    run = project.plan('subplans: [{id: a, steps: [{id: work, run: "GATE x"}]}]').start("run")
    project.reached()
    assert project.weft("replay").exit_code == 0
    project.let_through()
    run.communicate()
    assert project.weft("replay").exit_code == 0


def test_a_field_that_was_changed_is_reported(copied: Project) -> None:
    number = end_of_bad_work(copied)
    changed = "outcome = 'done', data = json_set(data, '$.exit_code', 4)"
    tamper(copied, f"UPDATE events SET {changed} WHERE {BAD_WORK}")
    assert difference(copied) == [
        f"event {number}: step_finished of bad:work, done",
        '  outcome: the journal has "done", what follows is "failed"',
        "  data.exit_code: the journal has 4, what follows is 3",
    ]


def test_an_event_that_was_deleted_is_reported(copied: Project) -> None:
    last = len(copied.events())
    tamper(copied, f"DELETE FROM events WHERE seq = {last}")
    assert difference(copied) == [
        f"after event {last - 1} the journal lacks what follows from it: run_finished, failed"
    ]


def test_an_event_that_was_deleted_before_a_fact_is_reported(copied: Project) -> None:
    _, second = [seq for seq, item in enumerate(copied.events(), 1) if item.fact is not None][:2]
    tamper(copied, f"DELETE FROM events WHERE seq = {second - 1}")
    lacks = f"after event {second - 2} the journal lacks what follows from it: step_started of a:@workspace"
    assert difference(copied) == [lacks]


def test_an_event_that_was_added_is_reported(copied: Project) -> None:
    last = len(copied.events()) + 1
    values = "at, run, kind, 'a' AS subplan, step, attempt, 'completed', cost, tokens, data, NULL, NULL"
    tamper(copied, f"INSERT INTO events SELECT {last}, {values} FROM events WHERE kind = 'run_finished'")
    assert difference(copied) == [
        f"event {last} does not follow from the events before it: run_finished of a, completed"
    ]


def test_another_thing_than_what_follows_is_reported(copied: Project) -> None:
    number = end_of_bad_work(copied)
    tamper(copied, f"UPDATE events SET fact = json_set(fact, '$.firing', 4711) WHERE {BAD_WORK}")
    assert difference(copied) == [
        f"event {number} is step_finished of bad:work, failed, and what follows is ignored"
    ]


def test_something_that_cannot_have_happened_is_reported(copied: Project) -> None:
    number = end_of_bad_work(copied)
    started = '{"fact": "run_started", "at": 1, "run": "again"}'
    tamper(copied, f"UPDATE events SET fact = '{started}' WHERE {BAD_WORK}")
    assert difference(copied) == [
        f"event {number} cannot have happened here: step_finished of bad:work, failed",
        "  the engine says: the run has started before",
    ]


def test_a_fact_that_is_none_is_reported(copied: Project) -> None:
    tamper(copied, "UPDATE events SET fact = '{\"fact\": \"nonsense\"}' WHERE kind = 'run_started'")
    done = copied.weft("replay")
    assert done.exit_code == 1
    assert done.stderr.startswith("error: entry 1 of the journal cannot be read (")


@pytest.mark.parametrize("command", ["events", "replay", "answer"])
def test_a_journal_that_is_none_is_reported(project: Project, command: str) -> None:
    (project.root / ".weft").mkdir()
    project.journal.write_bytes(b"no database " * 100)
    done = project.weft(command)
    assert done.exit_code == 2
    assert f"error: the journal {project.journal}: it is not a journal of Weft" in done.stderr
