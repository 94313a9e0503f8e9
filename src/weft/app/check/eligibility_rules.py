"""Which slices can start now, and why the others cannot, by what the plan says and what has become of it before.

A slice is complete if the next run of the plan would not do it again. What depends on it need not wait until its
result has landed. Where something cannot be read, that is said of each slice that it is about; nothing is guessed.
"""

from collections.abc import Iterator, Mapping
from enum import StrEnum

from msgspec import Struct, field

from weft.plan.compile.plan_net import CompiledPlan
from weft.plan.model import Plan
from weft.plan.order.outline import ROOT
from weft.plan.report.waits import Waiting, eligibility


class BlockKind(StrEnum):
    """Why a slice cannot start."""

    COMPLETE = "complete"
    UNMERGED = "unmerged"
    BLOCKED = "blocked"
    UNREADABLE = "unreadable"


class UnlandedResult(Struct, frozen=True, kw_only=True):
    """A result that has not landed."""

    path: str
    """The subplan that lands as a whole: the slice, or a group around it."""
    branch: str
    """Where it is."""
    command: str = ""
    """What to type; empty if nothing but the next run of the plan helps."""
    is_done: bool = True
    """Whether the subplan is complete; if not, it is held before it is merged with what is around it."""
    is_group: bool = False

    @property
    def said(self) -> str:
        what = "complete, and has not landed" if self.is_done else "done, and is held before it is merged"
        then = "it waits for the next run of the plan"
        if self.command:
            then = f"to {'land' if self.is_done else 'merge'} it, type: {self.command}"
        return f"{what}; it is on {self.branch}; {then}"


class Eligible(Struct, frozen=True):
    path: str
    after: tuple[str, ...] = ()
    """What it depends on; all that is complete."""

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
    waiting: Waiting | None = None
    """What it waits for, and is not complete."""
    unread: str = ""
    """What could not be read."""

    @property
    def is_done(self) -> bool:
        """Whether the next run would not do it again."""
        return self.kind is BlockKind.COMPLETE or (self.unlanded is not None and self.unlanded.is_done)

    @property
    def reason(self) -> str:
        if self.unlanded is not None:
            return f"unmerged: {self.unlanded.said}"
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
    """Of each slice, in plan order."""

    eligible: tuple[Eligible, ...]
    ineligible: tuple[Ineligible, ...]

    @property
    def is_known(self) -> bool:
        """Whether all could be read that had to be."""
        return all(one.kind is not BlockKind.UNREADABLE for one in self.ineligible)

    def to_json(self) -> dict[str, object]:
        return {
            "eligible": [one.to_json() for one in self.eligible],
            "ineligible": [one.to_json() for one in self.ineligible],
        }


class Facts(Struct, frozen=True, kw_only=True):
    """What has become of a plan before."""

    done: Mapping[str, str] = field(default_factory=dict[str, str])
    """Subplans that are complete, and the run that has done each."""
    unlanded: Mapping[str, UnlandedResult] = field(default_factory=dict[str, UnlandedResult])
    """By the path of what lands as a whole."""
    unread: Mapping[str, str] = field(default_factory=dict[str, str])
    """Subplans of which something cannot be read, and why; the empty path is the whole plan."""


NOTHING_YET = Facts()


def judge(compiled: CompiledPlan, facts: Facts = NOTHING_YET) -> Eligibility:
    """In time that grows with the plan."""
    waits = {one.path: one for one in eligibility(compiled).ineligible}
    able: list[Eligible] = []
    unable: list[Ineligible] = []
    for path, lands_with in _slices(compiled.plan):
        one = _settled(path, lands_with, facts) or _waiting(path, waits.get(path), facts)
        if isinstance(one, Eligible):
            able.append(one)
        else:
            unable.append(one)
    return Eligibility(eligible=tuple(able), ineligible=tuple(unable))


def _slices(plan: Plan) -> Iterator[tuple[str, str]]:
    """Each with what lands as a whole, itself or the outermost group around it."""
    outline, outermost = plan.outline, ""
    for row, path in enumerate(outline.paths):
        outermost = path if outline.parents[row] == ROOT else outermost
        if outline.leaves[row]:
            yield path, path if plan.scopes[row].settings.merge_when == "slice" else outermost


def _settled(path: str, lands_with: str, facts: Facts) -> Ineligible | None:
    """A slice that is not to be done, or of which that cannot be told; None for any other."""
    is_done = path in facts.done
    why = facts.unread.get("") or facts.unread.get(lands_with if is_done else path)
    if why:
        return Ineligible(path=path, kind=BlockKind.UNREADABLE, unread=why)
    held = facts.unlanded.get(path)
    if held is not None and not held.is_done:
        return Ineligible(path=path, kind=BlockKind.UNMERGED, unlanded=held)
    if not is_done:
        return None
    unlanded = facts.unlanded.get(lands_with)
    kind = BlockKind.COMPLETE if unlanded is None else BlockKind.UNMERGED
    return Ineligible(path=path, kind=kind, run=facts.done[path], unlanded=unlanded)


def _waiting(path: str, waiting: Waiting | None, facts: Facts) -> Eligible | Ineligible:
    if waiting is None:
        return Eligible(path)
    blocked = tuple(one for one in waiting.blocked_by if one not in facts.done)
    apart = tuple(one for one in waiting.apart_from if one not in facts.done)
    if not blocked and not apart:
        return Eligible(path, waiting.blocked_by)
    left = Waiting(path=path, blocked_by=blocked, apart_from=apart)
    return Ineligible(path=path, kind=BlockKind.BLOCKED, waiting=left)
