"""`.weft/run/<subplan>.status.json`: the state of subplans, for people and scripts. A mirror of the journal.

A separate thread writes the files, so that a slow disk does not delay the run. It writes only the newest state and
skips older ones. It writes a temporary file, syncs it and renames it, so readers always see a complete file. An
error is only stored: a run does not fail because of its mirror.
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
"""The most bytes that are read of a file; status files are far smaller."""
_JOIN_SECONDS = 0.1
"""Seconds between wake-ups while waiting for the thread. A wait without a timeout may not notice signals."""


class StatusFiles:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._names = _names_in(folder)
        self._changed: dict[str, Mapping[str, object]] = {}
        self._wake = Condition()
        self._closing = False
        self._error: Exception | None = None
        self._thread = Thread(target=self._work, name="weft-status-files", daemon=True)
        with self._storing_errors():
            start_thread(self._thread)

    @property
    def error(self) -> Exception | None:
        """The first error."""
        return self._error

    def had(self, path: str) -> bool:
        """Returns whether the subplan already had a file, for example from a dead coordinator."""
        return _name(path) in self._names

    def read(self, path: str) -> dict[str, Any] | None:
        """Returns the content of the file of a subplan; None if it cannot be read."""
        try:
            return read_status(status_file(self._folder, path))
        except OSError:
            return None

    def set(self, path: str, record: Mapping[str, object]) -> None:
        """Sets the newest record of a subplan, which must not be changed afterwards. Ignored after `close`."""
        with self._wake:
            self._changed[path] = record
            self._wake.notify()

    def close(self) -> None:
        """Waits until everything is written."""
        with self._wake:
            self._closing = True
            self._wake.notify()
        while self._thread.is_alive():
            self._thread.join(_JOIN_SECONDS)

    def _work(self) -> None:
        with self._storing_errors():
            tree, folder = locate(self._folder)
            tree.make(folder)
            for name in tree.names(folder):
                if name.startswith(".") and name.endswith(".new"):  # a crash left it
                    tree.remove(f"{folder}/{name}")
        while changed := self._next():
            for path, record in changed.items():
                with self._storing_errors():
                    tree, file = locate(status_file(self._folder, path))
                    tree.replace(file, msgspec.json.encode(record) + b"\n", durable=True)

    def _next(self) -> dict[str, Mapping[str, object]]:
        """Waits for records to write and returns them; empty if there will be no more."""
        with self._wake:
            self._wake.wait_for(lambda: self._changed or self._closing)
            # While the thread writes, newer records of a subplan replace older ones in the new mapping.
            changed, self._changed = self._changed, {}
            return changed

    @contextmanager
    def _storing_errors(self) -> Generator[None]:
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
    except OSError:  # usually it does not exist yet; otherwise writing will fail and report the error
        return frozenset()


def read_status(file: Path) -> dict[str, Any] | None:
    """Returns the content of a status file; None if there is no valid one."""
    try:
        return msgspec.json.decode(read_file(file, most=_LARGEST), type=dict[str, Any])
    except (FileNotFoundError, msgspec.DecodeError, UnicodeDecodeError):
        return None
