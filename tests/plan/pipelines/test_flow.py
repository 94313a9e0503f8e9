"""Which steps have ended when another starts, against all ways in which they can come."""

from collections.abc import Iterator
from dataclasses import dataclass
from dataclasses import replace as changed

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from weft.plan.model import OnFail, OnResult, RunCommand, Step, Verify
from weft.plan.pipelines.flow import effective, flow, loop_region
from weft.plan.text.document import Table


def step(id_: str, *depends_on: str, is_async: bool = False) -> Step:
    return Step(id=id_, body=RunCommand("x"), is_async=is_async, depends_on=depends_on, source=Table(1, 1))


@dataclass(frozen=True)
class State:
    cursor: int = 0
    launched: frozenset[int] = frozenset()
    started: frozenset[int] = frozenset()
    ended: frozenset[int] = frozenset()


def next_states(steps: list[Step], state: State) -> Iterator[State]:
    """One thing happens: the cursor goes on, a step starts, a step ends."""
    at = state.cursor
    if at < len(steps) and at not in state.launched:
        yield changed(state, launched=state.launched | {at})
    elif at < len(steps) and (steps[at].is_async or at in state.ended):
        yield changed(state, cursor=at + 1)
    for branch in state.launched - state.started:
        if waits_for(steps, branch) <= state.ended:
            yield changed(state, started=state.started | {branch})
    for branch in state.started - state.ended:
        yield changed(state, ended=state.ended | {branch})


def waits_for(steps: list[Step], number: int) -> set[int]:
    return {earlier for earlier in range(number) if steps[earlier].id in steps[number].depends_on}


def all_states(steps: list[Step]) -> set[State]:
    states, todo = {State()}, [State()]
    while todo:
        new = set(next_states(steps, todo.pop())) - states
        states |= new
        todo += new
    return states


def certain(sets: list[frozenset[int]]) -> int:
    return sum(1 << number for number in frozenset.intersection(*sets))


@st.composite
def step_lists(draw: st.DrawFn) -> list[Step]:
    steps: list[Step] = []
    for number in range(draw(st.integers(1, 5))):
        earlier = (
            draw(st.sets(st.sampled_from([earlier_step.id for earlier_step in steps]))) if steps else set()
        )
        steps.append(step(f"s{number}", *sorted(earlier), is_async=draw(st.booleans())))
    return steps


@given(step_lists())
def test_a_step_is_certain_to_have_ended_if_it_has_whatever_happens(steps: list[Step]) -> None:
    result, states = flow(steps), all_states(steps)
    for number in range(len(steps)):
        starts = [
            state.ended for state in states if number in state.launched and number not in state.started
            and waits_for(steps, number) <= state.ended
        ]  # fmt: skip
        assert result.ended[number] == certain(starts)
    assert result.at_end == certain([state.ended for state in states if state.cursor == len(steps)])


@given(step_lists())
def test_what_the_cursor_has_waited_for_sends_no_signal(steps: list[Step]) -> None:
    result, states = flow(steps), all_states(steps)
    for number in range(len(steps)):
        arrivals = [
            state.ended for state in states if state.cursor == number and number not in state.launched
        ]
        behind = frozenset.intersection(*arrivals)
        assert set(result.signals[number]) == waits_for(steps, number) - behind


@given(step_lists())
def test_a_sender_knows_the_steps_that_wait_for_its_signal(steps: list[Step]) -> None:
    result = flow(steps)
    sent_signals = {(earlier, later) for later, sent in enumerate(result.signals) for earlier in sent}
    assert sent_signals == {
        (earlier, later) for earlier, receivers in enumerate(result.waiters) for later in receivers
    }


def test_references_to_nothing_to_later_steps_and_to_itself_are_left_out() -> None:
    result = flow([step("a", "a", "b", "z"), step("b", "a")])
    assert result.signals == ((), ())
    assert result.ended == (0b00, 0b01)


def test_of_two_steps_with_one_id_the_first_is_meant() -> None:
    result = flow([step("a", is_async=True), step("a", is_async=True), step("b", "a")])
    assert result.signals[2] == (0,)


def looping(target: str) -> list[Step]:
    steps = [step("a"), step("b"), step("c")]
    return [*steps[:2], replace(steps[2], on_fail=OnFail(target, None))]


@pytest.mark.parametrize(
    ("target", "region"), [("a", range(3)), ("b", range(1, 3)), ("c", None), ("z", None)]
)
def test_a_loop_is_what_lies_between_its_target_and_itself(target: str, region: range | None) -> None:
    assert loop_region(looping(target), 2) == region


def test_a_step_without_a_way_back_has_no_loop() -> None:
    assert loop_region(looping("a"), 1) is None


def test_what_never_runs_sends_nothing_back() -> None:
    idle = replace(step("a"), condition="never")
    busy = replace(idle, on_fail=OnFail("z", 3), on_result=(OnResult("true", "fail"),), max_retries=2)
    assert effective([busy], verifies=True) == [idle]


@pytest.mark.parametrize(("verifies", "condition"), [(True, None), (False, "never")])
def test_verify_never_runs_where_there_is_nothing_to_verify(verifies: bool, condition: str | None) -> None:
    check = replace(step("a"), body=Verify(), on_fail=OnFail("z", 3))
    (result,) = effective([check], verifies=verifies)
    assert result.condition == condition
    assert (result.on_fail is None) is (not verifies)
