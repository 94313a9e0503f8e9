"""Shapes: small nets from which the net of a plan is put together.

A shape is what becomes of one subplan, whoever it is: it begins with a token in `ready` and ends with one in
`end`. Its places are its own, except for some that stand for something outside: `ready` and `end` themselves, the
slots of the limits around the slice, the turn of a serial policy, the branch it is merged into, and the pools.
A shape is a complete net, too, with its pools filled, and is proven as such; the net of a plan holds a copy of it
for each subplan that has it.
"""

from collections.abc import Sequence
from enum import StrEnum
from functools import cached_property
from itertools import chain

from msgspec import Struct, field

from weft.ids import OutcomeName
from weft.net.model import Arcs, Net, NetBuilder, PlaceKind

READY, END, SLOT, TURN, MERGE = range(5)
"""The places that stand for something outside; pools follow, then the shape's own."""

Places = Sequence[int]


class Role(StrEnum):
    """What a transition is for."""

    BEGIN = "begin"
    """A slice starts: it takes its slots, and gets its workspace."""
    RUN = "run"
    """A step is done."""
    STOP = "stop"
    """A step is not done, since the slice has failed or is cancelled; also: a slice that never starts."""
    SKIP = "skip"
    """A step is not done, since its condition says so."""
    WAIT = "wait"
    """All that a step depends on has ended."""
    LAUNCH = "launch"
    """Async steps are on their way."""
    ENTER = "enter"
    SETTLE = "settle"
    """A nested pipeline begins; it has ended, and how is decided."""
    LEAVE = "leave"
    RETURN = "return"
    """The slice gives its slots back while a person is asked; it has them again."""
    CLOSE = "close"
    """The pipeline has ended, and the slots are given back; or all that is in a group has ended."""
    OPEN = "open"
    """What is in a group may start."""
    MERGE = "merge"
    DROP = "drop"
    """What was done is merged into the branch around it; or not, since it failed."""
    RESOLVE = "resolve"
    """An agent resolves the conflict that a merge has met; however that ends, the merge is tried again."""
    LAND = "land"
    """What was done goes onto the target."""


class Act(Struct, frozen=True):
    """What a transition means in the plan's own words."""

    role: Role
    kind: str = ""
    """What is done: agent, run, verify, ask, workspace, merge, resolve, land; empty for what takes no time."""
    step: str = ""
    """The address of the step, as `outer.inner`."""
    attempt: int = 0
    frame: str = ""
    """The copy of the nested pipeline that the step stands in, as `outer#2.`; empty for the slice's own."""


class Stencil(Struct, frozen=True, eq=False):
    """A shape as it is copied: each distinct list of arcs once, and who has which."""

    own: tuple[int, ...]
    """Those that lead to one place of the shape's own, as nearly all do: the place."""
    others: tuple[Arcs, ...]
    inputs: tuple[int, ...]
    """Of each transition, which list: a number below that of the own ones, or beyond it for the others."""
    outputs: tuple[tuple[int, ...], ...]
    """The distinct outputs, a list for each outcome."""
    outputs_of: tuple[int, ...]
    """Of each transition, which of these."""


class Shape(Struct, frozen=True, eq=False, dict=True):
    net: Net
    acts: tuple[Act, ...]
    """One for each transition."""
    pools: tuple[str, ...]
    """The pools it uses; their places follow those that stand for something outside."""
    carriers: frozenset[int]
    """The places whose token means that the slice holds its slots."""

    @property
    def own(self) -> int:
        """The number of the first place of its own."""
        return MERGE + 1 + len(self.pools)

    @cached_property
    def merges(self) -> bool:
        return any(act.role is Role.MERGE for act in self.acts)

    @cached_property
    def stencil(self) -> Stencil:
        net = self.net
        distinct = dict.fromkeys((*net.inputs, *chain.from_iterable(net.outputs)))
        others = [arcs for arcs in distinct if len(arcs) != 1 or arcs[0][0] < self.own]
        own = [arcs for arcs in distinct if arcs not in others]
        numbers = {arcs: number for number, arcs in enumerate((*own, *others))}
        outputs = {given: number for number, given in enumerate(dict.fromkeys(net.outputs))}
        return Stencil(
            own=tuple(arcs[0][0] for arcs in own),
            others=tuple(others),
            inputs=tuple(numbers[arcs] for arcs in net.inputs),
            outputs=tuple(tuple(numbers[arcs] for arcs in given) for given in outputs),
            outputs_of=tuple(outputs[given] for given in net.outputs),
        )

    def pool_sizes(self) -> dict[str, int]:
        return dict(zip(self.pools, self.net.initial[MERGE + 1 : self.own], strict=True))


OutcomeArcs = tuple[str, Places]


class ShapeBuilder(Struct):
    """Collects places and transitions of a shape."""

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
        """A new place; `carries` if its token means that the slice holds its slots."""
        number = self.builder.add_place(name)
        if carries:
            self.carriers.add(number)
        return number

    def local_pool(self, name: str, size: int) -> int:
        return self.builder.add_place(name, kind=PlaceKind.POOL, tokens=size)

    def move(self, name: str, act: Act, inputs: Places, outputs: Places) -> None:
        """A transition that takes no time and has one outcome."""
        self.choice(name, act, inputs, [("done", outputs)])

    def choice(
        self,
        name: str,
        act: Act,
        inputs: Places,
        outcomes: Sequence[OutcomeArcs],
        claims: Sequence[tuple[int, int]] = (),
    ) -> None:
        """A transition whose outcome decides where the tokens go; what it claims comes back with each."""
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
