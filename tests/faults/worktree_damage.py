"""Damages the files by which git knows a worktree of a slice, one by one, and runs the plan again.

The run must continue, or say what to type. Never may it end with a traceback, nor lose a commit or a file of the
slice.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

PLAN = """\
weft: 1
plan: tried
merge: {mode: confirm}
subplans:
  - id: a
    steps:
      - {id: first, run: "echo one > one.txt"}
      - {id: second, run: "echo draft > draft.txt; test -e $GATE"}
"""
BUG = 70
KINDS = ("missing", "empty", "garbage", "truncated", "directory")


class Place:
    """A repository in which slice `a` has failed after its first commit."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.gate = root.parent / f"{root.name}.gate"
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        self.env = {
            "PATH": path,
            "HOME": str(root.parent),
            "GATE": str(self.gate),
            "GIT_CONFIG_NOSYSTEM": "1",
        }

    def make(self) -> "Place":
        self.root.mkdir(parents=True)
        self.git("init", "--quiet", "--initial-branch=main")
        self.git("config", "user.name", "Ada")
        self.git("config", "user.email", "ada@example.org")
        (self.root / ".git" / "info" / "exclude").write_text("/weft.yaml\n")
        self.git("commit", "--quiet", "--allow-empty", "--message=start")
        (self.root / "weft.yaml").write_text(PLAN.replace("$GATE", str(self.gate)))
        assert self.weft("run").returncode == 1
        return self

    def copied_to(self, root: Path) -> "Place":
        """With the paths that lead to the original."""
        shutil.copytree(self.root, root, symlinks=True, ignore=shutil.ignore_patterns("host"))
        copy = Place(root)
        for file in (copy.entry / "gitdir", copy.worktree / ".git", root / "weft.yaml"):
            file.write_text(file.read_text().replace(str(self.root), str(root)))
        return copy

    @property
    def worktree(self) -> Path:
        return self.root / ".weft" / "worktrees" / "tried" / "a"

    @property
    def entry(self) -> Path:
        (entry,) = (self.root / ".git" / "worktrees").glob("a*")
        return entry

    def files(self) -> list[Path]:
        paths = [file for file in sorted(self.entry.rglob("*")) if file.is_file()]
        return [self.worktree / ".git", *paths]

    def git(self, *command: str) -> str:
        done = subprocess.run(
            ["git", *command], cwd=self.root, env=self.env, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def reachable(self) -> list[str]:
        """The commits that refs lead to."""
        refs = self.git("for-each-ref", "--format=%(refname)").split()
        return self.git("rev-list", *refs).splitlines()

    def weft(self, *command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "weft", *command],
            cwd=self.root, env=self.env, capture_output=True, text=True, check=False, timeout=120,
        )  # fmt: skip


def damage(file: Path, kind: str) -> None:
    data = file.read_bytes()
    file.unlink()
    match kind:
        case "empty":
            file.write_bytes(b"")
        case "garbage":
            file.write_bytes(b"\xff\x00 odd line\nanother\n" * 3)
        case "truncated":
            file.write_bytes(data[: len(data) // 2])
        case "directory":
            file.mkdir()
        case _:
            pass


def trials(place: Place) -> Iterator[tuple[str, str]]:
    for file in place.files():
        base = place.worktree if file.is_relative_to(place.worktree) else place.entry
        for kind in KINDS:
            yield str(file.relative_to(base)), kind


def trial(original: Place, folder: Path, name: str, kind: str, *, must_overcome: bool = False) -> list[str]:
    """What was violated; `must_overcome`: whether it is not enough that the run says what to do."""
    place = original.copied_to(folder / f"{name.replace('/', '.')}-{kind}")
    commits = place.git("rev-list", "refs/heads/weft/tried/a").splitlines()
    damage((place.worktree if name == ".git" else place.entry) / name, kind)
    done = place.weft("run")
    text = done.stdout + done.stderr
    problems = []
    if done.returncode == BUG or "Traceback" in text:
        problems.append(f"exit {done.returncode}: {text[-1500:]}")
    if "second" in text and "done" not in text and not _says_what_to_do(text):
        problems.append(f"stuck without a word: {text[-1500:]}")
    reachable = place.reachable()
    problems += [f"commit {commit} is lost" for commit in commits if commit not in reachable]
    if not list(place.root.glob(".weft/**/draft.txt")):
        problems.append("the draft is lost")
    place.gate.touch()
    again = place.weft("run")
    is_overcome = again.returncode in {0, 4}
    if not is_overcome and (must_overcome or not _says_what_to_do(again.stdout + again.stderr)):
        problems.append(f"weft run exits with {again.returncode}: {(again.stdout + again.stderr)[-1500:]}")
    return [f"{name} {kind}: {problem}" for problem in problems]


def _says_what_to_do(said: str) -> bool:
    return any(words in said for words in ("type `", "type: ", "move it away", "put it back"))
