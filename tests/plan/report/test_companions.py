"""Subplans whose files used to change together, though they share none."""

from itertools import combinations
from typing import Any

import pytest

from plan.small_plans import compiled
from weft.net.verdict import Answer
from weft.plan.proof.prove import Proof
from weft.plan.report.check import CheckReport, check_report
from weft.plan.report.companions import MOST_FILES, Companions, FilePair, owners

PROVED = Proof(answer=Answer.PROVED, why="")
MODEL = FilePair("src/model.py", "tests/model.py", 7)


def report(*subplans: dict[str, Any], history: list[FilePair], **plan: Any) -> CheckReport:
    return check_report(compiled(*subplans, **plan), PROVED, history)


def pairs(*subplans: dict[str, Any], history: list[FilePair], **plan: Any) -> list[tuple[str, str]]:
    result = report(*subplans, history=history, **plan).overlaps.companions
    return [(pair.first, pair.second) for pair in result]


def owner(id_: str, *files: str, **more: Any) -> dict[str, Any]:
    return {"id": id_, "files": list(files), **more}


def test_two_that_own_files_that_changed_together_are_reported() -> None:
    result = report(owner("a", "src"), owner("b", "tests/*.py"), history=[MODEL])
    assert result.overlaps.companions == (Companions(first="a", second="b", files=(MODEL,), more=0),)
    assert result.overlaps.to_json()["companions"] == [
        {
            "first": "a",
            "second": "b",
            "changed_together": [{"files": ["src/model.py", "tests/model.py"], "commits": 7}],
            "more": 0,
        }
    ]
    assert result.overlaps.warnings == ()


def test_the_first_file_is_one_of_the_first_subplan() -> None:
    (result,) = report(owner("a", "tests"), owner("b", "src"), history=[MODEL]).overlaps.companions
    assert result.files == (FilePair("tests/model.py", "src/model.py", 7),)


def test_those_of_which_one_waits_for_the_other_are_not_reported() -> None:
    ordered = (owner("a", "src"), owner("b", "tests", depends_on=["a"]), {"id": "c"})
    assert pairs(*ordered, history=[MODEL]) == []


@pytest.mark.parametrize("limits", [{"max_parallel": 1}, {"policy": "serial"}])
def test_those_that_take_turns_are_not_reported(limits: dict[str, Any]) -> None:
    assert pairs(owner("a", "src"), owner("b", "tests"), history=[MODEL], **limits) == []


def test_those_that_overlap_are_reported_as_such_only() -> None:
    result = report(owner("a", "src", "x"), owner("b", "tests", "x"), history=[MODEL]).overlaps
    assert (len(result.pairs), result.companions) == (1, ())


def test_a_group_is_no_companion_of_what_is_in_it_but_of_others() -> None:
    group = {"id": "g", "files": ["src"], "subplans": [owner("in", "tests"), {"id": "more"}]}
    assert pairs(group, owner("b", "tests/**/*.py"), history=[MODEL]) == [("g", "b")]


def test_files_without_an_owner_are_not_reported() -> None:
    assert pairs(owner("a", "src"), owner("b", "docs"), history=[MODEL]) == []
    assert pairs(owner("a", "src", "tests"), owner("b", "docs"), history=[MODEL]) == []


def test_those_that_changed_together_most_often_come_first_and_further_files_are_counted() -> None:
    history = [FilePair(f"b/{n}", f"c/{n}", n) for n in range(3, 9)] + [FilePair("a/x", "b/x", 5)]
    first, second = report(
        owner("a", "a"), owner("b", "b"), owner("c", "c"), history=history
    ).overlaps.companions
    assert (first.first, first.second, first.more) == ("b", "c", 6 - MOST_FILES)
    assert [pair.times for pair in first.files] == [8, 7, 6]
    assert (second.first, second.second, second.more) == ("a", "b", 0)


def test_two_patterns_that_mean_one_file_count_once() -> None:
    (result,) = report(
        owner("a", "src", "src/*.py"), owner("b", "tests"), history=[MODEL]
    ).overlaps.companions
    assert (result.files, result.more) == ((MODEL,), 0)


def test_of_very_many_some_are_reported() -> None:
    slices = [owner(f"s{n}", f"d{n}") for n in range(50)]
    history = [FilePair(f"d{pair}/f", f"d{second}/f", 3) for pair, second in combinations(range(50), 2)]
    assert len(pairs(*slices, history=history)) == 1_000


def test_the_owners_of_files_are_those_whose_patterns_mean_them() -> None:
    plan = compiled(
        owner("a", "src/*.py", "docs/"), owner("b", "**/x.py"), owner("c", "src/x"), {"id": "d"}
    ).plan
    files = {"src/x.py", "src/y.py", "src/x/y", "src/xy", "docs/a/b", "docs", "src.py", "x.py"}
    assert owners(plan, files) == {
        "docs/a/b": [1],
        "src/x.py": [1, 2],
        "src/y.py": [1],
        "x.py": [2],
        "src/x/y": [3],
    }
