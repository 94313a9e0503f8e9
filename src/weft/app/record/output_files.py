"""The files that steps write into, as the host keeps them: `<prefix>.out` and `<prefix>.err` with the beginning.

Of what is too long the end stands in `.out.tail` and `.err.tail`. Those are replaced while the step runs, and
whole when it has ended.
"""

import os
from collections.abc import Generator, Iterator
from contextlib import contextmanager

from weft.safe_files import open_file

CHUNK = 1 << 16
LOOKED_AT = 4_096
"""Bytes at the end of a file in which the last line is looked for."""


@contextmanager
def _opened(file: str) -> Generator[int | None]:
    """Its descriptor; None if there is none, or a step has left something else there."""
    try:
        descriptor = open_file(file)
    except OSError:
        yield None
        return
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def size(file: str) -> int:
    with _opened(file) as descriptor:
        return 0 if descriptor is None else os.fstat(descriptor).st_size


def chunks(file: str, start: int) -> Iterator[bytes]:
    """What it holds from there on."""
    with _opened(file) as descriptor:
        while descriptor is not None and (data := os.pread(descriptor, CHUNK, start)):
            start += len(data)
            yield data


def last_line(prefix: str) -> str:
    """The last line that is not blank, of whichever was written to last: standard output or standard error."""
    newest, found = -1.0, ""
    for ending in (".out.tail", ".err.tail", ".out", ".err"):
        with _opened(prefix + ending) as descriptor:
            if descriptor is None:
                continue
            status = os.fstat(descriptor)
            if status.st_mtime > newest and (line := _last(descriptor, status.st_size)):
                newest, found = status.st_mtime, line
    return found


def _last(descriptor: int, length: int) -> str:
    data = os.pread(descriptor, LOOKED_AT, max(0, length - LOOKED_AT))
    lines = data.decode(errors="replace").splitlines()
    return next((line.strip() for line in reversed(lines) if line.strip()), "")
