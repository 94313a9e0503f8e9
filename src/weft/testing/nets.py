"""Nets with published state spaces, to test analyses on.

The figures are the results of the Model Checking Contest 2023, examination StateSpace.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

from weft.ids import PlaceId, TransitionId
from weft.net.model import Arcs
from weft.net.plain import PlainNet


class PublishedFigures(NamedTuple):
    """The published figures of a net."""

    states: int
    arcs: int
    place_bound: int
    """The most tokens in a place."""
    marking_bound: int
    """The most tokens in a marking."""


PUBLISHED: Mapping[tuple[str, int], PublishedFigures] = {
    ("kanban", 5): PublishedFigures(2_546_432, 24_460_016, 5, 20),
    ("fms", 2): PublishedFigures(3_444, 16_311, 3, 12),
    ("fms", 5): PublishedFigures(2_895_018, 23_527_185, 5, 21),
    ("philosophers", 5): PublishedFigures(243, 945, 1, 10),
    ("philosophers", 10): PublishedFigures(59_049, 459_270, 1, 20),
    ("house_construction", 2): PublishedFigures(1_501, 4_780, 2, 12),
    ("house_construction", 5): PublishedFigures(1_187_984, 7_191_110, 5, 30),
}
"""The figures by constructor below and its argument (Model Checking Contest 2023, StateSpace)."""


def kanban(n: int) -> PlainNet:
    """Four cells of a production line with n cards each (Model Checking Contest 2023, StateSpace)."""
    cells = "\n".join(f"Pm{i} > Pback{i}\nPback{i} > Pm{i}\nPm{i} > Pout{i}" for i in range(1, 5))
    rules = """
        P4 > Pm4
        Pout4 + P2 + P3 > P4 + Pm2 + Pm3
        Pout2 + Pout3 + P1 > P2 + P3 + Pm1
        Pout1 > P1
    """
    return net_of(cells + rules, {f"P{i}": n for i in range(1, 5)})


def fms(n: int) -> PlainNet:
    """A flexible manufacturing system, n pallets of each kind (Model Checking Contest 2023, StateSpace)."""
    rules = """
        P1 > P1wM1
        P1wM1 + M1 > P1M1
        P1M1 > P1d + M1
        P1d > P1s
        P1d > P1wP2
        P1s > P1
        P1wP2 + P2wP1 > P12
        P12 > P12wM3
        P12wM3 + M3 > P12M3
        P12M3 > P12s + M3
        P12s > P1 + P2
        P2 > P2wM2
        P2wM2 + M2 > P2M2
        P2M2 > P2d + M2
        P2d > P2s
        P2d > P2wP1
        P2s > P2
        P3 > P3M2
        P3M2 + M2 > M2 + P3s
        P3s > P3
    """
    return net_of(rules, {"P1": n, "P2": n, "P3": n, "M1": 3, "M2": 1, "M3": 2})


def philosophers(n: int) -> PlainNet:
    """Dining philosophers, forks taken one at a time (Model Checking Contest 2023, StateSpace)."""
    rules = (
        f"T{i} + F{left_fork} > A{i}\nT{i} + F{i} > B{i}\nA{i} + F{i} > E{i}\nB{i} + F{left_fork} > E{i}\n"
        f"E{i} > T{i} + F{left_fork} + F{i}\n"
        for i, left_fork in ((i, (i - 1) % n) for i in range(n))
    )
    return net_of("".join(rules), {f"{kind}{i}": 1 for kind in "TF" for i in range(n)})


def house_construction(n: int) -> PlainNet:
    """The tasks of building a house, n houses at once (Model Checking Contest 2023, StateSpace)."""
    rules = """
        p1 > p2
        p2 > p3
        p3 > p4 + p5 + p6
        p6 > p7 + p8 + p12
        p8 + p9 > p10
        p5 > p9 + p13
        p7 > p11
        p10 + p12 + p13 > p14
        p11 > p15
        p4 + p15 > p16
        p14 > p17
        p16 > p25
        p17 > p18 + p19 + p20
        p18 > p21
        p19 + p20 > p22
        p21 + p23 > p26
        p22 > p23 + p27
        p25 + p26 + p27 >
    """
    return net_of(rules, {"p1": n})


def net_of(rules: str, initial: Mapping[str, int]) -> PlainNet:
    """Returns a net with a transition t1, t2, … for each line such as `a + 2 b > c`. `initial` marks places."""
    numbers = {place: number for number, place in enumerate(initial)}

    def arcs(side: str) -> Arcs:
        weights: dict[int, int] = {}
        for term in filter(str.strip, side.split("+")):
            weight, place = _term(term)
            number = numbers.setdefault(place, len(numbers))
            # A place may be named twice, as in `a + a`.
            weights[number] = weights.get(number, 0) + weight
        return tuple(weights.items())

    sides = [line.split(">") for line in rules.splitlines() if line.strip()]
    rows = [(arcs(inputs), arcs(outputs)) for inputs, outputs in sides]
    return PlainNet(
        place_ids=tuple(map(PlaceId, numbers)),
        transition_ids=tuple(TransitionId(f"t{number}") for number in range(1, len(sides) + 1)),
        inputs=tuple(inputs for inputs, _ in rows),
        outputs=tuple(outputs for _, outputs in rows),
        initial=tuple(initial.get(place, 0) for place in numbers),
    )


def _term(term: str) -> tuple[int, str]:
    match = re.fullmatch(r"\s*(?:(\d+)\s+)?(\S+)\s*", term)
    if match is None:
        raise ValueError(f"not a place with an optional weight before it: {term!r}")
    return int(match[1] or 1), match[2]
