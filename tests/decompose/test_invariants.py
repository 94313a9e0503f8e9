"""What holds of every tree, and that it is seen if it does not."""

import pytest
from hypothesis import given
from msgspec.structs import replace

from decompose.sets import LIMITS, signals
from decompose.trees import SHAPE, Tree, changed, signals_for, small_tree
from weft.decompose.invariants import find_violations
from weft.decompose.model import Limits, Part, Signals
from weft.decompose.parts import decompose

NOWHERE = "which is no part beside it or elsewhere"


@given(signals(), LIMITS)
def test_nothing_is_broken_in_what_splitting_gives(files: Signals, limits: Limits) -> None:
    assert [*find_violations(decompose(files, limits), files, limits)] == []


@pytest.mark.parametrize(
    ("name", "fields", "said"),
    [
        ("cli", {"files": ("c/1", "c/2", "c/3")}, "everything: not each file is in exactly one leaf"),
        ("cli", {"files": ("c/1", "c/2", "c/3", "s/m1")}, "everything: not each file is in exactly one leaf"),
        ("cli", {"tokens": 399}, "everything/cli: its tokens are not those of its files"),
        ("cli", {"too_large": True}, "everything/cli: too_large does not match its tokens"),
        ("cli", {"id": "Cli"}, "everything/Cli: its id is invalid"),
        ("cli", {"id": "store"}, "everything: two of its parts have the same id"),
        ("cli", {"title": ""}, "everything/cli: its title is not a printable line"),
        ("cli", {"title": "a\nb"}, "everything/cli: its title is not a printable line"),
        ("cli", {"prompt": "a\x1b"}, "everything/cli: its prompt is not plain text"),
        ("cli", {"depends_on": ("model",)}, f"everything/cli: it depends on model, {NOWHERE}"),
        ("sql", {"depends_on": ("/store",)}, f"everything/store/sql: it depends on /store, {NOWHERE}"),
        ("store", {"depends_on": ("/store/sql",)}, f"everything/store: it depends on /store/sql, {NOWHERE}"),
        ("cli", {"depends_on": ()}, "everything: cli and store are linked, and have no order and no risk"),
        ("sql", {"depends_on": ()}, "everything/store: sql and model are linked, and have no order and no risk"),
        ("store", {"depends_on": ("cli",)}, "everything: parts depend on each other in a circle"),
        ("model", {"depends_on": ("/cli",)}, "everything: parts depend on each other in a circle"),
        ("store", {"files": ("s/m1",)}, "everything/store: its files are not those of its parts"),
        ("store", {"tokens": 1}, "everything/store: its tokens are not those of its parts"),
        ("store", {"prompt": "x"}, "everything/store: it is no leaf, and has what only leaves have"),
        ("store", {"too_large": True}, "everything/store: it is no leaf, and has what only leaves have"),
    ],
)  # fmt: skip
def test_what_does_not_hold_is_said(name: str, fields: dict[str, object], said: str) -> None:
    tree = small_tree()
    assert said in [*find_violations(changed(tree.whole, name, **fields), tree.signals, tree.limits)]


def test_a_leaf_with_too_few_files_is_said() -> None:
    tree = small_tree()
    limits = Limits(min_files_per_subplan=3, max_files_per_subplan=4)
    assert [*find_violations(tree.whole, tree.signals, limits)] == [
        "everything/store/sql: it has 2 files, and 3 are the fewest"
    ]


def test_a_group_of_one_and_too_many_levels_are_said() -> None:
    leaf = Part(id="a", title="t", files=("x",), tokens=1)
    for _level in range(3):
        leaf = replace(leaf, parts=(leaf,))
    violations = [*find_violations(leaf, Signals(paths=("x",), tokens=(1,)), Limits())]
    assert violations[:2] == ["everything: it is 3 levels deep", "everything: it has one part only"]


def test_an_order_through_others_is_enough() -> None:
    """Of three in a row, the first and the last are linked as well."""
    paths = tuple(f"{folder}/{number}" for folder in "abc" for number in range(2))
    files = Signals(paths=paths, tokens=(1,) * 6, uses=((0, 2), (0, 4), (2, 4)))
    parts = tuple(
        Part(id=name, title=name, files=(f"{name}/0", f"{name}/1"), tokens=2, depends_on=before)
        for name, before in (("a", ("b",)), ("b", ("c",)), ("c", ()))
    )
    whole = Part(id="", title="x", files=paths, tokens=6, parts=parts)
    assert [*find_violations(whole, files, Limits(min_files_per_subplan=2))] == []


def test_that_a_reference_gave_way_is_reported_as_that() -> None:
    tree = Tree(SHAPE, signals_for(SHAPE, uses=[("c/1", "s/m1"), ("s/m2", "c/2")]))
    (risk,) = tree.whole.risks
    whole = replace(tree.whole, risks=(replace(risk, circle=False),))
    assert [*find_violations(tree.whole, tree.signals, tree.limits)] == []
    assert [*find_violations(whole, tree.signals, tree.limits)] == [
        "everything: cli and store are linked, and have no order and no risk",
        "everything: store and cli are linked, and have no order and no risk",
    ]
