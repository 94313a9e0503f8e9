"""`weft run` whose git is killed with its locks taken: the next run completes, and no file of the user changes."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PLAN = """\
weft: 1
plan: tried
merge: {mode: auto}
subplans:
  - id: a
    steps: [{id: write, run: "mkdir -p made; for n in 1 2 3; do echo $n > made/$n; done; echo new > shared.txt"}]
  - id: b
    steps: [{id: write, run: "echo b > b.txt"}]
"""
GIT = """#!/bin/sh
for word in "$@"
do
  case "$word" in
    {command})
      count=$(ls {marks} | wc -l)
      if mkdir {marks}/$count 2> /dev/null && test $count = {earlier}
      then
        (ulimit -c 0; ulimit -f {blocks}; exec {git} "$@")
        kill -9 $PPID
        exit 1
      fi
      break;;
  esac
done
exec {git} "$@"
"""


class Project:
    def __init__(self, root: Path) -> None:
        self.root = root
        self.marks = root.parent / "marks"
        self.bin = root.parent / "bin"
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        self.env = {"PATH": path, "HOME": str(root.parent), "GIT_CONFIG_NOSYSTEM": "1"}

    def make(self) -> "Project":
        for folder in (self.root, self.marks, self.bin):
            folder.mkdir()
        self.git("init", "--quiet", "--initial-branch=main")
        self.git("config", "user.name", "Ada")
        self.git("config", "user.email", "ada@example.org")
        (self.root / "shared.txt").write_text("old\n")
        (self.root / "mine.txt").write_text("1\n")
        (self.root / "weft.yaml").write_text(PLAN)
        self.git("add", ".")
        self.git("commit", "--quiet", "--message=start")
        (self.root / "mine.txt").write_text("being written\n")
        (self.root / "untracked.txt").write_text("mine\n")
        return self

    def git(self, *command: str) -> str:
        done = subprocess.run(
            ["git", *command], cwd=self.root, env=self.env, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def weft(self, *, path: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "weft", "run"],
            cwd=self.root, env={**self.env, "PATH": path + self.env["PATH"]},
            capture_output=True, text=True, check=False, timeout=100,
        )  # fmt: skip

    def run_killed(self, command: str, number: int, blocks: int) -> None:
        """A run whose n-th git with this command is killed within, and the coordinator with it."""
        script = self.bin / "git"
        script.write_text(
            GIT.format(
                git=shutil.which("git"), command=command, marks=self.marks, earlier=number - 1, blocks=blocks
            )
        )
        script.chmod(0o755)
        assert self.weft(path=f"{self.bin}:").returncode == -9


@pytest.mark.parametrize(
    ("command", "number", "blocks"),
    [
        ("merge", 1, 0),  # in the first file of the user's checkout
        ("merge", 1, 1),  # in the index of the user's checkout
        ("update-ref", 1, 0),
        ("update-ref", 3, 0),
        ("worktree", 1, 0),
        ("read-tree", 1, 0),
    ],
)
def test_the_next_run_completes(tmp_path: Path, command: str, number: int, blocks: int) -> None:
    project = Project(tmp_path / "project").make()
    if command == "worktree":
        # Weft registers worktrees itself, unless a setting makes git write other files.
        project.git("config", "core.sharedRepository", "umask")
    project.run_killed(command, number, blocks)
    done = project.weft()
    assert done.returncode == 0, done.stdout + done.stderr
    assert project.git("status", "--porcelain") == " M mine.txt\n?? untracked.txt\n"
    assert (project.root / "mine.txt").read_text() == "being written\n"
    assert project.git("ls-files", "made", "b.txt") == "b.txt\nmade/1\nmade/2\nmade/3\n"
    assert (project.root / "shared.txt").read_text() == "new\n"
    own = {"weft-worktrees.lock", "weft-forward.lock"}
    assert {lock.name for lock in (project.root / ".git").rglob("*.lock")} <= own
