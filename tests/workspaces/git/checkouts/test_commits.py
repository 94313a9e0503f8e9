"""What a step did is committed, and nothing that was ever committed is lost."""

import os
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.ports.workspaces import StepWork
from weft.workspaces.errors import WorkspaceError
from weft.workspaces.git.base.names import RefNames
from weft.workspaces.git.base.program import Git, GitError, GitOutput
from weft.workspaces.git.checkouts.commits import record
from weft.workspaces.git.checkouts.untracked_files import copy_in
from weft.workspaces.git.worktrees.worktrees import Worktrees
from workspaces.faults import quick_folder
from workspaces.git.repositories import DyingGit, KilledError, commit, repository, write

NAMES = RefNames("p")
PATH = "a/b"
BRANCH = "refs/heads/weft/p/a.b"
SHOWN = "weft/p/a.b"
WEFT = {
    "GIT_AUTHOR_NAME": "Weft",
    "GIT_AUTHOR_EMAIL": "weft@example.org",
    "GIT_COMMITTER_NAME": "Weft",
    "GIT_COMMITTER_EMAIL": "weft@example.org",
}
FILES = {"README": "hello\n", "src/main.py": "main\n", ".gitignore": "*.log\n"}


def worktree(folder: Path, *, sparse: tuple[str, ...] = ()) -> Git:
    """A slice that has just started; git is in its worktree."""
    git = repository(folder / "top", FILES)
    head = git.line("rev-parse", "HEAD")
    place = git.directory / ".weft" / "a.b"
    Worktrees(git, git.directory / ".git").make(place, branch=BRANCH, commit=head, sparse=sparse)
    git.do("update-ref", NAMES.start(PATH), head)
    return git.at(place)


@pytest.fixture
def git() -> Iterator[Git]:
    with quick_folder() as folder:
        yield worktree(folder)


@pytest.fixture
def start(git: Git) -> str:
    return git.line("rev-parse", "HEAD")


def recorded(git: Git, step: str = "code", attempt: int = 1, subject: str = "a/b: code") -> str:
    work = StepWork(path=PATH, step=step, attempt=attempt, subject=subject)
    return record(git, work, plan="p", names=NAMES, identity=WEFT, pause=lambda _: None)


def changes(git: Git, since: str, until: str = "HEAD") -> list[str]:
    """The letter of each change with the path."""
    messages = git.fields("diff-tree", "-r", "-z", "--name-status", "--no-renames", since, until)
    return [f"{letter} {path}" for letter, path in zip(messages[::2], messages[1::2], strict=True)]


def kept(git: Git) -> set[str]:
    return set(git.line("for-each-ref", "--format=%(objectname)", "refs/weft/kept").split())


def git_dir(git: Git) -> Path:
    return git.directory.parents[1] / ".git" / "worktrees" / "a.b"


def note_brought(git: Git, *paths: bytes) -> None:
    (git_dir(git) / "weft-brought").write_bytes(b"\0".join((*paths, b"")))


# What is committed


def test_a_commit_names_its_plan_subplan_step_and_attempt(git: Git, start: str) -> None:
    write(git.directory, {"new": "1"})
    head = recorded(git, subject="a/b:\n  write\tthe code ")
    assert git.line("log", "-1", "--format=%H %P %an <%ae> %cn%n%B") == (
        f"{head} {start} Weft <weft@example.org> Weft\n"
        "a/b: write the code\n\nWeft-Plan: p\nWeft-Subplan: a/b\nWeft-Step: code\nWeft-Attempt: 1"
    )
    assert git.line("interpret-trailers", "--parse", str(message_file(git))).count("Weft-") == 4
    assert git.line("rev-parse", BRANCH, NAMES.tip(PATH)) == f"{head}\n{head}"


def message_file(git: Git) -> Path:
    file = git.directory / "message.log"
    file.write_text(git.line("log", "-1", "--format=%B"))
    return file


def test_a_step_without_a_subject_is_named(git: Git) -> None:
    write(git.directory, {"new": "1"})
    recorded(git, subject=" ")
    assert git.line("log", "-1", "--format=%s") == "code"


def test_all_kinds_of_changes_are_committed(git: Git) -> None:
    top = git.directory
    start = commit(
        git, {"changed": "1", "gone": "2", "program": "3", "folder/x": "4", "file": "5", "link": "6"}
    )
    recorded(git, "first")
    write(top, {"changed": "new", "deep/er/new": "7"})
    (top / "gone").unlink()
    (top / "program").chmod(0o755)
    shutil.rmtree(top / "folder")
    (top / "folder").symlink_to("deep")
    (top / "file").unlink()
    write(top, {"file/inside": "8"})
    (top / "link").unlink()
    (top / "link").symlink_to("nowhere")
    recorded(git)
    assert changes(git, start) == [
        "M changed", "A deep/er/new", "D file", "A file/inside", "A folder", "D folder/x", "D gone", "T link",
        "M program",
    ]  # fmt: skip
    assert git.line("status", "--porcelain") == ""


@pytest.mark.parametrize(
    "name", [b"new\nline", b"quo\"te'", b"\xff\xfe", b" space ", b"-option", b":(top)x", b"a*"]
)
def test_names_may_be_anything(git: Git, start: str, name: bytes) -> None:
    write(git.directory, {os.fsdecode(name): "1"})
    recorded(git)
    assert changes(git, start) == [f"A {os.fsdecode(name)}"]


def test_what_was_staged_is_committed_as_the_file_is_now(git: Git, start: str) -> None:
    write(git.directory, {"staged": "1", "both": "2", "meant": "3"})
    git.do("add", "staged", "both")
    git.do("add", "-N", "meant")
    write(git.directory, {"both": "new"})
    git.do("rm", "-q", "--cached", "README")
    recorded(git)
    assert changes(git, start) == ["A both", "A meant", "A staged"]
    assert git.line("show", "HEAD:both") == "new"


def test_what_is_ignored_or_was_brought_is_not_committed(git: Git, start: str) -> None:
    write(
        git.directory, {"x.log": "", ".env": "brought", "lib/x": "brought", "lib/y": "own", "big/z": "below"}
    )
    note_brought(git, b".env", b"lib/x", b"big")
    recorded(git)
    assert changes(git, start) == ["A lib/y"]
    write(git.directory, {".env": "changed"})
    assert recorded(git, attempt=2) == ""


def test_what_was_brought_and_then_staged_is_not_committed(git: Git, start: str) -> None:
    write(git.directory, {".env": "brought"})
    note_brought(git, b".env")
    git.do("add", "-A")
    assert recorded(git) == ""
    git.do("add", "-A")
    write(git.directory, {"new": "1"})
    recorded(git, attempt=2)
    assert changes(git, start) == ["A new"]
    assert (git.directory / ".env").exists()


def test_a_fifo_in_place_of_a_file_is_the_end_of_the_file(git: Git, start: str) -> None:
    (git.directory / "README").unlink()
    os.mkfifo(git.directory / "README")
    os.mkfifo(git.directory / "other")
    recorded(git)
    assert changes(git, start) == ["D README"]


def test_settings_of_the_user_s_do_not_keep_work_from_being_committed(git: Git, start: str) -> None:
    for name, value in {
        "core.safecrlf": "true",
        "core.autocrlf": "input",
        "status.showUntrackedFiles": "no",
        "commit.gpgSign": "true",
        "i18n.commitEncoding": "ISO-8859-1",
        "status.renames": "copies",
    }.items():
        git.do("config", name, value)
    write(git.directory, {"dos": "1\r\n2\r\n", "copy": FILES["README"]})
    hook = git.directory.parents[1] / ".git" / "hooks" / "pre-commit"
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    recorded(git, subject="é")
    assert changes(git, start) == ["A copy", "A dos"]
    head, subject, _ = git.do("cat-file", "commit", "HEAD").decode().split("\n\n")
    assert subject == "é"
    assert "encoding" not in head


def test_a_file_that_a_sparse_worktree_leaves_out_is_committed_if_it_was_changed() -> None:
    with quick_folder() as folder:
        git = worktree(folder, sparse=("lib",))
        assert recorded(git) == ""
        write(git.directory, {"src/main.py": "changed\n", "elsewhere/new": "1"})
        recorded(git, attempt=2)
        assert changes(git, NAMES.start(PATH)) == ["A elsewhere/new", "M src/main.py"]


def test_a_submodule_may_be_added_and_moved_on(git: Git, start: str) -> None:
    other = repository(git.directory.parents[2] / "other")
    add = ("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(other.directory), "sub")
    git.do(*add)
    assert recorded(git) == git.line("rev-parse", "HEAD")
    assert changes(git, start) == ["A .gitmodules", "A sub"]
    inner = git.at(git.directory / "sub")
    inner.do("-c", "user.name=A", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "on")
    recorded(git, attempt=2)
    assert git.line("rev-parse", "HEAD:sub") == inner.line("rev-parse", "HEAD")
    write(inner.directory, {"dirt": "in it"})
    assert recorded(git, attempt=3) == ""


def test_what_a_repository_within_says_is_to_be_run_is_not_run(git: Git, start: str) -> None:
    """A filter there would run with all rights of Weft, also if the step that wrote it is in a sandbox."""
    inner = repository(git.directory / "sub", {"file": "1", ".gitattributes": "* filter=trap\n"})
    git.do("update-index", "--add", "--cacheinfo", f"160000,{inner.line('rev-parse', 'HEAD')},sub")
    git.do("-c", "user.name=A", "-c", "user.email=a@b", "commit", "-q", "-m", "a step's own")
    ran = git.directory.parent / "ran"
    inner.do("config", "filter.trap.clean", f"touch {ran}; cat")
    write(inner.directory, {"file": "2"})
    recorded(git)
    assert not ran.exists()


# What it tells


def test_nothing_is_reported_if_nothing_was_done_and_the_progress_is_noted(git: Git, start: str) -> None:
    assert recorded(git) == ""
    assert git.line("rev-parse", NAMES.tip(PATH)) == start


def test_commits_of_the_agent_s_own_are_kept_and_reported(git: Git, start: str) -> None:
    own = commit(git, {"own": "1"})
    assert recorded(git) == own
    assert recorded(git, "test") == ""
    write(git.directory, {"more": "2"})
    assert git.line("rev-parse", f"{recorded(git, 'review')}^") == own


def test_recorded_again_it_is_reported_again(git: Git) -> None:
    write(git.directory, {"new": "1"})
    head = recorded(git)
    assert [recorded(git), recorded(git), recorded(git, attempt=2)] == [head, head, ""]


def test_done_again_from_its_start_it_has_done_nothing(git: Git, start: str) -> None:
    commit(git, {"own": "1"})
    own = recorded(git)
    git.do("reset", "-q", "--hard", start)
    assert recorded(git, attempt=2) == ""
    assert kept(git) == {own}


# What was undone


def test_what_was_amended_or_reset_or_left_on_another_branch_is_kept(git: Git, start: str) -> None:
    amended = commit(git, {"own": "1"})
    git.do("commit", "-q", "--amend", "-m", "better")
    write(git.directory, {"more": "2"})
    better = recorded(git)
    assert kept(git) == {amended}
    git.do("reset", "-q", "--hard", start)
    assert recorded(git, "test") == ""
    assert kept(git) == {amended, better}


def test_of_a_line_of_commits_that_was_undone_the_last_is_kept(git: Git, start: str) -> None:
    *_, last = [commit(git, {"own": str(number)}) for number in range(3)]
    git.do("reset", "-q", "--hard", start)
    recorded(git)
    assert kept(git) == {last}
    assert recorded(git, "test") == ""
    assert kept(git) == {last}


def test_what_was_recorded_is_kept_even_if_the_log_is_gone(git: Git, start: str) -> None:
    commit(git, {"own": "1"})
    own = recorded(git)
    (git_dir(git) / "logs" / "HEAD").unlink()
    git.do("reset", "-q", "--hard", start)
    recorded(git, "test")
    assert kept(git) == {own}


def test_a_missing_commit_in_the_reflog_is_ignored(git: Git) -> None:
    with (git_dir(git) / "logs" / "HEAD").open("a") as log:
        log.write(f"{'0' * 40} {'1' * 40} A <a> 1 +0000\tx\n")
    write(git.directory, {"new": "1"})
    assert recorded(git) == git.line("rev-parse", "HEAD")


def test_a_ref_that_would_be_overwritten_is_an_error(git: Git, start: str) -> None:
    own = commit(git, {"own": "1"})
    git.do("update-ref", NAMES.kept(PATH, own), start)
    git.do("reset", "-q", "--hard", start)
    with pytest.raises(WorkspaceError, match=rf"point elsewhere: {NAMES.kept(PATH, own)}; remove them"):
        recorded(git)


# What is not as it should be


def on_another_branch(git: Git) -> None:
    git.do("switch", "-q", "-c", "other")


def on_no_branch(git: Git) -> None:
    git.do("checkout", "-q", "--detach")


@pytest.mark.parametrize(
    ("astray", "told"), [(on_another_branch, "the branch other"), (on_no_branch, "no branch")]
)
@pytest.mark.parametrize("dirty", [True, False], ids=["dirty", "clean"])
def test_with_another_branch_all_is_kept_and_nothing_moves(
    git: Git, start: str, astray: Callable[[Git], None], told: str, dirty: bool
) -> None:
    astray(git)
    own = commit(git, {"own": "1"})
    write(git.directory, {"README": "changed", "new": "2"} if dirty else {})
    before = git.line("status", "--porcelain=v2", "--branch")
    with pytest.raises(
        WorkspaceError, match=rf"has {told} checked out; it must have {SHOWN}; what is there is kept"
    ):
        recorded(git)
    assert git.line("status", "--porcelain=v2", "--branch") == before
    assert git.line("rev-parse", BRANCH) == start
    last = (kept(git) - {own}).pop() if dirty else own
    assert changes(git, start, last) == (["M README", "A new", "A own"] if dirty else ["A own"])
    assert sorted(path.name for path in git_dir(git).glob("weft-index*")) == []
    with pytest.raises(WorkspaceError, match=r"is kept as refs/weft/kept/p/a\.b/"):
        recorded(git)


def commands(error: WorkspaceError) -> list[list[str]]:
    return [shlex.split(part.rpartition(": ")[2]) for part in str(error).split("; ") if ": git " in part]


@pytest.mark.parametrize(("choice", "expected"), [(0, ["A new", "A own"]), (1, ["A new"])])
def test_either_command_in_the_message_lets_it_continue(
    git: Git, start: str, choice: int, expected: list[str]
) -> None:
    on_another_branch(git)
    commit(git, {"own": "1"})
    write(git.directory, {"new": "2"})
    with pytest.raises(WorkspaceError) as error:
        recorded(git)
    subprocess.run(commands(error.value)[choice], check=True, capture_output=True)
    recorded(git)
    assert changes(git, start) == expected


def test_a_merge_half_done_is_kept_and_reported(git: Git, start: str) -> None:
    git.do("switch", "-q", "-c", "other")
    commit(git, {"README": "theirs\n"})
    git.do("switch", "-q", SHOWN)
    ours = commit(git, {"README": "ours\n"})
    assert git.ask("merge", "other").exit_code == 1
    with pytest.raises(
        WorkspaceError, match=r"a `git merge` is unfinished in .*is kept as refs/weft/kept.*--abort$"
    ):
        recorded(git)
    assert git.line("rev-parse", BRANCH) == ours
    assert git.line("ls-files", "--unmerged") != ""
    [held] = [item for item in kept(git) if git.line("rev-parse", f"{item}^") == ours]
    assert changes(git, ours, held) == ["M README"]
    assert "<<<<<<<" in git.line("show", f"{held}:README")


def test_a_file_that_a_half_done_merge_took_away_is_no_trouble(git: Git) -> None:
    git.do("switch", "-q", "-c", "other")
    commit(git, {"README": "theirs\n"})
    git.do("switch", "-q", SHOWN)
    git.do("rm", "-q", "README")
    git.do("commit", "-qm", "without")
    assert git.ask("merge", "other").exit_code == 1
    (git.directory / "README").unlink()
    with pytest.raises(WorkspaceError, match="a `git merge` is unfinished"):
        recorded(git)


def test_a_branch_that_is_gone_can_be_restored(git: Git) -> None:
    own = commit(git, {"own": "1"})
    git.do("update-ref", "-d", BRANCH)
    write(git.directory, {"new": "2"})
    with pytest.raises(WorkspaceError, match=rf"the branch {SHOWN} of the worktree .* is gone; ") as error:
        recorded(git)
    assert own in kept(git)
    subprocess.run(commands(error.value)[0], cwd=git.directory, check=True, capture_output=True)
    head = recorded(git)
    assert changes(git, own, head) == ["A new"]


def test_a_branch_that_is_gone_with_all_files_and_logs_has_nothing_to_keep(git: Git) -> None:
    git.do("update-ref", "-d", BRANCH)
    git.do("update-ref", "-d", NAMES.start(PATH))
    git.do("rm", "-rqf", ".")
    (git_dir(git) / "index").unlink()
    shutil.rmtree(git_dir(git) / "logs")
    with pytest.raises(WorkspaceError, match=rf"is gone; to restore it, type: git branch {SHOWN} COMMIT$"):
        recorded(git)


def with_commit(git: Git, name: str) -> None:
    repository(git.directory / name)


def without_commit(git: Git, name: str) -> None:
    git.do("init", "-q", name)


def staged(git: Git, name: str) -> None:
    with_commit(git, name)
    git.do("add", name)


def separate(git: Git, name: str) -> None:
    git.do("init", "-q", f"--separate-git-dir={git.directory.parent / 'separate'}", name)


def of_the_same(git: Git, name: str) -> None:
    git.do("worktree", "add", "-q", "--detach", name)


@pytest.mark.parametrize("make", [with_commit, without_commit, staged, separate, of_the_same])
@pytest.mark.parametrize("name", ["inner", "src/deep/inner", "README"])
def test_a_repository_in_the_worktree_is_an_error_and_nothing_is_added(
    git: Git, start: str, make: Callable[[Git, str], None], name: str
) -> None:
    (git.directory / "README").unlink()
    make(git, name)
    write(git.directory, {"new": "1"})
    with pytest.raises(WorkspaceError, match=rf"other repositories, .* committed: {name}; remove the `.git`"):
        recorded(git)
    assert git.line("rev-parse", BRANCH) == start
    assert "new" not in git.fields("ls-files", "-z")


def test_a_repository_that_was_brought_or_is_ignored_is_no_trouble(git: Git, start: str) -> None:
    with_commit(git, "brought")
    with_commit(git, "ignored.log")
    note_brought(git, b"brought")
    assert recorded(git) == ""


def test_what_is_no_worktree_is_not_taken_for_a_part_of_the_user_s_checkout(git: Git) -> None:
    write(git.directory, {"new": "1"})
    (git.directory / ".git").unlink()
    with pytest.raises(WorkspaceError, match=r"is not a worktree: it has no file `\.git`"):
        recorded(git)


class RacingGit(Git):
    """Another program moves the branch while a commit is made."""

    def ask(
        self, *command: str, stdin: bytes | None = None, env: Mapping[str, str] | None = None
    ) -> GitOutput:
        answer = super().ask(*command, stdin=stdin, env=env)
        if "write-tree" in command:
            super().ask("commit", "-q", "--allow-empty", "-m", "faster")
        return answer


def test_a_branch_that_moves_meanwhile_is_not_overwritten(git: Git) -> None:
    write(git.directory, {"new": "1"})
    with pytest.raises(
        WorkspaceError, match=rf"the branch {SHOWN} was moved while its worktree was recorded; end"
    ):
        recorded(RacingGit(git.directory, environ=git._environ, works=True))
    assert git.line("log", "-1", "--format=%s") == "faster"


# Locks


def test_a_lock_that_a_dead_git_left_in_the_worktree_is_removed(git: Git) -> None:
    for name in ("index.lock", "HEAD.lock"):
        (git_dir(git) / name).touch()
    write(git.directory, {"new": "1"})
    assert recorded(git) == git.line("rev-parse", "HEAD")
    assert list(git_dir(git).glob("*.lock")) == []


def test_a_lock_in_the_repository_is_left_and_reported(git: Git) -> None:
    lock = git.directory.parents[1] / ".git" / f"{BRANCH}.lock"
    lock.touch()
    write(git.directory, {"new": "1"})
    with pytest.raises(GitError, match=rf"{lock}; if no git runs in this repository, type: rm {lock}"):
        recorded(git)
    assert lock.exists()


# Killed in the middle


@pytest.mark.parametrize("astray", [False, True], ids=["on its branch", "on another"])
def test_whenever_it_is_killed_the_next_try_does_it(astray: bool) -> None:
    calls = 0
    with quick_folder() as folder:
        while is_killed(folder / str(calls), calls, astray=astray):
            calls += 1
    assert calls >= 6


def is_killed(folder: Path, calls: int, *, astray: bool) -> bool:
    folder.mkdir()
    git = worktree(folder)
    undone = commit(git, {"own": "1"})
    git.do("commit", "-q", "--amend", "-m", "better")
    for _ in range(astray):
        on_another_branch(git)
    write(git.directory, {"new": "1", "src/main.py": "changed"})
    (git.directory / "README").unlink()
    expected = ["D README", "A new", "A own", "M src/main.py"]
    try:
        recorded(DyingGit(git, calls))
    except KilledError:
        check(git, undone, expected, astray=astray)
        return True
    except WorkspaceError:
        assert astray
    return False


def check(git: Git, undone: str, expected: list[str], *, astray: bool) -> None:
    if astray:
        with pytest.raises(WorkspaceError, match="is kept as"):
            recorded(git)
        assert expected in [changes(git, NAMES.start(PATH), item) for item in kept(git)]
    else:
        head = recorded(git)
        assert git.line("rev-parse", BRANCH, NAMES.tip(PATH)) == f"{head}\n{head}"
        assert changes(git, NAMES.start(PATH)) == expected
    assert undone in kept(git)


# Whatever an agent does

names = st.sampled_from(["a", "b", "d/a", "d/b", "x.log", "d/y.log", "new\nline"])
operations = st.one_of(
    st.tuples(st.just("write"), names, st.text("xyz\n", max_size=3)),
    st.tuples(st.just("remove"), names),
    st.tuples(st.just("link"), names),
    st.tuples(st.just("run"), st.just("chmod"), st.just("+x"), names),
    st.tuples(st.just("git"), st.just("add"), names),
    st.tuples(st.just("git"), st.just("commit"), st.just("-qm"), st.just("an agent's")),
    st.tuples(st.just("git"), st.just("commit"), st.just("-qam"), st.just("an agent's")),
    st.tuples(st.just("git"), st.just("commit"), st.just("-q"), st.just("--amend"), st.just("--no-edit")),
    st.tuples(
        st.just("git"),
        st.just("reset"),
        st.just("-q"),
        st.sampled_from(["--hard", "--soft"]),
        st.just("HEAD~"),
    ),
    st.tuples(
        st.just("git"), st.just("reset"), st.just("-q"), st.just("--hard"), st.just("refs/weft/start/p/a.b")
    ),
    st.tuples(st.just("git"), st.just("switch"), st.just("-q"), st.just("--detach")),
    st.tuples(st.just("git"), st.just("switch"), st.just("-q"), st.just("-f"), st.just(SHOWN)),
    st.tuples(st.just("record")),
)


def perform(git: Git, operation: tuple[str, ...]) -> None:
    kind, *words = operation
    place = git.directory / words[-2 if kind == "write" else -1] if words else git.directory
    match kind:
        case "git":
            git.ask(*words)
        case "record":
            record_or_refuse(git)
        case "run":
            subprocess.run(words, cwd=git.directory, check=False, capture_output=True)
        case _:
            make_way(place)
            {"write": write_one, "link": link_one, "remove": lambda *_: None}[kind](place, words[-1])


def make_way(place: Path) -> None:
    place.parent.mkdir(exist_ok=True)
    place.unlink(missing_ok=True)


def write_one(place: Path, text: str) -> None:
    place.write_text(text)


def link_one(place: Path, text: str) -> None:
    place.symlink_to(text)


def record_or_refuse(git: Git) -> None:
    try:
        recorded(git)
    except WorkspaceError as error:
        if "checked out; it must have" not in str(error):
            raise


def heads_seen(git: Git) -> set[str]:
    log = (git_dir(git) / "logs" / "HEAD").read_text()
    return {line.split()[1] for line in log.splitlines()}


def reachable(git: Git) -> set[str]:
    return set(git.line("rev-list", BRANCH, "--glob=refs/weft/*").split())


def all_files(git: Git, commits: set[str]) -> set[str]:
    return {path for item in commits for path in git.fields("ls-tree", "-r", "-z", "--name-only", item)}


@settings(max_examples=25)
@given(st.lists(operations, max_size=12))
def test_whatever_was_committed_can_be_found_and_nothing_ignored_or_brought_is_in_it(
    performed: list[tuple[str, ...]],
) -> None:
    with quick_folder() as folder:
        git = worktree(folder)
        write(git.directory.parents[1], {".env": "secret", "lib/x": "large"})
        top = git.directory.parents[1]
        copy_in(top, git.directory, copy=(".env",), link=("lib",), top=top, worktree=git.directory)
        for operation in performed:
            perform(git, operation)
        record_or_refuse(git)
        assert heads_seen(git) <= reachable(git)
        ignored = {".env", "lib", "x.log", "d/y.log"}
        assert ignored.isdisjoint(all_files(git, reachable(git)))
