"""The nets and plans that are measured, and the drivers that play them."""

from collections import deque
from collections.abc import Callable, Iterator
from random import Random
from time import process_time

from weft.ids import OutcomeName, PlaceId, TransitionId
from weft.net.game import Firing, TokenGame
from weft.net.model import Arcs, Net, NetBuilder, PlaceKind
from weft.net.plain import PlainNet
from weft.subplans.agenda import Agenda
from weft.subplans.model import Subplan, SubplanGroup, Work
from weft.testing.skeletons import NetSketch, plan_skeleton

_DONE = (OutcomeName("done"),)

# Nets to run. Each transition fires once.


def chain(transitions: int) -> Net:
    """One token that goes from place to place."""
    return slices(1, steps=transitions)


def slices(count: int, *, steps: int = 5, pool: int | None = None) -> Net:
    """So many tokens, each with a few steps to go; with a pool, each step claims one slot of it."""
    builder = NetBuilder()
    slot: Arcs = ()
    if pool is not None:
        slot = ((builder.add_place("pool", kind=PlaceKind.POOL, tokens=pool), 1),)
    for number in range(count):
        here = builder.add_place(f"{number}.0", tokens=1)
        for step in range(1, steps + 1):
            there = builder.add_place(f"{number}.{step}")
            id_ = f"{number}.step.{step}"
            builder.add_transition(id_, ((here, 1), *slot), _DONE, (((there, 1), *slot),), action="step")
            here = there
    return builder.build()


def fan_out(width: int) -> Net:
    """One transition that starts all others at once, and one that waits for them all."""
    builder = NetBuilder()
    start = builder.add_place("start", tokens=1)
    end = builder.add_place("end")
    before = [(builder.add_place(f"{n}.before"), 1) for n in range(width)]
    after = [(builder.add_place(f"{n}.after"), 1) for n in range(width)]
    builder.add_transition("fork", ((start, 1),), _DONE, (tuple(before),))
    for number in range(width):
        builder.add_transition(f"{number}", (before[number],), _DONE, ((after[number],),))
    builder.add_transition("join", tuple(after), _DONE, (((end, 1),),))
    return builder.build()


def grid(side: int) -> Net:
    """As many rows as columns of transitions, each waiting for the one above and the one to the left."""
    builder = NetBuilder()

    def places(kind: str) -> list[list[int]]:
        def tokens(row: int, column: int) -> int:
            return int((row if kind == "down" else column) == 0)

        return [
            [builder.add_place(f"{kind}.{r}.{c}", tokens=tokens(r, c)) for c in range(side + 1)]
            for r in range(side + 1)
        ]

    down, right = places("down"), places("right")
    for r in range(side):
        for c in range(side):
            taken = ((down[r][c], 1), (right[r][c], 1))
            given = ((down[r + 1][c], 1), (right[r][c + 1], 1))
            builder.add_transition(f"{r}.{c}", taken, _DONE, (given,))
    return builder.build()


def lanes(groups: int, *, each: int = 10, group_cap: int = 2, root_cap: int = 10) -> Net:
    """Groups with a limit each, all under one limit: as many lanes as groups wait for the same pool."""
    builder = NetBuilder()
    root = (builder.add_place("root", kind=PlaceKind.POOL, tokens=root_cap), 1)
    for group in range(groups):
        pool = (builder.add_place(f"{group}.pool", kind=PlaceKind.POOL, tokens=group_cap), 1)
        end = (builder.add_place(f"{group}.end"), 1)
        for leaf in range(each):
            ready = (builder.add_place(f"{group}.{leaf}.ready", tokens=1), 1)
            taken, given = (ready, pool, root), (end, pool, root)
            builder.add_transition(f"{group}.{leaf}", taken, _DONE, (given,), action="leaf")
    return builder.build()


def agenda_of(net: Net) -> Agenda:
    return Agenda(TokenGame(net))


def play(agenda: Agenda) -> int:
    """Begins all that may begin, finishes one, and so on to the end; returns the number of firings."""
    in_flight: deque[Firing] = deque()
    fired = 0
    while True:
        while (firing := agenda.next()) is not None:
            in_flight.append(firing)
        if not in_flight:
            return fired
        agenda.finish(in_flight.popleft(), 0)
        fired += 1


def cpu_per_firing(net: Net, *, times: int = 1) -> float:
    """Seconds of CPU, the making of the game left out; the net is played as often as is said."""
    spent, fired = 0.0, 0
    for _ in range(times):
        agenda = agenda_of(net)
        before = process_time()
        fired += play(agenda)
        spent += process_time() - before
    return spent / fired


# Nets to analyse


def parallel_slices(count: int, *, steps: int = 3) -> PlainNet:
    """A fork into slices of a few steps each, and their join: (steps + 1) ** count + 2 states."""
    sketch = NetSketch()
    sketch.add("fork", ["source"], [f"{n}.0" for n in range(count)])
    for number in range(count):
        for step in range(steps):
            sketch.add(f"{number}.step.{step}", [f"{number}.{step}"], [f"{number}.{step + 1}"])
    sketch.add("join", [f"{n}.{steps}" for n in range(count)], ["sink"])
    return sketch.net(source=1)


def large_skeleton(slices_: int = 1_000) -> PlainNet:
    """1,000 slices of 3 steps with 3 attempts each and joins between them: 38,000 transitions."""
    return plan_skeleton(slices_, Random(1))


def as_plain(net: Net) -> PlainNet:
    """A net whose actions take no time, one transition for each: what other tools play."""
    return PlainNet(
        place_ids=tuple(map(PlaceId, net.place_ids)),
        transition_ids=tuple(map(TransitionId, net.transition_ids)),
        inputs=net.inputs,
        outputs=tuple(outputs[0] for outputs in net.outputs),
        initial=net.initial,
        place_kinds=net.place_kinds,
    )


# Plans


async def no_work() -> None:
    pass


def leaves(count: int, work: Work = no_work) -> list[Subplan]:
    return [Subplan(f"s{n}", work) for n in range(count)]


def groups_of_leaves(groups: int, each: int, work: Work = no_work) -> list[SubplanGroup]:
    return [SubplanGroup(f"g{n}", tuple(leaves(each, work)), max_parallel=2) for n in range(groups)]


def random_dag(tasks: int, rng: Random) -> list[Subplan]:
    """Tasks of 1 to 20 units, each after up to three of those before it."""

    def task(number: int) -> Subplan:
        needs = {f"s{rng.randrange(number)}": None for _ in range(rng.randint(0, 3)) if number}
        return Subplan(f"s{number}", no_work, tuple(needs), rng.uniform(1, 20))

    return [task(number) for number in range(tasks)]


def random_dags(tasks: int, count: int) -> Iterator[list[Subplan]]:
    return (random_dag(tasks, Random(f"{tasks}/{seed}")) for seed in range(count))


def best_of(times: int, measured: Callable[[], float]) -> float:
    return min(measured() for _ in range(times))
