"""What is proven to be on the target, and what is not."""

from pathlib import Path

import pytest

from weft.workspaces.git.base.program import Git
from weft.workspaces.git.base.reachability import ReachabilityProof
from workspaces.git.repositories import grow, repository


@pytest.fixture
def git(tmp_path: Path) -> Git:
    return repository(tmp_path / "top", {"a": "1\n", "b": "1\n"})


def merged(git: Git, branch: str, ours: str, theirs: str, **files: str) -> str:
    """Returns the result of a merge in memory, except these files."""
    tree = git.ask("merge-tree", "--write-tree", ours, theirs).text.splitlines()[0]
    commit = git.line("commit-tree", "-p", ours, "-p", theirs, "-m", branch, tree)
    if files:
        tree = git.line("rev-parse", f"{grow(git, 'changed', dict(files), commit)}^{{tree}}")
        commit = git.line("commit-tree", "-p", ours, "-p", theirs, "-m", branch, tree)
    git.do("update-ref", f"refs/heads/{branch}", commit)
    return commit


def proof(git: Git) -> ReachabilityProof:
    return ReachabilityProof(git, git.line("rev-parse", "main"))


def test_what_is_in_the_history_of_the_target_is_proven(git: Git) -> None:
    first = git.line("rev-parse", "main")
    work = grow(git, "work", {"x": "x"})
    merged(git, "main", first, work)
    assert proof(git).holds(first)
    assert proof(git).holds(work)
    assert proof(git).holds(git.line("rev-parse", "main"))


def test_a_commit_that_has_not_landed_is_not_and_is_counted(git: Git) -> None:
    work = grow(git, "work", {"y": "y"}, grow(git, "work", {"x": "x"}))
    assert not proof(git).holds(work)
    assert proof(git).missing(work) == 2


def test_work_that_landed_as_another_commit_is_not_proven(git: Git) -> None:
    """Whether that other one has all of it is for a person to judge."""
    work = grow(git, "work", {"x": "x"})
    grow(git, "main", {"x": "x"}, message="the same by hand")
    assert not proof(git).holds(work)


def test_merges_that_come_out_the_same_again_are_no_work(git: Git) -> None:
    """The same work has come together on another branch, by merges that the target does not have."""
    first = git.line("rev-parse", "main")
    item, other = grow(git, "one", {"x": "x"}), grow(git, "other", {"y": "y"})
    together = merged(git, "plan", merged(git, "plan", first, item), other)
    assert not proof(git).holds(together)
    merged(git, "main", merged(git, "main", first, other), item)
    assert proof(git).holds(together)
    assert git.ask("merge-base", "--is-ancestor", together, "main").exit_code == 1


def test_a_merge_with_an_addition_is_work(git: Git) -> None:
    first = git.line("rev-parse", "main")
    item, other = grow(git, "one", {"x": "x"}), grow(git, "other", {"y": "y"})
    together = merged(git, "plan", merged(git, "plan", first, item), other, z="by hand")
    merged(git, "main", merged(git, "main", first, item), other)
    assert not proof(git).holds(together)
    assert proof(git).missing(together) == 2


def test_a_conflict_that_a_person_settled_is_proven_only_if_the_target_has_had_the_same_tree(
    git: Git,
) -> None:
    first = git.line("rev-parse", "main")
    item, other = grow(git, "one", {"a": "2\n"}), grow(git, "other", {"a": "3\n"})
    together = merged(git, "plan", merged(git, "plan", first, item), other, a="2 and 3\n")
    merged(git, "main", merged(git, "main", first, item), other, a="3\n")
    assert not proof(git).holds(together)
    git.do("update-ref", "refs/heads/main", first)
    settled = merged(git, "main", merged(git, "main", first, other), item, a="2 and 3\n")
    grow(git, "main", {"later": "x"}, settled)
    assert proof(git).holds(together)


def test_of_a_merge_that_was_to_be_verified_only_what_it_was_made_of_counts(git: Git) -> None:
    first = git.line("rev-parse", "main")
    work = grow(git, "work", {"x": "x"})
    trial = merged(git, "trial", first, work, z="by hand")
    assert not proof(git).holds_parents(trial)
    merged(git, "main", first, work)
    assert proof(git).holds_parents(trial)
    assert not proof(git).holds(trial)


def test_a_commit_without_parents_is_no_merge(git: Git) -> None:
    alone = grow(git, "alone", {"x": "x"}, "")
    assert not proof(git).holds_parents(alone)


def test_a_merge_of_three_is_proven_only_by_its_tree(git: Git) -> None:
    first = git.line("rev-parse", "main")
    item, other = grow(git, "one", {"x": "x"}), grow(git, "other", {"y": "y"})
    landed = merged(git, "main", merged(git, "main", first, item), other)
    tree = git.line("rev-parse", f"{landed}^{{tree}}")
    parents = ("-p", first, "-p", item, "-p", other)
    assert proof(git).holds(git.line("commit-tree", *parents, "-m", "all", tree))
    assert not proof(git).holds(git.line("commit-tree", *parents, "-m", "all", f"{other}^{{tree}}"))
