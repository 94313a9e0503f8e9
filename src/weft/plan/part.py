"""A plan reduced to some of its subplans; what remains keeps everything that leads to its result."""

from msgspec.structs import replace

from weft.plan.model import Plan
from weft.plan.order.outline import ROOT
from weft.plan.order.selection import Selection, cut


def part_of(plan: Plan, selection: Selection) -> Plan:
    """Returns the plan with only the selected rows.

    A group with missing parts is not verified, because its commands may need them. The verify of the whole plan
    is about the target, and applies to whatever lands there.
    """
    rows = selection.rows
    lands = plan.scopes[ROOT].settings.has_branch
    # Without a branch, the plan's verify is about the merged directory, which is incomplete.
    parts = selection.parts - {ROOT} if lands else selection.parts
    # Everything else of a selected subplan stays, so that its digest is the same as in the whole plan.
    subplans = [
        replace(plan.subplans[row], verify=()) if row in parts else plan.subplans[row] for row in rows
    ]
    return replace(
        plan,
        subplans=tuple(subplans),
        outline=cut(plan.outline, rows),
        scopes=tuple(plan.scopes[row] for row in rows),
    )
