"""`merge.resolve: agent`: an agent resolves the conflict of a slice, or does not; nothing is lost either way."""

import os
import random
import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path

import pytest

from e2e.crashes import Driver
from e2e.projects import Outcome, React
from e2e.repositories import Repository, merge_of, merges
from stored_events import StoredEvent
from weft.store.errors import BusyError

WAITS = "until test -e OUTSIDE/a; do sleep 0.02; done"
LINES = "one\ntwo\nthree\n"

PLAN = f"""
merge: {{mode: auto, resolve: agent}}
infra_retries: 3
agents: {{helper: {{use: command, command: HELPER}}}}
subplans:
  - {{id: a, steps: [{{id: x, run: sed -i s/two/a/ same}}]}}
  - id: b
    prompt: Write b into the second line.
    verify: MARK; cat same; grep -q b same && ! grep -q broken same
    steps: [{{id: x, run: '{WAITS}; MARK; sed -i s/two/b/ same; echo b > b'}}]
  - {{id: c, depends_on: [a], steps: [{{id: x, run: touch OUTSIDE/a}}]}}
"""
WELL = "cat > OUTSIDE/prompt; MARK; sed -i -e '/^[<|>=]/d' -e /two/d same"
LEAVES_MARKS = "MARK; echo more >> b"
BADLY = f"{WELL}; echo broken >> same; git commit --quiet --all --message mine"


def made(repository: Repository, helper: str) -> Repository:
    repository.commit(same=LINES)
    return repository.plan(PLAN.replace("HELPER", f'"{helper}"'))


def steps(outcome: Outcome) -> list[tuple[str, str]]:
    ended = outcome.of("step_finished", "b")
    return [(event.step, event.outcome) for event in ended if event.step in {"@merge", "@resolve"}]


def parents(repository: Repository, name: str) -> list[str]:
    return repository.git("log", "-1", "--format=%P", name).split()


def test_a_conflict_is_resolved_verified_and_lands(repository: Repository) -> None:
    made(repository, WELL)
    outcome = repository.run()
    assert outcome.state == "completed"
    assert steps(outcome) == [("@merge", "conflict"), ("@resolve", "done"), ("@merge", "done")]
    assert repository.files() == {"README": "hello", "same": "one\na\nb\nthree", "b": "b"}
    assert merges(outcome, "conflict") == [("b", "@merge")]
    assert merge_of(outcome, "conflict", "b").data["files"] == ["same"]
    branch = repository.branch("b")
    assert repository.trailers(branch)["Weft-Step"] == "@resolve"
    assert len(parents(repository, branch)) == 2
    check_prompt("\n".join(repository.lines("prompt")))
    assert [mark.split()[1] for mark in repository.marks()] == ["x", "@resolve", "@merge"]
    assert repository.is_whole()
    assert repository.lost() == []


def check_prompt(text: str) -> None:
    assert "Write b into the second line." in text
    assert "\n- same\n" in text
    assert re.search(r"others did .*\n- a: x\n", text)
    assert re.search(r"done to them here:\n- b: x\n", text)


def test_a_conflict_that_the_agent_left_is_held_as_it_was_and_a_person_settles_it(
    repository: Repository,
) -> None:
    made(repository, LEAVES_MARKS)
    outcome = repository.run()
    assert outcome.state == "waiting"
    assert steps(outcome) == [("@merge", "conflict"), ("@resolve", "failed"), ("@merge", "held")]
    held = merge_of(outcome, "conflict", "b")
    assert held.data["files"] == ["same"]
    (kept,) = outcome.of("step_finished", "b", "@resolve")[0].data["moves"]
    assert f"it left the conflict in same; its work is kept as {kept['ref']}" in held.data["message"]
    assert repository.files(kept["ref"])["b"] == "b\nmore"
    assert repository.files(repository.branch("b")) == {"README": "hello", "same": "one\nb\nthree", "b": "b"}
    assert repository.git("status", "--porcelain", at=repository.worktree("b")) == ""
    repository.resolve("b", repository.branch(""), same="a and b\n")
    assert repository.weft("merge", "b").returncode == 0
    assert repository.files()["same"] == "a and b"
    assert repository.is_whole()
    assert repository.lost() == []


def test_a_resolution_that_does_not_pass_is_held_and_a_person_continues_from_it(
    repository: Repository,
) -> None:
    made(repository, BADLY)
    outcome = repository.run()
    assert outcome.state == "waiting"
    assert steps(outcome) == [("@merge", "conflict"), ("@resolve", "done"), ("@merge", "held")]
    (first, held) = outcome.of("step_finished", "b", "@merge")
    assert first.outcome == "conflict"
    assert "`verify` fails on the resolved conflict: exit code 1" in held.data["message"]
    assert "broken" in held.data["tail"]
    assert repository.landed() == ["a person: same", "Merge a"]
    branch = repository.branch("b")
    assert repository.files(branch)["same"] == "one\na\nb\nthree\nbroken"
    assert "mine" in repository.git("log", "--format=%s", branch)
    repository.commit(at=repository.worktree("b"), same="one\na\nb\nthree\n")
    assert repository.weft("merge", "b").returncode == 0
    assert repository.files()["same"] == "one\na\nb\nthree"
    assert repository.is_whole()
    assert repository.lost() == []


def test_a_conflict_is_reported_line_by_line(repository: Repository) -> None:
    made(repository, WELL)
    done = repository.weft("run")
    assert done.returncode == 0, done.stderr
    text = done.stdout + done.stderr
    assert "b  merge met a conflict in same; an agent resolves it" in text
    assert "b  resolve started" in text
    assert "b  resolve done" in text


# --- killed ---


@pytest.fixture
def driver() -> Iterator[Driver]:
    driver = Driver()
    yield driver
    assert driver.close() == ""


def run_when_free(repository: Repository, react: React | None) -> Outcome:
    """A process that the dead one was just starting may have its lock until it has become a git."""
    while True:
        with suppress(BusyError):
            return repository.run(react)


def check(repository: Repository, react: React | None = None) -> None:
    """After the killed process has been replaced."""
    assert run_when_free(repository, react).state == "completed"
    assert repository.files() == {"README": "hello", "same": "one\na\nb\nthree", "b": "b"}
    marks = [mark.split()[:2] for mark in repository.marks()]
    assert marks.count(["b", "@resolve"]) == 1
    assert repository.is_whole()
    assert repository.lost() == []
    repository.end()


SLOW = f"touch half; touch OUTSIDE/begun; until test -e OUTSIDE/go; do sleep 0.02; done; rm -f half; {WELL}"


@pytest.mark.parametrize(("victim", "goes_on"), [("coordinator", "recovered"), ("both", "step_started")])
def test_an_agent_is_taken_over_or_if_it_was_lost_what_it_did_is_kept_and_it_starts_again(
    repository: Repository, victim: str, goes_on: str
) -> None:
    made(repository, SLOW)
    with repository.started("run") as process:
        repository.wait_for((repository.outside / "begun").exists, process)
        process.kill()
        process.wait()
    if victim == "both":
        repository.kill_supervisors()

    def go(event: StoredEvent) -> None:
        if event.kind == goes_on:
            (repository.outside / "go").touch()

    check(repository, go)
    ended = repository.told("step_finished", "b", "@resolve")
    lost = [event.data["moves"] for event in ended if event.outcome == "lost"]
    kept = [sorted(repository.files(move["ref"])) for moves in lost for move in moves]
    assert kept == {"coordinator": [], "both": [["README", "b", "half", "same"]]}[victim]


@pytest.mark.parametrize("chunk", range(2))
def test_killed_at_what_is_written_to_the_journal_no_agent_works_twice(
    folder: Path, driver: Driver, chunk: int
) -> None:
    for number in count(10 + chunk, 2):
        repository = made(Repository(folder / str(number)), WELL)
        driver.run(repository, "coordinator", "append.after", number)
        check(repository)
        if not (repository.outside / "reached").exists():
            break


GIT_CALLS = 37
"""Every so many calls of git the coordinator is killed; each call of the workspace itself is tried elsewhere."""


@pytest.mark.parametrize("when", ["before", "after"])
def test_killed_at_a_call_of_git_no_agent_works_twice(folder: Path, driver: Driver, when: str) -> None:
    seed = os.environ.get("WEFT_SEED") or (
        0 if os.environ.get("WEFT_EXAMPLES") == "gate" else random.randrange(10**6)
    )
    sys.stdout.write(f"to do this again: WEFT_SEED={seed}\n")
    for number in count(random.Random(int(seed)).randint(1, GIT_CALLS), GIT_CALLS):
        repository = made(Repository(folder / str(number)), WELL)
        driver.run(repository, "coordinator", f"git.{when}", number)
        check(repository)
        if not (repository.outside / "reached").exists():
            break
