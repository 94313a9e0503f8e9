"""A slice that starts after a result has failed its verify is not held with that result."""

import os

from e2e.repositories import Repository
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
