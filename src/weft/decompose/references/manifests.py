"""What projects call themselves and their files: a reference by that name is one to their files.

A manifest is as hostile as any file: it is read in time that grows with its length, whatever is in it, and one
that makes no sense names nothing.
"""

import re
from collections.abc import Iterator, Mapping

from msgspec import Struct

from weft.decompose.paths import below, folder_of
from weft.decompose.references.aliases import (
    PACKAGE,
    SETTINGS,
    Aliases,
    loads,
    of_own,
    of_package,
    of_settings,
    texts,
)

NAMES = frozenset({"go.mod", "Cargo.toml", PACKAGE}) | SETTINGS

_CRATE_NAME = re.compile(r"""\s*name\s*=\s*["']([\w-]+)["']""")


class Projects(Struct, frozen=True, kw_only=True):
    packages: Mapping[str, str] = {}
    """Folders by name: modules of Go, packages of npm, crates."""
    exports: Mapping[str, Aliases] = {}
    """What packages of npm let others have, by name."""
    own: Mapping[str, tuple[Aliases, ...]] = {}
    """Names that hold below a folder."""


def projects(manifests: Mapping[str, bytes]) -> Projects:
    """From the contents of manifests by path. Of two with one name, the first in the order of paths counts."""
    packages, exports, own = dict[str, str](), dict[str, Aliases](), dict[str, list[Aliases]]()
    said = {path: manifests[path].decode("utf-8", "replace") for path in sorted(manifests)}
    settings = {path: loads(text) for path, text in said.items() if _name(path) in SETTINGS}
    for path, text in said.items():
        folder, name = folder_of(path), _name(path)
        if name in SETTINGS:
            own.setdefault(folder, []).append(of_settings(path, settings))
        elif name == PACKAGE:
            data = loads(text)
            own.setdefault(folder, []).append(of_own(data, folder))
            for called in texts(data.get("name"))[:1]:
                packages.setdefault(called, folder)
                exports.setdefault(called, of_package(data, folder))
        else:
            for called, place in _of_go(text, folder) if name == "go.mod" else _of_cargo(text, folder):
                packages.setdefault(called, place)
    return Projects(
        packages=packages, exports=exports, own={folder: tuple(several) for folder, several in own.items()}
    )


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def _of_go(text: str, folder: str) -> Iterator[tuple[str, str]]:
    """The module, and others that are taken from folders beside it."""
    for line in text.splitlines():
        match line.split("//")[0].replace('"', "").split():
            case ["module", name]:
                yield name, folder
            case ["replace", name, *_version, "=>", place] | [name, *_version, "=>", place] if (
                place[0] == "."
            ):
                yield name, below(folder, place)
            case _:
                pass


def _of_cargo(text: str, folder: str) -> Iterator[tuple[str, str]]:
    """The crate, and its library if that is called otherwise.

    Line by line: what reads all of TOML may take forever for some that nobody writes but to do harm.
    """
    table = ""
    for line in text.splitlines():
        if line.startswith("["):
            table = line.strip(" []")
        if table in {"package", "lib"} and (name := _CRATE_NAME.match(line)):
            yield name[1].replace("-", "_"), folder
