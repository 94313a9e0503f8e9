"""Whether an answer fits the parts it is about: all that is wrong with it, in sentences."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from weft.decompose.model import Limits, Part
from weft.decompose.refining.answers import Answer, Move, Words
from weft.decompose.words import shown

_SHOWN = 8


class Check:
    """`named` are the parts that the answer may be about, by path."""

    def __init__(self, named: Mapping[str, Part], tokens: Mapping[str, int], limits: Limits) -> None:
        self._named = named
        self._tokens = tokens
        self._limits = limits
        self._leaf_of = {file: path for path, part in named.items() if not part.parts for file in part.files}

    def faults(self, answer: Answer, whole: Part) -> Iterator[str]:
        """What follows from words and moves together is looked at only if each of them is right."""
        words, moves = [*self._words(answer.parts)], [*self._moves(answer.moves)]
        yield from words or self._ids(answer.parts, whole)
        yield from moves or self._sizes(answer.moves)

    # Names

    def _words(self, parts: Sequence[Words]) -> Iterator[str]:
        for words in parts:
            part = self._named.get(words.part)
            if part is None:
                yield self._missing(words.part)
            elif part.parts and words.prompt is not None:
                yield f"part {words.part} is a group, and only slices have a prompt"
        yield from (
            f"part {shown(path)} stands there twice" for path in _twins(words.part for words in parts)
        )

    def _missing(self, path: str) -> str:
        return f"part {shown(path)} does not exist here; there are {_listed([*self._named])}"

    def _ids(self, parts: Sequence[Words], whole: Part) -> Iterator[str]:
        """Of parts beside each other, those that are not asked about included."""
        new = {words.part: words.id for words in parts if words.id is not None}
        for path in dict.fromkeys(path.rpartition("/")[0] for path in new):
            inside = f"{path}/" if path else ""
            names = (new.get(f"{inside}{part.id}", part.id) for part in _at(whole, path).parts)
            where = f" in {path}" if path else ""
            for name in _twins(names):
                yield f"two parts beside each other{where} would be called {name}"

    # Files

    def _moves(self, moves: Sequence[Move]) -> Iterator[str]:
        for move in moves:
            here, there = self._leaf_of.get(move.file), self._named.get(move.to)
            if here is None:
                yield f"there is no file {shown(move.file)} in these parts"
            if there is None:
                yield self._missing(move.to)
            elif there.parts:
                yield f"part {move.to} is a group, and files are moved to slices"
            elif here == move.to:
                yield f"{shown(move.file)} is in {move.to} already"
        yield from (f"{shown(file)} is moved twice" for file in _twins(move.file for move in moves))

    def _sizes(self, moves: Sequence[Move]) -> Iterator[str]:
        away, to = dict[str, list[str]](), dict[str, list[str]]()
        for move in moves:
            away.setdefault(self._leaf_of[move.file], []).append(move.file)
            to.setdefault(move.to, []).append(move.file)
        for path in dict.fromkeys((*away, *to)):
            yield from self._size(path, away.get(path, []), to.get(path, []))

    def _size(self, path: str, gone: Sequence[str], come: Sequence[str]) -> Iterator[str]:
        part, limits = self._named[path], self._limits
        before = len(part.files)
        files = before - len(gone) + len(come)
        more = sum(self._tokens[file] for file in come) - sum(self._tokens[file] for file in gone)
        if files < min(before, limits.min_files_per_subplan):
            least = limits.min_files_per_subplan
            yield f"moving {_some(gone)} leaves {path} with {files} files, and min_files_per_subplan is {least}"
        if files > max(before, most := limits.max_files_per_subplan):
            yield f"moving {_some(come)} gives {path} {files:,} files, and max_files_per_subplan is {most:,}"
        if more > 0 and part.tokens + more > (most := limits.max_tokens_per_subplan):
            said = f"{part.tokens + more:,} tokens, and max_tokens_per_subplan is {most:,}"
            yield f"moving {_some(come)} gives {path} {said}"


def _at(whole: Part, path: str) -> Part:
    part = whole
    for name in path.split("/") if path else ():
        part = next(one for one in part.parts if one.id == name)
    return part


def _twins(names: Iterable[str]) -> list[str]:
    return [name for name, times in Counter(names).items() if times > 1]


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
    return f"{', '.join(names[:_SHOWN])}{more}"


def _some(files: Sequence[str]) -> str:
    return shown(files[0]) + (f" and {len(files) - 1:,} more" if len(files) > 1 else "")
