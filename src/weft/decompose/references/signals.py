"""From files and history to signals.

The cost of a set is bounded by reading less of each file the more there are: what a file refers to is said near
its top, and sizes are known without reading.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations

from msgspec import Struct

from weft.decompose.attachments import attachments_of, is_note
from weft.decompose.model import A_COMMIT, Signals
from weft.decompose.references.index import Index
from weft.decompose.references.manifests import projects
from weft.decompose.references.mentions import Mentions, language_of, mentions
from weft.decompose.references.resolving import resolve

_READ_IN_ALL = 512 * 1024 * 1024
_READ_OF_ONE = (4 * 1024, 256 * 1024)
_BYTES_PER_TOKEN = 4
_FACES = frozenset({"__init__", "index", "mod", "lib"})  # what a folder shows to others, as languages have it
_PASSED_ON = 8  # times, or it goes round
FILES_OF_A_COMMIT = 30  # a commit that changed more says nothing about any two of them


class Source(Struct, frozen=True, kw_only=True):
    path: str
    """From the root of the set, with `/`."""
    size: int
    text: bytes = b""
    """Its beginning, see `bytes_to_read`; empty if it could not be read, is not text, or in no known language."""
    is_asset: bool = False
    """No agent reads or writes it: it is no text, or a program made it."""


def bytes_to_read(files: int) -> int:
    """How much of each, so that all of it is read in bearable time."""
    least, most = _READ_OF_ONE
    return max(least, min(most, _READ_IN_ALL // max(files, 1)))


def is_read(path: str) -> bool:
    """Whether what is in it says anything."""
    return language_of(path) is not None


def signals_of(
    sources: Iterable[Source],
    manifests: Mapping[str, bytes],
    commits: Iterable[Sequence[str]] = (),
    *,
    name: str = "",
) -> Signals:
    """`sources` may come in any order, and each is looked at once; `commits` are the paths that each changed.

    `name` is that of the folder that paths begin in.
    """
    by_path, sizes, assets = dict[str, Mentions](), dict[str, int](), set[str]()
    for source in sources:
        sizes[source.path] = 0 if is_note(source.path) else source.size
        if source.is_asset:
            assets.add(source.path)
        language = language_of(source.path)
        if language is not None and source.text:
            by_path[source.path] = mentions(language, source.text)
    paths = tuple(sorted(sizes))
    index = Index(paths=paths, projects=projects(manifests), name=name)
    references = _References(index, by_path)
    tokens = tuple(-(-sizes[path] // _BYTES_PER_TOKEN) for path in paths)
    return Signals(
        paths=paths,
        tokens=tokens,
        uses=tuple(references.uses()),
        together=_together(index.numbers, commits),
        symbols=references.symbols(),
        attachments=attachments_of(paths, tokens, assets),
    )


class _References:
    """Who uses whom, and for what.

    What a file only passes on is not its own: who takes a name from `__init__.py`, which takes it from elsewhere,
    uses what is elsewhere.
    """

    def __init__(self, index: Index, said: Mapping[str, Mentions]) -> None:
        self._index = index
        self._said = said
        self._passed_on = dict[int, Mapping[str, int]]()
        self._taken = Counter[tuple[int, str]]()

    def uses(self) -> Iterator[tuple[int, int]]:
        """Sorted, none twice, none to itself."""
        for number, path in enumerate(self._index.paths):
            if path in self._said:
                found = {self._source(*one) for one in self._meant(path)}
                self._taken.update(one for one in found if one[1] and one[0] != number)
                yield from (
                    (number, used) for used in sorted({used for used, _name in found}) if used != number
                )

    def symbols(self) -> tuple[str, ...]:
        """For each file what most others take from it, the first by name of several; known after `uses`."""
        most = dict[int, tuple[int, str]]()
        for (file, name), times in self._taken.items():
            most[file] = min(most.get(file, (0, "")), (-times, name))
        return tuple(most[file][1] if file in most else "" for file in range(len(self._index.paths)))

    def _meant(self, path: str) -> Iterator[tuple[int, str]]:
        if language := language_of(path):
            for what, names in self._said[path].items():
                yield from resolve(self._index, language.family, path, what, names)

    def _source(self, file: int, name: str) -> tuple[int, str]:
        for _ in range(_PASSED_ON):
            further = self._passes_on(file).get(name) if name else None
            if further is None:
                break
            file = further
        return file, name

    def _passes_on(self, file: int) -> Mapping[str, int]:
        """Files by what this one takes from them, if it is one that others look into a folder through."""
        if file not in self._passed_on:
            path = self._index.paths[file]
            is_face = path.rpartition("/")[2].partition(".")[0] in _FACES and path in self._said
            taken = self._meant(path) if is_face else ()
            self._passed_on[file] = {name: used for used, name in taken if name and used != file}
        return self._passed_on[file]


def _together(
    numbers: Mapping[str, int], commits: Iterable[Sequence[str]]
) -> tuple[tuple[int, int, int], ...]:
    """A commit is shared by all pairs that a file of it is in: one of many files says little about any two."""
    shares = Counter[tuple[int, int]]()
    for changed in commits:
        if len(changed) <= FILES_OF_A_COMMIT:
            files = sorted({numbers[path] for path in changed if path in numbers})
            share = A_COMMIT // max(1, len(files) - 1)
            for pair in combinations(files, 2):
                shares[pair] += share
    return tuple((first, second, share) for (first, second), share in sorted(shares.items()))
