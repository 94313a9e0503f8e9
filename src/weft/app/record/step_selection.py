"""What `ID[:STEP]` means to `weft logs`: subplans of a run, and the steps in them."""

import shlex
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice

from msgspec import Struct

from weft.engine.messages.events import Event
from weft.engine.states import SubplanTracker
from weft.errors import InputError
from weft.plan.model import Command, Nested, Plan, Step
from weft.plan.order.outline import ROOT
from weft.plan.text.problems import suggestion
from weft.runtime.jobs import LAND, MERGE, SETUP
from weft.runtime.lineage import Lineage

WHOLE = "/"
"""How the whole plan is named."""
VERIFIED = frozenset({MERGE, LAND})
"""What may come to a verify of what has come together."""
_OURS = (SETUP, "@verify", MERGE, LAND)
"""What Weft adds to the steps of a plan: the set-up of a workspace, the verify of a group, and merges."""
MOST_NAMES = 1_000
"""More than anybody chooses from; and nested pipelines may come to very many steps."""


Steps = tuple[Step, ...]


class StepSelection(Struct, frozen=True):
    plan: Plan
    rows: Mapping[str, int]
    """The rows of the plan that are meant, by path."""
    step: str
    """Empty: all of them."""
    typed: str
    """As it was named."""

    def has(self, event: Event) -> bool:
        if event.kind == "verify":
            return self.step in {"", LAND} and self.entry_of(event) is not None
        return event.subplan in self.rows and self.step in {"", event.step}

    def entry_of(self, event: Event) -> str | None:
        """The first of these subplans that a verify of the landing queue is for; the plan, if it is for none."""
        entries: Iterable[str] = event.data["entries"] or [""]
        return next((path for path in entries if path in self.rows), "" if "" in self.rows else None)

    def command(self, event: Event) -> str:
        """What was started with a step; empty if it is no process."""
        if event.step == SETUP or event.step in VERIFIED:
            return " && ".join(one if isinstance(one, str) else shlex.join(one) for one in self._ours(event))
        agent = event.data.get("agent")
        return f"agent {agent}" if agent else str(event.data.get("command", ""))

    def _ours(self, event: Event) -> tuple[Command, ...]:
        """The commands of a step that is none of the plan's own."""
        row = self.rows[event.subplan]
        setup = self.plan.scopes[row].settings.setup_commands
        if event.step == SETUP:
            return setup
        verify = Lineage(self.plan, SubplanTracker()).verify_of(row)
        return (*setup, *verify) if verify else ()


def chosen(plan: Plan, name: str) -> StepSelection:
    """`store/model`, `store/model:check`, `/` for the whole plan; a group stands for all that is in it."""
    subplan, _, step = name.partition(":")
    row = _row(plan, subplan)
    if row is None:
        known = [*plan.outline.paths[ROOT + 1 :], WHOLE]
        raise InputError(f"the plan has no subplan {subplan!r}{suggestion(subplan, known)}")
    rows = {str(plan.outline.paths[one]): one for one in (row, *plan.outline.below(row))}
    if (
        step
        and step not in _OURS
        and not any(_has(plan, steps, step) for steps in _pipelines(plan, rows.values()))
    ):
        known = list(dict.fromkeys(_steps(plan, rows.values())))
        raise InputError(f"{subplan} has no step {step!r}{suggestion(step, known)}")
    return StepSelection(plan, rows, step, name)


def names(plan: Plan, beginning: str) -> Iterator[str]:
    """What `ID[:STEP]` may be, for completion: subplans, and once one is named, its steps."""
    subplan, colon, _ = beginning.partition(":")
    row = _row(plan, subplan) if colon else None
    found = (
        plan.outline.paths[ROOT + 1 :] if row is None else [f"{subplan}:{one}" for one in _steps(plan, [row])]
    )
    return islice((one for one in found if one.startswith(beginning)), MOST_NAMES)


def _row(plan: Plan, name: str) -> int | None:
    path = name if name == WHOLE else name.strip("/")
    rows = {WHOLE: ROOT} | {str(path): row for row, path in enumerate(plan.outline.paths) if path}
    return rows.get(path)


# --- steps ---


def _pipelines(plan: Plan, rows: Iterable[int]) -> Iterator[Steps]:
    """Each once."""
    pipelines = [plan.pipeline_of(row) for row in rows if plan.outline.is_leaf(row)]
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
    """Their names as they are told: `outer.inner` in nested pipelines."""
    found = chain.from_iterable(_addresses(plan, steps, "") for steps in _pipelines(plan, rows))
    return islice(chain(found, _OURS), MOST_NAMES)


def _addresses(plan: Plan, steps: Steps, outer: str) -> Iterator[str]:
    for step in steps:
        yield outer + step.id
        if isinstance(step.body, Nested):
            yield from _addresses(plan, plan.pipelines[step.body.pipeline].steps, f"{outer}{step.id}.")
