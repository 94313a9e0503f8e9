"""The machine fails at the n-th thing that is done with files."""

import errno
import os
import tempfile
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

OPERATIONS = (
    "chmod", "dup", "fchmod", "fstat", "fsync", "lseek", "mkdir", "open", "read", "readlink", "rename", "rmdir",
    "scandir", "stat", "symlink", "unlink", "write",
)  # fmt: skip
"""All that is done with files, but closing them, which the kernel does for who dies."""
CHANGES = ("chmod", "mkdir", "rename", "replace", "rmdir", "unlink", "write")
"""What others see of that."""


_MEMORY = "/dev/shm"


@contextmanager
def quick_folder() -> Iterator[Path]:
    """A directory in memory, if the machine has such: here are many files, and a disk may be busy."""
    where = _MEMORY if os.access(_MEMORY, os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=where) as folder:
        yield Path(folder)


class KilledError(BaseException):
    """Nothing catches this, and from then on nothing that is done has an effect: as if the process were killed."""


class Machine:
    def __init__(self, fails_at: int, *, dies: bool) -> None:
        self.left = fails_at
        self.dies = dies

    def wrapped(self, name: str, operation: Callable[..., Any]) -> Callable[..., Any]:
        def called(*args: Any, **kwargs: Any) -> Any:
            self.left -= 1
            if self.left == 0 or (self.left < 0 and self.dies):
                self.fail(name, args)
            # What is on the disk after a power cut is not what this is about, and waiting for it takes time.
            return None if name == "fsync" else operation(*args, **kwargs)

        return called

    def fail(self, name: str, args: tuple[Any, ...]) -> None:
        if name == "write" and self.left == 0:
            WRITE(args[0], bytes(args[1])[:1])
        if self.dies:
            raise KilledError
        raise OSError(errno.ENOSPC, "No space left on device")


WRITE = os.write


@contextmanager
def machine(fails_at: int, *, dies: bool, operations: Collection[str] = OPERATIONS) -> Iterator[Machine]:
    """0: it does not fail."""
    made = Machine(fails_at, dies=dies)
    with pytest.MonkeyPatch.context() as patch:
        for name in operations:
            patch.setattr(os, name, made.wrapped(name, getattr(os, name)))
        yield made


def operations_of(action: Callable[[], object], *, operations: Collection[str] = OPERATIONS) -> int:
    with machine(0, dies=False, operations=operations) as counting:
        action()
    return -counting.left
