"""The output of a job, stored in files within limits.

The beginning goes to a file as it arrives. Of the rest, only the end is kept, in memory and in a second file that
is replaced from time to time. A job may therefore write forever. Output that cannot be stored because the disk is
full does not block the job: the output counts as too long from there on, and the end of the job says so.
"""

import fcntl
import os
from contextlib import suppress
from time import monotonic

from weft.safe_files import locate

INLINE = 4096
"""Output of up to this many bytes is sent with the end of the job."""
TAIL_PAUSE = 1.0
"""The least seconds between two writes of the end of a long output."""
_FULL_PIPE = 64 * 1024
_BIG_PIPE = 512 * 1024
_READS_AT_END = 64
_BUFFER = memoryview(bytearray(256 * 1024))  # shared by all streams: its contents are stored at once
NEVER = float("inf")


class OutputLimits:
    """The bytes that are kept of the beginning and of the end."""

    def __init__(self, head: int, tail: int) -> None:
        self.head = head
        self.tail = max(tail, 1)


class Tail:
    """The last bytes of the output, in a ring buffer."""

    def __init__(self, size: int) -> None:
        self._ring = bytearray(size)
        self._at = 0
        self._full = False

    def add(self, data: memoryview) -> None:
        size = len(self._ring)
        data = data[-size:]
        until_the_end = size - self._at
        self._ring[self._at : self._at + len(data)] = data[:until_the_end]
        self._ring[: len(data[until_the_end:])] = data[until_the_end:]
        self._full = self._full or len(data) >= until_the_end
        self._at = (self._at + len(data)) % size

    def content(self) -> bytes:
        older = self._ring[self._at :] if self._full else b""
        return bytes(older + self._ring[: self._at])


class Stream:
    """One of the two outputs of a job.

    Both ends of the pipe stay open here until the job has ended, so the supervisor is not woken when the job
    closes its end.
    """

    def __init__(self, path: str, limits: OutputLimits) -> None:
        self._path = path
        self._limits = limits
        self._head = limits.head
        self._first = bytearray()
        self._file = -1
        self._tail: Tail | None = None
        self._bigger = False
        self.count = 0
        self.written_at = 0.0
        """When the last output arrived, by the monotonic clock."""
        self.trouble = ""
        """Why some of it could not be stored."""
        self.due = NEVER
        """When the tail will be stored."""
        self.reader, self.writer = os.pipe()
        os.set_blocking(self.reader, False)

    @property
    def output(self) -> tuple[str, int]:
        """The file, and the inode of the pipe."""
        return self._path, os.fstat(self.reader).st_ino

    def read(self) -> int:
        """Reads at most one buffer; returns 0 at the end, and -1 if nothing has arrived."""
        try:
            count = os.readv(self.reader, [_BUFFER])
        except BlockingIOError:
            return -1
        if count:
            self.written_at = monotonic()
            self._take(_BUFFER[:count])
        if count >= _FULL_PIPE and not self._bigger:  # only worthwhile for jobs that write a lot
            self._bigger = True
            _enlarge(self.reader)
        return count

    def _take(self, data: memoryview) -> None:
        if self.count < INLINE:
            self._first += data[: INLINE - self.count]
        # The first `head` bytes of the output go to the file; `count` is the position in the output as a whole.
        stored = self._store(data[: self._head - self.count]) if self.count < self._head else 0
        self.count += len(data)
        if stored < len(data):
            self._keep(data[stored:])

    def _store(self, data: memoryview) -> int:
        stored = 0
        try:
            if self._file < 0:
                self._file = _create(self._path)
            while stored < len(data):
                stored += os.write(self._file, data[stored:])
        except OSError as error:
            self._fail(error)
            # Nothing more goes to the file, even if the disk has room again: a gap in its middle would not show.
            self._head = 0
        return stored

    def _keep(self, data: memoryview) -> None:
        if self._tail is None:
            self._tail = Tail(self._limits.tail)
        self._tail.add(data)
        if self.due == NEVER:
            self.due = monotonic() + TAIL_PAUSE

    def store_tail(self) -> None:
        self.due = NEVER
        if self._tail is None:
            return
        try:
            replace(f"{self._path}.tail", self._tail.content())
        except OSError as error:
            self._fail(error)

    def _fail(self, error: OSError) -> None:
        self.trouble = f"cannot write {self._path}: {words(error)}"

    def finish(self) -> None:
        """Reads the rest of the pipe after the last writer has gone, and closes everything."""
        # Only now can a read return the end of the file instead of waiting: this was the last writer.
        os.close(self.writer)
        # Bounded: a process that left the job may still have the pipe, and write for ever.
        for _ in range(_READS_AT_END):
            if self.read() <= 0:
                break
        os.close(self.reader)
        self.store_tail()
        if self._file >= 0:
            os.close(self._file)

    def text(self) -> str | None:
        """Returns the whole output if it is short."""
        return self._first.decode(errors="replace") if self.count <= INLINE else None


def words(error: OSError) -> str:
    """Returns the system's message."""
    return (error.strerror or str(error)).lower()


def _enlarge(pipe: int) -> None:
    with suppress(OSError):  # the user's quota for pipes is used up
        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _BIG_PIPE)


def append_to(path: str, data: bytes, *, most: int) -> bool:
    """Appends to a file that grows to at most `most` bytes; returns whether all of the data fitted."""
    tree, file = locate(path)
    descriptor = tree.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, make=True)
    try:
        room = max(0, most - os.fstat(descriptor).st_size)
        written = 0
        while written < min(len(data), room):
            written += os.write(descriptor, data[written:room])
    finally:
        os.close(descriptor)
    return written == len(data)


def _create(path: str) -> int:
    """Creates an empty file. Most jobs write nothing, so its directory is created only now."""
    tree, file = locate(path)
    return tree.create(file, make=True)


def replace(path: str, data: bytes) -> None:
    tree, file = locate(path)
    tree.replace(file, data)
