"""Green alone, red together: which of a group's parts break its verify.

Asked is, again and again, whether verify fails on exactly these parts; the answer decides what is asked next.
Nothing is kept but the answers, so whoever has them can go on where somebody else was.

A set that is asked about holds, with each part, all that this part is built on: its branch has the work of those,
too. The parts are taken in an order in which each comes after what it is built on, so that the first so many are
such a set. Then

1. all of them once more: a verify that fails and then does not says nothing about anybody;
2. none of them: if it does not pass even then, nobody in the group is to blame;
3. how many of the first it takes until it fails, by halving. The last of these is a culprit. With it, and what it
   is built on, in every set from now on, the same is asked of those before it, until the culprits alone fail;
4. all but the culprits and what is built on them. If that fails, there are more: from 3, among these.

What is promised of a set of culprits: it was seen to fail, together with what they are built on and nothing else.
Where more parts never mend what fewer break, it passes without any one of them; it need not be the smallest such
set, as another may break verify, too. Where parts do mend what others break, only the first of this is true. For
`k` culprits among `n` parts that takes about `k * log2(n)` runs of verify.
"""

from collections.abc import Generator, Sequence
from enum import StrEnum

from msgspec import Struct

MOST = 64
"""Runs of verify, after which nothing more is asked."""


class VerifyAnswer(StrEnum):
    RED = "red"
    GREEN = "green"
    UNCLEAR = "unclear"
    """These do not go together, or verify could not be run to its end."""


class Suspect(Struct, frozen=True):
    """A part of a group."""

    name: str
    holds: tuple[str, ...] = ()
    """The other parts whose work is in it."""


class SearchEnd(StrEnum):
    """How the search ended."""

    FOUND = "found"
    UNRELIABLE = "unreliable"
    """Verify did not fail again where it had failed."""
    BASE = "base"
    """It does not pass without any of them, either."""
    TOO_MANY = "too many"
    """It would have taken too many runs."""


class VerifyQuestion(Struct, frozen=True):
    """Whether verify fails on exactly these."""

    names: tuple[str, ...]


class BisectionResult(Struct, frozen=True, kw_only=True):
    why: SearchEnd
    sets: tuple[tuple[str, ...], ...] = ()
    """Each breaks verify by itself; all in it are needed for that."""
    left_out: tuple[str, ...] = ()
    """The culprits and what is built on them, if verify passes on the others, and there are some."""
    unclear: bool = False
    """Whether there are others, and it could not be seen whether verify passes on them."""

    @property
    def culprits(self) -> tuple[str, ...]:
        return tuple(name for one in self.sets for name in one)


_Names = frozenset[str]
_Asking = Generator[_Names, VerifyAnswer, "BisectionResult"]
_Halving = Generator[_Names, VerifyAnswer, tuple[str, ...]]


def look(
    suspects: Sequence[Suspect], answers: Sequence[VerifyAnswer], *, most: int = MOST
) -> VerifyQuestion | BisectionResult:
    """What to ask next, after these answers; or what has been found."""
    search = _Search(suspects)
    asking = search.asking()
    wanted = next(asking)
    try:
        for answer in answers:
            wanted = asking.send(answer)
    except StopIteration as end:
        found: BisectionResult = end.value
        return found
    if len(answers) >= most:
        return BisectionResult(why=SearchEnd.TOO_MANY, sets=tuple(search.sets))
    return VerifyQuestion(tuple(suspect.name for suspect in suspects if suspect.name in wanted))


class _Search:
    def __init__(self, suspects: Sequence[Suspect]) -> None:
        holds = {suspect.name: suspect.holds for suspect in suspects}
        self._plan = [suspect.name for suspect in suspects]
        self._built_on = {name: _reached(name, holds) for name in self._plan}
        """With each part itself."""
        self._order = sorted(self._plan, key=lambda name: len(self._built_on[name]))
        self._known: dict[_Names, VerifyAnswer] = {}
        self.sets: list[tuple[str, ...]] = []

    def asking(self) -> _Asking:
        whole = frozenset(self._order)
        if (yield from self._ask(whole)) is not VerifyAnswer.RED:
            return BisectionResult(why=SearchEnd.UNRELIABLE)
        if (yield from self._ask(frozenset())) is not VerifyAnswer.GREEN:
            return BisectionResult(why=SearchEnd.BASE)
        left, answer = whole, VerifyAnswer.RED
        while left and answer is VerifyAnswer.RED:
            culprits = yield from self._halving(left)
            self.sets.append(culprits)
            left = frozenset(name for name in left if self._built_on[name].isdisjoint(culprits))
            answer = (yield from self._ask(left)) if left else VerifyAnswer.RED
        passes = answer is VerifyAnswer.GREEN
        return BisectionResult(
            why=SearchEnd.FOUND,
            sets=tuple(self.sets),
            left_out=tuple(name for name in self._plan if name not in left) if passes else (),
            unclear=answer is VerifyAnswer.UNCLEAR,
        )

    def _halving(self, whole: _Names) -> _Halving:
        """A set of culprits in one that is red. Always `must` was seen not to be, and with `others` it was."""
        must: _Names = frozenset()
        others = [name for name in self._order if name in whole]
        found: list[str] = []
        while True:
            green, red = 0, len(others)
            while red - green > 1:
                middle = (green + red) // 2
                if (yield from self._ask(must.union(others[:middle]))) is VerifyAnswer.RED:
                    red = middle
                else:
                    green = middle
            last = others[red - 1]
            found.append(last)
            must |= self._built_on[last]
            others = [name for name in others[: red - 1] if name not in must]
            if not others or (yield from self._ask(must)) is VerifyAnswer.RED:
                return tuple(name for name in self._plan if name in found)

    def _ask(self, names: _Names) -> Generator[_Names, VerifyAnswer, VerifyAnswer]:
        """Nothing is asked twice."""
        if names not in self._known:
            self._known[names] = yield names
        return self._known[names]


def _reached(name: str, holds: dict[str, tuple[str, ...]]) -> _Names:
    found = {name}
    waiting = [name]
    while waiting:
        new = set(holds.get(waiting.pop(), ())) - found
        found |= new
        waiting += sorted(new)
    return frozenset(found & holds.keys())


# In words


def told(group: str, finding: BisectionResult, runs: int) -> str:
    """For people; a sentence without its end. `runs`: how often verify was run to find it."""
    verify = f"`verify` of {group or 'the plan'}"
    times = f"{runs} more run{'' if runs == 1 else 's'}"
    match finding.why:
        case SearchEnd.UNRELIABLE:
            return f"{verify} is not reliable: it failed, and then did not fail on the same files"
        case SearchEnd.BASE:
            return f"{verify} does not pass without all that is in it, either, so none of that is to blame"
        case SearchEnd.TOO_MANY:
            also = f" besides {_sets(group, finding)}" if finding.sets else ""
            return f"{verify} fails, and who is to blame{also} is still not clear after {times}"
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
    return ", and with ".join(_set([_short(group, name) for name in one]) for one in finding.sets)


def _set(names: Sequence[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last} together" if first else f"{last} alone"


def _short(group: str, path: str) -> str:
    return path.removeprefix(f"{group}/")
