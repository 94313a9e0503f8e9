"""The state of the last push of the target, as `push` events report it."""

from msgspec import Struct

from weft.engine.messages.landing_events import PushEvent


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


def push_state(event: PushEvent) -> PushState:
    return PushState(
        remote=event.remote,
        commit=event.commit,
        message=event.message,
        command=event.command,
        is_final=bool(event.final),
    )
