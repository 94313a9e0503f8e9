"""Check the place for worktrees that a project's configuration sets.

Without approval, worktrees may be inside the project or in the user's cache. Any other place would let the author
of the project choose where Weft writes files.
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path

from weft.app.project.places import user_folder

_EXPRESSION = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}", re.DOTALL)
"""Expressions of a template. Their values are ids, which cannot lead to another directory."""


def is_usual_place(template: str, project: Path, environ: Mapping[str, str]) -> bool:
    """Returns whether worktrees may be here without approval. Links are resolved, as a clone may bring some."""
    place = Path(os.path.realpath(project / _EXPRESSION.sub("x", template)))
    inside, cache = Path(os.path.realpath(project)), user_folder(environ, "XDG_CACHE_HOME", ".cache").parent
    is_inside = place.is_relative_to(inside) and place != inside
    in_repository = place.is_relative_to(inside / ".git")
    return (is_inside and not in_repository) or place.is_relative_to(os.path.realpath(cache))
