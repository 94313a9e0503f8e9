"""A compiled plan, and the net assembled from its parts.

Each copy of a shape has places and transitions of its own, numbered on from the end of the net. An arc to a place
that stands for something outside the shape is redirected to the real place: where this subplan is ready, the
places that get a token at its end, a slot of each limit around it, the turn of its serial group, the branch it
merges into, and the pools.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import cast

from msgspec import Struct

from weft.ids import OutcomeName, PlaceId, TransitionId
from weft.net.model import Arcs, Net, NetBuilder, PlaceKind
from weft.plan.compile.parts import HOST, Act, Role, Shape
from weft.plan.compile.priorities import priorities
from weft.plan.compile.wait_graph import Wiring
from weft.plan.model import Plan
from weft.plan.order.outline import ROOT
from weft.plan.placement import all_steps, slice_hosts

Numbers = tuple[int, ...]

_DONE = (OutcomeName("done"),)


class CompiledPlan(Struct, frozen=True, eq=False, dict=True):
    """The net of a plan in parts: the graph of dependencies and the shapes of the subplans."""

    plan: Plan
    after: list[tuple[int, ...]]
    """For each row, the rows that must end before it starts, besides its dependencies."""
    wiring: Wiring
    shapes: tuple[Shape, ...]
    shape_of: list[int]
    """The number of each row's shape; -1 for a group that does nothing of its own."""
    landing_shapes: list[int]
    """The number of each landing's shape."""
    pools: dict[str, int]
    """The pools of the plan and of its agents that something claims, with their sizes."""

    @cached_property
    def assembled(self) -> "AssembledNet":
        return _Assembly(self).assembled()

    @property
    def net(self) -> Net:
        """The whole plan as one net."""
        return self.assembled.net


class AssembledNet(Struct, frozen=True, eq=False):
    """The net of a whole plan, with the meaning of its transitions."""

    net: Net
    rows: list[int]
    """The row of the plan that each transition belongs to."""
    acts: list[Act]
    """What each transition means for its row."""


class _Assembly:
    """Builds the net of a compiled plan."""

    def __init__(self, compiled: CompiledPlan) -> None:
        self.compiled = compiled
        self.plan: Plan = compiled.plan
        self.outline = compiled.plan.outline
        self.builder = NetBuilder()
        self.rows: list[int] = []
        self.acts: list[Act] = []
        count = len(self.outline.paths)
        # Places: those that a row waits for, and those that get a token at its end or its landing's.
        self.waits: list[list[int]] = [[] for _ in range(count)]
        self.ends: list[list[int]] = [[] for _ in range(count + len(compiled.landing_shapes))]
        # Places of a group: those of the rows that start when it opens, and those of the ends it waits for.
        self.opened: list[list[int]] = [[] for _ in range(count)]
        self.arrived: list[list[int]] = [[] for _ in range(count)]
        self.landing: list[int] = []  # the place where each landing is ready
        self.slots: list[Numbers] = []
        self.turns: list[Numbers] = []
        self.branches: dict[str, int] = {}
        self.pools: dict[str, Numbers] = {}
        self.levels = priorities(compiled.plan, compiled.after)

    def assembled(self) -> AssembledNet:
        self.add_dependencies()
        self.add_limits()
        opened: list[int] = []
        for row in range(len(self.outline.paths)):
            if self.outline.is_leaf(row):
                self.add_slice(row)
            else:
                self.add_opening(row)
                opened.append(row)
            # A group is closed before the next row that is not part of it, so that numbers follow plan order.
            while opened and row + 1 == opened[-1] + self.outline.sizes[opened[-1]]:
                self.add_closing(opened.pop())
        self.add_landings()
        return AssembledNet(self.builder.build(), self.rows, self.acts)

    # The graph of dependencies.

    def add_dependencies(self) -> None:
        wires, paths, count = self.compiled.wiring, self.outline.paths, len(self.outline.paths)
        add = self.builder.add_place
        # The only token of the net outside of pools: everything else follows from it.
        self.waits[ROOT].append(add("start", tokens=1))
        self.ends[ROOT].append(add("end", kind=PlaceKind.END))
        for group, children in enumerate(wires.opens):
            for child in children:
                place = add(f"{paths[child]} may start")
                self.opened[group].append(place)
                self.waits[child].append(place)
        for earlier, later in enumerate(wires.followers):
            for row in later:
                place = add(f"{paths[earlier]} ended for {paths[row]}")
                self.ends[earlier].append(place)
                self.waits[row].append(place)
        # After the followers, before the closings: the numbers of places decide the order of choices, which must
        # not change.
        for row in wires.landings:
            self.landing.append(add(f"{paths[row]} to land"))
            self.ends[row].append(self.landing[-1])
        for group, ended in enumerate(wires.closes):
            for end in ended:
                name = (
                    paths[end] + " ended" if end < count else f"{paths[wires.landings[end - count]]} landed"
                )
                place = add(name)
                self.ends[end].append(place)
                self.arrived[group].append(place)

    def add_limits(self) -> None:
        """Adds pools for slots and turns, and records which ones each row uses.

        A group passes its own to its parts.
        """
        plan, add = self.plan, self.builder.add_place
        for row, subplan in enumerate(plan.subplans):
            settings, parent = plan.scopes[row].settings, self.outline.parents[row]
            # A slice takes a slot of every limit around it, so the lists accumulate from the outside in.
            slots = self.slots[parent] if row else ()
            turn = self.turns[parent] if row else ()
            path = self.outline.paths[row]
            if not row or ("max_parallel" in subplan.settings and not self.outline.is_leaf(row)):
                place = add(f"slots {path}".rstrip(), kind=PlaceKind.POOL, tokens=settings.max_parallel)
                slots = (*slots, place)
            if settings.policy != "serial":
                turn = ()
            elif not turn:
                # Nested serial groups share the turn of the outermost one.
                turn = (add(f"turn {path}".rstrip(), kind=PlaceKind.POOL, tokens=1),)
            self.slots.append(slots)
            self.turns.append(turn)
        for name, size in self.compiled.pools.items():
            self.pools[name] = (add(name, kind=PlaceKind.POOL, tokens=size),)

    def branch(self, name: str) -> Numbers:
        if name not in self.branches:
            self.branches[name] = self.builder.add_place(name, kind=PlaceKind.POOL, tokens=1)
        return (self.branches[name],)

    def ready(self, row: int) -> int:
        """Returns the place where a row is ready; if it waits for several places, a transition joins them."""
        waits = self.waits[row]
        if len(waits) == 1:
            return waits[0]
        path = self.outline.paths[row]
        # A shape has a single `ready` place, so several dependencies are joined before it.
        place = self.builder.add_place(f"{path} ready")
        self.add(row, Act(Role.WAIT), f"wait {path}", waits, [place])
        return place

    def add_opening(self, row: int) -> None:
        name = f"open {self.outline.paths[row]}".rstrip()
        self.add(row, Act(Role.OPEN), name, self.waits[row], self.opened[row])

    def add_closing(self, row: int) -> None:
        shape = self.compiled.shape_of[row]
        name = f"close {self.outline.paths[row]}".rstrip()
        if shape < 0:
            self.add(row, Act(Role.CLOSE), name, self.arrived[row], self.ends[row])
            return
        joined = self.builder.add_place(f"{self.outline.paths[row]} joined".lstrip())
        self.add(row, Act(Role.CLOSE), name, self.arrived[row], [joined])
        self.add_copy(row, joined, self.ends[row], shape)

    def add_landings(self) -> None:
        count = len(self.outline.paths)
        for number, shape in enumerate(self.compiled.landing_shapes):
            row = self.compiled.wiring.landings[number]
            path = self.outline.paths[row]
            ends = self.ends[count + number]
            self.add_copy(row, self.landing[number], ends, shape, prefix=f"{path} landing")

    def add(self, row: int, act: Act, name: str, inputs: list[int], outputs: list[int]) -> None:
        input_arcs: Arcs = tuple((place, 1) for place in inputs)
        output_arcs: Arcs = tuple((place, 1) for place in outputs)
        self.builder.add_transition(name, input_arcs, _DONE, (output_arcs,), priority=self.levels[row])
        self.rows.append(row)
        self.acts.append(act)

    # Copies of shapes.

    def add_slice(self, row: int) -> None:
        """Adds a copy of the shape of a slice; if it may be placed on several hosts, a copy for each of them.

        The copies share the places where the slice is ready and where it has ended, so the first transition that
        takes the token there chooses the host.
        """
        number, ready = self.compiled.shape_of[row], self.ready(row)
        if not self.compiled.shapes[number].has_hosts:
            self.add_copy(row, ready, self.ends[row], number)
            return
        hosts = slice_hosts(self.plan, row)
        for host in hosts:
            prefix = copy_name(self.outline.paths[row], host, hosts)
            self.add_copy(row, ready, self.ends[row], number, prefix=prefix, host=host)

    def host_pool(self, name: str, host: str) -> Numbers:
        """Returns the pool that a symbol of a shape stands for if the slice is on a host; none without slots."""
        choice = name.removeprefix(HOST)
        if choice:
            allowed = self.allowed_hosts(choice)
            host = host if host in allowed else allowed[0]
        return self.pools.get(f"host:{host}", ())

    def allowed_hosts(self, name: str) -> tuple[str, ...]:
        """Returns the hosts that a choice of this name allows, which some step has made."""
        return next(
            step.host.candidates(self.plan.hosts)
            for step in all_steps(self.plan)
            if step.host is not None and step.host.name == name
        )

    def add_copy(
        self,
        row: int,
        ready: int,
        ends: list[int],
        number: int,
        *,
        prefix: str = "",
        host: str = "",
    ) -> None:
        """Adds a copy of a shape, with the places of this row in place of those outside the shape."""
        shape = self.compiled.shapes[number]
        prefix = prefix or self.outline.paths[row] or "the plan"
        parent = self.outline.parents[row]
        # A subplan merges into the branch of the group around it, and merges of one branch exclude each other.
        branch = self.branch(f"branch {self.outline.paths[parent]}".rstrip()) if shape.merges else ()
        places = [(ready,), ends, self.slots[row], self.turns[row], branch]
        places += [
            self.host_pool(name, host) if name.startswith(HOST) else self.pools[name] for name in shape.pools
        ]
        outside: list[Arcs] = [tuple([(place, 1) for place in numbers]) for numbers in places]
        builder, net = self.builder, shape.net
        # Own places of the shape are appended; the first of them gets the next free number.
        offset = len(builder.place_ids) - shape.own
        # A plan can have thousands of copies, so the columns of the net are extended directly, without a call
        # for each place and transition.
        builder.place_ids += cast(
            "list[PlaceId]", [f"{prefix}: {name}" for name in net.place_ids[shape.own :]]
        )
        builder.place_kinds += net.place_kinds[shape.own :]
        builder.initial += net.initial[shape.own :]
        stencil = shape.stencil
        arcs: list[Arcs] = [((place + offset, 1),) for place in stencil.own]
        arcs += [_map_arcs(template, outside, offset) for template in stencil.others]
        outputs = [tuple(map(arcs.__getitem__, outcomes)) for outcomes in stencil.outputs]
        builder.inputs += [arcs[number] for number in stencil.inputs]
        builder.outputs += [outputs[number] for number in stencil.outputs_of]
        builder.transition_ids += cast(
            "list[TransitionId]", [f"{prefix}: {name}" for name in net.transition_ids]
        )
        builder.outcomes += net.outcomes
        builder.actions += net.actions
        builder.priorities += [self.levels[row]] * len(net.actions)
        self.rows += [row] * len(net.actions)
        self.acts += shape.acts


def copy_name(path: str, host: str, hosts: Sequence[str]) -> str:
    """Returns the name of the copy of a slice's shape for one of the hosts on which it may be placed."""
    return f"{path} on {host}" if len(hosts) > 1 else path


def _map_arcs(arcs: Arcs, outside: list[Arcs], offset: int) -> Arcs:
    """Returns the arcs of a copy: own places are shifted, others are replaced by the places they stand for."""
    own = len(outside)
    mapped: list[tuple[int, int]] = []
    for place, weight in arcs:
        if place >= own:
            mapped.append((place + offset, weight))
        elif weight == 1:
            mapped += outside[place]
        else:
            mapped += [(number, weight) for number, _ in outside[place]]
    return tuple(mapped)
