"""What slices did lands on the target: in which order, when, and on top of what people did meanwhile."""

import re

import pytest

from e2e.projects import Outcome
from e2e.repositories import Repository, merge_of, merges
from stored_events import StoredEvent

WAITS = "until test -e OUTSIDE/on; do sleep 0.02; done"


def landings(outcome: Outcome, what: str = "merged") -> list[str]:
    return [subplan for subplan, step in merges(outcome, what) if step == "@land"]


# --- in which order ---

SLOW_AND_QUICK = f"""
merge: {{mode: auto, order: ORDER}}
subplans:
  - id: slow
    verify: cat slow/a
    subplans:
      - {{id: a, steps: [{{id: wait, run: '{WAITS}'}}, {{id: write, run: mkdir slow; echo a > slow/a}}]}}
  - {{id: quick, steps: [{{id: write, run: 'echo b > b; echo more >> README'}}]}}
"""


@pytest.mark.parametrize(
    ("order", "last_of_quick", "landed"),
    [
        ("sequential", ("subplan_state", "completed"), ["Merge slow", "Merge quick"]),
        ("completion", ("merge", "merged"), ["Merge quick", "Merge slow"]),
    ],
)
def test_milestones_land_in_the_order_of_the_plan_or_as_they_end(
    repository: Repository, order: str, last_of_quick: tuple[str, str], landed: list[str]
) -> None:
    """The slow slice continues when the quick one can do no more without it."""

    def go_on(event: StoredEvent) -> None:
        if event.subplan == "quick" and (event.kind, event.outcome) == last_of_quick and is_far(event):
            (repository.outside / "on").touch()

    def is_far(event: StoredEvent) -> bool:
        return event.kind == "subplan_state" or event.step == "@land"

    repository.plan(SLOW_AND_QUICK.replace("ORDER", order))
    outcome = repository.run(go_on)
    assert outcome.state == "completed"
    assert repository.landed() == landed
    assert [f"Merge {subplan}" for subplan in landings(outcome)] == landed
    assert repository.files() == {"README": "hello\nmore", "b": "b", "slow/a": "a"}
    assert repository.is_whole()
    assert (repository.root / "slow" / "a").read_text() == "a\n"  # where the target is checked out
    check_trailers(repository)


def check_trailers(repository: Repository) -> None:
    assert repository.trailers(repository.branch("slow/a")) == {
        "Weft-Plan": "tried",
        "Weft-Subplan": "slow/a",
        "Weft-Step": "write",
        "Weft-Attempt": "1",
    }
    merge = repository.git("log", "-1", "--format=%H", "--grep=^Merge slow$", "main")
    assert repository.trailers(merge) == {"Weft-Plan": "tried", "Weft-Subplan": "slow"}
    assert repository.git("log", "--format=%s", f"{repository.branch('slow/a')}^!") == "slow/a: write"


# --- when, and who is asked ---

TWO = """
merge: {{mode: {mode}, when: {when}}}
subplans:
  - id: g
    verify: cat a b
    subplans:
      - {{id: a, steps: [{{id: x, run: echo a > a}}]}}
      - {{id: b, depends_on: [a], steps: [{{id: x, run: echo b > b}}]}}
  - {{id: c, depends_on: [g], steps: [{{id: x, run: cat a b > c}}]}}
"""
ALL = {"README": "hello", "a": "a", "b": "b", "c": "a\nb"}


def test_each_slice_lands_once_it_has_passed(repository: Repository) -> None:
    outcome = repository.plan(TWO.format(mode="auto", when="slice")).run()
    assert outcome.state == "completed"
    assert repository.landed() == ["Merge g/a", "Merge g/b", "Merge c"]
    assert repository.files() == ALL


@pytest.mark.parametrize(
    ("mode", "when", "first", "all_landed"),
    [
        ("confirm", "milestone", "g", ["Merge g", "Merge c"]),
        ("manual", "slice", "g/a", ["Merge g/a", "Merge g/b", "Merge c"]),
    ],
)
def test_what_is_to_be_agreed_to_waits_for_that_and_holds_nothing_up(
    repository: Repository, mode: str, when: str, first: str, all_landed: list[str]
) -> None:
    repository.plan(TWO.format(mode=mode, when=when))
    before = repository.tip()
    ran = repository.weft("run")
    assert ran.returncode == 4
    waiting = ", ".join(subject.removeprefix("Merge ") for subject in all_landed)
    verified = r" +verify passed in .* s \(cat a b\)\n" if mode == "confirm" else ""
    assert re.search(rf"To land +{waiting}\n{verified}Next +weft merge ", ran.stderr)
    assert repository.tip() == before
    assert repository.story().states() == dict.fromkeys(["g", "g/a", "g/b", "c"], "completed")
    result = repository.weft("merge", first)
    assert (result.returncode, repository.landed()) == (0, all_landed[:1])
    assert f"{first}: landed on main" in result.stdout
    rest = repository.weft("merge")
    assert (rest.returncode, repository.landed()) == (0, all_landed)
    assert repository.files() == ALL
    assert repository.story().state == "completed"
    assert repository.weft("run").returncode == 0
    assert repository.landed() == all_landed
    assert repository.is_whole()


# --- on top of what ---

TOUCHED = f"""
merge: {{mode: auto}}
subplans:
  - id: a
    verify: 'MARK; ls >> OUTSIDE/seen; cat a'
    steps: [{{id: x, run: '{WAITS}; echo a > a; echo mine >> README'}}, {{id: check, action: verify}}]
"""


def test_on_top_of_what_a_person_has_committed_meanwhile_and_verified_with_it(
    repository: Repository,
) -> None:
    def person(event: StoredEvent) -> None:
        if (event.kind, event.step) == ("step_started", "x"):
            repository.commit(person="p\n")
            (repository.outside / "on").touch()

    outcome = repository.plan(TOUCHED).run(person)
    assert outcome.state == "completed"
    assert repository.landed() == ["a person: person", "Merge a"]
    assert repository.files() == {"README": "hello\nmine", "a": "a", "person": "p"}
    assert [step for mark in repository.marks() for step in mark.split() if step in {"check", "@land"}] == [
        *("check", "@land")
    ]
    assert repository.lines("seen") == ["README", "a", "README", "a", "person"]
    assert repository.is_whole()


IN_THE_WAY = """
merge: {mode: auto}
subplans:
  - {id: a, steps: [{id: x, run: echo more >> README}]}
  - {id: b, steps: [{id: x, run: echo b > b}]}
  - {id: c, steps: [{id: x, run: echo c > new}]}
"""


def test_what_a_person_has_changed_holds_what_would_touch_it_and_nothing_else(repository: Repository) -> None:
    repository.commit(OTHER="o\n")
    dirt = {"README": "dirt\n", "OTHER": "dirt, too\n", "new": "not tracked\n", "stray": "s\n"}
    for name, text in dirt.items():
        (repository.root / name).write_text(text)
    assert repository.plan(IN_THE_WAY).weft("run").returncode == 4
    outcome = repository.story()
    assert repository.landed() == ["a person: OTHER", "Merge b"]
    assert landings(outcome, "held") == ["a", "c"]
    held = [merge_of(outcome, "held", subplan) for subplan in ("a", "c")]
    assert [event.data["files"] for event in held] == [["README"], ["new"]]
    assert ["README" in event.data["message"] for event in held] == [True, False]
    assert {name: (repository.root / name).read_text() for name in (*dirt, "b")} == {**dirt, "b": "b\n"}
    repository.git("stash", "--", "README")
    (repository.root / "new").unlink()
    merged = repository.weft("merge")
    assert merged.returncode == 0
    assert repository.files() == {"README": "hello\nmore", "OTHER": "o", "b": "b", "new": "c"}
    assert (repository.root / "OTHER").read_text() == "dirt, too\n"


# --- two at once ---

TOGETHER = """
merge: {mode: manual}
subplans:
  - {id: a, verify: 'touch OUTSIDE/in; test -e person || exit 0; WAITS', steps: [{id: x, run: echo a > a}]}
  - {id: b, steps: [{id: x, run: echo b > b}]}
""".replace("WAITS", WAITS)


def test_two_that_merge_at_once_both_land(repository: Repository) -> None:
    """The second result arrives while the first is verified with the new commits of the target."""
    assert repository.plan(TOGETHER).weft("run").returncode == 4
    repository.commit(person="p\n")
    (repository.outside / "in").unlink(missing_ok=True)
    with repository.started("merge", "a") as first:
        repository.wait_for((repository.outside / "in").exists, first)
        with repository.started("merge", "b") as second:
            repository.wait_for(lambda: is_asked(repository, "b"), second)
            (repository.outside / "on").touch()
            assert (first.wait(), second.wait()) == (0, 0)
    assert sorted(repository.landed()) == ["Merge a", "Merge b", "a person: person"]
    assert repository.files() == {"README": "hello", "a": "a", "b": "b", "person": "p"}
    assert repository.is_whole()


def is_asked(repository: Repository, subplan: str) -> bool:
    return subplan in [event.subplan or event.data["subplan"] for event in repository.told("merge_asked")]


def test_two_that_merge_at_the_same_moment_both_land(repository: Repository) -> None:
    assert repository.plan(TOGETHER).weft("run").returncode == 4
    with repository.started("merge", "a") as first, repository.started("merge", "b") as second:
        assert (first.wait(), second.wait()) == (0, 0)
    assert sorted(repository.landed()) == ["Merge a", "Merge b"]


# --- what others did ---


def test_a_slice_starts_with_what_it_depends_on_near_and_far(repository: Repository) -> None:
    """In its own group, in another one that is not done yet, and in one that is."""
    repository.plan("""
merge: {mode: auto}
subplans:
  - id: g
    verify: test -e OUTSIDE/verified || ls > OUTSIDE/verified
    subplans:
      - {id: a, steps: [{id: x, run: echo a > a}]}
      - {id: b, depends_on: [a], steps: [{id: x, run: cat a > b}]}
      - {id: late, steps: [{id: x, run: 'until test -e OUTSIDE/far; do sleep 0.02; done; echo l > late'}]}
  - id: h
    verify: 'true'
    subplans:
      - id: far
        depends_on: [/g/a]
        steps: [{id: x, run: 'ls > OUTSIDE/seen; cat a > far; mv OUTSIDE/seen OUTSIDE/far'}]
      - id: inner
        verify: 'true'
        subplans: [{id: deep, depends_on: [/h/far, /g/b], steps: [{id: x, run: 'cat a b far > deep'}]}]
  - {id: last, depends_on: [g, h], steps: [{id: x, run: cat a b far deep late > last}]}
""")
    outcome = repository.run()
    assert outcome.state == "completed"
    assert repository.lines("far") == ["README", "a"]
    assert repository.lines("verified") == ["README", "a", "b", "late"]
    assert repository.files()["last"].split() == ["a", "a", "a", "a", "a", "a", "l"]
    assert repository.is_whole()
