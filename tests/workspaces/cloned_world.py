"""A world whose steps have clones, which they find by themselves."""

from collections.abc import Collection, Mapping
from pathlib import Path

from typing_extensions import override

from weft.workspaces.git.base.program import Git
from workspaces.landing_world import LandingWorld
from workspaces.worlds import GROUPS

SLICES = (
    *("a", "b", "e", "f", "left/a", "left/b", "right/c", "right/d"),
    *("group/a", "group/b", "group/c", "group/deep/a", "other/c", "other/x"),
)


class StepGit(Git):
    """git as a step types it: the file `.git` of the workspace says where its directory is."""

    def __init__(self, directory: Path, *, environ: Mapping[str, str]) -> None:
        super().__init__(directory, environ=environ, works=True)
        self._clone_git_dir = None
        for name in ("GIT_DIR", "GIT_WORK_TREE"):
            self._base_environ.pop(name, None)


class ClonedWorld(LandingWorld):
    def __init__(
        self, top: Path, *, groups: Collection[str] = GROUPS, environ: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(top, groups=groups, environ=environ, clones=SLICES)

    @override
    def at(self, path: str) -> Git:
        return StepGit(self.place(path), environ=self.environ)

    @override
    def everything(self) -> dict[str, object]:
        """Besides, what each slice has in its clone."""
        names = {path: path.replace("/", ".") for path in SLICES}
        places = {path: self.top / ".git" / "worktrees" / name / "weft-clone" for path, name in names.items()}
        clones = {path: place / "git" for path, place in places.items() if place.exists()}
        return {
            **super().everything(),
            **{f"clone of {path}": self._seen(path, clones[path]) for path in clones},
        }

    def _seen(self, path: str, clone: Path) -> list[str]:
        if not self.place(path).is_dir():
            return []
        env = {"GIT_DIR": str(clone), "GIT_WORK_TREE": str(self.place(path))}
        commands = (("rev-parse", "HEAD"), ("symbolic-ref", "--quiet", "HEAD"), ("status", "--porcelain"))
        return [
            (self.place(path) / ".git").read_text(),
            *(self.at(path).ask(*each, env=env).text for each in commands),
        ]
