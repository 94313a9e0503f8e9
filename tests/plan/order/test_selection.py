"""What is needed for some subplans, and an outline of nothing else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plan.outlines import around, plans, sketched
from weft.ids import SubplanPath
from weft.plan.order.outline import ROOT, Outline
from weft.plan.order.selection import cut, select

STORE = sketched(
    "tools/",
    "tools/lint",
    "store/: tools",
    "store/model",
    "store/disk: store/model",
    "store/deep/: store/disk",
    "store/deep/one",
    "store/deep/two: docs",
    "cli: store/model",
    "docs",
)


def selected(outline: Outline, *paths: str) -> list[str]:
    rows = [outline.paths.index(SubplanPath(path)) for path in paths]
    return [outline.paths[row] for row in select(outline, rows).rows if row != ROOT]


def partly(outline: Outline, *paths: str) -> list[str]:
    rows = [outline.paths.index(SubplanPath(path)) for path in paths]
    return sorted(outline.paths[row] or "/" for row in select(outline, rows).parts)


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        (["docs"], ["docs"]),
        (["store/model"], ["tools", "tools/lint", "store", "store/model"]),
        (["cli"], ["tools", "tools/lint", "store", "store/model", "cli"]),
        (
            ["store/deep/one"],
            ["tools", "tools/lint", "store", "store/model", "store/disk", "store/deep", "store/deep/one"],
        ),
        (["store"], [path for path in STORE.paths if path not in {"", "cli"}]),
        (["docs", "tools/lint"], ["tools", "tools/lint", "docs"]),
        ([""], STORE.paths[1:]),
    ],
    ids=lambda words: ",".join(words)[:20],
)
def test_what_is_in_a_subplan_and_what_it_and_the_groups_around_it_depend_on_is_needed(
    chosen: list[str], expected: list[str]
) -> None:
    assert selected(STORE, *chosen) == expected


@pytest.mark.parametrize(
    ("chosen", "parts"),
    [
        (["docs"], ["/"]),
        (["store/model"], ["/", "store"]),
        (["store"], ["/"]),
        (["store/deep/one"], ["/", "store", "store/deep"]),
        (["store/deep/one", "store/deep/two"], ["/"]),
        (["tools/lint"], ["/"]),
        (["store", "cli"], []),
    ],
)
def test_a_group_is_there_in_part_if_something_in_it_is_not_there(
    chosen: list[str], parts: list[str]
) -> None:
    assert partly(STORE, *chosen) == parts


def slowly(outline: Outline, chosen: set[int]) -> set[int]:
    """By the definition, until nothing more is found."""
    needed: set[int] = set()
    more = set(chosen)
    while more:
        needed |= more
        inside = {target for row in needed for target in outline.below(row)}
        with_groups = needed.union(*(around(outline, row) for row in needed))
        more = (inside | {target for row in with_groups for target in outline.depends_on[row]}) - needed
    return needed.union(*(around(outline, row) for row in needed))


@given(plans(), st.data())
def test_it_is_the_least_that_is_closed(outline: Outline, data: st.DataObject) -> None:
    chosen = data.draw(st.sets(st.integers(0, len(outline.paths) - 1), min_size=1))
    selection = select(outline, chosen)
    assert set(selection.rows) == slowly(outline, chosen)
    assert list(selection.rows) == sorted(selection.rows)
    missing = {row for row in range(len(outline.paths)) if row not in set(selection.rows)}
    assert selection.parts == {row for row in selection.rows if missing & set(outline.below(row))}


@given(plans(), st.data())
def test_what_is_left_is_in_and_waits_for_the_same(outline: Outline, data: st.DataObject) -> None:
    chosen = data.draw(st.sets(st.integers(0, len(outline.paths) - 1), min_size=1))
    rows = select(outline, chosen).rows
    left = cut(outline, rows)
    assert left.paths == [outline.paths[row] for row in rows]
    assert left.leaves == [outline.leaves[row] for row in rows]
    assert [_names(left, left.depends_on[row]) for row in range(len(rows))] == [
        _names(outline, outline.depends_on[row]) for row in rows
    ]
    assert [_names(left, left.below(row)) for row in range(len(rows))] == [
        [name for name in _names(outline, outline.below(row)) if name in left.paths] for row in rows
    ]
    assert [_parent(left, row) for row in range(len(rows))] == [_parent(outline, row) for row in rows]


def _names(outline: Outline, rows: "range | list[int] | tuple[int, ...]") -> list[str]:
    return [outline.paths[row] for row in rows]


def _parent(outline: Outline, row: int) -> str | None:
    return None if outline.parents[row] < 0 else outline.paths[outline.parents[row]]
