"""`weft merge ID --now`: the completed parts of a group land before the others, verified as everything is."""

import os
from pathlib import Path

import pytest

from e2e.repositories import Repository

NESTED = """
failure_mode: continue_on_error
merge: {mode: confirm, when: milestone}
verify: test ! -e bad
subplans:
  - id: g
    verify: test -e b && test -e y
    subplans:
      - {id: a, verify: test -e a, steps: [{id: w, run: echo a > a}]}
      - {id: b, depends_on: [a], steps: [{id: w, run: test -e OUTSIDE/ok && echo b > b}]}
      - id: h
        subplans:
          - {id: x, steps: [{id: w, run: echo x > x}]}
          - {id: y, depends_on: [x], steps: [{id: w, run: test -e OUTSIDE/ok && echo y > y}]}
"""
# The verify of a tree without b waits at a gate.
GATED = """
merge: {mode: auto, when: milestone}
verify: "test -e b || { echo > OUTSIDE/verifies; read _ < OUTSIDE/passes; }"
subplans:
  - id: g
    subplans:
      - {id: a, steps: [{id: w, run: echo a > a}]}
      - {id: b, depends_on: [a], steps: [{id: w, run: "echo > OUTSIDE/begun; read _ < OUTSIDE/goes; echo b > b"}]}
"""
RED_ALONE = """
failure_mode: continue_on_error
merge: {mode: manual, when: milestone}
verify: test ! -e a || test -e b
subplans:
  - id: g
    subplans: [{id: a, steps: [{id: w, run: echo a > a}]}, {id: b, steps: [{id: w, run: "false"}]}]
"""


@pytest.fixture
def repository(folder: Path) -> Repository:
    repository = Repository(folder / "project")
    for gate in ("verifies", "passes", "begun", "goes"):
        os.mkfifo(repository.outside / gate)
    return repository


def subjects(repository: Repository) -> list[str]:
    return repository.git(
        "log", "--no-merges", "--topo-order", "--reverse", "--format=%s", "main"
    ).splitlines()[1:]


def test_completed_parts_of_a_failed_run_land_and_the_rest_lands_when_it_is_done(
    repository: Repository,
) -> None:
    assert repository.plan(NESTED).run().state == "failed"
    done = repository.weft("merge", "g", "--now")
    assert (done.returncode, done.stderr) == (0, "to resume the run, type: weft run\n")
    assert [line.partition(" on ")[0] for line in done.stdout.splitlines()] == ["g: landed", "g/h: landed"]
    assert set(repository.files()) == {"README", "a", "x"}
    tip = repository.tip()
    assert repository.weft("merge", "g", "--now").returncode == 0
    assert repository.tip() == tip, "nothing lands twice"
    assert repository.weft("doctor").returncode == 0
    (repository.outside / "ok").touch()
    assert repository.run().state == "waiting"
    assert repository.weft("merge").returncode == 0
    assert set(repository.files()) == {"README", "a", "b", "x", "y"}
    parts = ["Merge g (completed parts)", "Merge g/h (completed parts)"]
    assert repository.landed() == [*parts, "Merge g"]
    assert sorted(subjects(repository)) == ["g/a: w", "g/b: w", "g/h/x: w", "g/h/y: w"]
    assert repository.is_whole()


def test_a_death_while_parts_are_verified_neither_loses_nor_repeats_them(repository: Repository) -> None:
    repository.plan(GATED)
    gates = repository.outside
    with repository.started("run") as run:
        (gates / "begun").read_text()
        with repository.started("merge", "g", "--now") as merge:
            (gates / "verifies").read_text()
            run.kill()
            run.wait()
            merge.kill()
            merge.wait()
    assert repository.landed() == []
    with repository.started("run") as run:
        (gates / "passes").write_text("\n")
        repository.wait_for(lambda: repository.landed() == ["Merge g (completed parts)"], run)
        (gates / "goes").write_text("\n")
        assert run.wait() == 0
    assert repository.landed() == ["Merge g (completed parts)", "Merge g"]
    assert subjects(repository) == ["g/a: w", "g/b: w"]
    verified = [event.data["entries"] for event in repository.told("verify") if event.outcome == "passed"]
    assert verified == [["g"], ["g"]]
    assert repository.weft("replay").returncode == 0


def test_parts_whose_tree_fails_the_verify_do_not_land(repository: Repository) -> None:
    assert repository.plan(RED_ALONE).run().state == "failed"
    before = repository.tip()
    done = repository.weft("merge", "g", "--now")
    assert done.returncode == 4
    assert done.stdout.startswith("g: g does not land on main: `verify` fails with it: exit code 1")
    assert done.stdout.endswith("then type: weft merge g --now\n")
    assert repository.tip() == before
    done = repository.weft("merge", "g/b", "--now")
    assert (done.returncode, done.stderr) == (0, "nothing of g/b is completed and has not landed\n")
