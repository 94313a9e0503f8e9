"""The output files of steps, as the host stores them.

`<prefix>.out` and `<prefix>.err` hold the beginning of the output. If it is too long, `.out.tail` and `.err.tail`
hold its end; the host replaces those while the step runs, and they are complete when it has ended.
"""

import os
from collections.abc import Generator, Iterator
from contextlib import contextmanager

from weft.safe_files import open_file

CHUNK = 1 << 16
LOOKED_AT = 4_096
"""Bytes at the end of a file in which `last_line` searches."""


@contextmanager
def _opened(file: str) -> Generator[int | None]:
    """Opens the file and yields its descriptor; None if it is missing or not a regular file."""
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
    """Yields the contents of the file from the offset `start`."""
    with _opened(file) as descriptor:
        while descriptor is not None and (data := os.pread(descriptor, CHUNK, start)):
            start += len(data)
            yield data


def last_line(prefix: str) -> str:
    """Returns the last line that is not blank, from the stream that was written to last."""
    newest, newest_line = -1.0, ""
    for ending in (".out.tail", ".err.tail", ".out", ".err"):
        with _opened(prefix + ending) as descriptor:
            if descriptor is None:
                continue
            status = os.fstat(descriptor)
            if status.st_mtime > newest and (line := _last(descriptor, status.st_size)):
                newest, newest_line = status.st_mtime, line
    return newest_line


def _last(descriptor: int, length: int) -> str:
    data = os.pread(descriptor, LOOKED_AT, max(0, length - LOOKED_AT))
    lines = data.decode(errors="replace").splitlines()
    return next((line.strip() for line in reversed(lines) if line.strip()), "")
