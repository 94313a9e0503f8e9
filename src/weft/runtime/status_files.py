"""`.weft/run/<subplan>.status.json`: how subplans are doing, for people and scripts. A mirror of the journal.

A thread of its own writes them, so that a disk that is slow holds nobody up. It writes what is newest when it gets
to it; what was overtaken meanwhile is never written. A file is written aside, brought to the disk and renamed, so
who reads one reads a whole one. An error is remembered, and nothing else: work does not fail for its mirror.
"""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Condition, Thread
from typing import Any

import msgspec

from weft.ids import file_name
from weft.safe_files import locate, read_file
from weft.threads import start_thread

_LARGEST = 1 << 24
"""Bytes of a file; none is nearly as long."""
_LISTENS = 0.1
"""Seconds: so often whoever waits for the thread hears signals; a wait without an end may hear none."""


class StatusFiles:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._found = _names_in(folder)
        self._changed: dict[str, Mapping[str, object]] = {}
        self._wake = Condition()
        self._closing = False
        self._error: Exception | None = None
        self._thread = Thread(target=self._work, name="weft-status-files", daemon=True)
        with self._remembering_errors():
            start_thread(self._thread)

    @property
    def error(self) -> Exception | None:
        """The first thing that went wrong."""
        return self._error

    def had(self, path: str) -> bool:
        """Whether there was a file for a subplan before, as from a coordinator that died."""
        return _name(path) in self._found

    def read(self, path: str) -> dict[str, Any] | None:
        """What the file of a subplan says; None if there is none that can be read."""
        try:
            return read_status(status_file(self._folder, path))
        except OSError:
            return None

    def set(self, path: str, record: Mapping[str, object]) -> None:
        """The newest about a subplan; it must not be changed afterwards. After `close` it is not written."""
        with self._wake:
            self._changed[path] = record
            self._wake.notify()

    def close(self) -> None:
        """Waits until everything is written."""
        with self._wake:
            self._closing = True
            self._wake.notify()
        while self._thread.is_alive():
            self._thread.join(_LISTENS)

    def _work(self) -> None:
        with self._remembering_errors():
            tree, folder = locate(self._folder)
            tree.make(folder)
            for name in tree.names(folder):
                if name.startswith(".") and name.endswith(".new"):  # a crash left it
                    tree.remove(f"{folder}/{name}")
        while changed := self._next():
            for path, record in changed.items():
                with self._remembering_errors():
                    tree, file = locate(status_file(self._folder, path))
                    tree.replace(file, msgspec.json.encode(record) + b"\n", durable=True)

    def _next(self) -> dict[str, Mapping[str, object]]:
        """What is to be written; nothing if that is all there will be."""
        with self._wake:
            self._wake.wait_for(lambda: self._changed or self._closing)
            changed, self._changed = self._changed, {}
            return changed

    @contextmanager
    def _remembering_errors(self) -> Generator[None]:
        try:
            yield
        except Exception as error:  # noqa: BLE001 - whatever it is, the other files are still to be written
            self._error = self._error or error


def status_file(folder: Path, path: str) -> Path:
    return folder / _name(path)


def _name(path: str) -> str:
    return f"{file_name(path)}.status.json"


def _names_in(folder: Path) -> frozenset[str]:
    tree, name = locate(folder)
    try:
        return frozenset(tree.names(name))
    except OSError:  # most often it is not there yet; if it is something else, to write there will fail, too
        return frozenset()


def read_status(file: Path) -> dict[str, Any] | None:
    """None if there is none, or none that can be read as one."""
    try:
        return msgspec.json.decode(read_file(file, most=_LARGEST), type=dict[str, Any])
    except (FileNotFoundError, msgspec.DecodeError, UnicodeDecodeError):
        return None
