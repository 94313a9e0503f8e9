"""Wherever a run is cut off, a new run of the plan continues: the laws hold, and nothing is done twice."""

from random import Random

import pytest
from msgspec.structs import replace

from app.continuations import cut_off
from sim.laws import Laws
from sim.random_worlds import RandomWorld
from sim.schedules import PARTS, for_each, play
from weft.engine.messages.facts import EarlierSlice, Ended, StepOutcome
from weft.engine.messages.orders import Launch, Ordered, Prepare
from weft.engine.simulate import SimulatedEnd, SimulatedRun, Simulator
from weft.plan.compile.plan_net import CompiledPlan

pytestmark = pytest.mark.parametrize("part", PARTS)


def test_a_run_continues_wherever_an_earlier_one_was_cut_off(part: int) -> None:
    def check(compiled: CompiledPlan, world: str) -> None:
        first = play(compiled, world)
        for item in Random(world).sample(range(1, len(first.facts)), min(3, len(first.facts) - 1)):
            rest = cut_off(compiled, first.facts[:item])
            second = continuing(compiled, world, tuple(rest.values()))
            done = {
                (path, step.step, step.attempt)
                for path, earlier in rest.items()
                for step in earlier.steps
                if isinstance(step.end, Ended) and step.end.how is StepOutcome.DONE
            }
            assert not done & launched(second)

    for_each(part, 8, check)


def continuing(compiled: CompiledPlan, world: str, continued: tuple[EarlierSlice, ...]) -> SimulatedRun:
    random_world, laws = RandomWorld(f"{world} again", 0.1), Laws(compiled)

    def happens(order: Ordered) -> SimulatedEnd:
        happening = random_world.happens(order)
        if isinstance(order, Prepare) and order.continues is not None:
            return replace(happening, kept=True)
        return happening

    simulator = Simulator(compiled, happens, person=random_world.replies, watch=laws.watch, trace=True)
    run = simulator.play(continued=continued)
    laws.ended(run)
    return run


def launched(run: SimulatedRun) -> set[tuple[str, str, int]]:
    return {(order.path, order.step, order.attempt) for order in run.orders if isinstance(order, Launch)}
