"""Summary lines about subplans that their group left out because its verify fails with them."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator

from weft.app.views.rows import StepFailure
from weft.app.views.run_view import RunView
from weft.app.views.wording.words import few
from weft.workspaces.git.base.names import RefNames

Tail = Callable[[StepFailure | None], Iterable[str]]
"""The end of the output of a step."""


def left_out_slices(view: RunView) -> int:
    outline = view.outline
    return sum(sum(outline.leaves[row : row + outline.sizes[row]]) for row in _left_out(view))


def left_out_lines(view: RunView, tail: Tail) -> Iterator[str]:
    for group, rows in _by_group(view).items():
        # The subplans that a verify excludes share its message, so the first stands for all.
        reason = next(left_out.message for row in rows if (left_out := view.rows[row].left_out) is not None)
        yield f"{few([view.outline.paths[row] for row in rows])}: {reason}"
        yield from tail(view.row(group).trouble)
        yield f"  what was done is on {few([_branch(view, row) for row in rows])}"


def left_out_commands(view: RunView) -> Iterator[tuple[str, str]]:
    """Yields commands, each with what it does."""
    for group in _by_group(view):
        yield f"weft logs {group}", "shows all output of its verify"


def _left_out(view: RunView) -> list[int]:
    return [row for row in sorted(view.row_index.failed) if view.rows[row].left_out is not None]


def _by_group(view: RunView) -> dict[str, list[int]]:
    groups: defaultdict[str, list[int]] = defaultdict(list)
    for row in _left_out(view):
        left_out = view.rows[row].left_out
        if left_out is not None:
            groups[left_out.group].append(row)
    return groups


def _branch(view: RunView, row: int) -> str:
    prefix = view.plan.scopes[row].settings.branch_prefix
    return RefNames(view.plan.id, prefix).branch(view.outline.paths[row])
