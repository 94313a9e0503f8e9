"""Indexes of the files by the names that references use. Each index is built on first use."""

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property

from msgspec import Struct

from weft.decompose.paths import ends_with_path, find_nearest, folder_of, folder_with_parents, inside
from weft.decompose.references.manifests import Projects

_TOO_MANY = 64  # files of the same name: to choose one would be a guess, and slow
_MOST_OF_FOLDER = 8
# The ending, and whether it is a package. The last of several in one place wins, as in Python.
_KINDS_OF_MODULES = (("pyi", False), ("pyi", True), ("py", False), ("py", True))

Location = tuple[str, int | None]
"""A path without its ending, and the number of the file there, if there is one."""


class Index(Struct, frozen=True, kw_only=True, dict=True):
    """The files of the set, with lookups."""

    paths: Sequence[str]
    projects: Projects = Projects()
    name: str = ""
    """The name of the root folder."""

    @cached_property
    def numbers(self) -> Mapping[str, int]:
        return {path: number for number, path in enumerate(self.paths)}

    @cached_property
    def by_folder(self) -> Mapping[str, Sequence[int]]:
        """The files directly in each folder."""
        files_by_folder = dict[str, list[int]]()
        for number, path in enumerate(self.paths):
            files_by_folder.setdefault(folder_of(path), []).append(number)
        return files_by_folder

    @cached_property
    def folders(self) -> frozenset[str]:
        """All folders, including those without files of their own."""
        all_folders = {""}
        for folder in self.by_folder:
            for parent in folder_with_parents(folder):
                if parent in all_folders:
                    break
                all_folders.add(parent)
        return frozenset(all_folders)

    @cached_property
    def by_end(self) -> Mapping[str, Sequence[str]]:
        """Files by the last part of the path, and by the last two."""
        return _by_end(self.paths)

    @cached_property
    def folders_by_end(self) -> Mapping[str, Sequence[str]]:
        return _by_end(sorted(self.by_folder))

    @cached_property
    def modules(self) -> Mapping[str, int]:
        """Python modules by path without ending, and packages by the folder of their `__init__`."""
        modules_by_kind: dict[tuple[str, bool], dict[str, int]] = {kind: {} for kind in _KINDS_OF_MODULES}
        for number, path in enumerate(self.paths):
            place, _dot, ending = path.rpartition(".")
            folder, _slash, name = place.rpartition("/")
            if name and (ending, False) in modules_by_kind:
                modules_by_kind[ending, False][place] = number
                if name == "__init__":
                    modules_by_kind[ending, True][folder] = number
        return {place: number for modules in modules_by_kind.values() for place, number in modules.items()}

    @cached_property
    def tops(self) -> Mapping[str, AbstractSet[str]]:
        """By the name of a top-level Python module or package, the folders that contain one."""
        modules = [path.rpartition(".")[0] for path in self.paths if path.endswith((".py", ".pyi"))]
        folders_by_name = dict[str, set[str]]()
        for path in (*modules, *sorted(self.folders - {""})):
            folder, slash, name = path.rpartition("/")
            # A module inside a package is imported through the package, not by its own name.
            if not slash or f"{folder}/__init__.py" not in self.numbers:
                folders_by_name.setdefault(name, set()).add(folder)
        return folders_by_name

    @cached_property
    def _roots(self) -> dict[tuple[str, str], Sequence[str]]:
        return {}

    @cached_property
    def asked(self) -> dict[tuple[str, str, str], Location]:
        """A cache of lookups by language family, folder and target: files of a folder share the results."""
        return {}

    @cached_property
    def elsewhere(self) -> dict[str, Sequence[str]]:
        """A cache of the places of a Python module that is in no enclosing folder."""
        return {}

    def roots(self, folder: str, top: str) -> Sequence[str]:
        """Returns the enclosing folders in which Python finds a module of this name, the nearest first."""
        key = (folder, top)
        if key not in self._roots:
            folders = self.tops.get(top, ())
            self._roots[key] = [
                candidate for candidate in folder_with_parents(folder) if candidate in folders
            ]
        return self._roots[key]

    def first(self, paths: Iterable[str]) -> int | None:
        """Returns the first path that exists, as the number of its file."""
        numbers = self.numbers
        return next((numbers[path] for path in paths if path in numbers), None)

    def find_file_ending(self, suffix: str, *, seen_from: str) -> int | None:
        """Returns the file with a path that ends so; the nearest of several, and None if that is ambiguous."""
        candidates = self.by_end.get(_last_two(suffix), ())
        # The look-up by the last two names is cheap and mostly empty: most includes name files of libraries.
        if not candidates:
            return None
        # A file in an enclosing folder is the most likely target.
        enclosing = self.first(inside(folder, suffix) for folder in folder_with_parents(folder_of(seen_from)))
        if enclosing is not None or len(candidates) > _TOO_MANY:
            return enclosing
        best = find_nearest(seen_from, [path for path in candidates if ends_with_path(path, suffix)])
        return None if best is None else self.numbers[best]

    def find_folder_ending(self, suffix: str, *, seen_from: str) -> str | None:
        candidates = self.folders_by_end.get(_last_two(suffix), ())[:_TOO_MANY]
        return find_nearest(seen_from, [folder for folder in candidates if ends_with_path(folder, suffix)])

    def of_folder(self, folder: str, ending: str, *, without: str) -> list[int]:
        """Returns some files of a folder, which represent it as the target of a reference."""
        files = (number for number in self.by_folder.get(folder, ()) if self.paths[number].endswith(ending))
        return [number for number in files if not self.paths[number].endswith(without)][:_MOST_OF_FOLDER]


def _by_end(paths: Iterable[str]) -> Mapping[str, Sequence[str]]:
    paths_by_end = dict[str, list[str]]()
    for path in paths:
        for suffix in {path.rpartition("/")[2], _last_two(path)}:
            paths_by_end.setdefault(suffix, []).append(path)
    return paths_by_end


def _last_two(path: str) -> str:
    return "/".join(path.rsplit("/", 2)[-2:])
