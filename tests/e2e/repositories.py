"""A project in a git repository, with a plan that uses worktrees, and queries of its git."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import sleep
from typing import Self

from e2e.projects import ENVIRON, Outcome, Project
from stored_events import StoredEvent
from weft.errors import InputError

WEFT = [sys.executable, "-m", "weft"]
MINE = {name: value for name, value in os.environ.items() if name.startswith("COVERAGE")}
GIT_ENVIRON = {**ENVIRON, "GIT_CONFIG_NOSYSTEM": "1"}
IDENTITY = "[user]\n\tname = Ada\n\temail = ada@example.org\n"
PLAN_FILES = "/weft.yaml\n/*.json\n"

Said = subprocess.CompletedProcess[str]


REMOVES = "weft: 1\nplan: tried\n"
"""The beginning of a plan whose worktrees go when their slices are merged, which is the default."""


class Repository(Project):
    """Its plan and scripts are not in the repository. `main` is checked out, with a commit of one file."""

    environ = GIT_ENVIRON
    head = "weft: 1\nplan: tried\nkeep_worktrees: always\n"
    """Most tests look at what is in the worktrees afterwards; others take `REMOVES`."""

    def __init__(self, root: Path, *, identity: str = IDENTITY) -> None:
        super().__init__(root)
        # Programs in `bin` there go before others.
        self.environ = {**GIT_ENVIRON, "PATH": f"{self.outside}/bin:{GIT_ENVIRON['PATH']}"}
        if not (root / ".git").exists():
            self.git("init", "--quiet", "--initial-branch=main")
            with (root / ".git" / "config").open("a") as config:
                config.write(identity)
            (root / ".git" / "info" / "exclude").write_text(PLAN_FILES)
            self.commit(README="hello\n")

    def plan(self, text: str, **files: str) -> Self:
        super().plan(text, **files)
        return self

    # --- git, as a person uses it ---

    def git(self, *command: str, at: Path | None = None) -> str:
        done = self.ask_git(*command, at=at)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip("\n")

    def ask_git(self, *command: str, at: Path | None = None) -> Said:
        return subprocess.run(
            ["git", *command],
            cwd=at or self.root,
            env=self.environ,
            capture_output=True,
            text=True,
            check=False,
        )

    def write(self, *, at: Path | None = None, **files: str) -> None:
        """`a__b` is the file `a.b`, `d___f` is `d/f`."""
        for name, content in files.items():
            file = (at or self.root) / name.replace("___", "/").replace("__", ".")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(content)

    def commit(self, *, at: Path | None = None, **files: str) -> str:
        """All that is there, with these files; the id of the commit."""
        self.write(at=at, **files)
        self.git("add", "--all", at=at)
        self.git(*AS_ADA, "commit", "--quiet", "--message", f"a person: {' '.join(files)}", at=at)
        return self.tip("HEAD", at=at)

    def resolve(self, subplan: str, other_side: str, /, **files: str) -> None:
        """Follows the message about a conflict: merges the other side in the worktree, fixes it, commits."""
        place = self.worktree(subplan)
        assert self.ask_git("merge", other_side, at=place).returncode == 1
        self.commit(at=place, **files)

    # --- names ---

    def branch(self, path: str) -> str:
        return f"weft/tried/{path.replace('/', '.') or '_plan'}"

    def worktree(self, path: str) -> Path:
        return self.root / ".weft" / "worktrees" / "tried" / path.replace("/", ".")

    # --- what is told ---

    def told(self, kind: str, subplan: str | None = None, step: str | None = None) -> list[StoredEvent]:
        """Works also while another process creates the journal."""
        try:
            return self.story().of(kind, subplan, step)
        except (InputError, IndexError):
            return []

    # --- what is in it ---

    def tip(self, name: str = "main", *, at: Path | None = None) -> str:
        return self.git("rev-parse", "--verify", f"{name}^{{commit}}", at=at)

    def files(self, name: str = "main") -> dict[str, str]:
        """All files of a commit, with their text."""
        listed = self.git("ls-tree", "-r", "-z", "--name-only", name).split("\0")
        return {path: self.git("show", f"{name}:{path}") for path in listed if path}

    def landed(self, name: str = "main") -> list[str]:
        """The subjects along the first parents, the oldest first, without the very first."""
        return self.git("log", "--first-parent", "--reverse", "--format=%s", name).splitlines()[1:]

    def trailers(self, name: str) -> dict[str, str]:
        text = self.git("log", "-1", "--format=%(trailers:only,unfold)", name)
        return dict(line.split(": ", 1) for line in text.splitlines())

    def commits(self) -> set[str]:
        """All that there are, reachable or not."""
        kinds = self.git("cat-file", "--batch-check", "--batch-all-objects").splitlines()
        return {line.split()[0] for line in kinds if line.split()[1] == "commit"}

    def works(self) -> set[str]:
        """Those that are no merges: merges are tried in memory, again and again."""
        return {
            commit
            for commit in self.commits()
            if len(self.git("log", "-1", "--format=%P", commit).split()) < MERGE
        }

    def reachable(self) -> set[str]:
        return set(self.git("rev-list", "--all").splitlines())

    def lost(self) -> list[str]:
        """The subjects of commits that no name leads to, and whose files no other commit has.

        Merges are no work of a step: they are tried in memory again and again. So are slices without others.
        """
        lines = set(self.git("log", "--all", "--format=%T").splitlines())
        missing = self.commits() - self.reachable()
        form = "--format=%(trailers:key=Weft-Without,valueonly,separator=)|%P|%T|%s"
        values = (self.git("log", "-1", form, commit).split("|", 3) for commit in missing)
        return [
            subject
            for without, parents, tree, subject in values
            if len(parents.split()) < MERGE and tree not in lines and not without
        ]

    def checkout(self) -> dict[str, bytes]:
        """What a person sees, byte for byte, and the index."""
        files = [file for file in self.root.rglob("*") if file.is_file() and not file.is_symlink()]
        mine = [file for file in files if file.relative_to(self.root).parts[0] not in {".git", ".weft"}]
        return {str(file.relative_to(self.root)): file.read_bytes() for file in mine} | {
            "the index": self.git("ls-files", "--stage").encode(),
            "the head": (self.root / ".git" / "HEAD").read_bytes(),
        }

    def is_whole(self) -> bool:
        """The checkout is at its commit, the repository is sound, and no lock is left."""
        assert self.git("status", "--porcelain") == ""
        self.git("fsck", "--strict", "--no-dangling")
        locks = [file.name for file in (self.root / ".git").rglob("*.lock")]
        return all(name.startswith("weft-") for name in locks)  # those are locked by the kernel, and stay

    # --- the command ---

    def weft(self, *arguments: str, at: Path | None = None) -> Said:
        return subprocess.run(
            [*WEFT, *arguments],
            cwd=at or self.root,
            env={**self.environ, **MINE},
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )

    @contextmanager
    def started(self, *arguments: str) -> Iterator["subprocess.Popen[str]"]:
        with subprocess.Popen(
            [*WEFT, *arguments],
            cwd=self.root,
            env={**self.environ, **MINE},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            try:
                yield process
            finally:
                process.kill()

    def wait_for(self, is_so: Callable[[], object], process: "subprocess.Popen[str]") -> None:
        """For what another process is about to do."""
        while not is_so():
            assert process.poll() is None
            sleep(0.02)


MERGE = 2
"""Parents."""
AS_ADA = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")


def merges(outcome: Outcome, what: str = "merged") -> list[tuple[str, str]]:
    """Returns subplan and step of each merge and landing with this outcome, in order."""
    return [(event.subplan, event.step) for event in outcome.of("merge") if event.outcome == what]


def merge_of(outcome: Outcome, what: str, subplan: str) -> StoredEvent:
    """Returns the last one of a subplan with this outcome."""
    return [event for event in outcome.of("merge", subplan) if event.outcome == what][-1]
