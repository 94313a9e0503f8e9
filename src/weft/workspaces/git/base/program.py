"""git, as the program that it is: one call is one process, and a failure is an error with git's own words.

Nothing that surrounds us leaks in: variables that would lead git to another repository are left out, and what
would wait for a person or open an editor is off. The user's hooks do not run. A call outlives us:
it has a session of its own, so a Ctrl-C that is meant for Weft does not leave half a checkout behind.

Git *looks*, unless it is asked to work: then it runs no program that the repository's own configuration names, and
reaches no remote. Only the work of a run (checkouts, commits, merges, pushes) needs the repository's filters,
merge drivers and helpers; `working` is for that.
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
from weft.workspaces.git.base.children import TIMED_OUT, Leavings, Record, can_lock, recorded
from weft.workspaces.git.base.environment import PAGER, clean, kept
from weft.workspaces.git.base.lock_files import lock_in_the_way
from weft.workspaces.git.base.repository_programs import LISTING, NO_TRANSPORT, overrides, variables
from weft.workspaces.git.base.worktree_links import git_dir_at, place_of, shared_git_dir

_CONFIG = {
    "core.hooksPath": os.devnull,
    "core.fsmonitor": "false",
    "core.quotePath": "false",
    "commit.gpgSign": "false",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "submodule.recurse": "false",
    "advice.detachedHead": "false",
}
_APART = ("-c", "core.splitIndex=false", "-c", "core.untrackedCache=false", "-c", "core.checkStat=default")
PATIENCE = 300.0
"""So many seconds git may take for the files of a step that has a clone. It waits for ever for a pipe."""
_TRIES = 3
"""So often a command is repeated after a lock was freed that was in its way."""
_EMPTY = re.compile(r"object file \S+ is empty")
_PIECE = 1024 * 1024
_OPTIONS = tuple(part for name, value in _CONFIG.items() for part in ("-c", f"{name}={value}"))


def killed(exit_code: int) -> str:
    """As `was killed by signal 9`; empty for a process that ended by itself."""
    return f"was killed by signal {-exit_code}" if exit_code < 0 else ""


def _advice(message: str) -> str:
    """What to type if an object is empty, as after a power loss: git never writes such an object again."""
    return "; type: weft doctor --fix" if _EMPTY.search(message) else ""


class GitError(InfraError):
    """git could not do what it was asked for."""

    def __init__(self, command: Sequence[str], exit_code: int, said: str) -> None:
        ended = killed(exit_code) or f"failed: {said or f'exit code {exit_code}'}{_advice(said)}"
        super().__init__(f"`git {' '.join(command)}` {ended}")
        self.command = tuple(command)
        self.exit_code = exit_code
        self.said = said


class GitOutput(Struct, frozen=True):
    exit_code: int
    out: bytes
    said: str
    """What git wrote to standard error."""

    @property
    def text(self) -> str:
        return os.fsdecode(self.out).strip("\n")


def _answer(exit_code: int, out: bytes, err: bytes) -> GitOutput:
    """A git that was killed has often said nothing; then the answer says that much."""
    message = err.decode(errors="replace").strip()
    return GitOutput(exit_code, out, message or (f"git {killed(exit_code)}" if killed(exit_code) else ""))


class Git:
    """git in one directory.

    In a workspace whose steps have a clone, variables say where the git directory is, for a step may have changed
    the file that leads there; no filter is run on its files; and as they may be anything, git has a time limit.
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
        """`signs`: whether commits that are made here are signed; `works`: see above.

        `patience`: the time limit with a clone.
        """
        self.directory = directory
        self.signs = signs
        self.patience = patience
        self._works = works
        self._given = clean(environ)
        self._place = place_of(directory)
        if self._place is not None:
            self._given |= {"GIT_DIR": str(self._place), "GIT_WORK_TREE": str(directory)}

    def at(self, directory: Path) -> "Git":
        """The same, elsewhere."""
        return self._like(directory, signs=self.signs, works=self._works)

    def signing(self, *, signs: bool) -> "Git":
        """The same, with signed commits or without."""
        return self._like(self.directory, signs=signs, works=self._works)

    def working(self) -> "Git":
        """The same, with the filters, merge drivers and helpers that the repository names, and its remotes."""
        return self if self._works else self._at_work

    @cached_property
    def _at_work(self) -> "Git":
        return self._like(self.directory, signs=self.signs, works=True)

    def _like(self, directory: Path, *, signs: bool, works: bool) -> "Git":
        return Git(directory, environ=self._given, signs=signs, works=works, patience=self.patience)

    @cached_property
    def replaced(self) -> Mapping[str, str]:
        """The settings of the repository that do not count here, with those that do in their place."""
        return {} if self._works else overridden(self.directory, self._given)

    @cached_property
    def _environ(self) -> dict[str, str]:
        if self._works:
            return self._given
        return {**self._given, **NO_TRANSPORT, **variables(self.replaced, self._given)}

    @cached_property
    def _options(self) -> tuple[str, ...]:
        if self._place is None:
            return _OPTIONS
        return (*_OPTIONS, *_APART, *_without_filters(self.directory, self._given))

    @cached_property
    def common(self) -> Path:
        """The directory that all checkouts of the repository share."""
        git_dir = shared_git_dir(self.directory)
        return git_dir or Path(self.line("rev-parse", "--path-format=absolute", "--git-common-dir"))

    def ask(
        self, *command: str, stdin: bytes | None = None, env: Mapping[str, str] | None = None
    ) -> GitOutput:
        """Whatever comes of it; raises `OSError` if there is no git, or no such directory."""
        answer = self._ask(command, stdin or b"", env)
        for _ in range(_TRIES):
            lock = lock_in_the_way(answer.said) if answer.exit_code else None
            if lock is None or not self._frees(lock):
                break
            answer = self._ask(command, stdin or b"", env)
        return answer

    def _ask(self, command: Sequence[str], stdin: bytes, env: Mapping[str, str] | None) -> GitOutput:
        if self._place is not None:
            return self.ask_within(self.patience, *command, stdin=stdin, env=env)
        with self._recorded(command) as record:
            done = subprocess.run(  # noqa: S603 - an argv of our own
                ("git", *self._options, *command),  # noqa: S607 - the git that the user has
                cwd=self.directory,
                env=self._environ if env is None else {**self._environ, **env},
                input=stdin,
                capture_output=True,
                check=False,
                start_new_session=True,
                pass_fds=record.descriptors,
            )
            record.judge(done.returncode)
        return _answer(done.returncode, done.stdout, done.stderr)

    def _recorded(self, command: Sequence[str]) -> AbstractContextManager[Record]:
        """For a git that can take locks: if it is killed, they are known to be its own."""
        if not can_lock(command) or self._shared is None:
            return nullcontext(Record())
        return recorded(self._shared, git_dir_at(self.directory) or self._shared, command)

    def _frees(self, lock: str) -> bool:
        """Whether a lock is gone, or was left by a git of ours and is removed now."""
        if self._shared is not None:
            Leavings(self._shared).remove()
        return not os.path.lexists(self.directory / lock)

    @property
    def _shared(self) -> Path | None:
        """As `common`; None if there is no repository yet."""
        if self._place is not None:
            return self._place.parent.parent
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
        """As `ask`, with a time limit: then git is killed with all that it has started.

        `started` hears the id of its process group, which may be killed before.
        """
        if not self._works and "replaced" not in vars(self):
            listed = _run_within(seconds, LISTING, self.directory, self._given)
            if listed.exit_code == TIMED_OUT:
                return listed
            self.replaced = overrides(listed.out)
        environ = self._environ if env is None else {**self._environ, **env}
        whole = (*self._options, *command)
        with self._recorded(command) as record:
            answer = _run_within(
                seconds,
                whole,
                self.directory,
                environ,
                stdin=stdin,
                started=started,
                inherits=record.descriptors,
            )
            record.judge(answer.exit_code)
        return answer

    def has_variable(self, *names: str) -> bool:
        """Whether one of these is set in the environment of git."""
        return any(name in self._environ for name in names)

    def do(self, *command: str, stdin: bytes | None = None, env: Mapping[str, str] | None = None) -> bytes:
        """What it writes; raises `GitError` if it fails."""
        answer = self.ask(*command, stdin=stdin, env=env)
        if answer.exit_code:
            raise GitError(command, answer.exit_code, answer.said)
        return answer.out

    def pieces(self, *command: str) -> Generator[bytes]:
        """What it writes, however much, as it comes; raises `GitError` in the end if it fails.

        Who has enough closes the generator, and that ends git, too.
        """
        with (
            tempfile.TemporaryFile() as told,
            subprocess.Popen(  # noqa: S603 - an argv of our own
                ("git", *self._options, *command),  # noqa: S607 - the git that the user has
                cwd=self.directory,
                env=self._environ,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=told,
                start_new_session=True,
            ) as process,
        ):
            assert process.stdout is not None  # it was asked for
            try:
                while piece := process.stdout.read(_PIECE):
                    yield piece
            except BaseException:
                process.kill()
                raise
            if exit_code := process.wait():
                told.seek(0)
                raise GitError(command, exit_code, told.read().decode(errors="replace").strip())

    def line(self, *command: str, env: Mapping[str, str] | None = None) -> str:
        """The one line that it writes."""
        return os.fsdecode(self.do(*command, env=env)).strip("\n")

    def fields(self, *command: str) -> list[str]:
        """What it writes with zeros between, as with `-z`."""
        return [os.fsdecode(part) for part in self.do(*command).split(b"\0") if part]

    def says_yes(self, *command: str) -> bool:
        """Of a question that git answers by exit code 0 or 1; anything else is an error."""
        answer = self.ask(*command)
        if answer.exit_code not in {0, 1}:
            raise GitError(command, answer.exit_code, answer.said)
        return answer.exit_code == 0


def _run_within(  # noqa: PLR0913 - all that makes a process
    seconds: float,
    command: Sequence[str],
    directory: Path,
    environ: Mapping[str, str],
    *,
    stdin: bytes = b"",
    started: Callable[[int], None] = lambda _pid: None,
    inherits: Sequence[int] = (),
) -> GitOutput:
    """Its output goes to files. A pipe would stay open as long as a process that git has started has it."""
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
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return GitOutput(TIMED_OUT, b"", f"it took longer than {seconds:g} s, and was ended")
        out.seek(0)
        err.seek(0)
        return _answer(process.returncode, out.read(), err.read())


def overridden(directory: Path, environ: Mapping[str, str]) -> dict[str, str]:
    """The settings of a repository that have git run something, with values in their place; none without git."""
    try:
        listed = subprocess.run(  # noqa: S603 - an argv of our own
            ("git", *LISTING),  # noqa: S607 - the git that the user has
            cwd=directory,
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            start_new_session=True,
        )
    except OSError:  # there is no git, or no such directory; what is asked next says so
        return {}
    return overrides(listed.stdout)


def show(git: Git, *command: str, environ: Mapping[str, str], env: Mapping[str, str]) -> int:
    """Git writes to our own terminal, in the language, the colours and the pager of the user; its exit code."""
    mine = {PAGER: environ[PAGER]} if PAGER in environ else {}
    place = place_of(git.directory)
    options = _OPTIONS
    if place is not None:
        mine |= {"GIT_DIR": str(place), "GIT_WORK_TREE": str(git.directory)}
        options += _without_filters(git.directory, {**clean(environ), **mine})
    mine |= {**NO_TRANSPORT, **variables(git.replaced, environ)}
    done = subprocess.run(  # noqa: S603 - an argv of our own
        ("git", *options, *command),  # noqa: S607 - the git that the user has
        cwd=git.directory,
        env={**kept(environ), **mine, "GIT_OPTIONAL_LOCKS": "0", **env},
        check=False,
    )
    return done.returncode


_FILTERS: dict[tuple[str, ...], tuple[str, ...]] = {}


def _without_filters(directory: Path, environ: Mapping[str, str]) -> tuple[str, ...]:
    """Options that turn off the filters that the user has: with which files they are run, a step could choose."""
    kept = ("HOME", "XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM")
    key = (environ["GIT_DIR"], *(environ.get(name, "") for name in kept))
    if key not in _FILTERS:
        done = subprocess.run(
            ("git", "config", "--name-only", "-z", "--get-regexp", r"^filter\."),  # noqa: S607 - the user's
            cwd=directory,
            env={**environ},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
        names = {os.fsdecode(name).rpartition(".")[0] for name in done.stdout.split(b"\0") if name}
        off = ("clean=", "smudge=", "process=", "required=false")
        _FILTERS[key] = tuple(
            part for name in sorted(names) for way in off for part in ("-c", f"{name}.{way}")
        )
    return _FILTERS[key]
