"""The PATH in which Weft looks for programs (git, bubblewrap, agents), and which steps inherit.

An entry such as `.`, or an empty one, depends on the current directory, which is often that of the project. A file
of the project could then run in place of an installed program, so relative entries are ignored. A plan that needs
programs of its own sets `env: {PATH: ...}`, which is used unchanged.
"""

import os
from collections.abc import Mapping


def search_path(environ: Mapping[str, str]) -> str:
    """Returns the absolute directories of the PATH; the system's default if it has none."""
    # Never an empty PATH: for a shell that means the current directory.
    return _absolute(environ) or os.defpath


def _absolute(environ: Mapping[str, str]) -> str:
    folders = environ.get("PATH", os.defpath).split(os.pathsep)
    return os.pathsep.join(folder for folder in folders if os.path.isabs(folder))  # noqa: PTH117 - a text


def find_program(name: str, environ: Mapping[str, str]) -> str | None:
    """Returns the path of a program; None if it is in no absolute directory of the PATH."""
    from shutil import which  # noqa: PLC0415 - it loads the modules of three compressions

    return which(name, path=_absolute(environ))
