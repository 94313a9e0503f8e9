"""Whether what has landed is pushed, as the events `push` of a run say."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct


class PushState(Struct, frozen=True, kw_only=True):
    """The last push of the target."""

    remote: str
    """As in the plan: the name of a remote, or `true` for the upstream."""
    commit: str = ""
    """What was pushed; empty if nothing was."""
    message: str = ""
    """Why it was not pushed; empty if it was."""
    command: str = ""
    """What a person types to push it, if that is all there is to do."""
    is_final: bool = False
    """Whether the run does not try it again."""

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
    """The data of an event `push`."""
    return PushState(
        remote=str(data.get("remote", "")),
        commit=str(data.get("commit", "")),
        message=str(data.get("message", "")),
        command=str(data.get("command", "")),
        is_final=bool(data.get("final", False)),
    )
