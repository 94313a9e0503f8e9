"""Trees of parts that are written down, and not found by splitting."""

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from weft.decompose.model import Limits, Part, Signals
from weft.decompose.refinement.questions import Questions, QuestionScope
from weft.decompose.refinement.tree import RefinedTree, RejectedAnswer, TreeRefiner

Shape = Mapping[str, "Shape | Sequence[str]"]
LIMITS = Limits(min_files_per_subplan=2, max_files_per_subplan=4, max_tokens_per_subplan=1_000)


def signals_for(
    shape: Shape,
    *,
    uses: Sequence[tuple[str, str]] = (),
    together: Sequence[tuple[str, str]] = (),
    tokens: dict[str, int] | None = None,
) -> Signals:
    paths = sorted(path for leaf in part_of("", shape).leaves() for path in leaf.files)
    at = paths.index
    return Signals(
        paths=tuple(paths),
        tokens=tuple((tokens or {}).get(path, 100) for path in paths),
        uses=tuple(sorted((at(user), at(used)) for user, used in uses)),
        together=tuple(sorted((*sorted((at(first), at(second))), 3) for first, second in together)),  # type: ignore[misc]
    )


def part_of(name: str, shape: "Shape | Sequence[str]") -> Part:
    if not isinstance(shape, Mapping):
        return Part(id=name, title=f"Title of {name}", files=tuple(shape), tokens=0)
    parts = tuple(part_of(child, inside) for child, inside in shape.items())
    files = tuple(sorted(path for part in parts for path in part.files))
    return Part(id=name, title=f"Title of {name}", files=files, tokens=0, parts=parts)


class Tree:
    """A tree with the one question that can be asked about it."""

    def __init__(self, shape: Shape | Sequence[str], signals: Signals, limits: Limits = LIMITS) -> None:
        self.signals = signals
        self.limits = limits
        self.refining = TreeRefiner(signals, limits)
        self.whole = part_of("", shape)
        self.whole = self.refined({}).whole  # with its order and its sizes

    def scopes(self, most_bytes: int = 100_000) -> list[QuestionScope]:
        return Questions(self.signals, self.limits, "Do it.", most_bytes=most_bytes).scopes(self.whole)

    def answered(self, answer: object) -> RefinedTree | RejectedAnswer:
        (scope,) = self.scopes()
        return self.refining.refine(self.whole, scope, answer)

    def refined(self, answer: object) -> RefinedTree:
        result = self.answered(answer)
        assert isinstance(result, RefinedTree), result
        return result

    def faults(self, answer: object) -> list[str]:
        refused = self.answered(answer)
        assert isinstance(refused, RejectedAnswer), refused
        return list(refused.faults)


def changed(whole: Part, name: str, **fields: object) -> Part:
    """The tree with one part in it different, and nothing made good for it."""
    parts = tuple(
        replace(part, **fields) if part.id == name else changed(part, name, **fields) for part in whole.parts
    )
    return replace(whole, parts=parts)


SHAPE: Shape = {
    "store": {"model": ["s/m1", "s/m2", "s/m3"], "sql": ["s/q1", "s/q2"]},
    "cli": ["c/1", "c/2", "c/3", "c/4"],
}


def small_tree() -> Tree:
    uses = [("c/1", "s/m1"), ("s/q1", "s/m2")]
    return Tree(SHAPE, signals_for(SHAPE, uses=uses, together=[("s/m3", "s/q2"), ("c/4", "c/3")]))
