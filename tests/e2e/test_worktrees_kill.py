"""Whoever is killed, also between two calls of git: the same lands, and nothing is lost or done twice."""

import os
import random
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from msgspec import Struct

from e2e.crashes import Driver
from e2e.repositories import Repository

PLAN = """
base: start
target: main
infra_retries: 10
merge: {mode: auto}
subplans:
  - id: g
    verify: MARK; cat a b
    subplans:
      - {id: a, verify: cat a, steps: [{id: x, run: MARK; echo a > a}, {id: y, run: MARK; echo more >> a}]}
      - {id: b, depends_on: [a], steps: [{id: x, run: MARK; cat a > b}]}
  - {id: h, verify: MARK; cat c, subplans: [{id: c, depends_on: [/g/a], steps: [{id: x, run: MARK; cat a > c}]}]}
  - {id: clash, depends_on: [g, h], steps: [{id: x, run: MARK; echo slice > same}]}
"""
GIT_CALLS = 31
"""Every so many calls of git somebody is killed."""


class Traces(Struct, frozen=True):
    """All that must be the same, whatever happened on the way."""

    state: str
    states: dict[str, str]
    files: dict[str, dict[str, str]]
    """Of the target, and of where all comes together; what else a slice has seen is a matter of time."""
    landed: list[str]
    held: set[str]
    steps: dict[str, int]
    """How often each step of the plan has run."""


def made(root: Path, plan: str = PLAN) -> Repository:
    """What slices start from is not what they land on: that has moved, and one of them is in conflict with it."""
    repository = Repository(root)
    repository.commit(same="s\n")
    repository.git("tag", "start")
    repository.commit(same="person\n")
    return repository.plan(plan)


def traces(repository: Repository) -> Traces:
    story = repository.story()
    marks = (mark.split() for mark in repository.marks())
    return Traces(
        state=story.state,
        states=story.states(),
        files={branch: repository.files(branch) for branch in ("main", repository.branch(""))},
        landed=sorted(repository.landed()),
        held={event.subplan for event in story.of("merge") if event.outcome == "conflict"},
        steps=dict(
            Counter(
                f"{words[0]} {words[1]}" for words in marks if not any(word.startswith("@") for word in words)
            )
        ),
    )


def check(repository: Repository, whole: Traces) -> None:
    """After whoever was killed has been replaced."""
    repository.run()
    assert traces(repository) == whole
    assert repository.lost() == []
    assert repository.is_whole()
    repository.end()


def is_reached(repository: Repository) -> bool:
    return (repository.outside / "reached").exists()


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Traces:
    repository = made(tmp_path_factory.mktemp("whole") / "project")
    repository.run()
    found = traces(repository)
    repository.end()
    assert found.state == "waiting"
    assert found.held == {"clash"}
    assert found.files["main"] == {
        "README": "hello",
        "same": "person",
        "a": "a\nmore",
        "b": "a\nmore",
        "c": "a\nmore",
    }
    return found


@pytest.fixture
def driver() -> Iterator[Driver]:
    driver = Driver()
    yield driver
    assert driver.close() == ""


CHUNKS = 2


@pytest.mark.parametrize("chunk", range(CHUNKS))
@pytest.mark.parametrize(("victim", "step"), [("coordinator", 1), ("both", 4)])
def test_killed_at_what_is_written_to_the_journal(
    folder: Path, driver: Driver, whole: Traces, victim: str, step: int, chunk: int
) -> None:
    for number in count(1 + chunk * step, CHUNKS * step):
        repository = made(folder / str(number))
        driver.run(repository, victim, "append.after", number)
        if victim == "coordinator":
            check(repository, whole)
        else:
            check_losses(repository, whole)
        if not is_reached(repository):
            break


def check_losses(repository: Repository, whole: Traces) -> None:
    """What was lost with the supervisor is done again, and nothing else."""
    repository.run()
    found = traces(repository)
    lost = [event for event in repository.story().of("step_finished") if event.outcome == "lost"]
    again = Counter(f"{event.subplan} {event.step}" for event in lost)
    assert [name for name, times in found.steps.items() if times > 1 + again[name]] == []
    assert (found.files, found.landed, found.held) == (whole.files, whole.landed, whole.held)
    assert (found.state, found.states) == (whole.state, whole.states)
    assert repository.lost() == []
    assert repository.is_whole()
    repository.end()


@pytest.mark.parametrize("when", ["before", "after"])
def test_killed_at_a_call_of_git(folder: Path, driver: Driver, whole: Traces, when: str) -> None:
    seed = os.environ.get("WEFT_SEED") or (
        0 if os.environ.get("WEFT_EXAMPLES") == "gate" else random.randrange(10**6)
    )
    sys.stdout.write(f"to do this again: WEFT_SEED={seed}\n")
    first = random.Random(int(seed)).randint(1, GIT_CALLS)
    for number in count(first, GIT_CALLS):
        repository = made(folder / str(number))
        driver.run(repository, "coordinator", f"git.{when}", number)
        check(repository, whole)
        if not is_reached(repository):
            break


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("number", [1, 2])
def test_killed_while_it_lands_where_the_target_is_checked_out(
    folder: Path, driver: Driver, whole: Traces, when: str, number: int
) -> None:
    # Two landings for sure: results that are ready at the same time would otherwise land in one batch.
    repository = made(folder / "project", PLAN.replace("{mode: auto}", "{mode: auto, batch: 1}"))
    assert driver.run(repository, "coordinator", f"forward.{when}", number) == "killed"
    check(repository, whole)


HALF = """#!/bin/sh
case "$*" in *"merge --ff-only"*)
    for commit; do :; done
    {git} read-tree -m -u HEAD "$commit"
    kill -9 $(cat {outside}/pid)
    exit 1
esac
exec {git} "$@"
"""


def test_power_fails_when_the_files_of_the_checkout_have_changed_and_its_branch_has_not(
    folder: Path, driver: Driver, whole: Traces
) -> None:
    repository = made(folder / "project")
    git = next(filter(os.path.exists, (f"{place}/git" for place in os.environ["PATH"].split(":"))))
    own = repository.outside / "bin" / "git"
    own.parent.mkdir()
    own.write_text(HALF.format(git=git, outside=repository.outside))
    own.chmod(0o755)
    assert driver.run(repository, "nobody", "append.after", 1) == "killed"
    own.unlink()
    assert repository.git("status", "--porcelain") != ""
    check(repository, whole)
