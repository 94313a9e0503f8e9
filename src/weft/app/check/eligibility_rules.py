"""Decide which slices can start now, and why the others cannot, from the plan and its earlier runs.

A slice is complete if the next run of the plan would not repeat it. Its dependents need not wait until its result
has landed. If something cannot be read, each slice concerned is reported as unreadable; nothing is guessed.
"""

from collections.abc import Iterator, Mapping
from enum import StrEnum

from msgspec import Struct, field

from weft.plan.compile.plan_net import CompiledPlan
from weft.plan.model import Plan
from weft.plan.order.outline import ROOT
from weft.plan.report.waits import WaitingSlice, eligibility


class BlockKind(StrEnum):
    """The reason why a slice cannot start."""

    COMPLETE = "complete"
    UNMERGED = "unmerged"
    BLOCKED = "blocked"
    UNREADABLE = "unreadable"


class UnlandedResult(Struct, frozen=True, kw_only=True):
    """A result that has not landed."""

    path: str
    """The subplan that lands as a whole: the slice, or a group around it."""
    branch: str
    """The branch of the result."""
    command: str = ""
    """The command that lands or merges it; empty if only the next run of the plan can."""
    is_done: bool = True
    """Whether the subplan is complete; if not, it is held before its merge into its group."""
    is_group: bool = False

    @property
    def description(self) -> str:
        state = "complete, and has not landed" if self.is_done else "done, and is held before it is merged"
        advice = "it waits for the next run of the plan"
        if self.command:
            advice = f"to {'land' if self.is_done else 'merge'} it, type: {self.command}"
        return f"{state}; it is on {self.branch}; {advice}"


class Eligible(Struct, frozen=True):
    path: str
    after: tuple[str, ...] = ()
    """Its dependencies, which are all complete."""

    @property
    def reason(self) -> str:
        if not self.after:
            return "nothing it depends on"
        return f"all it depends on is complete: {', '.join(self.after)}"

    def to_json(self) -> dict[str, object]:
        return {"path": self.path, "reason": self.reason, "after": list(self.after)}


class Ineligible(Struct, frozen=True, kw_only=True):
    path: str
    kind: BlockKind
    run: str = ""
    """The run that has completed it."""
    unlanded: UnlandedResult | None = None
    waiting: WaitingSlice | None = None
    """The incomplete subplans that it waits for."""
    unread: str = ""
    """The source that could not be read, and the error."""

    @property
    def is_done(self) -> bool:
        """Whether the next run would not repeat it."""
        return self.kind is BlockKind.COMPLETE or (self.unlanded is not None and self.unlanded.is_done)

    @property
    def reason(self) -> str:
        if self.unlanded is not None:
            return f"unmerged: {self.unlanded.description}"
        if self.unread:
            return f"cannot read: {self.unread}"
        if self.waiting is not None:
            return self.waiting.reason
        return f"already complete: by run {self.run}, and the plan has not changed it since"

    def to_json(self) -> dict[str, object]:
        waiting, unlanded = self.waiting, self.unlanded
        return {
            "path": self.path,
            "kind": self.kind.value,
            "reason": self.reason,
            "blocked_by": [] if waiting is None else list(waiting.blocked_by),
            "apart_from": [] if waiting is None else list(waiting.apart_from),
            "run": self.run or None,
            "lands_with": None if unlanded is None else unlanded.path,
            "branch": None if unlanded is None else unlanded.branch,
            "command": None if unlanded is None else unlanded.command or None,
        }


class Eligibility(Struct, frozen=True, kw_only=True):
    """The slices that can start and those that cannot, each in plan order."""

    eligible: tuple[Eligible, ...]
    ineligible: tuple[Ineligible, ...]

    @property
    def is_known(self) -> bool:
        """Whether everything could be read."""
        return all(slice_.kind is not BlockKind.UNREADABLE for slice_ in self.ineligible)

    def to_json(self) -> dict[str, object]:
        return {
            "eligible": [slice_.to_json() for slice_ in self.eligible],
            "ineligible": [slice_.to_json() for slice_ in self.ineligible],
        }


class Facts(Struct, frozen=True, kw_only=True):
    """The results of earlier runs of a plan."""

    done: Mapping[str, str] = field(default_factory=dict[str, str])
    """Complete subplans, each with the run that completed it."""
    unlanded: Mapping[str, UnlandedResult] = field(default_factory=dict[str, UnlandedResult])
    """Unlanded results, by the path of the subplan that lands as a whole."""
    unread: Mapping[str, str] = field(default_factory=dict[str, str])
    """Subplans with unreadable results, and the reasons; the empty path is the whole plan."""


NOTHING_YET = Facts()


def judge(compiled: CompiledPlan, facts: Facts = NOTHING_YET) -> Eligibility:
    """Decides about each slice, in time linear in the size of the plan."""
    waits = {waiting.path: waiting for waiting in eligibility(compiled).ineligible}
    able: list[Eligible] = []
    unable: list[Ineligible] = []
    for path, lands_with in _slices(compiled.plan):
        # A done slice waits for nothing, whatever its dependencies are, so this is decided first.
        decision = _judge_settled(path, lands_with, facts) or _waiting(path, waits.get(path), facts)
        if isinstance(decision, Eligible):
            able.append(decision)
        else:
            unable.append(decision)
    return Eligibility(eligible=tuple(able), ineligible=tuple(unable))


def _slices(plan: Plan) -> Iterator[tuple[str, str]]:
    """Yields each slice with the subplan that lands as a whole: itself or the outermost group around it."""
    outline, outermost = plan.outline, ""
    for row, path in enumerate(outline.paths):
        # Rows are in plan order, a group before its parts, so the last row below the root is the one around
        # this slice.
        outermost = path if outline.parents[row] == ROOT else outermost
        if outline.leaves[row]:
            yield path, path if plan.scopes[row].settings.merge_when == "slice" else outermost


def _judge_settled(path: str, lands_with: str, facts: Facts) -> Ineligible | None:
    """Returns the decision for a slice that is complete, held or unreadable; None for any other."""
    is_done = path in facts.done
    # A complete slice is judged by the result that it lands with, any other by its own.
    reason = facts.unread.get("") or facts.unread.get(lands_with if is_done else path)
    if reason:
        return Ineligible(path=path, kind=BlockKind.UNREADABLE, unread=reason)
    # A slice that is held before its merge is not complete, but must not run again either.
    held = facts.unlanded.get(path)
    if held is not None and not held.is_done:
        return Ineligible(path=path, kind=BlockKind.UNMERGED, unlanded=held)
    if not is_done:
        return None
    unlanded = facts.unlanded.get(lands_with)
    kind = BlockKind.COMPLETE if unlanded is None else BlockKind.UNMERGED
    return Ineligible(path=path, kind=kind, run=facts.done[path], unlanded=unlanded)


def _waiting(path: str, waiting: WaitingSlice | None, facts: Facts) -> Eligible | Ineligible:
    if waiting is None:
        return Eligible(path)
    # Completed dependencies count, landed or not: the next run carries their results over.
    blocked = tuple(dependency for dependency in waiting.blocked_by if dependency not in facts.done)
    apart = tuple(dependency for dependency in waiting.apart_from if dependency not in facts.done)
    if not blocked and not apart:
        return Eligible(path, waiting.blocked_by)
    remaining = WaitingSlice(path=path, blocked_by=blocked, apart_from=apart)
    return Ineligible(path=path, kind=BlockKind.BLOCKED, waiting=remaining)
