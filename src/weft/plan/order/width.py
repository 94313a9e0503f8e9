"""How many leaves of a plan can run at once.

Leaves can run together if none of them has to wait for another, and if no group has more of them than its cap
allows. Without caps, the greatest number of such leaves equals the smallest number of *chains* that cover all
leaves, where a chain is a path through the plan's order (Dilworth's theorem). Chains are modelled as tokens that
flow through the points of the order; at least one token must pass each leaf. A first flow hands each token on to
a point that needs one, and creates tokens where there are none. The flow is then improved: a leaf with a new
token searches for one to use instead, backwards along the order, and forwards again where more tokens flow than
are needed. When no search succeeds, the flow is minimal, and the leaves at the edge of the searched area can all
run at once.

A group with a cap that matters is a single node of the flow. It needs as many tokens as leaves can run below it,
which is computed first. This drops a part of the order: the arcs between single leaves inside and outside such a
group. The result is therefore an upper bound, and a number that can be reached is found by trial.
"""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from weft.plan.order.outline import ROOT, Outline
from weft.plan.order.points import After, Points, ended_before, homes, levels

MOST_STEPS = 1_000_000
"""The most nodes that are visited to improve a flow."""

Caps = Sequence[int | None]
"""For each row, the most leaves that may run below it, or None."""


class Peak(Struct, frozen=True, kw_only=True):
    """Bounds for the number of leaves that run at once; nearly always the two are equal.

    They can differ if a cap within the plan matters and dependencies cross the border of its group, or if the
    plan is so large and entangled that the search stopped at its limit.
    """

    at_most: int
    """No schedule runs more leaves at once."""
    reached: int
    """Some schedule runs this many at once."""


def peak(outline: Outline, after: After, caps: Caps, *, most_steps: int = MOST_STEPS) -> Peak:
    """Returns how many leaves can run at once. The outline must have no cycle."""
    leaves = [row for row, leaf in enumerate(outline.leaves) if leaf]
    # Two cheap bounds first; for most plans they meet, and the flow is never built.
    at_most = _most_at_once(outline, caps, leaves)
    points = Points(outline, after)
    reached = _on_one_level(outline, points, caps, at_most)
    # The exact search is needed only if the simple bounds differ.
    if reached < at_most:
        bound, together = _Widths(outline, points, caps, set()).whole(reached, most_steps)
        at_most = min(at_most, bound)
        reached = max(reached, _most_at_once(outline, caps, together))
    # Treating capped groups as single nodes can lower the bound further.
    pieces = _limiting_groups(outline, caps) if reached < at_most else set[int]()
    if pieces:
        bound, together = _Widths(outline, points, caps, pieces).whole(reached, most_steps)
        at_most = min(at_most, bound)
        reached = max(reached, _most_at_once(outline, caps, _concurrent_leaves(points, together)))
    return Peak(at_most=at_most, reached=reached)


def _most_at_once(outline: Outline, caps: Caps, leaves: Sequence[int]) -> int:
    """Returns how many of these leaves the caps allow at once, regardless of the order."""
    counts = dict.fromkeys(leaves, 1)
    rows = list(counts)
    for row in rows:  # grows while it is walked
        parent = outline.parents[row]
        if parent not in counts and parent >= ROOT:
            counts[parent] = 0
            rows.append(parent)
    # A group has a smaller number than its parts, so the parts are summed up first.
    for row in sorted(counts, reverse=True):
        cap = caps[row]
        count = counts[row] if cap is None else min(counts[row], cap)
        if row == ROOT:
            return count
        counts[outline.parents[row]] += count
    return 0


def _on_one_level(outline: Outline, points: Points, caps: Caps, enough: int) -> int:
    """Returns a number that can be reached: the most leaves with equally long chains before or behind them."""
    reached = 0
    for level in (levels(points, outline.leaves), _levels_from_end(points, outline.leaves)):
        by_level: dict[int, list[int]] = {}
        for row, leaf in enumerate(outline.leaves):
            if leaf:
                by_level.setdefault(level[2 * row], []).append(row)
        for together in sorted(by_level.values(), key=len, reverse=True):
            if reached >= min(enough, len(together)):
                break
            reached = max(reached, _most_at_once(outline, caps, together))
    return reached


def _levels_from_end(points: Points, leaves: Sequence[bool]) -> list[int]:
    level_of = [0] * len(points.later)
    for point in reversed(points.topological_order()):
        beyond = max([level_of[later] for later in points.later[point]], default=0)
        level_of[point] = beyond + leaves[point // 2]
    return level_of


def _limiting_groups(outline: Outline, caps: Caps) -> set[int]:
    """Returns the groups with caps that matter: without them, more leaves could run."""
    allowed = [0] * len(outline.paths)
    capped: set[int] = set()
    for row in range(len(allowed) - 1, ROOT, -1):
        count, cap = allowed[row] + outline.leaves[row], caps[row]
        if cap is not None and cap < count:
            count = cap
            capped.add(row)
        allowed[outline.parents[row]] += count
    return capped


def _concurrent_leaves(points: Points, rows: Iterable[int]) -> list[int]:
    """Returns some of these leaves that can run together; a leaf that waits for a selected one is skipped."""
    position_of = {point: position for position, point in enumerate(points.topological_order())}
    in_order = sorted(rows, key=lambda row: position_of[2 * row])
    ended = ended_before(points, in_order)
    selected_bits, selected = 0, list[int]()
    for number, row in enumerate(in_order):
        if not ended[2 * row] & selected_bits:
            selected_bits |= 1 << number
            selected.append(row)
    return selected


class _Widths:
    """The widths of the whole plan and of the groups with caps that matter, computed from the inside out.

    Nodes are points, followed by pieces: groups that are represented by their width only.
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
        self._nodes: dict[int, list[int]] = {-1: points.topological_order()}
        if pieces:
            self._cut_out(points, homes(outline, pieces), pieces)

    def _cut_out(self, points: Points, home: Sequence[int], pieces: set[int]) -> None:
        """Gives each piece a graph of its own.

        An arc across its border starts at its end or ends at its start.
        """
        first = self._first_piece
        self._later = [[] for _ in home]
        self._nodes = {piece: [] for piece in (-1, *pieces)}
        for point in points.topological_order():
            row = point // 2
            if row in pieces and point % 2 == 0:
                self._nodes[home[first + row]].append(first + row)
            self._nodes[home[point]].append(point)
            for later in points.later[point]:
                source, target = point, later
                if home[source] != home[target]:
                    source = first + row if row in pieces and point % 2 else source
                    target = first + later // 2 if later // 2 in pieces and later % 2 == 0 else target
                if home[source] == home[target]:
                    self._later[source].append(target)

    def whole(self, enough: int, most_steps: int) -> tuple[int, list[int]]:
        """Returns an upper bound, and leaves that reach it apart from the order that was dropped.

        There are no leaves if the bound is not above `enough`, or if finding them took too long.
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
    """A flow of tokens through a graph that gives each node at least as many as it needs."""

    def __init__(
        self, later: Sequence[Sequence[int]], needs: Sequence[int], nodes: Sequence[int], *, closings: int
    ) -> None:
        self._later = later
        self._needs = needs
        self._nodes = nodes
        self._closings = (
            closings  # an odd number below this is the closing of a group, which takes all surplus tokens
        )
        self._new: dict[int, int] = {}  # tokens created at a node
        self._through = dict.fromkeys(nodes, 0)
        self._flows: dict[int, list[int]] = {}  # for each node, the tokens along each of its arcs
        self._distribute(self._demand())

    def total(self) -> int:
        return sum(self._new.values())

    def _demand(self) -> dict[int, int]:
        """Returns the tokens each node asks for; an opening asks for the nodes that have no other source."""
        sources = dict.fromkeys(self._nodes, 0)
        for node in self._nodes:
            for later in self._later[node]:
                sources[later] += 1
        demand: dict[int, int] = {}
        for node in reversed(self._nodes):
            demand[node] = self._needs[node]
            if not demand[node] and node % 2 == 0:
                demand[node] = sum(demand[later] for later in self._later[node] if sources[later] == 1)
        return demand

    def _distribute(self, demand: dict[int, int]) -> None:
        """Builds the first flow: nodes in order, each handing on what the next ones ask for."""
        through, closings = self._through, self._closings
        for node in self._nodes:
            missing = self._needs[node] - through[node]
            if missing > 0:
                self._new[node] = missing
                through[node] += missing
            # Surplus tokens go to the group's closing, from where later rows can use them.
            rest, rest_arc = through[node], 0
            flows: list[int] = []
            for arc, later in enumerate(self._later[node]):
                if later % 2 and later < closings:
                    rest_arc = arc
                    flows.append(0)
                    continue
                tokens = max(0, min(rest, demand[later] - through[later]))
                flows.append(tokens)
                through[later] += tokens
                rest -= tokens
            if flows:
                flows[rest_arc] = rest
                through[self._later[node][rest_arc]] += rest
            self._flows[node] = flows

    def improve(self, most_steps: int) -> list[int]:
        """Minimises the flow, and returns nodes that prove it minimal: none of them waits for another.

        Returns no nodes if that takes too long; the flow is then as small as it has become.
        """
        before = self._arcs_back()
        exhausted: set[int] = set()
        steps = 0
        for node in self._nodes:
            while self._new.get(node, 0):
                came_from = self._search(2 * node, before, exhausted)
                steps += len(came_from)
                if steps > most_steps:
                    return []
                # Nothing found: the searched places stay exhausted and are never searched again.
                if 2 * self._nodes[-1] not in came_from:
                    exhausted.update(came_from)
                    break
                self._new[node] -= 1
                self._reroute(came_from)
        return [node for node in self._nodes if 2 * node in exhausted and 2 * node + 1 not in exhausted]

    def _arcs_back(self) -> dict[int, list[tuple[int, int]]]:
        before: dict[int, list[tuple[int, int]]] = {node: [] for node in self._nodes}
        for node in self._nodes:
            for arc, later in enumerate(self._later[node]):
                before[later].append((node, arc))
        return before

    def _search(
        self, start: int, before: dict[int, list[tuple[int, int]]], exhausted: set[int]
    ) -> dict[int, tuple[int, int]]:
        """Returns the places that can give up a token instead of the start, ending if possible at the sink.

        A place is 2·node before a node and 2·node + 1 behind it. Each place is mapped to the place it was reached
        from and the arc between them.
        """
        came_from = {} if start in exhausted else {start: (-1, -1)}
        stack, end = list(came_from), 2 * self._nodes[-1]
        while stack and end not in came_from:
            place = stack.pop()
            for following, arc in self._moves(place, before):
                if following not in came_from and following not in exhausted:
                    came_from[following] = place, arc
                    stack.append(following)
        return came_from

    def _moves(self, place: int, before: dict[int, list[tuple[int, int]]]) -> list[tuple[int, int]]:
        """Returns the next places of a search: one more token from a node before, or one less to a node behind.

        The search tries the last first, which leads towards the end.
        """
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
            backwards = origin % 2 == 0  # an arc followed against its direction gets one more token
            if arc < 0:
                self._through[place // 2] += -1 if backwards else 1
            elif backwards:
                self._flows[place // 2][arc] += 1
            else:
                self._flows[origin // 2][arc] -= 1
            place = origin
            origin, arc = came_from[place]
