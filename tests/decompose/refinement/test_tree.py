"""What an answer makes of a tree, and which answers are refused."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decompose.refining.anything import ANSWERS
from decompose.sets import LIMITS, signals
from decompose.trees import SHAPE, Tree, signals_for, small_tree
from weft.decompose.invariants import find_violations
from weft.decompose.model import Limits, Part, Signals
from weft.decompose.parts import decompose
from weft.decompose.refinement.questions import Questions, QuestionScope, part_paths
from weft.decompose.refinement.tree import RefinedTree, RejectedAnswer, TreeRefiner


def words(part: str, **given: str) -> dict[str, Any]:
    return {"parts": [{"part": part, **given}]}


def moves(**files: str) -> dict[str, Any]:
    """File names with `_` for `/`."""
    return {"moves": [{"file": file.replace("_", "/"), "to": to} for file, to in files.items()]}


def part_at(whole: Part, path: str) -> Part:
    return dict(part_paths(whole))[path]


# --- what is taken ---


def test_an_empty_answer_changes_nothing() -> None:
    tree = small_tree()
    assert tree.refined({}) == RefinedTree(whole=tree.whole, renamed=0, worded=0, moved=0)


def test_a_new_id_is_that_in_dependencies_and_risks_too() -> None:
    tree = Tree(SHAPE, signals_for(SHAPE, uses=[("c/1", "s/m1")], together=[("s/m1", "s/q1")]))
    whole = tree.refined(
        {"parts": [{"part": "store", "id": "base"}, {"part": "store/sql", "id": "queries"}]}
    ).whole
    assert [part.id for part in whole.parts] == ["base", "cli"]
    assert whole.parts[1].depends_on == ("/base/model",)
    assert (whole.parts[0].risks[0].first, whole.parts[0].risks[0].second) == ("model", "queries")


def test_ids_may_be_exchanged() -> None:
    tree = small_tree()
    whole = tree.refined({"parts": [{"part": "store", "id": "cli"}, {"part": "cli", "id": "store"}]}).whole
    assert [(part.id, part.depends_on) for part in whole.parts] == [("cli", ()), ("store", ("/cli/model",))]


def test_titles_and_prompts_are_where_they_belong() -> None:
    tree = small_tree()
    refined = tree.refined(
        {
            "parts": [
                {"part": "store", "title": "Storage"},
                {"part": "cli", "title": "Commands", "prompt": "Do {{x}}"},
            ]
        }
    )
    store, cli = refined.whole.parts
    assert (store.title, cli.title, cli.prompt, store.parts[0].prompt) == (
        "Storage",
        "Commands",
        "Do {{x}}",
        "",
    )
    assert (refined.renamed, refined.worded, refined.moved) == (0, 2, 0)


def test_the_id_it_has_already_is_no_new_one() -> None:
    assert small_tree().refined(words("cli", id="cli")).renamed == 0


def test_a_tree_that_is_one_leaf_can_be_named() -> None:
    tree = Tree(["a", "b"], Signals(paths=("a", "b"), tokens=(1, 1)))
    whole = tree.refined(words("everything", id="all", title="All", prompt="Do")).whole
    assert (whole.id, whole.title, whole.prompt, whole.files) == ("all", "All", "Do", ("a", "b"))


def test_a_file_that_moves_takes_its_size_and_its_links_with_it() -> None:
    tree = small_tree()
    refined = tree.refined(moves(c_1="store/sql"))
    whole = refined.whole
    sql, cli = part_at(whole, "store/sql"), part_at(whole, "cli")
    assert (sql.files, sql.tokens, sql.title) == (("c/1", "s/q1", "s/q2"), 300, "s, c")
    assert (cli.files, cli.tokens, cli.depends_on) == (("c/2", "c/3", "c/4"), 300, ())
    assert (part_at(whole, "store").files[0], refined.moved) == ("c/1", 1)


def test_a_title_that_was_given_is_kept_whatever_moves() -> None:
    answer = words("cli", title="Commands") | moves(c_1="store/sql")
    assert part_at(small_tree().refined(answer).whole, "cli").title == "Commands"


def test_files_may_change_places_between_full_leaves() -> None:
    tree = small_tree()
    limits = Limits(min_files_per_subplan=2, max_files_per_subplan=2, max_tokens_per_subplan=100)
    shape = {"a": ["a1", "a2"], "b": ["b1", "b2"]}
    tree = Tree(shape, signals_for(shape), limits)
    whole = tree.refined(moves(a1="b", b1="a")).whole
    assert [(part.files, part.too_large) for part in whole.parts] == [
        (("a2", "b1"), True),
        (("a1", "b2"), True),
    ]


def test_a_leaf_that_has_more_files_than_the_limit_may_get_smaller() -> None:
    shape = {"a": [f"a{number}" for number in range(7)], "b": ["b1", "b2"]}
    whole = Tree(shape, signals_for(shape)).refined(moves(a1="b")).whole
    assert [(len(part.files), part.too_large) for part in whole.parts] == [(6, False), (3, False)]


def test_questions_about_parts_of_the_tree_leave_the_rest_alone() -> None:
    tree = small_tree()
    refined = tree.refining.refine(tree.whole, QuestionScope(groups=("store",)), words("store", id="base"))
    assert isinstance(refined, RefinedTree)
    assert refined.whole.parts[0].parts == tree.whole.parts[0].parts


# --- what is refused ---

NOT_HERE = "does not exist here; there are store, store/model, store/sql, cli"


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ([], "the answer must be an object, and is a list"),
        (words("store/x", id="y"), f"part store/x {NOT_HERE}"),
        (words("a" * 70 + "\n"), f"part {'a' * 59}… {NOT_HERE}"),
        (words("", title="x"), f"part '' {NOT_HERE}"),
        ({"parts": [{"part": "cli"}, {"part": "cli"}]}, "part cli stands there twice"),
        ({"parts": [{"part": "\x1b"}, {"part": "\x1b"}]}, "part '\\x1b' stands there twice"),
        (words("store", prompt="x"), "part store is a group, and only slices have a prompt"),
        (words("cli", id="store"), "two parts beside each other would be called store"),
        (words("store/sql", id="model"), "two parts beside each other in store would be called model"),
        (moves(c_9="store/sql"), "there is no file c/9 in these parts"),
        (moves(c_1="sql"), f"part sql {NOT_HERE}"),
        (moves(c_1="store"), "part store is a group, and files are moved to slices"),
        (moves(c_1="cli"), "c/1 is in cli already"),
        ({"moves": [{"file": "c/1", "to": "store/sql"}, {"file": "c/1", "to": "store/model"}]},
            "c/1 is moved twice"),
        (moves(s_q1="store/model"), "moving s/q1 leaves store/sql with 1 files, and min_files_per_subplan is 2"),
        (moves(s_q1="store/model", s_q2="store/model", s_m1="cli"),
            "moving s/q1 and 1 more leaves store/sql with 0 files, and min_files_per_subplan is 2"),
        (moves(s_m1="cli"), "moving s/m1 gives cli 5 files, and max_files_per_subplan is 4"),
    ],
)  # fmt: skip
def test_what_breaks_the_rules_is_refused_with_the_reason(answer: object, said: str) -> None:
    assert said in small_tree().faults(answer)


def test_everything_that_is_wrong_is_said_at_once_and_only_once() -> None:
    answer = {
        "x": 1,
        "parts": [{"part": "no"}, {"part": "cli", "id": "store"}, {"part": "no"}],
        "moves": [{"file": "s/m1", "to": "cli"}],
    }
    assert small_tree().faults(answer) == [
        "the answer has the key x; there are parts, moves",
        f"part no {NOT_HERE}",
        "part no stands there twice",
        "moving s/m1 gives cli 5 files, and max_files_per_subplan is 4",
    ]


def test_too_many_tokens_are_refused_if_they_get_more() -> None:
    shape = {"a": ["a1", "a2", "a3"], "b": ["b1", "b2", "b3"]}
    tree = Tree(shape, signals_for(shape, tokens={"a1": 801, "b1": 1_200, "b2": 800}))
    assert tree.faults(moves(b3="a")) == [
        "moving b3 gives a 1,101 tokens, and max_tokens_per_subplan is 1,000"
    ]
    assert tree.faults(moves(a1="b", b2="a")) == [
        "moving a1 gives b 2,101 tokens, and max_tokens_per_subplan is 1,000"
    ]


def test_too_many_tokens_may_get_fewer() -> None:
    shape = {"a": ["a1", "a2", "a3"], "b": ["b1", "b2", "b3"]}
    tree = Tree(shape, signals_for(shape, tokens={"b1": 1_200, "b2": 600}))
    whole = tree.refined(moves(b2="a")).whole
    assert [(part.tokens, part.too_large) for part in whole.parts] == [(900, False), (1_300, True)]


def test_a_leaf_that_is_too_large_must_not_get_larger() -> None:
    shape = {"a": [f"a{number}" for number in range(7)], "b": ["b1", "b2", "b3"]}
    fault = "moving b1 gives a 8 files, and max_files_per_subplan is 4"
    assert Tree(shape, signals_for(shape)).faults(moves(b1="a")) == [fault]


def test_what_a_question_is_not_about_cannot_be_named_nor_moved() -> None:
    tree = small_tree()
    scope = QuestionScope(subtrees=("store",))
    refused = tree.refining.refine(
        tree.whole, scope, words("cli", id="x") | moves(c_1="store/sql", s_m1="cli")
    )
    assert refused == RejectedAnswer(
        (
            "part cli does not exist here; there are store, store/model, store/sql",
            "there is no file c/1 in these parts",
        )
    )


def test_an_id_must_differ_from_those_that_are_not_asked_about_too() -> None:
    tree = small_tree()
    refused = tree.refining.refine(tree.whole, QuestionScope(subtrees=("cli",)), words("cli", id="store"))
    assert refused == RejectedAnswer(("two parts beside each other would be called store",))


def test_of_very_many_parts_not_all_are_named() -> None:
    shape = {f"p{number:02}": [f"{number}/1", f"{number}/2"] for number in range(20)}
    (fault,) = Tree(shape, signals_for(shape)).faults(words("x"))
    assert fault == "part x does not exist here; there are p00, p01, p02, p03, p04, p05, p06, p07 and 12 more"


# --- any answer at all ---


@st.composite
def likely_answers(draw: st.DrawFn, whole: Part) -> Any:
    """About the parts that there are, mostly."""
    named = dict(part_paths(whole))
    path = st.sampled_from([*named, "nowhere"])
    ids = st.sampled_from(["a", "b", "new", "A B"])
    titles = st.sampled_from(["Title", "x\ty", "{{ slice.id }}"])
    prompts = st.sampled_from(["Do it: now", "- a\n# b\n", "\x00"])
    parts = st.fixed_dictionaries({"part": path}, optional={"id": ids, "title": titles, "prompt": prompts})
    files = st.fixed_dictionaries({"file": st.sampled_from([*whole.files, "nothing"]), "to": path})
    return {
        "parts": draw(st.lists(parts, max_size=3)),
        "moves": draw(st.lists(files, max_size=6)),
    }


@st.composite
def valid_moves(draw: st.DrawFn, whole: Part) -> Any:
    """Exchanges: no leaf has more or fewer files afterwards."""
    leaves = {path: part for path, part in part_paths(whole) if not part.parts}
    pairs = draw(st.lists(st.tuples(st.sampled_from([*leaves]), st.sampled_from([*leaves])), max_size=3))
    moves = dict[str, str]()
    for first_leaf, second_leaf in pairs:
        files = [
            next((file for file in leaves[path].files if file not in moves), None)
            for path in (first_leaf, second_leaf)
        ]
        if first_leaf != second_leaf and None not in files:
            moves |= {str(files[0]): second_leaf, str(files[1]): first_leaf}
    return {"moves": [{"file": file, "to": to} for file, to in moves.items()]}


@given(st.data(), signals(most=40), LIMITS, st.integers(50, 5_000))
def test_whatever_is_answered_is_refused_or_gives_a_tree_in_which_all_holds(
    data: st.DataObject, files: Signals, limits: Limits, most_bytes: int
) -> None:
    whole, refining = decompose(files, limits), TreeRefiner(files, limits)
    for scope in Questions(files, limits, "g", most_bytes=most_bytes).scopes(whole)[:3]:
        assert scope.parts(whole)
        answer = data.draw(likely_answers(whole) | valid_moves(whole) | ANSWERS)
        result = refining.refine(whole, scope, answer)
        faults = result.faults if isinstance(result, RejectedAnswer) else ()
        assert isinstance(result, RejectedAnswer) is bool(faults)
        assert all(fault.isprintable() for fault in faults)
        whole = result.whole if isinstance(result, RefinedTree) else whole
    assert [*find_violations(whole, files, limits)] == []


@given(st.data(), signals(most=40), LIMITS)
def test_exchanges_of_files_are_taken(data: st.DataObject, files: Signals, limits: Limits) -> None:
    whole = decompose(files, limits)
    roomy = Limits(
        max_depth=limits.max_depth,
        min_files_per_subplan=limits.min_files_per_subplan,
        max_files_per_subplan=limits.max_files_per_subplan,
        max_tokens_per_subplan=10**9,
    )
    (scope,) = Questions(files, roomy, "g").scopes(whole)
    answer = data.draw(valid_moves(whole))
    result = TreeRefiner(files, roomy).refine(whole, scope, answer)
    assert isinstance(result, RefinedTree), result
    assert sorted(len(leaf.files) for leaf in result.whole.leaves()) == sorted(
        len(leaf.files) for leaf in whole.leaves()
    )
