"""Projects under git for benchmarks: many files, and branches that change a few of them."""

import os
import subprocess
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from weft.app.project.places import Places
from weft.workspaces.git.base.names import RefNames
from weft.workspaces.git.base.program import Git
from weft.workspaces.git.base.repository import open_repository, resolve_ends
from weft.workspaces.git.plan_repository import PlanRepository
from weft.workspaces.worktrees import WorktreeWorkspaces

Files = Mapping[str, str]
MAIN = "refs/heads/main"

_MEMORY = "/dev/shm"
_FOLDERS = (20, 10)
"""At the top, and in each of these."""
_LINES = 40
_WHO = "committer Ada <ada@example.org> 1700000000 +0000"


class Project:
    """A repository with so many files, whose branch `main` is checked out. Nobody's configuration counts."""

    def __init__(self, top: Path, files: int) -> None:
        self.top = top
        self.paths = [_path(number) for number in range(files)]
        self._environ = _surroundings(top)
        top.mkdir(parents=True)
        self.git = Git(top, environ=self._environ)
        self.git.do("init", "--quiet", "--initial-branch=main")
        self._import(_commit(MAIN, {path: _text(path) for path in self.paths}))
        self.git.do("reset", "--quiet", "--hard")
        self._repository = open_repository(top, environ=self._environ)
        Places(top).make()

    @property
    def folder(self) -> str:
        """One of those that files are in."""
        return self.paths[0].rpartition("/")[0]

    def plain_git(self, *command: str) -> None:
        """As a person would type it."""
        subprocess.run(("git", *command), cwd=self.top, env=self._environ, check=True, capture_output=True)

    def workspaces(
        self, plan: str, *, target: str = "main", clones: Collection[str] = ()
    ) -> WorktreeWorkspaces:
        """As a run of a plan without groups has them; `clones`: slices whose steps have a clone."""
        place = self.top / ".weft" / "worktrees" / plan
        return WorktreeWorkspaces(
            PlanRepository(
                repository=self._repository,
                ends=resolve_ends(self._repository, base="main", target=target),
                names=RefNames(plan=plan),
                plan=plan,
                folder=lambda _, name: place / name,
                groups=frozenset({""}),
                clones=clones,
            )
        )

    # Branches

    def commits(self, refs: Mapping[str, Files]) -> list[str]:
        """One for each of these refs, upon `main`, with these files changed."""
        self._import([line for ref, files in refs.items() for line in _commit(ref, files, f"from {MAIN}^0")])
        return [self.git.line("rev-parse", ref) for ref in refs]

    def begun(self, names: RefNames, changes: Mapping[str, Files]) -> list[str]:
        """Branches of slices, as their steps leave them; where they are."""
        main = self.git.line("rev-parse", MAIN)
        tips = self.commits({names.head(path): files for path, files in changes.items()})
        ends = {"": main, **dict(zip(changes, tips, strict=True))}
        lines = [f"update {names.head('')} {main}"]
        for path, tip in ends.items():
            lines += [f"update {note} {main}" for note in (names.start(path), names.reported(path))]
            lines.append(f"update {names.tip(path)} {tip}")
        self.git.do("update-ref", "--stdin", stdin="\n".join((*lines, "")).encode())
        return tips

    def changed(self, path: str, how: str, *lines: int) -> str:
        """The text of a file with some of its lines changed."""
        return _text(path, dict.fromkeys(lines, how))

    def _import(self, lines: Sequence[str]) -> None:
        self.git.do("fast-import", "--quiet", "--force", stdin="\n".join((*lines, "")).encode())


@contextmanager
def project(files: int) -> Iterator[Project]:
    """In memory, where there is such a place, unless TMPDIR names another."""
    place = None if "TMPDIR" in os.environ or not os.access(_MEMORY, os.W_OK) else _MEMORY
    with TemporaryDirectory(prefix="weft-", dir=place) as parent:
        yield Project(Path(parent, "project"), files)


def _surroundings(home: Path) -> dict[str, str]:
    who = {"NAME": "Ada", "EMAIL": "ada@example.org"}
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        **{f"GIT_{role}_{part}": said for role in ("AUTHOR", "COMMITTER") for part, said in who.items()},
    }


def _path(number: int) -> str:
    outer, inner = _FOLDERS
    return f"part{number % outer:02}/module{number // outer % inner}/file{number // outer // inner:03}.py"


def _text(path: str, changed: Mapping[int, str] | None = None) -> str:
    """About 1.5 kB."""
    name, instead = path.replace("/", "_").removesuffix(".py"), changed or {}
    return "".join(f"    {instead.get(line, f'{name}_{line} = {line}')}\n" for line in range(_LINES))


def _commit(ref: str, files: Files, *after: str) -> list[str]:
    lines = [f"commit {ref}", _WHO, "data 4", "more", *after]
    for path, text in files.items():
        lines += [f"M 100644 inline {path}", f"data {len(text)}", text]
    return lines
