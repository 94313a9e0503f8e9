"""File tools of the model, restricted to the worktree: each path is resolved, links included, before its use."""

import os
import re
import signal
import stat
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from fnmatch import fnmatchcase
from types import FrameType

MOST_BYTES = 5_000_000
_MOST_LINES = 2_000
_MOST_LISTED = 1_000
_MOST_MATCHES = 200
_LONGEST_LINE = 500
_SEARCH_SECONDS = 30
_GIT = ".git"


class ToolError(Exception):
    """An error message for the model instead of a result."""


class Files:
    """The files below the working directory."""

    def __init__(self, root: str) -> None:
        self._root = os.path.realpath(root)

    # --- reading ---

    def read(self, path: str, first: int = 1, lines: int = _MOST_LINES) -> str:
        all_lines = self._text(path).splitlines(keepends=True)
        start = max(first, 1) - 1
        part = all_lines[start : start + max(lines, 1)]
        remaining = len(all_lines) - start - len(part)
        return "".join(part) + (
            f"\n[{remaining:,} more lines; continue with first={start + len(part) + 1}]"
            if remaining > 0
            else ""
        )

    def list(self, path: str = ".", pattern: str = "*") -> str:
        """Lists matching names level by level, those nearest to the top first."""
        matches: list[str] = []
        for name in self._names(path):
            bare_name = name.rstrip("/")
            if fnmatchcase(bare_name, pattern) or fnmatchcase(os.path.basename(bare_name), pattern):  # noqa: PTH119
                if len(matches) == _MOST_LISTED:
                    return "\n".join([*matches, "[there are more]"])
                matches.append(name)
        return "\n".join(matches) or "[there are none]"

    def search(self, pattern: str, path: str = ".", files: str = "*") -> str:
        try:
            expression = re.compile(pattern)
        except re.error as error:
            raise ToolError(f"invalid regular expression: {error}") from None
        with _limit_time(_SEARCH_SECONDS):
            matches: list[str] = []
            for name, number, line in self._lines(path, files):
                if expression.search(line):
                    if len(matches) == _MOST_MATCHES:
                        return "\n".join([*matches, "[there are more]"])
                    matches.append(f"{name}:{number}: {line[:_LONGEST_LINE]}")
        return "\n".join(matches) or "[nothing is found]"

    def _lines(self, path: str, files: str) -> Iterator[tuple[str, int, str]]:
        """Yields the name of the file, the line number and the line, for all text files that match."""
        top = self._place(path)
        names = [self._name(top)] if os.path.isfile(top) else self._names(path)  # noqa: PTH113
        for name in names:
            if name.endswith("/") or not fnmatchcase(os.path.basename(name), files):  # noqa: PTH119
                continue
            try:
                text = self._text(name)
            except ToolError:  # removed meanwhile, too large, or binary
                continue
            for number, line in enumerate(text.splitlines(), 1):
                yield name, number, line

    # --- writing ---

    def write(self, path: str, content: str) -> str:
        place = self._place_to_write(path)
        return self._write(place, content.encode(errors="replace"))

    def _write(self, place: str, data: bytes) -> str:
        with _explain_os_errors():
            os.makedirs(os.path.dirname(place), exist_ok=True)  # noqa: PTH103, PTH120
            # O_NOFOLLOW: the file may have been replaced by a link since its path was resolved.
            descriptor = os.open(
                place, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666
            )
            with os.fdopen(descriptor, "wb") as stream:
                stream.write(data)
        return f"wrote {self._name(place)}: {len(data):,} bytes"

    def edit(self, path: str, old: str, new: str, *, all: bool = False) -> str:  # noqa: A002 - the model's word
        place, data = self._place_to_write(path), self._data(path)
        times = data.count(old.encode(errors="replace")) if old else 0
        if not times:
            raise ToolError(f"`old` is not in {path}; it must be there letter by letter, and not be empty")
        if times > 1 and not all:
            raise ToolError(
                f"`old` is {times} times in {path}; write more of what is around it, or say all=true"
            )
        self._write(place, data.replace(old.encode(errors="replace"), new.encode(errors="replace")))
        return f"replaced it {'once' if times == 1 else f'{times} times'} in {path}"

    # --- paths ---

    def _place(self, path: str) -> str:
        """Resolves a path, symbolic links included; raises `ToolError` if it leaves the working directory."""
        try:
            place = os.path.realpath(os.path.join(self._root, path))  # noqa: PTH118
        except (OSError, ValueError) as error:
            raise ToolError(f"invalid path {path!r}: {error}") from None
        # With the slash, so that /work-other does not count as a part of /work.
        if place != self._root and not place.startswith(f"{self._root.rstrip('/')}/"):
            raise ToolError(f"{path!r} leads out of the working directory; only what is in it can be used")
        return place

    def _place_to_write(self, path: str) -> str:
        place = self._place(path)
        # Hooks and configuration in `.git` would run code outside of any sandbox. Lowercase, for file systems
        # without case.
        if _GIT in self._name(place).lower().split("/"):
            raise ToolError(f"{path!r} is git's own; nothing may be written there")
        if place == self._root:
            raise ToolError(f"{path!r} is the working directory itself, and no file")
        return place

    def _name(self, place: str) -> str:
        return os.path.relpath(place, self._root)

    def _text(self, path: str) -> str:
        data = self._data(path)
        if b"\0" in data:
            raise ToolError(f"{path!r} holds no text")
        return data.decode(errors="replace")

    def _data(self, path: str) -> bytes:
        place = self._place(path)
        with _explain_os_errors():
            # O_NONBLOCK, because opening a FIFO would hang otherwise.
            descriptor = os.open(place, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
            with os.fdopen(descriptor, "rb") as stream:
                if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                    raise ToolError(f"{path!r} is not a file")
                data = stream.read(MOST_BYTES + 1)
        if len(data) > MOST_BYTES:
            raise ToolError(f"{path!r} is larger than {MOST_BYTES:,} bytes")
        return data

    def _names(self, path: str) -> Iterator[str]:
        """Yields all names below a directory, level by level. Directories end in `/`; links are not followed."""
        folders = [self._place(path)]
        while folders:
            below: list[str] = []
            for folder in folders:
                with _explain_os_errors():
                    entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
                for entry in entries:
                    if entry.name == _GIT:
                        continue
                    is_folder = entry.is_dir(follow_symlinks=False)
                    yield self._name(entry.path) + ("/" if is_folder else "")
                    if is_folder:
                        below.append(entry.path)
            folders = below


@contextmanager
def _explain_os_errors() -> Generator[None]:
    try:
        yield
    except IsADirectoryError as error:
        raise ToolError(f"{error.filename!r} is a directory") from None
    except OSError as error:
        raise ToolError(error.strerror or str(error)) from None


@contextmanager
def _limit_time(seconds: int) -> Generator[None]:
    """Interrupts a search that takes too long: some regular expressions need exponential time."""

    def raise_timeout(_signal: int, _frame: FrameType | None) -> None:
        raise ToolError(f"the search took longer than {seconds} seconds; try a simpler expression")

    # A signal is the only way to interrupt the regular-expression engine, which runs in C and checks nothing else.
    previous_handler = signal.signal(signal.SIGALRM, raise_timeout)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, previous_handler)
