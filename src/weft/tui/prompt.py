"""The line of `weft top` in which a filter, a search or a command is typed."""

from typing import ClassVar

from textual.widgets import Input


class Prompt(Input):
    # Without this, Tab would move the focus away.
    BINDINGS: ClassVar = [("tab", "app.complete", "Complete")]
