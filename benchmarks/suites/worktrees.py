"""Worktrees and branches of slices: what is done once for each slice, or after each step."""

from contextlib import ExitStack
from itertools import count as counter

from benchmarks.compare.landing import Landing, Overlapping
from benchmarks.compare.processes import Cost
from benchmarks.compare.worktrees import Making
from benchmarks.repositories import Project, project
from weft.ports.workspaces import StepWork, WorkspaceRequest

SIZES = (40, 4_000)


class _InAProject:
    params: tuple[int, ...] = SIZES
    param_names: tuple[str, ...] = ("files",)
    timeout = 600

    def setup(self, files: int) -> None:
        self.left = ExitStack()
        self.project: Project = self.left.enter_context(project(files))

    def teardown(self, *_: object) -> None:
        self.left.close()


class Worktrees(_InAProject):
    """Made and proven."""

    def setup(self, files: int) -> None:
        super().setup(files)
        self.making = Making(self.project)

    def track_seconds(self, *_: object) -> float:
        return self.making.ours().wall

    track_seconds.unit = "s"  # type: ignore[attr-defined]

    def track_seconds_of_one_directory(self, *_: object) -> float:
        return self.making.ours(self.project.folder).wall

    track_seconds_of_one_directory.unit = "s"  # type: ignore[attr-defined]


class Steps(_InAProject):
    """What comes before a step that changes a file, and what comes after it."""

    number = 1
    warmup_time = 0.0

    def setup(self, files: int) -> None:
        super().setup(files)
        self.workspaces = self.project.workspaces("steps")
        self.workspaces.prepare(WorkspaceRequest(path="s"))
        self.attempts = counter(1)

    def time_proven(self, *_: object) -> bool:
        self.workspaces.prove("s")
        return True

    def time_recorded(self, *_: object) -> object:
        attempt = next(self.attempts)
        (self.workspaces.place("s") / "new.py").write_text(f"# {attempt}\n")
        return self.workspaces.record(StepWork(path="s", step="t", attempt=attempt, subject="more"))


class Branches(_InAProject):
    """Ten that land, and four that are looked at for conflicts."""

    def track_seconds_landed(self, *_: object) -> float:
        return Landing(self.project, 10).ours(checked_out=False).wall

    track_seconds_landed.unit = "s"  # type: ignore[attr-defined]

    def track_seconds_landed_in_a_checkout(self, *_: object) -> float:
        return Landing(self.project, 10).ours(checked_out=True).wall

    track_seconds_landed_in_a_checkout.unit = "s"  # type: ignore[attr-defined]

    def track_seconds_of_cpu_foreseen(self, *_: object) -> float:
        cost: Cost = Overlapping(self.project, 4, common=2).round()
        return cost.cpu

    track_seconds_of_cpu_foreseen.unit = "s"  # type: ignore[attr-defined]
