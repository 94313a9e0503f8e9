"""The supervisor, with one fault at will: `program.py FAULT DIRECTORY HEAD TAIL LINGER`.

FAULT is `-`, or `KIND:N:FILE`. At the N-th of its calls that can fail it is killed before (`before`) or after it
(`after`), or the call fails (`ENOSPC` and so on). Once only: the file is made then.
"""

import errno
import os
import signal
import sys
from collections.abc import Callable
from importlib import import_module

CALLS = {
    "before": ("write", "fdatasync", "posix_spawn"),
    "after": ("write", "fdatasync", "posix_spawn"),
    "ENOSPC": ("write", "replace", "memfd_create"),
    "EIO": ("write", "fdatasync", "replace"),
    "EROFS": ("fdatasync",),
    "EMFILE": ("open", "pipe", "memfd_create", "posix_spawn"),
    "EAGAIN": ("fork", "posix_spawn"),
}
real_open = os.open


class Fault:
    def __init__(self, kind: str, at: int, file: str) -> None:
        self._kind = kind
        self._left = at
        self._file = file
        self._read: set[str] = set()
        """What has been read of processes that are older than this one."""

    def _has_come(self, *args: object) -> bool:
        if self._is_like_an_earlier(*args):
            return False
        self._left -= 1
        if self._left != 0 or os.access(self._file, os.F_OK):
            return False
        os.close(real_open(self._file, os.O_CREAT | os.O_WRONLY))
        return True

    def _is_like_an_earlier(self, path: object = "", *_others: object) -> bool:
        """Whether the call reads of an old process what was read of another one.

        A scan reads all processes of the machine, which are none of this test and often hundreds.
        """
        _, _, name, *rest = f"{path}///".split("/")
        if not str(path).startswith("/proc/") or not name.isdecimal() or int(name) >= os.getpid():
            return False
        kind = "/".join(rest)
        if kind in self._read:
            return True
        self._read.add(kind)
        return False

    def around(self, call: Callable[..., object]) -> Callable[..., object]:
        def with_fault(*args: object, **named: object) -> object:
            has_come = self._has_come(*args)
            if has_come and self._kind == "before":
                os.kill(os.getpid(), signal.SIGKILL)
            elif has_come and self._kind != "after":
                number = getattr(errno, self._kind)
                raise OSError(number, os.strerror(number))
            result = call(*args, **named)
            if has_come:
                os.kill(os.getpid(), signal.SIGKILL)
            return result

        return with_fault


def start_program(arguments: list[str]) -> None:
    if sys.flags.no_site:  # as it is run outside of tests
        package = type(sys)("weft")
        package.__path__ = [f"{__file__.rpartition('/tests/')[0]}/src/weft"]
        sys.modules["weft"] = package
    import_module("weft.hosts.supervisor.start").main(arguments)


def main(fault: str, *arguments: str) -> None:
    if fault != "-":
        kind, at, file = fault.split(":", 2)
        fault_to_come = Fault(kind, int(at), file)
        for name in CALLS[kind]:
            setattr(os, name, fault_to_come.around(getattr(os, name)))
    start_program([*arguments])


main(*sys.argv[1:])
