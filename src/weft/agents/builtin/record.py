"""The files that the agent writes: the result file and the conversation. Both are replaced atomically.

They are in the same directory, and the name of a conversation is that of its file: `FOLDER/NAME`. A step that
resumes a conversation writes a copy under a new name. A conversation therefore never changes after its process has
ended, and any number of steps can resume it.
"""

import json
import os
from typing import Any

from weft.agents.builtin.conversation import (
    Conversation,
    ModelAnswer,
    TokenCounts,
    decode_conversation,
    encode_conversation,
)
from weft.agents.shared.result_writer import write_json
from weft.errors import InputError

_RESULT, _SESSION = ".result.json", ".session.json"
_PARTS = 2


class AgentRecord:
    """The report and the conversation of one process."""

    def __init__(self, result_file: str | None) -> None:
        self._file = result_file
        self._tokens = TokenCounts()
        self._cost: float | None = 0.0
        self._report: dict[str, Any] = {}
        if result_file is not None:
            stem = result_file.removesuffix(_RESULT)
            folder, name = os.path.split(os.path.abspath(stem))  # noqa: PTH100
            self._root, self._name = os.path.split(folder)
            self._name += f"/{name}"

    def add_spending(self, answer: ModelAnswer) -> None:
        self._tokens += answer.used
        # One unknown cost makes the sum unknown; a sum of the others would look like a complete one.
        self._cost = None if self._cost is None or answer.cost is None else self._cost + answer.cost
        self.report_spending()

    def report_spending(self) -> None:
        """Reports the spending so far, even if it is zero: an absent value would mean that it is unknown."""
        self.update(tokens=self._tokens._asdict(), cost_usd=self._cost)

    def update(self, **changes: object) -> None:
        self._report |= changes
        if self._file is not None:
            write_json(self._file, {name: value for name, value in self._report.items() if value is not None})

    # --- the conversation ---

    def save(self, conversation: Conversation) -> None:
        """Writes the conversation, then reports its name: from now on it can be resumed, even after a kill."""
        if self._file is None:
            return
        write_json(self._session_file(self._name), encode_conversation(conversation))
        # Reported only after the first write: a reported conversation must exist.
        if "session" not in self._report:
            self.update(session=self._name)

    def load(self, session: str | None) -> Conversation:
        """Returns the conversation that the step resumes, or an empty one; raises `InputError`."""
        if session is None:
            return ()
        parts = session.split("/")
        # The name comes from a plan or from another agent, and must not lead out of the directory of the logs.
        if self._file is None or len(parts) != _PARTS or {"", ".", ".."} & set(parts):
            raise InputError(f"there is no conversation {session!r} to resume")
        try:
            with open(self._session_file(session), encoding="utf-8") as stream:  # noqa: PTH123
                return decode_conversation(json.load(stream))
        except (OSError, ValueError, RecursionError) as error:
            raise InputError(
                f"the conversation {session!r} cannot be resumed: {error}; it is stored with the logs of its "
                "run: take `resume` out of the step, or rerun the slice"
            ) from None

    def _session_file(self, session: str) -> str:
        return os.path.join(self._root, f"{session}{_SESSION}")  # noqa: PTH118
