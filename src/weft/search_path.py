"""The PATH by which Weft finds programs (git, bubblewrap, those of agents), and which steps inherit.

An entry such as `.`, or an empty one, depends on the current directory, and that is often the project's. A program
of that name which the project brings would run in place of the installed one. So these entries do not count.
A plan that wants its own programs found says so: `env: {PATH: ...}` is taken as it stands.
"""

import os
from collections.abc import Mapping


def search_path(environ: Mapping[str, str]) -> str:
    """The absolute directories of the PATH; the system's usual ones if there is none of them."""
    # An empty PATH would not do: to a shell it is the current directory.
    return _absolute(environ) or os.defpath


def _absolute(environ: Mapping[str, str]) -> str:
    folders = environ.get("PATH", os.defpath).split(os.pathsep)
    return os.pathsep.join(folder for folder in folders if os.path.isabs(folder))  # noqa: PTH117 - a text


def find_program(name: str, environ: Mapping[str, str]) -> str | None:
    """Where the program is; None if it is in no absolute directory of the PATH."""
    from shutil import which  # noqa: PLC0415 - it loads the modules of three compressions

    return which(name, path=_absolute(environ))
