"""Other names of files, for scripts: what `package.json` exports and imports, and the paths of `tsconfig.json`.

Each is a pattern with at most one `*` and some paths, of which the first that is there is meant. They are written
by anybody: what is too long or too much is left out, and no path leads out of the set, since only files of the set
are ever found.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import cast

from msgspec import Struct

from weft.decompose.paths import below, folder_of

PACKAGE = "package.json"
SETTINGS = frozenset({"tsconfig.json", "tsconfig.base.json", "jsconfig.json"})
_MOST = 256  # patterns of one file, and paths of one pattern
_LONGEST = 512
_FURTHER = 8  # settings that extend others
_NOT_JSON = re.compile(r'("(?:[^"\\]|\\.)*+(?:"|\Z))|//[^\n]*|/\*.*?(?:\*/|\Z)', re.DOTALL)
_COMMA_TOO_MUCH = re.compile(r'("(?:[^"\\]|\\.)*+(?:"|\Z))|,(?=\s*[}\]])', re.DOTALL)
_Object = Mapping[str, object]


class Aliases(Struct, frozen=True):
    exact: Mapping[str, tuple[str, ...]]
    open: tuple[tuple[str, str, tuple[str, ...]], ...]
    """What comes before the `*`, what comes after it, and the paths; the longest first."""

    @classmethod
    def of(cls, pairs: Iterable[tuple[str, str]]) -> "Aliases":
        """Of patterns and paths."""
        exact, wide = dict[str, list[str]](), dict[str, list[str]]()
        for pattern, path in pairs:
            if len(pattern) + len(path) < _LONGEST:
                paths = (wide if "*" in pattern else exact).setdefault(pattern, [])
                paths.append(path)
        parted = [(pattern.partition("*"), tuple(paths[:_MOST])) for pattern, paths in wide.items()]
        longest_first = sorted(parted, key=lambda one: (-len(one[0][0]), -len(one[0][2]), one))[:_MOST]
        return cls(
            {name: tuple(paths[:_MOST]) for name, paths in exact.items()},
            tuple((begin, end, paths) for (begin, _star, end), paths in longest_first),
        )

    def meant(self, said: str) -> Iterator[str]:
        """Where it may be, best first."""
        yield from self.exact.get(said, ())
        for begin, end, paths in self.open:
            if len(said) >= len(begin) + len(end) and said.startswith(begin) and said.endswith(end):
                middle = said[len(begin) : len(said) - len(end)]
                yield from (path.replace("*", middle, 1) for path in paths)


def loads(text: str) -> _Object:
    """An object, though there be comments and commas too many; empty if it is none."""
    try:
        found: object = json.loads(text)
    except (ValueError, RecursionError):
        try:
            found = json.loads(_COMMA_TOO_MUCH.sub(r"\1", _NOT_JSON.sub(r"\1", text)))
        except (ValueError, RecursionError):
            return {}
    return objects(found)


def objects(found: object) -> _Object:
    return cast("_Object", found) if isinstance(found, dict) else {}


def texts(found: object) -> list[str]:
    """Itself, or those in a list."""
    several = cast("list[object]", found) if isinstance(found, list) else [found]
    return [text for text in several if isinstance(text, str)]


# package.json


def of_package(data: _Object, folder: str) -> Aliases:
    """By what others call the package; only what it lets them have."""
    name = "".join(texts(data.get("name"))[:1])
    exports = data.get("exports")
    entries = objects(exports) if any(key.startswith(".") for key in objects(exports)) else {".": exports}
    pairs = [
        (name + key.removeprefix("."), below(folder, path))
        for key, found in entries.items()
        for path in _leaves(found)
    ]
    mains = [path for key in ("source", "module", "main", "types") for path in texts(data.get(key))]
    return Aliases.of([*pairs, *((name, below(folder, path)) for path in mains)])


def of_own(data: _Object, folder: str) -> Aliases:
    """What a package calls its own files."""
    imports = objects(data.get("imports"))
    pairs = [(key, below(folder, path)) for key, found in imports.items() for path in _leaves(found)]
    usual = [(f"{sign}/*", below(folder, f"{place}*")) for sign in "@~" for place in ("src/", "")]
    return Aliases.of([*pairs, *usual])


def _leaves(found: object) -> list[str]:
    """Paths under any condition, in the order in which they stand there."""
    paths, left = list[str](), [found]
    while left and len(paths) < _MOST:
        one = left.pop()
        paths.extend(texts(one))
        left.extend(reversed(list(objects(one).values())))
    return paths


# tsconfig.json


def of_settings(path: str, settings: Mapping[str, _Object]) -> Aliases:
    """Paths that hold below the folder of settings; what these extend counts where they say nothing."""
    base, paths = None, dict[str, list[str]]()
    for place, data in _extended(path, settings):
        options, folder = objects(data.get("compilerOptions")), folder_of(place)
        for url in texts(options.get("baseUrl")):
            base = below(folder, url)
        if said := objects(options.get("paths")):
            around = folder if base is None else base
            paths = {key: [below(around, one) for one in texts(found)] for key, found in said.items()}
    whole = [] if base is None else [("*", below(base, "*"))]
    return Aliases.of([*((key, one) for key, found in paths.items() for one in found), *whole])


def _extended(path: str, settings: Mapping[str, _Object]) -> list[tuple[str, _Object]]:
    """The file and what it extends, the furthest first."""
    found, left = list[tuple[str, _Object]](), [path]
    while left and len(found) < _FURTHER:
        place = left.pop()
        if place in settings:
            found.append((place, settings[place]))
            near = [below(folder_of(place), one) for one in texts(settings[place].get("extends"))]
            left.extend(end for one in near for end in (one, f"{one}.json", f"{one}/tsconfig.json"))
    return found[::-1]
