"""Whether the worktrees that a project's configuration asks for would be where they may be without asking.

That is inside the project, or in the user's own cache. A project that puts them elsewhere has Weft write files at
a place that somebody else has chosen.
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path

from weft.app.project.places import user_folder

_EXPRESSION = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}", re.DOTALL)
"""What a template fills in: ids, which lead nowhere."""


def is_usual_place(template: str, project: Path, environ: Mapping[str, str]) -> bool:
    """Links count as what they lead to: a clone may bring them."""
    place = Path(os.path.realpath(project / _EXPRESSION.sub("x", template)))
    inside, cache = Path(os.path.realpath(project)), user_folder(environ, "XDG_CACHE_HOME", ".cache").parent
    is_inside = place.is_relative_to(inside) and place != inside
    in_repository = place.is_relative_to(inside / ".git")
    return (is_inside and not in_repository) or place.is_relative_to(os.path.realpath(cache))
