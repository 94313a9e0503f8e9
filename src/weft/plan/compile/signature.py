"""The parts of the steps that determine the shape of their net: equal signatures give equal nets."""

from collections.abc import Mapping, Sequence

from weft.plan.model import Nested, Pipeline, Step


def signature(steps: Sequence[Step], pipelines: Mapping[str, Pipeline]) -> tuple[object, ...]:
    return tuple(_step_signature(step, pipelines) for step in steps)


def _step_signature(step: Step, pipelines: Mapping[str, Pipeline]) -> tuple[object, ...]:
    inner = signature(pipelines[step.body.pipeline].steps, pipelines) if isinstance(step.body, Nested) else ()
    # All conditions that are evaluated at run time give the same net.
    condition = step.condition if step.condition in {None, "never", "always"} else "?"
    # Prompts, commands and titles are left out on purpose: they change what a step does, not how the net looks.
    return (
        step.id,
        type(step.body).__name__,
        inner,
        step.is_async,
        frozenset(step.depends_on),
        condition,
        step.max_retries,
        step.retries_crashes,
        step.on_fail,
        frozenset(rule.action for rule in step.on_result),
        frozenset(step.pools),
        step.host,
    )
