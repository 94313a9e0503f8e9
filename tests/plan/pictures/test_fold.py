import pytest
from hypothesis import given
from hypothesis import strategies as st

from plan.pictures.plans import comes_after, plan, plans
from weft.plan.pictures import PictureRow, fold_rows


def slices(rows):
    return sum(row.folded or row.is_leaf for row in rows)


def flat(count: int, *, below: str = ""):
    return plan(*([below] if below else []), *(f"{below}/s{n}".lstrip("/") for n in range(1, count + 1)))


def test_a_plan_that_is_small_enough_stays_as_it_is():
    rows = plan("a", "a/x", "b", needs={"b": ["a"]})
    assert fold_rows(rows, max_rows=4) == tuple(rows)


def test_a_group_becomes_one_row_that_says_how_many_slices_it_holds():
    rows = plan("store", "store/x", "store/y", "store/z", "cli", needs={"cli": ["store/y"]})
    assert fold_rows(rows, max_rows=3)[1:] == (
        PictureRow(path="store", title="STORE", parent=0, is_leaf=True, note="3 slices", folded=3),
        PictureRow(path="cli", title="CLI", parent=0, is_leaf=True, depends_on=(1,)),
    )


def test_a_group_of_one_slice_says_so():
    rows = plan("a", "a/x", "b", "b/y", "b/z")
    assert [row.note for row in fold_rows(rows, max_rows=3)] == ["", "1 slice", "2 slices"]


def test_the_largest_group_is_folded_first():
    rows = plan("a", "a/x", "a/y", "b", "b/x", "b/y", "b/z", "c")
    assert [row.path for row in fold_rows(rows, max_rows=6)] == ["", "a", "a/x", "a/y", "b", "c"]


def test_of_groups_of_one_size_the_deepest_is_folded_first():
    rows = plan("a", "a/x", "a/y", "b", "b/c", "b/c/x", "b/c/y", "b/d", "b/e")
    assert [row.path for row in fold_rows(rows, max_rows=8)] == [
        "",
        "a",
        "a/x",
        "a/y",
        "b",
        "b/c",
        "b/d",
        "b/e",
    ]


def test_groups_that_are_alike_are_folded_together():
    rows = plan("a", "a/x", "a/y", "b", "b/x", "b/y", "c")
    assert [row.path for row in fold_rows(rows, max_rows=6)] == ["", "a", "b", "c"]


def test_a_group_of_folded_groups_is_folded_when_that_is_not_enough():
    rows = plan("a", "a/b", "a/b/x", "a/b/y", "a/c", "a/c/x", "a/c/y", "d")
    assert [(row.path, row.folded) for row in fold_rows(rows, max_rows=3)] == [("", 0), ("a", 4), ("d", 0)]


def test_many_siblings_without_a_group_become_runs_of_siblings():
    rows = fold_rows(flat(500))
    assert len(rows) == 13
    assert [(row.path, row.note) for row in rows[1:3]] == [
        ("s1 … s41", "41 slices"),
        ("s42 … s83", "42 slices"),
    ]
    assert slices(rows) == 500


def test_runs_keep_to_the_limit_if_it_is_narrow():
    assert [row.path for row in fold_rows(flat(9), max_rows=4)] == ["", "s1 … s3", "s4 … s6", "s7 … s9"]


def test_a_group_that_holds_the_whole_plan_is_kept_and_its_children_become_runs():
    rows = fold_rows(flat(500, below="all"))
    assert [row.path for row in rows[:3]] == ["", "all", "all/s1 … s41"]
    assert {row.parent for row in rows[2:]} == {1}


def test_groups_in_a_row_that_are_too_many_become_runs_with_their_slices_counted():
    rows = fold_rows(plan(*(path for n in range(80) for path in (f"g{n}", f"g{n}/x", f"g{n}/y"))))
    assert [row.folded for row in rows[1:]] == [12, 14, 14] * 4


def test_a_chain_of_groups_longer_than_the_limit_is_cut():
    path = ["a", "b", "c", "d", "e", "f"]
    rows = plan(*("/".join(path[:n]) for n in range(1, 7)))
    assert [(row.path, row.folded) for row in fold_rows(rows, max_rows=3)] == [("", 0), ("a", 0), ("a/b", 1)]


def test_dependencies_of_what_is_folded_are_named_once_and_never_on_itself():
    needs = {"a/y": ["a/x"], "b/x": ["a/x", "a/y"], "b/y": ["a/y", "b/x"], "c": ["b/x"]}
    rows = fold_rows(plan("a", "a/x", "a/y", "b", "b/x", "b/y", "c", needs=needs), max_rows=4)
    assert [row.depends_on for row in rows] == [(), (), (1,), (2,)]


def test_folded_groups_may_depend_on_each_other():
    needs = {"b/x": ["a/x"], "a/y": ["b/x"]}
    rows = fold_rows(plan("a", "a/x", "a/y", "b", "b/x", "b/y", needs=needs), max_rows=3)
    assert [row.depends_on for row in rows] == [(), (2,), (1,)]


def test_order_alone_gives_way_to_a_dependency_on_the_same_box():
    rows = [
        *plan("a", "a/x", "a/y"),
        PictureRow(path="b", parent=0, is_leaf=True, depends_on=(2,), after=(3,)),
        PictureRow(path="c", parent=0, is_leaf=True, after=(2, 3)),
    ]
    small = fold_rows(rows, max_rows=4)
    assert [(row.depends_on, row.after) for row in small[2:]] == [((1,), ()), ((), (1,))]


def test_a_limit_without_room_for_a_box_is_refused():
    with pytest.raises(ValueError, match="into 1 rows; it needs 2"):
        fold_rows(plan("a"), max_rows=1)


@given(plans(circles=True), st.integers(2, 14))
def test_folding_keeps_the_limit_and_every_slice(rows, max_rows):
    small = fold_rows(rows, max_rows=max_rows)
    assert len(small) <= max_rows
    assert slices(small) == slices(rows)
    assert all(row.parent < number for number, row in enumerate(small))
    assert all(not small[row.parent].is_leaf for row in small[1:])


@given(plans(), st.integers(2, 14))
def test_folding_keeps_what_comes_after_what(rows, max_rows):
    small = fold_rows(rows, max_rows=max_rows)
    numbers = {row.path: number for number, row in enumerate(rows)}
    # Boxes stand in plan order, and a run is named after its first slice: a slice is in the last one before it.
    boxes = {n: numbers[row.path.partition(" … ")[0]] for n, row in enumerate(small) if row.is_leaf}
    lifted = {
        tuple(max(n for n, first in boxes.items() if first <= leaf) for leaf in pair)
        for pair in comes_after(rows)
    }
    assert {(a, b) for a, b in lifted if a != b} <= comes_after(small)
