"""Pipelines within pipelines."""

import pytest

from plan.problem_texts import AGENT, problems, with_steps
from weft.plan.loader.load import load_plan
from weft.plan.pipelines.hierarchy import MOST_LEVELS, cycle_in_words, inner_first

USE = "{id: n, pipeline: p0}"


def chain(levels: int, last: str = "{id: z, run: x}") -> str:
    """So many pipelines, each in the one before."""
    lines = (f"  p{level}: [{{id: a, pipeline: p{level + 1}}}]\n" for level in range(levels - 1))
    return f"pipelines:\n{''.join(lines)}  p{levels - 1}: [{last}]\n"


def test_the_inner_ones_come_first_and_each_once() -> None:
    top = (
        "pipelines:\n  a: [{id: x, pipeline: b}, {id: y, pipeline: c}, {id: z, pipeline: b}]\n"
        "  b: [{id: x, pipeline: d}]\n  c: [{id: x, pipeline: b}]\n  d: [{id: x, run: x}]\n"
    )
    plan = load_plan(with_steps("{id: n, pipeline: a}", top=top))
    assert inner_first(plan.pipeline_of(1).steps, plan.pipelines) == ["d", "b", "c", "a"]


def test_as_many_levels_as_are_allowed_load() -> None:
    assert problems(with_steps(USE, top=chain(MOST_LEVELS))) == []


@pytest.mark.parametrize("levels", [MOST_LEVELS + 1, 3_000])
def test_more_levels_are_refused_once(levels: int) -> None:
    inner = levels - MOST_LEVELS
    line = f"  p{inner - 1}: [{{id: a, pipeline: "
    assert problems(with_steps(USE, top=chain(levels))) == [
        f"{inner + 3}:{len(line) + 1} with 'p{inner}', pipelines are nested more than 32 deep"
    ]


def test_a_pipeline_in_itself_is_reported_where_it_names_itself() -> None:
    top = "pipelines:\n  p0: [{id: a, run: x}, {id: b, pipeline: p0}]\n"
    assert problems(with_steps(USE, top=top)) == ["4:43 the pipeline contains itself: p0 → p0"]


def test_two_cycles_are_both_told() -> None:
    names = (("p0", "p0"), ("p1", "p2"), ("p2", "p1"))
    top = "pipelines:\n" + "".join(f"  {outer}: [{{id: a, pipeline: {inner}}}]\n" for outer, inner in names)
    assert problems(with_steps(USE, top=top)) == [
        "4:26 the pipeline contains itself: p0 → p0",
        "6:26 the pipeline contains itself: p1 → p2 → p1",
    ]


def test_what_else_is_wrong_in_a_cycle_is_reported_too() -> None:
    top = "pipelines:\n  p0: [{id: a, pipeline: p0}, {id: b, run: '{{ step.c.result }}', depends_on: [d]}]\n"
    assert [message.partition(" ")[0] for message in problems(with_steps(USE, top=top))] == [
        "4:26",
        "4:48",
        "4:80",
    ]


def test_a_large_cycle_that_doubles_is_reported_and_nothing_that_follows_from_it() -> None:
    lines = "".join(
        f"  p{n}: [{{id: a, pipeline: p{(n + 1) % 60}}}, {{id: b, pipeline: p{(n + 1) % 60}}}]\n"
        for n in range(60)
    )
    circle = "p0 → p1 → p2 → p3 → … → p56 → p57 → p58 → p59 → p0"
    assert problems(with_steps(USE, top=f"{AGENT}pipelines:\n{lines}")) == [
        f"64:27 the pipeline contains itself: {circle}",
        f"64:50 the pipeline contains itself: {circle}",
    ]


@pytest.mark.parametrize(
    ("names", "words"), [("a", "a → a"), ("abcdefgh", "a → b → c → d → e → f → g → h → a")]
)
def test_a_small_cycle_is_reported_as_a_whole(names: str, words: str) -> None:
    assert cycle_in_words(names) == words


def test_the_built_in_pipelines_can_be_nested() -> None:
    steps = ("{id: n, pipeline: direct}", "{id: r, run: 'echo {{ step.n.work.result }}'}")
    assert problems(with_steps(*steps)) == []
