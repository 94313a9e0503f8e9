"""What parts are called.

A **title** names the folders that most of a part is in, each as far down as it tells this part from others. What
a folder tells is the number of its files that are here, times the share of it that is. So `src/weft/net`, all of
which is here, tells more than `src/weft`, of which a tenth is, and more than a small folder that is here entirely.
Where folders are divided over parts, the files follow that most others here use.

An **id** is the name of folders that is far more frequent in this part than in those beside it. It may be the name
of several: what is in `src/net` and `tests/net` is `net`. If two would be called the same, one adds what tells it
from the other; if no folder tells anything, the most used file does.

In a title a file is called as the type that most others take from it, if there is one. Else, and in ids, it has
its own name, or where that says nothing, as `index` does, that of what is taken from it or of its folder.
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

_LONGEST = 48  # of the 64 that an id may have: what tells two of the same name apart has room
_NAMES_SHOWN = 3
_LENGTH_SHOWN = 90
_NOT_IN_IDS = re.compile(r"[^a-z0-9_]+")
_WORD_INSIDE = re.compile(r"(?<=[A-Za-z0-9][a-z0-9])(?=[A-Z][a-z])")
_TELLS = 0.2  # a name tells a part from others if it is so much more frequent there
_ALL_ITS_OWN = 0.75  # and so much, if it is one that says little
_USUAL = frozenset({"src", "source", "lib", "main", "java", "test", "tests", "internal", "pkg", "packages"})
_SAYS_NOTHING = frozenset({"__init__", "index", "mod", "lib", "main"})  # languages want files to be called so


def slug(name: str) -> str:
    """Empty if there is nothing in it that an id may have."""
    plain = normalize("NFKD", _WORD_INSIDE.sub("-", name)).encode("ascii", "ignore").decode().lower()
    return _NOT_IN_IDS.sub("-", plain).strip("-_")[:_LONGEST].rstrip("-_")


def stem(path: str) -> str:
    """The name of a file without what comes after the first dot that is not its beginning."""
    name = path.rpartition("/")[2]
    return name[: name.find(".", 1)] if "." in name[1:] else name


class Names(Struct, frozen=True, kw_only=True):
    """Knows the whole set. Folders are numbered; the first is the top, and each comes after the one it is in."""

    paths: Sequence[str]
    symbols: Sequence[str]
    uses: Mapping[int, Sequence[int]]
    own_folder: Sequence[int]
    """Of each file."""
    folders: Sequence[str]
    above: Sequence[int]
    """Of each folder the one it is in; the top is in itself."""
    sizes: Sequence[int]
    """How many files are in each, or further down."""
    usual: Sequence[bool]
    """Whether a folder's name says little: it is such a one, or nearly all that is in such a folder, or at all."""

    @classmethod
    def of(cls, signals: Signals) -> "Names":
        uses = dict[int, list[int]]()
        for user, used in signals.uses:
            uses.setdefault(user, []).append(used)
        numbers, folders, above = {"": 0}, [""], [0]
        own_folder = [_number(path.rpartition("/")[0], numbers, folders, above) for path in signals.paths]
        found = _with_those_around(above, own_folder)
        sizes = [found[folder] for folder in range(len(folders))]
        return cls(
            paths=signals.paths,
            symbols=signals.symbols,
            uses=uses,
            own_folder=own_folder,
            folders=folders,
            above=above,
            sizes=sizes,
            usual=_usual(folders, above, sizes),
        )

    # Titles

    def title(self, group: Sequence[int]) -> str:
        inside = self._inside(group)
        shown = self._shown(inside, len(group))
        at_the_top = sum(self.own_folder[file] == 0 for file in group)
        if not shown or 2 * at_the_top > len(group):
            return _on_one_line(_listed(self._labels(group), len(group)))
        elsewhere = self._elsewhere(group, shown)
        said = _listed([self.folders[folder] for folder in shown], len(shown) + elsewhere)
        if len(shown) == 1 and not elsewhere:
            more = self._what_is_in(shown[0], group, inside)
        else:
            more = self._what_is_here(shown, group, inside)
        return _on_one_line(f"{said}: {more}" if more else said)

    def _shown(self, inside: Mapping[int, int], size: int) -> list[int]:
        """Folders that tell most, those with most files first; none is in another."""
        is_small = 2 * size <= len(self.paths)

        def rank(folder: int) -> tuple[bool, float, int]:
            is_everything = is_small and 10 * self.sizes[folder] >= 9 * len(self.paths)
            return is_everything, -(inside[folder] ** 2) / self.sizes[folder], -folder

        large = sorted(
            (folder for folder, files in inside.items() if folder and 10 * files >= size), key=rank
        )
        shown = list[int]()
        for folder in large:
            if not any(self._is_in(folder, other) or self._is_in(other, folder) for other in shown):
                shown.append(self._down(folder, large, inside))
        shown = sorted(shown[:_NAMES_SHOWN], key=lambda folder: (-inside[folder], folder))
        return _fitting(shown, [len(self.folders[folder]) for folder in shown])

    def _down(self, folder: int, large: Sequence[int], inside: Mapping[int, int]) -> int:
        """Further down, if nearly all is there."""
        for further in sorted(large):
            if self.above[further] == folder and 10 * inside[further] >= 9 * inside[folder]:
                folder = further
        return folder

    def _is_in(self, folder: int, other: int) -> bool:
        while folder > other:
            folder = self.above[folder]
        return folder == other

    def _elsewhere(self, group: Sequence[int], shown: Sequence[int]) -> int:
        """How many folders have files that are in none of those."""
        own = {self.own_folder[file] for file in group}
        return sum(not any(self._is_in(folder, other) for other in shown) for folder in own)

    def _what_is_in(self, folder: int, group: Sequence[int], inside: Mapping[int, int]) -> str:
        """Folders in the only one, or its files."""
        further = [one for one in inside if one and self.above[one] == folder]
        if 2 * sum(inside[one] for one in further) < len(group):
            return _listed(self._labels(group), len(group))
        further.sort(key=lambda one: (-inside[one], one))
        begin = len(self.folders[folder]) + 1
        return _listed([self.folders[one][begin:] for one in further], len(further))

    def _what_is_here(self, shown: Sequence[int], group: Sequence[int], inside: Mapping[int, int]) -> str:
        """The most used files of folders that other parts have files of, too, if that is much of it."""
        divided = [folder for folder in shown if 10 * inside[folder] < 9 * self.sizes[folder]]
        if 2 * sum(inside[folder] for folder in divided) < len(group):
            return ""
        files = [file for file in group if any(self._is_in(self.own_folder[file], one) for one in divided)]
        return ", ".join(self._labels(files, least=1))

    # Files

    def _labels(self, group: Sequence[int], *, least: int = 0) -> list[str]:
        """What the files are called that most others of the group refer to, and at least so many; those first."""
        return list(dict.fromkeys(map(self._label, self._most_used(group, least=least))))[:_NAMES_SHOWN]

    def _most_used(self, group: Sequence[int], *, least: int) -> list[int]:
        here = set(group)
        users = Counter(used for user in group for used in self.uses.get(user, ()) if used in here)
        most = nsmallest(
            2 * _NAMES_SHOWN, group, key=lambda file: (-users[file], self._says_little(file), file)
        )
        return [file for file in most if users[file] >= least]

    def _says_little(self, file: int) -> tuple[bool, bool]:
        """Of files that are used as often, code names a part better than settings, and these than hidden files."""
        return language_of(self.paths[file]) is None, self.paths[file].rpartition("/")[2].startswith(".")

    def _label(self, file: int) -> str:
        symbol = self._symbol(file)
        return symbol if symbol[:1].isupper() and not symbol.isupper() else self._name(file)

    def _name(self, file: int) -> str:
        name = stem(self.paths[file])
        if name not in _SAYS_NOTHING:
            return name
        return self._symbol(file) or self.folders[self.own_folder[file]].rpartition("/")[2] or name

    def _symbol(self, file: int) -> str:
        return self.symbols[file] if self.symbols else ""

    # Ids

    def ids(self, groups: Sequence[Sequence[int]]) -> list[str]:
        """One for each of the groups beside each other; no two are the same."""
        names = [self._by_name(group) for group in groups]
        everywhere, total = _sum(names)
        called = [
            slug(
                name
                if 3 * own.files[name] >= own.size
                else self._most_covering(group, everywhere, total) or name or self._whole_of(group)
            )
            for group, own, (_lead, name) in zip(groups, names, _telling(names), strict=True)
        ]
        further = _telling_from_alike(names, called)
        chosen, taken = [""] * len(groups), set[str]()
        for number in sorted(range(len(groups)), key=lambda number: (further[number], number)):
            wanted = self._wanted(groups[number], called[number], slug(further[number][1]))
            chosen[number] = next(name for name in wanted if name not in taken)
            taken.add(chosen[number])
        return chosen

    def _wanted(self, group: Sequence[int], called: str, further: str) -> Iterator[str]:
        """The best one first; what comes next is made only if that is taken."""
        if called:
            yield called
        if called and further not in {"", called}:
            yield _joined(called, further)
        files = [
            name for name in (slug(self._name(file)) for file in self._most_used(group, least=0)) if name
        ]
        yield from (_joined(called, name) for name in files)
        usual = called or "".join(files[:1]) or "part"
        yield usual
        yield from (f"{usual}-{number}" for number in count(2))

    def _most_covering(self, group: Sequence[int], everywhere: Mapping[str, int], total: int) -> str:
        """The name of the first folder of its title, if much is there, and not of all the others, too."""
        inside = self._inside(group)
        for folder in self._shown(inside, len(group))[:1]:
            name = self.folders[folder].rpartition("/")[2]
            if (
                not self.usual[folder]
                and 3 * inside[folder] >= len(group)
                and 10 * everywhere[name] < 9 * total
            ):
                return name
        return ""

    def _whole_of(self, group: Sequence[int]) -> str:
        """For many files the name of their package: no single file stands for them, however much used."""
        shown = self._shown(self._inside(group), len(group)) if len(group) >= FEW_FILES else ()
        names = (self.folders[folder].rpartition("/")[2] for folder in shown)
        return next((name for name in names if name not in _USUAL), "")

    def _by_name(self, group: Sequence[int]) -> "_ByName":
        files, depths = Counter[str](), dict[str, int]()
        for folder, number in self._inside(group).items():
            *around, name = self.folders[folder].split("/")
            if name not in around and (name in _USUAL or not self.usual[folder]):
                files[name] += number
                depths[name] = min(len(around), depths.get(name, len(around)))
        return _ByName(files=files, depths=depths, size=len(group))

    def _inside(self, group: Sequence[int]) -> Mapping[int, int]:
        """How many files of the group are in each folder or further down."""
        return _with_those_around(self.above, map(self.own_folder.__getitem__, group))


class _ByName(Struct, frozen=True, kw_only=True):
    """How many files of a group are below folders of each name."""

    files: Counter[str]
    depths: Mapping[str, int]
    """How far down the topmost of them is."""
    size: int
    """Files of the group."""


def _telling(groups: Sequence[_ByName]) -> list[tuple[float, str]]:
    """For each group the name that is most its own, and how much more frequent it is there than in the others.

    Of several, the topmost. None if it is hardly more frequent, or nothing of it may be in an id.
    """
    everywhere, total = _sum(groups)
    return [_most_telling(group, everywhere, total - group.size) for group in groups]


def _sum(groups: Sequence[_ByName]) -> tuple[Counter[str], int]:
    everywhere = Counter[str]()
    for group in groups:
        everywhere.update(group.files)
    return everywhere, sum(group.size for group in groups)


def _telling_from_alike(names: Sequence[_ByName], called: Sequence[str]) -> list[tuple[float, str]]:
    """For each group what is most its own among those that are called the same."""
    alike = dict[str, list[int]]()
    for number, name in enumerate(called):
        alike.setdefault(name, []).append(number)
    found = [(0.0, "")] * len(names)
    for numbers in alike.values():
        for number, telling in zip(numbers, _telling([names[one] for one in numbers]), strict=True):
            found[number] = telling
    return found


def _most_telling(group: _ByName, everywhere: Counter[str], others: int) -> tuple[float, str]:
    leads = dict[str, float]()
    for name, files in group.files.items() if others else ():
        elsewhere = (everywhere[name] - files) / others
        lead = files / group.size - elsewhere
        tells = lead >= _ALL_ITS_OWN or (lead >= _TELLS and name not in _USUAL)
        if tells and slug(name):
            leads[name] = lead
    best = min(leads, key=lambda name: (-leads[name], group.depths[name], name), default="")
    return leads.get(best, 0.0), best


def _with_those_around(above: Sequence[int], folders: Iterable[int]) -> Counter[int]:
    """How often each folder is among these, or one further down is."""
    found = Counter(folders)
    for own, times in list(found.items()):
        folder = own
        while folder:
            folder = above[folder]
            found[folder] += times
    return found


def _number(folder: str, numbers: dict[str, int], folders: list[str], above: list[int]) -> int:
    """Of a folder; if it has none yet, it gets one, after all that are around it."""
    if folder in numbers:
        return numbers[folder]
    new = list[str]()
    while folder not in numbers:
        new.append(folder)
        folder = folder_of(folder)
    for one in reversed(new):
        above.append(numbers[folder_of(one)])
        numbers[one] = len(folders)
        folders.append(one)
    return numbers[new[0]]


def _usual(folders: Sequence[str], above: Sequence[int], sizes: Sequence[int]) -> list[bool]:
    found = [True]
    for folder in range(1, len(folders)):
        is_all = found[above[folder]] and 10 * sizes[folder] >= 9 * sizes[above[folder]]
        found.append(is_all or folders[folder].rpartition("/")[2] in _USUAL)
    return found


def _joined(first: str, second: str) -> str:
    return f"{first}-{second}".strip("-")[:_LONGEST].rstrip("-_")


def _listed(names: Sequence[str], of: int) -> str:
    """Some of them, and how many there are beside."""
    shown = names[:_NAMES_SHOWN]
    return ", ".join(shown) + (f" and {of - len(shown)} more" if of > len(shown) else "")


def _fitting(shown: list[int], lengths: Sequence[int]) -> list[int]:
    """As many as a line has room for, and one in any case."""
    room = [number for number, length in enumerate(accumulate(lengths)) if length <= _LENGTH_SHOWN]
    return shown[: max(1, len(room))]


def _on_one_line(text: str) -> str:
    printable = text.encode("utf-8", "replace").decode()
    return "".join(letter if letter.isprintable() else "?" for letter in printable)
