"""Workspaces whose steps have a clone, beside plain worktrees, in a repository of 20,000 files."""

import os
import subprocess
from itertools import count as counter
from pathlib import Path

from benchmarks.compare.measuring import Sizes
from benchmarks.compare.processes import Cost, median_costs
from benchmarks.compare.table import Row, at_most
from benchmarks.compare.worktrees import Making, files_of, spent
from benchmarks.repositories import Project, project
from weft.ports.workspaces import WorkspaceRequest
from weft.workspaces.git.clones.foreign import WantedCommits, admit

_IDENTITY = ("-c", "user.name=A", "-c", "user.email=a@example.org")


class Entering:
    """Commits of one file, each of which enters the repository."""

    def __init__(self, one: Project) -> None:
        self._common = one.top / ".git"
        self._git = one.git.working()  # it may reach what is on this machine
        workspaces = one.workspaces("entering", clones=("a",))
        workspaces.prepare(WorkspaceRequest(path="a"))
        self._place = workspaces.place("a")
        link = (self._place / ".git").read_text().removeprefix("gitdir: ").rstrip("\n")
        self._clone = Path(link) / "weft-clone" / "git"
        self._files = counter()

    def ours(self) -> Cost:
        before, made = self._committed()
        wanted = WantedCommits(commits=(made,), known=(before,))
        return spent(lambda: admit(self._common, self._clone, wanted))

    def by_git(self) -> Cost:
        """A fetch with the same checks."""
        _, made = self._committed()
        command = ("-c", "transfer.fsckObjects=true", "fetch", "--quiet", "--no-tags", str(self._clone), made)
        return spent(lambda: self._git.do(*command))

    def _committed(self) -> tuple[str, str]:
        before = self._step("rev-parse", "HEAD")
        (self._place / f"new{next(self._files)}").write_text("new\n")
        self._step("add", "--all")
        self._step(*_IDENTITY, "commit", "--quiet", "--message", "more")
        return before, self._step("rev-parse", "HEAD")

    def _step(self, *command: str) -> str:
        env = {**os.environ, "GIT_DIR": str(self._clone), "GIT_WORK_TREE": str(self._place)}
        done = subprocess.run(
            ("git", *command), cwd=self._place, env=env, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()


def beside_worktrees(sizes: Sizes) -> list[Row]:
    with project(files_of(sizes)) as one:
        plain, cloned = Making(one), Making(one, plan="clones", with_clones=True)
        worktree, clone = median_costs(sizes(9, 1), plain.ours, cloned.ours)
        entering = Entering(one)
        ours, git = median_costs(sizes(15, 1), entering.ours, entering.by_git)
    return [
        Row(name=f"a workspace with a clone of {len(one.paths):,} files beside a worktree: wall",
            figure=clone.wall / worktree.wall, bar=at_most(1.3),
            ours=f"{clone.wall:.2f} s", beside=f"{worktree.wall:.2f} s"),
        Row(name="the same: CPU", figure=clone.cpu / worktree.cpu, bar=None,
            ours=f"{clone.cpu:.2f} s", beside=f"{worktree.cpu:.2f} s"),
        Row(name="a commit that enters the repository: wall", figure=1e3 * ours.wall, bar=at_most(50, "ms"),
            ours=f"{1e3 * ours.wall:.0f} ms, {1e3 * ours.cpu:.0f} ms of CPU"),
        Row(name="the same beside `git fetch` with fsckObjects: wall", figure=ours.wall / git.wall,
            bar=at_most(1.2), ours=f"{1e3 * ours.wall:.0f} ms", beside=f"{1e3 * git.wall:.0f} ms"),
    ]  # fmt: skip
