"""Refine a tree of parts with the answer of an agent: check the answer, then rebuild the tree.

An answer decides only two things: the texts of parts, and the leaf of each file. Everything else (files and
tokens of groups, order, risks, `too_large`) is computed from these, as for the original tree. An answer
therefore cannot put a file into two leaves or create circular dependencies, because it cannot express them.

What remains to be checked are texts and limits. A leaf within a limit must stay within it. A leaf that already
exceeds a limit, because it could not be split, must not grow.
"""

from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from weft.decompose.dependencies import add_order
from weft.decompose.invariants import find_violations
from weft.decompose.model import Limits, Part, Signals
from weft.decompose.names import Names
from weft.decompose.refinement.answer_check import AnswerCheck
from weft.decompose.refinement.answers import NewTexts, RefinementAnswer, read_answer
from weft.decompose.refinement.questions import WHOLE, QuestionScope

_AS_IT_IS = NewTexts(part="")


class RejectedAnswer(Struct, frozen=True):
    """An answer that was rejected."""

    faults: tuple[str, ...]
    """All faults, each a sentence."""


class RefinedTree(Struct, frozen=True, kw_only=True):
    """The tree after an answer."""

    whole: Part
    renamed: int
    """The number of parts with a new id."""
    worded: int
    """The number of parts with a new title or prompt."""
    moved: int
    """The number of files in another leaf."""


class TreeRefiner:
    def __init__(self, signals: Signals, limits: Limits) -> None:
        self._signals = signals
        self._limits = limits
        self._names = Names.of(signals)
        self._tokens = dict(zip(signals.paths, signals.tokens, strict=True))
        self._numbers = {path: number for number, path in enumerate(signals.paths)}

    def refine(self, whole: Part, scope: QuestionScope, value: object) -> RefinedTree | RejectedAnswer:
        """Applies an answer, which may be any JSON value, to the tree."""
        answer, faults = read_answer(value)
        parts = scope.parts(whole)
        faults += dict.fromkeys(AnswerCheck(parts, self._tokens, self._limits).faults(answer, whole))
        new_whole = (
            None if faults else add_order(self._part("", whole, _Draft.of(answer, parts)), self._signals)
        )
        # The answer was checked before; this is the last line of defence, as the tree becomes a plan.
        if new_whole is None or (faults := [*find_violations(new_whole, self._signals, self._limits)]):
            return RejectedAnswer(tuple(faults))
        return RefinedTree(
            whole=new_whole,
            renamed=sum(words.id not in (None, parts[words.part].id) for words in answer.parts),
            worded=sum(bool(words.title or words.prompt) for words in answer.parts),
            moved=len(answer.moves),
        )

    def _part(self, path: str, part: Part, draft: "_Draft") -> Part:
        words = draft.words.get(path or WHOLE if not part.parts else path, _AS_IT_IS)
        parts = [self._part(f"{path}/{child.id}" if path else child.id, child, draft) for child in part.parts]
        files = (
            sorted(file for child in parts for file in child.files)
            if parts
            else draft.files.get(path, part.files)
        )
        numbers = [self._numbers[file] for file in files]
        tokens = sum(self._signals.tokens[number] for number in numbers)
        # The old title may not describe the files any more.
        title = part.title if tuple(files) == part.files else self._names.title(numbers)
        return replace(
            part,
            id=words.id or part.id,
            title=words.title or title,
            prompt=words.prompt or part.prompt,
            files=tuple(files),
            tokens=tokens,
            parts=tuple(parts),
            too_large=not parts and tokens > self._limits.max_tokens_per_subplan,
        )


class _Draft(Struct, frozen=True, kw_only=True):
    """The contents of an answer by path of part."""

    words: Mapping[str, NewTexts]
    files: Mapping[str, Sequence[str]]
    """The files of each leaf after the moves; sorted."""

    @classmethod
    def of(cls, answer: RefinementAnswer, named: Mapping[str, Part]) -> "_Draft":
        target_of = {move.file: move.to for move in answer.moves}
        leaves = {path: part.files for path, part in named.items() if not part.parts}
        files = dict[str, list[str]]()
        for path, inside in leaves.items():
            for file in inside:
                files.setdefault(target_of.get(file, path), []).append(file)
        return cls(
            words={words.part: words for words in answer.parts},
            files={path: sorted(inside) for path, inside in files.items()},
        )
