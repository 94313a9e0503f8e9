"""The sizes of the changes of many slices: two calls of git at most, however many slices there are.

The numbers are those of `weft diff`: between the commit that the branch of a slice started from and its tip.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from weft.app.isolation.plan_repository import names_of, repository_of
from weft.app.views.change_count import ChangeCount
from weft.errors import WeftError
from weft.plan.model import Plan
from weft.workspaces.git.base.program import Git
from weft.workspaces.git.base.refs import tips_of

_NONE = ChangeCount()


class Branch(Struct, frozen=True):
    """The two commits of a slice to compare."""

    path: str
    start: str
    head: str


def count_changes(
    plan: Plan, folder: Path, paths: Iterable[str], *, environ: Mapping[str, str] = os.environ
) -> dict[str, ChangeCount]:
    """Returns the changes of slices by path, without slices that have no branch.

    The mapping is empty if git cannot count: the numbers help the reader, and are never a reason to fail.
    """
    try:
        git, names = repository_of(plan, folder, environ).git, names_of(plan)
        refs = {path: (names.start(path), names.head(path)) for path in paths}
        tips = tips_of(git, *(ref for pair in refs.values() for ref in pair))
        branches = [
            Branch(path, tips[start], tips[head])
            for path, (start, head) in refs.items()
            if start in tips and head in tips
        ]
        return {branch.path: _NONE for branch in branches} | compare_branches(git, branches)
    except WeftError:
        return {}


def compare_branches(git: Git, branches: Sequence[Branch]) -> dict[str, ChangeCount]:
    """Returns the changes of slices that have changed anything, by path."""
    changed = [branch for branch in branches if branch.start != branch.head]
    if not changed:
        return {}
    # On a line of the input, commits after the first are compared with it as if they were its parents.
    pairs = "".join(f"{branch.head} {branch.start}\n" for branch in changed)
    fields = git.do(
        "diff-tree", "--stdin", "-r", "-z", "--numstat", "--no-renames", "--no-ext-diff", "--no-textconv",
        stdin=pairs.encode(),
    ).split(b"\0")[:-1]  # fmt: skip
    counts: dict[str, ChangeCount] = {}
    path, waiting = "", iter(changed)
    for field in fields:
        # The commit comes first, without tabs, and then its files. Git prints nothing about equal trees.
        if b"\t" not in field:
            path = next(branch.path for branch in waiting if branch.head.encode() == field)
            counts[path] = _NONE
        else:
            counts[path] = _add(counts[path], *field.split(b"\t", 2)[:2])
    return counts


def _add(count: ChangeCount, added: bytes, removed: bytes) -> ChangeCount:
    """Adds a file; git prints `-` as the number of lines of a binary file."""
    lines = [0 if number == b"-" else int(number) for number in (added, removed)]
    return ChangeCount(count.files + 1, count.added + lines[0], count.removed + lines[1])
