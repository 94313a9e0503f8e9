"""Whichever process is killed, even between two git calls: the same lands, and nothing is lost or done twice."""

import os
import random
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from e2e.crashes import Driver
from e2e.kills import PLAN, Traces, check, check_losses, made, traces
from e2e.repositories import Repository

GIT_CALLS = 31
"""A process is killed after every so many git calls."""


def is_reached(repository: Repository) -> bool:
    return (repository.outside / "reached").exists()


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Traces:
    repository = made(tmp_path_factory.mktemp("whole") / "project")
    repository.run()
    lines = traces(repository)
    repository.end()
    assert lines.state == "waiting"
    assert lines.held == {"clash"}
    assert lines.files["main"] == {
        "README": "hello",
        "same": "person",
        "a": "a\nmore",
        "b": "a\nmore",
        "c": "a\nmore",
    }
    return lines


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


@pytest.mark.parametrize(
    ("when", "isolation"),
    [("before", "worktree"), ("after", "worktree"), ("before", "clone"), ("after", "clone")],
)
def test_killed_at_a_call_of_git(
    folder: Path, driver: Driver, whole: Traces, when: str, isolation: str
) -> None:
    seed = os.environ.get("WEFT_SEED") or (
        0 if os.environ.get("WEFT_EXAMPLES") == "gate" else random.randrange(10**6)
    )
    sys.stdout.write(f"to do this again: WEFT_SEED={seed}\n")
    first = random.Random(int(seed)).randint(1, GIT_CALLS)
    for number in count(first, GIT_CALLS):
        repository = made(folder / str(number), f"isolation: {isolation}\n{PLAN}")
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
