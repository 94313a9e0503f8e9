"""Worktrees: made in whatever is left of an earlier go, and proven before anybody works there."""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from weft.workspaces.errors import WorkspaceError
from weft.workspaces.git.base.program import Git, GitOutput
from weft.workspaces.git.worktrees.worktrees import Worktrees
from workspaces.faults import quick_folder
from workspaces.git.repositories import DyingGit, KilledError, commit, repository, write

BRANCH = "refs/heads/weft/p/a"
FILES = {"README": "hello\n", "src/main.py": "main\n", ".gitignore": "*.log\n"}


@pytest.fixture
def git() -> Iterator[Git]:
    with quick_folder() as folder:
        yield repository(folder / "top", FILES)


@pytest.fixture
def head(git: Git) -> str:
    return git.line("rev-parse", "HEAD")


@pytest.fixture
def worktrees(git: Git) -> Worktrees:
    return of(git)


@pytest.fixture
def place(git: Git) -> Path:
    return git.directory / ".weft" / "worktrees" / "p" / "a"


@pytest.fixture
def made(worktrees: Worktrees, place: Path, head: str) -> Path:
    worktrees.make(place, branch=BRANCH, commit=head)
    return place


def of(git: Git) -> Worktrees:
    return Worktrees(git, git.directory / ".git", pause=no_pause)


def no_pause(seconds: float) -> None:
    """Time passes at once."""


def files(place: Path) -> dict[str, str]:
    paths = (path for path in place.rglob("*") if path.is_file() and path.name != ".git")
    return {str(path.relative_to(place)): path.read_text() for path in paths}


def entry(git: Git, name: str = "a") -> Path:
    return git.directory / ".git" / "worktrees" / name


# Making


def test_a_worktree_has_the_files_of_its_commit_and_the_branch_is_made(
    git: Git, made: Path, head: str
) -> None:
    assert files(made) == FILES
    assert git.line("rev-parse", BRANCH) == head
    assert git.at(made).line("status", "--porcelain") == ""
    assert git.at(made).line("symbolic-ref", "HEAD") == BRANCH


def test_the_user_s_checkout_and_settings_stay_as_they_are(git: Git, place: Path, head: str) -> None:
    config = git.directory / ".git" / "config"
    before = config.read_bytes(), git.line("symbolic-ref", "HEAD")
    of(git).make(place, branch=BRANCH, commit=head, sparse=["src"])
    assert (config.read_bytes(), git.line("symbolic-ref", "HEAD")) == before
    assert git.line("status", "--porcelain") == "?? .weft/"


def test_without_a_branch_a_commit_is_checked_out(git: Git, worktrees: Worktrees, place: Path) -> None:
    old = git.line("rev-parse", "HEAD")
    commit(git, {"README": "new\n"})
    worktrees.make(place, branch=None, commit=old)
    assert git.at(place).line("rev-parse", "HEAD") == old
    assert git.at(place).ask("symbolic-ref", "HEAD").exit_code == 128
    assert files(place) == FILES


def test_a_branch_that_is_elsewhere_than_expected_is_an_error(
    git: Git, worktrees: Worktrees, place: Path, head: str
) -> None:
    other = commit(git, {"README": "new\n"})
    git.do("update-ref", BRANCH, other)
    with pytest.raises(
        WorkspaceError, match=f"weft/p/a is at {other[:12]} and not at {head[:12]}.*git branch -m"
    ):
        worktrees.make(place, branch=BRANCH, commit=head)
    assert not place.exists()


def test_a_branch_that_cannot_be_made_is_an_error(
    git: Git, worktrees: Worktrees, place: Path, head: str
) -> None:
    git.do("branch", "weft")
    with pytest.raises(WorkspaceError, match=r"weft/p/a cannot be created: .*'refs/heads/weft' exists"):
        worktrees.make(place, branch=BRANCH, commit=head)


def test_an_empty_directory_is_filled(worktrees: Worktrees, place: Path, head: str) -> None:
    place.mkdir(parents=True)
    worktrees.make(place, branch=BRANCH, commit=head)
    assert files(place) == FILES


def test_one_that_is_there_already_is_left_as_it_is(worktrees: Worktrees, made: Path, head: str) -> None:
    write(made, {"cache.log": "ignored"})
    before = (made / "README").stat().st_ino
    worktrees.make(made, branch=BRANCH, commit=head)
    assert (made / "README").stat().st_ino == before
    assert (made / "cache.log").exists()


def test_a_clean_one_with_something_else_checked_out_is_made_again(
    git: Git, worktrees: Worktrees, made: Path
) -> None:
    git.do("rm", "-rq", "src")
    other = commit(git, {"README": "new\n"})
    worktrees.make(made, branch="refs/heads/weft/p/b", commit=other)
    assert files(made) == {"README": "new\n", ".gitignore": "*.log\n"}
    assert git.at(made).line("symbolic-ref", "HEAD") == "refs/heads/weft/p/b"


@pytest.mark.parametrize("dirt", ["README", "new\nfile"])
def test_what_is_in_no_commit_is_not_removed(worktrees: Worktrees, made: Path, head: str, dirt: str) -> None:
    write(made, {dirt: "changed"})
    shown = dirt.replace("\n", r"\\n")
    with pytest.raises(WorkspaceError, match=rf"has uncommitted changes: {shown}; .*git -C .*/a status"):
        worktrees.make(made, branch=BRANCH, commit=head)
    assert (made / dirt).read_text() == "changed"


def test_a_half_done_merge_is_not_removed(git: Git, worktrees: Worktrees, made: Path, head: str) -> None:
    (entry(git) / "MERGE_HEAD").write_text(head)
    with pytest.raises(WorkspaceError, match="uncommitted changes: an unfinished `git merge`"):
        worktrees.make(made, branch=BRANCH, commit=head)


def test_a_commit_that_is_checked_out_and_has_no_name_is_not_lost(
    git: Git, worktrees: Worktrees, made: Path, head: str
) -> None:
    inside = git.at(made)
    inside.do("checkout", "-q", "--detach")
    nameless = commit(inside, {"new": "1"})
    shutil.rmtree(made)
    with pytest.raises(
        WorkspaceError, match=f"on no branch; to keep it, type: git branch NAME {nameless[:12]}"
    ):
        worktrees.make(made, branch=BRANCH, commit=head)
    git.do("branch", "kept", nameless)
    worktrees.make(made, branch=BRANCH, commit=head)
    assert files(made) == FILES


def test_one_for_verifying_is_made_again_whatever_is_in_it(
    git: Git, worktrees: Worktrees, place: Path
) -> None:
    worktrees.make(place, branch=None, commit=git.line("rev-parse", "HEAD"))
    write(place, {"README": "changed", "left/by/verify": "1", "cache.log": "stale"})
    commit(git.at(place), {"nobody": "wants it"})
    worktrees.make(place, branch=None, commit=git.line("rev-parse", "HEAD"))
    assert files(place) == FILES


def test_unknown_files_are_not_touched(worktrees: Worktrees, place: Path, head: str) -> None:
    write(place, {"mine": "precious"})
    with pytest.raises(WorkspaceError, match=r"/a exists and is not a worktree.*move it away"):
        worktrees.make(place, branch=BRANCH, commit=head)
    assert files(place) == {"mine": "precious"}


def test_a_link_to_a_directory_is_not_followed(worktrees: Worktrees, made: Path, head: str) -> None:
    link = made.parent / "link"
    link.symlink_to(made)
    with pytest.raises(WorkspaceError, match=r"/link exists and is not a worktree"):
        worktrees.make(link, branch="refs/heads/weft/p/b", commit=head)
    assert files(made) == FILES


def test_a_link_to_nothing_is_in_its_place(worktrees: Worktrees, place: Path, head: str) -> None:
    place.parent.mkdir(parents=True)
    place.symlink_to("elsewhere")
    with pytest.raises(WorkspaceError, match="is not a worktree of this repository"):
        worktrees.make(place, branch=BRANCH, commit=head)
    assert not (place.parent / "elsewhere").exists()


def test_a_file_in_its_place_is_an_error(worktrees: Worktrees, place: Path, head: str) -> None:
    write(place.parent, {"a": "a file"})
    with pytest.raises(WorkspaceError, match="is not a worktree of this repository"):
        worktrees.make(place, branch=BRANCH, commit=head)


def test_a_registered_one_that_lost_its_link_to_the_repository_is_not_touched(
    worktrees: Worktrees, made: Path, head: str
) -> None:
    (made / ".git").unlink()
    with pytest.raises(WorkspaceError, match=r"/a is not a worktree: it has no file `.git`"):
        worktrees.make(made, branch=BRANCH, commit=head)
    assert files(made) == FILES


@pytest.mark.parametrize("empty", [True, False], ids=["empty", "gone"])
def test_one_whose_directory_is_gone_is_made_again(
    worktrees: Worktrees, made: Path, head: str, empty: bool
) -> None:
    shutil.rmtree(made)
    for _ in range(empty):
        made.mkdir()
    worktrees.make(made, branch=BRANCH, commit=head)
    assert files(made) == FILES
    assert len(worktrees.listed()) == 2


@pytest.mark.parametrize(("reason", "told"), [("on a stick", ": on a stick"), ("", "")])
def test_one_that_is_gone_and_locked_is_left_alone(
    git: Git, worktrees: Worktrees, made: Path, head: str, reason: str, told: str
) -> None:
    git.do("worktree", "lock", "--reason", reason, str(made))
    shutil.rmtree(made)
    with pytest.raises(
        WorkspaceError, match=rf"/a is gone, but it was locked{told}; .*git worktree unlock /.*/a"
    ):
        worktrees.make(made, branch=BRANCH, commit=head)


def test_a_locked_one_that_is_there_is_as_good_as_any(
    git: Git, worktrees: Worktrees, made: Path, head: str
) -> None:
    git.do("worktree", "lock", "--reason", "mine", str(made))
    worktrees.make(made, branch=BRANCH, commit=head)
    assert [item.locked for item in worktrees.listed()] == [None, "mine"]


def test_a_branch_that_is_checked_out_elsewhere_is_an_error_that_says_where(
    git: Git, worktrees: Worktrees, made: Path, head: str
) -> None:
    other = made.parent / "b"
    with pytest.raises(
        WorkspaceError, match=r"weft/p/a is checked out in /.*/p/a, .*git -C /.*/p/a switch --detach"
    ):
        worktrees.make(other, branch=BRANCH, commit=head)
    shutil.rmtree(made)
    with pytest.raises(
        WorkspaceError, match="that directory is gone: put it back, or type `git worktree prune`"
    ):
        worktrees.make(other, branch=BRANCH, commit=head)


def test_many_at_once_are_all_whole(git: Git, head: str) -> None:
    number, barrier = 15, Barrier(15)

    def make(index: int) -> Path:
        place = git.directory / ".weft" / str(index)
        barrier.wait()
        of(git).make(place, branch=f"refs/heads/weft/p/{index}", commit=head)
        of(git).prove(place, f"refs/heads/weft/p/{index}")
        return place

    with ThreadPoolExecutor(number) as pool:
        places = list(pool.map(make, range(number)))
    assert [files(place) for place in places] == [FILES] * number
    assert {item.path for item in of(git).listed()} == {git.directory, *places}


def test_names_of_directories_may_be_anything(git: Git, worktrees: Worktrees, head: str) -> None:
    place = git.directory / ".weft" / "a b\n'\"\udcffé"
    worktrees.make(place, branch=BRANCH, commit=head)
    worktrees.prove(place, BRANCH)
    assert worktrees.is_clean(place)
    worktrees.remove(place)
    assert not place.exists()


def test_it_keeps_a_log_of_its_head_even_if_the_user_wants_none_elsewhere(
    git: Git, worktrees: Worktrees, place: Path, head: str
) -> None:
    git.do("config", "core.logAllRefUpdates", "false")
    worktrees.make(place, branch=BRANCH, commit=head)
    commit(git.at(place), {"new": "1"})
    assert len((entry(git) / "logs" / "HEAD").read_text().splitlines()) == 2


# Killed in the middle


@pytest.mark.parametrize("left", ["nothing", "a worktree", "no directory", "a dirty one for verifying"])
@pytest.mark.parametrize("branch", [BRANCH, None], ids=["branch", "detached"])
def test_whenever_it_is_killed_it_is_made_by_the_next_try(
    git: Git, place: Path, head: str, left: str, branch: str | None
) -> None:
    calls = 0
    while is_killed(git, calls, place, head, left, branch):
        of(git).make(place, branch=branch, commit=head)
        assert files(place) == FILES
        assert [item.locked for item in of(git).listed()] == [None, None]
        assert sorted(path.name for path in place.parent.iterdir()) == ["a"]
        of(git).remove(place, force=True)
        calls += 1
    assert calls >= 1


def is_killed(git: Git, calls: int, place: Path, head: str, left: str, branch: str | None) -> bool:
    leave(git, place, head, left, branch)
    try:
        of(DyingGit(git, calls)).make(place, branch=branch, commit=head)
    except KilledError:
        return True
    return False


def leave(git: Git, place: Path, head: str, left: str, branch: str | None) -> None:
    if left != "nothing":
        of(git).make(place, branch=branch if left != "a dirty one for verifying" else None, commit=head)
    if left == "no directory":
        shutil.rmtree(place)
    if left == "a dirty one for verifying":
        # As if killed before it was whole, so that nothing in it is anybody's.
        (entry(git) / "locked").write_text("Weft is making it\n")
        write(place, {"README": "half"})


def test_a_worktree_whose_checkout_was_cut_off_is_not_used_and_made_again(
    git: Git, worktrees: Worktrees, place: Path, head: str
) -> None:
    with pytest.raises(KilledError):
        of(DyingGit(git, 1)).make(place, branch=BRANCH, commit=head)
    write(place, {"README": "hel"})
    (entry(git) / "index.lock").touch()
    with pytest.raises(WorkspaceError, match="was not created completely; run the plan again"):
        worktrees.prove(place, BRANCH)
    worktrees.make(place, branch=BRANCH, commit=head)
    assert files(place) == FILES
    worktrees.prove(place, BRANCH)


@pytest.mark.parametrize("file", ["commondir", "HEAD", "gitdir"])
@pytest.mark.parametrize("link", ["", None, "whole"])
def test_an_entry_that_git_was_killed_at_is_no_trouble(
    git: Git, worktrees: Worktrees, place: Path, head: str, file: str, link: str | None
) -> None:
    with pytest.raises(KilledError):
        of(DyingGit(git, 1)).make(place, branch=BRANCH, commit=head)
    leave_link(place / ".git", link if file != "gitdir" else None)
    (entry(git) / file).write_text("")
    worktrees.make(place, branch=BRANCH, commit=head)
    assert files(place) == FILES
    worktrees.prove(place, BRANCH)


@pytest.mark.parametrize("left", ["an entry", "a directory", "a draft"])
def test_a_registration_that_was_cut_off_is_no_trouble(
    git: Git, worktrees: Worktrees, place: Path, head: str, left: str
) -> None:
    with pytest.raises(KilledError):
        of(DyingGit(git, 1)).make(place, branch=BRANCH, commit=head)
    if left == "a draft":
        draft = git.common / "weft" / "new-worktree"
        shutil.copytree(entry(git), draft)
        (draft / "gitdir").unlink()
    (place / ".git").unlink()
    if left != "a directory":
        place.rmdir()
    worktrees.make(place, branch=BRANCH, commit=head)
    assert files(place) == FILES
    worktrees.prove(place, BRANCH)
    assert [worktree.branch for worktree in worktrees.listed()] == ["refs/heads/main", BRANCH]


def leave_link(file: Path, text: str | None) -> None:
    if text != "whole":
        file.unlink()
    if text == "":
        file.touch()


def test_a_git_that_is_still_at_work_there_is_waited_for(
    git: Git, worktrees: Worktrees, place: Path, head: str
) -> None:
    with pytest.raises(KilledError):
        of(DyingGit(git, 1)).make(place, branch=BRANCH, commit=head)
    lock = entry(git) / "index.lock"
    with lock.open("w"), pytest.raises(WorkspaceError, match="git is still running in"):
        worktrees.make(place, branch=BRANCH, commit=head)
    assert place.exists()


# Proving


def test_a_worktree_that_is_as_it_was_made_is_proven(worktrees: Worktrees, made: Path) -> None:
    write(made, {"README": "changed", "new": "1"})
    worktrees.prove(made, BRANCH)


def switched(git: Git, made: Path) -> None:
    git.at(made).do("switch", "-q", "-c", "other")


def detached(git: Git, made: Path) -> None:
    git.at(made).do("checkout", "-q", "--detach")


def rebasing(git: Git, made: Path) -> None:
    (entry(git) / "rebase-merge").mkdir()


def applying(git: Git, made: Path) -> None:
    write(entry(git), {"rebase-apply/applying": ""})


def merging(git: Git, made: Path) -> None:
    (entry(git) / "MERGE_HEAD").touch()


def picking(git: Git, made: Path) -> None:
    (entry(git) / "CHERRY_PICK_HEAD").touch()


def emptied(git: Git, made: Path) -> None:
    for path in made.iterdir():
        if path.name != ".git":
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def emptied_but_for_what_was_brought(git: Git, made: Path) -> None:
    emptied(git, made)
    write(made, {"lib/x": "brought"})
    (entry(git) / "weft-brought").write_bytes(b"lib/x\0")


def without_link(git: Git, made: Path) -> None:
    (made / ".git").unlink()


def initialised(git: Git, made: Path) -> None:
    (made / ".git").unlink()
    git.at(made).do("init", "-q")


def with_nonsense(git: Git, made: Path) -> None:
    (made / ".git").write_text("nonsense\n")


def pruned(git: Git, made: Path) -> None:
    shutil.rmtree(entry(git))


def of_another(git: Git, made: Path) -> None:
    other = repository(git.directory.parent / "other")
    other.do("worktree", "add", "-q", str(other.directory / "w"), "-b", "weft/p/a")
    shutil.copyfile(other.directory / "w" / ".git", made / ".git")


def moved_away(git: Git, made: Path) -> None:
    (entry(git) / "gitdir").write_text(f"{made.parent / 'nowhere'}/.git\n")


def half_registered(git: Git, made: Path) -> None:
    (entry(git) / "gitdir").unlink()


def gone(git: Git, made: Path) -> None:
    shutil.rmtree(made)


def linked(git: Git, made: Path) -> None:
    made.rename(made.parent / "b")
    made.symlink_to("b")


def elsewhere(git: Git, made: Path) -> None:
    git.do("config", "extensions.worktreeConfig", "true")
    git.at(made).do("config", "--worktree", "core.worktree", str(git.directory))


def branch_gone(git: Git, made: Path) -> None:
    git.do("update-ref", "-d", BRANCH)


def branch_and_log_gone(git: Git, made: Path) -> None:
    branch_gone(git, made)
    shutil.rmtree(entry(git) / "logs")


@pytest.mark.parametrize(
    ("harm", "told"),
    [
        (
            switched,
            r"has the branch other checked out; it must have weft/p/a; type: git -C /.*/a switch weft/p/a$",
        ),
        (
            detached,
            r"has no branch checked out; it must have weft/p/a; type: git -C /.*/a switch weft/p/a$",
        ),
        (rebasing, r"a `git rebase` is unfinished in /.*/a; .*git -C /.*/a rebase --abort"),
        (applying, r"a `git am` is unfinished"),
        (merging, r"a `git merge` is unfinished"),
        (picking, r"a `git cherry-pick` is unfinished"),
        (emptied, r"/a is empty, though its commit is not; type: git -C /.*/a reset --hard"),
        (emptied_but_for_what_was_brought, r"/a is empty, though its commit is not"),
        (without_link, r"/a is not a worktree: it has no file `.git`.*; move it away"),
        (initialised, r"/a is a repository of its own, as if made by `git init`"),
        (with_nonsense, r"/a/.git does not name its repository; type `git worktree repair`"),
        (pruned, r"/a is no longer registered as a worktree: /.*/worktrees/a does not exist"),
        (
            of_another,
            r"/a is a worktree of another repository: its `.git` points to /.*/other/.git/worktrees/w",
        ),
        (
            moved_away,
            r"has no worktree /.*/a: its entry names /.*/nowhere/.git; .*`git worktree repair /.*/a`",
        ),
        (half_registered, r"has no worktree /.*/a: its entry names nothing"),
        (gone, r"the worktree /.*/a does not exist; put it back"),
        (linked, r"/a must be a worktree, but is not a directory or is a symbolic link; remove it"),
        (elsewhere, r"git takes /.*/top for the root of /.*/a: so it is set; look for `core.worktree`"),
        (
            branch_gone,
            r"the branch weft/p/a of the worktree /.*/a is gone; .*git branch weft/p/a [0-9a-f]{12}$",
        ),
        (branch_and_log_gone, r"is gone; to restore it, type: git branch weft/p/a COMMIT$"),
    ],
)
def test_no_step_starts_in_anything_else(
    git: Git, worktrees: Worktrees, made: Path, harm: Callable[[Git, Path], None], told: str
) -> None:
    harm(git, made)
    with pytest.raises(WorkspaceError, match=told):
        worktrees.prove(made, BRANCH)


def test_the_command_in_an_error_message_fixes_it(git: Git, worktrees: Worktrees, made: Path) -> None:
    switched(git, made)
    with pytest.raises(WorkspaceError) as error:
        worktrees.prove(made, BRANCH)
    command = str(error.value).rpartition("type: ")[2].split()
    subprocess.run(command, check=True, capture_output=True)
    worktrees.prove(made, BRANCH)


def test_an_empty_commit_may_have_an_empty_worktree(git: Git, worktrees: Worktrees, place: Path) -> None:
    git.do("rm", "-rq", ".")
    git.do("commit", "-qm", "nothing")
    worktrees.make(place, branch=BRANCH, commit=git.line("rev-parse", "HEAD"))
    worktrees.prove(place, BRANCH)


# A part of the files


def test_a_sparse_worktree_has_some_directories_and_the_files_beside_the_way(
    git: Git, worktrees: Worktrees, place: Path
) -> None:
    head = commit(git, {"a/b/c": "1", "a/x": "2", "a/d/e": "3", "b/f": "4", "we[i]rd*/g": "5"})
    worktrees.make(place, branch=BRANCH, commit=head, sparse=["a/b", "we[i]rd*"])
    assert files(place).keys() == {"README", ".gitignore", "a/x", "a/b/c", "we[i]rd*/g"}
    assert worktrees.is_clean(place)
    worktrees.prove(place, BRANCH)


def test_a_sparse_worktree_may_be_empty(git: Git, worktrees: Worktrees, place: Path) -> None:
    git.do("rm", "-q", "README", ".gitignore")
    git.do("commit", "-qm", "no files at the top")
    worktrees.make(place, branch=BRANCH, commit=git.line("rev-parse", "HEAD"), sparse=["lib"])
    assert files(place) == {}
    worktrees.prove(place, BRANCH)


def test_another_choice_of_directories_makes_it_again(worktrees: Worktrees, place: Path, head: str) -> None:
    worktrees.make(place, branch=BRANCH, commit=head, sparse=["lib"])
    assert "src/main.py" not in files(place)
    worktrees.make(place, branch=BRANCH, commit=head, sparse=["src"])
    assert "src/main.py" in files(place)
    worktrees.make(place, branch=BRANCH, commit=head, sparse=["lib"])
    worktrees.make(place, branch=BRANCH, commit=head)
    assert files(place) == FILES


def test_plain_git_works_in_a_sparse_worktree(git: Git, worktrees: Worktrees, place: Path, head: str) -> None:
    worktrees.make(place, branch=BRANCH, commit=head, sparse=["lib"])
    plain = git.at(place)
    assert plain.line("status", "--porcelain") == ""
    write(place, {"README": "changed\n", "lib/new": "1", "other/new": "2"})
    plain.do("add", "-A")
    plain.do("commit", "-qm", "an agent's")
    assert plain.line("diff", "--name-only", head, "HEAD").splitlines() == ["README", "lib/new", "other/new"]


def test_a_file_that_was_left_out_and_comes_back_is_seen(
    worktrees: Worktrees, place: Path, head: str
) -> None:
    worktrees.make(place, branch=BRANCH, commit=head, sparse=["lib"])
    write(place, {"src/main.py": "changed\n"})
    assert not worktrees.is_clean(place)


def test_a_sparse_checkout_of_the_user_s_is_passed_on(git: Git, worktrees: Worktrees, place: Path) -> None:
    head = commit(git, {"lib/x": "1"})
    git.do("sparse-checkout", "set", "lib")
    worktrees.make(place, branch=BRANCH, commit=head)
    assert files(place).keys() == {"README", ".gitignore", "lib/x"}
    worktrees.make(place, branch=BRANCH, commit=head)
    worktrees.prove(place, BRANCH)


@pytest.mark.parametrize("folder", ["/src", "../src", ".", "a\nb"])
def test_a_directory_that_is_none_of_the_repository_s_is_an_error(
    worktrees: Worktrees, place: Path, head: str, folder: str
) -> None:
    with pytest.raises(WorkspaceError, match="is not a directory of the repository; write"):
        worktrees.make(place, branch=BRANCH, commit=head, sparse=[folder])


# Clean or not, and removing


def test_a_worktree_is_clean_if_all_that_is_not_ignored_or_brought_is_committed(
    git: Git, worktrees: Worktrees, made: Path
) -> None:
    write(made, {"x.log": "ignored", "lib/x": "brought", "lib/y": "brought"})
    assert not worktrees.is_clean(made)
    (entry(git) / "weft-brought").write_bytes(b"lib\0")
    assert worktrees.is_clean(made)
    write(made, {"README": "changed"})
    assert not worktrees.is_clean(made)


def test_a_clean_worktree_is_removed_with_all_that_was_brought_or_ignored(
    git: Git, worktrees: Worktrees, made: Path
) -> None:
    write(made, {"x.log": "ignored", "lib": "brought"})
    (made / "shut.log").mkdir(0o500)
    (entry(git) / "weft-brought").write_bytes(b"lib\0")
    worktrees.remove(made)
    assert list(made.parent.iterdir()) == []
    assert [item.path for item in worktrees.listed()] == [git.directory]
    assert not entry(git).exists()
    assert git.ask("rev-parse", "--verify", BRANCH).exit_code == 0


def test_a_link_in_a_worktree_that_is_removed_is_not_followed(
    git: Git, worktrees: Worktrees, made: Path
) -> None:
    write(git.directory, {"big/file": "1"})
    (made / "big").symlink_to(git.directory / "big")
    (entry(git) / "weft-brought").write_bytes(b"big\0")
    worktrees.remove(made)
    assert (git.directory / "big" / "file").exists()


def test_what_is_in_a_worktree_keeps_it_from_being_removed(worktrees: Worktrees, made: Path) -> None:
    write(made, {f"new{number}": "" for number in range(7)})
    text = r"cannot be removed, .*: new0, new1, new2, new3, new4 and 2 more; commit it there or remove it"
    with pytest.raises(WorkspaceError, match=text):
        worktrees.remove(made)
    worktrees.remove(made, force=True)
    assert not made.exists()


def test_a_commit_without_a_name_keeps_a_worktree_from_being_removed(
    git: Git, worktrees: Worktrees, made: Path
) -> None:
    inside = git.at(made)
    inside.do("checkout", "-q", "--detach")
    worktrees.remove(made)
    worktrees.make(made, branch=BRANCH, commit=git.line("rev-parse", "HEAD"))
    inside.do("checkout", "-q", "--detach")
    commit(inside, {"new": "1"})
    with pytest.raises(WorkspaceError, match="on no branch; to keep it, type: git branch NAME"):
        worktrees.remove(made)


def test_a_repository_in_a_worktree_keeps_it_from_being_removed(
    git: Git, worktrees: Worktrees, made: Path
) -> None:
    repository(made / "inner")
    git.at(made).do("add", "inner")
    git.at(made).do("commit", "-qm", "a name of a commit that is nowhere else")
    with pytest.raises(WorkspaceError, match="because it contains other repositories: inner; "):
        worktrees.remove(made)


def test_what_is_not_registered_is_not_removed(worktrees: Worktrees, place: Path) -> None:
    write(place, {"mine": "precious"})
    with pytest.raises(
        WorkspaceError, match=r"/a is not registered as a worktree, so Weft does not remove it"
    ):
        worktrees.remove(place, force=True)
    assert files(place) == {"mine": "precious"}


def test_one_that_is_gone_is_forgotten(worktrees: Worktrees, made: Path) -> None:
    shutil.rmtree(made)
    worktrees.remove(made)
    assert len(worktrees.listed()) == 1


def test_whenever_removing_is_killed_the_next_try_finishes_it(git: Git, place: Path, head: str) -> None:
    calls = 0
    while is_removing_killed(git, calls, place, head):
        of(git).make(place, branch=BRANCH, commit=head)
        assert files(place) == FILES
        assert [path.name for path in place.parent.iterdir()] == ["a"]
        calls += 1
    assert calls >= 2


def is_removing_killed(git: Git, calls: int, place: Path, head: str) -> bool:
    of(git).make(place, branch=BRANCH, commit=head)
    try:
        of(DyingGit(git, calls)).remove(place)
    except KilledError:
        return True
    return False


# Releasing


@pytest.mark.parametrize("left", [(), ("HEAD", "commondir")])
def test_a_release_that_was_interrupted_is_completed(
    git: Git, worktrees: Worktrees, made: Path, left: tuple[str, ...]
) -> None:
    """A kill comes after the directory was renamed, or while its registration was removed."""
    entry = worktrees.git_dir(made)
    made.rename(made.with_name(f"_old.{made.name}"))
    for name in left:
        (entry / "locked").write_text("Weft is making it")
        (entry / name).unlink()
    assert worktrees.finish_release(made)
    assert list(made.parent.iterdir()) == []
    assert not entry.exists()
    assert len(git.line("worktree", "list").splitlines()) == 1
    assert not worktrees.finish_release(made)


def test_a_worktree_that_a_person_removed_stays_registered(worktrees: Worktrees, made: Path) -> None:
    entry = worktrees.git_dir(made)
    shutil.rmtree(made)
    assert not worktrees.finish_release(made)
    assert entry.exists()


def test_a_worktree_of_which_all_is_committed_is_released(git: Git, worktrees: Worktrees, made: Path) -> None:
    write(made, {"trace.log": "ignored"})
    assert worktrees.release(made, BRANCH)
    assert list(made.parent.iterdir()) == []
    assert len(worktrees.listed()) == 1
    assert not entry(git).exists()
    assert git.ask("rev-parse", "--verify", BRANCH).exit_code == 0


def lock(git: Git, made: Path) -> None:
    git.do("worktree", "lock", str(made))


def switch(git: Git, made: Path) -> None:
    git.at(made).do("switch", "--quiet", "-c", "mine")


def detach(git: Git, made: Path) -> None:
    git.at(made).do("switch", "--quiet", "--detach")


def change(git: Git, made: Path) -> None:
    write(made, {"README": "mine"})


def add(git: Git, made: Path) -> None:
    write(made, {"new": "mine"})


def begin_merge(git: Git, made: Path) -> None:
    write(entry(git), {"MERGE_HEAD": "0" * 40})


def nest(git: Git, made: Path) -> None:
    commit(git.at(made), {"x": "1"})
    repository(made / "inner", {"y": "1"})
    git.at(made).do("add", "inner")
    git.at(made).do("commit", "--quiet", "-m", "a repository in it")


def open_it(git: Git, made: Path) -> None:
    of(git).note_opened(made)


@pytest.mark.parametrize("deed", [lock, switch, detach, change, add, begin_merge, nest, open_it])
def test_a_worktree_that_holds_more_than_its_branch_stays_as_it_is(
    git: Git, worktrees: Worktrees, made: Path, deed: Callable[[Git, Path], None]
) -> None:
    deed(git, made)
    before = sorted(made.rglob("*"))
    assert not worktrees.release(made, BRANCH)
    assert sorted(made.rglob("*")) == before
    assert len(worktrees.listed()) == 2


def test_what_is_no_worktree_is_not_released(worktrees: Worktrees, place: Path) -> None:
    write(place, {"README": "mine"})
    assert not worktrees.release(place, BRANCH)
    assert files(place) == {"README": "mine"}


@pytest.mark.parametrize("left", ["locked", "locked HEAD", "locked HEAD commondir gitdir", "all"])
def test_a_release_that_was_killed_is_finished_when_the_worktree_is_made_again(
    git: Git, worktrees: Worktrees, made: Path, head: str, left: str
) -> None:
    (entry(git) / "locked").write_text("Weft is making it")
    made.rename(made.with_name("_old.a"))
    for each in entry(git).iterdir():
        if left != "all" and each.name not in left.split():
            shutil.rmtree(each) if each.is_dir() else each.unlink()
    worktrees.make(made, branch=BRANCH, commit=head)
    assert files(made) == FILES
    assert [path.name for path in made.parent.iterdir()] == ["a"]
    worktrees.prove(made, BRANCH)


def test_git_is_not_asked_for_all_worktrees_where_none_can_be_meant(git: Git, made: Path, head: str) -> None:
    asked: list[tuple[str, ...]] = []

    class Noting(Git):
        def ask(
            self, *command: str, stdin: bytes | None = None, env: Mapping[str, str] | None = None
        ) -> GitOutput:
            asked.append(command)
            return super().ask(*command, stdin=stdin, env=env)

    noting = of(Noting(git.directory, environ=git._environ))
    noting.make(made.with_name("b"), branch="refs/heads/weft/p/b", commit=head)
    assert noting.release(made.with_name("b"), "refs/heads/weft/p/b")
    assert not [command for command in asked if "list" in command or "for-each-ref" in command]


def test_worktrees_are_listed_with_all_that_git_reports(
    git: Git, worktrees: Worktrees, made: Path, head: str
) -> None:
    other = made.parent / "b"
    worktrees.make(other, branch=None, commit=head)
    shutil.rmtree(other)
    git.do("worktree", "lock", "--reason", "two\nlines", str(made))
    main, first, second = worktrees.listed()
    assert (main.path, main.branch, main.detached) == (git.directory, "refs/heads/main", False)
    assert (first.path, first.branch, first.head, first.locked) == (made, BRANCH, head, "two\nlines")
    assert (first.prunable, second.locked, second.branch, second.detached) == (None, None, None, True)
    assert second.prunable == "gitdir file points to non-existent location"


def test_the_git_directory_of_a_worktree_is_found(git: Git, worktrees: Worktrees, made: Path) -> None:
    assert worktrees.git_dir(made) == entry(git)
    (made / ".git").write_text(f"gitdir: {os.path.relpath(entry(git), made)}\n")
    assert worktrees.git_dir(made).resolve() == entry(git)
    worktrees.prove(made, BRANCH)
