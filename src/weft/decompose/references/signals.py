"""Compute signals from files and history.

To bound the cost, less of each file is read the more files there are: references are near the top of a file, and
sizes are known without reading.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations

from msgspec import Struct

from weft.decompose.attachments import find_attachments, is_note
from weft.decompose.model import A_COMMIT, Signals
from weft.decompose.references.index import Index
from weft.decompose.references.manifests import projects
from weft.decompose.references.mentions import Mentions, language_of, mentions
from weft.decompose.references.resolution import resolve

_READ_IN_ALL = 512 * 1024 * 1024
_READ_OF_ONE = (4 * 1024, 256 * 1024)
_BYTES_PER_TOKEN = 4
_FACES = frozenset(
    {"__init__", "index", "mod", "lib"}
)  # files that represent their folder, by the rules of languages
_PASSED_ON = 8  # re-exports to follow; a longer chain may be a circle
FILES_OF_A_COMMIT = 30  # a commit with more files says nothing about any two of them


class Source(Struct, frozen=True, kw_only=True):
    """A file of the set."""

    path: str
    """Relative to the root of the set, with `/`."""
    size: int
    text: bytes = b""
    """The beginning, see `bytes_to_read`; empty if it is unreadable, not text, or in an unknown language."""
    is_asset: bool = False
    """Whether no agent reads or writes it, because it is not text or a program generated it."""


def bytes_to_read(files: int) -> int:
    """Returns how many bytes to read of each file, so that the total stays bounded."""
    least, most = _READ_OF_ONE
    return max(least, min(most, _READ_IN_ALL // max(files, 1)))


def is_read(path: str) -> bool:
    """Returns whether the contents of a file can contain references that Weft understands."""
    return language_of(path) is not None


def signals_of(
    sources: Iterable[Source],
    manifests: Mapping[str, bytes],
    commits: Iterable[Sequence[str]] = (),
    *,
    name: str = "",
) -> Signals:
    """Computes the signals. `sources` may be in any order; `commits` lists the paths that each commit changed.

    `name` is the name of the root folder.
    """
    by_path, sizes, assets = dict[str, Mentions](), dict[str, int](), set[str]()
    for source in sources:
        # An agent does not read notes, however long they are.
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
        attachments=find_attachments(paths, tokens, assets),
    )


class _References:
    """References between files, and the names they import.

    A re-exported name belongs to the file that defines it: a file that imports a name from `__init__.py`, which
    imports it from elsewhere, uses that other file.
    """

    def __init__(self, index: Index, mentions_by_path: Mapping[str, Mentions]) -> None:
        self._index = index
        self._mentions = mentions_by_path
        self._reexports = dict[int, Mapping[str, int]]()
        self._import_counts = Counter[tuple[int, str]]()

    def uses(self) -> Iterator[tuple[int, int]]:
        """Yields pairs of user and used file; sorted and unique, without self-references."""
        for number, path in enumerate(self._index.paths):
            if path in self._mentions:
                targets = {self._source(*target) for target in self._targets(path)}
                self._import_counts.update(target for target in targets if target[1] and target[0] != number)
                yield from (
                    (number, used) for used in sorted({used for used, _name in targets}) if used != number
                )

    def symbols(self) -> tuple[str, ...]:
        """Returns for each file the name that others import most. Must be called after `uses`."""
        most = dict[int, tuple[int, str]]()
        for (file, name), times in self._import_counts.items():
            most[file] = min(most.get(file, (0, "")), (-times, name))
        return tuple(most[file][1] if file in most else "" for file in range(len(self._index.paths)))

    def _targets(self, path: str) -> Iterator[tuple[int, str]]:
        if language := language_of(path):
            for target, names in self._mentions[path].items():
                yield from resolve(self._index, language.family, path, target, names)

    def _source(self, file: int, name: str) -> tuple[int, str]:
        for _ in range(_PASSED_ON):
            # A whole module, without a name, is the file itself: nothing says which of its re-exports is used.
            next_file = self._find_reexports(file).get(name) if name else None
            if next_file is None:
                break
            file = next_file
        return file, name

    def _find_reexports(self, file: int) -> Mapping[str, int]:
        """Returns the files behind the names that this file re-exports, if it represents its folder."""
        if file not in self._reexports:
            path = self._index.paths[file]
            is_interface = path.rpartition("/")[2].partition(".")[0] in _FACES and path in self._mentions
            targets = self._targets(path) if is_interface else ()
            self._reexports[file] = {name: used for used, name in targets if name and used != file}
        return self._reexports[file]


def _together(
    numbers: Mapping[str, int], commits: Iterable[Sequence[str]]
) -> tuple[tuple[int, int, int], ...]:
    """Adds up the weights of commits by pair of files. The more files a commit changed, the less a pair gets."""
    shares = Counter[tuple[int, int]]()
    for changed in commits:
        if len(changed) <= FILES_OF_A_COMMIT:
            files = sorted({numbers[path] for path in changed if path in numbers})
            # Each file of a commit has the same total weight, however many files the commit changed.
            share = A_COMMIT // max(1, len(files) - 1)
            for pair in combinations(files, 2):
                shares[pair] += share
    return tuple((first, second, share) for (first, second), share in sorted(shares.items()))
