"""Commits of a step that enter the repository while the step still runs, so that people see them.

The branch of the clone is one small file. Its status says whether the branch has moved; only then is it read, and
what it names enters as any other foreign work. The step works on meanwhile, and may be hostile. So the limits are
tighter than at the end of the step, and what fails here is no error: the end of the step judges all of it again.

What the step checked out, its index and its log are left alone here. The note says which commits the branch of the
repository was moved to, before it moves: then the end of the step knows that no person has moved it.
"""

import os
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from msgspec.structs import replace

from weft.engine.messages.facts import RefMove
from weft.errors import WeftError
from weft.ports.workspaces import CLONE
from weft.safe_files import Tree
from weft.workspaces.git.base.refs import move, tips_of
from weft.workspaces.git.base.sparse import settings
from weft.workspaces.git.base.worktree_links import require_registered, text_of
from weft.workspaces.git.clones.clone import handed_in, note_handed, read_branch
from weft.workspaces.git.clones.foreign import WantedCommits, admit
from weft.workspaces.git.clones.loose_objects import IntakeLimits
from weft.workspaces.git.plan_repository import PlanRepository

LIMITS = IntakeLimits(
    objects=20_000,
    bytes_of_one=64 * 1024 * 1024,
    bytes_of_all=256 * 1024 * 1024,
    bytes_of_links=8 * 1024 * 1024,
    seconds=20.0,
)
"""More than that waits for the end of the step."""
_FAILURES = 3
"""After so many the step is left alone until the next one begins."""
_MOST = 1000
"""Commits of one step that the note has room for."""

_Mark = tuple[int, ...]


class EarlyCommits:
    """For each slice one thread at a time."""

    def __init__(self, plan_repository: PlanRepository, place: Callable[[str], Path | None]) -> None:
        """`place` gives the registration of a slice that has a clone."""
        self._repository = plan_repository
        self._place = place
        self._marks: dict[str, _Mark | None] = {}
        """Of the branches, as they were last looked at."""
        self._failures: Counter[str] = Counter()

    def begin(self, path: str) -> None:
        """Another step begins."""
        del self._failures[path]

    def take(self, path: str) -> None:
        """Lets what a step has committed on its branch into the repository, if that can be now."""
        if self._failures[path] >= _FAILURES:
            return
        try:
            git_dir = self._place(path)
            if git_dir is not None and self._has_moved(path, git_dir):
                self._take(path, git_dir)
        except (WeftError, OSError):
            self._failures[path] += 1

    def _has_moved(self, path: str, git_dir: Path) -> bool:
        mark = _mark_of(git_dir / CLONE / "git", self._repository.names.head(path))
        is_new = mark is not None and mark != self._marks.get(path)
        self._marks[path] = mark
        return is_new

    def _take(self, path: str, git_dir: Path) -> None:
        plan_repository, branch = self._repository, self._repository.names.head(path)
        worktree, common = plan_repository.worktree(path), plan_repository.repository.common
        require_registered(worktree, git_dir, common)
        handed = handed_in(git_dir)
        after = read_branch(git_dir / CLONE / "git", branch)
        tips = tips_of(plan_repository.git, branch, plan_repository.names.start(path), plan_repository.names.tip(path))
        now = tips.get(branch, "")
        if handed.state is None or after in {"", now} or len(handed.entered) >= _MOST:
            return
        if now not in {handed.state.branch, *handed.entered}:
            return  # somebody else has moved it
        complete = (*tips.values(), *handed.entered)
        if after not in complete:
            wanted = WantedCommits(commits=(after,), known=complete)
            admit(common, git_dir / CLONE / "git", wanted, limits=LIMITS)
        if after not in handed.entered:
            note_handed(git_dir, replace(handed, entered=(*handed.entered, after)))
        move(plan_repository.git, [RefMove(ref=branch, before=now, after=after)], reason=f"weft: {path} committed")
        if text_of(git_dir / "HEAD") == f"ref: {branch}":
            # People compare the files of the workspace with this index. If it fails, the end of the step does it.
            command = ("read-tree", "--reset", "HEAD")
            plan_repository.git.at(worktree).ask_within(LIMITS.seconds, *command, stdin=b"", env=settings(git_dir))


def _mark_of(place: Path, branch: str) -> _Mark | None:
    """What changes when a ref is written; None if it is in no file of its own."""
    above, _, name = branch.rpartition("/")
    with suppress(FileNotFoundError), Tree(place).folder(above) as folder:
        status = os.stat(name, dir_fd=folder.descriptor, follow_symlinks=False)
        return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
    return None
