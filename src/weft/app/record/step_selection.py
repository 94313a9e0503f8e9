"""The `ID[:STEP]` argument of `weft logs`: it selects subplans of a run and steps in them."""

import shlex
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice

from msgspec import Struct

from weft.engine.messages.events import AnyEvent, StepStartedEvent, VerifyEvent
from weft.engine.messages.internal_steps import MERGES, InternalStep
from weft.engine.states import SubplanTracker
from weft.errors import InputError
from weft.plan.model import Command, Nested, Plan, Step
from weft.plan.order.outline import ROOT
from weft.plan.text.problems import suggestion
from weft.runtime.lineage import Lineage

WHOLE = "/"
"""The name of the whole plan."""
VERIFIED = MERGES
"""Steps that can run the verify of a merged result."""
_OURS = (InternalStep.WORKSPACE, InternalStep.VERIFY, InternalStep.MERGE, InternalStep.LAND)
"""Steps that Weft adds to those of a plan: the set-up of a workspace, the verify of a group, and merges."""
MOST_NAMES = 1_000
"""Number of names to complete at most; nested pipelines can have very many steps."""


Steps = tuple[Step, ...]


class StepSelection(Struct, frozen=True):
    plan: Plan
    rows: Mapping[str, int]
    """The selected rows of the plan, by path."""
    step: str
    """The selected step; empty for all steps."""
    typed: str
    """The argument as the user typed it."""

    def has(self, event: AnyEvent) -> bool:
        if isinstance(event, VerifyEvent):
            return self.step in {"", InternalStep.LAND} and self.entry_of(event) is not None
        return event.subplan in self.rows and self.step in {"", event.step}

    def entry_of(self, event: VerifyEvent) -> str | None:
        """Returns the first selected subplan that a verify of the landing queue is for.

        Returns the empty path, that of the plan, if it is selected and no other entry is; otherwise None.
        """
        entries: Iterable[str] = event.entries or [""]
        return next((path for path in entries if path in self.rows), "" if "" in self.rows else None)

    def command(self, event: StepStartedEvent) -> str:
        """Returns the command line or agent that a step started; empty if the step has no process."""
        if event.step == InternalStep.WORKSPACE or event.step in VERIFIED:
            commands = self._ours(event)
            return " && ".join(
                command if isinstance(command, str) else shlex.join(command) for command in commands
            )
        return f"agent {event.agent}" if event.agent else event.command or ""

    def _ours(self, event: StepStartedEvent) -> tuple[Command, ...]:
        """Returns the commands of a step that Weft has added."""
        row = self.rows[event.subplan]
        setup = self.plan.scopes[row].settings.setup_commands
        if event.step == InternalStep.WORKSPACE:
            return setup
        verify = Lineage(self.plan, SubplanTracker()).verify_of(row)
        return (*setup, *verify) if verify else ()


def chosen(plan: Plan, name: str) -> StepSelection:
    """Parses `store/model`, `store/model:check`, or `/` for the whole plan; a group selects all its contents."""
    subplan, _, step = name.partition(":")
    row = _row(plan, subplan)
    if row is None:
        candidates = [*plan.outline.paths[ROOT + 1 :], WHOLE]
        raise InputError(f"the plan has no subplan {subplan!r}{suggestion(subplan, candidates)}")
    rows = {
        str(plan.outline.paths[selected_row]): selected_row
        for selected_row in (row, *plan.outline.below(row))
    }
    if (
        step
        and step not in _OURS
        and not any(_has(plan, steps, step) for steps in _pipelines(plan, rows.values()))
    ):
        candidates = list(dict.fromkeys(_steps(plan, rows.values())))
        raise InputError(f"{subplan} has no step {step!r}{suggestion(step, candidates)}")
    return StepSelection(plan, rows, step, name)


def names(plan: Plan, beginning: str) -> Iterator[str]:
    """Yields completions of `ID[:STEP]`: subplans or, after a colon, the steps of the subplan."""
    subplan, colon, _ = beginning.partition(":")
    row = _row(plan, subplan) if colon else None
    if row is None:
        candidates: Iterable[str] = plan.outline.paths[ROOT + 1 :]
    else:
        candidates = [f"{subplan}:{step}" for step in _steps(plan, [row])]
    return islice((name for name in candidates if name.startswith(beginning)), MOST_NAMES)


def _row(plan: Plan, name: str) -> int | None:
    path = name if name == WHOLE else name.strip("/")
    rows = {WHOLE: ROOT} | {str(path): row for row, path in enumerate(plan.outline.paths) if path}
    return rows.get(path)


# --- steps ---


def _pipelines(plan: Plan, rows: Iterable[int]) -> Iterator[Steps]:
    """Yields the steps of each pipeline of these rows, each pipeline once."""
    pipelines = [plan.pipeline_of(row) for row in rows if plan.outline.is_leaf(row)]
    # Thousands of slices can share one pipeline object, so the identity removes the repetitions.
    for pipeline in {id(pipeline): pipeline for pipeline in pipelines}.values():
        yield pipeline.steps


def _has(plan: Plan, steps: Steps, name: str) -> bool:
    first, _, rest = name.partition(".")
    for step in steps:
        if step.id == first:
            return not rest or (
                isinstance(step.body, Nested) and _has(plan, plan.pipelines[step.body.pipeline].steps, rest)
            )
    return False


def _steps(plan: Plan, rows: Iterable[int]) -> Iterator[str]:
    """Yields the names of the steps; those in nested pipelines as `outer.inner`."""
    addresses = chain.from_iterable(_addresses(plan, steps, "") for steps in _pipelines(plan, rows))
    return islice(chain(addresses, _OURS), MOST_NAMES)


def _addresses(plan: Plan, steps: Steps, outer: str) -> Iterator[str]:
    for step in steps:
        yield outer + step.id
        if isinstance(step.body, Nested):
            yield from _addresses(plan, plan.pipelines[step.body.pipeline].steps, f"{outer}{step.id}.")
