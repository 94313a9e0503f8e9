"""Commits of a step that enter the repository while the step still runs, so that people see them.

The branch of the clone is one small file. Its stat result shows whether the branch may have moved. Only then does
Weft read it and admit the commit like any other foreign work. The step keeps running meanwhile and may be hostile.
The limits are therefore tighter than at the end of the step, and a failure here is no error: everything is checked
again at the end of the step.

HEAD, the index and the reflog of the clone stay untouched. The note lists the commits to which the repository's
branch moves, before it moves, so that the end of the step knows that no person has moved it.
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
from weft.workspaces.git.clones.clone import read_branch, read_exchange, write_exchange
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
"""Larger commits wait for the end of the step."""
_FAILURES = 3
"""After this many failures, the step is ignored until the next one starts."""
_MOST = 1000
"""The most commits of one step in the note."""

_Mark = tuple[int, ...]


class EarlyCommits:
    """Admits early commits. For each slice, only one thread may call it at a time."""

    def __init__(self, plan_repository: PlanRepository, place: Callable[[str], Path | None]) -> None:
        """`place` returns the registration of a slice that has a clone."""
        self._repository = plan_repository
        self._place = place
        self._marks: dict[str, _Mark | None] = {}
        """The stat results of the branch files at the last check."""
        self._failures: Counter[str] = Counter()

    def reset_failures(self, path: str) -> None:
        """Resets the failures when another step starts."""
        del self._failures[path]

    def take(self, path: str) -> None:
        """Admits the step's commits on its branch into the repository, if that is possible now."""
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
        # Stored even if the admission fails: a broken commit is tried again only when the step has written the
        # branch again.
        self._marks[path] = mark
        return is_new

    def _take(self, path: str, git_dir: Path) -> None:
        plan_repository, branch = self._repository, self._repository.names.head(path)
        worktree, common = plan_repository.worktree(path), plan_repository.repository.common
        require_registered(worktree, git_dir, common)
        exchange = read_exchange(git_dir)
        after = read_branch(git_dir / CLONE / "git", branch)
        tips = tips_of(
            plan_repository.git, branch, plan_repository.names.start(path), plan_repository.names.tip(path)
        )
        current = tips.get(branch, "")
        if exchange.state is None or after in {"", current} or len(exchange.entered) >= _MOST:
            return
        # The branch in the repository may only be where the last exchange, or an earlier call of this function,
        # put it.
        if current not in {exchange.state.branch, *exchange.entered}:
            return  # a person has moved the branch in the repository
        complete = (*tips.values(), *exchange.entered)
        if after not in complete:
            request = WantedCommits(commits=(after,), known=complete)
            admit(common, git_dir / CLONE / "git", request, limits=LIMITS)
        # The note comes before the move. In the other order a crash would leave a moved branch that the end of
        # the step takes for a person's move, and refuses.
        if after not in exchange.entered:
            write_exchange(git_dir, replace(exchange, entered=(*exchange.entered, after)))
        move(
            plan_repository.git,
            [RefMove(ref=branch, before=current, after=after)],
            reason=f"weft: {path} committed",
        )
        if text_of(git_dir / "HEAD") == f"ref: {branch}":
            # With this index, `git status` shows people the right differences. A failure is repaired at the step's
            # end.
            command = ("read-tree", "--reset", "HEAD")
            plan_repository.git.at(worktree).ask_within(
                LIMITS.seconds, *command, stdin=b"", env=settings(git_dir)
            )


def _mark_of(place: Path, branch: str) -> _Mark | None:
    """Returns values that change when a ref file is written; None if the ref has no file of its own."""
    above, _, name = branch.rpartition("/")
    with suppress(FileNotFoundError), Tree(place).folder(above) as folder:
        status = os.stat(name, dir_fd=folder.descriptor, follow_symlinks=False)
        return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
    return None
