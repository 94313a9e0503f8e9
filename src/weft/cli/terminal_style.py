"""The abilities of the terminal behind a stream."""

import os
from collections.abc import Mapping
from typing import TextIO

from weft.app.views.wording.style import Style
from weft.cli.terminal import takes_colours


def style_of(stream: TextIO | None, environ: Mapping[str, str] = os.environ) -> Style | None:
    """Returns the abilities of the terminal behind a stream; None if it is no terminal that can be drawn on."""
    if stream is None or not stream.isatty() or environ.get("TERM", "dumb") == "dumb":
        return None
    encoding = (getattr(stream, "encoding", None) or "ascii").lower().replace("-", "").replace("_", "")
    return Style(colours=takes_colours(stream, environ), unicode=encoding == "utf8")
