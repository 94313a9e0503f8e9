"""The changes that a person requests of slices, added to what a new run takes over from earlier runs.

A slice that failed by itself starts again from its first step. A slice that continues, or that is completed and
has not landed, continues before the first step whose agent gets the request, in its workspace as it is. Completed
slices that depend on such a slice are kept: the new work builds on the work that they were built on.
"""

from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from weft.app.history.completed_work import CompletedWork, completed_by
from weft.app.history.earlier_runs import Earlier
from weft.app.history.slice_progress import progress_of
from weft.engine.messages.facts import EarlierSlice, SliceFeedback
from weft.engine.state.change_requests import before_request
from weft.engine.state.pipelines import PlacedStep, placed_steps
from weft.plan.model import Plan
from weft.ports.journal import JournalReader


def with_requests(
    kept: CompletedWork,
    requests: Mapping[str, str],
    plan: Plan,
    journal: JournalReader,
    runs: Iterable[Earlier],
) -> CompletedWork:
    """Returns the completed work without the slices of the requests, which are texts by path."""
    reopened = requests.keys() & frozenset(kept.paths)
    undone = {path for path in kept.paths if any(f"{name}/".startswith(f"{path}/") for name in reopened)}
    continued = {earlier.subplan: earlier for earlier in kept.continued}
    if reopened:
        past_runs = list(runs)
        by_run = completed_by(kept, journal, past_runs)
        started = {record.run: started for record, started in past_runs}
        for path in reopened:
            run = by_run[path]
            before = next((each for each in started[run].continued if each.subplan == path), None)
            continued[path] = _completed_slice(journal, run, path, before)
    for path in requests.keys() & continued.keys():
        continued[path] = before_request(continued[path], steps_of(plan, path))
    texts = {feedback.subplan: feedback.text for feedback in kept.feedback} | dict(requests)
    return replace(
        kept,
        paths=tuple(path for path in kept.paths if path not in undone),
        is_all=kept.is_all and not requests,
        landed=tuple(path for path in kept.landed if path not in undone),
        continued=tuple(continued[path] for path in plan.outline.paths if path in continued),
        feedback=tuple(
            SliceFeedback(subplan=str(path), text=texts[path]) for path in plan.outline.paths if path in texts
        ),
    )


def steps_of(plan: Plan, path: str) -> Mapping[str, PlacedStep]:
    """Returns the steps of a slice by address."""
    row = list(map(str, plan.outline.paths)).index(path)
    verifies = bool(plan.subplans[row].verify)
    return placed_steps(plan.pipeline_of(row).steps, plan.pipelines, verifies=verifies)


def _completed_slice(
    journal: JournalReader, run: str, path: str, before: EarlierSlice | None
) -> EarlierSlice:
    progress = progress_of(run, path, before)
    for recorded in journal.events(run):
        if recorded.event.subplan == path:
            progress.apply(recorded.event)
    return progress.completed()
