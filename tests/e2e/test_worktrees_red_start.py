"""A slice that starts after a result has failed its verify is not held with that result."""

import os

from e2e.projects import Outcome
from e2e.repositories import REMOVES, Repository
from stored_events import StoredEvent

PLAN = """
merge: {mode: auto, when: slice}
max_parallel: 4
verify: '! test -e bad'
subplans:
  - {id: red, steps: [{id: write, run: 'touch bad'}]}
  - {id: first, steps: [{id: write, run: 'read word < OUTSIDE/gate; echo $word > first'}]}
  - {id: second, depends_on: [first], steps: [{id: write, run: 'cp first second'}]}
  - {id: behind, depends_on: [red, first], steps: [{id: write, run: 'touch behind'}]}
"""
HELD = ("step_finished", "red", "@land", "held")


def test_a_slice_that_does_not_depend_on_a_red_result_starts_and_lands_without_it(
    repository: Repository,
) -> None:
    os.mkfifo(repository.outside / "gate")
    gate = os.open(repository.outside / "gate", os.O_RDWR)  # so that a word can wait there for its reader
    words = [b"hello\n"]

    def opens_gate(event: StoredEvent) -> None:
        is_held = (event.kind, event.subplan, event.step, event.outcome) == HELD
        if is_held and words:  # it is tried and held again with each later batch
            os.write(gate, words.pop())

    done = repository.plan(PLAN).run(opens_gate)
    os.close(gate)
    assert done.state == "waiting"
    assert repository.files() == {"README": "hello", "first": "hello", "second": "hello"}
    assert "bad" in repository.files(repository.branch("behind")), "it depends on the red result"
    (held,) = [event for event in done.of("step_finished", "behind", "@land") if event.outcome == "held"][-1:]
    assert held.data["waits_for"] == ["red"]

    place = repository.worktree("red")
    repository.git("rm", "--quiet", "bad", at=place)
    repository.commit(at=place, good="1")
    merged = repository.weft("merge", "red", "behind")
    assert merged.returncode == 0, merged.stdout
    assert repository.files().keys() == {"README", "first", "second", "good", "behind"}


GROUPS = """
merge: {mode: auto, when: milestone}
max_parallel: 4
verify: '! test -e bad'
subplans:
  - {id: left, subplans: [{id: red, steps: [{id: write, run: 'touch bad'}]}]}
  - {id: gate, steps: [{id: wait, run: 'read word < OUTSIDE/gate'}]}
  - id: right
    depends_on: [gate]
    subplans:
      - {id: first, steps: [{id: write, run: 'touch first'}]}
      - {id: deep, subplans: [{id: second, depends_on: [/right/first], steps: [{id: write, run: 'touch second'}]}]}
"""


def test_a_group_of_such_slices_lands_without_the_red_group(repository: Repository) -> None:
    os.mkfifo(repository.outside / "gate")
    gate = os.open(repository.outside / "gate", os.O_RDWR)

    def opens_gate(event: StoredEvent) -> None:
        if (event.kind, event.subplan, event.step, event.outcome) == (
            "step_finished",
            "left",
            "@land",
            "held",
        ):
            os.write(gate, b"hello\n")

    done = repository.plan(GROUPS).run(opens_gate)
    os.close(gate)
    assert done.state == "waiting"
    assert repository.files().keys() == {"README", "first", "second"}
    assert repository.files(repository.branch("right")).keys() == {"README", "first", "second"}


BESIDE = """
merge: {mode: auto, when: slice}
max_parallel: 4
verify: 'until test -e OUTSIDE/begun; do sleep 0.02; done; ! test -e bad || { echo broken; exit 1; }'
subplans:
  - {id: red, steps: [{id: write, run: 'touch bad'}]}
  - {id: first, steps: [{id: write, run: 'read word < OUTSIDE/gate; echo $word > first'}]}
  - {id: second, depends_on: [first], steps: [{id: one, run: 'WORK'}, {id: two, run: 'echo 2 > two'}]}
  - {id: third, depends_on: [second], steps: [{id: write, run: 'cat first one two > third'}]}
"""
"""`second` starts with the work of `red`, which is merged but not verified yet."""
MERGED = ("merge", "red", "@merge", "merged")


def run_beside(repository: Repository, work: str) -> Outcome:
    repository.head = REMOVES
    os.mkfifo(repository.outside / "gate")
    gate = os.open(repository.outside / "gate", os.O_RDWR)

    def opens_gate(event: StoredEvent) -> None:
        if (event.kind, event.subplan, event.step, event.outcome) == MERGED:
            os.write(gate, b"hello\n")

    done = repository.plan(BESIDE.replace("WORK", f"touch OUTSIDE/begun; {work}")).run(opens_gate)
    os.close(gate)
    return done


def test_a_slice_that_started_with_a_red_result_lands_without_it(repository: Repository) -> None:
    done = run_beside(repository, "echo 1 > one")
    assert done.state == "waiting"
    assert repository.files().keys() == {"README", "first", "one", "two", "third"}
    assert "red" not in " ".join(repository.git("log", "--format=%s", "main").splitlines())
    note = "rebuilt without the work of red, which it does not depend on; its earlier commits are kept as "
    (landed,) = [event for event in done.of("merge", "second", "@land") if event.outcome == "merged"]
    message: str = landed.data["message"]
    assert message.startswith(note)
    assert "bad" in repository.files(message.removeprefix(note))
    assert repository.git("log", "--format=%s", "-2", repository.branch("second")).split("\n") == [
        "second: two",
        "second: one",
    ]
    assert repository.trailers(repository.branch("second"))["Weft-Without"] == "red"
    assert repository.lost() == []
    assert repository.weft("replay").returncode == 0


def test_what_was_left_behind_lands_later_and_so_does_what_starts_on_both(repository: Repository) -> None:
    run_beside(repository, "echo 1 > one")
    place = repository.root.parent / "fix"
    repository.git("worktree", "add", "--quiet", str(place), repository.branch("red"))
    repository.git("rm", "--quiet", "bad", at=place)
    repository.commit(at=place, good="1")
    repository.git("worktree", "remove", str(place))
    late = "  - {id: late, depends_on: [third, red], steps: [{id: write, run: 'cat one good > late'}]}\n"
    merged = repository.weft("merge", "red")
    assert merged.returncode == 0, merged.stdout
    plan = BESIDE.replace("WORK", "touch OUTSIDE/begun; echo 1 > one")
    done = repository.plan(plan + late).run()
    assert done.state == "completed", done.of("merge")
    assert repository.files().keys() == {"README", "first", "one", "two", "third", "good", "late"}
    assert repository.is_whole()


def test_a_slice_whose_work_needs_the_red_result_is_held_behind_it(repository: Repository) -> None:
    done = run_beside(repository, "echo 1 | tee one > bad")
    assert done.state == "waiting"
    assert repository.files().keys() == {"README", "first"}
    (held,) = [event for event in done.of("step_finished", "second", "@land") if event.outcome == "held"][-1:]
    assert held.data["waits_for"] == ["red"]
    assert repository.git("for-each-ref", "refs/weft/kept") == ""
