"""The state of the last push of the target, as `push` events report it."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct


class PushState(Struct, frozen=True, kw_only=True):
    """The last push of the target."""

    remote: str
    """As in the plan: the name of a remote, or `true` for the upstream."""
    commit: str = ""
    """The pushed commit; empty if the push failed."""
    message: str = ""
    """The reason of a failed push; empty if it succeeded."""
    command: str = ""
    """The command that pushes it, if a person has nothing else to do."""
    is_final: bool = False
    """Whether the run does not retry the push."""

    @property
    def is_pushed(self) -> bool:
        return not self.message

    def to_json(self) -> dict[str, object]:
        return {
            "pushed": self.is_pushed,
            "remote": self.remote,
            "commit": self.commit or None,
            "message": self.message or None,
            "command": self.command or None,
            "final": self.is_final,
        }


def push_state(data: Mapping[str, Any]) -> PushState:
    """Returns the state that the data of a `push` event describes."""
    return PushState(
        remote=str(data.get("remote", "")),
        commit=str(data.get("commit", "")),
        message=str(data.get("message", "")),
        command=str(data.get("command", "")),
        is_final=bool(data.get("final", False)),
    )
