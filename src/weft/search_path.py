"""The PATH by which Weft finds its own helpers: git, bubblewrap, the programs of agents.

An entry such as `.`, or an empty one, depends on the current directory, and that is often the project's. A program
of that name which the project brings would run in place of the installed one. So these entries do not count.
"""

import os
import shutil
from collections.abc import Mapping


def search_path(environ: Mapping[str, str]) -> str:
    """The absolute directories of the PATH."""
    folders = environ.get("PATH", os.defpath).split(os.pathsep)
    return os.pathsep.join(folder for folder in folders if os.path.isabs(folder))  # noqa: PTH117 - a text


def find_program(name: str, environ: Mapping[str, str]) -> str | None:
    """Where the program is; None if it is in no absolute directory of the PATH."""
    path = search_path(environ)
    return shutil.which(name, path=path) if path else None  # an empty path would stand for the default one
