"""Names of parts: titles and ids.

A **title** lists the folders that contain most of a part, each as deep as it distinguishes this part from
others. A folder ranks by the number of its files in the part, times the share of the folder that is in the part.
So a part with all of `src/weft/net` is named after that, rather than after `src/weft`, where it has a tenth,
or after a small folder that it has entirely. If folders are divided among parts, the most used files follow.

An **id** is a folder name that is far more frequent in the part than in its siblings. Several folders may share
the name: `src/net` and `tests/net` make `net`. If two siblings would have the same id, a distinguishing name is
appended to one; if no folder distinguishes them, the name of the most used file is.

A title names a file after the type that other files import most from it. Otherwise, and in ids, a file has its own
name, or, if that is meaningless like `index`, the name of what others import from it, or of its folder.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import nsmallest
from itertools import accumulate, count
from unicodedata import normalize

from msgspec import Struct

from weft.decompose.model import FEW_FILES, Signals
from weft.decompose.paths import folder_of
from weft.decompose.references.mentions import language_of

_LONGEST_BASE = 48  # an id may have 64 characters; the rest is for a suffix
_NAMES_SHOWN = 3
_LENGTH_SHOWN = 90
_NOT_IN_IDS = re.compile(r"[^a-z0-9_]+")
_WORD_INSIDE = re.compile(r"(?<=[A-Za-z0-9][a-z0-9])(?=[A-Z][a-z])")
_DISTINCTIVE_LEAD = 0.2  # the lead in frequency from which a name distinguishes a part
_USUAL_NAME_LEAD = 0.75  # the same for a name such as `src`
_USUAL = frozenset({"src", "source", "lib", "main", "java", "test", "tests", "internal", "pkg", "packages"})
_MEANINGLESS_STEMS = frozenset({"__init__", "index", "mod", "lib", "main"})  # names that languages prescribe


def slug(name: str) -> str:
    """Converts a name to a form that is valid in an id; empty if no character is left."""
    plain = normalize("NFKD", _WORD_INSIDE.sub("-", name)).encode("ascii", "ignore").decode().lower()
    return _NOT_IN_IDS.sub("-", plain).strip("-_")[:_LONGEST_BASE].rstrip("-_")


def stem(path: str) -> str:
    """Returns the name of a file up to its first dot, except a leading one."""
    name = path.rpartition("/")[2]
    return name[: name.find(".", 1)] if "." in name[1:] else name


class Names(Struct, frozen=True, kw_only=True):
    """Names parts of one set of files. Folders are numbered, the top first and each after its parent."""

    paths: Sequence[str]
    symbols: Sequence[str]
    uses: Mapping[int, Sequence[int]]
    own_folder: Sequence[int]
    """The folder of each file."""
    folders: Sequence[str]
    above: Sequence[int]
    """The parent of each folder; the top is its own parent."""
    sizes: Sequence[int]
    """The number of files in or below each folder."""
    usual: Sequence[bool]
    """Whether a folder's name is meaningless: `src` and the like, or a folder with nearly all of such a parent."""

    @classmethod
    def of(cls, signals: Signals) -> "Names":
        uses = dict[int, list[int]]()
        for user, used in signals.uses:
            uses.setdefault(user, []).append(used)
        numbers, folders, above = {"": 0}, [""], [0]
        own_folder = [
            _number_folder(path.rpartition("/")[0], numbers, folders, above) for path in signals.paths
        ]
        files_below = _count_with_parents(above, own_folder)
        sizes = [files_below[folder] for folder in range(len(folders))]
        return cls(
            paths=signals.paths,
            symbols=signals.symbols,
            uses=uses,
            own_folder=own_folder,
            folders=folders,
            above=above,
            sizes=sizes,
            usual=_find_usual(folders, above, sizes),
        )

    # Titles

    def title(self, group: Sequence[int]) -> str:
        inside = self._count_by_folder(group)
        shown = self._choose_folders(inside, len(group))
        at_the_top = sum(self.own_folder[file] == 0 for file in group)
        # Without a telling folder, the most used files name the part.
        if not shown or 2 * at_the_top > len(group):
            return _to_printable_line(_list_some(self._labels(group), len(group)))
        elsewhere = self._count_other_folders(group, shown)
        folder_list = _list_some([self.folders[folder] for folder in shown], len(shown) + elsewhere)
        if len(shown) == 1 and not elsewhere:
            detail = self._list_contents(shown[0], group, inside)
        else:
            detail = self._list_divided_files(shown, group, inside)
        return _to_printable_line(f"{folder_list}: {detail}" if detail else folder_list)

    def _choose_folders(self, inside: Mapping[int, int], size: int) -> list[int]:
        """Returns the folders for a title, those with the most files first; none contains another."""
        is_small = 2 * size <= len(self.paths)

        def rank(folder: int) -> tuple[bool, float, int]:
            # A folder with nearly all files, such as `src`, cannot distinguish a small part.
            is_everything = is_small and 10 * self.sizes[folder] >= 9 * len(self.paths)
            return is_everything, -(inside[folder] ** 2) / self.sizes[folder], -folder

        large = sorted(
            (folder for folder, files in inside.items() if folder and 10 * files >= size), key=rank
        )
        shown = list[int]()
        for folder in large:
            if not any(
                self._is_in(folder, shown_folder) or self._is_in(shown_folder, folder)
                for shown_folder in shown
            ):
                shown.append(self._descend(folder, large, inside))
        shown = sorted(shown[:_NAMES_SHOWN], key=lambda folder: (-inside[folder], folder))
        return _fit_on_line(shown, [len(self.folders[folder]) for folder in shown])

    def _descend(self, folder: int, large: Sequence[int], inside: Mapping[int, int]) -> int:
        """Descends to a subfolder as long as it contains nearly all files."""
        for further in sorted(large):
            if self.above[further] == folder and 10 * inside[further] >= 9 * inside[folder]:
                folder = further
        return folder

    def _is_in(self, folder: int, ancestor: int) -> bool:
        while folder > ancestor:
            folder = self.above[folder]
        return folder == ancestor

    def _count_other_folders(self, group: Sequence[int], shown: Sequence[int]) -> int:
        """Counts the folders of the group that are in none of the folders in the title."""
        own_folders = {self.own_folder[file] for file in group}
        return sum(
            not any(self._is_in(folder, shown_folder) for shown_folder in shown) for folder in own_folders
        )

    def _list_contents(self, folder: int, group: Sequence[int], inside: Mapping[int, int]) -> str:
        """Lists the subfolders of the only folder in the title, or its files."""
        children = [child for child in inside if child and self.above[child] == folder]
        if 2 * sum(inside[child] for child in children) < len(group):
            return _list_some(self._labels(group), len(group))
        children.sort(key=lambda child: (-inside[child], child))
        prefix_length = len(self.folders[folder]) + 1
        return _list_some([self.folders[child][prefix_length:] for child in children], len(children))

    def _list_divided_files(
        self, shown: Sequence[int], group: Sequence[int], inside: Mapping[int, int]
    ) -> str:
        """Lists the most used files of folders that are divided among parts, if these are much of the group."""
        divided = [folder for folder in shown if 10 * inside[folder] < 9 * self.sizes[folder]]
        if 2 * sum(inside[folder] for folder in divided) < len(group):
            return ""
        files = [
            file for file in group if any(self._is_in(self.own_folder[file], shared) for shared in divided)
        ]
        return ", ".join(self._labels(files, least=1))

    # Files

    def _labels(self, group: Sequence[int], *, least: int = 0) -> list[str]:
        """Returns labels of the files with the most users in the group; each has at least `least` users."""
        return list(dict.fromkeys(map(self._label, self._most_used(group, least=least))))[:_NAMES_SHOWN]

    def _most_used(self, group: Sequence[int], *, least: int) -> list[int]:
        members = set(group)
        users = Counter(used for user in group for used in self.uses.get(user, ()) if used in members)
        most = nsmallest(
            2 * _NAMES_SHOWN, group, key=lambda file: (-users[file], self._says_little(file), file)
        )
        return [file for file in most if users[file] >= least]

    def _says_little(self, file: int) -> tuple[bool, bool]:
        """Ranks equally used files: code is a better name than settings, and these than hidden files."""
        return language_of(self.paths[file]) is None, self.paths[file].rpartition("/")[2].startswith(".")

    def _label(self, file: int) -> str:
        symbol = self._symbol(file)
        return symbol if symbol[:1].isupper() and not symbol.isupper() else self._name(file)

    def _name(self, file: int) -> str:
        name = stem(self.paths[file])
        if name not in _MEANINGLESS_STEMS:
            return name
        return self._symbol(file) or self.folders[self.own_folder[file]].rpartition("/")[2] or name

    def _symbol(self, file: int) -> str:
        return self.symbols[file] if self.symbols else ""

    # Ids

    def ids(self, groups: Sequence[Sequence[int]]) -> list[str]:
        """Returns a unique id for each of several sibling groups."""
        names = [self._count_by_name(group) for group in groups]
        everywhere, total = _add_up(names)
        base_names = [
            slug(
                name
                # A name that stands for less than a third of the group would mislead, however distinctive it is.
                if 3 * group_names.files[name] >= group_names.size
                else self._covering_folder_name(group, everywhere, total) or name or self._package_name(group)
            )
            for group, group_names, (_lead, name) in zip(
                groups, names, _distinctive_names(names), strict=True
            )
        ]
        suffixes = _distinguish_equal_names(names, base_names)
        chosen, used_ids = [""] * len(groups), set[str]()
        # Groups with a weak suffix choose first: the others have a good alternative to the base name.
        for number in sorted(range(len(groups)), key=lambda number: (suffixes[number], number)):
            candidates = self._id_candidates(groups[number], base_names[number], slug(suffixes[number][1]))
            chosen[number] = next(name for name in candidates if name not in used_ids)
            used_ids.add(chosen[number])
        return chosen

    def _id_candidates(self, group: Sequence[int], base_name: str, suffix: str) -> Iterator[str]:
        """Yields ids for a group, the best first; the caller takes the first that is free."""
        if base_name:
            yield base_name
        if base_name and suffix not in {"", base_name}:
            yield _join_ids(base_name, suffix)
        files = [
            name for name in (slug(self._name(file)) for file in self._most_used(group, least=0)) if name
        ]
        yield from (_join_ids(base_name, name) for name in files)
        fallback = base_name or "".join(files[:1]) or "part"
        yield fallback
        # Endless, so that the caller always finds a free id.
        yield from (f"{fallback}-{number}" for number in count(2))

    def _covering_folder_name(self, group: Sequence[int], everywhere: Mapping[str, int], total: int) -> str:
        """Returns the name of the first folder in the title, if it has many files of the group and few others."""
        inside = self._count_by_folder(group)
        for folder in self._choose_folders(inside, len(group))[:1]:
            name = self.folders[folder].rpartition("/")[2]
            if (
                not self.usual[folder]
                and 3 * inside[folder] >= len(group)
                and 10 * everywhere[name] < 9 * total
            ):
                return name
        return ""

    def _package_name(self, group: Sequence[int]) -> str:
        """Returns the package of a large group: one file cannot stand for many, however much it is used."""
        shown = (
            self._choose_folders(self._count_by_folder(group), len(group)) if len(group) >= FEW_FILES else ()
        )
        names = (self.folders[folder].rpartition("/")[2] for folder in shown)
        return next((name for name in names if name not in _USUAL), "")

    def _count_by_name(self, group: Sequence[int]) -> "_FilesByName":
        files, depths = Counter[str](), dict[str, int]()
        for folder, number in self._count_by_folder(group).items():
            *parents, name = self.folders[folder].split("/")
            # A name is counted once per path: `a/x/b/x` is one folder called x.
            if name not in parents and (name in _USUAL or not self.usual[folder]):
                files[name] += number
                depths[name] = min(len(parents), depths.get(name, len(parents)))
        return _FilesByName(files=files, depths=depths, size=len(group))

    def _count_by_folder(self, group: Sequence[int]) -> Mapping[int, int]:
        """Counts the files of the group in or below each folder."""
        return _count_with_parents(self.above, map(self.own_folder.__getitem__, group))


class _FilesByName(Struct, frozen=True, kw_only=True):
    """The number of files of a group below folders of each name."""

    files: Counter[str]
    depths: Mapping[str, int]
    """The depth of the topmost folder of each name."""
    size: int
    """The number of files in the group."""


def _distinctive_names(groups: Sequence[_FilesByName]) -> list[tuple[float, str]]:
    """Returns for each group its most distinctive name, and the lead in frequency over the other groups.

    The topmost folder wins a tie. The name is empty if the lead is small or the name cannot be part of an id.
    """
    everywhere, total = _add_up(groups)
    return [_most_distinctive(group, everywhere, total - group.size) for group in groups]


def _add_up(groups: Sequence[_FilesByName]) -> tuple[Counter[str], int]:
    everywhere = Counter[str]()
    for group in groups:
        everywhere.update(group.files)
    return everywhere, sum(group.size for group in groups)


def _distinguish_equal_names(
    names: Sequence[_FilesByName], base_names: Sequence[str]
) -> list[tuple[float, str]]:
    """Returns for each group its most distinctive name among the groups with the same base name."""
    numbers_by_name = dict[str, list[int]]()
    for number, name in enumerate(base_names):
        numbers_by_name.setdefault(name, []).append(number)
    distinctions = [(0.0, "")] * len(names)
    for numbers in numbers_by_name.values():
        for number, distinction in zip(
            numbers, _distinctive_names([names[member] for member in numbers]), strict=True
        ):
            distinctions[number] = distinction
    return distinctions


def _most_distinctive(group: _FilesByName, everywhere: Counter[str], others: int) -> tuple[float, str]:
    leads = dict[str, float]()
    # A single group has no siblings from which a name could distinguish it.
    for name, files in group.files.items() if others else ():
        elsewhere = (everywhere[name] - files) / others
        lead = files / group.size - elsewhere
        is_distinctive = lead >= _USUAL_NAME_LEAD or (lead >= _DISTINCTIVE_LEAD and name not in _USUAL)
        if is_distinctive and slug(name):
            leads[name] = lead
    best = min(leads, key=lambda name: (-leads[name], group.depths[name], name), default="")
    return leads.get(best, 0.0), best


def _count_with_parents(above: Sequence[int], folders: Iterable[int]) -> Counter[int]:
    """Counts how often each folder, or one below it, occurs among the folders."""
    counts = Counter(folders)
    for start, times in list(counts.items()):
        folder = start
        while folder:
            folder = above[folder]
            counts[folder] += times
    return counts


def _number_folder(folder: str, numbers: dict[str, int], folders: list[str], above: list[int]) -> int:
    """Returns the number of a folder. A new folder gets one, after its parents."""
    if folder in numbers:
        return numbers[folder]
    missing = list[str]()
    while folder not in numbers:
        missing.append(folder)
        folder = folder_of(folder)
    for missing_folder in reversed(missing):
        above.append(numbers[folder_of(missing_folder)])
        numbers[missing_folder] = len(folders)
        folders.append(missing_folder)
    return numbers[missing[0]]


def _find_usual(folders: Sequence[str], above: Sequence[int], sizes: Sequence[int]) -> list[bool]:
    is_usual = [True]
    for folder in range(1, len(folders)):
        is_all = is_usual[above[folder]] and 10 * sizes[folder] >= 9 * sizes[above[folder]]
        is_usual.append(is_all or folders[folder].rpartition("/")[2] in _USUAL)
    return is_usual


def _join_ids(first: str, second: str) -> str:
    return f"{first}-{second}".strip("-")[:_LONGEST_BASE].rstrip("-_")


def _list_some(names: Sequence[str], of: int) -> str:
    """Lists the first names, and the number of the others."""
    shown = names[:_NAMES_SHOWN]
    return ", ".join(shown) + (f" and {of - len(shown)} more" if of > len(shown) else "")


def _fit_on_line(shown: list[int], lengths: Sequence[int]) -> list[int]:
    """Returns as many folders as fit on a line, but at least one."""
    room = [number for number, length in enumerate(accumulate(lengths)) if length <= _LENGTH_SHOWN]
    return shown[: max(1, len(room))]


def _to_printable_line(text: str) -> str:
    printable = text.encode("utf-8", "replace").decode()
    return "".join(letter if letter.isprintable() else "?" for letter in printable)
