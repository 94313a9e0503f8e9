"""Builds the page of `weft ui` into wheels; hatchling calls it."""

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

sys.path.insert(0, str(Path(__file__).parent / "ui"))
import bundle


class PageBuildHook(BuildHookInterface[Any]):
    def dependencies(self) -> list[str]:
        """Returns what a build needs: a node from PyPI, if there is none here and the page is not built yet."""
        return [] if bundle.is_current() or bundle.find_node() is not None else [bundle.NODE_WHEEL]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        # `make setup` builds the page of an editable installation, where a missing node is no error.
        if version != "editable" and not bundle.is_current():
            bundle.build()
