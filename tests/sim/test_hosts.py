"""Whatever the plan, the world, and the hosts that fail and return: the laws of a run on several hosts hold."""

from collections.abc import Callable
from random import Random

import pytest

from sim.host_plans import plan_with_hosts, play
from sim.random_worlds import Chances
from sim.schedules import PARTS, WORLDS, seeds
from weft.engine.engine import Engine
from weft.plan.compile.plan_net import CompiledPlan

pytestmark = pytest.mark.parametrize("part", PARTS)


def for_each(
    part: int, gate: int, check: Callable[[CompiledPlan, str], object], *, is_pinned: bool = False
) -> None:
    for seed in seeds(part, gate):
        compiled = plan_with_hosts(Random(seed), is_pinned=is_pinned)
        for world in range(WORLDS):
            try:
                check(compiled, f"{seed} {world}")
            except Exception as error:
                error.add_note(f"WEFT_SEED={seed} repeats this; it is world {world} there")
                raise


def test_slots_hold_and_slices_stay_where_they_are_placed(part: int) -> None:
    for_each(part, 12, play)


def test_a_run_on_pinned_hosts_is_a_run_of_the_net(part: int) -> None:
    def check(compiled: CompiledPlan, world: str) -> None:
        play(compiled, world, follows_net=True)

    for_each(part, 8, check, is_pinned=True)


def test_the_laws_hold_while_hosts_fail_and_return(part: int) -> None:
    def check(compiled: CompiledPlan, world: str) -> None:
        play(compiled, world, fails=0.15)

    for_each(part, 16, check)


def test_the_laws_hold_while_hosts_and_coordinators_fail_and_people_pause(part: int) -> None:
    def check(compiled: CompiledPlan, world: str) -> None:
        play(compiled, world, Chances(says=0.1, stops=0.05, dies=0.05, dies_early=0.05), fails=0.1)

    for_each(part, 16, check)


def test_a_replay_places_the_same_slices_with_the_same_tokens(part: int) -> None:
    def check(compiled: CompiledPlan, world: str) -> None:
        run = play(compiled, world, Chances(dies=0.05), fails=0.1)
        again = Engine(compiled)
        for fact in run.facts:
            again.apply(fact)
        events, _ = again.take_messages()
        assert events == [event for _, event in run.events]

    for_each(part, 6, check)
