"""What does not go together: a conflict, or tests that pass alone and fail together. It can be settled."""

import re
from contextlib import closing

from e2e.repositories import Repository, merge_of, merges
from stored_events import StoredEvent
from weft.app.control.control import refuse_to_retry
from weft.app.project.places import Places
from weft.app.record.journal import RecordedRun
from weft.store.sqlite import open_reader

WAITS = "until test -e OUTSIDE/{}; do sleep 0.02; done"

TWO_CONFLICTS = f"""
merge: {{mode: auto}}
subplans:
  - {{id: a, steps: [{{id: x, run: echo a > same; echo a > other}}]}}
  - {{id: b, steps: [{{id: x, run: '{WAITS.format("a")}; echo b > same; echo b > b'}}]}}
  - {{id: c, steps: [{{id: x, run: '{WAITS.format("a")}; echo c > other; echo c > c'}}]}}
  - {{id: d, depends_on: [a], steps: [{{id: x, run: 'touch OUTSIDE/a; {WAITS.format("conflicts")}; echo d > d'}}]}}
  - {{id: e, depends_on: [b], steps: [{{id: x, run: cat same > e}}]}}
"""


def in_conflict(repository: Repository) -> set[str]:
    return {event.subplan for event in repository.told("merge") if event.outcome == "conflict"}


def test_a_conflict_moves_nothing_delays_no_other_and_is_settled_in_its_worktree(
    repository: Repository,
) -> None:
    """One is settled for `weft merge`, the other for `weft run`."""
    repository.plan(TWO_CONFLICTS)
    with repository.started("run") as process:
        repository.wait_for(lambda: in_conflict(repository) == {"b", "c"}, process)
        (repository.outside / "conflicts").touch()
        assert process.wait() == 4
    assert repository.landed() == ["Merge a", "Merge d"]
    check_told(repository)
    before = (repository.tip(), repository.checkout(), repository.tip(repository.branch("")))
    again = repository.weft("merge", "b")
    assert (again.returncode, "same (add/add)" in again.stdout) == (4, True)
    assert (repository.tip(), repository.checkout(), repository.tip(repository.branch(""))) == before
    repository.resolve("b", repository.branch(""), same="a and b\n")
    assert repository.weft("merge", "b").returncode == 0
    repository.resolve("c", repository.branch(""), other="a and c\n")
    assert repository.weft("run").returncode == 0
    files = {"README": "hello", "same": "a and b", "other": "a and c", "b": "b", "c": "c", "d": "d"}
    assert repository.files() == {**files, "e": "a and b"}
    assert sorted(repository.landed()) == [f"Merge {subplan}" for subplan in "abcde"]
    assert repository.is_whole()
    assert repository.lost() == []


def check_told(repository: Repository) -> None:
    """Which files, both sides, and what to type."""
    event = merge_of(repository.story(), "conflict", "b")
    assert event.data["files"] == ["same"]
    message = event.data["message"]
    assert re.search(r"^<<<<<<< .*\na\n=======\nb\n>>>>>>> ", message.replace("    ", ""), re.MULTILINE)
    commands = f"git -C {repository.worktree('b')} merge {repository.branch('')}", "weft merge b"
    assert [command in message for command in commands] == [True, True]


LATE = f"""
merge: {{mode: auto}}
subplans:
  - id: g
    verify: cat a
    subplans:
      - {{id: a, steps: [{{id: x, run: '{WAITS.format("on")}; echo a > a; echo slice > README'}}]}}
  - {{id: b, steps: [{{id: x, run: echo b > b}}]}}
"""


def test_what_a_person_committed_is_in_conflict_with_what_would_land(repository: Repository) -> None:
    repository.plan(LATE)
    with repository.started("run") as process:
        repository.wait_for(lambda: repository.told("step_started", "g/a", "x"), process)
        mine = repository.commit(README="person\n")
        (repository.outside / "on").touch()
        assert process.wait() == 4
    assert repository.landed() == ["a person: README", "Merge b"]
    assert merge_of(repository.story(), "conflict", "g").data["files"] == ["README"]
    assert repository.is_whole()
    repository.resolve("g", "main", README="person and slice\n")
    assert repository.weft("merge", "g").returncode == 0
    assert repository.files() == {"README": "person and slice", "a": "a", "b": "b"}
    assert repository.git("merge-base", "--is-ancestor", mine, "main") == ""
    assert repository.is_whole()


def test_files_are_taken_as_the_branch_has_them_only_where_the_plan_says_so(repository: Repository) -> None:
    repository.commit(deps__lock="0\n", README="0\n")
    repository.plan(f"""
merge: {{mode: auto, take_branch: ["*.lock"]}}
subplans:
  - {{id: a, steps: [{{id: x, run: echo a > deps.lock; echo a > README}}]}}
  - {{id: b, steps: [{{id: x, run: '{WAITS.format("a")}; echo b > deps.lock'}}]}}
  - {{id: c, steps: [{{id: x, run: '{WAITS.format("b")}; echo c > deps.lock; echo c > README'}}]}}
  - {{id: d, depends_on: [a], steps: [{{id: x, run: touch OUTSIDE/a}}]}}
  - {{id: e, depends_on: [b], steps: [{{id: x, run: touch OUTSIDE/b}}]}}
""")
    outcome = repository.run()
    assert outcome.state == "waiting"
    assert repository.files() == {"README": "a", "deps.lock": "b"}
    assert merges(outcome, "conflict") == [("c", "@merge")]
    assert merge_of(outcome, "conflict", "c").data["files"] == ["README"]


# --- green alone, red together ---

RED = f"""
failure_mode: continue_on_error
merge: {{mode: auto}}
subplans:
  - id: group
    verify: 'echo "both $(ls)"; ! cat a b'
    subplans:
      - {{id: a, verify: cat a, steps: [{{id: x, run: echo a > a}}, {{id: check, action: verify}}]}}
      - {{id: b, verify: cat b, steps: [{{id: x, run: echo b > b}}, {{id: check, action: verify}}]}}
  - id: slices
    subplans:
      - {{id: c, verify: 'test ! -e d', steps: [{{id: x, run: echo c > c}}, {{id: check, action: verify}}]}}
      - id: d
        verify: 'echo c is here; test ! -e c'
        steps: [{{id: x, run: '{WAITS.format("c")}; echo d > d'}}, {{id: check, action: verify}}]
      - {{id: e, depends_on: [c], steps: [{{id: x, run: touch OUTSIDE/c}}]}}
  - {{id: fine, steps: [{{id: x, run: echo f > f}}]}}
"""


def test_what_passes_alone_and_fails_together_does_not_land(repository: Repository) -> None:
    """The one when the group is verified, the other when the second slice is merged."""
    outcome = repository.plan(RED).run()
    assert outcome.state == "failed"
    assert repository.files() == {"README": "hello", "f": "f"}
    states = outcome.states()
    alone = {path: states[path] for path in ("group/a", "group/b", "slices/c", "fine")}
    assert set(alone.values()) == {"completed"}
    assert [states[path] for path in ("group", "slices", "slices/d")] == ["failed error"] * 3
    assert repository.files(repository.branch("slices")) == {"README": "hello", "c": "c"}
    (verify,) = outcome.of("step_finished", "group", "@verify")
    assert "both README\na\nb" in verify.data["tail"]
    (merge,) = outcome.of("step_finished", "slices/d", "@merge")
    assert (merge.outcome, "c is here" in merge.data["tail"]) == ("failed", True)
    assert "though it passed before" in merge.data["message"]
    assert repository.is_whole()


def test_what_fails_with_what_a_person_committed_is_held_until_that_is_fixed(repository: Repository) -> None:
    def person(event: StoredEvent) -> None:
        if (event.kind, event.step) == ("step_started", "x"):
            repository.commit(person="p\n")
            (repository.outside / "on").touch()

    repository.plan(f"""
merge: {{mode: auto}}
subplans:
  - id: a
    verify: 'ls; test ! -e person'
    steps: [{{id: x, run: '{WAITS.format("on")}; echo a > a'}}, {{id: c, action: verify}}]
""")
    outcome = repository.run(person)
    assert outcome.state == "waiting"
    (land,) = outcome.of("step_finished", "a", "@land")
    assert (land.outcome, land.data["tail"].split()) == ("held", ["README", "a", "person"])
    assert repository.landed() == ["a person: person"]
    assert repository.is_whole()
    repository.git("rm", "--quiet", "person")
    repository.commit(fixed="m\n")
    assert repository.run().state == "completed"
    assert repository.files() == {"README": "hello", "a": "a", "fixed": "m"}
    assert not repository.worktree("_check.a").exists()


FAILURE_BESIDE_A_CONFLICT = f"""
failure_mode: continue_on_error
merge: {{mode: auto}}
subplans:
  - {{id: a, steps: [{{id: x, run: echo a > same}}]}}
  - {{id: b, steps: [{{id: x, run: '{WAITS.format("a")}; echo b > same'}}]}}
  - {{id: c, depends_on: [a], steps: [{{id: x, run: touch OUTSIDE/a}}]}}
  - id: g
    subplans:
      - {{id: red, steps: [{{id: x, run: "false"}}]}}
      - {{id: after, depends_on: [red], steps: [{{id: x, run: "true"}}]}}
      - {{id: green, steps: [{{id: x, run: "true"}}]}}
"""


def test_a_retry_without_names_is_for_what_failed_even_if_the_run_waits_for_a_person(
    repository: Repository,
) -> None:
    assert repository.plan(FAILURE_BESIDE_A_CONFLICT).weft("run").returncode == 1
    assert repository.story().state == "waiting"
    places = Places(repository.root)
    with closing(open_reader(places.journal)) as journal:
        recorded_run = RecordedRun(places, journal, journal.runs()[0])
        assert sorted(refuse_to_retry(recorded_run, ())) == ["g/after", "g/red"]
