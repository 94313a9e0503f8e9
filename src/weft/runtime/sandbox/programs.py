"""The directories in hidden places that must be visible for the programs in them to run.

A program in a home is often a link, or needs the libraries beside its `bin`. So for each directory of the PATH the
whole installation is visible if it is one (of Node, an environment of Python, a prefix with a `lib`), otherwise
only the directory. A home or its `.local` does not count as an installation, because it holds other files as well.
"""

import sys
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from weft.search_path import find_program

_SHIMS = "shims"
"""The directory of programs of version managers such as pyenv."""
_OF_SOMETHING = frozenset({"bin", _SHIMS})
_PACKAGES = "node_modules"
_ENVIRONMENT = "pyvenv.cfg"
_WEFT = Path(__file__).parents[3]


def program_folders(search: str, programs: Sequence[str], hidden: Collection[Path]) -> list[Path]:
    """Returns the unresolved directories in hidden places that this PATH and these programs need.

    A directory that contains a hidden place as a whole is left out.
    """
    folders: list[Path] = []
    for folder in map(Path, search.split(":")):
        if folder.is_absolute() and is_hidden(folder, hidden):
            folders += [folder, *_installation(folder.resolve(), hidden)]
    called = (find_program(name, {"PATH": search}) for name in programs)
    for program in (*filter(None, called), sys.executable):
        folders += _of_program(Path(program).resolve(), hidden)
    # Agents that Weft itself provides are Python programs of this installation.
    folders += [Path(sys.prefix), Path(sys.base_prefix), _WEFT]
    return [
        folder
        for folder in dict.fromkeys(folders)
        if is_hidden(folder, hidden) and not _uncovers(folder, hidden)
    ]


def is_hidden(path: Path, hidden: Collection[Path]) -> bool:
    """Returns whether the path, as written or resolved, is in one of these places."""
    return any(form.is_relative_to(place) for place in hidden for form in (path, path.resolve()))


def _uncovers(path: Path, hidden: Collection[Path]) -> bool:
    return any(place.is_relative_to(path.resolve()) for place in hidden)


def _of_program(program: Path, hidden: Collection[Path]) -> Iterator[Path]:
    outermost = next((folder for folder in reversed(program.parents) if folder.name == _PACKAGES), None)
    if outermost is None:
        yield from _installation(program.parent, hidden)
    else:
        yield outermost


def _installation(folder: Path, hidden: Collection[Path]) -> Iterator[Path]:
    """Yields the installation that a directory of programs belongs to."""
    above = folder.parent
    if folder.name not in _OF_SOMETHING or above in hidden or above.name == ".local":
        yield folder
    elif folder.name == _SHIMS:
        yield above
    elif (above / _ENVIRONMENT).is_file():
        yield above
        yield from _interpreter(above / _ENVIRONMENT, hidden)
    else:
        yield above if (above / "lib").is_dir() else folder


def _interpreter(file: Path, hidden: Collection[Path]) -> Iterator[Path]:
    """Yields the interpreter of a Python environment."""
    for line in file.read_text(errors="replace").splitlines():
        name, _, value = line.partition("=")
        if name.strip() == "home" and Path(value.strip()) != file.parent / "bin":
            yield from _installation(Path(value.strip()).resolve(), hidden)
