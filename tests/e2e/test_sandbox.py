"""A plan whose steps are in sandboxes: they do their work, which lands, and nothing else."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.repositories import Repository
from runtime.sandbox.bubblewrap import need_sandboxes
from weft.app.clean.clean import clean

PLAN = """
sandbox: {network: false}
merge: {mode: auto}
timeout: 10m
subplans:
  - id: work
    verify: test -e mine -a -e own
    steps:
      - {id: own, run: "echo 1 > own && git add own && git commit -q -m own && echo kept > ~/note"}
      - {id: out, run: "for at in PROJECT / PROJECT/.git/hooks ~/..; do touch $at/bad && exit 1; done; cat ~/note"}
      - {id: mine, run: "echo 2 > mine; (setsid sleep 4321 >/dev/null 2>&1 &)"}
      - {id: check, action: verify}
"""


@pytest.fixture
def repository(tmp_path: Path) -> Iterator[Repository]:
    need_sandboxes()
    repository = Repository(tmp_path / "project")
    yield repository
    repository.end()


def test_steps_work_and_commit_in_sandboxes_and_what_they_did_lands(repository: Repository) -> None:
    outcome = repository.plan(PLAN.replace("PROJECT", str(repository.root))).run()
    assert outcome.state == "completed"
    assert {"mine", "own"} <= set(repository.files())
    assert not list(repository.root.rglob("bad"))
    (done,) = clean(repository.root, environ=repository.environ)
    assert [path.kind for path in done.removed if path.kind == "homes"] == ["homes"]


COMMITTING = """
sandbox: {network: false}
merge: {mode: auto}
subplans:
  - id: work
    steps:
      - id: two
        run: >-
          mkfifo gate; echo 1 > one; git add one; git commit -q -m first; read _ < gate; rm gate;
          echo 2 > two; git add two; git commit -q -m second
"""


def test_the_branch_is_at_each_commit_while_the_step_still_runs(repository: Repository) -> None:
    repository.plan(COMMITTING)
    branch, worktree = repository.branch("work"), repository.worktree("work")
    with repository.started("run") as process:
        last = ("log", "-1", "--format=%s", branch, "--")
        repository.wait_for(lambda: repository.ask_git(*last).stdout == "first\n", process)
        with (worktree / "gate").open("w") as gate:  # which the step waits for
            gate.write("on\n")
        assert process.wait() == 0
    assert {"one", "two"} <= set(repository.files())
    assert repository.git("log", "-1", "--format=%s", branch) == "second"
    assert repository.is_whole()
