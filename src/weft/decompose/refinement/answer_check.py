"""Check that an answer fits the parts it is about; every fault is a sentence."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from weft.decompose.model import Limits, Part
from weft.decompose.refinement.answers import FileMove, NewTexts, RefinementAnswer
from weft.decompose.words import shown

_SHOWN = 8


class AnswerCheck:
    """The check of one answer. `named` are the parts that it may be about, by path."""

    def __init__(self, named: Mapping[str, Part], tokens: Mapping[str, int], limits: Limits) -> None:
        self._named = named
        self._tokens = tokens
        self._limits = limits
        self._leaf_of = {file: path for path, part in named.items() if not part.parts for file in part.files}

    def faults(self, answer: RefinementAnswer, whole: Part) -> Iterator[str]:
        """Yields all faults. Duplicate ids and sizes are checked only if each text and move is valid by itself."""
        words, moves = [*self._words(answer.parts)], [*self._moves(answer.moves)]
        # An answer with wrong paths would give a list of clashes that do not exist.
        yield from words or self._ids(answer.parts, whole)
        yield from moves or self._sizes(answer.moves)

    # Names

    def _words(self, parts: Sequence[NewTexts]) -> Iterator[str]:
        for words in parts:
            part = self._named.get(words.part)
            if part is None:
                yield self._describe_missing(words.part)
            elif part.parts and words.prompt is not None:
                yield f"part {words.part} is a group, and only slices have a prompt"
        yield from (
            f"part {shown(path)} stands there twice"
            for path in _find_duplicates(words.part for words in parts)
        )

    def _describe_missing(self, path: str) -> str:
        return f"part {shown(path)} does not exist here; there are {_list_some([*self._named])}"

    def _ids(self, parts: Sequence[NewTexts], whole: Part) -> Iterator[str]:
        """Yields a fault for each id that two siblings would share, including siblings outside the question."""
        new = {words.part: words.id for words in parts if words.id is not None}
        for path in dict.fromkeys(path.rpartition("/")[0] for path in new):
            inside = f"{path}/" if path else ""
            names = (new.get(f"{inside}{part.id}", part.id) for part in _find_part(whole, path).parts)
            where = f" in {path}" if path else ""
            for name in _find_duplicates(names):
                yield f"two parts beside each other{where} would be called {name}"

    # Files

    def _moves(self, moves: Sequence[FileMove]) -> Iterator[str]:
        for move in moves:
            source, target = self._leaf_of.get(move.file), self._named.get(move.to)
            if source is None:
                yield f"there is no file {shown(move.file)} in these parts"
            if target is None:
                yield self._describe_missing(move.to)
            elif target.parts:
                yield f"part {move.to} is a group, and files are moved to slices"
            elif source == move.to:
                yield f"{shown(move.file)} is in {move.to} already"
        yield from (f"{shown(file)} is moved twice" for file in _find_duplicates(move.file for move in moves))

    def _sizes(self, moves: Sequence[FileMove]) -> Iterator[str]:
        removed_files, added_files = dict[str, list[str]](), dict[str, list[str]]()
        for move in moves:
            removed_files.setdefault(self._leaf_of[move.file], []).append(move.file)
            added_files.setdefault(move.to, []).append(move.file)
        for path in dict.fromkeys((*removed_files, *added_files)):
            yield from self._size(path, removed_files.get(path, []), added_files.get(path, []))

    def _size(self, path: str, removed: Sequence[str], added: Sequence[str]) -> Iterator[str]:
        part, limits = self._named[path], self._limits
        before = len(part.files)
        files = before - len(removed) + len(added)
        growth = sum(self._tokens[file] for file in added) - sum(self._tokens[file] for file in removed)
        # A leaf that is too small or too large already may stay so, but not get worse.
        if files < min(before, limits.min_files_per_subplan):
            least = limits.min_files_per_subplan
            yield f"moving {_some(removed)} leaves {path} with {files} files, and min_files_per_subplan is {least}"
        if files > max(before, most := limits.max_files_per_subplan):
            yield f"moving {_some(added)} gives {path} {files:,} files, and max_files_per_subplan is {most:,}"
        if growth > 0 and part.tokens + growth > (most := limits.max_tokens_per_subplan):
            size = f"{part.tokens + growth:,} tokens, and max_tokens_per_subplan is {most:,}"
            yield f"moving {_some(added)} gives {path} {size}"


def _find_part(whole: Part, path: str) -> Part:
    part = whole
    for name in path.split("/") if path else ():
        part = next(child for child in part.parts if child.id == name)
    return part


def _find_duplicates(names: Iterable[str]) -> list[str]:
    return [name for name, times in Counter(names).items() if times > 1]


def _list_some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
    return f"{', '.join(names[:_SHOWN])}{more}"


def _some(files: Sequence[str]) -> str:
    return shown(files[0]) + (f" and {len(files) - 1:,} more" if len(files) > 1 else "")
