"""Aliases of JavaScript and TypeScript files: exports and imports of `package.json`, and paths of `tsconfig.json`.

An alias is a pattern with at most one `*` and a list of paths. The first path that exists counts. Aliases are
untrusted: those that are too long or too many are ignored, and no path leads out of the set, because only files
of the set are ever looked up.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import cast

from msgspec import Struct

from weft.decompose.paths import folder_of, resolve_path

PACKAGE = "package.json"
SETTINGS = frozenset({"tsconfig.json", "tsconfig.base.json", "jsconfig.json"})
_MOST = 256  # patterns of one file, and paths of one pattern
_LONGEST = 512
_MOST_EXTENDED = 8  # settings that extend others
_COMMENT = re.compile(r'("(?:[^"\\]|\\.)*+(?:"|\Z))|//[^\n]*|/\*.*?(?:\*/|\Z)', re.DOTALL)
_TRAILING_COMMA = re.compile(r'("(?:[^"\\]|\\.)*+(?:"|\Z))|,(?=\s*[}\]])', re.DOTALL)
_Object = Mapping[str, object]


class Aliases(Struct, frozen=True):
    """Patterns and the paths that they stand for."""

    exact: Mapping[str, tuple[str, ...]]
    open: tuple[tuple[str, str, tuple[str, ...]], ...]
    """The text before the `*`, the text after it, and the paths; the longest first."""

    @classmethod
    def of(cls, pairs: Iterable[tuple[str, str]]) -> "Aliases":
        """Builds aliases from pairs of pattern and path."""
        exact, wide = dict[str, list[str]](), dict[str, list[str]]()
        for pattern, path in pairs:
            if len(pattern) + len(path) < _LONGEST:
                paths = (wide if "*" in pattern else exact).setdefault(pattern, [])
                paths.append(path)
        split_patterns = [(pattern.partition("*"), tuple(paths[:_MOST])) for pattern, paths in wide.items()]
        # The most specific pattern wins, as in Node.js and TypeScript.
        longest_first = sorted(
            split_patterns, key=lambda entry: (-len(entry[0][0]), -len(entry[0][2]), entry)
        )[:_MOST]
        return cls(
            {name: tuple(paths[:_MOST]) for name, paths in exact.items()},
            tuple((prefix, suffix, paths) for (prefix, _star, suffix), paths in longest_first),
        )

    def resolve(self, name: str) -> Iterator[str]:
        """Yields the paths that a name may mean, the best first."""
        yield from self.exact.get(name, ())
        for prefix, suffix, paths in self.open:
            if len(name) >= len(prefix) + len(suffix) and name.startswith(prefix) and name.endswith(suffix):
                middle = name[len(prefix) : len(name) - len(suffix)]
                yield from (path.replace("*", middle, 1) for path in paths)


def parse_json(text: str) -> _Object:
    """Parses a JSON object that may have comments and trailing commas; empty if it is invalid."""
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        try:
            value = json.loads(_TRAILING_COMMA.sub(r"\1", _COMMENT.sub(r"\1", text)))
        except (ValueError, RecursionError):
            return {}
    return as_object(value)


def as_object(value: object) -> _Object:
    return cast("_Object", value) if isinstance(value, dict) else {}


def as_texts(value: object) -> list[str]:
    """Returns a string as a list, or the strings of a list."""
    values = cast("list[object]", value) if isinstance(value, list) else [value]
    return [text for text in values if isinstance(text, str)]


# package.json


def package_exports(data: _Object, folder: str) -> Aliases:
    """Returns the exports of a package by the name that others use."""
    name = "".join(as_texts(data.get("name"))[:1])
    exports = data.get("exports")
    entries = as_object(exports) if any(key.startswith(".") for key in as_object(exports)) else {".": exports}
    pairs = [
        (name + key.removeprefix("."), resolve_path(folder, path))
        for key, entry in entries.items()
        for path in _collect_paths(entry)
    ]
    mains = [path for key in ("source", "module", "main", "types") for path in as_texts(data.get(key))]
    return Aliases.of([*pairs, *((name, resolve_path(folder, path)) for path in mains)])


def package_imports(data: _Object, folder: str) -> Aliases:
    """Returns the names that a package uses for its own files."""
    imports = as_object(data.get("imports"))
    pairs = [
        (key, resolve_path(folder, path)) for key, entry in imports.items() for path in _collect_paths(entry)
    ]
    # Most bundlers understand `@/` and `~/` without any setting.
    usual = [
        (f"{prefix}/*", resolve_path(folder, f"{folder_prefix}*"))
        for prefix in "@~"
        for folder_prefix in ("src/", "")
    ]
    return Aliases.of([*pairs, *usual])


def _collect_paths(entry: object) -> list[str]:
    """Returns the paths under all conditions, in order."""
    paths, pending = list[str](), [entry]
    while pending and len(paths) < _MOST:
        current = pending.pop()
        paths.extend(as_texts(current))
        pending.extend(reversed(list(as_object(current).values())))
    return paths


# tsconfig.json


def settings_paths(path: str, settings: Mapping[str, _Object]) -> Aliases:
    """Returns the paths that apply below the folder of a settings file, including those of extended files."""
    base, paths = None, dict[str, list[str]]()
    for place, data in _with_extended(path, settings):
        options, folder = as_object(data.get("compilerOptions")), folder_of(place)
        for url in as_texts(options.get("baseUrl")):
            base = resolve_path(folder, url)
        if path_patterns := as_object(options.get("paths")):
            path_base = folder if base is None else base
            paths = {
                key: [resolve_path(path_base, target) for target in as_texts(targets)]
                for key, targets in path_patterns.items()
            }
    whole = [] if base is None else [("*", resolve_path(base, "*"))]
    return Aliases.of([*((key, target) for key, targets in paths.items() for target in targets), *whole])


def _with_extended(path: str, settings: Mapping[str, _Object]) -> list[tuple[str, _Object]]:
    """Returns the settings file and those it extends, the most distant first."""
    # Settings may extend each other in a circle; the limit ends that.
    files, pending = list[tuple[str, _Object]](), [path]
    while pending and len(files) < _MOST_EXTENDED:
        place = pending.pop()
        if place in settings:
            files.append((place, settings[place]))
            candidates = [
                resolve_path(folder_of(place), target) for target in as_texts(settings[place].get("extends"))
            ]
            pending.extend(
                candidate
                for target in candidates
                for candidate in (target, f"{target}.json", f"{target}/tsconfig.json")
            )
    return files[::-1]
