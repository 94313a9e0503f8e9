"""What the agent leaves: a report of what it spent, and the conversation, each in a file that is always whole.

Both are next to each other, and the name of a conversation is that of its file: `FOLDER/NAME`. Who goes on with
one gets another, which begins with a copy; so a conversation never changes once its process has ended, and any
number of steps may go on with it.
"""

import json
import os
from typing import Any

from weft.agents.builtin.talk import Answer, Talk, Used, packed, unpacked
from weft.agents.reporting import write_json
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
            write_json(self._file, {name: value for name, value in self._told.items() if value is not None})

    # --- the conversation ---

    def keep(self, talk: Talk) -> None:
        """From now on it can be gone on with, so it is told; also if the process is ended in the next moment."""
        if self._file is None:
            return
        write_json(self._session_file(self._name), packed(talk))
        if "session" not in self._told:
            self.tell(session=self._name)

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
        except (OSError, ValueError, RecursionError) as error:
            raise InputError(
                f"the conversation {session!r} cannot be gone on with: {error}; it is kept with the logs of its "
                "run: take `resume` out of the step, or have the slice done anew"
            ) from None

    def _session_file(self, session: str) -> str:
        return os.path.join(self._root, f"{session}{_SESSION}")  # noqa: PTH118
