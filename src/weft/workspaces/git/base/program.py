"""git as a program: each call is one process, and a failure raises an error with git's own message.

The environment is filtered: variables that would lead git to another repository are dropped, and prompts and
editors are off. The user's hooks do not run. Each process has a session of its own and outlives Weft, so that a
Ctrl-C meant for Weft does not leave half a checkout behind.

By default git only *looks*: it runs no program that the repository's own configuration names, and contacts no
remote. Only the work of a run (checkouts, commits, merges, pushes) needs the repository's filters, merge drivers
and helpers; `working` is for that.
"""

import os
import re
import signal
import subprocess
import tempfile
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from pathlib import Path

from msgspec import Struct

from weft.ports.workspaces import InfraError
from weft.workspaces.git.base.child_records import TIMED_OUT, ChildRecord, LeftoverLocks, can_lock, recorded
from weft.workspaces.git.base.environment import PAGER, clean, kept
from weft.workspaces.git.base.lock_files import lock_in_the_way
from weft.workspaces.git.base.repository_programs import LISTING, NO_TRANSPORT, variables, without_filters
from weft.workspaces.git.base.settings import GitSettings, settings_in
from weft.workspaces.git.base.worktree_links import git_dir_at, place_of, shared_git_dir

_CONFIG = {
    "core.hooksPath": os.devnull,
    # The value may be the path of a program, which `git status` would run.
    "core.fsmonitor": "false",
    # Otherwise names with bytes above 127 come as octal escapes in the few outputs that have no `-z`.
    "core.quotePath": "false",
    # commit_object decides about signatures, with a time limit.
    "commit.gpgSign": "false",
    # A background gc would outlive the command and lock `packed-refs` while Weft works.
    "gc.auto": "0",
    "maintenance.auto": "false",
    "submodule.recurse": "false",
    "advice.detachedHead": "false",
}
# The index goes to the clone as a copy of one file, so it may not be split. With the other two settings git
# trusts no directory times and compares all stat data of a file, which a step may have forged in part.
_APART = ("-c", "core.splitIndex=false", "-c", "core.untrackedCache=false", "-c", "core.checkStat=default")
PATIENCE = 300.0
"""The time limit in seconds for git on the files of a step with a clone.

git would wait forever for a named pipe.
"""
_TRIES = 3
"""How often a command is repeated after a blocking lock was removed."""
_EMPTY = re.compile(r"object file \S+ is empty")
_PIECE = 1024 * 1024
_OPTIONS = tuple(part for name, value in _CONFIG.items() for part in ("-c", f"{name}={value}"))


def killed(exit_code: int) -> str:
    """Returns a text such as `was killed by signal 9`; empty for a process that ended by itself."""
    return f"was killed by signal {-exit_code}" if exit_code < 0 else ""


def _advice(message: str) -> str:
    """Returns the advice for an empty object, as after a power loss: git never writes such an object again."""
    return "; type: weft doctor --fix" if _EMPTY.search(message) else ""


class GitError(InfraError):
    """A git command failed."""

    def __init__(self, command: Sequence[str], exit_code: int, message: str) -> None:
        ended = killed(exit_code) or f"failed: {message or f'exit code {exit_code}'}{_advice(message)}"
        super().__init__(f"`git {' '.join(command)}` {ended}")
        self.command = tuple(command)
        self.exit_code = exit_code
        self.message = message


class GitOutput(Struct, frozen=True):
    """The result of a git process."""

    exit_code: int
    out: bytes
    message: str
    """Standard error, or that git was killed."""

    @property
    def text(self) -> str:
        return os.fsdecode(self.out).strip("\n")


def _answer(exit_code: int, out: bytes, err: bytes) -> GitOutput:
    """Returns the output. A killed git has often written no message, so one is made up."""
    message = err.decode(errors="replace").strip()
    return GitOutput(exit_code, out, message or (f"git {killed(exit_code)}" if killed(exit_code) else ""))


class Git:
    """git in one directory.

    In a workspace with a clone, variables name the git directory, because a step may have changed the `.git` file
    that leads there. No filter runs on its files. git has a time limit, because the files may be of
    any kind.
    """

    def __init__(
        self,
        directory: Path,
        *,
        environ: Mapping[str, str] = os.environ,
        signs: bool = False,
        works: bool = False,
        patience: float = PATIENCE,
    ) -> None:
        """`signs`: commits are signed; `works`: see `working`; `patience`: the time limit with a clone."""
        self.directory = directory
        self.signs = signs
        self.patience = patience
        self.root: Git = self
        """git in the checkout that this one was derived from, whose settings are read once."""
        self._works = works
        self._twin: Git | None = None
        self._base_environ = clean(environ)
        self._clone_git_dir = place_of(directory)
        if self._clone_git_dir is not None:
            self._base_environ |= {"GIT_DIR": str(self._clone_git_dir), "GIT_WORK_TREE": str(directory)}

    def at(self, directory: Path) -> "Git":
        """Returns git with the same settings in another directory."""
        git = self._like(directory, signs=self.signs, works=self._works)
        git.root = self.root
        return git

    def at_top(self, directory: Path, *, signs: bool) -> "Git":
        """Returns git at the top of the same checkout, with or without signed commits."""
        git = self._like(directory, signs=signs, works=self._works)
        # The configuration of a checkout is the same in all of its directories.
        git.settings = self.settings
        return git

    def working(self) -> "Git":
        """Returns git with the filters, merge drivers, helpers and remotes that the repository configures."""
        return self if self._works else self._at_work

    @cached_property
    def _at_work(self) -> "Git":
        git = self._like(self.directory, signs=self.signs, works=True)
        git._twin = self  # noqa: SLF001 - the same class
        return git

    def _like(self, directory: Path, *, signs: bool, works: bool) -> "Git":
        return Git(directory, environ=self._base_environ, signs=signs, works=works, patience=self.patience)

    @cached_property
    def settings(self) -> GitSettings:
        """Git's configuration in this directory, as it was when it was first asked for."""
        if self._twin is not None:
            return self._twin.settings
        return settings_in(self.directory, self._base_environ)

    @property
    def replaced(self) -> Mapping[str, str]:
        """The repository's settings that are overridden here, with the values that replace them."""
        return {} if self._works else self.settings.replaced

    @cached_property
    def _environ(self) -> dict[str, str]:
        if self._works:
            return self._base_environ
        return {**self._base_environ, **NO_TRANSPORT, **variables(self.replaced, self._base_environ)}

    @cached_property
    def _options(self) -> tuple[str, ...]:
        if self._clone_git_dir is None:
            return _OPTIONS
        return (*_OPTIONS, *_APART, *without_filters(self.directory, self._base_environ))

    @cached_property
    def common(self) -> Path:
        """The git directory that all checkouts of the repository share."""
        git_dir = shared_git_dir(self.directory)
        return git_dir or Path(self.line("rev-parse", "--path-format=absolute", "--git-common-dir"))

    def ask(
        self, *command: str, stdin: bytes | None = None, env: Mapping[str, str] | None = None
    ) -> GitOutput:
        """Returns git's output, whatever its exit code. Raises `OSError` without git or the directory."""
        answer = self._ask(command, stdin or b"", env)
        for _ in range(_TRIES):
            lock = lock_in_the_way(answer.message) if answer.exit_code else None
            if lock is None or not self._remove_lock(lock):
                break
            answer = self._ask(command, stdin or b"", env)
        return answer

    def _ask(self, command: Sequence[str], stdin: bytes, env: Mapping[str, str] | None) -> GitOutput:
        if self._clone_git_dir is not None:
            return self.ask_within(self.patience, *command, stdin=stdin, env=env)
        with self._record_child(command) as record:
            completed = subprocess.run(  # noqa: S603 - an argv of our own
                ("git", *self._options, *command),  # noqa: S607 - the git that the user has
                cwd=self.directory,
                env=self._environ if env is None else {**self._environ, **env},
                input=stdin,
                capture_output=True,
                check=False,
                # A Ctrl-C goes to the foreground process group only, so git finishes its checkout while Weft
                # shuts down. The inherited descriptor keeps the record locked as long as this git or a child of
                # it is alive.
                start_new_session=True,
                pass_fds=record.descriptors,
            )
            record.judge(completed.returncode)
        return _answer(completed.returncode, completed.stdout, completed.stderr)

    def _record_child(self, command: Sequence[str]) -> AbstractContextManager[ChildRecord]:
        """Returns the record of a git that can take locks. If git is killed, its locks can be recognised."""
        if not can_lock(command) or self._shared is None:
            return nullcontext(ChildRecord())
        return recorded(self._shared, git_dir_at(self.directory) or self._shared, command)

    def _remove_lock(self, lock: str) -> bool:
        """Returns whether the lock is gone; removes it first if a killed git of Weft left it."""
        if self._shared is not None:
            LeftoverLocks(self._shared).remove()
        return not os.path.lexists(self.directory / lock)

    @property
    def _shared(self) -> Path | None:
        """Like `common`; None if there is no repository yet."""
        if self._clone_git_dir is not None:
            return self._clone_git_dir.parent.parent
        try:
            return self.common
        except (GitError, OSError):
            return None

    def ask_within(
        self,
        seconds: float,
        *command: str,
        stdin: bytes,
        env: Mapping[str, str] | None = None,
        started: Callable[[int], None] = lambda _pid: None,
    ) -> GitOutput:
        """Like `ask`, with a time limit after which git is killed together with its child processes.

        `started` is called with the id of its process group, which the caller may kill earlier.
        """
        # Otherwise the cached property would list the settings outside the time limit.
        if not self._works and "settings" not in vars(self):
            listed = _run_within(seconds, LISTING, self.directory, self._base_environ)
            if listed.exit_code == TIMED_OUT:
                return listed
            self.settings = GitSettings(listed.out)
        environ = self._environ if env is None else {**self._environ, **env}
        arguments = (*self._options, *command)
        with self._record_child(command) as record:
            answer = _run_within(
                seconds,
                arguments,
                self.directory,
                environ,
                stdin=stdin,
                started=started,
                inherits=record.descriptors,
            )
            record.judge(answer.exit_code)
        return answer

    @property
    def is_of_clone(self) -> bool:
        """Whether this is a workspace with a clone, in which git runs with a time limit."""
        return self._clone_git_dir is not None

    def variable(self, name: str) -> str | None:
        """Returns a variable of git's environment."""
        return self._base_environ.get(name)

    def has_variable(self, *names: str) -> bool:
        """Returns whether git's environment has one of these variables."""
        return any(name in self._environ for name in names)

    def do(self, *command: str, stdin: bytes | None = None, env: Mapping[str, str] | None = None) -> bytes:
        """Returns git's output. Raises `GitError` if git fails."""
        answer = self.ask(*command, stdin=stdin, env=env)
        if answer.exit_code:
            raise GitError(command, answer.exit_code, answer.message)
        return answer.out

    def pieces(self, *command: str) -> Generator[bytes]:
        """Yields git's output piece by piece. Raises `GitError` at the end if git fails.

        Closing the generator ends git, too.
        """
        with (
            tempfile.TemporaryFile() as stderr_file,
            subprocess.Popen(  # noqa: S603 - an argv of our own
                ("git", *self._options, *command),  # noqa: S607 - the git that the user has
                cwd=self.directory,
                env=self._environ,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                # A pipe could fill up and block git while only stdout is read.
                stderr=stderr_file,
                start_new_session=True,
            ) as process,
        ):
            assert process.stdout is not None  # because of PIPE
            try:
                while piece := process.stdout.read(_PIECE):
                    yield piece
            except BaseException:
                process.kill()
                raise
            if exit_code := process.wait():
                stderr_file.seek(0)
                raise GitError(command, exit_code, stderr_file.read().decode(errors="replace").strip())

    def line(self, *command: str, env: Mapping[str, str] | None = None) -> str:
        """Returns the single line that git writes."""
        return os.fsdecode(self.do(*command, env=env)).strip("\n")

    def fields(self, *command: str) -> list[str]:
        """Returns git's output as a list, split at zero bytes as with `-z`."""
        return [os.fsdecode(part) for part in self.do(*command).split(b"\0") if part]

    def says_yes(self, *command: str) -> bool:
        """Returns the answer of a command that exits with 0 or 1. Raises `GitError` for other exit codes."""
        answer = self.ask(*command)
        if answer.exit_code not in {0, 1}:
            raise GitError(command, answer.exit_code, answer.message)
        return answer.exit_code == 0


def _run_within(  # noqa: PLR0913 - everything that defines a process
    seconds: float,
    command: Sequence[str],
    directory: Path,
    environ: Mapping[str, str],
    *,
    stdin: bytes = b"",
    started: Callable[[int], None] = lambda _pid: None,
    inherits: Sequence[int] = (),
) -> GitOutput:
    """Runs git with a time limit.

    Its output goes to files, because a pipe would stay open until every process that git has started closes it.
    """
    with (
        tempfile.TemporaryFile() as source,
        tempfile.TemporaryFile() as out,
        tempfile.TemporaryFile() as err,
    ):
        source.write(stdin)
        source.seek(0)
        process = subprocess.Popen(  # noqa: S603 - an argv of our own
            ("git", *command),  # noqa: S607 - the git that the user has
            cwd=directory,
            env=dict(environ),
            stdin=source,
            stdout=out,
            stderr=err,
            start_new_session=True,
            pass_fds=inherits,
        )
        started(process.pid)
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            # The process is the leader of its own session, so its id is that of the group with all its child
            # processes.
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return GitOutput(TIMED_OUT, b"", f"it took longer than {seconds:g} s, and was ended")
        out.seek(0)
        err.seek(0)
        return _answer(process.returncode, out.read(), err.read())


def show(git: Git, *command: str, environ: Mapping[str, str], env: Mapping[str, str]) -> int:
    """Runs git on Weft's own terminal, with the user's language, colours and pager; returns its exit code."""
    overriding = {PAGER: environ[PAGER]} if PAGER in environ else {}
    place = place_of(git.directory)
    options = _OPTIONS
    if place is not None:
        overriding |= {"GIT_DIR": str(place), "GIT_WORK_TREE": str(git.directory)}
        options += without_filters(git.directory, {**clean(environ), **overriding})
    overriding |= {**NO_TRANSPORT, **variables(git.replaced, environ)}
    completed = subprocess.run(  # noqa: S603 - an argv of our own
        ("git", *options, *command),  # noqa: S607 - the git that the user has
        cwd=git.directory,
        env={**kept(environ), **overriding, "GIT_OPTIONAL_LOCKS": "0", **env},
        check=False,
    )
    return completed.returncode
