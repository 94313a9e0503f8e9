"""Files of different subplans that the repository's commits often change together."""

from collections.abc import Mapping
from pathlib import Path

from weft.plan.model import Plan
from weft.plan.report.companions import FilePair, owners
from weft.workspaces.git.base.discovery import repository_around

COMMITS = 1_000
"""Number of commits to read."""
LEAST = 3
"""Number of commits that must change both files of a pair; fewer may be chance."""
MOST_PAIRS = 10_000
_TWO = 2


def changed_together(plan: Plan, folder: Path, environ: Mapping[str, str]) -> list[FilePair]:
    """Returns pairs of files that subplans own; none without a repository. Runs git only if it can matter."""
    # Only subplans that declare `files` own any, and a pair needs two owners. Reading a thousand commits takes a
    # while.
    if sum(bool(subplan.files) for subplan in plan.subplans) < _TWO or repository_around(folder) is None:
        return []
    from weft.workspaces.git.base.history import changed_together as history  # noqa: PLC0415 - seldom needed
    from weft.workspaces.git.base.program import Git, GitError  # noqa: PLC0415 - seldom needed

    try:
        changes = history(Git(folder, environ=environ), "HEAD", commits=COMMITS)
    except (GitError, OSError):  # no commit yet, or no git: not a defect of the plan
        return []
    owned = owners(plan, changes.files)
    pairs = changes.pairs(owned, owned, least=LEAST)[:MOST_PAIRS]
    return [FilePair(pair.first, pair.second, pair.times) for pair in pairs]
