"""Write the result file of an agent that is Weft's own program.

The file is replaced atomically, so that a process that is killed leaves a complete report. `result_file`
describes its keys; `own_agents` judges the file and the exit code.
"""

import json
import os
from typing import Any

FAILURE, COULD_NOT = 1, 75
"""Exit codes: the work failed; the work could not be tried at this moment."""


class Reporter:
    """A report that is written to the result file at each update. None removes a key."""

    def __init__(self, file: str | None) -> None:
        self._file = file
        self._report: dict[str, Any] = {}

    def update(self, **changes: object) -> None:
        """Changes keys of the report and writes the file."""
        self._report |= changes
        if self._file is not None:
            write_json(self._file, {key: value for key, value in self._report.items() if value is not None})


def write_json(file: str, value: object) -> None:
    """Replaces the file atomically. Only its owner may read it."""
    fresh = f"{file}.new"
    with open(fresh, "w", encoding="utf-8", opener=_private) as stream:
        json.dump(value, stream)
    os.replace(fresh, file)  # noqa: PTH105


def _private(file: str, flags: int) -> int:
    return os.open(file, flags, 0o600)
