"""git as a program: what surrounds us does not leak in, and a failure says why."""

import os
from pathlib import Path

import pytest

from weft.workspaces.git.base.program import Git, GitError
from workspaces.git.repositories import commit, empty_repository, repository, surroundings

EMPTY_BLOB = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"


@pytest.mark.parametrize(
    "name",
    [
        "GIT_DIR",
        "GIT_WORK_TREE",
        "GIT_INDEX_FILE",
        "GIT_OBJECT_DIRECTORY",
        "GIT_COMMON_DIR",
        "GIT_NAMESPACE",
        "GIT_CONFIG",
        "GIT_CONFIG_PARAMETERS",
        "GIT_PREFIX",
    ],
)
def test_a_variable_that_leads_elsewhere_has_no_effect(tmp_path: Path, name: str) -> None:
    head = commit(repository(tmp_path / "r"), {"a": "1\n"})
    git = Git(tmp_path / "r", environ=surroundings(tmp_path) | {name: str(tmp_path / "elsewhere")})
    assert git.line("rev-parse", "--verify", "HEAD") == head
    assert git.line("status", "--porcelain") == ""
    assert git.line("for-each-ref", "--format=%(refname)") == "refs/heads/main"
    assert git.line("rev-parse", "--show-toplevel") == str(tmp_path / "r")


def test_configuration_that_the_user_has_in_the_environment_counts(tmp_path: Path) -> None:
    variables = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "user.name", "GIT_CONFIG_VALUE_0": "Grace"}
    empty_repository(tmp_path / "r")
    assert (
        Git(tmp_path / "r", environ=surroundings(tmp_path) | variables).line("config", "user.name") == "Grace"
    )


def test_a_caller_can_add_variables(tmp_path: Path) -> None:
    git = repository(tmp_path / "r")
    assert git.line("var", "GIT_EDITOR", env={"GIT_EDITOR": "ed"}) == "ed"
    assert git.line("var", "GIT_EDITOR") == "false"


@pytest.mark.parametrize("place", [".git/hooks", "our-hooks"])
def test_hooks_do_not_run(tmp_path: Path, place: str) -> None:
    git = repository(tmp_path / "r")
    git.do("config", "core.hooksPath", str(tmp_path / "r" / place))
    for name in ("pre-commit", "post-commit", "post-checkout", "reference-transaction"):
        hook = tmp_path / "r" / place / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/hooked\nexit 1\n")
        hook.chmod(0o755)
    git.do("commit", "--quiet", "--allow-empty", "--message", "more")
    git.do("switch", "--quiet", "--create", "other")
    assert not (tmp_path / "hooked").exists()


def test_hooks_do_not_run_either_if_the_environment_names_them(tmp_path: Path) -> None:
    repository(tmp_path / "r")
    hook = tmp_path / "hooks" / "pre-commit"
    hook.parent.mkdir()
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    variables = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.hooksPath"}
    variables["GIT_CONFIG_VALUE_0"] = str(hook.parent)
    git = Git(tmp_path / "r", environ=surroundings(tmp_path) | variables)
    git.do("commit", "--quiet", "--allow-empty", "--message", "more")
    assert git.line("log", "-1", "--format=%s") == "more"


def test_a_watcher_of_files_is_not_asked(tmp_path: Path) -> None:
    git = repository(tmp_path / "r")
    git.do("config", "core.fsmonitor", f"touch {tmp_path}/asked; false")
    git.do("status")
    assert not (tmp_path / "asked").exists()


def test_nothing_is_signed(tmp_path: Path) -> None:
    git = repository(tmp_path / "r")
    git.do("config", "commit.gpgSign", "true")
    git.do("config", "gpg.program", "false")
    git.do("commit", "--quiet", "--allow-empty", "--message", "more")
    assert "gpgsig" not in git.line("cat-file", "commit", "HEAD")


def test_no_editor_waits_for_a_person(tmp_path: Path) -> None:
    git = repository(tmp_path / "r")
    git.do("config", "core.editor", f"touch {tmp_path}/edited; true")
    with pytest.raises(GitError, match="There was a problem with the editor 'false'"):
        git.do("commit", "--allow-empty")
    assert not (tmp_path / "edited").exists()


def test_git_has_a_session_of_its_own_so_an_interrupt_from_the_keyboard_does_not_reach_it(
    tmp_path: Path,
) -> None:
    git = Git(tmp_path, environ=surroundings(tmp_path))
    stat = git.line("-c", "alias.where=!cat /proc/self/stat", "where")
    group, session = stat.rpartition(")")[2].split()[2:4]
    assert int(session) not in {os.getsid(0), 0}
    assert group == session


def test_a_failure_has_the_command_and_the_words_of_git(tmp_path: Path) -> None:
    with pytest.raises(GitError) as caught:
        repository(tmp_path / "r").do("switch", "nowhere")
    assert str(caught.value) == "`git switch nowhere` failed: fatal: invalid reference: nowhere"
    assert caught.value.command == ("switch", "nowhere")
    assert caught.value.exit_code == 128
    assert caught.value.message == "fatal: invalid reference: nowhere"


def test_a_failure_without_words_has_the_exit_code(tmp_path: Path) -> None:
    with pytest.raises(GitError, match=r"failed: exit code 1$"):
        repository(tmp_path / "r").do("config", "--get", "no.such")


def test_git_speaks_english_whatever_the_language_of_the_user(tmp_path: Path) -> None:
    git = Git(tmp_path, environ=surroundings(tmp_path) | {"LC_ALL": "de_DE.UTF-8"})
    assert git.line("-c", "alias.speaks=!echo $LC_ALL", "speaks") == "C"


def test_traces_of_git_are_not_mixed_with_its_output(tmp_path: Path) -> None:
    git = Git(tmp_path, environ=surroundings(tmp_path) | {"GIT_TRACE": "1", "GIT_TRACE2": "1"})
    assert git.ask("version").message == ""


def test_an_answer_is_whatever_came_of_it(tmp_path: Path) -> None:
    answer = repository(tmp_path / "r").ask("rev-parse", "--verify", "HEAD", "nowhere")
    assert answer.exit_code == 128
    assert answer.out == b""
    assert answer.text == ""


def test_standard_input_is_what_is_given_else_empty(tmp_path: Path) -> None:
    git = repository(tmp_path / "r")
    assert git.line("hash-object", "--stdin") == EMPTY_BLOB
    written = git.do("hash-object", "-w", "--stdin", stdin=b"text\n").decode().strip()
    assert git.do("cat-file", "blob", written) == b"text\n"


def test_fields_are_names_of_any_bytes(tmp_path: Path) -> None:
    names = ["a b", "line\nbreak", "ümlaut", os.fsdecode(b"\xff\xfe")]
    git = repository(tmp_path / "r", dict.fromkeys(names, "x\n"))
    assert sorted(git.fields("ls-files", "-z")) == sorted(names)


def test_a_question_is_answered_yes_or_no_and_a_failure_is_neither(tmp_path: Path) -> None:
    git = repository(tmp_path / "r")
    assert git.says_yes("show-ref", "--verify", "--quiet", "refs/heads/main")
    assert not git.says_yes("show-ref", "--verify", "--quiet", "refs/heads/other")
    with pytest.raises(GitError, match="not a git repository"):
        git.at(tmp_path).says_yes("show-ref", "--verify", "--quiet", "refs/heads/main")


def test_elsewhere_it_has_the_same_environment(tmp_path: Path) -> None:
    repository(tmp_path / "r")
    variables = {"GIT_AUTHOR_NAME": "Grace", "GIT_AUTHOR_EMAIL": "grace@example.org"}
    variables["GIT_DIR"] = str(tmp_path / "nowhere")
    git = Git(tmp_path, environ=surroundings(tmp_path) | variables).at(tmp_path / "r")
    assert git.directory == tmp_path / "r"
    assert git.line("var", "GIT_AUTHOR_IDENT").startswith("Grace <grace@example.org>")


def test_without_git_it_is_an_error_of_the_operating_system(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        Git(tmp_path, environ={"PATH": str(tmp_path)}).ask("version")
    assert caught.value.filename == "git"


def test_what_is_written_can_be_read_as_it_comes(tmp_path: Path) -> None:
    git = repository(tmp_path / "r", {"large": "x" * 3_000_000})
    assert [len(piece) for piece in git.pieces("show", "HEAD:large")] == [
        1 << 20,
        1 << 20,
        3_000_000 - (2 << 20),
    ]


def test_who_has_read_enough_ends_git(tmp_path: Path) -> None:
    """Else it would wait for ever to write the rest."""
    git = repository(tmp_path / "r", {"large": "x" * 3_000_000})
    pieces = git.pieces("show", "HEAD:large")
    next(pieces)
    pieces.close()
    assert list(pieces) == []


def test_a_failure_while_reading_has_the_words_of_git(tmp_path: Path) -> None:
    with pytest.raises(GitError, match="invalid object name 'nothing'") as error:
        list(repository(tmp_path / "r").pieces("show", "nothing:x"))
    assert error.value.exit_code == 128


def killed_git(tmp_path: Path) -> Git:
    """A git that is killed before it says anything."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "git").write_text("#!/bin/sh\nkill -9 $$\n")
    (tmp_path / "bin" / "git").chmod(0o755)
    environ = surroundings(tmp_path)
    return Git(tmp_path, environ=environ | {"PATH": f"{tmp_path / 'bin'}:{environ['PATH']}"})


def test_a_git_that_was_killed_says_by_which_signal(tmp_path: Path) -> None:
    git = killed_git(tmp_path)
    with pytest.raises(GitError, match=r"^`git status --short` was killed by signal 9$"):
        git.do("status", "--short")
    with pytest.raises(GitError, match=r"^`git log` was killed by signal 9$"):
        list(git.pieces("log"))
    assert git.ask("status").message == "git was killed by signal 9"
    assert git.ask_within(60.0, "status", stdin=b"").message == "git was killed by signal 9"
