"""Dependencies between slices, their brief form, and risks."""

from collections.abc import Mapping, Sequence

from decompose.trees import Shape, part_of, signals_for
from weft.decompose.dependencies import add_order
from weft.decompose.model import Part, Risk

SHAPE: Shape = {
    "a": {"x": ["a/x1", "a/x2"], "y": ["a/y1", "a/y2"]},
    "b": {"x": ["b/x1", "b/x2"], "y": ["b/y1", "b/y2"]},
    "c": ["c/1", "c/2"],
}


def tree(*uses: str, together: Sequence[tuple[str, str]] = (), shape: Shape = SHAPE) -> Part:
    """`a/x1 b/y1`: the first refers to the second."""
    pairs = [(user, used) for user, used in map(str.split, uses)]
    return add_order(part_of("", shape), signals_for(shape, uses=pairs, together=together))


def waits(whole: Part, path: str = "") -> Mapping[str, tuple[str, ...]]:
    dependencies = {f"{path}/{child.id}": child.depends_on for child in whole.parts if child.depends_on}
    for child in whole.parts:
        dependencies |= waits(child, f"{path}/{child.id}")
    return dependencies


def test_a_leaf_waits_only_for_what_it_uses() -> None:
    assert waits(tree("a/x1 b/y1")) == {"/a/x": ("/b/y",)}


def test_what_is_beside_is_reported_by_its_id() -> None:
    assert waits(tree("a/x1 a/y1", "c/1 a/y1")) == {"/a/x": ("y",), "/c": ("/a/y",)}


def test_a_leaf_that_waits_for_all_of_a_group_waits_for_the_group() -> None:
    assert waits(tree("c/1 b/x1", "c/2 b/y1")) == {"/c": ("b",)}


def test_what_all_of_a_group_wait_for_the_group_does() -> None:
    assert waits(tree("a/x1 c/1", "a/y1 c/2")) == {"/a": ("c",)}


def test_a_group_waits_for_a_group_only_if_all_wait_for_all() -> None:
    every = [f"a/{later} b/{earlier}" for later in ("x1", "y1") for earlier in ("x1", "y1")]
    assert waits(tree(*every)) == {"/a": ("b",)}
    assert waits(tree(*every[:3])) == {"/a": ("/b/x",), "/a/x": ("/b",)}


def test_what_follows_is_left_out() -> None:
    assert waits(tree("a/x1 b/x1", "b/x2 c/1", "a/x2 c/2")) == {"/a/x": ("/b/x",), "/b/x": ("/c",)}


def test_what_follows_counts_for_a_group_too() -> None:
    """`y` waits for `x`, and so for all that `x` waits for, and whoever waits for `y` waits for both."""
    assert waits(tree("a/x1 c/1", "a/y1 a/x1")) == {"/a": ("c",), "/a/y": ("x",)}
    assert waits(tree("c/1 a/y1", "a/y1 a/x1")) == {"/c": ("a",), "/a/y": ("x",)}


def test_the_order_of_groups_decides_which_references_give_way() -> None:
    whole = tree("a/x1 b/x1", "a/y1 b/x1", "a/y2 b/x2", "b/y1 a/y1")
    assert waits(whole) == {"/a": ("/b/x",)}
    assert whole.risks == (Risk(first="a", second="b", circle=True, links=1, files=(("a/y1", "b/y1"),)),)


def test_both_ways_are_a_risk_and_no_order() -> None:
    whole = tree("a/x1 b/x1", "b/y1 a/y1")
    assert waits(whole) == {}
    assert whole.risks == (
        Risk(first="a", second="b", circle=True, links=2, files=(("a/x1", "b/x1"), ("a/y1", "b/y1"))),
    )


def test_what_changed_together_is_a_risk_unless_one_of_the_two_waits() -> None:
    whole = tree("a/x1 b/x1", together=[("a/x2", "b/x2"), ("a/y1", "b/x1"), ("a/y1", "a/x1")])
    assert whole.risks == (Risk(first="a", second="b", circle=False, links=1, files=(("a/y1", "b/x1"),)),)
    assert whole.parts[0].risks == (
        Risk(first="x", second="y", circle=False, links=1, files=(("a/x1", "a/y1"),)),
    )


def test_references_are_shown_before_what_only_changed_together_and_not_all_of_them() -> None:
    shape: Shape = {"a": [f"a/{n}" for n in range(9)], "b": [f"b/{n}" for n in range(9)]}
    together = [(f"a/{n}", f"b/{n}") for n in range(7)]
    (risk,) = tree("a/8 b/8", "b/7 a/7", together=together, shape=shape).risks
    assert (risk.circle, risk.links, risk.files) == (
        True,
        9,
        (("a/7", "b/7"), ("a/8", "b/8"), ("a/0", "b/0"), ("a/1", "b/1"), ("a/2", "b/2")),
    )


def test_a_single_leaf_waits_for_no_other() -> None:
    assert tree("a b", shape=["a", "b"]).depends_on == ()  # type: ignore[arg-type]
