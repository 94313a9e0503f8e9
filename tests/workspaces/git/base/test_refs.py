import os
from collections.abc import Mapping
from pathlib import Path
from threading import Barrier, Thread

import pytest

from weft.engine.messages.facts import RefMove
from weft.workspaces.git.base.program import Git, GitError, GitOutput
from weft.workspaces.git.base.refs import is_ancestor, is_ref, move, tip, tips, tree_of
from workspaces.git.repositories import grow, repository

ONE, TWO = "refs/heads/one", "refs/weft/start/p/two"


@pytest.fixture
def git(tmp_path: Path) -> Git:
    return repository(tmp_path / "repository")


def go(ref: str, before: str, after: str) -> RefMove:
    return RefMove(ref=ref, before=before, after=after)


def lock_of(git: Git, ref: str) -> Path:
    return git.directory / ".git" / f"{ref}.lock"


# Where refs lead


def test_a_tip_is_the_commit_that_a_ref_leads_to(git: Git) -> None:
    commit = grow(git, "one", {"a": "1"})
    assert tip(git, ONE) == commit
    assert tip(git, "HEAD") == tip(git, "refs/heads/main")


def test_a_ref_that_is_missing_has_no_tip(git: Git) -> None:
    assert tip(git, ONE) is None


def test_a_folder_of_refs_is_no_ref(git: Git) -> None:
    grow(git, "folder/one", {"a": "1"})
    assert tip(git, "refs/heads/folder") is None


def test_a_branch_whose_name_only_ends_like_the_ref_is_not_taken_for_it(git: Git) -> None:
    grow(git, "refs/heads/one", {"a": "1"})
    assert tip(git, ONE) is None


@pytest.mark.parametrize("text", ["", "rubbish\n", "1" * 40 + "\n"])
def test_a_ref_that_leads_nowhere_is_an_error(git: Git, text: str) -> None:
    (git.directory / ".git" / ONE).write_text(text)
    with pytest.raises(GitError, match="refs/heads/one is broken"):
        tip(git, ONE)


def test_tips_are_all_below_a_prefix(git: Git) -> None:
    first, second = grow(git, "p/one", {"a": "1"}), grow(git, "p/two", {"a": "2"})
    grow(git, "pp/three", {"a": "3"})
    assert tips(git, "refs/heads/p/") == {"refs/heads/p/one": first, "refs/heads/p/two": second}
    assert tips(git, "refs/heads/none") == {}


def test_tips_raise_an_error_if_one_ref_is_broken(git: Git) -> None:
    grow(git, "one", {"a": "1"})
    (git.directory / ".git" / "refs/heads/two").write_text("rubbish\n")
    with pytest.raises(GitError, match=r"refs/heads/two; .* type: weft doctor --fix"):
        tips(git, "refs/heads/")


def test_an_ancestor_is_what_led_to_a_commit_and_the_commit_itself(git: Git) -> None:
    commit = grow(git, "one", {"a": "1"})
    assert is_ancestor(git, "main", commit)
    assert is_ancestor(git, commit, commit)
    assert not is_ancestor(git, commit, "main")
    with pytest.raises(GitError):
        is_ancestor(git, "nothing", commit)


def test_the_tree_of_a_commit(git: Git) -> None:
    assert tree_of(git, "main") == git.line("log", "-1", "--format=%T")
    with pytest.raises(GitError, match="nothing is not a commit of this repository"):
        tree_of(git, "nothing")


# Moves


def test_all_refs_move_at_once_and_the_reflog_says_why(git: Git) -> None:
    first = grow(git, "one", {"a": "1"})
    second = grow(git, "other", {"a": "2"}, first)
    assert move(git, [go(ONE, first, second), go(TWO, "", first)], reason="weft: merge x")
    assert (tip(git, ONE), tip(git, TWO)) == (second, first)
    assert git.line("reflog", "-1", "--format=%gs", "one") == "weft: merge x"


def test_a_ref_is_removed_if_nothing_is_to_follow(git: Git) -> None:
    commit = grow(git, "one", {"a": "1"})
    assert move(git, [go(ONE, commit, "")], reason="r")
    assert tip(git, ONE) is None
    assert move(git, [go(ONE, commit, "")], reason="r")


def test_no_moves_are_done_at_once(git: Git) -> None:
    assert move(git, [], reason="r")


@pytest.mark.parametrize("before", ["", "main"])
def test_none_moves_if_one_is_not_where_it_is_expected(git: Git, before: str) -> None:
    first = grow(git, "one", {"a": "1"})
    second = grow(git, "other", {"a": "2"}, first)
    expected = before and tip(git, f"refs/heads/{before}")
    assert expected is not None
    assert not move(git, [go(TWO, "", first), go(ONE, expected, second)], reason="r")
    assert (tip(git, ONE), tip(git, TWO)) == (first, None)


def test_a_ref_that_is_to_be_removed_and_leads_elsewhere_stays(git: Git) -> None:
    first = grow(git, "one", {"a": "1"})
    other = grow(git, "other", {"a": "2"})
    assert not move(git, [go(ONE, other, "")], reason="r")
    assert tip(git, ONE) == first


def test_a_ref_that_should_stay_away_and_is_there_holds_the_others_back(git: Git) -> None:
    first = grow(git, "one", {"a": "1"})
    assert move(git, [go(TWO, "", "")], reason="r")
    assert not move(git, [go(TWO, "", first), go(ONE, "", "")], reason="r")
    assert tip(git, TWO) is None


def test_a_ref_that_is_to_stay_where_it_is_holds_the_others_back_if_it_is_not_there(git: Git) -> None:
    first = grow(git, "one", {"a": "1"})
    other = grow(git, "other", {"a": "2"})
    assert not move(git, [go(TWO, "", first), go(ONE, other, other)], reason="r")
    assert tip(git, TWO) is None
    assert move(git, [go(TWO, "", first), go(ONE, first, first)], reason="r")
    assert move(git, [go(TWO, "", first), go(ONE, first, first)], reason="r")
    assert (tip(git, ONE), tip(git, TWO)) == (first, first)


def test_what_is_asked_for_twice_is_done_once(git: Git) -> None:
    first = grow(git, "one", {"a": "1"})
    second = grow(git, "other", {"a": "2"}, first)
    wish = [go(ONE, first, second), go(TWO, "", first)]
    assert move(git, wish, reason="once")
    assert move(git, wish, reason="twice")
    assert git.line("reflog", "-1", "--format=%gs", "one") == "once"


def test_a_move_that_was_cut_off_half_way_is_finished(git: Git) -> None:
    first = grow(git, "one", {"a": "1"})
    second = grow(git, "other", {"a": "2"}, first)
    git.do("update-ref", TWO, first)
    assert move(git, [go(ONE, first, second), go(TWO, "", first)], reason="r")
    assert tip(git, ONE) == second


@pytest.mark.parametrize("lock", [ONE, "packed-refs"])
def test_the_lock_of_a_git_that_died_is_named(git: Git, lock: str) -> None:
    first = grow(git, "one", {"a": "1"})
    place = lock_of(git, lock)
    place.touch()
    with pytest.raises(GitError, match="has left its lock") as raised:
        move(git, [go(ONE, first, "")], reason="r")
    assert f"{place}; if no git runs in this repository, type: rm {place}" in str(raised.value)
    assert tip(git, ONE) == first


def test_a_ref_that_is_to_stay_where_it_is_is_not_taken_for_seen_if_it_is_locked(git: Git) -> None:
    first = grow(git, "one", {"a": "1"})
    lock_of(git, ONE).touch()
    with pytest.raises(GitError, match="has left its lock"):
        move(git, [go(ONE, first, first)], reason="r")


def test_what_git_does_not_allow_is_an_error_with_its_words(git: Git) -> None:
    first = grow(git, "one", {"a": "1"})
    with pytest.raises(GitError, match="'refs/heads/one' exists; cannot create 'refs/heads/one/more'"):
        move(git, [go(f"{ONE}/more", "", first)], reason="r")
    with pytest.raises(GitError, match="nonexistent object"):
        move(git, [go(ONE, first, "1" * 40)], reason="r")


def test_of_many_that_want_to_move_a_ref_one_does(git: Git) -> None:
    start = grow(git, "one", {"a": "0"})
    commits = [grow(git, f"to{number}", {"a": str(number)}, start) for number in range(1, 6)]
    ready, won = Barrier(len(commits)), []

    def compete(commit: str) -> None:
        ready.wait()
        if move(git, [go(ONE, start, commit)], reason="r"):
            won.append(commit)

    threads = [Thread(target=compete, args=(commit,)) for commit in commits]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert won == [tip(git, ONE)]


class LateGit(Git):
    """Another program writes a ref to its end between two questions about it."""

    def ask(
        self, *command: str, stdin: bytes | None = None, env: Mapping[str, str] | None = None
    ) -> GitOutput:
        if command[0] == "for-each-ref":
            head = super().ask("rev-parse", "HEAD").text
            (self.directory / ".git" / "refs/heads/late").write_text(f"{head}\n")
        return super().ask(*command, stdin=stdin, env=env)


def test_a_ref_that_is_made_while_it_is_asked_for_is_not_broken(git: Git) -> None:
    (git.directory / ".git" / "refs/heads/late").write_text("half of")
    late = LateGit(git.directory, environ=git._environ, works=True)
    assert tip(late, "refs/heads/late") == git.line("rev-parse", "HEAD")


# The tree of a commit, with and without git


def _object(git: Git, oid: str) -> Path:
    return git.directory / ".git" / "objects" / oid[:2] / oid[2:]


def test_the_tree_is_the_same_whether_the_commit_has_a_file_of_its_own_or_not(git: Git) -> None:
    commit = grow(git, "one", {"a": "1"})
    expected = git.line("rev-parse", f"{commit}^{{tree}}")
    assert _object(git, commit).exists()
    assert tree_of(git, commit) == expected
    git.do("gc", "--quiet", "--prune=now")
    assert not _object(git, commit).exists()
    assert tree_of(git, commit) == expected


def test_a_commit_that_is_longer_than_most_has_its_tree(git: Git) -> None:
    tree = git.line("rev-parse", f"{grow(git, 'one', {'a': '1'})}^{{tree}}")
    commit = git.do("commit-tree", tree, "-F", "-", stdin=os.urandom(100_000).hex().encode()).decode().strip()
    assert tree_of(git, commit) == tree


def test_a_planted_object_is_not_taken_for_the_commit(git: Git) -> None:
    commit, other = grow(git, "one", {"a": "1"}), grow(git, "two", {"a": "2"})
    _object(git, commit).chmod(0o644)
    _object(git, commit).write_bytes(_object(git, other).read_bytes())
    with pytest.raises(GitError):
        tree_of(git, commit)


@pytest.mark.parametrize("content", [b"", b"rubbish"])
def test_a_damaged_object_is_left_to_git(git: Git, content: bytes) -> None:
    commit = grow(git, "one", {"a": "1"})
    _object(git, commit).chmod(0o644)
    _object(git, commit).write_bytes(content)
    with pytest.raises(GitError):
        tree_of(git, commit)


def test_a_ref_is_there_even_if_its_object_is_missing(git: Git) -> None:
    grow(git, "one", {"a": "1"})
    assert is_ref(git, ONE)
    assert not is_ref(git, "refs/heads/none")
    (git.directory / ".git" / ONE).write_text("1" * 40 + "\n")
    assert is_ref(git, ONE)
