"""Names that projects give themselves and their files, from their manifests. References use these names.

A manifest is untrusted, like any file: it is read in time linear in its length, and an invalid one names nothing.
"""

import re
from collections.abc import Iterator, Mapping

from msgspec import Struct

from weft.decompose.paths import folder_of, resolve_path
from weft.decompose.references.aliases import (
    PACKAGE,
    SETTINGS,
    Aliases,
    as_texts,
    package_exports,
    package_imports,
    parse_json,
    settings_paths,
)

NAMES = frozenset({"go.mod", "Cargo.toml", PACKAGE}) | SETTINGS

_CRATE_NAME = re.compile(r"""\s*name\s*=\s*["']([\w-]+)["']""")


class Projects(Struct, frozen=True, kw_only=True):
    """The names that the manifests of a set define."""

    packages: Mapping[str, str] = {}
    """Folders by name: Go modules, npm packages and crates."""
    exports: Mapping[str, Aliases] = {}
    """The exports of npm packages, by name of the package."""
    own: Mapping[str, tuple[Aliases, ...]] = {}
    """Aliases that apply below a folder."""


def projects(manifests: Mapping[str, bytes]) -> Projects:
    """Reads manifests by path. If two define the same name, the first in the order of paths counts."""
    packages, exports, own = dict[str, str](), dict[str, Aliases](), dict[str, list[Aliases]]()
    texts_by_path = {path: manifests[path].decode("utf-8", "replace") for path in sorted(manifests)}
    settings = {
        path: parse_json(text) for path, text in texts_by_path.items() if _file_name(path) in SETTINGS
    }
    # Paths are sorted, and `setdefault` keeps the first manifest of a name.
    for path, text in texts_by_path.items():
        folder, name = folder_of(path), _file_name(path)
        if name in SETTINGS:
            own.setdefault(folder, []).append(settings_paths(path, settings))
        elif name == PACKAGE:
            data = parse_json(text)
            own.setdefault(folder, []).append(package_imports(data, folder))
            for package_name in as_texts(data.get("name"))[:1]:
                packages.setdefault(package_name, folder)
                exports.setdefault(package_name, package_exports(data, folder))
        else:
            for package_name, package_folder in (
                _go_packages(text, folder) if name == "go.mod" else _cargo_packages(text, folder)
            ):
                packages.setdefault(package_name, package_folder)
    return Projects(
        packages=packages, exports=exports, own={folder: tuple(aliases) for folder, aliases in own.items()}
    )


def _file_name(path: str) -> str:
    return path.rpartition("/")[2]


def _go_packages(text: str, folder: str) -> Iterator[tuple[str, str]]:
    """Yields the module, and modules that `replace` takes from local folders."""
    for line in text.splitlines():
        match line.split("//")[0].replace('"', "").split():
            case ["module", name]:
                yield name, folder
            case ["replace", name, *_version, "=>", place] | [name, *_version, "=>", place] if (
                place[0] == "."
            ):
                yield name, resolve_path(folder, place)
            case _:
                pass


def _cargo_packages(text: str, folder: str) -> Iterator[tuple[str, str]]:
    """Yields the crate, and its library if that has another name.

    It scans lines instead of parsing TOML: a TOML parser may take very long for malicious input.
    """
    table = ""
    for line in text.splitlines():
        if line.startswith("["):
            table = line.strip(" []")
        if table in {"package", "lib"} and (name := _CRATE_NAME.match(line)):
            # Code refers to the crate `a-b` as `a_b`.
            yield name[1].replace("-", "_"), folder
