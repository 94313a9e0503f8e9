"""The repository of a plan, and the ends of its work: found, or refused in words that lead on."""

import re
import shutil
from pathlib import Path

import pytest

from weft.errors import InputError
from weft.workspaces.git.base.program import Git
from weft.workspaces.git.base.repository import Ends, Repository, open_repository, resolve_ends, version_in
from workspaces.git.repositories import commit, empty_repository, repository, surroundings


def opened(folder: Path, home: Path) -> Repository:
    return open_repository(folder, environ=surroundings(home))


def refusal(folder: Path, home: Path, **variables: str) -> str:
    with pytest.raises(InputError) as caught:
        open_repository(folder, environ=surroundings(home) | variables)
    return str(caught.value)


def program(home: Path, script: str) -> str:
    """A search path on which this script is `git`."""
    place = home / "bin" / "git"
    place.parent.mkdir()
    place.write_text(f"#!/bin/sh\n{script}\n")
    place.chmod(0o755)
    return f"{place.parent}:{surroundings(home)['PATH']}"


# Opening


def test_a_repository_is_found_from_a_directory_in_it(tmp_path: Path) -> None:
    repository(tmp_path / "r", {"plans/new/weft.yaml": "plan: x\n"})
    opened_file = opened(tmp_path / "r/plans/new", tmp_path)
    assert opened_file.top == tmp_path / "r"
    assert opened_file.common == tmp_path / "r/.git"
    assert opened_file.inside == Path("plans/new")
    assert opened_file.git.directory == tmp_path / "r"
    assert opened(tmp_path / "r", tmp_path).inside == Path()


def test_the_paths_of_a_repository_have_no_links_in_them(tmp_path: Path) -> None:
    repository(tmp_path / "r", {"plans/weft.yaml": "plan: x\n"})
    (tmp_path / "link").symlink_to(tmp_path / "r/plans")
    (tmp_path / "r/.git").rename(tmp_path / "git")
    (tmp_path / "r/.git").symlink_to(tmp_path / "git")
    opened_file = opened(tmp_path / "link", tmp_path)
    assert (opened_file.top, opened_file.common, opened_file.inside) == (
        tmp_path / "r",
        tmp_path / "git",
        Path("plans"),
    )


def test_a_directory_may_have_any_name(tmp_path: Path) -> None:
    odd = tmp_path / "line\nbreak ü \udcff"
    repository(odd, {"sub dir\n/weft.yaml": "plan: x\n"})
    opened_file = opened(odd / "sub dir\n", tmp_path)
    assert (opened_file.top, opened_file.common) == (odd, odd / ".git")


def test_in_a_linked_worktree_the_top_is_that_worktree(tmp_path: Path) -> None:
    git = repository(tmp_path / "r")
    git.do("worktree", "add", "--quiet", str(tmp_path / "linked"))
    opened_file = opened(tmp_path / "linked", tmp_path)
    assert (opened_file.top, opened_file.common) == (tmp_path / "linked", tmp_path / "r/.git")


def test_a_linked_worktree_of_a_bare_repository_will_do(tmp_path: Path) -> None:
    repository(tmp_path / "r").do("clone", "--quiet", "--bare", ".", str(tmp_path / "bare"))
    Git(tmp_path / "bare", environ=surroundings(tmp_path), works=True).do(
        "worktree", "add", "-q", str(tmp_path / "linked")
    )
    opened_file = opened(tmp_path / "linked", tmp_path)
    assert (opened_file.top, opened_file.common) == (tmp_path / "linked", tmp_path / "bare")


def test_in_a_submodule_the_repository_is_the_submodule(tmp_path: Path) -> None:
    repository(tmp_path / "part")
    git = repository(tmp_path / "r")
    git.do("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "../part", "part")
    opened_file = opened(tmp_path / "r/part", tmp_path)
    assert (opened_file.top, opened_file.common) == (tmp_path / "r/part", tmp_path / "r/.git/modules/part")


def test_other_branches_will_do_if_the_one_that_is_checked_out_has_no_commit(tmp_path: Path) -> None:
    git = repository(tmp_path / "r")
    git.do("switch", "--quiet", "--orphan", "new")
    assert opened(tmp_path / "r", tmp_path).top == tmp_path / "r"


# Who commits


def test_a_user_with_a_name_needs_no_other(tmp_path: Path) -> None:
    repository(tmp_path / "r")
    assert opened(tmp_path / "r", tmp_path).identity == {}


def nameless(top: Path) -> Git:
    git = repository(top)
    for key in ("user.name", "user.email"):
        git.do("config", "--unset", key)
    git.do("config", "user.useConfigOnly", "true")
    return git


def test_without_a_name_of_the_user_commits_are_by_weft(tmp_path: Path) -> None:
    git = nameless(tmp_path / "r")
    git.do("commit", "--allow-empty", "-m", "more", env=opened(tmp_path / "r", tmp_path).identity)
    who = git.line("log", "-1", "--format=%an %ae %cn %ce")
    assert who == "Weft weft@localhost Weft weft@localhost"


def test_a_name_that_is_known_of_one_role_only_is_kept(tmp_path: Path) -> None:
    nameless(tmp_path / "r")
    variables = {"GIT_AUTHOR_NAME": "Grace", "GIT_AUTHOR_EMAIL": "grace@example.org"}
    result = open_repository(tmp_path / "r", environ=surroundings(tmp_path) | variables)
    assert result.identity == {"GIT_COMMITTER_NAME": "Weft", "GIT_COMMITTER_EMAIL": "weft@localhost"}


# What is refused


@pytest.mark.parametrize(
    ("said", "version"),
    [
        ("git version 2.39.5", (2, 39)),
        ("git version 2.37.1 (Apple Git-137.1)", (2, 37)),
        ("git version 2.44.0.windows.1", (2, 44)),
        ("git version 2.38.0.rc1", (2, 38)),
        ("git version 3.0", (3, 0)),
        ("git version 2.100.1-51-gabcdef", (2, 100)),
        ("gut version 2.39.5", None),
        ("git version next", None),
        ("", None),
    ],
)
def test_the_version_is_read_from_what_git_says(said: str, version: tuple[int, int] | None) -> None:
    assert version_in(said) == version


@pytest.mark.parametrize("said", ["git version 2.37.9 (Apple Git-137.1)", "git version 1.99"])
def test_an_old_git_is_refused(tmp_path: Path, said: str) -> None:
    message = refusal(tmp_path, tmp_path, PATH=program(tmp_path, f"echo '{said}'"))
    assert message.startswith(f"this is {said}, and Weft needs 2.38 or newer")
    assert "`isolation: dir`" in message


def test_the_oldest_git_that_will_do_will_do(tmp_path: Path) -> None:
    repository(tmp_path / "r")
    script = f'case "$*" in *" version") echo git version 2.38.0;; *) exec {shutil.which("git")} "$@";; esac'
    variables = surroundings(tmp_path) | {"PATH": program(tmp_path, script)}
    assert open_repository(tmp_path / "r", environ=variables).top == tmp_path / "r"


def test_a_git_without_a_version_is_refused(tmp_path: Path) -> None:
    message = refusal(tmp_path, tmp_path, PATH=program(tmp_path, "echo 'what?'"))
    assert message.startswith("cannot determine the version of git: `git version` says 'what?'")


def test_without_git_the_message_says_what_to_do(tmp_path: Path) -> None:
    message = refusal(tmp_path, tmp_path, PATH=str(tmp_path))
    assert "the program `git` cannot be started (No such file or directory)" in message
    assert "install git, or set `isolation: dir` in the plan" in message


def test_a_directory_that_is_not_there_is_not_taken_for_a_missing_git(tmp_path: Path) -> None:
    message = refusal(tmp_path / "gone", tmp_path)
    assert message == f"cannot work in {tmp_path / 'gone'}: No such file or directory"


@pytest.mark.parametrize("there", ["nothing", ".git"])
def test_outside_of_a_repository_the_message_says_what_to_do(tmp_path: Path, there: str) -> None:
    (tmp_path / there).mkdir()
    message = refusal(tmp_path, tmp_path)
    assert message.startswith(f"{tmp_path} is not in a git repository")
    assert "`git init`" in message
    assert "`isolation: dir`" in message


def test_a_bare_repository_is_refused(tmp_path: Path) -> None:
    empty_repository(tmp_path / "bare", "--bare")
    assert refusal(tmp_path / "bare", tmp_path).startswith(f"{tmp_path / 'bare'} is in a bare repository")


@pytest.mark.parametrize("below", [".git", ".git/refs", ".git/worktrees/linked"])
def test_the_files_that_git_keeps_for_itself_are_no_place_for_a_plan(tmp_path: Path, below: str) -> None:
    git = repository(tmp_path / "r")
    git.do("worktree", "add", "--quiet", str(tmp_path / "linked"))
    message = refusal(tmp_path / "r" / below, tmp_path)
    assert message.startswith(f"{tmp_path / 'r' / below} is inside a git directory, not in a checkout")


def test_a_repository_without_a_commit_is_refused_with_what_to_type(tmp_path: Path) -> None:
    empty_repository(tmp_path / "r")
    message = refusal(tmp_path / "r", tmp_path)
    assert message.startswith(f"the repository {tmp_path / 'r'} has no commit yet")
    assert message.endswith("type: git add . && git commit -m 'first commit'")


def test_a_repository_of_another_user_is_refused_with_how_to_trust_it(tmp_path: Path) -> None:
    repository(tmp_path / "r")
    script = f'GIT_TEST_ASSUME_DIFFERENT_OWNER=1 exec {shutil.which("git")} "$@"'
    message = refusal(tmp_path / "r", tmp_path, PATH=program(tmp_path, script))
    assert message.startswith(
        f"git does not trust the owner of {tmp_path / 'r'} (fatal: detected dubious ownership"
    )
    assert message.endswith(f"type: git config --global --add safe.directory {tmp_path / 'r'}")
    assert "\n" not in message


def test_a_repository_that_git_cannot_read_is_refused_with_the_words_of_git(tmp_path: Path) -> None:
    repository(tmp_path / "r")
    (tmp_path / "r/.git/config").write_text("[core\n")
    message = refusal(tmp_path / "r", tmp_path)
    assert message.startswith(f"git cannot read the repository of {tmp_path / 'r'} (fatal: bad config line 1")


def test_what_is_left_of_a_repository_is_not_taken_for_none(tmp_path: Path) -> None:
    repository(tmp_path / "r", {"plans/weft.yaml": "plan: x\n"})
    (tmp_path / "r/.git/HEAD").unlink()
    message = refusal(tmp_path / "r/plans", tmp_path)
    assert message.startswith(f"{tmp_path / 'r/.git'} is not a valid git repository")
    assert "git init" not in message


def test_a_branch_that_git_cannot_read_is_not_taken_for_none(tmp_path: Path) -> None:
    repository(tmp_path / "r")
    (tmp_path / "r/.git/refs/heads/main").write_text("")
    message = refusal(tmp_path / "r", tmp_path)
    assert message.startswith(
        f"git cannot read the branches of {tmp_path / 'r'} (warning: ignoring broken ref"
    )


# The ends


def ends(git: Git, *, base: str | None = None, target: str | None = None) -> Ends:
    opened_file = opened(git.directory, git.directory.parent)
    return resolve_ends(opened_file, base=base, target=target)


def no_ends(git: Git, *, base: str | None = None, target: str | None = None) -> str:
    with pytest.raises(InputError) as caught:
        ends(git, base=base, target=target)
    return str(caught.value)


def two_branches(top: Path) -> tuple[Git, str, str]:
    """`main`, which is checked out, and `dev`, one commit before it."""
    git = repository(top)
    git.do("branch", "dev")
    return git, commit(git, {"a": "1\n"}), git.line("rev-parse", "dev")


def test_work_starts_from_and_lands_on_the_branch_that_is_checked_out(tmp_path: Path) -> None:
    git, main, _ = two_branches(tmp_path / "r")
    assert ends(git) == Ends(target="main", target_ref="refs/heads/main", base=main)


def test_a_base_that_is_a_branch_is_the_target_too(tmp_path: Path) -> None:
    git, _, dev = two_branches(tmp_path / "r")
    assert ends(git, base="dev") == Ends(target="dev", target_ref="refs/heads/dev", base=dev)
    assert ends(git, base="refs/heads/dev") == ends(git, base="dev")


def test_a_target_is_the_base_too(tmp_path: Path) -> None:
    git, _, dev = two_branches(tmp_path / "r")
    assert ends(git, target="dev") == Ends(target="dev", target_ref="refs/heads/dev", base=dev)


def test_base_and_target_may_differ(tmp_path: Path) -> None:
    git, _, dev = two_branches(tmp_path / "r")
    assert ends(git, base="dev", target="main") == Ends(target="main", target_ref="refs/heads/main", base=dev)


@pytest.mark.parametrize("base", ["main~1", "v1", "HEAD^", "dev^{commit}", "origin/dev", "refs/tags/v1"])
def test_a_base_may_be_whatever_leads_to_a_commit(tmp_path: Path, base: str) -> None:
    git, _, dev = two_branches(tmp_path / "r")
    git.do("tag", "-a", "-m", "first", "v1", "dev")
    git.do("update-ref", "refs/remotes/origin/dev", "dev")
    assert ends(git, base=base) == Ends(target="main", target_ref="refs/heads/main", base=dev)
    assert ends(git, base=dev[:10]).base == dev


def test_a_branch_is_meant_where_a_tag_has_the_same_name(tmp_path: Path) -> None:
    git, main, dev = two_branches(tmp_path / "r")
    git.do("tag", "dev", main)
    assert ends(git, base="dev") == Ends(target="dev", target_ref="refs/heads/dev", base=dev)
    assert ends(git, base="dev", target="main").base == dev


def test_another_name_of_a_branch_is_that_branch(tmp_path: Path) -> None:
    git, main, _ = two_branches(tmp_path / "r")
    git.do("symbolic-ref", "refs/heads/trunk", "refs/heads/main")
    assert ends(git, target="trunk") == Ends(target="main", target_ref="refs/heads/main", base=main)


def test_commits_of_a_repository_with_longer_ids_have_longer_ids(tmp_path: Path) -> None:
    git = empty_repository(tmp_path / "r", "--object-format=sha256")
    head = commit(git, {"a": "1\n"})
    assert ends(git).base == head
    assert re.fullmatch("[0-9a-f]{64}", head)


def test_in_a_linked_worktree_its_own_branch_is_the_target(tmp_path: Path) -> None:
    git, _, dev = two_branches(tmp_path / "r")
    git.do("worktree", "add", "--quiet", str(tmp_path / "linked"), "dev")
    end_events = ends(git.at(tmp_path / "linked"))
    assert end_events == Ends(target="dev", target_ref="refs/heads/dev", base=dev)


def test_without_a_branch_checked_out_a_target_must_be_written(tmp_path: Path) -> None:
    git, main, _ = two_branches(tmp_path / "r")
    git.do("switch", "--quiet", "--detach")
    for base in (None, "HEAD"):
        message = no_ends(git, base=base)
        assert message.startswith(f"no branch is checked out in {tmp_path / 'r'} (HEAD is detached)")
        assert "write `target: BRANCH` in the plan" in message
    assert ends(git, target="main").base == main


def test_a_branch_without_a_commit_is_no_target(tmp_path: Path) -> None:
    git, main, _ = two_branches(tmp_path / "r")
    git.do("switch", "--quiet", "--orphan", "new")
    assert no_ends(git).startswith(
        f"the branch 'new' is checked out in {tmp_path / 'r'} and has no commit yet"
    )
    assert ends(git, target="main").base == main


def test_an_unknown_target_is_refused_with_the_nearest_names(tmp_path: Path) -> None:
    git, _, _ = two_branches(tmp_path / "r")
    message = no_ends(git, target="mian")
    assert message.startswith(f"'mian', the `target` of the plan, is no branch of {tmp_path / 'r'}")
    assert "(did you mean 'main'?)" in message
    assert message.endswith("type: git branch mian")


def test_an_unknown_target_that_is_near_to_nothing_is_refused(tmp_path: Path) -> None:
    git, _, _ = two_branches(tmp_path / "r")
    assert "did you mean" not in no_ends(git, target="something")


def test_several_names_may_be_near(tmp_path: Path) -> None:
    git, _, _ = two_branches(tmp_path / "r")
    git.do("branch", "maine")
    assert "(did you mean 'maine' or 'main'?)" in no_ends(git, target="mainee")


@pytest.mark.parametrize("target", ["main~1", "HEAD", "main^{commit}", "main@{0}"])
def test_a_commit_is_no_target(tmp_path: Path, target: str) -> None:
    git, _, _ = two_branches(tmp_path / "r")
    message = no_ends(git, target=target)
    assert message.startswith(
        f"{target!r}, the `target` of the plan, is a commit, and results land on branches"
    )


def test_a_tag_is_no_target(tmp_path: Path) -> None:
    git, _, _ = two_branches(tmp_path / "r")
    git.do("tag", "v1")
    message = no_ends(git, target="v1")
    assert message.startswith("'v1', the `target` of the plan, is a tag")
    assert "`git branch NAME v1`" in message


def test_a_branch_of_a_remote_is_no_target(tmp_path: Path) -> None:
    git, _, _ = two_branches(tmp_path / "r")
    for name in ("dev", "topic/x"):
        git.do("update-ref", f"refs/remotes/origin/{name}", "HEAD")
    message = no_ends(git, target="origin/dev")
    assert message.startswith("'origin/dev', the `target` of the plan, is a branch of a remote")
    assert message.endswith("write `target: dev` in the plan")
    assert no_ends(git, target="origin/topic/x").endswith("git branch --track topic/x origin/topic/x")


def test_a_branch_of_our_own_is_no_target(tmp_path: Path) -> None:
    git, _, dev = two_branches(tmp_path / "r")
    git.do("switch", "--quiet", "--create", "weft/notes/_plan")
    message = no_ends(git)
    assert message.startswith("'weft/notes/_plan' is one of Weft's own branches, which start with 'weft/'")
    assert no_ends(git, base="weft/notes/_plan") == message
    assert no_ends(git, target="weft/notes/_plan") == message
    assert no_ends(git, target="refs/heads/weft/notes/_plan") == message
    assert ends(git, base="dev", target="main").base == dev


def test_the_prefix_of_our_own_branches_is_the_one_of_the_plan(tmp_path: Path) -> None:
    git, main, _ = two_branches(tmp_path / "r")
    git.do("switch", "--quiet", "--create", "weft/mine")
    opened_file = opened(tmp_path / "r", tmp_path)
    assert resolve_ends(opened_file, base=None, target=None, prefix="bots/").base == main


def test_an_unknown_base_is_refused_with_the_nearest_names(tmp_path: Path) -> None:
    git, _, _ = two_branches(tmp_path / "r")
    message = no_ends(git, base="mian")
    assert message.startswith("'mian', the `base` of the plan, is neither a branch nor a tag nor a commit")
    assert message.endswith("(did you mean 'main'?)")


@pytest.mark.parametrize("base", ["--git-dir", "--since=1", "-x", "HEAD --all", "", "a..b"])
def test_a_base_that_is_no_name_is_refused_as_an_unknown_one(tmp_path: Path, base: str) -> None:
    git, _, _ = two_branches(tmp_path / "r")
    assert no_ends(git, base=base).startswith(f"{base!r}, the `base` of the plan, is neither")
    assert no_ends(git, target=base).startswith(f"{base!r}, the `target` of the plan, is no branch")


def test_a_base_that_is_no_commit_is_refused(tmp_path: Path) -> None:
    git, _, _ = two_branches(tmp_path / "r")
    message = no_ends(git, base="main:README")
    assert message.startswith("'main:README' (the `base` of the plan) is a blob and not a commit")


# What is damaged


def objects(git: Git, commit_id: str) -> Path:
    return git.directory / ".git/objects" / commit_id[:2] / commit_id[2:]


def test_a_commit_that_is_lost_is_distinguished_from_a_name_that_is_wrong(tmp_path: Path) -> None:
    git, _, dev = two_branches(tmp_path / "r")
    objects(git, dev).unlink()
    message = no_ends(git, target="dev")
    assert message.startswith(f"git cannot read the commit of the branch 'dev' in {tmp_path / 'r'} (fatal: ")
    assert message.endswith("type: git fsck")
    assert no_ends(git, base="dev", target="main") == message
    assert no_ends(git, base=dev).startswith(
        f"git cannot read the commit of {dev!r} (the `base` of the plan)"
    )


def test_a_commit_that_is_damaged_is_reported_with_the_words_of_git(tmp_path: Path) -> None:
    git, main, dev = two_branches(tmp_path / "r")
    place = objects(git, main)
    place.chmod(0o644)
    place.write_bytes(b"junk")
    message = no_ends(git, target="main")
    assert message.startswith("git cannot read the commit of the branch 'main'")
    assert "incorrect header check" in message
    assert no_ends(git, base="dev", target="main") == message
    assert ends(git, target="dev").base == dev


def test_a_branch_that_is_damaged_is_distinguished_from_one_that_is_not_there(tmp_path: Path) -> None:
    git, main, _ = two_branches(tmp_path / "r")
    (tmp_path / "r/.git/refs/heads/dev").write_text("")
    message = no_ends(git, target="dev")
    assert message.startswith(f"git cannot read the branches of {tmp_path / 'r'}")
    assert "ignoring broken ref refs/heads/dev" in message
    assert ends(git).base == main


def test_a_list_of_branches_that_is_damaged_is_reported_with_the_words_of_git(tmp_path: Path) -> None:
    git, _, _ = two_branches(tmp_path / "r")
    opened_file = opened(tmp_path / "r", tmp_path)
    git.do("pack-refs", "--all")
    (tmp_path / "r/.git/packed-refs").write_text("junk\n")
    assert refusal(tmp_path / "r", tmp_path).startswith(
        f"git cannot read the branches of {tmp_path / 'r'} (fatal: "
    )
    with pytest.raises(
        InputError, match=r"git cannot read .* \(fatal: unexpected line in .*packed-refs.*; type: "
    ):
        resolve_ends(opened_file, base=None, target="main")
