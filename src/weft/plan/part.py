"""A plan with only some of its subplans: what is left is the same in all that leads to its result."""

from msgspec.structs import replace

from weft.plan.model import Plan
from weft.plan.order.outline import ROOT
from weft.plan.order.selection import Selection, cut


def part_of(plan: Plan, selection: Selection) -> Plan:
    """A group that is there in part is not verified: what its commands expect may not be there.

    The verify of the whole plan is about the target, and applies to whatever lands there.
    """
    rows = selection.rows
    lands = plan.scopes[ROOT].settings.has_branch
    parts = selection.parts - {ROOT} if lands else selection.parts
    subplans = [
        replace(plan.subplans[row], verify=()) if row in parts else plan.subplans[row] for row in rows
    ]
    return replace(
        plan,
        subplans=tuple(subplans),
        outline=cut(plan.outline, rows),
        scopes=tuple(plan.scopes[row] for row in rows),
    )
