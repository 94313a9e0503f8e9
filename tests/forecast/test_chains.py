"""The chain of slices for which a run waits."""

from typing import Any

import pytest

from forecast.rehearsals import Data, group, leaf, plan, rehearsal, tally, work
from weft.forecast.chains import Chains
from weft.plan.compile.compile import compile_plan


def last(ends: dict[str, float], *subplans: Data, **head: Any) -> tuple[str, ...]:
    """The chain that ends last if the slices end at these times."""
    compiled = compile_plan(plan(*subplans, **head))
    outline = compiled.plan.outline
    rows: dict[str, int] = {path: row for row, path in enumerate(outline.paths)}
    return Chains(outline, compiled.after).last({rows[path]: at for path, at in ends.items()})


def test_the_chain_follows_the_dependency_that_ended_last() -> None:
    slices = [leaf("a"), leaf("b"), leaf("c", depends_on=["a", "b"]), leaf("d")]
    assert last({"a": 1, "b": 2, "c": 5, "d": 4}, *slices) == ("b", "c")
    assert last({"a": 3, "b": 2, "c": 5, "d": 4}, *slices) == ("a", "c")
    assert last({"a": 1, "b": 2, "c": 5, "d": 6}, *slices) == ("d",)


def test_the_dependencies_of_a_group_are_those_of_its_slices() -> None:
    slices = [group("g", leaf("a"), leaf("b")), group("h", leaf("c"), depends_on=["g"])]
    assert last({"g/a": 2, "g/b": 1, "h/c": 3}, *slices) == ("g/a", "h/c")


def test_of_slices_that_end_at_the_same_time_the_first_in_the_plan_counts() -> None:
    assert last({"a": 2, "b": 2}, leaf("b"), leaf("a")) == ("b",)


def test_a_slice_that_did_not_run_is_in_no_chain() -> None:
    slices = [leaf("a"), leaf("b", depends_on=["a"])]
    assert last({"b": 2}, *slices) == ("b",)
    assert last({}, *slices) == ()


def test_slices_that_change_the_same_files_and_follow_each_other_are_a_chain() -> None:
    slices = [leaf(name, files=["src/**"]) for name in "ab"]
    assert last({"a": 1, "b": 2}, *slices, isolation="worktree", git=True, overlap="serialize") == ("a", "b")


def test_a_slice_that_is_halted_when_another_fails_does_not_end_last() -> None:
    slices = (leaf("a", work(minutes=5, estimate={"fail": 1})), leaf("b", work(minutes=60)))
    result = tally(*slices, failure_mode="fail_fast", runs=range(5))
    assert dict(result.paths) == {("a",): 5}


@pytest.mark.parametrize("number", range(5))
def test_the_chain_of_a_replication_ends_with_its_last_slice(number: int) -> None:
    rehearsed = rehearsal(*[leaf(f"s{each}", work(minutes="1..9")) for each in range(6)], max_parallel=2)
    outcome = rehearsed.play(number)
    outline = rehearsed.compiled.plan.outline
    chain = Chains(outline, rehearsed.compiled.after).last(outcome.ends)
    assert chain == (outline.paths[max(outcome.ends, key=outcome.ends.__getitem__)],)
