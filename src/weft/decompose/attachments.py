"""Files that are no work of their own, and the leaf that each of them joins.

A slice of pictures or changelogs costs an agent call and gives the agent nothing to do. So the tree is made of the
other files, the *work*, and each attachment joins the leaf that it belongs to: the one that most references and
commits bind it to, else the one with most files in the nearest folder around it. An attachment without such a
leaf, as a picture in a folder of pictures, is a *stray*: it stays out of the plan, and the caller reports it.

Attachments are files that no agent reads (`Source.is_asset`, pictures, fonts), notes about the project (a licence,
a changelog), and prose where there is little of it: below `ENOUGH_TO_READ` tokens in a folder at the top.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence

from weft.decompose.model import A_COMMIT, Signals
from weft.decompose.paths import around, folder_of

ENOUGH_TO_READ = 2_000
_REFERENCE = A_COMMIT  # a reference binds as much as a commit of two files
_BINARIES = frozenset(
    {
        *("png", "jpg", "jpeg", "gif", "svg", "ico", "icns", "webp", "avif", "bmp", "tif", "tiff", "psd"),
        *("woff", "woff2", "ttf", "otf", "eot", "pdf", "mp3", "mp4", "ogg", "wav", "webm"),
        *("zip", "gz", "bz2", "xz", "tar", "whl", "jar", "so", "dll"),
    }
)
_PROSE = frozenset({"", "md", "markdown", "rst", "txt", "adoc"})
_NOTE = re.compile(
    r"authors|contributors|maintainers|codeowners|thanks|change[-_]?log|changes|history|news|releases?|"
    r"release[-_]notes|licen[cs]e([-_].*)?|copying([-_].*)?|copyright|notice|patents|code[-_]of[-_]conduct|citation",
    re.IGNORECASE,
)
_NOTES_OF_TOOLS = frozenset(
    {".gitignore", ".gitattributes", ".gitkeep", ".mailmap", ".editorconfig", "py.typed"}
)
_FOLDERS_OF_NEWS = frozenset(
    {"changes", ".changes", "changelog.d", "changelogs", "newsfragments", ".changeset"}
)


def is_note(path: str) -> bool:
    """Whether it is about the project and not of it: nothing in it takes an agent's work."""
    folder, _, name = path.rpartition("/")
    stem, _, ending = name.partition(".")
    if name in _NOTES_OF_TOOLS:
        return True
    is_prose = ending.rpartition(".")[2].lower() in {*_PROSE, "cff"}
    return is_prose and (bool(_NOTE.fullmatch(stem)) or folder.rpartition("/")[2] in _FOLDERS_OF_NEWS)


def attachments_of(paths: Sequence[str], tokens: Sequence[int], assets: Collection[str]) -> tuple[int, ...]:
    """Their numbers; none if all files are such: then these are the work."""
    prose = Counter[str]()
    for path, size in zip(paths, tokens, strict=True):
        if _is_prose(path):
            prose[_area(path)] += size
    attachments = tuple(
        number
        for number, path in enumerate(paths)
        if path in assets
        or _has_ending(path, _BINARIES)
        or is_note(path)
        or (_is_prose(path) and prose[_area(path)] < ENOUGH_TO_READ)
    )
    return attachments if len(attachments) < len(paths) else ()


def _is_prose(path: str) -> bool:
    return _has_ending(path, _PROSE - {""})


def _has_ending(path: str, endings: Collection[str]) -> bool:
    return path.rpartition(".")[2].lower() in endings and "." in path


def _area(path: str) -> str:
    return path.partition("/")[0] if "/" in path else ""


def restricted(signals: Signals, files: Sequence[int]) -> Signals:
    """The same signals of these files only, which are numbered again in this order; `files` is sorted."""
    number = {file: new for new, file in enumerate(files)}
    return Signals(
        paths=tuple(signals.paths[file] for file in files),
        tokens=tuple(signals.tokens[file] for file in files),
        uses=tuple((number[a], number[b]) for a, b in signals.uses if a in number and b in number),
        together=tuple(
            (number[a], number[b], share) for a, b, share in signals.together if a in number and b in number
        ),
        symbols=tuple(signals.symbols[file] for file in files) if signals.symbols else (),
        attachments=tuple(number[file] for file in signals.attachments if file in number),
    )


def work_of(signals: Signals) -> Signals:
    """Without the attachments."""
    if not signals.attachments:
        return signals
    aside = frozenset(signals.attachments)
    return restricted(signals, [file for file in range(len(signals.paths)) if file not in aside])


def without_strays(signals: Signals) -> tuple[Signals, tuple[str, ...]]:
    """The signals without the strays, and the paths of these."""
    if not signals.attachments:
        return signals, ()
    aside = frozenset(signals.attachments)
    bound = {file for file, _other, _weight in _bonds(signals, aside)}
    folders = set[str]()
    for number, path in enumerate(signals.paths):
        folder = "" if number in aside else folder_of(path)
        while folder and folder not in folders:
            folders.add(folder)
            folder = folder_of(folder)
    strays = {
        file
        for file in signals.attachments
        if file not in bound and not _is_prose_of_work(signals.paths[file])
        if "/" in signals.paths[file] and folders.isdisjoint(around(folder_of(signals.paths[file])))
    }
    if not strays:
        return signals, ()
    kept = [file for file in range(len(signals.paths)) if file not in strays]
    return restricted(signals, kept), tuple(signals.paths[file] for file in sorted(strays))


def _is_prose_of_work(path: str) -> bool:
    """Prose may need the change that the goal asks for, so it never stays out."""
    return _is_prose(path) and not is_note(path)


def attached(signals: Signals, leaves: Sequence[Sequence[str]]) -> list[list[str]]:
    """For each leaf of the work, given by its paths, the attachments that join it."""
    groups: list[list[str]] = [[] for _ in leaves]
    if not signals.attachments:
        return groups
    leaf_of = {path: number for number, leaf in enumerate(leaves) for path in leaf}
    homes = _Homes(signals, leaf_of)
    for file in signals.attachments:
        groups[homes.of(file)].append(signals.paths[file])
    return groups


class _Homes:
    """Knows for each folder how many files of each leaf are in it, and how many are below it."""

    def __init__(self, signals: Signals, leaf_of: Mapping[str, int]) -> None:
        self._paths = signals.paths
        self._own = dict[str, Counter[int]]()
        self._below = dict[str, Counter[int]]()
        for path, leaf in leaf_of.items():
            self._own.setdefault(folder_of(path), Counter())[leaf] += 1
            for folder in around(folder_of(path)):
                self._below.setdefault(folder, Counter())[leaf] += 1
        self._bound = dict[int, Counter[int]]()
        for file, other, weight in _bonds(signals, frozenset(signals.attachments)):
            self._bound.setdefault(file, Counter())[leaf_of[signals.paths[other]]] += weight

    def of(self, file: int) -> int:
        if file in self._bound:
            return _most(self._bound[file])
        for folder in around(folder_of(self._paths[file])):
            counts = self._own.get(folder) or self._below.get(folder)
            if counts:
                return _most(counts)
        raise AssertionError("the top is around every file")


def _most(counts: Counter[int]) -> int:
    """The leaf with the largest count; of several the first."""
    return min(counts, key=lambda leaf: (-counts[leaf], leaf))


def _bonds(signals: Signals, aside: Collection[int]) -> Iterator[tuple[int, int, int]]:
    """An attachment, a file of the work, and the weight of what is between them."""
    for first, second, weight in (*((a, b, _REFERENCE) for a, b in signals.uses), *signals.together):
        if (first in aside) != (second in aside):
            yield (first, second, weight) if first in aside else (second, first, weight)
