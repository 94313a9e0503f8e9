"""What need not be done again: the last run that had a subplan in its plan decides."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from app.pasts import Past, a_group, a_plan, a_slice, past
from stored_events import make_event
from weft.app.history.completed_work import CompletedWork, completed_by, kept_of
from weft.app.history.earlier_runs import chosen_for, earlier_runs
from weft.app.run.selection import choose
from weft.engine.messages.events import AnyEvent
from weft.engine.messages.facts import Ended, StepOutcome
from weft.plan.model import Plan
from weft.ports.journal import RunRecord

PLAN = a_plan(a_slice("a"), a_slice("b", "a"), a_slice("c"))
CHANGED = a_plan(a_slice("a"), a_slice("b", "a"), a_slice("c", work="false"))
ALL = ("a", "b", "c")


@pytest.fixture
def story(tmp_path: Path) -> Iterator[Past]:
    with past(tmp_path) as item:
        yield item


def kept(story: Past, plan: Plan, *chosen: str) -> CompletedWork:
    plan, choice = choose(plan, chosen)
    return kept_of(plan, story.journal, earlier_runs(story.journal, plan.id), choice.parts)


def by(story: Past, plan: Plan) -> dict[str, str]:
    return completed_by(kept(story, plan), story.journal, earlier_runs(story.journal, plan.id))


# One run.


def test_where_nothing_has_been_run_nothing_is_kept(story: Past) -> None:
    assert kept(story, PLAN) == CompletedWork()


def test_what_was_completed_and_has_not_changed_is_kept(story: Past) -> None:
    story.ran("r1", PLAN, done=ALL)
    assert kept(story, PLAN).paths == ALL
    assert kept(story, CHANGED).paths == ("a", "b")


def test_only_a_run_that_is_completed_leaves_nothing_to_do(story: Past) -> None:
    story.ran("r1", PLAN, done=ALL, state="failed")
    assert not kept(story, PLAN).is_all
    story.ran("r2", PLAN, done=ALL, state="completed")
    assert kept(story, PLAN).is_all
    assert not kept(story, CHANGED).is_all


def test_what_has_landed_is_reported_with_the_branch(story: Past) -> None:
    story.ran("r1", PLAN, done=ALL, landed=["a"], target="main")
    kept_work = kept(story, PLAN)
    assert (kept_work.landed, kept_work.target) == (("a",), "main")


def test_what_a_run_took_over_is_kept_even_if_it_did_not_get_to_tell(story: Past) -> None:
    story.ran("r1", PLAN, done=["a"])
    story.ran("r2", PLAN, carried=("a",), landed=[], state="stopped")
    assert kept(story, PLAN).paths == ("a",)


def test_a_run_that_died_before_anything_happened_never_was(story: Past) -> None:
    story.ran("r1", PLAN, done=ALL)
    record = story.journal.runs()[0]
    story.journal.add_run(
        RunRecord(**{**{name: getattr(record, name) for name in record.__struct_fields__}, "run": "r2"})
    )
    assert kept(story, PLAN).paths == ALL
    assert chosen_for(story.journal, "r2") == ()


def test_after_a_run_for_the_whole_plan_nothing_older_counts(story: Past) -> None:
    story.ran("r1", PLAN, done=ALL)
    story.ran("r2", PLAN)
    assert kept(story, PLAN) == CompletedWork()


# A few that were chosen.


def test_for_what_a_run_was_not_for_the_one_before_it_counts(story: Past) -> None:
    story.ran("r1", PLAN, done=["a", "b"], landed=["a"])
    story.ran("r2", PLAN, "c", done=["c"], landed=["c"])
    kept_work = kept(story, PLAN)
    assert (kept_work.paths, kept_work.landed) == (ALL, ALL[:1] + ALL[2:])
    assert (kept_work.recorded_by, kept_work.taken_over) == ({"a": "r1", "b": "r1", "c": "r2"}, frozenset())
    assert not kept_work.is_all


def test_for_what_it_was_for_nothing_older_counts(story: Past) -> None:
    story.ran("r1", PLAN, done=ALL)
    story.ran("r2", PLAN, "c")
    assert kept(story, PLAN).paths == ("a", "b")


def test_what_was_done_again_has_not_landed_because_its_forerunner_had(story: Past) -> None:
    story.ran("r1", PLAN, done=ALL, landed=["c"])
    story.ran("r2", CHANGED, "c", done=["c"])
    kept_work = kept(story, CHANGED)
    assert (kept_work.paths, kept_work.landed) == (ALL, ())


def test_what_has_landed_elsewhere_is_to_land_here(story: Past) -> None:
    story.ran("r1", PLAN, done=["a"], landed=["a"], target="old")
    story.ran("r2", PLAN, "c", done=["c"], landed=["c"], target="new")
    kept_work = kept(story, PLAN)
    assert (kept_work.landed, kept_work.target) == (("c",), "new")


def test_what_is_built_on_what_a_later_run_did_not_complete_is_not_kept(story: Past) -> None:
    other = a_plan(a_slice("a", work="false"), a_slice("b", "a"), a_slice("c"))
    story.ran("r1", PLAN, done=ALL)
    story.ran("r2", other, "a")
    assert kept(story, PLAN).paths == ("c",)


def test_nor_is_a_group_of_which_something_is_not(story: Past) -> None:
    plan = a_plan(a_group("g", a_slice("a"), a_slice("b")), a_slice("c", "g"), a_slice("d"))
    story.ran("r1", plan, done=["g/a", "g/b", "g", "c", "d"])
    story.ran("r2", plan, "g/a", done=["g/a", "g"])
    assert kept(story, plan).paths == ("g/a", "g/b", "d")


def test_after_a_run_that_did_all_again_nothing_older_counts(story: Past) -> None:
    story.ran("r1", PLAN, done=ALL)
    story.ran("r2", PLAN, "c", done=["c"], fresh=True)
    assert kept(story, PLAN).paths == ("c",)


def test_there_is_nothing_to_do_for_a_few_if_they_are_completed(story: Past) -> None:
    story.ran("r1", PLAN, done=ALL, state="completed")
    assert kept(story, PLAN, "b").is_all
    assert kept(story, CHANGED, "b").is_all
    assert not kept(story, CHANGED, "c").is_all


def test_a_verify_that_is_new_is_to_be_run_for_a_group_that_was_chosen(story: Past) -> None:
    before = a_plan(a_group("g", a_slice("a")), a_slice("b"))
    after = a_plan(a_group("g", a_slice("a"), verify="true"), a_slice("b"))
    story.ran("r1", before, done=["g/a", "g", "b"], state="completed")
    assert kept(story, before, "g").is_all
    assert not kept(story, after, "g").is_all


# Who has done it.


def test_the_run_is_named_that_has_done_it(story: Past) -> None:
    story.ran("r1", PLAN, done=["a"])
    story.ran("r2", PLAN, carried=("a",), done=["a", "b"])
    story.ran("r3", PLAN, carried=("a", "b"), done=["a", "b", "c"])
    assert by(story, PLAN) == {"a": "r1", "b": "r2", "c": "r3"}


def test_also_behind_runs_that_were_for_others(story: Past) -> None:
    story.ran("r1", PLAN, done=["a"])
    story.ran("r2", PLAN, "c", done=["c"])
    story.ran("r3", PLAN, "b", carried=("a",), done=["b"])
    assert by(story, PLAN) == {"a": "r1", "b": "r3", "c": "r2"}


def test_without_a_known_origin_the_run_that_carried_it_over_is_named(story: Past) -> None:
    story.ran("r2", PLAN, carried=("a",), events=[make_event(kind="woke")])
    assert by(story, PLAN) == {"a": "r2"}


# Slices that continue


def step(kind: str, path: str, name: str, **more: Any) -> AnyEvent:
    data = {"firing": 1, "execution": 1}
    return make_event(kind=f"step_{kind}", subplan=path, step=name, attempt=1, data=data, **more)


def begun(path: str) -> list[AnyEvent]:
    """Its work is done, and nothing else."""
    done = Ended(at=0.0, firing=1, execution=1, how=StepOutcome.DONE)
    ready = step("finished", path, "@workspace", outcome="done", fact=done)
    return [ready, step("started", path, "work"), step("finished", path, "work", outcome="done", fact=done)]


def failed(path: str, reason: str) -> AnyEvent:
    return make_event(kind="subplan_state", subplan=path, outcome="failed", data={"reason": reason})


def continued(story: Past, plan: Plan, *chosen: str) -> list[str]:
    return [earlier.subplan for earlier in kept(story, plan, *chosen).continued]


@pytest.mark.parametrize(
    ("reason", "continues"),
    [
        ("cancelled", True),
        ("budget", True),
        ("lost", True),
        ("infra", True),
        ("error", False),
        ("timeout", False),
    ],
)
def test_a_slice_continues_unless_it_failed_by_itself(story: Past, reason: str, continues: bool) -> None:
    story.ran("r1", PLAN, done=["a"], events=[*begun("c"), failed("c", reason)])
    assert continued(story, PLAN) == (["c"] if continues else [])


def test_a_slice_that_was_changed_does_not_continue(story: Past) -> None:
    story.ran("r1", PLAN, events=[*begun("a"), *begun("c")], state="stopped")
    assert continued(story, PLAN) == ["a", "c"]
    assert continued(story, CHANGED) == ["a"]
    assert continued(story, PLAN, "a") == ["a"]


def test_a_slice_that_is_completed_does_not_continue(story: Past) -> None:
    completed = make_event(kind="subplan_state", subplan="c", outcome="completed")
    story.ran("r1", PLAN, events=[*begun("c"), completed])
    assert continued(story, PLAN) == []


def test_the_last_run_with_the_slice_decides_what_continues(story: Past) -> None:
    story.ran("r1", PLAN, events=[*begun("a"), *begun("c")], state="stopped")
    story.ran("r2", PLAN, "a", events=[*begun("a"), failed("a", "error")])
    assert continued(story, PLAN) == ["c"]
    (first,) = kept(story, PLAN).continued
    story.ran("r3", PLAN, continued=(first,))
    assert kept(story, PLAN).continued == (first,)


def test_after_a_run_that_did_everything_again_only_its_own_work_counts(story: Past) -> None:
    story.ran("r1", PLAN, events=begun("c"), state="stopped")
    story.ran("r2", PLAN, fresh=True, state="stopped")
    assert continued(story, PLAN) == []
