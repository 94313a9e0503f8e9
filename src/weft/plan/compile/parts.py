"""Shapes: small nets from which the net of a plan is assembled.

A shape is the life of one subplan, without its identity: it starts with a token in `ready` and ends with one in
`end`. Its places are its own, except for some that stand for something outside: `ready` and `end` themselves, the
slots of the limits around the slice, the turn of a serial policy, the branch it is merged into, and the pools. A
shape with filled pools is also a complete net, and is proved as such. The net of a plan has a copy of it for each
subplan with that shape.
"""

from collections.abc import Sequence
from enum import StrEnum
from functools import cached_property
from itertools import chain

from msgspec import Struct, field

from weft.ids import OutcomeName
from weft.net.model import Arcs, Net, NetBuilder, PlaceKind
from weft.plan.compile.actions import ActionKind

READY, END, SLOT, TURN, MERGE = range(5)
"""The places that stand for something outside the shape. Pools follow, then the shape's own places."""

HOST = "host@"
"""The pool that stands for the slots of the host on which the slice is placed.

With a choice behind it, it stands for those of the host on which a step with a `host` of its own runs. In the
shape it has one token, the least that a host can have, so that a proof holds for each placement.
"""

Places = Sequence[int]


class Role(StrEnum):
    """The purpose of a transition."""

    BEGIN = "begin"
    """A slice starts: it takes its slots and gets its workspace."""
    RUN = "run"
    """A step runs."""
    STOP = "stop"
    """A step does not run because the slice has failed or is cancelled; also a slice that never starts."""
    SKIP = "skip"
    """A step does not run because of its condition."""
    WAIT = "wait"
    """Everything that a step depends on has ended."""
    LAUNCH = "launch"
    """Async steps are started."""
    ENTER = "enter"
    SETTLE = "settle"
    """A nested pipeline starts; it has ended and its outcome is decided."""
    LEAVE = "leave"
    RETURN = "return"
    """The slice releases its slots while a person is asked; it takes them again."""
    CLOSE = "close"
    """The pipeline has ended and releases the slots; or all parts of a group have ended."""
    OPEN = "open"
    """The parts of a group may start."""
    MERGE = "merge"
    DROP = "drop"
    """A result is merged into the branch around it; or it is not, because the subplan failed."""
    RESOLVE = "resolve"
    """An agent resolves the conflict of a merge. Whatever its outcome, the merge is tried again."""
    LAND = "land"
    """A result lands on the target."""


class Act(Struct, frozen=True):
    """The meaning of a transition in terms of the plan."""

    role: Role
    kind: ActionKind = ActionKind.NONE
    step: str = ""
    """The address of the step, as `outer.inner`."""
    attempt: int = 0
    frame: str = ""
    """The copy of the nested pipeline that contains the step, as `outer#2.`; empty in the slice's own pipeline."""
    inner: str = ""
    """The copy of the nested pipeline that the step is, if the transition ends it."""
    rerun: int = 0
    """How often the execution was lost or could not be started before."""


class Stencil(Struct, frozen=True, eq=False):
    """A shape prepared for copying: each distinct list of arcs once, and which transition uses which."""

    own: tuple[int, ...]
    """The places of those lists that lead to a single place of the shape's own, as nearly all do."""
    others: tuple[Arcs, ...]
    """The other lists."""
    inputs: tuple[int, ...]
    """The list of each transition's inputs: an index into `own` followed by `others`."""
    outputs: tuple[tuple[int, ...], ...]
    """The distinct outputs, with a list for each outcome."""
    outputs_of: tuple[int, ...]
    """The index of each transition's outputs."""


class Shape(Struct, frozen=True, eq=False, dict=True):
    """The net of one subplan without its identity."""

    net: Net
    acts: tuple[Act, ...]
    """One for each transition."""
    pools: tuple[str, ...]
    """The pools that it uses; their places follow those that stand for something outside."""
    carriers: frozenset[int]
    """The places where a token means that the slice holds its slots."""

    @property
    def own(self) -> int:
        """The number of the first place that belongs to the shape itself."""
        return MERGE + 1 + len(self.pools)

    @property
    def has_hosts(self) -> bool:
        """Whether its net depends on the host on which the slice is placed."""
        return any(name.startswith(HOST) for name in self.pools)

    @cached_property
    def merges(self) -> bool:
        return any(act.role is Role.MERGE for act in self.acts)

    @cached_property
    def stencil(self) -> Stencil:
        net = self.net
        # Most transitions share a few lists of arcs, so that copying them is a look-up.
        distinct = dict.fromkeys((*net.inputs, *chain.from_iterable(net.outputs)))
        others = [arcs for arcs in distinct if len(arcs) != 1 or arcs[0][0] < self.own]
        own = [arcs for arcs in distinct if arcs not in others]
        numbers = {arcs: number for number, arcs in enumerate((*own, *others))}
        outputs = {lists: number for number, lists in enumerate(dict.fromkeys(net.outputs))}
        return Stencil(
            own=tuple(arcs[0][0] for arcs in own),
            others=tuple(others),
            inputs=tuple(numbers[arcs] for arcs in net.inputs),
            outputs=tuple(tuple(numbers[arcs] for arcs in lists) for lists in outputs),
            outputs_of=tuple(outputs[lists] for lists in net.outputs),
        )

    def pool_sizes(self) -> dict[str, int]:
        return dict(zip(self.pools, self.net.initial[MERGE + 1 : self.own], strict=True))


OutcomeArcs = tuple[str, Places]


class ShapeBuilder(Struct):
    """Collects the places and transitions of a shape."""

    pool_sizes: dict[str, int]
    builder: NetBuilder = field(default_factory=NetBuilder)
    acts: list[Act] = field(default_factory=list[Act])
    carriers: set[int] = field(default_factory=set[int])
    pools: dict[str, int] = field(default_factory=dict[str, int])

    def __post_init__(self) -> None:
        self.builder.add_place("ready", tokens=1)
        self.builder.add_place("end", kind=PlaceKind.END)
        for name in ("slot", "turn", "branch"):
            self.builder.add_place(name, kind=PlaceKind.POOL, tokens=1)
        for name, size in self.pool_sizes.items():
            self.pools[name] = self.builder.add_place(name, kind=PlaceKind.POOL, tokens=size)

    def place(self, name: str, *, carries: bool) -> int:
        """Adds a place; `carries` means that the slice holds its slots while a token is there."""
        number = self.builder.add_place(name)
        if carries:
            self.carriers.add(number)
        return number

    def local_pool(self, name: str, size: int) -> int:
        """Adds a pool that belongs to each copy of the shape."""
        return self.builder.add_place(name, kind=PlaceKind.POOL, tokens=size)

    def move(self, name: str, act: Act, inputs: Places, outputs: Places) -> None:
        """Adds a transition that takes no time and has one outcome."""
        self.choice(name, act, inputs, [("done", outputs)])

    def choice(
        self,
        name: str,
        act: Act,
        inputs: Places,
        outcomes: Sequence[OutcomeArcs],
        claims: Sequence[tuple[int, int]] = (),
    ) -> None:
        """Adds a transition with several outcomes. Every outcome returns what the transition claims."""
        # Claims are both inputs and outputs of every outcome, so that nothing can be lost.
        held = tuple(claims)
        self.builder.add_transition(
            name,
            (*((place, 1) for place in inputs), *held),
            tuple(OutcomeName(outcome) for outcome, _ in outcomes),
            tuple((*((place, 1) for place in outputs), *held) for _, outputs in outcomes),
            action=act.kind or None,
        )
        self.acts.append(act)

    def shape(self) -> Shape:
        return Shape(self.builder.build(), tuple(self.acts), tuple(self.pools), frozenset(self.carriers))
