"""The commands that `weft status` suggests to type next."""

from collections.abc import Iterator

from weft.app.inspect.overview_model import Overview, SubplanNow
from weft.app.project.suggestions import Suggestion, suggest
from weft.app.views.rows import BECAUSE_OF_OTHERS
from weft.app.views.signals import VERIFY
from weft.terms import UNFINISHED, RunState

WHOLE = "/"
"""The name of the whole plan for `weft logs`."""


def next_commands(overview: Overview) -> Iterator[Suggestion]:
    """Yields suggestions, the most urgent first. Each can be typed as it is."""
    # Commands without `--run` concern the last run, so for an older one only the views are suggested.
    if overview.is_last:
        yield from _control_commands(overview)
        yield from _merge_commands(overview)
    yield from _view_commands(overview)
    if overview.is_last and overview.state == "failed" and not _is_out_of_money(overview):
        does = "retries what failed; completed work is kept"
        yield suggest("weft", "run", *overview.plan_words, does=does)


def _control_commands(overview: Overview) -> Iterator[Suggestion]:
    alive = overview.coordinator is not None and overview.coordinator.alive
    if not alive and (overview.state in UNFINISHED - {RunState.WAITING} or overview.is_asked):
        yield suggest("weft", "start", *overview.plan_words, does="resumes it")
    if not alive and _is_out_of_money(overview):
        does = "resumes, and counts budgets from zero"
        yield suggest("weft", "run", *overview.plan_words, "--fresh-budget", does=does)
    if overview.limits and overview.state in UNFINISHED:
        yield suggest("weft", "resume", "--limits", does="ends the usage limit now")
    if overview.wants and overview.state in UNFINISHED:
        yield suggest("weft", "resume", does="resumes what was paused or stopped")


def _merge_commands(overview: Overview) -> Iterator[Suggestion]:
    if any(row.question for row in overview.subplans):
        yield suggest("weft", "answer", does="lists the open questions")
    if any(row.landing == "conflict" for row in overview.subplans):
        yield suggest("weft", "merge", "--list", does="shows how to settle the conflicts")
    if any(row.landing == "held" for row in overview.subplans):
        yield suggest("weft", "merge", does="tries to land what is held")
    if overview.push is not None and overview.push.is_final and overview.push.command:
        yield suggest(*overview.push.command.split(), does="pushes what has landed")


def _view_commands(overview: Overview) -> Iterator[Suggestion]:
    run = () if overview.is_last else ("--run", overview.run)
    for verify in overview.verifies:
        name = verify.subplan or overview.plan
        subplan = verify.subplan or next(iter(verify.entries), WHOLE)
        words = ("weft", "logs", f"{subplan}:{verify.step}", *run)
        subject = f"the verify of {name}" if verify.step == VERIFY else "the verify before a landing"
        yield suggest(*words, does=f"shows the output of {subject}")
    failed = next((row for row in overview.subplans if _failed_itself(row)), None)
    if failed is not None:
        yield suggest("weft", "logs", failed.path, *run, does="shows the output of its steps")


def _is_out_of_money(overview: Overview) -> bool:
    return any(row.reason == "budget" for row in overview.subplans)


def _failed_itself(row: SubplanNow) -> bool:
    return row.is_leaf and row.state == "failed" and row.reason not in BECAUSE_OF_OTHERS and row.has_output
