"""Runs in virtual time, told in a few words: a plan, how its steps end, and then what came of it."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from stored_events import StoredEvent, all_stored
from weft.engine.engine import Engine
from weft.engine.messages.facts import RunStarted, StepOutcome
from weft.engine.messages.orders import AgentTask, Halt, Launch, Ordered
from weft.engine.simulate import Interruptions, SimulatedEnd, SimulatedReply, SimulatedRun, Simulator
from weft.plan.compile.compile import compile_plan
from weft.plan.compile.plan_net import CompiledPlan
from weft.plan.loader.load import Surroundings, load_plan

Data = dict[str, Any]
Ends = Mapping[str, SimulatedEnd | Sequence[SimulatedEnd]]
"""By `path:step`: how it ends, or how it ends each time; all else is done after a second."""

DONE = SimulatedEnd()


def fails(message: str = "exit code 1", *, exit_code: int | None = 1, **more: Any) -> SimulatedEnd:
    return SimulatedEnd(how=StepOutcome.FAILED, exit_code=exit_code, message=message, **more)


def ends(how: StepOutcome, **more: Any) -> SimulatedEnd:
    return SimulatedEnd(how=how, **more)


def says(result: object, **more: Any) -> SimulatedEnd:
    text = result if isinstance(result, str) else json.dumps(result)
    return SimulatedEnd(result=text, **more)


SLOW = says("", seconds=50.0)


# Plans


def plan(*subplans: Data, **head: Any) -> CompiledPlan:
    """In directories of their own, with two agents."""
    data: Data = {
        "weft": 1,
        "plan": "p",
        "isolation": "dir",
        "agent": "coder",
        "agents": {"coder": {"use": "claude"}, "judge": {"use": "codex"}},
    }
    text = json.dumps(data | head | {"subplans": subplans})
    return compile_plan(load_plan(text, surroundings=Surroundings(git=False)))


def leaf(id_: str, *steps: Data, **more: Any) -> Data:
    return {"id": id_, "prompt": f"do {id_}", "steps": steps or [run("work")], **more}


def group(id_: str, *subplans: Data, **more: Any) -> Data:
    return {"id": id_, "subplans": subplans, **more}


def run(id_: str, command: str = "true", **more: Any) -> Data:
    return {"id": id_, "run": command, **more}


def branch(id_: str, command: str = "true", **more: Any) -> Data:
    return run(id_, command, **more) | {"async": True}


def join(id_: str, *members: str, **more: Any) -> Data:
    return {"id": id_, "action": "join", "depends_on": members, **more}


def agent(id_: str, prompt: str = "do", **more: Any) -> Data:
    return {"id": id_, "prompt": prompt, **more}


def ask(id_: str = "sure", question: str = "Go on?", **more: Any) -> Data:
    return {"id": id_, "action": "ask", "question": question, **more}


# Runs


class Story:
    """What happened, in words that a test can compare."""

    def __init__(self, done: SimulatedRun) -> None:
        self.run = done
        self.events = all_stored(event for _, event in done.events)
        self.state = done.state
        self.last = self.events[-1]

    def of(self, kind: str, subplan: str = "", step: str = "") -> list[StoredEvent]:
        return [
            event
            for event in self.events
            if event.kind == kind and subplan in {"", event.subplan} and step in {"", event.step}
        ]

    @property
    def started(self) -> list[str]:
        """The plan's own steps, in the order they began."""
        return [_name(event) for event in self.of("step_started") if "@" not in event.step]

    @property
    def finished(self) -> list[str]:
        return [
            f"{_name(event)} {event.outcome}" for event in self.of("step_finished") if "@" not in event.step
        ]

    @property
    def states(self) -> dict[str, str]:
        """How each subplan ended, in the order of the plan: completed, or why it failed."""
        ended = {
            event.subplan: str(event.data.get("reason", event.outcome))
            for event in self.of("subplan_state")
            if event.outcome in {"completed", "failed"}
        }
        paths = self.run.engine._state.plan.outline.paths[1:]
        return {path: ended[path] for path in paths if path in ended}

    def why(self, path: str) -> Data:
        """What is told of a failure."""
        return next(event.data for event in self.of("subplan_state", path) if event.outcome == "failed")

    def launches(self, name: str) -> list[Launch]:
        path, _, step = name.rpartition(":")
        orders = [order for order in self.run.orders if isinstance(order, Launch)]
        return [order for order in orders if (order.path, order.step) == (path, step)]

    def prompts(self, name: str) -> list[str]:
        return [task.prompt for task in self.tasks(name)]

    def tasks(self, name: str) -> list[AgentTask]:
        return [order.task for order in self.launches(name) if order.task is not None]

    def commands(self, name: str) -> list[object]:
        return [command for order in self.launches(name) for command in order.commands]

    @property
    def halted(self) -> list[int]:
        return [order.firing for order in self.run.orders if isinstance(order, Halt)]

    def cancelled(self) -> dict[str, str]:
        """Steps that were ended, each with the cause."""
        return {_name(event): event.data["cause"] for event in self.of("step_cancelled")}

    def overlap(self, first: str, second: str) -> bool:
        """Whether two steps were under way at once."""
        (a, b), (c, d) = self.span(first), self.span(second)
        return a < d and c < b

    def span(self, name: str) -> tuple[float, float]:
        times = [
            at
            for (at, _), event in zip(self.run.events, self.events, strict=True)
            if event.kind in {"step_started", "step_finished"} and _name(event) == name
        ]
        return times[0], times[-1]


def _name(event: StoredEvent) -> str:
    return f"{event.subplan}:{event.step}"


def tell(
    compiled: CompiledPlan,
    how: Ends | None = None,
    *,
    replies: Mapping[str, SimulatedReply | None] | None = None,
    interruptions: Interruptions | None = None,
    env: dict[str, str] | None = None,
    carried: tuple[str, ...] = (),
) -> Story:
    value, answers = how or {}, replies or {}
    counts: dict[str, list[int]] = {}

    def world(order: Ordered) -> SimulatedEnd:
        step = order.step if isinstance(order, Launch) else f"@{type(order).__name__.lower()}"
        name = f"{order.path}:{step}"
        result = value.get(name, DONE)
        if isinstance(result, SimulatedEnd):
            return result
        done = counts.setdefault(name, [])
        done.append(order.firing)
        return result[min(len(done), len(result)) - 1]

    simulator = Simulator(
        compiled,
        world,
        person=lambda path, step: answers.get(f"{path}:{step}", None if step[0] == "@" else SimulatedReply()),
        interruptions=interruptions or Interruptions(),
    )
    return Story(simulator.play(env=env, carried=carried))


def steps(*given: Data, how: Ends | None = None, replies: Any = None, **head: Any) -> Story:
    """A run of one slice with these steps; how they end is said by their names alone."""
    named = {f"a:{name}": happening for name, happening in (how or {}).items()}
    return tell(plan(leaf("a", *given), **head), named, replies=replies)


def after(*facts: int) -> Callable[[int], bool]:
    """When something interrupts a run: after so many facts."""
    return lambda number: number in facts


def begun(compiled: CompiledPlan) -> Engine:
    """An engine that has just been told of the start of the run."""
    engine = Engine(compiled)
    engine.apply(RunStarted(at=0.0, run="r"))
    engine.take_messages()
    return engine
