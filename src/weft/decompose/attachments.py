"""Attachments: files that are no work of their own, and the leaf that each of them joins.

A slice of pictures or changelogs costs an agent call and gives the agent nothing to do. The tree is therefore
built from the other files, the *work*. Each attachment joins the leaf to which references and commits link it
most, or else the leaf with the most files in the nearest enclosing folder. An attachment without such a leaf,
such as a picture in a folder of pictures, is a *stray*: it is not in the plan, and the caller reports it.

Attachments are files that no agent reads (`Source.is_asset`, pictures, fonts), notes about the project (a licence,
a changelog), and prose where there is little of it: below `ENOUGH_TO_READ` tokens in a folder at the top.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence

from weft.decompose.model import A_COMMIT, Signals
from weft.decompose.paths import folder_of, folder_with_parents

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
    """Returns whether a file is a note about the project, such as a licence, which needs no agent's work."""
    folder, _, name = path.rpartition("/")
    stem, _, ending = name.partition(".")
    if name in _NOTES_OF_TOOLS:
        return True
    is_prose = ending.rpartition(".")[2].lower() in {*_PROSE, "cff"}
    return is_prose and (bool(_NOTE.fullmatch(stem)) or folder.rpartition("/")[2] in _FOLDERS_OF_NEWS)


def find_attachments(paths: Sequence[str], tokens: Sequence[int], assets: Collection[str]) -> tuple[int, ...]:
    """Returns the numbers of the attachments. If all files qualify, there are none: then these are the work."""
    prose = Counter[str]()
    for path, size in zip(paths, tokens, strict=True):
        if _is_prose(path):
            prose[_top_folder(path)] += size
    attachments = tuple(
        number
        for number, path in enumerate(paths)
        if path in assets
        or _has_ending(path, _BINARIES)
        or is_note(path)
        or (_is_prose(path) and prose[_top_folder(path)] < ENOUGH_TO_READ)
    )
    return attachments if len(attachments) < len(paths) else ()


def _is_prose(path: str) -> bool:
    return _has_ending(path, _PROSE - {""})


def _has_ending(path: str, endings: Collection[str]) -> bool:
    return path.rpartition(".")[2].lower() in endings and "." in path


def _top_folder(path: str) -> str:
    return path.partition("/")[0] if "/" in path else ""


def restrict(signals: Signals, files: Sequence[int]) -> Signals:
    """Returns the signals of these files only, renumbered in this order. `files` must be sorted."""
    new_number = {file: position for position, file in enumerate(files)}
    return Signals(
        paths=tuple(signals.paths[file] for file in files),
        tokens=tuple(signals.tokens[file] for file in files),
        uses=tuple(
            (new_number[a], new_number[b]) for a, b in signals.uses if a in new_number and b in new_number
        ),
        together=tuple(
            (new_number[a], new_number[b], share)
            for a, b, share in signals.together
            if a in new_number and b in new_number
        ),
        symbols=tuple(signals.symbols[file] for file in files) if signals.symbols else (),
        attachments=tuple(new_number[file] for file in signals.attachments if file in new_number),
    )


def without_attachments(signals: Signals) -> Signals:
    """Returns the signals of the work alone."""
    if not signals.attachments:
        return signals
    attachments = frozenset(signals.attachments)
    return restrict(signals, [file for file in range(len(signals.paths)) if file not in attachments])


def without_strays(signals: Signals) -> tuple[Signals, tuple[str, ...]]:
    """Returns the signals without the strays, and the paths of the strays."""
    if not signals.attachments:
        return signals, ()
    attachments = frozenset(signals.attachments)
    bound = {file for file, _work_file, _weight in _bonds(signals, attachments)}
    folders = set[str]()
    for number, path in enumerate(signals.paths):
        folder = "" if number in attachments else folder_of(path)
        while folder and folder not in folders:
            folders.add(folder)
            folder = folder_of(folder)
    strays = {
        file
        for file in signals.attachments
        if file not in bound and not _is_prose_of_work(signals.paths[file])
        if "/" in signals.paths[file]
        and folders.isdisjoint(folder_with_parents(folder_of(signals.paths[file])))
    }
    if not strays:
        return signals, ()
    remaining = [file for file in range(len(signals.paths)) if file not in strays]
    return restrict(signals, remaining), tuple(signals.paths[file] for file in sorted(strays))


def _is_prose_of_work(path: str) -> bool:
    """Returns whether a file is prose that the goal may concern; such a file is never a stray."""
    return _is_prose(path) and not is_note(path)


def assign_attachments(signals: Signals, leaves: Sequence[Sequence[str]]) -> list[list[str]]:
    """Returns the attachments that join each leaf. Leaves are lists of paths."""
    groups: list[list[str]] = [[] for _ in leaves]
    if not signals.attachments:
        return groups
    leaf_of = {path: number for number, leaf in enumerate(leaves) for path in leaf}
    homes = _Homes(signals, leaf_of)
    for file in signals.attachments:
        groups[homes.find_leaf(file)].append(signals.paths[file])
    return groups


class _Homes:
    """Finds the leaf of an attachment, from the number of files of each leaf in and below each folder."""

    def __init__(self, signals: Signals, leaf_of: Mapping[str, int]) -> None:
        self._paths = signals.paths
        self._own = dict[str, Counter[int]]()
        self._below = dict[str, Counter[int]]()
        for path, leaf in leaf_of.items():
            self._own.setdefault(folder_of(path), Counter())[leaf] += 1
            for folder in folder_with_parents(folder_of(path)):
                self._below.setdefault(folder, Counter())[leaf] += 1
        self._bound = dict[int, Counter[int]]()
        for file, work_file, weight in _bonds(signals, frozenset(signals.attachments)):
            self._bound.setdefault(file, Counter())[leaf_of[signals.paths[work_file]]] += weight

    def find_leaf(self, file: int) -> int:
        if file in self._bound:
            return _largest(self._bound[file])
        for folder in folder_with_parents(folder_of(self._paths[file])):
            # Files beside the attachment say more than files somewhere below.
            counts = self._own.get(folder) or self._below.get(folder)
            if counts:
                return _largest(counts)
        raise AssertionError("the top is around every file")


def _largest(counts: Counter[int]) -> int:
    """Returns the leaf with the largest count; the first of several."""
    return min(counts, key=lambda leaf: (-counts[leaf], leaf))


def _bonds(signals: Signals, attachments: Collection[int]) -> Iterator[tuple[int, int, int]]:
    """Yields an attachment, a file of the work, and the weight of their link."""
    for first, second, weight in (*((a, b, _REFERENCE) for a, b in signals.uses), *signals.together):
        # Links between two attachments say nothing about the work that they belong to.
        if (first in attachments) != (second in attachments):
            yield (first, second, weight) if first in attachments else (second, first, weight)
