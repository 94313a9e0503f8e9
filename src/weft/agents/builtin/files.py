"""Files of the worktree, and no others: each path is followed to where it really leads before anything is done."""

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
_MOST_FOUND = 200
_LONGEST_LINE = 500
_SEARCH_SECONDS = 30
_GIT = ".git"


class ToolError(Exception):
    """What the model is told instead of a result."""


class Files:
    def __init__(self, root: str) -> None:
        self._root = os.path.realpath(root)

    # --- reading ---

    def read(self, path: str, first: int = 1, lines: int = _MOST_LINES) -> str:
        all_lines = self._text(path).splitlines(keepends=True)
        begin = max(first, 1) - 1
        part = all_lines[begin : begin + max(lines, 1)]
        left = len(all_lines) - begin - len(part)
        return "".join(part) + (
            f"\n[{left:,} more lines; go on with first={begin + len(part) + 1}]" if left > 0 else ""
        )

    def list(self, path: str = ".", pattern: str = "*") -> str:
        """Those further up come first."""
        found: list[str] = []
        for name in self._names(path):
            plain = name.rstrip("/")
            if fnmatchcase(plain, pattern) or fnmatchcase(os.path.basename(plain), pattern):  # noqa: PTH119
                if len(found) == _MOST_LISTED:
                    return "\n".join([*found, "[there are more]"])
                found.append(name)
        return "\n".join(found) or "[there are none]"

    def search(self, pattern: str, path: str = ".", files: str = "*") -> str:
        try:
            wanted = re.compile(pattern)
        except re.error as error:
            raise ToolError(f"that is no regular expression: {error}") from None
        with _at_most(_SEARCH_SECONDS):
            found: list[str] = []
            for line in self._lines(path, files):
                if wanted.search(line[2]):
                    if len(found) == _MOST_FOUND:
                        return "\n".join([*found, "[there are more]"])
                    found.append(f"{line[0]}:{line[1]}: {line[2][:_LONGEST_LINE]}")
        return "\n".join(found) or "[nothing is found]"

    def _lines(self, path: str, files: str) -> Iterator[tuple[str, int, str]]:
        """With the name of the file, and the number."""
        top = self._place(path)
        names = [self._name(top)] if os.path.isfile(top) else self._names(path)  # noqa: PTH113
        for name in names:
            if name.endswith("/") or not fnmatchcase(os.path.basename(name), files):  # noqa: PTH119
                continue
            try:
                text = self._text(name)
            except ToolError:  # gone meanwhile, too large, or none of text
                continue
            for number, line in enumerate(text.splitlines(), 1):
                yield name, number, line

    # --- writing ---

    def write(self, path: str, content: str) -> str:
        place = self._place_to_write(path)
        return self._write(place, content.encode(errors="replace"))

    def _write(self, place: str, data: bytes) -> str:
        with _words_for_errors():
            os.makedirs(os.path.dirname(place), exist_ok=True)  # noqa: PTH103, PTH120
            # What was a file when it was looked at is no link now, either.
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

    # --- where things are ---

    def _place(self, path: str) -> str:
        """Where a path leads, symbolic links and all."""
        try:
            place = os.path.realpath(os.path.join(self._root, path))  # noqa: PTH118
        except (OSError, ValueError) as error:
            raise ToolError(f"{path!r} is no path: {error}") from None
        if place != self._root and not place.startswith(f"{self._root.rstrip('/')}/"):
            raise ToolError(f"{path!r} leads out of the working directory; only what is in it can be used")
        return place

    def _place_to_write(self, path: str) -> str:
        place = self._place(path)
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
        with _words_for_errors():
            descriptor = os.open(place, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
            with os.fdopen(descriptor, "rb") as stream:
                if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                    raise ToolError(f"{path!r} is no file")
                data = stream.read(MOST_BYTES + 1)
        if len(data) > MOST_BYTES:
            raise ToolError(f"{path!r} is larger than {MOST_BYTES:,} bytes")
        return data

    def _names(self, path: str) -> Iterator[str]:
        """Of all that is below, directories with a `/`, level by level; links are named and not followed."""
        folders = [self._place(path)]
        while folders:
            below: list[str] = []
            for folder in folders:
                with _words_for_errors():
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
def _words_for_errors() -> Generator[None]:
    try:
        yield
    except IsADirectoryError as error:
        raise ToolError(f"{error.filename!r} is a directory") from None
    except OSError as error:
        raise ToolError(error.strerror or str(error)) from None


@contextmanager
def _at_most(seconds: int) -> Generator[None]:
    """Some expressions search for ages."""

    def ring(_signal: int, _frame: FrameType | None) -> None:
        raise ToolError(f"the search took longer than {seconds} seconds; try a simpler expression")

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
