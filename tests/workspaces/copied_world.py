"""Worktrees with copies on another machine, which is a directory here. Calls go straight to the far code."""

import os
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from weft.hosts.far.errors import FarProblemError
from weft.hosts.far.workspaces import FarWorkspaces
from weft.ports.machines import FarError, Reply, StaleTokenError, UnreachableError
from weft.ports.workspaces import PlacedSlice
from weft.workspaces.git.copies.exchange import WorktreeCopies
from workspaces.git.repositories import surroundings
from workspaces.trees import Tree, put
from workspaces.worlds import World


class DirectCalls:
    """Calls without a carrier. `cut` makes the n-th call from now on fail, before or after it has happened."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.made: list[str] = []
        self._cut: tuple[int, bool] | None = None

    def cut(self, number: int, *, after: bool) -> None:
        self._cut = (len(self.made) + number, after)

    def call(
        self,
        host: str,
        subplan: str,
        operation: str,
        arguments: Mapping[str, object],
        payload: Path | bytes = b"",
        *,
        into: Path | None = None,
        machine: str = "",
    ) -> Reply:
        assert host
        assert into is None
        assert machine or subplan == arguments["path"]
        self.made.append(operation)
        is_cut = self._cut is not None and len(self.made) == self._cut[0]
        if is_cut and self._cut == (len(self.made), False):
            raise UnreachableError("cut before the call")
        reply = self._answer(operation, dict(arguments), payload)
        if is_cut:
            raise UnreachableError("cut after the call")
        return reply

    def _answer(self, operation: str, arguments: dict[str, object], payload: Path | bytes) -> Reply:
        self.directory.mkdir(exist_ok=True)
        with tempfile.NamedTemporaryFile() as file:
            if isinstance(payload, bytes):
                file.write(payload)
                file.flush()
            place = payload if isinstance(payload, Path) else Path(file.name)
            try:
                data, out = FarWorkspaces(self.directory).operations()[operation](arguments, place)
            except FarProblemError as error:
                kind = StaleTokenError if error.kind == "stale" else FarError
                raise kind(str(error)) from error
        if out is None:
            return Reply(data)
        content = out.read_bytes()
        out.unlink()
        return Reply(data, content)


class CopiedWorld(World):
    """A world whose slices work on another machine."""

    def __init__(self, top: Path, *, token: str = "r.1.1") -> None:
        super().__init__(top)
        self.calls = DirectCalls(top.parent / "far")
        locks = self.workspaces.locks
        self.copies = WorktreeCopies(self.ground, self.calls, run="r", project="p", fetch={}, locks=locks)
        self.token = token

    def placed(self, path: str) -> PlacedSlice:
        return PlacedSlice(path=path, host="near", token=self.token)

    def copy(self, path: str) -> Path:
        """The directory of a slice on the other machine."""
        return self.calls.directory / "runs" / "r" / "files" / path.replace("/", ".")

    def send(self, path: str) -> bool:
        return self.copies.send(self.placed(path))

    def fetch(self, path: str) -> None:
        self.copies.fetch(self.placed(path))

    def begin(self, path: str) -> None:
        self.prepare(path)
        self.workspaces.prove(path)
        self.send(path)

    def far_step(self, path: str, edits: Tree | Callable[[Path], object], *, step: str = "code") -> None:
        """A step on the other machine, from its start to its record."""
        self.workspaces.prove(path)
        self.send(path)
        if callable(edits):
            edits(self.copy(path))
        else:
            put(self.copy(path), edits)
        self.fetch(path)
        self.record(path, step=step)

    def far_git(self, path: str, *command: str) -> str:
        """git as a step types it there."""
        environ = {**surroundings(self.top.parent), "GIT_EDITOR": "true", "PATH": os.environ["PATH"]}
        done = subprocess.run(
            ("git", *command), cwd=self.copy(path), env=environ, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    def far_commit(self, path: str, files: Tree, message: str = "by the agent") -> str:
        put(self.copy(path), files)
        self.far_git(path, "add", "--all")
        self.far_git(path, "commit", "--quiet", "--message", message)
        return self.far_git(path, "rev-parse", "HEAD")
