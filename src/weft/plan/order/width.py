"""How many leaves of a plan can be under way at once.

Leaves can be under way together if none of them has to wait for another, and no group has more of them below it
than its cap allows. Without caps the greatest number of such leaves is the smallest number of *chains* that have
all leaves in them, each chain a way through the plan's order (Dilworth). Chains are tokens that flow through the
points of the order: a leaf lets at least one through. A first flow is made by passing each token on to whom it is
wanted by, and new tokens where there are none. Then it is improved: a leaf that got a new token looks for one that
could do without it, back along the order and forward again where more flows than is needed. If none finds any,
the flow is the smallest, and the leaves at the edge of what they have searched can all be under way at once.

A group whose cap counts is one node of the flow, through which as many tokens must go as leaves can be under way
below it, which is found first. By that some of the order is forgotten: what holds between single leaves inside and
outside of such a group. So the number is a bound from above, and what can be reached is found by trying.
"""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from weft.plan.order.outline import ROOT, Outline
from weft.plan.order.points import After, Points, ended_before, homes, levels

MOST_STEPS = 1_000_000
"""So many nodes are visited to improve a flow."""

Caps = Sequence[int | None]
"""For each row, how many leaves may be under way below it, or None."""


class Peak(Struct, frozen=True, kw_only=True):
    """How many at once: nearly always the two are one number.

    They can differ if a cap within the plan counts and dependencies lead across the border of its group, or if
    the plan is so large and entangled that the search for the exact number ended at its limit.
    """

    at_most: int
    """No schedule has more leaves under way at once."""
    reached: int
    """Some schedule has so many."""


def peak(outline: Outline, after: After, caps: Caps, *, most_steps: int = MOST_STEPS) -> Peak:
    """How many leaves can be under way at once. The outline has no circle."""
    leaves = [row for row, leaf in enumerate(outline.leaves) if leaf]
    at_most = _allowed(outline, caps, leaves)
    points = Points(outline, after)
    reached = _on_one_level(outline, points, caps, at_most)
    if reached < at_most:
        bound, together = _Widths(outline, points, caps, set()).of_whole(reached, most_steps)
        at_most = min(at_most, bound)
        reached = max(reached, _allowed(outline, caps, together))
    pieces = _capped(outline, caps) if reached < at_most else set[int]()
    if pieces:
        bound, together = _Widths(outline, points, caps, pieces).of_whole(reached, most_steps)
        at_most = min(at_most, bound)
        reached = max(reached, _allowed(outline, caps, _unordered(points, together)))
    return Peak(at_most=at_most, reached=reached)


def _allowed(outline: Outline, caps: Caps, leaves: Sequence[int]) -> int:
    """How many of these leaves the caps allow at once; what else is needed for that is not asked."""
    counts = dict.fromkeys(leaves, 1)
    rows = list(counts)
    for row in rows:  # grows while it is walked
        parent = outline.parents[row]
        if parent not in counts and parent >= ROOT:
            counts[parent] = 0
            rows.append(parent)
    for row in sorted(counts, reverse=True):  # what is inside comes first
        cap = caps[row]
        count = counts[row] if cap is None else min(counts[row], cap)
        if row == ROOT:
            return count
        counts[outline.parents[row]] += count
    return 0


def _on_one_level(outline: Outline, points: Points, caps: Caps, enough: int) -> int:
    """The best of: leaves before which equally many come one after the other, or behind which."""
    reached = 0
    for level in (levels(points, outline.leaves), _levels_from_the_end(points, outline.leaves)):
        by_level: dict[int, list[int]] = {}
        for row, leaf in enumerate(outline.leaves):
            if leaf:
                by_level.setdefault(level[2 * row], []).append(row)
        for together in sorted(by_level.values(), key=len, reverse=True):
            if reached >= min(enough, len(together)):
                break
            reached = max(reached, _allowed(outline, caps, together))
    return reached


def _levels_from_the_end(points: Points, leaves: Sequence[bool]) -> list[int]:
    found = [0] * len(points.later)
    for point in reversed(points.in_order()):
        beyond = max([found[later] for later in points.later[point]], default=0)
        found[point] = beyond + leaves[point // 2]
    return found


def _capped(outline: Outline, caps: Caps) -> set[int]:
    """The groups whose caps count: more leaves below them would be allowed otherwise."""
    allowed = [0] * len(outline.paths)
    found: set[int] = set()
    for row in range(len(allowed) - 1, ROOT, -1):
        count, cap = allowed[row] + outline.leaves[row], caps[row]
        if cap is not None and cap < count:
            count = cap
            found.add(row)
        allowed[outline.parents[row]] += count
    return found


def _unordered(points: Points, rows: Iterable[int]) -> list[int]:
    """Of these leaves those that can be under way together: each that need not wait for one taken before."""
    places = {point: place for place, point in enumerate(points.in_order())}
    in_order = sorted(rows, key=lambda row: places[2 * row])
    ended = ended_before(points, in_order)
    taken, found = 0, list[int]()
    for number, row in enumerate(in_order):
        if not ended[2 * row] & taken:
            taken |= 1 << number
            found.append(row)
    return found


class _Widths:
    """The widths of the groups whose caps count, from the inside out, and of the whole.

    Nodes are points and, behind them, pieces: groups of which only their width is known.
    """

    def __init__(self, outline: Outline, points: Points, caps: Caps, pieces: set[int]) -> None:
        rows = len(outline.paths)
        self._caps = caps
        self._pieces = sorted(pieces, reverse=True)
        self._first_piece = 2 * rows
        self._together: dict[int, list[int]] = {}
        self._needs = [0] * (3 * rows)
        for row, leaf in enumerate(outline.leaves):
            self._needs[2 * row] = int(leaf)
        self._later: list[list[int]] = points.later
        self._nodes: dict[int, list[int]] = {-1: points.in_order()}
        if pieces:
            self._cut_out(points, homes(outline, pieces), pieces)

    def _cut_out(self, points: Points, home: Sequence[int], pieces: set[int]) -> None:
        """Makes a graph of its own of each piece: arcs across its border begin at its end or end at its start."""
        first = self._first_piece
        self._later = [[] for _ in home]
        self._nodes = {piece: [] for piece in (-1, *pieces)}
        for point in points.in_order():
            row = point // 2
            if row in pieces and point % 2 == 0:
                self._nodes[home[first + row]].append(first + row)
            self._nodes[home[point]].append(point)
            for later in points.later[point]:
                one, other = point, later
                if home[one] != home[other]:
                    one = first + row if row in pieces and point % 2 else one
                    other = first + later // 2 if later // 2 in pieces and later % 2 == 0 else other
                if home[one] == home[other]:
                    self._later[one].append(other)

    def of_whole(self, enough: int, most_steps: int) -> tuple[int, list[int]]:
        """A bound, and leaves that reach it, but for the order that is forgotten.

        No leaves, if the bound is enough without them or if to find them took too long.
        """
        for piece in self._pieces:
            bound, together = self._width(piece, 0, most_steps)
            cap = self._caps[piece]
            self._needs[self._first_piece + piece] = bound if cap is None else min(bound, cap)
            self._together[self._first_piece + piece] = together
        return self._width(-1, enough, most_steps)

    def _width(self, home: int, enough: int, most_steps: int) -> tuple[int, list[int]]:
        flow = _Flow(self._later, self._needs, self._nodes[home], closings=self._first_piece)
        together = flow.improve(most_steps) if flow.total() > enough else []
        rows: list[int] = []
        for node in together:
            rows += self._together[node] if node >= self._first_piece else [node // 2]
        return flow.total(), rows


class _Flow:
    """Tokens that go through a graph, in each node at least as many as it needs."""

    def __init__(
        self, later: Sequence[Sequence[int]], needs: Sequence[int], nodes: Sequence[int], *, closings: int
    ) -> None:
        self._later = later
        self._needs = needs
        self._nodes = nodes
        self._closings = closings  # an odd number below is the closing of a group: there the rest goes
        self._new: dict[int, int] = {}  # tokens that begin at a node
        self._through = dict.fromkeys(nodes, 0)
        self._flows: dict[int, list[int]] = {}  # for each node, as many as go along each of its arcs
        self._pass_on(self._wanted())

    def total(self) -> int:
        return sum(self._new.values())

    def _wanted(self) -> dict[int, int]:
        """What a node needs, for an opening what is needed by those who can have it from nowhere else."""
        ways = dict.fromkeys(self._nodes, 0)
        for node in self._nodes:
            for later in self._later[node]:
                ways[later] += 1
        wanted: dict[int, int] = {}
        for node in reversed(self._nodes):
            wanted[node] = self._needs[node]
            if not wanted[node] and node % 2 == 0:
                wanted[node] = sum(wanted[later] for later in self._later[node] if ways[later] == 1)
        return wanted

    def _pass_on(self, wanted: dict[int, int]) -> None:
        through, closings = self._through, self._closings
        for node in self._nodes:
            missing = self._needs[node] - through[node]
            if missing > 0:
                self._new[node] = missing
                through[node] += missing
            rest, rest_arc = through[node], 0
            flows: list[int] = []
            for arc, later in enumerate(self._later[node]):
                if later % 2 and later < closings:
                    rest_arc = arc
                    flows.append(0)
                    continue
                given = max(0, min(rest, wanted[later] - through[later]))
                flows.append(given)
                through[later] += given
                rest -= given
            if flows:
                flows[rest_arc] = rest
                through[self._later[node][rest_arc]] += rest
            self._flows[node] = flows

    def improve(self, most_steps: int) -> list[int]:
        """Makes the flow as small as can be. The nodes that prove it, none of which waits for another.

        If that takes too long, none; the flow is then as small as it became.
        """
        before = self._arcs_back()
        fruitless: set[int] = set()
        steps = 0
        for node in self._nodes:
            while self._new.get(node, 0):
                came_from = self._search(2 * node, before, fruitless)
                steps += len(came_from)
                if steps > most_steps:
                    return []
                if 2 * self._nodes[-1] not in came_from:
                    fruitless.update(came_from)
                    break
                self._new[node] -= 1
                self._reroute(came_from)
        return [node for node in self._nodes if 2 * node in fruitless and 2 * node + 1 not in fruitless]

    def _arcs_back(self) -> dict[int, list[tuple[int, int]]]:
        before: dict[int, list[tuple[int, int]]] = {node: [] for node in self._nodes}
        for node in self._nodes:
            for arc, later in enumerate(self._later[node]):
                before[later].append((node, arc))
        return before

    def _search(
        self, start: int, before: dict[int, list[tuple[int, int]]], fruitless: set[int]
    ) -> dict[int, tuple[int, int]]:
        """Where a token could be missing instead, until that is the end, where none is needed.

        A place is 2·node before a node and 2·node + 1 behind it. For each place it tells from which place it was
        found, and along which arc.
        """
        came_from = {} if start in fruitless else {start: (-1, -1)}
        stack, end = list(came_from), 2 * self._nodes[-1]
        while stack and end not in came_from:
            place = stack.pop()
            for following, arc in self._moves(place, before):
                if following not in came_from and following not in fruitless:
                    came_from[following] = place, arc
                    stack.append(following)
        return came_from

    def _moves(self, place: int, before: dict[int, list[tuple[int, int]]]) -> list[tuple[int, int]]:
        """More from a node before, or less to one behind; the last is tried first, and leads to the end."""
        node, behind = divmod(place, 2)
        if behind:
            less = zip(self._later[node], self._flows[node], strict=True)
            return [
                (place - 1, -1),
                *((2 * later, arc) for arc, (later, tokens) in enumerate(less) if tokens),
            ]
        moves = [(2 * earlier + 1, arc) for earlier, arc in before[node]]
        if self._through[node] > self._needs[node]:
            moves.append((place + 1, -1))
        return moves

    def _reroute(self, came_from: dict[int, tuple[int, int]]) -> None:
        place = 2 * self._nodes[-1]
        origin, arc = came_from[place]
        while origin >= 0:
            backwards = origin % 2 == 0  # from before a node to behind one: more from there
            if arc < 0:
                self._through[place // 2] += -1 if backwards else 1
            elif backwards:
                self._flows[place // 2][arc] += 1
            else:
                self._flows[origin // 2][arc] -= 1
            place = origin
            origin, arc = came_from[place]
