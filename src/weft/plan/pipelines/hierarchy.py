"""Pipelines within pipelines: which contain which, and how deep.

A pipeline can be nested in several others, and several times in one, so a walk through everything that a pipeline
contains can take time exponential in the number of pipelines. Analyses therefore visit each nested pipeline once,
the inner ones first.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from weft.plan.model import Nested, Pipeline, Plan, RunCommand, Step

MOST_LEVELS = 32
"""The deepest nesting. More is a mistake, and recursive walks need a stack frame for each level."""

MOST_IN_A_CYCLE = 8
"""At most this many names of a cycle are printed."""

StepFaults = dict[int, tuple[Step, str]]
"""Steps, by `id()`, with what is wrong with each; an empty message follows from a fault that has one."""


def nested_in(steps: Iterable[Step], pipelines: Mapping[str, Pipeline]) -> Iterator[tuple[Step, str]]:
    """Yields the steps that are pipelines, with their names, except unknown pipelines."""
    for step in steps:
        if isinstance(step.body, Nested) and step.body.pipeline in pipelines:
            yield step, step.body.pipeline


def inner_first(steps: Sequence[Step], pipelines: Mapping[str, Pipeline]) -> list[str]:
    """Returns all pipelines that the steps contain, each once, after those nested in it.

    No pipeline may contain itself.
    """
    names: dict[str, None] = {}
    _collect(steps, pipelines, names)
    return list(names)


def _collect(steps: Sequence[Step], pipelines: Mapping[str, Pipeline], names: dict[str, None]) -> None:
    for _, inner in nested_in(steps, pipelines):
        if inner not in names:
            _collect(pipelines[inner].steps, pipelines, names)
            names[inner] = None


def nesting_faults(pipelines: Mapping[str, Pipeline]) -> StepFaults:
    """Returns the steps by which a pipeline contains itself, or is nested too deep."""
    faults: StepFaults = {}
    levels: dict[str, int] = {}
    for name in _all_inner_first(pipelines, faults):
        levels[name] = 1
        for step, inner in nested_in(pipelines[name].steps, pipelines):
            # Only the first step that is too deep gets a message; the others follow from it.
            if id(step) not in faults and levels[inner] < MOST_LEVELS:
                levels[name] = max(levels[name], levels[inner] + 1)
            elif id(step) not in faults:
                message = f"with {inner!r}, pipelines are nested more than {MOST_LEVELS} deep"
                faults[id(step)] = step, "" if faults else message
    return faults


def cycle_in_words(names: Sequence[str]) -> str:
    """Returns the names of a cycle, with the first repeated at the end; a long cycle is abbreviated."""
    shown = [*names, names[0]]
    if len(names) > MOST_IN_A_CYCLE:
        half = MOST_IN_A_CYCLE // 2
        shown = [*names[:half], "…", *names[-half:], names[0]]
    return " → ".join(shown)


def _all_inner_first(pipelines: Mapping[str, Pipeline], faults: StepFaults) -> list[str]:
    """Returns all pipelines, inner ones first, and adds the steps that close a cycle to the faults."""
    # An explicit stack, because the depth is not limited yet.
    finished: dict[str, None] = {}
    for top in pipelines:
        open_pipelines = {} if top in finished else {top: nested_in(pipelines[top].steps, pipelines)}
        while open_pipelines:
            name = next(reversed(open_pipelines))
            step, inner = next(open_pipelines[name], (None, ""))
            if step is None:
                finished[name] = None
                del open_pipelines[name]
            elif inner in open_pipelines:
                names = list(open_pipelines)
                cycle = cycle_in_words(names[names.index(inner) :])
                faults[id(step)] = step, f"the pipeline contains itself: {cycle}"
            elif inner not in finished:
                open_pipelines[inner] = nested_in(pipelines[inner].steps, pipelines)
    return list(finished)


def without_steps(pipelines: Mapping[str, Pipeline], faults: StepFaults) -> dict[str, Pipeline]:
    """Returns the pipelines with a harmless step in place of each faulty one, so that the rest can be checked."""
    return {name: _cut(pipeline, faults) for name, pipeline in pipelines.items()}


def _cut(pipeline: Pipeline, faults: StepFaults) -> Pipeline:
    if not any(id(step) in faults for step in pipeline.steps):
        return pipeline
    # A step that must not be followed any further is replaced, so that one mistake does not hide all others.
    steps = (replace(step, body=RunCommand("")) if id(step) in faults else step for step in pipeline.steps)
    return replace(pipeline, steps=tuple(steps))


def used_pipelines(plan: Plan) -> set[str]:
    """Returns the names of the pipelines that slices or the plan's own pipelines refer to."""
    used = {subplan.pipeline for subplan in plan.subplans if subplan.pipeline is not None}
    own = [pipeline for pipeline in plan.pipelines.values() if not pipeline.built_in]
    own += [subplan.steps for subplan in plan.subplans if subplan.steps is not None]
    # Built-in pipelines contain no other pipelines.
    return used.union(
        step.body.pipeline for pipeline in own for step in pipeline.steps if isinstance(step.body, Nested)
    )
