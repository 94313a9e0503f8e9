"""Schedules by seed: a plan, a world and interruptions, all at random, and the laws that are held against them."""

import os
from collections.abc import Callable, Iterator
from random import Random, SystemRandom

from sim.laws import Laws
from sim.random_plans import random_plan
from sim.random_worlds import Chances, RandomWorld
from weft.engine.simulate import SimulatedRun, Simulator
from weft.plan.compile.plan_net import CompiledPlan

PARTS = range(8)
"""Each test has so many parts, for several processes to share."""
WORLDS = 5
"""So many worlds for each plan."""


def seeds(part: int, gate: int) -> Iterator[int]:
    """The seeds of a part: in a gate the same ones always, and so many; else a few, others each time.

    WEFT_SEED=N repeats one, WEFT_SCHEDULES=N tries N times as many as a gate does, others each time.
    """
    if "WEFT_SEED" in os.environ:
        yield from [int(os.environ["WEFT_SEED"])][part:]
    elif os.environ.get("WEFT_EXAMPLES") == "gate":
        yield from range(part * gate, (part + 1) * gate)
    else:
        times = float(os.environ.get("WEFT_SCHEDULES", "0.3"))
        for _ in range(max(1, int(gate * times))):
            yield SystemRandom().randrange(10**9)


def for_each(part: int, gate: int, check: Callable[[CompiledPlan, str], object]) -> None:
    """Checks plans, each in several worlds; a failure tells how to repeat it."""
    for seed in seeds(part, gate):
        compiled = random_plan(Random(seed))
        for world in range(WORLDS):
            try:
                check(compiled, f"{seed} {world}")
            except Exception as error:
                error.add_note(f"WEFT_SEED={seed} repeats this; it is world {world} there")
                raise


def play(
    compiled: CompiledPlan, world: str, chances: Chances | None = None, *, holds: bool = True
) -> SimulatedRun:
    """A run in which all laws held. `holds`: whether merges may be held."""
    trouble = Random(world).choice([0.0, 0.03, 0.1, 0.1, 0.3])
    random_world, laws = RandomWorld(world, trouble, holds=holds), Laws(compiled)
    run = Simulator(
        compiled,
        random_world.happens,
        person=random_world.replies,
        interruptions=(chances or Chances()).interruptions(world, compiled.plan.outline.paths),
        watch=laws.watch,
        trace=True,
    ).play()
    laws.ended(run)
    return run
