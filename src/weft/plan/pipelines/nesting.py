"""Pipelines within pipelines: which stand in which, and how deep.

A pipeline may stand in several others, and several times in one, so to walk through all that a pipeline comes to
can take as long as two to the number of pipelines. Whoever asks something about nested pipelines therefore goes
through them once each, the inner ones first.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from weft.plan.model import Nested, Pipeline, Plan, RunCommand, Step

MOST_LEVELS = 32
"""Pipelines within each other. More is a slip, and what walks down through them calls itself for each."""

MOST_IN_A_CIRCLE = 8
"""So many names of a circle are told."""

WrongSteps = dict[int, tuple[Step, str]]
"""Steps, by `id()`, with what is wrong with each; nothing where it follows from another that is told."""


def nested_in(steps: Iterable[Step], pipelines: Mapping[str, Pipeline]) -> Iterator[tuple[Step, str]]:
    """The steps that are pipelines, with the name of each; those that do not exist are left out."""
    for step in steps:
        if isinstance(step.body, Nested) and step.body.pipeline in pipelines:
            yield step, step.body.pipeline


def inner_first(steps: Sequence[Step], pipelines: Mapping[str, Pipeline]) -> list[str]:
    """All pipelines that the steps come to, each once, and after those that stand in it.

    No pipeline may stand within itself.
    """
    found: dict[str, None] = {}
    _collect(steps, pipelines, found)
    return list(found)


def _collect(steps: Sequence[Step], pipelines: Mapping[str, Pipeline], found: dict[str, None]) -> None:
    for _, inner in nested_in(steps, pipelines):
        if inner not in found:
            _collect(pipelines[inner].steps, pipelines, found)
            found[inner] = None


def wrong_nesting(pipelines: Mapping[str, Pipeline]) -> WrongSteps:
    """The steps by which a pipeline comes to stand within itself, or too deep."""
    wrong: WrongSteps = {}
    levels: dict[str, int] = {}
    for name in _all_inner_first(pipelines, wrong):
        levels[name] = 1
        for step, inner in nested_in(pipelines[name].steps, pipelines):
            if id(step) not in wrong and levels[inner] < MOST_LEVELS:
                levels[name] = max(levels[name], levels[inner] + 1)
            elif id(step) not in wrong:
                said = f"with {inner!r} more than {MOST_LEVELS} pipelines stand within each other"
                wrong[id(step)] = step, "" if wrong else said
    return wrong


def circle_in_words(names: Sequence[str]) -> str:
    """The names of a circle, with the first once more at the end; of a large one some."""
    shown = [*names, names[0]]
    if len(names) > MOST_IN_A_CIRCLE:
        half = MOST_IN_A_CIRCLE // 2
        shown = [*names[:half], "…", *names[-half:], names[0]]
    return " → ".join(shown)


def _all_inner_first(pipelines: Mapping[str, Pipeline], wrong: WrongSteps) -> list[str]:
    """With a stack of its own, as nobody knows yet how deep it goes; tells which steps close a circle."""
    done: dict[str, None] = {}
    for top in pipelines:
        way = {} if top in done else {top: nested_in(pipelines[top].steps, pipelines)}
        while way:
            name = next(reversed(way))
            step, inner = next(way[name], (None, ""))
            if step is None:
                done[name] = None
                del way[name]
            elif inner in way:
                names = list(way)
                circle = circle_in_words(names[names.index(inner) :])
                wrong[id(step)] = step, f"the pipeline comes to stand within itself: {circle}"
            elif inner not in done:
                way[inner] = nested_in(pipelines[inner].steps, pipelines)
    return list(done)


def without(pipelines: Mapping[str, Pipeline], wrong: WrongSteps) -> dict[str, Pipeline]:
    """The pipelines with something harmless in place of these steps, so that the rest can be checked."""
    return {name: _cut(pipeline, wrong) for name, pipeline in pipelines.items()}


def _cut(pipeline: Pipeline, wrong: WrongSteps) -> Pipeline:
    if not any(id(step) in wrong for step in pipeline.steps):
        return pipeline
    steps = (replace(step, body=RunCommand("")) if id(step) in wrong else step for step in pipeline.steps)
    return replace(pipeline, steps=tuple(steps))


def used_pipelines(plan: Plan) -> set[str]:
    """The names of the pipelines that slices, or the pipelines of the plan itself, refer to."""
    used = {subplan.pipeline for subplan in plan.subplans if subplan.pipeline is not None}
    own = [pipeline for pipeline in plan.pipelines.values() if not pipeline.built_in]
    own += [subplan.steps for subplan in plan.subplans if subplan.steps is not None]
    # None of the built-in ones has another in it.
    return used.union(
        step.body.pipeline for pipeline in own for step in pipeline.steps if isinstance(step.body, Nested)
    )
