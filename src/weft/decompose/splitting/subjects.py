"""Tests and the files that they test.

A test that is in another slice than its subject fails until both slices are done, and no agent can run it. So a
test and its subject are one node from the beginning, unless that would fill more than half of an agent's share.

The name of a test names its subject: `test_model.py`, `model_test.go`, `model.spec.ts` and `ModelTest.java` test
`model`. Of several files of that name the test means the one that it refers to, else the one whose folder has the
same name as its own: `tests/store/test_model.py` and `src/shop/store/model.py`. If that is not clear either, the
test has no subject, and its links decide where it belongs.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

from weft.decompose.paths import folder_of
from weft.decompose.splitting.graph import LOAD_OF_AN_AGENT, Graph
from weft.decompose.splitting.links import Group, total

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
"""What a file is called, and the last folders that it is in."""


def subject_name(path: str) -> str:
    """The name that a test has for its subject; empty if the file is no test."""
    name, dot, ending = path.rpartition("/")[2].rpartition(".")
    match = _TEST.fullmatch(name) if dot and ending.lower() in _CODE else None
    return next(filter(None, match.groups()), "") if match else ""


def subjects(paths: Sequence[str], uses: Sequence[tuple[int, int]]) -> dict[int, int]:
    """For each test whose subject is clear, the number of that file."""
    tests = {file: name for file, path in enumerate(paths) if (name := subject_name(path))}
    used = dict[int, set[int]]()
    for user, other in uses:
        if user in tests and other not in tests and _name(paths[other]) == tests[user]:
            used.setdefault(user, set()).add(other)
    by_name = _by_name(paths, tests)
    subject_of = dict[int, int]()
    for test, name in tests.items():
        meant = used.get(test, set())
        subject = next(iter(meant)) if len(meant) == 1 else _beside(by_name, paths[test], name)
        if subject != _AMBIGUOUS:
            subject_of[test] = subject
    return subject_of


def with_tests(graph: Graph, groups: Sequence[Group], tests: Mapping[int, int]) -> list[Group]:
    """The groups, with those of a test and of its subject joined where the result is small enough."""
    group_of = {file: number for number, group in enumerate(groups) for file in group}
    members = [list(group) for group in groups]
    loads = [total(graph.loads, group) for group in groups]
    for test, subject in tests.items():
        own, other = group_of[test], group_of[subject]
        if own != other and len(members[own]) == 1 and loads[own] + loads[other] <= _LARGEST:
            members[other] += members[own]
            loads[other] += loads[own]
            members[own] = []
            group_of[test] = other
    return sorted((sorted(group) for group in members if group), key=lambda group: group[0])


def _by_name(paths: Sequence[str], tests: Mapping[int, str]) -> dict[_Key, int]:
    """Files that are no tests, each by all keys that name it."""
    numbers = dict[_Key, int]()
    for file, path in enumerate(paths):
        if file not in tests and path.rpartition(".")[2].lower() in _CODE:
            for key in _keys(_name(path), path):
                numbers[key] = _AMBIGUOUS if key in numbers else file
    return numbers


def _beside(by_name: Mapping[_Key, int], path: str, name: str) -> int:
    """The file of this name in the folder that most resembles that of the test."""
    keys = [key for key in _keys(name, path) if key[1] or not _folders(path)]
    return next((by_name[key] for key in keys if key in by_name), _AMBIGUOUS)


def _keys(name: str, path: str) -> Iterator[_Key]:
    folders = _folders(path)
    for length in range(min(2, len(folders)), -1, -1):
        yield name, folders[len(folders) - length :]


def _folders(path: str) -> tuple[str, ...]:
    """Those that tell something."""
    return tuple(folder for folder in folder_of(path).split("/") if folder and folder not in _USUAL)


def _name(path: str) -> str:
    return path.rpartition("/")[2].partition(".")[0]
