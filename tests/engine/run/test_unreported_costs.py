"""What the world may have charged stays below the ceiling, however executions end and whoever stops them.

The world here is one that knows more than the engine: each execution of an agent truly costs something, up to its
own `max_cost`. Some report it, some do not, and people stop, resume and start over in between.
"""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.run.stories import agent, begun, group, join, leaf, plan, run
from stored_events import StoredEvent, all_stored
from weft.app.history.ledger import Ledger
from weft.engine.engine import Engine
from weft.engine.messages.events import AnyEvent
from weft.engine.messages.facts import Ended, Resumed, RunStarted, Spent, StepOutcome, StopAsked, Woke
from weft.engine.messages.orders import Halt, Launch, Ordered, WakeAt
from weft.plan.compile.plan_net import CompiledPlan

CENT = 10_000
CEILING = 10 * CENT
MOST = 5 * CENT
CUT_SHORT = {StepOutcome.LOST: None, StepOutcome.STOPPED: 9, StepOutcome.CANCELLED: 9, StepOutcome.TIMEOUT: 9}
"""Ends after which an agent cannot have written a last report, each with its signal."""


def at_work(engine: Engine) -> list[Launch]:
    """The steps under way, after all that comes before them."""
    while others := [order for order in engine.in_flight if not isinstance(order, Launch)]:
        engine.apply(Ended(at=1.0, firing=others[0].firing, execution=1, how=StepOutcome.DONE))
    return [order for order in engine.in_flight if isinstance(order, Launch)]


def stopped_by(signal: int, **more: object) -> list[StoredEvent]:
    """A step for which 5 of 10 cents are reserved is stopped and resumed until nothing is left."""
    engine = begun(plan(leaf("a", agent("work", max_cost=0.05)), budget=0.1))
    heard: list[StoredEvent] = []
    for round_ in range(1, 8):
        if not at_work(engine):
            break
        (order,) = engine.in_flight
        engine.apply(StopAsked(at=round_))
        end = Ended(
            at=round_, firing=order.firing, execution=order.execution, how=StepOutcome.STOPPED, signal=signal
        )
        engine.apply(end if not more else Ended(**{**_fields(end), **more}))  # type: ignore[arg-type]
        engine.apply(Resumed(at=round_, epoch=round_ + 1))
        heard += all_stored(engine.take_messages()[0])
    return heard


def ends_of(events: list[StoredEvent]) -> list[StoredEvent]:
    return [event for event in events if event.kind == "step_finished" and event.step == "work"]


def _fields(end: Ended) -> dict[str, object]:
    return {name: getattr(end, name) for name in end.__struct_fields__}


def test_a_step_that_is_stopped_before_it_reports_keeps_its_reservation() -> None:
    events = stopped_by(15)
    kept = [event.data["reserved"] for event in events if event.kind == "cost_unknown"]
    assert kept == [MOST, MOST]
    (why,) = [
        event.data["message"] for event in events if event.kind == "subplan_state" and "reason" in event.data
    ]
    assert why == (
        "the budget of the plan is used up: $0.00 of $0.10 spent, $0.10 reserved for calls that did not report "
        "their cost, and this may cost $0.05"
    )


def test_a_step_that_reaches_the_ceiling_as_it_meets_a_usage_limit_ends_with_those_beside_it() -> None:
    first, second = (agent(name, max_cost=0.05) | {"async": True} for name in ("one", "two"))
    engine = begun(plan(leaf("a", first, second, join("both", "one", "two")), budget=0.1, on_budget="stop"))
    limited, other = at_work(engine)
    engine.apply(
        Ended(
            at=2.0, firing=limited.firing, execution=1, how=StepOutcome.LIMITED, until=60.0, cost=2 * CEILING
        )
    )
    engine.apply(Ended(at=3.0, firing=other.firing, execution=1, how=StepOutcome.CANCELLED, signal=15))
    engine.apply(Woke(at=61.0))
    assert (engine.state, engine.in_flight) == ("failed", [])


def test_a_step_that_is_stopped_and_reports_its_cost_keeps_nothing() -> None:
    events = stopped_by(15, cost=CENT)
    assert [event.cost for event in ends_of(events)] == [CENT] * 6
    assert not [event for event in events if event.kind == "cost_unknown"]


def test_what_an_agent_reported_before_it_was_killed_is_a_lower_bound() -> None:
    events = stopped_by(9, cost=CENT)
    assert [event.data["reserved"] for event in events if event.kind == "cost_unknown"] == [MOST - CENT] * 2
    assert [event.data["cost_at_least"] for event in ends_of(events)] == [True, True]


def test_an_execution_that_was_lost_while_its_slice_was_cancelled_did_run() -> None:
    compiled = plan(leaf("a", agent("work", max_cost=0.05)), leaf("b"), budget=0.1, failure_mode="fail_fast")
    engine = begun(compiled)
    orders = {order.path: order for order in at_work(engine)}
    engine.apply(Ended(at=1.0, firing=orders["b"].firing, execution=1, how=StepOutcome.FAILED, exit_code=1))
    engine.apply(Ended(at=2.0, firing=orders["a"].firing, execution=1, how=StepOutcome.LOST))
    assert engine._state.budget.assumed[0] == MOST


@pytest.mark.parametrize("how", [StepOutcome.INFRA, StepOutcome.STOPPED, StepOutcome.CANCELLED])
def test_an_agent_that_was_never_started_keeps_nothing(how: StepOutcome) -> None:
    engine = begun(plan(leaf("a", agent("work", max_cost=0.05)), budget=0.1))
    (order,) = at_work(engine)
    engine.apply(StopAsked(at=1.0))
    engine.apply(Ended(at=1.0, firing=order.firing, execution=1, how=how))
    assert engine._state.budget.assumed[0] == 0


def three_slices() -> CompiledPlan:
    most = MOST / 1_000_000
    return plan(
        group("g", leaf("a", agent("work", max_cost=most), run("check")), leaf("b", agent("work", max_cost=most))),
        leaf("c", agent("work", max_cost=most)),
        budget=CEILING / 1_000_000, failure_mode="continue_on_error", infra_retries=2,
    )  # fmt: skip


class World:
    """Charges for each execution what it truly costs, and lets people interfere."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.compiled = three_slices()
        self.charged = 0
        self.at = 0.0
        self.epoch = 1
        self.ledger = Ledger()
        self.events: list[AnyEvent] = []
        self.wakes: list[float] = []
        self.engine = self.begin()

    def begin(self) -> Engine:
        engine = Engine(self.compiled)
        earlier = tuple(self.ledger.entries.values())
        engine.apply(RunStarted(at=self.at, run="r", earlier=earlier))
        self.true: dict[tuple[int, int], int] = {}
        self.halted: dict[tuple[int, int], str] = {}
        return engine

    def act(self) -> None:
        self.at += 1.0
        acts = [self.end, self.end, self.end, self.spend, self.stop, self.resume, self.wake, self.start_over]
        self.rng.choice(acts)()
        self.listen()
        assert self.charged <= CEILING, "the world has charged more than the ceiling"

    def listen(self) -> None:
        events, orders = self.engine.take_messages()
        self.events += events
        for order in orders:
            if isinstance(order, Halt):
                self.halted[order.firing, order.execution] = order.how
            elif isinstance(order, WakeAt):
                self.wakes.append(order.at)
            elif isinstance(order, Launch) and order.agent is not None:
                true = self.rng.choice([0, CENT, MOST, self.rng.randint(0, MOST)])
                self.true[order.firing, order.execution] = true
                self.charged += true  # as soon as it starts: it is charged whatever becomes of it

    def pick(self) -> Ordered | None:
        flying = list(self.engine.in_flight)
        return self.rng.choice(flying) if flying else None

    def spend(self) -> None:
        order = self.pick()
        true = 0 if order is None else self.true.get((order.firing, order.execution), 0)
        if order is not None and true:
            amount = self.rng.randint(0, true)
            self.engine.apply(Spent(at=self.at, firing=order.firing, execution=order.execution, cost=amount))

    def end(self) -> None:
        order = self.pick()
        if order is None:
            return
        key = (order.firing, order.execution)
        true = self.true.get(key)
        halted = self.halted.get(key)
        how = StepOutcome(halted) if halted else self.rng.choice([*(StepOutcome.DONE,) * 2, *StepOutcome])
        if true is None:
            how = (
                StepOutcome.DONE
                if how
                not in {
                    StepOutcome.DONE,
                    StepOutcome.FAILED,
                    StepOutcome.LOST,
                    StepOutcome.STOPPED,
                    StepOutcome.CANCELLED,
                }
                else how
            )
        if how in {StepOutcome.CONFLICT, StepOutcome.HELD}:
            how = StepOutcome.FAILED
        self.engine.apply(self.fact(order, how, true))

    def fact(self, order: Ordered, how: StepOutcome, true: int | None) -> Ended:
        is_killed = how in CUT_SHORT and self.rng.random() < 0.5
        signal = CUT_SHORT[how] if is_killed else None
        exit_code = None if is_killed or how is StepOutcome.LOST else self.rng.randint(0, 1)
        cost = None
        if true is not None and self.rng.random() < 0.5:
            cost = true if exit_code is not None else self.rng.randint(0, true)
        until = self.at + 5.0 if how is StepOutcome.LIMITED else None
        if true is None and how is StepOutcome.STOPPED:
            signal = 15
        return Ended(
            at=self.at, firing=order.firing, execution=order.execution, how=how, exit_code=exit_code,
            signal=signal, cost=cost, until=until,
        )  # fmt: skip

    def stop(self) -> None:
        self.engine.apply(StopAsked(at=self.at))

    def resume(self) -> None:
        if self.engine.state in {"running", "stopping", "stopped"}:
            self.epoch += 1
            self.engine.apply(Resumed(at=self.at, epoch=self.epoch))
            self.halted.clear()

    def wake(self) -> None:
        self.at = max([self.at, *self.wakes])
        self.engine.apply(Woke(at=self.at))

    def start_over(self) -> None:
        """A person starts a new run, as after an edit of the plan; what still runs is not waited for."""
        if self.rng.random() < 0.3:
            self.listen()
            self.ledger.add_run(self.events)
            self.events = []
            self.engine = self.begin()


@given(st.integers(0, 2**32))
def test_the_world_never_charges_more_than_the_ceiling(seed: int) -> None:
    world = World(seed)
    world.listen()
    for _ in range(60):
        world.act()
