"""A merge in memory is the merge that git makes in a checkout, whatever the history."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import assume, given, settings

from weft.workspaces.git.base.merge_tree import Ancestry, try_merge
from weft.workspaces.git.base.program import Git
from weft.workspaces.git.base.refs import tree_of
from weft.workspaces.git.base.unlanded_history import UnlandedHistory
from workspaces.faults import quick_folder
from workspaces.git.histories import History, grown, histories
from workspaces.git.repositories import repository


def merged_in_checkout(git: Git, ours: str, theirs: str) -> tuple[str | None, set[str]]:
    """The tree, if it is clean, and the files in conflict, without what git has added to their names."""
    git.do("checkout", "--quiet", "--force", "--detach", ours)
    git.do("clean", "-fdxq")
    answer = git.ask("merge", "--quiet", "--no-ff", "--no-commit", theirs)
    assert answer.exit_code in {0, 1}, answer.message
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
def test_the_tree_is_the_same_and_so_are_the_conflicts(git: Git, history: History) -> None:
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
def test_what_is_taken_leaves_no_marks_and_no_files_set_aside(git: Git, history: History) -> None:
    *_, ours, theirs = grown(git, history)
    trial = try_merge(git, ours, theirs, take=["**"])
    left = {conflict.kind for conflict in trial.conflicts}
    assert left <= {"file/directory", "directory rename unclear split", "rename involved in collision"}
    assume(not left)  # then a person or an agent is asked, and the tree is nobody's result
    names = git.fields("ls-tree", "-r", "-z", "--name-only", trial.tree)
    assert [name for name in names if "~" in name] == []
    assert git.ask("grep", "-q", "^<<<<<<<", trial.tree).exit_code == 1


@given(histories())
@settings(max_examples=60)
def test_a_merge_with_given_common_ancestors_is_the_same(git: Git, history: History) -> None:
    *_, ours, theirs = grown(git, history)
    unlanded = UnlandedHistory.read(git, "p", [theirs], ours)
    assume(theirs in unlanded.commits)
    ancestry = Ancestry(
        ours=tree_of(git, ours),
        theirs=unlanded.commits[theirs].tree,
        shared=tuple(unlanded.shared(theirs, ())),
    )
    assert try_merge(git, ours, theirs, ancestry=ancestry) == try_merge(git, ours, theirs)
