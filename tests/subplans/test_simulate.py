"""Virtual time: the same decisions as a run, and how near the order of work comes to the best possible."""

import random
from collections.abc import Callable
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft import (
    AggregateSubplanError,
    Behaviour,
    ConfigError,
    FailureMode,
    ParallelExecutionConfig,
    ParallelSubplanDispatcher,
    Policy,
    Subplan,
    SubplanEvent,
    SubplanExecutionError,
    SubplanGroup,
    simulate,
)


async def never_called() -> None:
    raise AssertionError("a simulation does no work")


def leaf(id_: str, *depends_on: str, estimate: float = 1.0) -> Subplan:
    return Subplan(id_, never_called, depends_on, estimate)


def test_time_passes_as_the_estimates_say() -> None:
    simulation = simulate([leaf("a", estimate=3), leaf("b", "a", estimate=4), leaf("c", estimate=5)])
    assert simulation.makespan == 7
    assert simulation.peak == 2
    assert simulation.lower_bound == 7
    assert simulation.failure is None
    assert [(e.at, e.path, e.after) for e in simulation.events] == [
        (0, "a", "running"),
        (0, "c", "running"),
        (3, "a", "completed"),
        (3, "b", "running"),
        (5, "c", "completed"),
        (7, "b", "completed"),
    ]


def test_work_shared_by_too_few_slots_bounds_the_time() -> None:
    config = ParallelExecutionConfig(max_parallel=2)
    simulation = simulate([leaf(f"s{n}") for n in range(7)], config)
    assert (simulation.makespan, simulation.lower_bound, simulation.peak) == (4, 3.5, 2)


def test_a_behaviour_may_be_a_duration_or_say_how_it_ends() -> None:
    def behaviour(path: str) -> Behaviour | float:
        return (
            Behaviour(2, error=ValueError("no"))
            if path == "bad"
            else Behaviour(1, "value")
            if path == "v"
            else 9.0
        )

    simulation = simulate([leaf("bad"), leaf("v"), leaf("long")], behaviour=behaviour)
    assert isinstance(simulation.failure, SubplanExecutionError)
    assert simulation.failure.path == "bad"
    assert simulation.results["v"].value == "value"
    assert simulation.makespan == 2
    assert simulation.results["long"].ended_at == 2


@pytest.mark.parametrize("duration", [-1, -0.5, float("nan"), float("inf"), "3", None, True])
@pytest.mark.parametrize("make", [Behaviour, lambda duration: duration])
def test_a_duration_is_a_number_of_seconds(make: Callable[[object], Any], duration: object) -> None:
    with pytest.raises(ConfigError, match=r"^b: duration is .*; a number of seconds ≥ 0 is needed$"):
        simulate([leaf("a"), leaf("b")], behaviour=lambda path: 1.0 if path == "a" else make(duration))


def test_continue_on_error_is_told_as_a_run_would() -> None:
    config = ParallelExecutionConfig(failure_mode=FailureMode.CONTINUE_ON_ERROR)
    simulation = simulate(
        [leaf("bad"), leaf("next", "bad"), leaf("free")],
        config,
        behaviour=lambda path: Behaviour(1, error=ValueError() if path == "bad" else None),
    )
    assert isinstance(simulation.failure, AggregateSubplanError)
    assert [e.path for e in simulation.failure.failures] == ["bad", "next"]


def random_dag(size: int, seed: str) -> list[Subplan]:
    rng = random.Random(seed)
    return [
        leaf(
            f"s{n}",
            *{f"s{rng.randrange(n)}" for _ in range(rng.randint(0, 3)) if n},
            estimate=rng.uniform(1, 20),
        )
        for n in range(size)
    ]


@pytest.mark.parametrize("max_parallel", [2, 4, 8])
@pytest.mark.parametrize(("size", "rounds"), [(30, 50), (100, 50), (300, 20), (1000, 5)])
def test_critical_path_first_comes_within_two_per_cent_of_the_lower_bound(
    size: int, rounds: int, max_parallel: int
) -> None:
    config = ParallelExecutionConfig(max_parallel=max_parallel)
    ratios: list[float] = []
    for round_ in range(rounds):
        simulation = simulate(random_dag(size, f"{size}/{round_}"), config)
        assert simulation.makespan >= simulation.lower_bound - 1e-9
        ratios.append(simulation.makespan / simulation.lower_bound)
    assert sum(ratios) / rounds <= 1.02


def test_plan_order_alone_would_be_farther_from_the_bound() -> None:
    config = ParallelExecutionConfig(max_parallel=4)
    by_path = by_order = 0.0
    for round_ in range(50):
        dag = random_dag(30, f"30/{round_}")
        durations = {subplan.id: subplan.estimate for subplan in dag}
        unknown = [leaf(subplan.id, *subplan.depends_on, estimate=0) for subplan in dag]
        by_path += simulate(dag, config).makespan
        by_order += simulate(unknown, config, behaviour=lambda path, known=durations: known[path]).makespan  # type: ignore[misc]
    assert by_order > 1.02 * by_path


# The same scenario, in virtual and in real time

Scenario = tuple[list[Subplan | SubplanGroup], ParallelExecutionConfig, dict[str, Behaviour]]


@st.composite
def scenarios(draw: st.DrawFn) -> Scenario:
    """Trees of subplans in which no two leaves ever end at the same moment."""
    behaviours: dict[str, Behaviour] = {}
    settings_ = st.fixed_dictionaries(
        {},
        optional={
            "max_parallel": st.integers(1, 3),
            "failure_mode": st.sampled_from(FailureMode),
            "policy": st.sampled_from(Policy),
        },
    )

    def level(around: str, depth: int) -> list[Subplan | SubplanGroup]:
        made: list[Subplan | SubplanGroup] = []
        for n in range(draw(st.integers(1, 4 if depth else 6))):
            id_ = f"s{n}"
            path = f"{around}{id_}"
            before = draw(st.sets(st.sampled_from([m.id for m in made]))) if made else set()
            if depth < 2 and draw(st.integers(0, 3)) == 0:
                made.append(
                    SubplanGroup(
                        id_, tuple(level(f"{path}/", depth + 1)), tuple(sorted(before)), **draw(settings_)
                    )
                )
            else:
                # Sums of different powers of two are all different: no ties, whatever the order.
                duration = float(2 ** len(behaviours))
                error = ValueError(path) if draw(st.integers(0, 5)) == 0 else None
                behaviours[path] = Behaviour(duration, error=error)
                made.append(Subplan(id_, never_called, tuple(sorted(before)), duration))
        return made

    subplans = level("", 0)
    return subplans, ParallelExecutionConfig(**draw(settings_)), behaviours


def with_real_work(
    subplans: list[Subplan | SubplanGroup], behaviours: dict[str, Behaviour], around: str = ""
) -> list[Subplan | SubplanGroup]:
    made: list[Subplan | SubplanGroup] = []
    for subplan in subplans:
        path = f"{around}{subplan.id}"
        if isinstance(subplan, SubplanGroup):
            inner = tuple(with_real_work(list(subplan.subplans), behaviours, f"{path}/"))
            made.append(
                SubplanGroup(
                    subplan.id,
                    inner,
                    subplan.depends_on,
                    subplan.max_parallel,
                    subplan.failure_mode,
                    subplan.policy,
                )
            )
            continue

        async def work(how: Behaviour = behaviours[path]) -> object:
            await anyio.sleep(how.duration)
            if how.error is not None:
                raise how.error
            return how.value

        made.append(Subplan(subplan.id, work, subplan.depends_on, subplan.estimate))
    return made


def without_time(events: list[SubplanEvent]) -> list[tuple[object, ...]]:
    return [(e.seq, e.path, e.before, e.after, e.reason, e.cause, repr(e.error)) for e in events]


def moments(events: list[SubplanEvent]) -> list[tuple[object, ...]]:
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    return sorted(
        (round(e.at, 6), e.path, e.before, e.after, str(e.reason), str(e.cause), repr(e.error))
        for e in events
    )


def run_for_real(scenario: Scenario, backend: str, backend_options: dict[str, object]) -> list[SubplanEvent]:
    subplans, config, behaviours = scenario
    heard: list[SubplanEvent] = []

    async def listen(event: SubplanEvent) -> None:
        heard.append(event)

    async def main() -> None:
        try:
            await ParallelSubplanDispatcher(config, on_event=listen).run(with_real_work(subplans, behaviours))
        except* SubplanExecutionError:
            pass

    anyio.run(main, backend=backend, backend_options=backend_options)
    return heard


@settings(max_examples=150)
@given(scenarios())
def test_a_run_on_a_virtual_clock_tells_the_same_story_as_the_simulation(scenario: Scenario) -> None:
    import trio.testing  # noqa: PLC0415

    subplans, config, behaviours = scenario
    simulated = simulate(subplans, config, behaviour=lambda path: behaviours[path])
    real = run_for_real(scenario, "trio", {"clock": trio.testing.MockClock(autojump_threshold=0)})
    # trio takes tasks that are due at the same moment in a random order, so several that are cancelled
    # together may end in any: within a moment events are compared as a set.
    assert moments(real) == moments(list(simulated.events))


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_run_in_real_time_tells_the_same_story_as_the_simulation(backend: str) -> None:
    behaviours = {
        "a": Behaviour(0.02),
        "g/x": Behaviour(0.05),
        "g/y": Behaviour(0.11, error=ValueError("no")),
        "g/z": Behaviour(3600),
        "after": Behaviour(0.01),
        "free": Behaviour(1.0),
    }
    subplans: list[Subplan | SubplanGroup] = [
        leaf("a"),
        SubplanGroup("g", (leaf("x"), leaf("y", "x"), leaf("z")), ("a",), failure_mode=FailureMode.FAIL_FAST),
        leaf("after", "g"),
        leaf("free"),
    ]
    config = ParallelExecutionConfig(max_parallel=3, failure_mode=FailureMode.CONTINUE_ON_ERROR)
    simulated = simulate(subplans, config, behaviour=lambda path: behaviours[path])
    real = run_for_real((subplans, config, behaviours), backend, {})
    assert without_time(real) == without_time(list(simulated.events))
