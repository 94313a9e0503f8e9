"""Tests go with the code they test."""

import pytest

from decompose.sets import files
from weft.decompose.model import Limits
from weft.decompose.parts import decompose
from weft.decompose.split.graph import build_graph
from weft.decompose.split.subjects import find_subjects, join_tests, subject_name


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("tests/test_model.py", "model"),
        ("store/model_test.go", "model"),
        ("store/model_unittest.cc", "model"),
        ("web/cart.test.tsx", "cart"),
        ("web/cart.spec.ts", "cart"),
        ("src/test/java/CartTest.java", "Cart"),
        ("TestCart.java", "Cart"),
        ("tests/test_data.json", ""),
        ("src/contest.py", ""),
        ("src/model.py", ""),
        ("test_model", ""),
    ],
)
def test_the_name_of_a_test_names_its_subject(path: str, name: str) -> None:
    assert subject_name(path) == name


def pairs(*paths: str, uses: tuple[tuple[str, str], ...] = ()) -> dict[str, str]:
    file_set = files(*paths, uses=uses)
    return {
        file_set.paths[a]: file_set.paths[b] for a, b in find_subjects(file_set.paths, file_set.uses).items()
    }


def test_of_files_with_the_same_name_the_one_in_a_folder_of_the_same_name_is_meant() -> None:
    code = ("src/shop/store/model.py", "src/shop/web/model.py")
    assert pairs(*code, "tests/store/test_model.py") == {"tests/store/test_model.py": code[0]}
    assert pairs(*code, "tests/test_model.py") == {}
    assert pairs(*code, "tests/orders/test_model.py") == {}


def test_a_reference_decides_before_folders() -> None:
    code, test = ("src/store/model.py", "src/web/model.py"), "tests/store/test_model.py"
    assert pairs(*code, test, uses=((test, code[1]),)) == {test: code[1]}


def test_a_test_far_from_the_only_file_of_that_name_has_no_subject() -> None:
    assert pairs("a/model.py", "tests/b/test_model.py") == {}
    assert pairs("a/model.py", "tests/unit/test_model.py") == {"tests/unit/test_model.py": "a/model.py"}


def test_tests_in_a_tree_of_their_own_are_in_the_slices_of_their_subjects() -> None:
    """Also where nothing is known of what they refer to."""
    names = [f"{part}/{name}" for part in ("cli", "orders", "store") for name in ("disk", "model", "search")]
    code = {name: f"src/shop/{name}.py" for name in names}
    tests = {name: f"tests/{'/test_'.join(name.split('/'))}.py" for name in names}
    whole = decompose(files(*code.values(), *tests.values()), Limits(max_files_per_subplan=6))
    for leaf in whole.leaves():
        assert {code[name] in leaf.files for name in names if tests[name] in leaf.files} <= {True}


def test_a_test_stays_apart_from_a_subject_that_fills_half_an_agent() -> None:
    file_set = files("a.py", "b.py", "test_a.py")
    graph = build_graph(file_set, Limits(max_files_per_subplan=3))
    assert join_tests(graph, [[0], [1], [2]], {2: 0}) == [[0], [1], [2]]
    roomy = build_graph(file_set, Limits(max_files_per_subplan=4))
    assert join_tests(roomy, [[0], [1], [2]], {2: 0}) == [[0, 2], [1]]
