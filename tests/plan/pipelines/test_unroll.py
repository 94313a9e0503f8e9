"""How often steps can run, against a walk in which everything fails."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from plan.problem_texts import AGENT, problems, with_steps, with_subplans
from weft.plan.loader.load import load_plan
from weft.plan.model import Nested, OnFail, Pipeline, RunCommand, Step
from weft.plan.pipelines.unroll import MOST_STEPS, RunCounts, loop_limit, most_runs
from weft.plan.text.document import Table, read_document


def step(number: int, back: tuple[int, int] | None = None, retries: int = 0) -> Step:
    on_fail = None if back is None else OnFail(f"s{back[0]}", back[1])
    return Step(
        id=f"s{number}", body=RunCommand("x"), on_fail=on_fail, max_retries=retries, source=Table(1, 1)
    )


def when_all_fails(steps: list[Step]) -> list[int]:
    """Goes back as often as it may; a way back past a step lets that one count anew."""
    runs, left, at = [0] * len(steps), Counter[int](), 0
    while at < len(steps):
        runs[at] += 1 + steps[at].max_retries
        on_fail = steps[at].on_fail
        if on_fail is not None and left[at] < (on_fail.max or 0):
            left = Counter({later: count for later, count in left.items() if later > at} | {at: left[at] + 1})
            at = int(on_fail.retry_from[1:])
        else:
            left[at] = 0
            at += 1
    return runs


@st.composite
def loops(draw: st.DrawFn) -> list[Step]:
    steps: list[Step] = []
    for number in range(draw(st.integers(1, 5))):
        back = draw(st.none() | st.tuples(st.integers(0, number - 1), st.integers(0, 2))) if number else None
        steps.append(step(number, back, draw(st.integers(0, 1))))
    return steps


@given(loops())
def test_no_step_can_run_more_often_than_when_all_fails(steps: list[Step]) -> None:
    assert most_runs(steps, retries=9) == when_all_fails(steps)


def test_loops_around_a_loop_multiply_and_those_side_by_side_do_not() -> None:
    assert most_runs([step(0), step(1, (0, 2)), step(2, (0, 3))], 0) == [12, 12, 4]
    assert most_runs([step(0), step(1, (0, 2)), step(2), step(3, (2, 1))], 0) == [3, 3, 2, 2]


def test_a_loop_without_a_bound_of_its_own_has_that_of_the_setting() -> None:
    back = replace(step(1), on_fail=OnFail("s0", None))
    assert (loop_limit(back, 4), loop_limit(step(1, (0, 3)), 4), loop_limit(step(1), 4)) == (4, 3, 0)
    assert most_runs([step(0), back], 4) == [5, 5]


def test_a_pipeline_without_steps_runs_nothing() -> None:
    assert most_runs([], 2) == []


def nested(id_: str, pipeline: str) -> Step:
    return replace(step(0), id=id_, body=Nested(pipeline))


def unrolled(**pipelines: tuple[Step, ...]) -> RunCounts:
    document = read_document("a", "f")
    named = {name: Pipeline(name=name, steps=steps, document=document) for name, steps in pipelines.items()}
    return RunCounts(pipelines=named, retries=2, verifies=True)


def test_a_nested_pipeline_multiplies_for_its_steps_wherever_it_stands() -> None:
    leaf = step(0)
    way = unrolled(inner=(leaf, step(1, (0, 1))), outer=(nested("x", "inner"), nested("y", "inner")))
    twice = (replace(nested("z", "outer"), max_retries=2), nested("w", "inner"))
    runs = {unrolled_step.id: count for unrolled_step, count in way.runs(twice)}
    assert runs == {"z": 3, "w": 1, "x": 3, "y": 3, "s0": 14, "s1": 14}
    assert way.size(twice) == 3 + 1 + 3 + 3 + 14 + 14


def test_what_never_runs_takes_its_place_once() -> None:
    way = unrolled(inner=(step(0), step(1, (0, 2))))
    never = replace(nested("n", "inner"), condition="never")
    assert {unrolled_step.id: count for unrolled_step, count in way.runs([never])} == {
        "n": 0,
        "s0": 0,
        "s1": 0,
    }
    assert way.size([never]) == 1 + 3 + 3


def test_a_pipeline_that_does_not_exist_counts_as_a_step() -> None:
    assert unrolled().size([nested("n", "nothing")]) == 1


def test_the_largest_pipeline_is_allowed_and_one_step_more_is_not() -> None:
    steps = [f"{{id: s{number}, run: x}}" for number in range(MOST_STEPS + 1)]
    assert problems(with_steps(*steps[:-1])) == []
    assert problems(with_steps(*steps)) == ["2009:9 a pipeline can have at most 2,000 steps, not 2,001"]
    written = f"pipelines:\n  long: [{', '.join(steps)}]\n"
    assert problems(with_subplans("{id: a, pipeline: long}", top=written)) == [
        f"4:{written.splitlines()[1].index('{id: s2000,') + 1} a pipeline can have at most 2,000 steps, not 2,001"
    ]


def test_loops_that_are_too_large_together_are_refused_once() -> None:
    back = "on_fail: {retry_from: a, max: 10}"
    steps = ("{id: a, run: x}", *(f"{{id: {name}, run: x, {back}}}" for name in "bcd"))
    top = AGENT + f"pipelines:\n  much: [{', '.join(steps)}]\n"
    slices = ("{id: s, pipeline: much}", "{id: t, pipeline: much, retries: 3}")
    assert problems(with_subplans(*slices, top=top)) == [
        (
            "7:5 with all its loops the pipeline could take 2,794 steps; the limit is 2,000: "
            "lower max, max_retries or retries"
        )
    ]


@pytest.mark.parametrize(("retries", "failed"), [(8, 0), (9, 1)])
def test_how_large_loops_are_depends_on_the_setting(retries: int, failed: int) -> None:
    back = "on_fail: {retry_from: a}"
    steps = ("{id: a, run: x}", *(f"{{id: {name}, run: x, {back}}}" for name in "bcd"))
    assert len(problems(with_steps(*steps, top=f"retries: {retries}\n"))) == failed


def doubling(levels: int, last: str) -> str:
    """Pipelines of which each stands twice in the one before."""
    lines = (
        f"  p{level}: [{{id: a, pipeline: p{level + 1}}}, {{id: b, pipeline: p{level + 1}}}]\n"
        for level in range(levels)
    )
    return f"pipelines:\n{''.join(lines)}  p{levels}: [{last}]\n"


@pytest.mark.parametrize("condition", ["always", "never"])
def test_pipelines_that_double_twenty_times_are_refused_without_a_walk(condition: str) -> None:
    top = doubling(20, "{id: z, prompt: x, resume: true, on_error: abort}")
    read = "{id: r, run: '{{ step.n." + "a." * 20 + "z.result }}'}"
    steps = (f"{{id: n, pipeline: p0, condition: {condition}}}", read)
    (message,) = problems(with_steps(*steps, top=AGENT + top))
    assert message.startswith("27:5 with all its loops the pipeline could take 3,145,728 steps")


def test_a_number_that_says_nothing_is_not_written_out() -> None:
    steps = ("{id: a, run: x}", *(f"{{id: b{n}, run: x, on_fail: {{retry_from: a}}}}" for n in range(40)))
    (message,) = problems(with_steps(*steps))
    assert message.startswith("5:5 with all its loops the pipeline could take more than 10^12 steps")


def test_four_times_doubled_is_a_plan() -> None:
    plan = load_plan(with_steps("{id: n, pipeline: p0}", top=doubling(4, "{id: z, run: x}")))
    assert len(plan.pipelines) == 5 + 2
