"""What the process of an agent of ours leaves: a report in a file that is always whole, and an exit code.

What the keys of the report mean is in `report`; how both are judged, in `reported`.
"""

import json
import os
from typing import Any

FAILURE, COULD_NOT = 1, 75
"""Exit codes: work that failed or cannot be done so, and work that could not be done just now."""


class Reporter:
    """What was told stays told; the last word on each key counts, and None takes it back."""

    def __init__(self, file: str | None) -> None:
        self._file = file
        self._told: dict[str, Any] = {}

    def tell(self, **more: object) -> None:
        self._told |= more
        if self._file is not None:
            write_json(self._file, {name: value for name, value in self._told.items() if value is not None})


def write_json(file: str, value: object) -> None:
    """Whoever reads finds this or what was there before; nobody else may read it."""
    fresh = f"{file}.new"
    with open(fresh, "w", encoding="utf-8", opener=_private) as stream:
        json.dump(value, stream)
    os.replace(fresh, file)  # noqa: PTH105


def _private(file: str, flags: int) -> int:
    return os.open(file, flags, 0o600)
