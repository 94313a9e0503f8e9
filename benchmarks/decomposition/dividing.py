"""Files divided among leaves: how evenly, how much of what is linked stays together; and ways to do it blindly.

Nothing here knows of Weft, so that ours and the others are measured alike.
"""

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations, pairwise
from math import sqrt

from msgspec import Struct

Leaves = Sequence[Sequence[str]]
Pair = tuple[str, str, float]
"""Two files, and what they count."""


class Balance(Struct, frozen=True, kw_only=True):
    effective: float
    """As many leaves of equal size would be as even: 1 / Σ share²."""
    largest: float
    """The share of files in the largest leaf."""

    @classmethod
    def of(cls, leaves: Leaves) -> "Balance":
        files = sum(map(len, leaves))
        shares = [len(leaf) / files for leaf in leaves]
        return cls(effective=1 / sum(share * share for share in shares), largest=max(shares))

    def is_as_good_as(self, other: "Balance") -> bool:
        """In both ways. As no limit gives just the same number of leaves, a twentieth fewer in effect will do."""
        return self.effective >= 0.95 * other.effective and self.largest <= other.largest


def inside(leaves: Leaves, pairs: Iterable[Pair]) -> float:
    """The share of pairs that are in one leaf. Of none, none is cut."""
    kept, total = _weighed(_leaf_of(leaves), pairs)
    return kept / total if total else 1.0


def pairs_of(commits: Iterable[Sequence[str]], known: Iterable[str], *, most: int) -> list[list[Pair]]:
    """For each commit, any two known files that it changed; commits without are left out.

    All pairs that a file is in count 1 together, in each commit: a commit of 30 files has 435 pairs, and would
    else count more than a hundred of three. One of more than `most` files says nothing about any two of them.
    """
    there, found = frozenset(known), list[list[Pair]]()
    for files in commits:
        changed = sorted(there.intersection(files))
        if len(files) <= most and len(changed) > 1:
            found.append([(one, other, 1 / (len(changed) - 1)) for one, other in combinations(changed, 2)])
    return found


def standard_error(ours: Leaves, others: Leaves, commits: Sequence[Sequence[Pair]]) -> float:
    """Of the difference between what two ways to divide keep of changes, as commits are but a sample."""
    ours_of, others_of = _leaf_of(ours), _leaf_of(others)
    sums = [
        (_weighed(ours_of, pairs)[0] - _weighed(others_of, pairs)[0], _weighed({}, pairs)[1])
        for pairs in commits
    ]
    total = sum(weight for _, weight in sums)
    mean = sum(difference for difference, _ in sums) / total if total else 0.0
    return sqrt(sum((difference - mean * weight) ** 2 for difference, weight in sums)) / (total or 1.0)


def _leaf_of(leaves: Leaves) -> dict[str, int]:
    return {path: number for number, leaf in enumerate(leaves) for path in leaf}


def _weighed(leaf_of: Mapping[str, int], pairs: Iterable[Pair]) -> tuple[float, float]:
    """What pairs count that are in one leaf, and what all do."""
    kept = total = 0.0
    for one, other, weight in pairs:
        total += weight
        kept += weight * (leaf_of.get(one) == leaf_of.get(other))
    return kept, total


# Blindly


def by_folder(paths: Iterable[str], root: str) -> list[list[str]]:
    """A leaf for each folder right below the root, and one for the files right in it."""
    leaves = dict[str, list[str]]()
    for path in sorted(paths):
        folder, slash, _ = path.removeprefix(f"{root}/" if root else "").partition("/")
        leaves.setdefault(folder if slash else "", []).append(path)
    return list(leaves.values())


def evened(leaves: Leaves, *, effective: float, fits: Callable[[Sequence[str]], bool]) -> list[list[str]]:
    """As a person would make leaves of folders, each of which fits, in the same order.

    Folders are cut into pieces that fit. Then the largest leaf is halved until there are as many in effect as are
    asked for, and neighbours that are smallest together are joined until there are no more, or no two fit.
    """
    found = [piece for leaf in leaves for piece in _fitting(leaf, fits)]
    while Balance.of(found).effective < effective:
        largest = max(range(len(found)), key=lambda at: len(found[at]))
        found[largest : largest + 1] = _halves(found[largest])
    while Balance.of(found).effective > effective:
        joined = ((at, one + other) for at, (one, other) in enumerate(pairwise(found)))
        best = min((each for each in joined if fits(each[1])), key=lambda each: len(each[1]), default=None)
        if best is None:
            break
        found[best[0] : best[0] + 2] = [best[1]]
    return found


def _fitting(leaf: Sequence[str], fits: Callable[[Sequence[str]], bool]) -> list[list[str]]:
    """Pieces that are as full as can be; the last has what is left."""
    found: list[list[str]] = [[]]
    for path in leaf:
        if found[-1] and not fits([*found[-1], path]):
            found.append([])
        found[-1].append(path)
    return found


def _halves(leaf: list[str]) -> tuple[list[str], list[str]]:
    return leaf[: len(leaf) // 2], leaf[len(leaf) // 2 :]


def by_lot(paths: Iterable[str], sizes: Iterable[int], seed: int) -> list[list[str]]:
    files = sorted(paths)
    random.Random(seed).shuffle(files)
    rest = iter(files)
    return [[next(rest) for _ in range(size)] for size in sizes]


# The same balance


def limits_to_try(largest: int) -> list[int]:
    """How many files a leaf may have: from so many down to three, about a twentieth less each time."""
    found = [largest]
    while found[-1] > 3:
        found.append(found[-1] * 19 // 20)
    return found


def first_as_balanced(tried: Iterable[Leaves], other: Balance) -> Leaves | None:
    """The first that is at least as balanced as the other. What it keeps together is not looked at."""
    return next((leaves for leaves in tried if Balance.of(leaves).is_as_good_as(other)), None)
