"""A tree of parts as an agent would have it: its answer is checked, and then the tree is made anew.

What an agent says decides two things only: what parts are called, and in which leaf a file is. All else, the
files and tokens of groups, the order, the risks, what is too large, is computed from that as for the tree that
Weft made. So no answer can give a file to two leaves, or make a circle of dependencies: there are no words for it.

What is left to check are names and limits. A limit that a leaf keeps to must be kept. One that it is beyond
already, because nothing could split it, must not be passed any further.
"""

from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from weft.decompose.invariants import broken
from weft.decompose.model import Limits, Part, Signals
from weft.decompose.naming import Names
from weft.decompose.refining.answers import Answer, Words, read_answer
from weft.decompose.refining.checking import Check
from weft.decompose.refining.questions import WHOLE, Scope
from weft.decompose.waiting import with_order

_AS_IT_IS = Words(part="")


class Refused(Struct, frozen=True):
    faults: tuple[str, ...]
    """All of them, each a sentence."""


class Refined(Struct, frozen=True, kw_only=True):
    whole: Part
    renamed: int
    """Parts that have another id."""
    worded: int
    """Parts that were given a title or a prompt."""
    moved: int
    """Files."""


class Refining:
    def __init__(self, signals: Signals, limits: Limits) -> None:
        self._signals = signals
        self._limits = limits
        self._names = Names.of(signals)
        self._tokens = dict(zip(signals.paths, signals.tokens, strict=True))
        self._numbers = {path: number for number, path in enumerate(signals.paths)}

    def refined(self, whole: Part, scope: Scope, value: object) -> Refined | Refused:
        """What an answer makes of the tree; it may be any JSON."""
        answer, faults = read_answer(value)
        named = scope.parts(whole)
        faults += dict.fromkeys(Check(named, self._tokens, self._limits).faults(answer, whole))
        made = None if faults else with_order(self._part("", whole, _Draft.of(answer, named)), self._signals)
        if made is None or (faults := [*broken(made, self._signals, self._limits)]):
            return Refused(tuple(faults))
        return Refined(
            whole=made,
            renamed=sum(words.id not in (None, named[words.part].id) for words in answer.parts),
            worded=sum(bool(words.title or words.prompt) for words in answer.parts),
            moved=len(answer.moves),
        )

    def _part(self, path: str, part: Part, draft: "_Draft") -> Part:
        words = draft.words.get(path or WHOLE if not part.parts else path, _AS_IT_IS)
        parts = [self._part(f"{path}/{one.id}" if path else one.id, one, draft) for one in part.parts]
        files = (
            sorted(file for one in parts for file in one.files)
            if parts
            else draft.files.get(path, part.files)
        )
        numbers = [self._numbers[file] for file in files]
        tokens = sum(self._signals.tokens[number] for number in numbers)
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
    """What an answer says, by paths of parts."""

    words: Mapping[str, Words]
    files: Mapping[str, Sequence[str]]
    """Of leaves that have others than before; sorted."""

    @classmethod
    def of(cls, answer: Answer, named: Mapping[str, Part]) -> "_Draft":
        to = {move.file: move.to for move in answer.moves}
        leaves = {path: part.files for path, part in named.items() if not part.parts}
        files = dict[str, list[str]]()
        for path, inside in leaves.items():
            for file in inside:
                files.setdefault(to.get(file, path), []).append(file)
        return cls(
            words={words.part: words for words in answer.parts},
            files={path: sorted(inside) for path, inside in files.items()},
        )
