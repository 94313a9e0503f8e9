"""A merge in memory is the merge that git makes in a checkout, whatever the history."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.workspaces.git.merging import try_merge
from weft.workspaces.git.program import Git
from workspaces.faults import quick_folder
from workspaces.git.repositories import Made, grow, repository

Tree = dict[str, Made]
Edit = tuple[str, str, str]

PATHS = ("a", "b", "d", "d/x", "d/y", "e/x", "e/f/x")
TEXTS = [
    "".join(f"{letter}{changed if number == line else number}\n" for number in range(6))
    for letter in "pq"
    for changed in ("one", "other")
    for line in (0, 2, 5)
]


@st.composite
def histories(draw: st.DrawFn) -> list[tuple[list[int], list[Edit]]]:
    """Commits after the first one, each with its parents, which may be two, and what is done in it."""
    paths = st.sampled_from(PATHS)
    edits = st.one_of(
        st.tuples(st.just("write"), paths, st.sampled_from(TEXTS)),
        st.tuples(st.sampled_from(["move", "move", "remove", "program", "link", "bytes"]), paths, paths),
    )
    found: list[tuple[list[int], list[Edit]]] = []
    for number in range(draw(st.integers(2, 6))):
        parents = draw(st.lists(st.integers(0, number), min_size=1, max_size=2, unique=True))
        found.append((parents, draw(st.lists(edits, max_size=4))))
    return found


def edited(tree: Tree, edits: list[Edit]) -> Tree:
    """A new file is put in place of the directory, or of the file around it, that may be there."""
    result = dict(tree)
    for deed, path, other in edits:
        old = result.get(path, "none\n")
        match deed:
            case "write":
                put(result, path, other)
            case "remove":
                result.pop(path, None)
            case "move":
                result.pop(path, None)
                put(result, other, old)
            case "program":
                put(result, path, [old] if isinstance(old, str) else old)
            case "link":
                put(result, path, (other,))
            case _:
                put(result, path, b"\0" + other.encode())
    return result


def put(tree: Tree, path: str, made: Made) -> None:
    for other in list(tree):
        if other.startswith(f"{path}/") or path.startswith(f"{other}/"):
            del tree[other]
    tree[path] = made


def grown(git: Git, history: list[tuple[list[int], list[Edit]]]) -> list[str]:
    """The commits."""
    first: Tree = {"a": TEXTS[0], "d/x": TEXTS[6], "d/y": TEXTS[0] * 2, "keep": "keep\n"}
    trees: list[Mapping[str, Made]] = [first]
    commits = [grow(git, "history", first, "", message="0")]
    for number, (parents, edits) in enumerate(history, 1):
        tree = edited(dict(trees[parents[0]]), edits)
        gone = dict.fromkeys(trees[parents[0]].keys() - tree.keys())
        above = [commits[parent] for parent in parents]
        commits.append(grow(git, "history", {**gone, **tree}, *above, message=str(number)))
        trees.append(tree)
    return commits


def merged_in_checkout(git: Git, ours: str, theirs: str) -> tuple[str | None, set[str]]:
    """The tree, if it is clean, and the files in conflict, without what git has added to their names."""
    git.do("checkout", "--quiet", "--force", "--detach", ours)
    git.do("clean", "-fdxq")
    answer = git.ask("merge", "--quiet", "--no-ff", "--no-commit", theirs)
    assert answer.exit_code in {0, 1}, answer.said
    unmerged = {line.split("\t")[1] for line in git.fields("ls-files", "--unmerged", "-z")}
    tree = None if answer.exit_code else git.line("write-tree")
    git.do("reset", "--quiet", "--hard")
    return tree, {re.sub(rf"~(HEAD|{theirs})(_\d+)?$", "", path) for path in unmerged}


@pytest.fixture(scope="module")
def git() -> Iterator[Git]:
    with quick_folder() as folder:
        yield repository(Path(folder, "repository"))


@given(histories())
@settings(max_examples=60)
def test_the_tree_is_the_same_and_so_are_the_conflicts(
    git: Git, history: list[tuple[list[int], list[Edit]]]
) -> None:
    *_, ours, theirs = grown(git, history)
    tree, files = merged_in_checkout(git, ours, theirs)
    trial = try_merge(git, ours, theirs)
    with_versions = {
        conflict.path for conflict in trial.conflicts if conflict.ours or conflict.theirs or conflict.base
    }
    assert with_versions == files
    assert (None if trial.conflicts else trial.tree) == tree


@given(histories())
@settings(max_examples=30)
def test_what_is_taken_leaves_no_marks_and_no_files_set_aside(
    git: Git, history: list[tuple[list[int], list[Edit]]]
) -> None:
    *_, ours, theirs = grown(git, history)
    trial = try_merge(git, ours, theirs, take=["**"])
    left = {conflict.kind for conflict in trial.conflicts}
    assert left <= {"file/directory", "directory rename unclear split"}
    names = git.fields("ls-tree", "-r", "-z", "--name-only", trial.tree)
    assert [name for name in names if "~" in name and "file/directory" not in left] == []
    assert git.ask("grep", "-q", "^<<<<<<<", trial.tree).exit_code == 1
