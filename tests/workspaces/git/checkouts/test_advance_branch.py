import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from weft.ports.workspaces import HeldError
from weft.workspaces.git.base.program import Git, GitError, GitOutput
from weft.workspaces.git.base.refs import tip
from weft.workspaces.git.checkouts import advance_branch
from weft.workspaces.git.checkouts.advance_branch import advance
from weft.workspaces.git.checkouts.branch_checkouts import checkout_of
from workspaces.git.repositories import DyingGit, KilledError, contents, grow, repository, write

MAIN = "refs/heads/main"
LINES = "".join(f"{number}\n" for number in range(1, 10))
AFTER = {"a": "new\n", "d/new": "new\n", "new.log": "new\n", "gone": None, "was": None, "was/file": "new\n"}
State = tuple[str | None, dict[str, bytes | str], str]


@pytest.fixture
def git(tmp_path: Path) -> Git:
    """The user's checkout, on `main`, in which *.log is ignored."""
    files = {".gitignore": "*.log\n", "a": LINES, "b": LINES, "d/x": LINES, "gone": LINES, "was": LINES}
    return repository(tmp_path / "repository", files)


@pytest.fixture
def before(git: Git) -> str:
    result = tip(git, MAIN)
    assert result is not None
    return result


@pytest.fixture
def after(git: Git, before: str) -> str:
    return grow(git, "work", AFTER, before)


def land(git: Git, before: str, after: str) -> bool:
    return advance(git, MAIN, before=before, after=after, reason="weft: merge x", subplan="x")


def state(git: Git) -> State:
    """Branch, files and index of the user."""
    return tip(git, MAIN), contents(git.directory), git.line("ls-files", "--stage", "--debug")


def held(git: Git, before: str, after: str) -> HeldError:
    """The reason, when nothing has changed."""
    seen = state(git)
    with pytest.raises(HeldError) as raised:
        land(git, before, after)
    assert state(git) == seen
    assert ". It has not moved; " in str(raised.value)
    assert str(raised.value).endswith("then type: weft merge x")
    assert not raised.value.conflict
    return raised.value


# Where a branch is checked out


def test_the_checkout_of_a_branch(git: Git, after: str, tmp_path: Path) -> None:
    git.do("worktree", "add", "--quiet", str(tmp_path / "line\nbreak"), "work")
    assert checkout_of(git, MAIN) == git.directory
    assert checkout_of(git, "refs/heads/work") == tmp_path / "line\nbreak"
    assert checkout_of(git.at(tmp_path / "line\nbreak"), MAIN) == git.directory
    assert checkout_of(git, "refs/heads/other") is None
    assert checkout_of(git, "refs/heads/mai") is None


def test_a_checkout_whose_directory_is_gone_is_none(git: Git, after: str, tmp_path: Path) -> None:
    git.do("worktree", "add", "--quiet", str(tmp_path / "linked"), "work")
    (tmp_path / "linked").rename(tmp_path / "elsewhere")
    assert checkout_of(git, "refs/heads/work") is None


@pytest.mark.parametrize("options", [(), ("--apply",)])
def test_a_branch_that_is_being_rebased_is_checked_out(git: Git, options: tuple[str, ...]) -> None:
    grow(git, "onto", {"a": "onto\n"})
    write(git.directory, {"a": "mine\n"})
    git.do("commit", "--quiet", "--all", "--message", "mine")
    git.ask("rebase", *options, "onto")
    assert "detached" in git.line("worktree", "list", "--porcelain")
    assert checkout_of(git, MAIN) == git.directory
    assert checkout_of(git, "refs/heads/onto") is None


def test_a_branch_is_checked_out_also_under_another_name(git: Git) -> None:
    git.do("symbolic-ref", "refs/heads/alias", MAIN)
    git.do("symbolic-ref", "HEAD", "refs/heads/alias")
    assert checkout_of(git, MAIN) == git.directory


def test_a_branch_is_checked_out_also_where_heads_are_links(git: Git) -> None:
    head = git.directory / ".git" / "HEAD"
    head.unlink()
    head.symlink_to(MAIN)
    assert checkout_of(git, MAIN) == git.directory


def test_a_head_whose_name_is_a_folder_of_others_leads_nowhere(git: Git) -> None:
    git.do("branch", "folder/inside")
    git.do("symbolic-ref", "HEAD", "refs/heads/folder")
    assert checkout_of(git, MAIN) is None


def rebasing_elsewhere(git: Git, place: Path) -> Git:
    grow(git, "onto", {"a": "onto\n"})
    grow(git, "work", {"a": "mine\n"})
    git.do("worktree", "add", "--quiet", str(place), "work")
    git.at(place).ask("rebase", "onto")
    return git.at(place)


def test_a_branch_that_is_being_rebased_in_a_linked_worktree_is_checked_out_there(
    git: Git, tmp_path: Path
) -> None:
    rebasing_elsewhere(git, tmp_path / "linked")
    assert checkout_of(git, "refs/heads/work") == tmp_path / "linked"
    (tmp_path / "linked").rename(tmp_path / "elsewhere")
    assert checkout_of(git, "refs/heads/work") is None


# Moves


def test_a_branch_that_is_not_checked_out_moves_alone(git: Git, before: str, after: str) -> None:
    git.do("branch", "other")
    seen = state(git)
    wish = {"before": before, "after": after, "reason": "weft: merge x"}
    assert advance(git, "refs/heads/other", **wish)
    assert tip(git, "refs/heads/other") == after
    assert state(git) == seen
    assert not advance(git, "refs/heads/other", **{**wish, "after": before, "before": before})


def test_a_branch_that_is_checked_out_moves_with_its_files(git: Git, before: str, after: str) -> None:
    assert land(git, before, after)
    assert tip(git, MAIN) == after
    assert git.line("status", "--porcelain", "--ignored") == ""
    assert (git.directory / "a").read_text() == "new\n"
    assert git.line("reflog", "-1", "--format=%gs", "main") == "weft: merge x: Fast-forward"


def test_what_is_done_already_is_done(git: Git, before: str, after: str) -> None:
    land(git, before, after)
    write(git.directory, {"a": "mine\n"})
    assert land(git, before, after)
    assert (git.directory / "a").read_text() == "mine\n"


def test_a_branch_that_has_moved_stays(git: Git, before: str, after: str) -> None:
    write(git.directory, {"b": "mine\n"})
    git.do("commit", "--quiet", "--all", "--message", "mine")
    write(git.directory, {"a": "mine, too\n"})
    seen = state(git)
    assert not land(git, before, after)
    assert state(git) == seen


def test_a_branch_moves_in_a_linked_worktree(git: Git, before: str, after: str, tmp_path: Path) -> None:
    git.do("worktree", "add", "--quiet", "-b", "other", str(tmp_path / "linked"))
    assert advance(git, "refs/heads/other", before=before, after=after, reason="r")
    assert (tmp_path / "linked/a").read_text() == "new\n"
    assert (git.directory / "a").read_text() == LINES


def test_a_branch_whose_checkout_is_gone_moves_alone(
    git: Git, before: str, after: str, tmp_path: Path
) -> None:
    git.do("worktree", "add", "--quiet", "-b", "other", str(tmp_path / "linked"))
    (tmp_path / "linked").rename(tmp_path / "elsewhere")
    assert advance(git, "refs/heads/other", before=before, after=after, reason="r")
    assert tip(git, "refs/heads/other") == after


def test_the_user_s_settings_for_merges_do_not_matter(git: Git, before: str, after: str) -> None:
    settings = {"merge.ff": "false", "merge.autoStash": "true", "merge.verifySignatures": "true"}
    for name, value in {**settings, "branch.main.mergeOptions": "--squash --no-commit"}.items():
        git.do("config", name, value)
    change_elsewhere(git)
    assert land(git, before, after)
    assert git.line("status", "--porcelain", "--untracked-files=no").splitlines() == [" M b", "M  d/x"]


# What is left alone


def change_elsewhere(git: Git) -> dict[str, str]:
    files = {"b": "mine\n", "d/x": "staged\n", "untracked": "mine\n", "mine.log": "mine\n", "d/n/u": "mine\n"}
    write(git.directory, files)
    git.do("add", "d/x")
    return files


def test_changes_of_other_files_are_kept(git: Git, before: str, after: str) -> None:
    files = change_elsewhere(git)
    assert land(git, before, after)
    assert {name: (git.directory / name).read_text() for name in files} == files
    assert git.line("status", "--porcelain").splitlines() == [" M b", "M  d/x", "?? d/n/", "?? untracked"]


def test_a_file_that_was_touched_but_not_changed_is_not_in_the_way(git: Git, before: str, after: str) -> None:
    (git.directory / "a").touch()
    assert land(git, before, after)


def test_a_file_that_is_staged_as_it_will_be_is_not_in_the_way(git: Git, before: str, after: str) -> None:
    """So it is if git was killed when all was done but the move of the branch."""
    git.do("read-tree", "-m", "-u", before, after)
    write(git.directory, {"a": "new\nmore\n"})
    assert land(git, before, after)
    assert git.line("status", "--porcelain") == " M a"


def test_files_outside_of_a_sparse_checkout_stay_outside(git: Git, before: str, after: str) -> None:
    git.do("sparse-checkout", "set", "--cone", "elsewhere")
    assert not (git.directory / "d").exists()
    assert land(git, before, after)
    assert (git.directory / "a").read_text() == "new\n"
    assert not (git.directory / "d").exists()
    assert git.line("status", "--porcelain") == ""


# What is in the way


def replaced(top: Path, name: str, files: Mapping[str, str]) -> None:
    """A file, by a directory with these files, or by nothing."""
    (top / name).unlink()
    write(top, files)


IN_THE_WAY: dict[str, tuple[Callable[[Path], object], str]] = {
    "changed": (lambda top: (top / "a").write_text("mine\n"), "a"),
    "changed, and will be removed": (lambda top: (top / "gone").write_text("mine\n"), "gone"),
    "changed, and will be a directory": (lambda top: (top / "was").write_text("mine\n"), "was"),
    "removed": (lambda top: replaced(top, "a", {}), "a"),
    "now a program": (lambda top: (top / "a").chmod(0o755), "a"),
    "now a directory": (lambda top: replaced(top, "a", {"a/mine": "mine\n"}), "a"),
    "now a directory of ignored files": (lambda top: replaced(top, "a", {"a/mine.log": "mine\n"}), "a"),
    "untracked": (lambda top: write(top, {"d/new": "mine\n"}), "d/new"),
    "untracked, though the same": (lambda top: write(top, {"d/new": "new\n"}), "d/new"),
    "an untracked directory": (lambda top: write(top, {"d/new/mine": "mine\n"}), "d/new"),
    "ignored": (lambda top: write(top, {"new.log": "mine\n"}), "new.log"),
    "an ignored directory": (lambda top: write(top, {"new.log/mine": "mine\n"}), "new.log"),
    "a link": (lambda top: (top / "d/new").symlink_to("nowhere"), "d/new"),
}


@pytest.mark.parametrize(("change", "file"), IN_THE_WAY.values(), ids=IN_THE_WAY)
def test_what_is_in_the_way_is_named_and_kept(
    git: Git, before: str, after: str, change: Callable[[Path], object], file: str
) -> None:
    change_elsewhere(git)
    change(git.directory)
    error = held(git, before, after)
    assert error.files == (file,)
    assert str(git.directory) in str(error)
    assert f": {file}. " in str(error)


def test_a_file_in_a_directory_that_becomes_a_file_is_kept(git: Git, before: str) -> None:
    after = grow(git, "work", {"d/x": None, "d": "file\n"}, before)
    write(git.directory, {"d/mine.log": "mine\n"})
    assert held(git, before, after).files == ("d",)


def test_a_link_in_place_of_a_directory_is_kept(git: Git, before: str, after: str, tmp_path: Path) -> None:
    (git.directory / "d").rename(tmp_path / "d")
    (git.directory / "d").symlink_to(tmp_path / "d")
    held(git, before, after)
    assert not (tmp_path / "d/new").exists()


@pytest.mark.parametrize("bit", ["--assume-unchanged", "--skip-worktree"])
def test_changes_in_files_that_git_is_set_to_ignore_are_kept(
    git: Git, before: str, after: str, bit: str
) -> None:
    git.do("update-index", bit, "a")
    write(git.directory, {"a": "mine\n"})
    assert held(git, before, after).files == ("a",)


def test_what_is_staged_is_kept(git: Git, before: str, after: str) -> None:
    write(git.directory, {"a": "staged\n", "d/new": "staged\n"})
    git.do("add", "a", "d/new")
    write(git.directory, {"a": LINES})
    assert held(git, before, after).files == ("a", "d/new")


def test_a_file_that_git_is_no_longer_to_track_is_kept(git: Git, before: str, after: str) -> None:
    git.do("rm", "--quiet", "--cached", "a", "gone")
    assert held(git, before, after).files == ("a",)
    git.do("reset", "--quiet", "a")
    assert held(git, before, after).files == ("gone",)


def test_files_that_are_in_conflict_are_named_though_the_merge_does_not_touch_them(
    git: Git, before: str, after: str
) -> None:
    oid = git.line("rev-parse", "main:b")
    entries = "".join(f"100644 {oid} {stage}\tb\n" for stage in (1, 2, 3))
    git.do("update-index", "--index-info", stdin=f"0 {'0' * 40}\tb\n{entries}".encode())
    assert held(git, before, after).files == ("b",)


def test_many_files_are_named_in_part(git: Git, before: str) -> None:
    names = [f"file{number:02}" for number in range(15)]
    after = grow(git, "work", dict.fromkeys(names, "new\n"), before)
    write(git.directory, dict.fromkeys(names, "mine\n"))
    error = held(git, before, after)
    assert error.files == tuple(names)
    assert "file08, file09 and 5 more. " in str(error)


def test_the_message_says_what_to_type(git: Git, before: str, after: str) -> None:
    write(git.directory, {"a": "mine\n"})
    assert f"stash them (git -C {git.directory} stash)" in str(held(git, before, after))
    git.do("checkout", "a")
    write(git.directory, {"d/new": "mine\n"})
    assert "move them elsewhere" in str(held(git, before, after))


@pytest.mark.parametrize(
    ("begin", "what"),
    [
        (["merge", "--no-ff", "--no-commit", "side"], "a merge is unfinished"),
        (["cherry-pick", "clash"], "a cherry-pick is unfinished"),
        (["revert", "HEAD~1"], "a revert is unfinished"),
        (["rebase", "clash"], "a rebase is unfinished"),
        (["rebase", "--apply", "clash"], "a rebase is unfinished"),
        (["bisect", "start", "HEAD", "HEAD~2"], "a bisection is unfinished"),
    ],
)
def test_what_is_unfinished_is_not_disturbed(git: Git, begin: list[str], what: str) -> None:
    first = tip(git, MAIN) or ""
    grow(git, "side", {"side": "side\n"}, first)
    grow(git, "clash", {"b": "clash\n"}, first)
    for text in ("one\n", "two\n"):
        write(git.directory, {"b": text})
        git.do("commit", "--quiet", "--all", "--message", text)
    before = tip(git, MAIN) or ""
    after = grow(git, "work", {"a": "new\n"}, before)
    git.ask(*begin)
    assert what in str(held(git, before, after))


def test_a_series_of_picks_is_not_disturbed(git: Git, before: str, after: str) -> None:
    (git.directory / ".git/sequencer").mkdir()
    assert "a series of picks" in str(held(git, before, after))


def test_a_lock_that_stays_is_named(
    git: Git, before: str, after: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(advance_branch, "_PAUSES", (0,))
    lock = git.directory / ".git/index.lock"
    lock.touch()
    assert f"a killed one has left its lock {lock};" in str(held(git, before, after))


def test_a_lock_that_goes_is_waited_for(git: Git, before: str, after: str) -> None:
    lock = git.directory / ".git/index.lock"
    lock.touch()

    class Unlocking(Git):
        """The other git has ended when we have failed once."""

        def at(self, directory: Path) -> Git:
            return Unlocking(directory, environ=self._environ)

        def ask(
            self, *command: str, stdin: bytes | None = None, env: Mapping[str, str] | None = None
        ) -> GitOutput:
            answer = super().ask(*command, stdin=stdin, env=env)
            if "index.lock" in answer.message:
                lock.unlink()
            return answer

    assert land(Unlocking(git.directory, environ=git._environ), before, after)


def test_a_worktree_that_is_locked_and_away_is_waited_for(
    git: Git, before: str, after: str, tmp_path: Path
) -> None:
    git.do("worktree", "add", "--quiet", "--lock", "-b", "other", str(tmp_path / "linked"))
    (tmp_path / "linked").rename(tmp_path / "elsewhere")
    with pytest.raises(HeldError, match=f"git worktree unlock {tmp_path / 'linked'}"):
        advance(git, "refs/heads/other", before=before, after=after, reason="r")
    assert tip(git, "refs/heads/other") == before


def test_a_rebase_in_a_worktree_that_is_locked_and_away_is_waited_for(git: Git, tmp_path: Path) -> None:
    away = rebasing_elsewhere(git, tmp_path / "linked")
    git.do("worktree", "lock", str(away.directory))
    away.directory.rename(tmp_path / "elsewhere")
    with pytest.raises(HeldError, match="is locked"):
        advance(git, "refs/heads/work", before=tip(git, "refs/heads/work") or "", after="main", reason="r")


def test_a_branch_that_is_checked_out_twice_stays(git: Git, before: str, after: str, tmp_path: Path) -> None:
    git.do("worktree", "add", "--quiet", "--force", str(tmp_path / "linked"), "main")
    assert f"and in {tmp_path / 'linked'}, too" in str(held(git, before, after))


@pytest.mark.parametrize(
    ("clean", "said"), [("cat", "smudge filter bad failed"), ("false", "clean filter 'bad' failed")]
)
def test_what_git_cannot_do_for_another_reason_is_reported_in_its_words(
    git: Git, before: str, after: str, clean: str, said: str
) -> None:
    for name, value in {"clean": clean, "smudge": "false", "required": "true"}.items():
        git.do("config", f"filter.bad.{name}", value)
    (git.directory / ".git/info/attributes").write_text("a filter=bad\n")
    os.utime(git.directory / "a", (1, 1))  # so that git has to look into it
    with pytest.raises(HeldError, match=said) as raised:
        land(git, before, after)
    assert f"fix that (git -C {git.directory} status shows" in str(raised.value)
    assert tip(git, MAIN) == before


def test_a_commit_that_does_not_follow_is_an_error(git: Git, before: str) -> None:
    seen = state(git)
    with pytest.raises(GitError, match=f"is not a descendant of {before}"):
        land(git, before, grow(git, "work", {"a": "x"}, ""))
    assert state(git) == seen


def test_a_checkout_that_has_been_switched_meanwhile_is_left_alone(git: Git, before: str, after: str) -> None:
    class Switching(Git):
        def at(self, directory: Path) -> Git:
            git.do("switch", "--quiet", "--create", "other")
            return git

    seen = contents(git.directory)
    assert not land(Switching(git.directory, environ=git._environ), before, after)
    assert contents(git.directory) == seen
    assert tip(git, "refs/heads/other") == before


# Death


@pytest.mark.parametrize("calls", range(3))
def test_a_landing_that_is_killed_between_two_commands_is_done_when_it_is_asked_for_again(
    git: Git, before: str, after: str, calls: int
) -> None:
    files = change_elsewhere(git)
    dying = DyingGit(git, calls)
    with pytest.raises(KilledError):
        land(dying, before, after)
    assert {name: (git.directory / name).read_text() for name in files} == files
    assert land(git, before, after)
    assert {name: (git.directory / name).read_text() for name in files} == files
    assert (tip(git, MAIN), (git.directory / "a").read_text()) == (after, "new\n")


@pytest.mark.parametrize("calls", range(8))
def test_a_landing_that_is_killed_while_something_is_in_the_way_has_changed_nothing(
    git: Git, before: str, after: str, calls: int
) -> None:
    write(git.directory, {"new.log": "mine\n"})
    seen = state(git)
    dying = DyingGit(git, calls)
    with pytest.raises((KilledError, HeldError)):
        land(dying, before, after)
    assert state(git) == seen
