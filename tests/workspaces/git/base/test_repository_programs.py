"""Programs that a repository's own configuration names."""

import os
import subprocess
from pathlib import Path

import pytest

from weft.workspaces.git.base.program import Git
from weft.workspaces.git.base.repository_programs import overrides, variables

IDENTITY = {
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@b",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@b",
}
PROGRAMS = (
    *("filter.evil.clean", "filter.evil.smudge", "filter.evil.process"),
    *("diff.external", "diff.evil.command", "diff.evil.textconv", "merge.evil.driver"),
    *("core.fsmonitor", "core.pager", "core.editor", "core.sshCommand", "core.askPass", "core.gitProxy"),
    *("core.alternateRefsCommand", "sequence.editor", "pager.diff", "pager.log", "pager.status"),
    *("gpg.program", "gpg.ssh.program", "gpg.ssh.defaultKeyCommand", "credential.helper"),
    *("credential.https://example.org.helper", "interactive.diffFilter", "trailer.evil.command"),
    *("remote.origin.uploadpack", "remote.origin.receivepack", "uploadpack.packObjectsHook"),
)
LOOKS = (
    ("status", "--porcelain=v2"),
    ("diff", "--no-ext-diff", "HEAD~1"),
    ("diff", "--no-ext-diff", "--numstat"),
    ("log", "-p", "--no-ext-diff", "--format=%h %G?"),
    ("merge-tree", "--write-tree", "HEAD", "side"),
    ("add", "--all", "--dry-run"),
    ("cat-file", "--textconv", "HEAD:file"),
    ("cat-file", "--filters", "HEAD:file"),
    ("checkout-index", "--temp", "file"),
    ("hash-object", "file"),
    ("fetch", "origin"),
    ("ls-remote", "origin"),
    ("for-each-ref",),
    ("worktree", "list"),
    ("var", "GIT_EDITOR"),
)


class Hostile:
    """A repository whose configuration has every key that makes git run something."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "repository"
        self.mark = folder / "mark"
        self.environ = {**os.environ, **IDENTITY, "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"}
        self.root.mkdir()
        self.git("init", "--quiet", "--initial-branch=main")
        (self.root / ".gitattributes").write_text("* filter=evil diff=evil merge=evil\n")
        for branch, text in (("main", "one\n"), ("side", "two\n"), ("main", "three\n")):
            self.git("checkout", "--quiet", *(("-B",) if branch == "side" else ()), branch, may_fail=True)
            (self.root / "file").write_text(text)
            self.git("add", "--all")
            self.git("commit", "--quiet", "--message", text)
        self.git("clone", "--quiet", "--bare", ".", str(folder / "origin.git"))
        self.git("remote", "add", "origin", str(folder / "origin.git"))

    def poison(self, *, scope: str = "--local") -> None:
        script = self.mark.with_name("evil.sh")
        script.write_text(f'#!/bin/sh\necho "$0 $@" >> {self.mark}\ncat\n')
        script.chmod(0o755)
        for key in PROGRAMS:
            self.git("config", scope, key, str(script))
        self.git("config", scope, "filter.evil.required", "true")
        self.git("config", scope, "log.showSignature", "true")
        hooks = self.root / ".git" / "hooks"
        hooks.mkdir(exist_ok=True)
        for name in ("post-checkout", "pre-commit", "post-index-change", "reference-transaction"):
            (hooks / name).write_text(script.read_text())
            (hooks / name).chmod(0o755)
        # Its time differs and its size does not, so git has to read it to see whether it has changed.
        (self.root / "file").write_text("seven\n")
        os.utime(self.root / "file", (1, 1))

    def git(self, *command: str, may_fail: bool = False) -> str:
        done = subprocess.run(
            ["git", *command],
            cwd=self.root,
            env=self.environ,
            capture_output=True,
            text=True,
            check=not may_fail,
        )
        return done.stdout


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Hostile:
    repository = Hostile(tmp_path_factory.mktemp("hostile"))
    repository.poison()
    return repository


@pytest.mark.parametrize("command", LOOKS, ids=" ".join)
def test_git_that_looks_runs_nothing_that_the_repository_names(
    hostile: Hostile, command: tuple[str, ...]
) -> None:
    Git(hostile.root, environ=hostile.environ).ask(*command)
    assert not hostile.mark.exists(), hostile.mark.read_text()


def test_git_that_works_runs_the_filters(tmp_path: Path) -> None:
    """The same repository: so the marks above could have been left."""
    repository = Hostile(tmp_path)
    repository.poison()
    Git(repository.root, environ=repository.environ).working().ask("status")
    assert repository.mark.exists()


@pytest.mark.parametrize("how", ["worktree", "include"])
def test_other_files_of_the_repository_count_as_its_configuration(how: str, tmp_path: Path) -> None:
    repository = Hostile(tmp_path)
    if how == "worktree":
        repository.git("config", "extensions.worktreeConfig", "true")
        repository.poison(scope="--worktree")
    else:
        repository.poison()
        (repository.root / ".git/config").rename(repository.root / ".git/more")
        (repository.root / ".git/config").write_text(
            "[core]\n\trepositoryformatversion = 0\n[include]\n\tpath = more\n"
        )
    Git(repository.root, environ=repository.environ).ask("status")
    Git(repository.root, environ=repository.environ).ask("log", "-p", "--no-ext-diff")
    assert not repository.mark.exists()


def test_what_looks_sees_the_same_changes(hostile: Hostile) -> None:
    assert Git(hostile.root, environ=hostile.environ).line("status", "--porcelain", "--", "file") == " M file"


def test_what_the_user_has_set_counts(tmp_path: Path) -> None:
    repository = Hostile(tmp_path)
    own = tmp_path / "own"
    script = f'sh -c "echo mine >> {own}; cat"'
    repository.git("config", "--global", "filter.evil.clean", script)
    repository.poison()
    repository.git("config", "--unset", "filter.evil.process")
    Git(repository.root, environ=repository.environ).ask("status")
    assert own.exists()
    assert not repository.mark.exists()


def test_a_git_that_the_repository_brings_is_not_run(
    hostile: Hostile, monkeypatch: pytest.MonkeyPatch
) -> None:
    (hostile.root / "git").write_text(f"#!/bin/sh\necho git >> {hostile.mark}\n")
    (hostile.root / "git").chmod(0o755)
    monkeypatch.chdir(hostile.root)
    environ = {**hostile.environ, "PATH": f".::{hostile.environ['PATH']}"}
    assert Git(hostile.root, environ=environ).line("rev-parse", "--is-inside-work-tree") == "true"
    assert not hostile.mark.exists()


def test_only_keys_of_the_repository_are_replaced() -> None:
    listing = (
        b"global\0core.pager\nless\0local\0core.pager\nevil\0local\0user.name\nAda\0worktree\0pager.log\0"
    )
    assert overrides(listing) == {"core.pager": "less", "pager.log": "false"}
    assert overrides(b"") == {}


def test_a_name_may_hold_anything() -> None:
    listing = b"local\0filter.a=b\nc.clean\nevil\0"
    assert overrides(listing) == {}, "the name ends at the line"
    assert overrides(b"local\0filter.a=b.c.clean\nevil\0") == {"filter.a=b.c.clean": ""}


def test_settings_follow_those_of_the_environment() -> None:
    environ = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "a.b", "GIT_CONFIG_VALUE_0": "c"}
    assert variables({"d.e": "f"}, environ) == {
        "GIT_CONFIG_COUNT": "2",
        "GIT_CONFIG_KEY_1": "d.e",
        "GIT_CONFIG_VALUE_1": "f",
    }
    assert variables({}, {"GIT_CONFIG_COUNT": "x"}) == {"GIT_CONFIG_COUNT": "0"}
