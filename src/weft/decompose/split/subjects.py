"""Tests and their subjects, the files that they test.

A test in another slice than its subject fails until both slices are done, and no agent can run it. A test and its
subject are therefore one node from the start, unless that would fill more than half of an agent's capacity.

The name of a test names its subject: `test_model.py`, `model_test.go`, `model.spec.ts` and `ModelTest.java` test
`model`. Of several files of that name the test means the one that it refers to, else the one whose folder has the
same name as its own: `tests/store/test_model.py` and `src/shop/store/model.py`. If that is not clear either, the
test has no subject, and its links decide where it belongs.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

from weft.decompose.paths import folder_of
from weft.decompose.split.graph import LOAD_OF_AN_AGENT, Graph
from weft.decompose.split.links import Group, total

_LARGEST = LOAD_OF_AN_AGENT // 2
_TEST = re.compile(
    r"test_(?P<after>[^.]+)|(?P<before>[^.]+)_(?:unit)?tests?|(?P<dotted>[^.]+)\.(?:test|spec)|"
    r"(?P<camel>[A-Z][^.]*?)(?:Tests?|Spec|IT)|Test(?P<camel_after>[A-Z][^.]*)"
)
_CODE = frozenset(
    {
        *("py", "pyi", "go", "rs", "java", "kt", "scala", "cs", "rb", "php", "swift", "ex", "exs", "dart"),
        *("js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "cts", "vue", "svelte"),
        *("c", "cc", "cpp", "cxx", "h", "hh", "hpp"),
    }
)
_USUAL = frozenset(
    {
        *("test", "tests", "__tests__", "spec", "specs", "testing", "unit", "integration", "functional"),
        *("src", "lib", "main", "java", "kotlin", "scala", "python"),
    }
)
_AMBIGUOUS = -1

_Key = tuple[str, tuple[str, ...]]
"""The name of a file and its last folders."""


def subject_name(path: str) -> str:
    """Returns the name of a test's subject; empty if the file is not a test."""
    name, dot, ending = path.rpartition("/")[2].rpartition(".")
    match = _TEST.fullmatch(name) if dot and ending.lower() in _CODE else None
    return next(filter(None, match.groups()), "") if match else ""


def find_subjects(paths: Sequence[str], uses: Sequence[tuple[int, int]]) -> dict[int, int]:
    """Returns the subject of each test for which it is clear."""
    tests = {file: name for file, path in enumerate(paths) if (name := subject_name(path))}
    used = dict[int, set[int]]()
    for user, used_file in uses:
        if user in tests and used_file not in tests and _stem(paths[used_file]) == tests[user]:
            used.setdefault(user, set()).add(used_file)
    by_name = _index_by_name(paths, tests)
    subject_of = dict[int, int]()
    for test, name in tests.items():
        candidates = used.get(test, set())
        subject = (
            next(iter(candidates)) if len(candidates) == 1 else _find_by_folder(by_name, paths[test], name)
        )
        if subject != _AMBIGUOUS:
            subject_of[test] = subject
    return subject_of


def join_tests(graph: Graph, groups: Sequence[Group], tests: Mapping[int, int]) -> list[Group]:
    """Joins the group of each test with that of its subject, if the result is small enough."""
    group_of = {file: number for number, group in enumerate(groups) for file in group}
    members = [list(group) for group in groups]
    loads = [total(graph.loads, group) for group in groups]
    for test, subject in tests.items():
        test_group, subject_group = group_of[test], group_of[subject]
        if (
            test_group != subject_group
            # A test that is part of a circle stays there: its group must not be taken apart.
            and len(members[test_group]) == 1
            and loads[test_group] + loads[subject_group] <= _LARGEST
        ):
            members[subject_group] += members[test_group]
            loads[subject_group] += loads[test_group]
            members[test_group] = []
            group_of[test] = subject_group
    return sorted((sorted(group) for group in members if group), key=lambda group: group[0])


def _index_by_name(paths: Sequence[str], tests: Mapping[int, str]) -> dict[_Key, int]:
    """Returns the files that are not tests by every key that names them."""
    numbers = dict[_Key, int]()
    for file, path in enumerate(paths):
        if file not in tests and path.rpartition(".")[2].lower() in _CODE:
            for key in _keys(_stem(path), path):
                # Two files under one key: neither is the subject.
                numbers[key] = _AMBIGUOUS if key in numbers else file
    return numbers


def _find_by_folder(by_name: Mapping[_Key, int], path: str, name: str) -> int:
    """Returns the file of this name in the folder that most resembles the test's folder."""
    keys = [key for key in _keys(name, path) if key[1] or not _meaningful_folders(path)]
    return next((by_name[key] for key in keys if key in by_name), _AMBIGUOUS)


def _keys(name: str, path: str) -> Iterator[_Key]:
    folders = _meaningful_folders(path)
    for length in range(min(2, len(folders)), -1, -1):
        yield name, folders[len(folders) - length :]


def _meaningful_folders(path: str) -> tuple[str, ...]:
    """Returns the folders of a path without those that have no meaning, such as `src`."""
    return tuple(folder for folder in folder_of(path).split("/") if folder and folder not in _USUAL)


def _stem(path: str) -> str:
    return path.rpartition("/")[2].partition(".")[0]
