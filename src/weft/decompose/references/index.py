"""The files of the set, to be found by what others call them. Each way to find them is made when it is needed."""

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property

from msgspec import Struct

from weft.decompose.paths import around, ends, folder_of, inside, nearest
from weft.decompose.references.manifests import Projects

_TOO_MANY = 64  # of the same name: to say which is meant would be a guess, and slow
_OF_A_FOLDER = 8
# The ending, and whether it is a package. Of several in one place the last counts, as it does for Python.
_KINDS_OF_MODULES = (("pyi", False), ("pyi", True), ("py", False), ("py", True))

Found = tuple[str, int | None]
"""Where something is, and the file, if there is one."""


class Index(Struct, frozen=True, kw_only=True, dict=True):
    paths: Sequence[str]
    projects: Projects = Projects()
    name: str = ""
    """What the folder is called that all the files are in."""

    @cached_property
    def numbers(self) -> Mapping[str, int]:
        return {path: number for number, path in enumerate(self.paths)}

    @cached_property
    def by_folder(self) -> Mapping[str, Sequence[int]]:
        """What is right in it."""
        found = dict[str, list[int]]()
        for number, path in enumerate(self.paths):
            found.setdefault(folder_of(path), []).append(number)
        return found

    @cached_property
    def folders(self) -> frozenset[str]:
        """Those without files of their own, too."""
        found = {""}
        for folder in self.by_folder:
            for one in around(folder):
                if one in found:
                    break
                found.add(one)
        return frozenset(found)

    @cached_property
    def by_end(self) -> Mapping[str, Sequence[str]]:
        """Files by the last part of the path, and by the last two."""
        return _by_end(self.paths)

    @cached_property
    def folders_by_end(self) -> Mapping[str, Sequence[str]]:
        return _by_end(sorted(self.by_folder))

    @cached_property
    def modules(self) -> Mapping[str, int]:
        """Modules of Python by their place: the path without its ending, or the folder whose `__init__` it is."""
        found: dict[tuple[str, bool], dict[str, int]] = {kind: {} for kind in _KINDS_OF_MODULES}
        for number, path in enumerate(self.paths):
            place, _dot, ending = path.rpartition(".")
            folder, _slash, name = place.rpartition("/")
            if name and (ending, False) in found:
                found[ending, False][place] = number
                if name == "__init__":
                    found[ending, True][folder] = number
        return {place: number for modules in found.values() for place, number in modules.items()}

    @cached_property
    def tops(self) -> Mapping[str, AbstractSet[str]]:
        """Folders with modules of Python or packages, by the name of these; the folders are no packages."""
        modules = [path.rpartition(".")[0] for path in self.paths if path.endswith((".py", ".pyi"))]
        found = dict[str, set[str]]()
        for path in (*modules, *sorted(self.folders - {""})):
            folder, slash, name = path.rpartition("/")
            if not slash or f"{folder}/__init__.py" not in self.numbers:
                found.setdefault(name, set()).add(folder)
        return found

    @cached_property
    def _roots(self) -> dict[tuple[str, str], Sequence[str]]:
        return {}

    @cached_property
    def asked(self) -> dict[tuple[str, str, str], Found]:
        """Answers to what files of a folder may all ask: a language, the folder and what is meant."""
        return {}

    @cached_property
    def elsewhere(self) -> dict[str, Sequence[str]]:
        """Where a module of Python is, whoever asks; for those that have been asked for."""
        return {}

    def roots(self, folder: str, top: str) -> Sequence[str]:
        """Of a folder and those around it, those where Python finds a module of this name, the nearest first."""
        key = (folder, top)
        if key not in self._roots:
            places = self.tops.get(top, ())
            self._roots[key] = [one for one in around(folder) if one in places]
        return self._roots[key]

    def first(self, paths: Iterable[str]) -> int | None:
        """The first that is there, if any."""
        numbers = self.numbers
        return next((numbers[path] for path in paths if path in numbers), None)

    def ending(self, end: str, *, seen_from: str) -> int | None:
        """The file whose path ends so; among several the one nearest, and none if it is not clear which."""
        found = self.by_end.get(_last_two(end), ())
        if not found:
            return None
        upwards = self.first(inside(folder, end) for folder in around(folder_of(seen_from)))
        if upwards is not None or len(found) > _TOO_MANY:
            return upwards
        chosen = nearest(seen_from, [path for path in found if ends(path, end)])
        return None if chosen is None else self.numbers[chosen]

    def folder_ending(self, end: str, *, seen_from: str) -> str | None:
        found = self.folders_by_end.get(_last_two(end), ())[:_TOO_MANY]
        return nearest(seen_from, [folder for folder in found if ends(folder, end)])

    def of_folder(self, folder: str, ending: str, *, without: str) -> list[int]:
        """Some of its files: who refers to a folder is bound to it, whichever of them stand for it."""
        files = (number for number in self.by_folder.get(folder, ()) if self.paths[number].endswith(ending))
        return [number for number in files if not self.paths[number].endswith(without)][:_OF_A_FOLDER]


def _by_end(paths: Iterable[str]) -> Mapping[str, Sequence[str]]:
    found = dict[str, list[str]]()
    for path in paths:
        for end in {path.rpartition("/")[2], _last_two(path)}:
            found.setdefault(end, []).append(path)
    return found


def _last_two(path: str) -> str:
    return "/".join(path.rsplit("/", 2)[-2:])
