"""Starting a process in a session of its own, without anything inherited from the supervisor.

`posix_spawn` copies no memory and runs no Python code in the new process. It cannot change the directory, so the
supervisor changes its own for a moment; it has no other threads.
"""

import os
import signal

from .streams import words

_SET_DUMPABLE, _SET_NAME, _SET_CHILD_SUBREAPER = 4, 15, 36
"""Options of prctl(2)."""
_SIGNALS = [number for number in signal.valid_signals() if number not in {signal.SIGKILL, signal.SIGSTOP}]


class NotStartedError(Exception):
    """A process could not be started; the message says why."""


def spawn(argv: list[str], cwd: str, env: dict[str, str], descriptors: list[int | None]) -> int:
    """Returns the pid. The descriptors become standard input, output and error; None is an empty file."""
    if not argv:
        raise NotStartedError("there is no program to run")
    try:
        os.chdir(cwd)
    except (OSError, ValueError) as error:
        raise NotStartedError(f"cannot enter the directory {cwd}: {_describe(error)}") from None
    try:
        return _spawn(argv, env, descriptors)
    except (OSError, ValueError) as error:
        raise NotStartedError(_why_not(argv[0], error)) from None
    finally:
        os.chdir("/")  # not to keep the job's directory busy


def _spawn(argv: list[str], env: dict[str, str], descriptors: list[int | None]) -> int:
    return os.posix_spawn(
        _program(argv[0], env),
        argv,
        env,
        file_actions=[_file_action(descriptor, number) for number, descriptor in enumerate(descriptors)],
        setsid=True,
        # The supervisor ignores SIGINT and SIGHUP, and an ignored signal stays ignored through exec; a step
        # must get the defaults back.
        setsigmask=[],
        setsigdef=_SIGNALS,
    )


def _file_action(descriptor: int | None, number: int) -> tuple[object, ...]:
    if descriptor is None:
        return (os.POSIX_SPAWN_OPEN, number, "/dev/null", os.O_RDONLY, 0)
    return (os.POSIX_SPAWN_DUP2, descriptor, number)


def _program(name: str, env: dict[str, str]) -> str:
    """Returns the path of a program. A name without a slash is searched in the job's own PATH."""
    if "/" in name:
        return name
    for folder in env.get("PATH", os.defpath).split(":"):
        path = f"{folder or '.'}/{name}"
        if os.access(path, os.X_OK) and os.path.isfile(path):  # noqa: PTH113 - pathlib is slow to load
            return path
    raise NotStartedError(f"cannot run {name}: there is no such program in the directories of its PATH")


def _why_not(program: str, error: OSError | ValueError) -> str:
    if isinstance(error, FileNotFoundError) and "/" in program and os.access(program, os.F_OK):
        return f"cannot run {program}: the interpreter that its first line names does not exist"
    return f"cannot run {program}: {_describe(error)}"


def _describe(error: OSError | ValueError) -> str:
    return words(error) if isinstance(error, OSError) else str(error)


def open_input(text: str) -> int:
    """Returns a descriptor of a temporary file with this text."""
    # A file in memory instead of a pipe: the supervisor need not feed it while the job reads, and cannot block
    # on a job that does not.
    descriptor = os.memfd_create("stdin")
    data = text.encode(errors="surrogateescape")
    try:
        written = 0
        while written < len(data):
            written += os.write(descriptor, data[written:])
        os.lseek(descriptor, 0, os.SEEK_SET)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def become_subreaper(name: bytes) -> None:
    """Makes orphans below this process its children instead of init's, and sets its kernel name.

    Its memory holds the environments of all jobs, including the keys of agents, and is closed to other processes.
    """
    # The kernel does not pass this setting on through fork, so each process makes its own call.
    _prctl(_SET_CHILD_SUBREAPER, 1)
    _prctl(_SET_NAME, name)
    close_memory()


def close_memory() -> None:
    """Keeps other processes of the same user from reading its memory or environment and from tracing it.

    Root still may. It costs only core dumps and debuggers.
    """
    _prctl(_SET_DUMPABLE, 0)


def _prctl(option: int, value: int | bytes) -> None:
    import ctypes  # noqa: PLC0415 - slow to load

    ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)
