"""Whatever the plan, the world and the fate of the coordinator: the laws of a run hold.

More than three thousand schedules in a gate, each from a seed; WEFT_SEED=N repeats one, and WEFT_SCHEDULES=N
plays N times as many, others each time.
"""

from random import Random

import pytest

from sim.random_worlds import Chances
from sim.schedules import PARTS, for_each, play
from weft.engine.engine import Engine
from weft.engine.messages.event_codec import kind_of
from weft.engine.messages.events import AnyEvent
from weft.engine.messages.facts import AnyFact
from weft.engine.simulate import SimulatedRun
from weft.plan.compile.plan_net import CompiledPlan

pytestmark = pytest.mark.parametrize("part", PARTS)

_OF_COORDINATORS = {"recovered", "woke"}


def test_the_laws_hold_in_every_world(part: int) -> None:
    for_each(part, 30, play)


def test_the_laws_hold_when_the_run_is_stopped_and_goes_on_again_and_again(part: int) -> None:
    def check(compiled: CompiledPlan, world: str) -> None:
        play(compiled, world, Chances(stops=0.08, dies=0.03, dies_early=0.03))

    for_each(part, 24, check)


def test_the_laws_hold_when_people_pause_and_stop_parts_of_it_and_let_them_go_on(part: int) -> None:
    def check(compiled: CompiledPlan, world: str) -> None:
        play(compiled, world, Chances(says=0.15, stops=0.03, dies=0.03, dies_early=0.03))

    for_each(part, 18, check)


def test_the_death_of_coordinators_changes_nothing(part: int) -> None:
    """But that what is held is tried again when a new one comes."""

    def check(compiled: CompiledPlan, world: str) -> None:
        events = _events(play(compiled, world, holds=False))
        assert _events(play(compiled, world, Chances(dies=0.2), holds=False)) == events
        assert _events(play(compiled, world, Chances(dies_early=0.2), holds=False)) == events

    for_each(part, 8, check)


def _events(run: SimulatedRun) -> list[tuple[float, AnyEvent]]:
    return [event for event in run.events if kind_of(event[1]) not in _OF_COORDINATORS]


def test_any_beginning_of_the_facts_gives_the_same_engine_and_the_same_future(part: int) -> None:
    def check(compiled: CompiledPlan, world: str) -> None:
        run = play(compiled, world, Chances(stops=0.05, dies=0.05))
        messages = [event for _, event in run.events]
        starts = [number for number, event in enumerate(messages) if event.fact is not None]
        for item in Random(world).sample(range(1, len(run.facts)), min(3, len(run.facts) - 1)):
            first, second = (_fed(compiled, run.facts[:item], quiet=quiet) for quiet in (True, False))
            assert first.in_flight == second.in_flight
            assert first.state == second.state
            assert _future(first, run.facts[item:]) == messages[starts[item] :]

    for_each(part, 8, check)


def _fed(compiled: CompiledPlan, facts: list[AnyFact], *, quiet: bool) -> Engine:
    engine = Engine(compiled, quiet=quiet)
    for fact in facts:
        engine.apply(fact)
    engine.take_messages()
    return engine


def _future(engine: Engine, facts: list[AnyFact]) -> list[AnyEvent]:
    engine.speak()
    for fact in facts:
        engine.apply(fact)
    return engine.take_messages()[0]
