"""Whom to notify of what happens in a run."""

from msgspec import Struct


class Notify(Struct, frozen=True, kw_only=True):
    """One way to send notifications."""

    on: tuple[str, ...]
    """The events to notify of."""
    run: str | tuple[str, ...] | None = None
    """A command: text for a shell, or an argv."""
    desktop: bool = False
    webhook: str | None = None
    """A URL."""
