"""Starting one process, in a session of its own, with nothing of ours.

`posix_spawn` needs neither a copy of our memory nor any of our code in the new process. It has no way to change
the directory, so we go there ourselves for a moment: nothing else runs in this program meanwhile.
"""

import os
import signal

from .streams import words

_SET_DUMPABLE, _SET_NAME, _SET_CHILD_SUBREAPER = 4, 15, 36
"""Options of prctl(2)."""
_SIGNALS = [number for number in signal.valid_signals() if number not in {signal.SIGKILL, signal.SIGSTOP}]


class NotStartedError(Exception):
    """Says what could not be done, and why not."""


def spawn(argv: list[str], cwd: str, env: dict[str, str], descriptors: list[int | None]) -> int:
    """The pid. The descriptors become its standard input, output and error; None is an empty file."""
    if not argv:
        raise NotStartedError("there is no program to run")
    try:
        os.chdir(cwd)
    except (OSError, ValueError) as error:
        raise NotStartedError(f"cannot enter the directory {cwd}: {_said(error)}") from None
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
        file_actions=[_given(descriptor, number) for number, descriptor in enumerate(descriptors)],
        setsid=True,
        setsigmask=[],
        setsigdef=_SIGNALS,
    )


def _given(descriptor: int | None, number: int) -> tuple[object, ...]:
    if descriptor is None:
        return (os.POSIX_SPAWN_OPEN, number, "/dev/null", os.O_RDONLY, 0)
    return (os.POSIX_SPAWN_DUP2, descriptor, number)


def _program(name: str, env: dict[str, str]) -> str:
    """Its path. A name without a slash is looked for where the job's own PATH says."""
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
    return f"cannot run {program}: {_said(error)}"


def _said(error: OSError | ValueError) -> str:
    return words(error) if isinstance(error, OSError) else str(error)


def open_input(text: str) -> int:
    """A descriptor to read it from, for one who expects a file."""
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
    """Orphans below this process become its children, not those of init; and the kernel gives it this name.

    Its memory holds the environments of all jobs, with the keys of the agents among them, and is closed to others.
    """
    _prctl(_SET_CHILD_SUBREAPER, 1)
    _prctl(_SET_NAME, name)
    close_memory()


def close_memory() -> None:
    """Closes this process to others of the same user: none reads its memory or environment in /proc, or traces it.

    Root still may. It costs nothing but core dumps and debuggers.
    """
    _prctl(_SET_DUMPABLE, 0)


def _prctl(option: int, value: int | bytes) -> None:
    import ctypes  # noqa: PLC0415 - slow to load

    ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)
