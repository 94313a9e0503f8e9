"""A new run continues after the steps that an earlier one has done, and pays no agent twice."""

from e2e.repositories import Repository

PAID = """
agents: {coder: {use: command, command: 'sh OUTSIDE/agent.sh'}}
"""
AGENT = """
cat > /dev/null
echo $WEFT_SUBPLAN >> OUTSIDE/paid
echo $WEFT_SUBPLAN > same
echo '{"cost_usd": 0.5}' > $WEFT_RESULT
"""


def plan(repository: Repository, text: str) -> None:
    repository.plan(PAID + text)
    outside = str(repository.outside)
    (repository.outside / "agent.sh").write_text(AGENT.replace("OUTSIDE", outside))


def paid(repository: Repository) -> list[str]:
    return sorted((repository.outside / "paid").read_text().split())


CANCELLED = """
merge: {mode: auto}
failure_mode: fail_fast
subplans:
  - id: a
    prompt: One
    steps:
      - {id: code, prompt: "{{ slice.prompt }}"}
      - {id: check, run: 'touch OUTSIDE/checking; test -e OUTSIDE/again || sleep 300; cat same; echo 1 > b.out'}
  - {id: b, steps: [{id: wait, run: 'until test -e OUTSIDE/checking; do sleep 0.02; done; test -e OUTSIDE/again'}]}
"""


def test_a_slice_that_was_cancelled_while_it_was_checked_is_checked_and_not_paid_again(
    repository: Repository,
) -> None:
    plan(repository, CANCELLED)
    assert repository.weft("run").returncode == 1
    assert paid(repository) == ["a"]
    (repository.outside / "again").touch()
    done = repository.weft("run")
    assert done.returncode == 0, done.stderr
    assert paid(repository) == ["a"]
    first = next(iter(repository.told("step_finished", "a", "code")))
    assert first.outcome == "done"
    assert repository.files() == {"README": "hello", "same": "a", "b.out": "1"}
    assert repository.lost() == []


HELD = """
merge: {mode: auto}
failure_mode: continue_on_error
subplans:
  - {id: a, prompt: One, steps: [{id: code, prompt: "{{ slice.prompt }}"}]}
  - {id: b, prompt: Two, steps: [{id: code, prompt: "{{ slice.prompt }}"}]}
  - {id: c, steps: [{id: work, run: 'echo C > c'}]}
"""


def test_editing_one_slice_does_not_redo_another_that_is_held_in_conflict(repository: Repository) -> None:
    plan(repository, HELD.replace("C", "1"))
    assert repository.weft("run").returncode == 4
    assert paid(repository) == ["a", "b"]
    plan(repository, HELD.replace("C", "2"))
    held = repository.weft("run")
    assert (held.returncode, paid(repository)) == (4, ["a", "b"])
    (loser,) = {event.subplan for event in repository.told("merge") if event.outcome == "conflict"}
    assert f"{loser} cannot be merged" in held.stderr
    repository.resolve(loser, repository.branch(""), same="both\n")
    assert repository.weft("merge", loser).returncode == 0
    assert paid(repository) == ["a", "b"]
    assert repository.files() == {"README": "hello", "same": "both", "c": "2"}
    assert repository.lost() == []
