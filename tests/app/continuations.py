"""Runs in virtual time that are cut off, and the runs that continue after them."""

from collections.abc import Iterable, Mapping

from engine.run.stories import Ends
from weft.app.history.slice_progress import SliceProgress, progress_of
from weft.engine.engine import Engine
from weft.engine.messages.events import AnyEvent, StepFinishedEvent, SubplanStateEvent
from weft.engine.messages.facts import AnyFact, EarlierSlice, RunStarted
from weft.engine.messages.orders import Launch, Ordered, Prepare
from weft.engine.simulate import SimulatedEnd, SimulatedRun, Simulator
from weft.plan.compile.plan_net import CompiledPlan


def play(
    compiled: CompiledPlan,
    ends: Ends,
    continued: Iterable[EarlierSlice] = (),
    *,
    is_kept: bool = True,
    env: dict[str, str] | None = None,
) -> SimulatedRun:
    """How a step ends is given by `path:step`, once for all or for each attempt."""

    def world(order: Ordered) -> SimulatedEnd:
        if isinstance(order, Prepare):
            return SimulatedEnd(kept=is_kept and order.continues is not None)
        if not isinstance(order, Launch):
            return SimulatedEnd()
        result = ends.get(f"{order.path}:{order.step}", SimulatedEnd())
        return result if isinstance(result, SimulatedEnd) else result[min(order.attempt, len(result)) - 1]

    return Simulator(compiled, world).play(env=env, continued=tuple(continued))


def cut_off(compiled: CompiledPlan, facts: Iterable[AnyFact]) -> dict[str, EarlierSlice]:
    """What the next run continues after, if this one hears these facts and no more."""
    engine, events = Engine(compiled), list[AnyEvent]()
    for fact in facts:
        engine.apply(fact)
        events += engine.take_messages()[0]
    return progress(events)


def progress(events: Iterable[AnyEvent]) -> dict[str, EarlierSlice]:
    table: dict[str, SliceProgress] = {}
    for event in events:
        if isinstance(event.fact, RunStarted):
            table |= {
                state.subplan: progress_of("next", state.subplan, state) for state in event.fact.continued
            }
        if isinstance(event, SubplanStateEvent) and event.outcome == "completed":
            table.pop(event.subplan, None)
        elif event.subplan:
            table.setdefault(event.subplan, progress_of("first", event.subplan, None)).apply(event)
    slices = {path: item.earlier() for path, item in table.items()}
    return {path: entry for path, entry in slices.items() if entry is not None}


def launched(run: SimulatedRun) -> list[str]:
    """The plan's own steps, with their attempts, in the order in which they were launched."""
    orders = [order for order in run.orders if isinstance(order, Launch) and "@" not in order.step]
    return [f"{order.path}:{order.step} {order.attempt}" for order in orders]


def ended(events: Iterable[AnyEvent]) -> list[str]:
    """How the plan's own steps ended, in this run or in an earlier one."""
    return [
        f"{event.subplan}:{event.step} {event.attempt} {event.outcome}"
        for event in events
        if isinstance(event, StepFinishedEvent) and "@" not in event.step
    ]


def states(run: SimulatedRun) -> Mapping[str, str]:
    return {
        event.subplan: event.outcome
        for _, event in run.events
        if isinstance(event, SubplanStateEvent) and event.outcome in {"completed", "failed"}
    }
