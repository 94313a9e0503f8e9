"""What an agent is asked: all of it once, in as few questions as there is room for."""

import json
from itertools import dropwhile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decompose.sets import LIMITS, signals
from decompose.trees import SHAPE, Shape, Tree, signals_for, small_tree
from weft.decompose.model import Limits, Signals
from weft.decompose.parts import decompose
from weft.decompose.refinement.answers import SCHEMA
from weft.decompose.refinement.questions import MOST_BYTES_OF_FILES, Questions, QuestionScope, part_paths


def asked(tree: Tree, scope: QuestionScope | None = None, goal: str = "Do it.") -> str:
    return Questions(tree.signals, tree.limits, goal).text(tree.whole, scope or tree.scopes()[0])


def parts_of(text: str) -> list[str]:
    return text.partition("The parts:\n\n")[2].split("\n")


def test_a_question_shows_the_parts_with_files_order_and_risks() -> None:
    tree = small_tree()
    assert parts_of(asked(tree)) == [
        "store: a group of 2 parts, 5 files, 500 tokens",
        "  title: Title of store",
        "store/model: a slice, 3 files, 300 tokens",
        "  title: Title of model",
        "  - s/m1 (100 tokens)",
        "  - s/m2 (100 tokens)",
        "  - s/m3 (100 tokens)",
        "store/sql: a slice, 2 files, 200 tokens",
        "  title: Title of sql",
        "  comes after model",
        "  - s/q1 (100 tokens)",
        "  - s/q2 (100 tokens)",
        "cli: a slice, 4 files, 400 tokens",
        "  title: Title of cli",
        "  comes after /store/model",
        "  - c/1 (100 tokens)",
        "  - c/2 (100 tokens)",
        "  - c/3 (100 tokens)",
        "  - c/4 (100 tokens)",
    ]


def test_risks_are_reported_with_what_is_behind_them_within_groups_and_at_the_top() -> None:
    together = [("s/m1", "s/q1"), ("s/m2", "s/q1"), ("c/1", "s/m1")]
    tree = Tree(SHAPE, signals_for(SHAPE, together=together, uses=[("s/m1", "c/2"), ("c/2", "s/m1")]))
    lines = parts_of(asked(tree))
    assert lines[0] == "  store and cli refer to each other: s/m1 with c/2 and 1 more"
    assert lines[3] == "  store/model and store/sql often change together: s/m1 with s/q1 and 1 more"


def test_a_question_says_the_goal_the_limits_and_what_may_be_answered() -> None:
    tree = small_tree()
    text = asked(tree, goal=" Fix {all}\nof it ")
    assert "The goal of the change:\nFix {all}\nof it\n\n" in text
    assert f"{json.dumps(SCHEMA)}\n" in text
    assert "fewer than 2 files, nor more than 4 files or 1,000 tokens" in text


def test_a_tree_that_is_one_leaf_has_a_name_to_be_called_by() -> None:
    tree = Tree(["a", "b"], Signals(paths=("a", "b"), tokens=(1, 1)))
    assert parts_of(asked(tree))[0] == "everything: a slice, 2 files, 2 tokens"


def test_what_others_use_of_a_file_stands_beside_it() -> None:
    tree = Tree(
        ["a", "b", "c"], Signals(paths=("a", "b", "c"), tokens=(1, 1, 1), symbols=("Net", "", "\udc80"))
    )
    assert parts_of(asked(tree))[2:] == [
        "  - a (1 tokens, Net)",
        "  - b (1 tokens)",
        r"  - c (1 tokens, '\udc80')",
    ]


def test_names_that_cannot_be_written_are_counted() -> None:
    files = ("a", "a\nb", "a\udc80")
    tree = Tree([*files], Signals(paths=files, tokens=(1, 1, 1)))
    assert parts_of(asked(tree))[2:] == ["  - a (1 tokens)", "  and 2 more"]


def test_of_very_many_files_not_all_are_shown() -> None:
    files = tuple(f"{number:05}" for number in range(10_000))
    tree = Tree([*files], Signals(paths=files, tokens=(1,) * 10_000))
    *shown, more = parts_of(asked(tree))[2:]
    assert sum(len(line) + 1 for line in shown) <= MOST_BYTES_OF_FILES
    assert more == f"  and {10_000 - len(shown):,} more"


def test_what_has_no_room_in_one_question_is_asked_in_several_and_large_groups_last() -> None:
    assert small_tree().scopes(most_bytes=200) == [
        QuestionScope(subtrees=("store/model",)),
        QuestionScope(subtrees=("store/sql",)),
        QuestionScope(subtrees=("cli",)),
        QuestionScope(groups=("store",)),
    ]


def test_neighbours_are_asked_about_together_also_of_different_groups() -> None:
    assert small_tree().scopes(most_bytes=1_400) == [
        QuestionScope(subtrees=("store/model", "store/sql")),
        QuestionScope(subtrees=("cli",)),
        QuestionScope(groups=("store",)),
    ]


def test_of_large_groups_the_inner_ones_come_first() -> None:
    leaves = {name: [f"{name}/{number:02}" for number in range(13)] for name in ("c1", "c2", "d", "e")}
    shape: Shape = {
        "a": {"b": {name: leaves[name] for name in ("c1", "c2")}, "d": leaves["d"]},
        "e": leaves["e"],
    }
    tree = Tree(shape, signals_for(shape), Limits())
    assert tree.scopes(most_bytes=600)[-2:] == [QuestionScope(groups=("a/b",)), QuestionScope(groups=("a",))]


def test_of_a_large_group_its_parts_are_shown_by_their_titles() -> None:
    tree = small_tree()
    text = asked(tree, tree.scopes(most_bytes=200)[-1])
    assert parts_of(text) == [
        "store: a group of 2 parts, 5 files, 500 tokens",
        "  title: Title of store",
        "  - model: Title of model",
        "  - sql: Title of sql",
    ]
    assert "`moves`, put" not in text


def test_of_very_many_parts_not_all_are_shown() -> None:
    shape: Shape = {
        "a": {f"p{number:02}": [f"a/{number}/1", f"a/{number}/2"] for number in range(20)},
        "b": ["b1", "b2"],
    }
    tree = Tree(shape, signals_for(shape))
    assert parts_of(asked(tree, QuestionScope(groups=("a",))))[-2:] == [
        "  - p11: Title of p11",
        "  and 8 more",
    ]


@given(signals(), LIMITS, st.integers(1, 10_000))
def test_each_part_is_named_once_and_a_group_after_what_is_in_it(
    files: Signals, limits: Limits, most_bytes: int
) -> None:
    whole = decompose(files, limits)
    scopes = Questions(files, limits, "g", most_bytes=most_bytes).scopes(whole)
    named = [path for scope in scopes for path in scope.parts(whole)]
    assert sorted(named) == sorted(path for path, _part in part_paths(whole))
    groups = [path for scope in scopes for path in scope.groups]
    assert all(not later.startswith(f"{path}/") for at, path in enumerate(groups) for later in groups[at:])


@given(signals(), LIMITS, st.integers(1, 10_000))
def test_a_question_is_no_longer_than_allowed_unless_it_is_about_one_part(
    files: Signals, limits: Limits, most_bytes: int
) -> None:
    whole = decompose(files, limits)
    questions = Questions(files, limits, "g", most_bytes=most_bytes)
    for scope in questions.scopes(whole):
        lines = dropwhile(lambda line: line.startswith(" "), parts_of(questions.text(whole, scope)))
        size = sum(len(line.encode()) + 1 for line in lines)
        assert size <= most_bytes or len(scope.subtrees) + len(scope.groups) == 1


@pytest.mark.parametrize("most_bytes", [1, 10**6])
def test_the_smallest_tree_is_one_question(most_bytes: int) -> None:
    tree = Tree(["a"], Signals(paths=("a",), tokens=(1,)))
    assert tree.scopes(most_bytes) == [QuestionScope(subtrees=("everything",))]
