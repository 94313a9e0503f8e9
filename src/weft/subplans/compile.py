"""From a tree of subplans to a net.

Every subplan ends exactly once. Its end gives a token to each subplan that waits for it, whatever its outcome.
Whether a successor then runs or is skipped is a choice *after* the tokens of its predecessors have arrived:

    leaf    tokens of what it waits for ─▶ [join] ─▶ (ready) ─┬▶ run   completed | failed | cancelled ─▶ ends
                                                              └▶ skip  ─────────────────────────────▶ ends
    group   … ─▶ (ready) ─▶ open ─▶ one token for each child ┄▶ … ┄▶ close ─▶ ends

There is a join only where a subplan waits for more than one token. A child that waits for a sibling does not also
wait for its group to open, and a child that a sibling waits for does not also report its end to the group: both
follow. `run` claims one slot of each limit around it, all at once, and every outcome returns them. So the control
part is an acyclic free-choice workflow net, and the slots obey the rules under which pools cannot deadlock.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum

from weft.ids import OutcomeName
from weft.net.model import Net, NetBuilder, PlaceKind
from weft.subplans.order import longest_paths
from weft.subplans.tree import ROOT, SubplanTree

COMPLETED, FAILED, CANCELLED = 0, 1, 2
"""Outcomes of `run`, by number."""

_RUN = (OutcomeName("completed"), OutcomeName("failed"), OutcomeName("cancelled"))
_SKIP = (OutcomeName("skipped"),)
_STEP = (OutcomeName("done"),)

_Arcs = list[tuple[int, int]]


class TransitionRole(IntEnum):
    """The role of a transition for its row."""

    JOIN = 0
    RUN = 1
    SKIP = 2
    OPEN = 3
    CLOSE = 4


@dataclass(frozen=True, slots=True)
class CompiledTree:
    tree: SubplanTree
    net: Net
    rows: list[int]
    """The row of the tree that each transition is about."""
    roles: bytearray
    """The `TransitionRole` of each transition."""
    skips: list[int]
    """The skip transition of each leaf; for a group, -1."""


def compile_tree(tree: SubplanTree) -> CompiledTree:
    lengths = longest_paths(tree)
    levels = {length: level for level, length in enumerate(sorted(set(lengths)))}
    compiler = _Compiler(tree)
    compiler.add_places()
    compiler.add_pools()
    for row in range(len(tree.paths)):
        ready = compiler.add_join(row)
        if tree.is_leaf(row):
            compiler.add_leaf(row, ready, levels[lengths[row]])
        else:
            compiler.add_group(row, ready)
    return compiler.compiled()


class _Compiler:
    def __init__(self, tree: SubplanTree) -> None:
        self.tree = tree
        self.builder = NetBuilder()
        rows = range(len(tree.paths))
        self.waits: list[_Arcs] = [[] for _ in rows]  # from the places a row waits for
        self.ends: list[_Arcs] = [[] for _ in rows]  # to the places that get a token at a row's end
        self.opened: dict[int, _Arcs] = {}  # group: to the places of the children that start with it
        self.arrived: dict[int, _Arcs] = {}  # group: from the places where its children's ends arrive
        self.claims: dict[int, _Arcs] = {}  # group: the slots that a leaf in it takes
        self.rows: list[int] = []
        self.roles = bytearray()
        self.skips = [-1] * len(tree.paths)

    def compiled(self) -> CompiledTree:
        return CompiledTree(self.tree, self.builder.build(), self.rows, self.roles, self.skips)

    def label(self, row: int) -> str:
        return self.tree.paths[row] or "/"

    def add_places(self) -> None:
        tree, add = self.tree, self.builder.add_place
        self.waits[ROOT] = [(add("/.ready", tokens=1), 1)]
        self.ends[ROOT] = [(add("/.end", kind=PlaceKind.END), 1)]
        self.opened = {row: [] for row in range(len(tree.paths)) if not tree.is_leaf(row)}
        self.arrived = {row: [] for row in self.opened}
        # The end of such a row already reaches the group through the sibling that waits for it.
        awaited = {
            earlier
            for row, before in enumerate(tree.depends_on)
            for earlier in before
            if tree.parents[earlier] == tree.parents[row]
        }
        for row in range(1, len(tree.paths)):
            self._add_waits(row)
            if row not in awaited:
                end = (add(f"{self.label(row)}.end"), 1)
                self.ends[row].append(end)
                self.arrived[tree.parents[row]].append(end)
        if len(tree.paths) == 1:  # nothing to do: the root closes as soon as it opens
            nothing = (add("/.nothing"), 1)
            self.opened[ROOT].append(nothing)
            self.arrived[ROOT].append(nothing)

    def _add_waits(self, row: int) -> None:
        tree, label = self.tree, self.label(row)
        parent, before = tree.parents[row], tree.depends_on[row]
        if not before:  # by far the most
            arc = (self.builder.add_place(f"{label}.ready"), 1)
            self.opened[parent].append(arc)
            self.waits[row].append(arc)
            return
        sources = [self.ends[earlier] for earlier in before]
        if all(tree.parents[earlier] != parent for earlier in before):
            sources.append(self.opened[parent])
        for position, source in enumerate(sources):
            id_ = f"{label}.ready" if len(sources) == 1 else f"{label}.waits.{position}"
            arc = (self.builder.add_place(id_), 1)
            source.append(arc)
            self.waits[row].append(arc)

    def add_pools(self) -> None:
        tree = self.tree
        for group in self.opened:
            around = self.claims[tree.parents[group]] if group != ROOT else []
            cap = tree.caps[group]
            own: _Arcs = []
            if cap is not None:
                id_ = f"{self.label(group)}.slots"
                own = [(self.builder.add_place(id_, kind=PlaceKind.POOL, tokens=cap), 1)]
            # Innermost first. A leaf claims all of them in one move, so no two leaves can hold what the other
            # needs.
            self.claims[group] = [*own, *around]

    def add_join(self, row: int) -> tuple[int, int]:
        """Returns the arc from the place that is marked when everything that the row waits for has ended."""
        waits = self.waits[row]
        if len(waits) == 1:
            return waits[0]
        ready = (self.builder.add_place(f"{self.label(row)}.ready"), 1)
        self._add_step(row, TransitionRole.JOIN, waits, (ready,))
        return ready

    def add_leaf(self, row: int, ready: tuple[int, int], priority: int) -> None:
        label, ends = self.label(row), tuple(self.ends[row])
        claims = self.claims[self.tree.parents[row]]
        outputs = (*ends, *claims)
        self.rows += (row, row)
        self.roles += bytes((TransitionRole.RUN, TransitionRole.SKIP))
        self.builder.add_transition(
            f"{label}.run",
            (ready, *claims),
            _RUN,
            (outputs, outputs, outputs),
            action="run",
            priority=priority,
        )
        self.skips[row] = self.builder.add_transition(f"{label}.skip", (ready,), _SKIP, (ends,))

    def add_group(self, row: int, ready: tuple[int, int]) -> None:
        self._add_step(row, TransitionRole.OPEN, (ready,), self.opened[row])
        self._add_step(row, TransitionRole.CLOSE, self.arrived[row], self.ends[row])

    def _add_step(
        self,
        row: int,
        role: TransitionRole,
        inputs: Iterable[tuple[int, int]],
        outputs: Iterable[tuple[int, int]],
    ) -> None:
        """Adds a join, open or close. These are no work, so their priority is above that of all work."""
        self.rows.append(row)
        self.roles.append(role)
        id_ = f"{self.label(row)}.{role.name.lower()}"
        first = len(self.tree.paths)
        self.builder.add_transition(id_, tuple(inputs), _STEP, (tuple(outputs),), priority=first)
