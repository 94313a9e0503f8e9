"""Who is told of what happens in a run."""

from msgspec import Struct


class Notify(Struct, frozen=True, kw_only=True):
    on: tuple[str, ...]
    """Of which events."""
    run: str | tuple[str, ...] | None = None
    """A command: text for a shell, or an argv."""
    desktop: bool = False
    webhook: str | None = None
    """A URL."""
