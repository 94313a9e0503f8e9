"""Warnings of `weft check` about estimates above the timeout of their step."""

from collections.abc import Iterator

from weft.app.views.wording.timeouts import late_words
from weft.forecast.estimates import Estimates
from weft.forecast.timeouts import late_steps
from weft.plan.loader.steps_check import place
from weft.plan.model import Plan
from weft.plan.text.problems import MOST_PROBLEMS, Problem, Severity


def timeout_warnings(plan: Plan) -> Iterator[Problem]:
    """Yields a warning for each step that its estimate in the plan makes longer than its timeout."""
    if not _has_estimates(plan):
        return
    # The history of earlier runs is left to the forecast: this is about what the plan itself says.
    late = late_steps(Estimates(plan).listed())[:MOST_PROBLEMS]
    rows: dict[str, int] = {path: row for row, path in enumerate(plan.outline.paths)} if late else {}
    for each in late:
        node = place(plan.subplans[rows[each.worst.path]].source, "estimate")
        yield Problem(at=plan.document.position(node), message=late_words(each), severity=Severity.WARNING)


def _has_estimates(plan: Plan) -> bool:
    pipelines = [*plan.pipelines.values(), *(each.steps for each in plan.subplans if each.steps is not None)]
    return any(each.estimate is not None for each in plan.subplans) or any(
        step.estimate is not None for pipeline in pipelines for step in pipeline.steps
    )
