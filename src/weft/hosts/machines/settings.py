"""The settings of a host that is other machines."""

from msgspec import Struct


class FarSettings(Struct, frozen=True, kw_only=True):
    """A host that is other machines."""

    name: str
    lost_after: float = 600.0
    head: int = 8 << 20
    """The first bytes of each output that are stored."""
    tail: int = 1 << 20
    linger: float = 3.0
    """Seconds after which an idle supervisor without a coordinator ends."""
    programs: tuple[str, ...] = ()
    """Agents to look for there."""
