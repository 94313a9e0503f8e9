"""A project whose commands run short of something, by real limits: of processes, files, disk, memory."""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

PLAN = """\
weft: 1
plan: tried
infra_retries: 1
merge: {mode: auto}
subplans:
  - {id: a, steps: [{id: x, run: "echo a > a"}, {id: y, run: "cat a > b"}]}
  - {id: c, depends_on: [a], steps: [{id: x, run: "cat b > c"}]}
"""
WEFT = (sys.executable, "-m", "weft")
FIRST_USER = 200_000
"""Far above the users of any machine. Each test process has its own: the limit counts all that a user runs."""
Done = subprocess.CompletedProcess[str]


class Project:
    def __init__(self, root: Path, isolation: str = "worktree") -> None:
        self.root = root
        self.root.mkdir(parents=True)
        self.env = {"PATH": os.environ["PATH"], "HOME": str(root.parent), "GIT_CONFIG_NOSYSTEM": "1"}
        self.env |= {name: value for name, value in os.environ.items() if name.startswith("COVERAGE")}
        for command in ("init -q -b main", "config user.name A", "config user.email a@b.c"):
            self.run("git", *command.split())
        (root.parent / ".gitconfig").write_text("[safe]\n\tdirectory = *\n")  # another user's, to root
        (root / ".git" / "info" / "exclude").write_text("/weft.yaml\n")
        self.run("git", "commit", "-q", "--allow-empty", "-m", "start")
        (root / "weft.yaml").write_text(f"{PLAN}isolation: {isolation}\n")

    def run(self, *command: str) -> Done:
        return subprocess.run(
            command, cwd=self.root, env=self.env, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            check=False, timeout=100,
        )  # fmt: skip

    def weft(self, *arguments: str, **limits: int) -> Done:
        """With limits as prlimit(1) has them: nofile, fsize, as."""
        values = [f"--{name}={number}" for name, number in limits.items()]
        return self.run("prlimit", *values, *WEFT, *arguments) if values else self.run(*WEFT, *arguments)

    def weft_as_another_user(self, *arguments: str, nproc: int) -> Done:
        """The number of processes is limited for users other than root only."""
        return self.run(*_another_user(self.root), "prlimit", f"--nproc={nproc}", *WEFT, *arguments)

    def is_whole(self) -> bool:
        """Everything has landed, and nothing else lies around."""
        files = {name: (self.root / name).read_text() for name in "abc" if (self.root / name).exists()}
        return files == dict.fromkeys("abc", "a\n") and self.run("git", "status", "--porcelain").stdout == ""


def _another_user(root: Path) -> tuple[str, ...]:
    """Root becomes another user, who may still read Python wherever it is; another user gets a user namespace."""
    if os.geteuid() != 0:
        return ("unshare", "--user", "--map-root-user")
    user = FIRST_USER + os.getpid()
    subprocess.run(["chown", "-R", f"{user}:{user}", str(root)], check=True)
    rights = "-all,+dac_override"
    return (
        "setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", f"--inh-caps={rights}",
        f"--ambient-caps={rights}", f"--bounding-set={rights}",
    )  # fmt: skip


def is_possible(*command: str) -> bool:
    """Whether the machine has the program and allows this."""
    if shutil.which(command[0]) is None:
        return False
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def with_disk(folder: Path, script: str, *, size: str) -> Done:
    """Runs a shell script in which `folder` is a small disk of its own, which is gone afterwards."""
    mount = f"mount -t tmpfs -o size={size} tmpfs {shlex.quote(str(folder))} && cd {shlex.quote(str(folder))}"
    user = () if os.geteuid() == 0 else ("--map-root-user",)
    return subprocess.run(
        ["unshare", "--mount", *user, "sh", "-c", f"{mount} && {script}"],
        env={**os.environ, "HOME": str(folder), "WEFT": shlex.join(WEFT), "GIT_CONFIG_NOSYSTEM": "1"},
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=100,
    )  # fmt: skip
