"""A plan whose steps are in sandboxes: they do their work, which lands, and nothing else."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.repositories import Repository
from runtime.sandbox.bubblewrap import need_sandboxes
from weft.app.cleaning import clean

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
    assert [one.kind for one in done.removed if one.kind == "homes"] == ["homes"]
