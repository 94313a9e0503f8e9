"""The dispatcher as a user has it: limits, failure modes, nesting, cancellation, and that nothing is left."""

import asyncio
import contextvars
import gc
from collections import Counter

import anyio
import pytest

from gauges import Forever, Gauge
from weft import (
    AggregateSubplanError,
    FailureMode,
    FailureReason,
    ParallelExecutionConfig,
    ParallelSubplanDispatcher,
    Policy,
    StateError,
    Subplan,
    SubplanExecutionError,
    SubplanExecutionState,
    SubplanGroup,
    SubplanTreeError,
)

pytestmark = pytest.mark.anyio

PENDING, RUNNING, COMPLETED, FAILED = SubplanExecutionState
GO_ON = FailureMode.CONTINUE_ON_ERROR


async def nothing() -> None: ...


async def boom() -> None:
    raise ValueError("boom")


def dispatcher(max_parallel: int = 4, **settings: object) -> ParallelSubplanDispatcher:
    on_event = settings.pop("on_event", None)
    config = ParallelExecutionConfig(max_parallel=max_parallel, **settings)  # type: ignore[arg-type]
    return ParallelSubplanDispatcher(config, on_event=on_event)  # type: ignore[arg-type]


def named(work: object, *ids: str) -> list[Subplan]:
    return [Subplan(id_, work) for id_ in ids]  # type: ignore[arg-type]


# Limits


@pytest.mark.parametrize(("count", "limit"), [(15, 10), (200, 32), (5, 1), (3, 8)])
async def test_as_many_run_at_once_as_the_limit_says_and_never_more(count: int, limit: int) -> None:
    gauge = Gauge(hold_until=min(count, limit))
    results = await dispatcher(limit).run(named(gauge, *(f"s{n}" for n in range(count))))
    assert gauge.entered == count
    assert gauge.peak == min(count, limit)
    assert [result.state for result in results.values()] == [COMPLETED] * count


async def test_the_default_limit_is_four() -> None:
    gauge = Gauge(hold_until=4)
    await ParallelSubplanDispatcher().run(named(gauge, *"abcdefgh"))
    assert gauge.peak == 4


async def test_limits_hold_at_each_level_and_overall() -> None:
    inner, outer, whole = Gauge(hold_until=2), Gauge(hold_until=3), Gauge(hold_until=5)

    async def deep() -> None:
        async with anyio.create_task_group() as tasks:
            for gauge in (inner, outer, whole):
                tasks.start_soon(gauge)

    async def middle() -> None:
        async with anyio.create_task_group() as tasks:
            for gauge in (outer, whole):
                tasks.start_soon(gauge)

    tree = SubplanGroup(
        "a",
        (
            SubplanGroup("b", (SubplanGroup("c", tuple(named(deep, *"uvwxyz")), max_parallel=2),)),
            *named(middle, *"klmnop"),
        ),
        max_parallel=3,
    )
    await dispatcher(5).run([tree, *named(whole, *"qrstuv")])
    assert (inner.peak, outer.peak, whole.peak) == (2, 3, 5)
    assert whole.entered == 18


async def test_serial_runs_one_at_a_time_in_the_order_written_depth_first() -> None:
    order: list[str] = []
    gauge = Gauge()

    def step(name: str) -> Subplan:
        async def work() -> None:
            order.append(name)
            await gauge()

        return Subplan(name, work, depends_on=("y",) if name == "x" else (), estimate=len(order) + 9)

    await dispatcher(8, policy=Policy.SERIAL).run(
        [step("a"), SubplanGroup("g", (step("x"), step("y"), step("z"))), step("b")]
    )
    assert order == ["a", "y", "x", "z", "b"]
    assert gauge.peak == 1


async def test_a_slow_subplan_does_not_hold_up_the_successors_of_fast_ones() -> None:
    slow = Forever()
    last_ran = anyio.Event()

    async def last() -> None:
        last_ran.set()

    async def slow_until_last() -> None:
        await last_ran.wait()

    chain = [Subplan("f0", nothing), *(Subplan(f"f{n}", nothing, (f"f{n - 1}",)) for n in range(1, 9))]
    await dispatcher(2).run([Subplan("slow", slow_until_last), *chain, Subplan("last", last, ("f8",))])
    assert not slow.cancelled


# Order


async def test_a_subplan_starts_after_all_it_depends_on_also_across_groups() -> None:
    log: list[str] = []

    def step(name: str, *depends_on: str) -> Subplan:
        async def work() -> None:
            log.append(f"+{name}")
            await anyio.lowlevel.checkpoint()
            log.append(f"-{name}")

        return Subplan(name, work, depends_on)

    await dispatcher(8).run(
        [
            SubplanGroup("g", (step("x"), step("y", "x"))),
            SubplanGroup("h", (step("u"), step("v", "u", "/g/x")), depends_on=("late",)),
            step("late", "g"),
        ]
    )
    for before, after in [("x", "y"), ("y", "late"), ("late", "u"), ("u", "v")]:
        assert log.index(f"-{before}") < log.index(f"+{after}")


async def test_two_that_wait_for_the_same_third_both_get_its_signal() -> None:
    gauge = Gauge(hold_until=2)
    await dispatcher().run([Subplan("a", nothing), Subplan("b", gauge, ("a",)), Subplan("c", gauge, ("a",))])
    assert gauge.peak == 2


async def test_longer_remaining_paths_start_first() -> None:
    order: list[str] = []

    def step(name: str, *depends_on: str, estimate: float = 1) -> Subplan:
        async def work() -> None:
            order.append(name)

        return Subplan(name, work, depends_on, estimate)

    await dispatcher(1).run(
        [step("short"), step("long", estimate=5), step("head", estimate=2), step("tail", "head", estimate=4)]
    )
    assert order == ["head", "long", "tail", "short"]


async def test_results_come_in_plan_order_with_their_values_and_times() -> None:
    async def seven() -> int:
        return 7

    results = await dispatcher().run([Subplan("b", seven), SubplanGroup("g", (Subplan("a", nothing),))])
    assert list(results) == ["b", "g", "g/a"]
    assert results["b"].value == 7
    assert results["b"].ok
    started, ended = results["g/a"].started_at, results["g/a"].ended_at
    assert started is not None
    assert 0 <= started <= ended


async def test_no_subplans_is_a_run_that_has_nothing_to_do() -> None:
    assert await dispatcher().run([]) == {}


# Failure


async def test_fail_fast_cancels_what_runs_and_what_waits_then_raises_the_culprit() -> None:
    running = [Forever(), Forever()]

    async def fails_when_others_run() -> None:
        for other in running:
            await other.entered.wait()
        await boom()

    runner = dispatcher(3)
    with pytest.raises(SubplanExecutionError, match="subplan 'bad' failed: ValueError: boom") as caught:
        await runner.run(
            [
                Subplan("r0", running[0]),
                Subplan("r1", running[1]),
                Subplan("bad", fails_when_others_run),
                Subplan("waits", nothing, ("r0",)),
                Subplan("after", nothing, ("waits",)),
            ]
        )
    error = caught.value
    assert error.path == "bad"
    assert isinstance(error.__cause__, ValueError)
    assert [other.cancelled for other in running] == [True, True]
    by_name = {path: (r.state, r.reason, r.cause) for path, r in error.results.items()}
    assert by_name == {
        "r0": (FAILED, FailureReason.CANCELLED, "bad"),
        "r1": (FAILED, FailureReason.CANCELLED, "bad"),
        "bad": (FAILED, FailureReason.ERROR, None),
        "waits": (FAILED, FailureReason.CANCELLED, "bad"),
        "after": (FAILED, FailureReason.CANCELLED, "bad"),
    }
    assert error.results["r0"].started_at is not None
    assert error.results["waits"].started_at is None
    assert runner.tracker.finished


async def test_every_other_subplan_has_ended_before_the_error_is_raised() -> None:
    cleaned_up = False
    entered = anyio.Event()

    async def slow_to_die() -> None:
        nonlocal cleaned_up
        entered.set()
        try:
            await anyio.sleep_forever()
        finally:
            with anyio.CancelScope(shield=True):
                for _ in range(50):
                    await anyio.lowlevel.checkpoint()
            cleaned_up = True

    async def bad() -> None:
        await entered.wait()
        await boom()

    with pytest.raises(SubplanExecutionError):
        await dispatcher().run([Subplan("slow", slow_to_die), Subplan("bad", bad)])
    assert cleaned_up


async def test_a_finished_sibling_is_never_undone() -> None:
    done = anyio.Event()

    async def first() -> str:
        done.set()
        return "kept"

    async def bad() -> None:
        await done.wait()
        await anyio.lowlevel.checkpoint()
        await boom()

    with pytest.raises(SubplanExecutionError) as caught:
        await dispatcher().run([Subplan("first", first), Subplan("bad", bad)])
    assert caught.value.results["first"].value == "kept"


async def test_work_that_ends_well_although_cancelled_has_completed() -> None:
    entered = anyio.Event()

    async def stubborn() -> str:
        entered.set()
        try:
            await anyio.sleep_forever()
        except anyio.get_cancelled_exc_class():
            return "saved"  # swallowing a cancellation is wrong, but the work is done
        raise AssertionError

    async def bad() -> None:
        await entered.wait()
        await boom()

    with pytest.raises(SubplanExecutionError) as caught:
        await dispatcher().run([Subplan("stubborn", stubborn), Subplan("bad", bad)])
    assert caught.value.results["stubborn"].value == "saved"
    assert caught.value.path == "bad"


async def test_continue_on_error_runs_everything_that_is_not_blocked_and_tells_all() -> None:
    ran: list[str] = []

    def ok(name: str, *depends_on: str) -> Subplan:
        async def work() -> str:
            ran.append(name)
            return name

        return Subplan(name, work, depends_on)

    with pytest.raises(AggregateSubplanError, match="3 of 6 subplans failed") as caught:
        await dispatcher(failure_mode=GO_ON).run(
            [
                Subplan("bad1", boom),
                ok("a"),
                ok("b", "a"),
                Subplan("bad2", boom),
                ok("blocked", "a", "bad1"),
                ok("c"),
            ]
        )
    error = caught.value
    assert sorted(ran) == ["a", "b", "c"]
    assert {e.path: e.reason for e in error.failures} == {
        "bad1": FailureReason.ERROR,
        "bad2": FailureReason.ERROR,
        "blocked": FailureReason.BLOCKED,
    }
    assert error.results["blocked"].cause == "bad1"
    assert "subplan 'blocked' failed: blocked by 'bad1'" in str(error.failures[2])
    assert error.results["b"].value == "b"
    only_blocked = error.subgroup(lambda e: getattr(e, "reason", None) is FailureReason.BLOCKED)
    assert isinstance(only_blocked, AggregateSubplanError)
    assert only_blocked.results is error.results


async def test_blocked_travels_along_a_chain_and_into_groups() -> None:
    with pytest.raises(AggregateSubplanError) as caught:
        await dispatcher(failure_mode=GO_ON).run(
            [
                Subplan("bad", boom),
                Subplan("next", nothing, ("bad",)),
                SubplanGroup(
                    "g", (Subplan("x", nothing), SubplanGroup("h", (Subplan("y", nothing),))), ("next",)
                ),
                Subplan("end", nothing, ("g",)),
            ]
        )
    by_name = {path: (r.reason, r.cause) for path, r in caught.value.results.items() if path != "bad"}
    assert by_name == {
        "next": (FailureReason.BLOCKED, "bad"),
        "g": (FailureReason.BLOCKED, "next"),
        "g/x": (FailureReason.BLOCKED, "next"),
        "g/h": (FailureReason.BLOCKED, "next"),
        "g/h/y": (FailureReason.BLOCKED, "next"),
        "end": (FailureReason.BLOCKED, "g"),
    }


async def test_each_level_applies_its_own_mode() -> None:
    # Inside `tolerant` the siblings of the failed one go on; it fails as a whole when it closes, and the run
    # around it, which fails fast, then cancels the rest.
    ran: list[str] = []
    rest = Forever()

    async def good() -> None:
        await rest.entered.wait()
        ran.append("good")

    with pytest.raises(SubplanExecutionError, match="subplan 'tolerant' failed") as caught:
        await dispatcher(8).run(
            [
                SubplanGroup("tolerant", (Subplan("bad", boom), Subplan("good", good)), failure_mode=GO_ON),
                Subplan("rest", rest),
            ]
        )
    assert ran == ["good"]
    assert rest.cancelled
    cause = caught.value.__cause__
    assert isinstance(cause, AggregateSubplanError)
    assert [e.path for e in cause.failures] == ["tolerant/bad"]
    assert caught.value.results["rest"].cause == "tolerant"


async def test_a_strict_group_in_a_tolerant_run_stops_only_itself() -> None:
    waiting = Forever()

    async def bad() -> None:
        await waiting.entered.wait()
        await boom()

    with pytest.raises(AggregateSubplanError) as caught:
        await dispatcher(8, failure_mode=GO_ON).run(
            [
                SubplanGroup(
                    "strict", (Subplan("bad", bad), Subplan("w", waiting)), failure_mode=FailureMode.FAIL_FAST
                ),
                Subplan("free", nothing),
            ]
        )
    assert waiting.cancelled
    assert caught.value.results["free"].ok
    assert [e.path for e in caught.value.failures] == ["strict/bad"]
    assert caught.value.results["strict"].cause == "strict/bad"


async def test_failure_goes_up_through_four_levels_at_once() -> None:
    far_away = Forever()
    far_away_ended = anyio.Event()
    saw_it_end: list[bool] = []

    async def far() -> None:
        try:
            await far_away()
        finally:
            far_away_ended.set()

    async def bad() -> None:
        await far_away.entered.wait()
        await boom()

    async def slow_to_die() -> None:
        try:
            await anyio.sleep_forever()
        finally:
            # Its group cannot close before what is far away is cancelled. (A limit, not to hang if it is not.)
            with anyio.move_on_after(5, shield=True):
                await far_away_ended.wait()
                saw_it_end.append(True)

    deep: Subplan | SubplanGroup = Subplan("leaf", bad)
    for name in "dcba":
        deep = SubplanGroup(name, (deep, Subplan("sibling", slow_to_die)))
    with pytest.raises(SubplanExecutionError) as caught:
        await dispatcher(32).run([deep, Subplan("far", far)])
    assert caught.value.path == "a/b/c/d/leaf"
    assert len(saw_it_end) == 4
    assert {r.reason for p, r in caught.value.results.items() if "sibling" in p} == {FailureReason.CANCELLED}


async def test_the_first_failure_is_the_cause_also_for_those_that_die_later() -> None:
    second_failed = anyio.Event()
    entered = [anyio.Event(), anyio.Event()]

    async def first() -> None:
        for event in entered:
            await event.wait()
        await boom()

    async def second() -> None:
        entered[0].set()
        try:
            await anyio.sleep_forever()
        finally:
            second_failed.set()
            raise ValueError("failed while being cancelled")

    async def third() -> None:
        entered[1].set()
        try:
            await anyio.sleep_forever()
        finally:
            with anyio.CancelScope(shield=True):
                await second_failed.wait()
                await anyio.wait_all_tasks_blocked()

    with pytest.raises(SubplanExecutionError) as caught:
        await dispatcher().run([Subplan("first", first), Subplan("second", second), Subplan("third", third)])
    assert caught.value.path == "first"
    assert caught.value.results["second"].reason is FailureReason.ERROR
    assert caught.value.results["third"].cause == "first"


async def test_a_blocked_subplan_fails_its_group_by_the_mode_of_the_group() -> None:
    sibling = Forever()

    async def bad() -> None:
        await sibling.entered.wait()
        await boom()

    strict = SubplanGroup(
        "strict",
        (Subplan("blocked", nothing, ("/bad",)), Subplan("sibling", sibling)),
        failure_mode=FailureMode.FAIL_FAST,
    )
    with pytest.raises(AggregateSubplanError) as caught, anyio.fail_after(10):  # not to hang if it is wrong
        await dispatcher(failure_mode=GO_ON).run([Subplan("bad", bad), strict])
    assert sibling.cancelled
    assert caught.value.results["strict/sibling"].cause == "strict/blocked"
    assert {e.path for e in caught.value.failures} == {"bad", "strict/blocked"}


async def test_a_worker_whose_work_outlived_a_cancellation_does_not_cancel_what_comes_next() -> None:
    entered = anyio.Event()
    last_ran = anyio.Event()

    async def stubborn() -> str:
        entered.set()
        try:
            await anyio.sleep_forever()
        except anyio.get_cancelled_exc_class():
            return "saved"
        raise AssertionError

    async def bad() -> None:
        await entered.wait()
        await boom()

    async def last() -> None:
        await anyio.lowlevel.checkpoint()
        last_ran.set()

    # Two slots: when `bad` fails its worker goes on with `holds`; that of `stubborn` comes to `last`.
    strict = SubplanGroup(
        "strict", (Subplan("bad", bad), Subplan("stubborn", stubborn)), failure_mode=FailureMode.FAIL_FAST
    )
    with pytest.raises(AggregateSubplanError) as caught:
        await dispatcher(2, failure_mode=GO_ON).run(
            [strict, Subplan("holds", last_ran.wait), Subplan("last", last)]
        )
    assert caught.value.results["strict/stubborn"].value == "saved"
    assert caught.value.results["last"].ok


async def test_work_that_is_not_async_fails_with_a_clear_reason() -> None:
    with pytest.raises(SubplanExecutionError, match="the work returned 3, which cannot be awaited"):
        await dispatcher().run([Subplan("a", lambda: 3)])  # type: ignore[arg-type,return-value]


async def test_work_may_return_any_awaitable() -> None:
    class Seven:
        def __await__(self):
            yield from nothing().__await__()
            return 7

    results = await dispatcher().run([Subplan("a", Seven)])
    assert results["a"].value == 7


async def test_bad_input_is_refused_before_anything_runs() -> None:
    gauge = Gauge()
    with pytest.raises(SubplanTreeError):
        await dispatcher().run([Subplan("a", gauge), Subplan("b", gauge, ("c",))])
    assert gauge.entered == 0


async def test_one_dispatcher_runs_one_thing_at_a_time_and_can_be_used_again() -> None:
    runner = dispatcher()
    errors: list[StateError] = []

    async def again() -> None:
        with pytest.raises(StateError, match="this dispatcher is running") as caught:
            await runner.run([])
        errors.append(caught.value)

    await runner.run([Subplan("a", again)])
    assert len(errors) == 1
    assert list(await runner.run([Subplan("b", nothing)])) == ["b"]


# Cancellation


async def test_cancelling_the_parent_cancels_everything_and_the_states_say_so() -> None:
    running = [Forever(), Forever()]
    runner = dispatcher(2)
    with anyio.CancelScope() as scope:
        async with anyio.create_task_group() as tasks:

            async def cancel() -> None:
                for item in running:
                    await item.entered.wait()
                scope.cancel()

            tasks.start_soon(cancel)
            await runner.run(
                [*(Subplan(f"r{n}", outcome) for n, outcome in enumerate(running)), Subplan("w", nothing)]
            )
    assert scope.cancelled_caught
    assert all(entry.cancelled for entry in running)
    assert runner.tracker.counts() == {PENDING: 0, RUNNING: 0, COMPLETED: 0, FAILED: 3}
    assert set(runner.tracker.failures().values()) == {FailureReason.CANCELLED}


async def test_a_run_in_a_scope_that_is_cancelled_already_starts_no_work() -> None:
    gauge = Gauge()
    runner = dispatcher()
    with anyio.CancelScope() as scope:
        scope.cancel()
        await runner.run(named(gauge, "a", "b"))
    assert gauge.entered == 0
    assert runner.tracker.finished


async def test_a_timeout_around_the_run_ends_it() -> None:
    item = Forever()
    with pytest.raises(TimeoutError):
        with anyio.fail_after(0.01):
            await dispatcher().run([Subplan("a", item)])
    assert item.cancelled


async def test_an_exception_that_is_no_error_leaves_through_the_run() -> None:
    class Interrupt(BaseException):
        """Stands for KeyboardInterrupt, which would end the test's own event loop too."""

    other = Forever()

    async def interrupted() -> None:
        await other.entered.wait()
        raise Interrupt

    runner = dispatcher()
    with pytest.raises(Interrupt):
        await runner.run([Subplan("other", other), Subplan("i", interrupted)])
    assert other.cancelled
    assert runner.tracker.finished


async def test_a_cancellation_that_nobody_asked_for_is_a_failure_of_that_work(
    anyio_backend_name: str,
) -> None:
    if anyio_backend_name != "asyncio":
        pytest.skip("only asyncio lets work raise a cancellation of its own")

    async def cancels_itself() -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await anyio.lowlevel.checkpoint()

    async def looks() -> int:
        # A task that was cancelled once and never told otherwise still counts that cancellation.
        task = asyncio.current_task()
        assert task is not None
        return task.cancelling()

    with pytest.raises(AggregateSubplanError) as caught:
        await dispatcher(1, failure_mode=GO_ON).run(
            [Subplan("odd", cancels_itself), Subplan("next", looks), Subplan("last", nothing)]
        )
    (odd,) = caught.value.failures
    assert (odd.path, type(odd.__cause__)) == ("odd", asyncio.CancelledError)
    assert caught.value.results["next"].value == 0
    assert caught.value.results["last"].ok


@pytest.mark.filterwarnings("ignore:coroutine '_Run._worker' was never awaited")  # Python says it too
async def test_a_task_that_somebody_cancels_before_its_first_step_is_a_failure_and_not_forgotten(
    anyio_backend_name: str,
) -> None:
    if anyio_backend_name != "asyncio":
        pytest.skip("only asyncio lets anybody cancel a task")
    entered: list[str] = []

    async def cancels_the_new_worker() -> None:
        (task,) = [t for t in asyncio.all_tasks() if t.get_name() == "weft: later"]
        task.cancel()

    async def later() -> None:
        entered.append("later")

    runner = dispatcher(2)
    with pytest.raises(SubplanExecutionError, match="'later' failed: StateError: its task was cancelled"):
        await runner.run(
            [
                Subplan("first", nothing),
                Subplan("odd", cancels_the_new_worker, ("first",), estimate=9),
                Subplan("later", later, ("first",)),
                Subplan("last", nothing, ("later",)),
            ]
        )
    gc.collect()  # so that Python says it here
    assert entered == []
    assert runner.tracker.finished


async def test_a_group_whose_work_was_cancelled_from_outside_has_failed_as_cancelled() -> None:
    inside = Forever()

    async def bad() -> None:
        await inside.entered.wait()
        await boom()

    with pytest.raises(SubplanExecutionError) as caught:
        await dispatcher().run([SubplanGroup("g", (Subplan("inside", inside),)), Subplan("bad", bad)])
    group = caught.value.results["g"]
    assert (group.state, group.reason, group.cause) == (FAILED, FailureReason.CANCELLED, "bad")


async def test_a_subplan_that_was_begun_but_not_yet_entered_can_be_cancelled() -> None:
    entered: list[str] = []

    async def later() -> None:
        entered.append("later")

    # `bad` and `later` are begun together when `first` ends. `bad` goes on in the worker of `first` and
    # fails at once, before the new worker of `later` has made a step.
    with pytest.raises(SubplanExecutionError) as caught:
        await dispatcher(2).run(
            [Subplan("first", nothing), Subplan("bad", boom, ("first",)), Subplan("later", later, ("first",))]
        )
    assert caught.value.path == "bad"
    assert caught.value.results["later"].reason is FailureReason.CANCELLED
    assert entered == []


# Isolation and leaks


async def test_context_variables_do_not_leak_from_one_subplan_to_the_next() -> None:
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="unset")
    variable.set("outside")
    seen: list[str] = []

    async def work() -> None:
        seen.append(variable.get())
        variable.set("inside")
        await anyio.lowlevel.checkpoint()
        seen.append(variable.get())

    await dispatcher(1).run(named(work, *"abc"))
    assert seen == ["outside", "inside"] * 3
    assert variable.get() == "outside"


@pytest.mark.parametrize("enabled", [True, False])
async def test_the_garbage_collector_is_as_it_was_when_the_work_runs(enabled: bool) -> None:
    seen: list[bool] = []

    async def look() -> None:
        seen.append(gc.isenabled())

    was_enabled = gc.isenabled()
    try:
        (gc.enable if enabled else gc.disable)()
        await dispatcher().run([Subplan("look", look)])
    finally:
        (gc.enable if was_enabled else gc.disable)()
    assert seen == [enabled]


async def test_work_that_never_waits_gives_others_a_turn() -> None:
    turns = Counter[str]()

    async def eager() -> None:
        turns["eager"] += 1

    async def bystander() -> None:
        while True:
            turns["bystander"] += 1
            await anyio.lowlevel.checkpoint()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(bystander)
        await dispatcher(1).run(named(eager, *(f"s{n}" for n in range(640))))
        tasks.cancel_scope.cancel()
    assert turns["bystander"] >= 10
