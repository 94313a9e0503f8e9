"""What a process can reach, put together from what a plan says at several places."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from weft.plan.language.records import Values

SandboxParts = Mapping[str, Any]
"""What one place says about it, by the names of the parts."""


class Sandbox(Struct, frozen=True, kw_only=True):
    use: str = "none"
    network: bool = True
    hide: tuple[str, ...] = ()
    """Paths, as they were written."""
    read: tuple[str, ...] = ()
    write: tuple[str, ...] = ()

    @property
    def is_on(self) -> bool:
        return self.use != "none"


def sandbox_parts(given: str | Values) -> dict[str, Any]:
    """Of what was read; whoever says more about a sandbox wants one."""
    return {"use": given} if isinstance(given, str) else {"use": "bwrap", **given.given}
