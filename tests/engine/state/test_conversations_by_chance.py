"""Plans and worlds by chance: what an agent knows does not depend on time, and no one disturbs another.

The agents here keep conversations as most do: who goes on with one changes it in place, for all who come later.
"""

from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from engine.run.stories import Data, agent, join, leaf, plan, run
from weft.engine.messages.facts import StepOutcome
from weft.engine.messages.orders import Launch, Ordered
from weft.engine.simulate import SimulatedEnd, Simulator
from weft.plan.compile.plan_net import CompiledPlan

Known = dict[tuple[str, str, int, int], tuple[str, ...]]


class Minds:
    """A world in which agents remember; how long things take is all that chance decides."""

    def __init__(self, seed: str, time: str, *, trouble: float) -> None:
        self._seed = seed
        self._time = time
        self._trouble = trouble
        self._talks: dict[str, list[str]] = {}
        self._owners: dict[str, tuple[str, str]] = {}
        self._executions: dict[tuple[str, str, int], int] = {}
        self.known: Known = {}

    def happens(self, order: Ordered) -> SimulatedEnd:
        if not isinstance(order, Launch):
            return SimulatedEnd()
        doing = (order.path, order.step, order.attempt)
        execution = self._executions[doing] = self._executions.get(doing, 0) + 1
        how = self._ends(f"{self._seed} {doing} {execution}", is_agent=order.agent is not None)
        session = None if order.agent is None else self._speaks(order, (*doing, execution))
        seconds = Random(f"{self._time} {doing} {execution}").choice([0.5, 1.0, 3.0, 20.0])
        exit_code = 1 if how is StepOutcome.FAILED else None
        return SimulatedEnd(how=how, seconds=seconds, session=session, exit_code=exit_code, wait=1.0)

    def _ends(self, seed: str, *, is_agent: bool) -> StepOutcome:
        random = Random(seed)
        if random.random() > self._trouble:
            return StepOutcome.DONE
        return random.choice(
            [StepOutcome.FAILED, StepOutcome.FAILED, StepOutcome.LIMITED, StepOutcome.INFRA]
            if is_agent
            else [StepOutcome.FAILED]
        )

    def _speaks(self, order: Launch, doing: tuple[str, str, int, int]) -> str:
        task = order.task
        assert task is not None
        owner, session = (order.path, task.agent.name), task.session
        before = [] if session is None else self._talks[session]
        assert session is None or self._owners[session] == owner, "it is nobody else's conversation"
        self.known[doing] = tuple(before)
        if session is None or task.fork:
            session = f"s{len(self._talks)}"
            self._talks[session], self._owners[session] = list(before), owner
        self._talks[session].append(f"{order.step} {order.attempt}")
        return session


def known(compiled: CompiledPlan, minds: Minds) -> Known:
    done = Simulator(compiled, minds.happens).play()
    assert done.state in {"completed", "failed"}
    return minds.known


# Plans


FLAGS: st.SearchStrategy[Data] = st.fixed_dictionaries(
    {"resume": st.booleans(), "agent": st.sampled_from(["coder", "coder", "judge"])}
)
TRIES: Data = {"on_error": "retry", "max_retries": 2}


@st.composite
def pipelines(draw: st.DrawFn, *, nested: bool) -> list[Data]:
    """Of steps one after the other, branches that are joined, and checks that send the work back."""
    values: list[Data] = []
    for number in range(draw(st.integers(1, 4))):
        values += part(draw, f"p{number}", values, nested=nested)
    return values


def part(draw: st.DrawFn, name: str, before: list[Data], *, nested: bool) -> list[Data]:
    inner = {"id": name, "pipeline": "inner"}
    kinds = ["agent", "branches", "check", "agent", *(["nested"] if nested else [])]
    match draw(st.sampled_from(kinds)):
        case "branches":
            both = [agent(f"{name}{side}", **draw(FLAGS), **TRIES) for side in "ab"]
            both[0] = draw(st.sampled_from([both[0], {**inner, "id": f"{name}a"}] if nested else [both[0]]))
            between = draw(st.sampled_from([[], [agent(f"{name}c", **draw(FLAGS), **TRIES)]]))
            launched: list[Data] = [{**item, "async": True} for item in both]
            names = [entry["id"] for entry in launched]
            return [*launched, *between, join(name, *names, on_error="wait_for_all")]
        case "check" if any(map(is_outside, before)):
            first = draw(st.sampled_from([outcome["id"] for outcome in before if is_outside(outcome)]))
            return [run(name, on_fail={"retry_from": first, "max": 2})]
        case "nested":
            return [inner]
        case _:
            return [agent(name, **draw(FLAGS), **TRIES)]


def is_outside(step: Data) -> bool:
    """Of branches, so that the work can be sent back to it."""
    return step["id"][-1].isdigit() and "action" not in step


@st.composite
def plans(draw: st.DrawFn) -> Any:
    return draw(pipelines(nested=False)), [draw(pipelines(nested=True)) for _ in range(2)]


def compiled(parts: Any, **more: Any) -> CompiledPlan:
    inner, (first, second) = parts
    return plan(
        leaf("a", *first),
        leaf("b", *second, depends_on=["a"]),
        pipelines={"inner": inner},
        failure_mode="continue_on_error",
        infra_retries=3,
        **more,
    )


@settings(max_examples=40)
@given(plans(), st.integers(0, 10**9))
def test_what_an_agent_knows_does_not_depend_on_time(parts: Any, seed: int) -> None:
    at_once = known(compiled(parts), Minds(f"{seed}", "at once", trouble=0.2))
    in_turn = known(compiled(parts, max_concurrency=1), Minds(f"{seed}", "in turn", trouble=0.2))
    assert in_turn == at_once
