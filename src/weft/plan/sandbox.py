"""What a process can reach, combined from several places of a plan."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from weft.plan.language.records import Values

SandboxParts = Mapping[str, Any]
"""What one place sets about a sandbox, by part."""


class Sandbox(Struct, frozen=True, kw_only=True):
    """What a process can reach."""

    use: str = "none"
    network: bool = True
    hide: tuple[str, ...] = ()
    """Paths as written."""
    read: tuple[str, ...] = ()
    write: tuple[str, ...] = ()

    @property
    def is_on(self) -> bool:
        return self.use != "none"


def sandbox_parts(value: str | Values) -> dict[str, Any]:
    """Returns the parts of a sandbox. Setting any part turns it on."""
    # `sandbox: bwrap` sets only `use`; a mapping turns the sandbox on.
    return {"use": value} if isinstance(value, str) else {"use": "bwrap", **value.by_key}
