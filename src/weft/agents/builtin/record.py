"""What the agent leaves: a report of what it spent, and the conversation, each in a file that is always whole.

Both are next to each other, and the name of a conversation is that of its file: `FOLDER/NAME`. Who goes on with
one gets another, which begins with a copy; so a conversation never changes once its process has ended, and any
number of steps may go on with it.
"""

import json
import os
from typing import Any

from weft.agents.builtin.talk import Answer, Talk, Used, packed, unpacked
from weft.errors import InputError

_RESULT, _SESSION = ".result.json", ".session.json"
_PARTS = 2


class Record:
    def __init__(self, result_file: str | None) -> None:
        self._file = result_file
        self._used = Used()
        self._cost: float | None = 0.0
        self._told: dict[str, Any] = {}
        if result_file is not None:
            stem = result_file.removesuffix(_RESULT)
            folder, name = os.path.split(os.path.abspath(stem))  # noqa: PTH100
            self._root, self._name = os.path.split(folder)
            self._name += f"/{name}"
            self._told["session"] = self._name

    def spent(self, answer: Answer) -> None:
        self._used += answer.used
        self._cost = None if self._cost is None or answer.cost is None else self._cost + answer.cost
        self.settle()

    def settle(self) -> None:
        """What was spent is all known; it may be nothing."""
        self.tell(tokens=self._used._asdict(), cost_usd=self._cost)

    def tell(self, **more: object) -> None:
        self._told |= more
        if self._file is not None:
            _replace(self._file, {name: value for name, value in self._told.items() if value is not None})

    # --- the conversation ---

    def keep(self, talk: Talk) -> None:
        if self._file is not None:
            _replace(self._session_file(self._name), packed(talk))

    def resumed(self, session: str | None) -> Talk:
        """What was said before; raises `InputError`."""
        if session is None:
            return ()
        parts = session.split("/")
        if self._file is None or len(parts) != _PARTS or {"", ".", ".."} & set(parts):
            raise InputError(f"there is no conversation {session!r} to go on with")
        try:
            with open(self._session_file(session), encoding="utf-8") as stream:  # noqa: PTH123
                return unpacked(json.load(stream))
        except (OSError, ValueError) as error:
            raise InputError(f"the conversation {session!r} cannot be gone on with: {error}") from None

    def _session_file(self, session: str) -> str:
        return os.path.join(self._root, f"{session}{_SESSION}")  # noqa: PTH118


def _replace(file: str, value: object) -> None:
    """Whoever reads finds this or what was there before."""
    fresh = f"{file}.new"
    with open(fresh, "w", encoding="utf-8", opener=_private) as stream:
        json.dump(value, stream)
    os.replace(fresh, file)  # noqa: PTH105


def _private(file: str, flags: int) -> int:
    return os.open(file, flags, 0o600)
