"""Bisection: which parts of a group break its verify, though each passes alone.

The search asks repeatedly whether verify fails on exactly a certain set of parts. Each answer decides the
next question. Only the answers are stored, so another coordinator can continue the search with them.

A set always contains, with each part, the parts it is built on, since its branch holds their work. The parts
are ordered such that each comes after those it is built on; every prefix of this order is therefore a valid
set. The questions are

1. all parts again: a verify that fails and then passes is unreliable and proves nothing; 2. no parts: if
verify fails even then, no part of the group is to blame; 3. the shortest prefix that fails, by bisection. Its
last part is a culprit. The culprit, and what it is built on, is in every later set, and the same question is
asked about the parts before it, until the culprits alone fail; 4. all parts except the culprits and those
built on them. If that fails, there are more culprits: from 3, among these.

Every reported set of culprits was seen to fail, together with what they are built on and nothing else. If
additional parts never repair a failure, verify passes without any one of the culprits. The set need not be
the smallest one, since other sets may break verify as well. The search needs about `k * log2(n)` runs of
verify for `k` culprits in `n` parts.
"""

from collections.abc import Generator, Sequence
from enum import StrEnum

from msgspec import Struct

MOST = 64
"""The number of verify runs after which the search gives up."""


class VerifyAnswer(StrEnum):
    """The result of verify on a set of parts."""

    RED = "red"
    GREEN = "green"
    UNCLEAR = "unclear"
    """The parts could not be merged, or verify did not finish."""


class Suspect(Struct, frozen=True):
    """A part of a group."""

    name: str
    holds: tuple[str, ...] = ()
    """The other parts whose work it contains."""


class SearchEnd(StrEnum):
    """The reason why the search ended."""

    FOUND = "found"
    UNRELIABLE = "unreliable"
    """Verify failed and then passed on the same parts."""
    BASE = "base"
    """Verify fails even without any of the parts."""
    TOO_MANY = "too many"
    """The search would need too many runs."""


class VerifyQuestion(Struct, frozen=True):
    """The question whether verify fails on exactly these parts."""

    names: tuple[str, ...]


class BisectionResult(Struct, frozen=True, kw_only=True):
    """The culprits that the search identified, or why it ended without them."""

    why: SearchEnd
    sets: tuple[tuple[str, ...], ...] = ()
    """Sets of culprits. Each set breaks verify, and needs all of its members for that."""
    left_out: tuple[str, ...] = ()
    """The culprits and the parts built on them, if verify passes on the remaining parts."""
    unclear: bool = False
    """Whether it is unknown if verify passes on the remaining parts."""

    @property
    def culprits(self) -> tuple[str, ...]:
        return tuple(name for culprits in self.sets for name in culprits)


_Names = frozenset[str]
_Asking = Generator[_Names, VerifyAnswer, "BisectionResult"]
_Halving = Generator[_Names, VerifyAnswer, tuple[str, ...]]


def look(
    suspects: Sequence[Suspect], answers: Sequence[VerifyAnswer], *, most: int = MOST
) -> VerifyQuestion | BisectionResult:
    """Returns the next question after these answers, or the result."""
    search = _Search(suspects)
    questions = search.questions()
    names = next(questions)
    try:
        for answer in answers:
            names = questions.send(answer)
    except StopIteration as end:
        result: BisectionResult = end.value
        return result
    if len(answers) >= most:
        return BisectionResult(why=SearchEnd.TOO_MANY, sets=tuple(search.sets))
    return VerifyQuestion(tuple(suspect.name for suspect in suspects if suspect.name in names))


class _Search:
    def __init__(self, suspects: Sequence[Suspect]) -> None:
        holds = {suspect.name: suspect.holds for suspect in suspects}
        self._plan = [suspect.name for suspect in suspects]
        self._built_on = {name: _reached(name, holds) for name in self._plan}
        """With each part itself."""
        self._order = sorted(self._plan, key=lambda name: len(self._built_on[name]))
        self._known: dict[_Names, VerifyAnswer] = {}
        self.sets: list[tuple[str, ...]] = []

    def questions(self) -> _Asking:
        """Yields the sets to verify, receives the answers, and returns the result."""
        whole = frozenset(self._order)
        if (yield from self._ask(whole)) is not VerifyAnswer.RED:
            return BisectionResult(why=SearchEnd.UNRELIABLE)
        if (yield from self._ask(frozenset())) is not VerifyAnswer.GREEN:
            return BisectionResult(why=SearchEnd.BASE)
        remaining, answer = whole, VerifyAnswer.RED
        while remaining and answer is VerifyAnswer.RED:
            culprits = yield from self._halving(remaining)
            self.sets.append(culprits)
            remaining = frozenset(name for name in remaining if self._built_on[name].isdisjoint(culprits))
            answer = (yield from self._ask(remaining)) if remaining else VerifyAnswer.RED
        passes = answer is VerifyAnswer.GREEN
        return BisectionResult(
            why=SearchEnd.FOUND,
            sets=tuple(self.sets),
            left_out=tuple(name for name in self._plan if name not in remaining) if passes else (),
            unclear=answer is VerifyAnswer.UNCLEAR,
        )

    def _halving(self, whole: _Names) -> _Halving:
        """Returns a set of culprits in a failing set.

        Invariant: verify passed on `must` and failed on `must` together with `others`.
        """
        must: _Names = frozenset()
        others = [name for name in self._order if name in whole]
        culprits: list[str] = []
        while True:
            green, red = 0, len(others)
            while red - green > 1:
                middle = (green + red) // 2
                if (yield from self._ask(must.union(others[:middle]))) is VerifyAnswer.RED:
                    red = middle
                else:
                    green = middle
            last = others[red - 1]
            culprits.append(last)
            must |= self._built_on[last]
            others = [name for name in others[: red - 1] if name not in must]
            if not others or (yield from self._ask(must)) is VerifyAnswer.RED:
                return tuple(name for name in self._plan if name in culprits)

    def _ask(self, names: _Names) -> Generator[_Names, VerifyAnswer, VerifyAnswer]:
        """Asks about a set, or returns the stored answer."""
        if names not in self._known:
            self._known[names] = yield names
        return self._known[names]


def _reached(name: str, holds: dict[str, tuple[str, ...]]) -> _Names:
    reached = {name}
    waiting = [name]
    while waiting:
        new = set(holds.get(waiting.pop(), ())) - reached
        reached |= new
        waiting += sorted(new)
    return frozenset(reached & holds.keys())


# Messages


def describe(group: str, finding: BisectionResult, runs: int) -> str:
    """Returns the result as a sentence without a full stop. `runs` is the number of verify runs."""
    verify = f"`verify` of {group or 'the plan'}"
    times = f"{runs} more run{'' if runs == 1 else 's'}"
    match finding.why:
        case SearchEnd.UNRELIABLE:
            return f"{verify} is not reliable: it failed, and then passed on the same files"
        case SearchEnd.BASE:
            return f"{verify} fails without any of its parts, too, so none of them is to blame"
        case SearchEnd.TOO_MANY:
            also = f" besides {_sets(group, finding)}" if finding.sets else ""
            return f"{verify} fails, and the culprit{also} is still unknown after {times}"
        case SearchEnd.FOUND:
            return f"{verify} fails with {_sets(group, finding)}; {_others(finding)} ({times})"


def _others(finding: BisectionResult) -> str:
    them = "them" if len(finding.culprits) > 1 else "it"
    if finding.left_out:
        return f"it passes without {them}"
    if finding.unclear:
        return f"without {them} it could not be run"
    return f"nothing is left without {them}"


def _sets(group: str, finding: BisectionResult) -> str:
    return ", and with ".join(_set([_short(group, name) for name in culprits]) for culprits in finding.sets)


def _set(names: Sequence[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last} together" if first else f"{last} alone"


def _short(group: str, path: str) -> str:
    return path.removeprefix(f"{group}/")
