"""The workspaces of slices on this machine: copies of worktrees that are on the coordinator's machine.

A workspace has a git directory of its own, which borrows the objects of one repository per project. Nothing is
registered anywhere, so removing a workspace removes two directories.

    repositories/PROJECT.git    objects that have arrived, and a ref for each commit that is complete
    runs/RUN/files/NAME         the files of a slice
    runs/RUN/git/NAME           its git directory

An exchange is about two commits. The *head* is the commit that the branch is at. The *state* holds all files that
git does not ignore, uncommitted ones included; it is the head itself if nothing is uncommitted. `put` brings the
workspace to a head and a state, `take` returns those that it has now. Both can be repeated at any time.

A workspace belongs to a token. An operation with another token is refused, and a new token sets a workspace aside
instead of reusing it, because its contents may be the work of an attempt that counts as lost.
"""

import os
import shutil
import tarfile
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from weft.safe_files import Tree

from .errors import FarProblemError
from .git import run_git
from .workspace import COPIED, FarWorkspace, read_state

_SMALL_PACK = 1 << 20
"""Bytes up to which a pack is unpacked: many small packs slow git down."""
_HAVES = 256
"""How many of the newest commits are named to the coordinator, which sends what is missing."""
_LONGEST_FETCH = 600.0

Arguments = Mapping[str, Any]
Answer = tuple[dict[str, Any], Path | None]
"""The data of an answer, and the file with its payload, which the caller removes."""
Operation = Callable[[Arguments, Path | None], Answer]


class FarWorkspaces:
    """All workspaces below one directory."""

    def __init__(self, directory: Path, run: Path | None = None) -> None:
        """`run`: the directory of the only run; None for one below `directory` for each run."""
        self._directory = directory
        self._run_directory = run

    def operations(self) -> dict[str, Operation]:
        """Returns the operations by the names of their calls."""
        return {
            "work.have": self._have,
            "work.put": self._put,
            "work.files": self._files,
            "work.accept": self._accept,
            "work.take": self._take,
            "work.remove": self._remove,
            "work.list": self._list,
        }

    # The repository of a project

    def _ensure_repository(self, arguments: Arguments) -> Path:
        repository = self._directory / "repositories" / f"{_name(arguments['project'])}.git"
        if not repository.is_dir():
            repository.parent.mkdir(parents=True, exist_ok=True)
            aside = Path(tempfile.mkdtemp(prefix="new-", dir=repository.parent))
            run_git(["init", "--quiet", "--bare", f"--object-format={arguments['format']}", str(aside)])
            run_git(["--git-dir", str(aside), "config", "gc.auto", "0"])
            with suppress(OSError):  # another operation was faster
                aside.rename(repository)
            shutil.rmtree(aside, ignore_errors=True)
        return repository

    def _have(self, arguments: Arguments, payload: Path | None) -> Answer:
        """Returns commits that are here with all that they lead to, the newest first."""
        del payload
        repository = self._ensure_repository(arguments)
        if arguments.get("fetch"):
            _fetch(repository, str(arguments["fetch"]))
        command = ("for-each-ref", "--sort=-creatordate", f"--count={_HAVES}", "--format=%(objectname)")
        return {"commits": run_git(["--git-dir", str(repository), *command]).split()}, None

    # A workspace

    def _workspace(self, arguments: Arguments) -> FarWorkspace:
        return FarWorkspace(
            self._run(arguments),
            path=str(arguments["path"]),
            name=_name(arguments["name"]),
            token=_name(arguments["token"]),
        )

    def _run(self, arguments: Arguments) -> Path:
        return self._run_directory or self._directory / "runs" / _name(arguments["run"])

    def _put(self, arguments: Arguments, payload: Path | None) -> Answer:
        """Brings a workspace to a head and a state; the payload is a pack with what may be missing here.

        The answer is `missing` if commits are still missing: the coordinator then sends a complete pack.
        """
        repository = self._ensure_repository(arguments)
        head, state = str(arguments["head"]), str(arguments["state"])
        commits = tuple(dict.fromkeys((head, state)))
        if payload is not None and payload.stat().st_size:
            is_complete = _receive(repository, payload, commits)
        else:
            is_complete = _are_complete(repository, commits)
        if not is_complete:
            return {"missing": True}, None
        workspace = self._workspace(arguments)
        stale = workspace.set_aside_if_stale()
        is_fresh = not workspace.exists
        if is_fresh:
            workspace.make(repository, arguments)
        workspace.bring_to(str(arguments["ref"]), head, state)
        place = str(workspace.place)
        return {"fresh": is_fresh, "ready": workspace.is_ready, "place": place, "stale": stale}, None

    def _files(self, arguments: Arguments, payload: Path | None) -> Answer:
        """Unpacks files that are in no commit and no work of the slice."""
        workspace = self._workspace(arguments)
        workspace.require()
        assert payload is not None
        with tarfile.open(payload) as archive:
            # The list comes first: a file that is there and not listed would count as work.
            workspace.exclude(COPIED, archive.getnames())
            tree = Tree(str(workspace.place))
            for member in archive:
                _unpack(archive, member, tree)
        return {}, None

    def _accept(self, arguments: Arguments, payload: Path | None) -> Answer:
        del payload
        workspace = self._workspace(arguments)
        workspace.require()
        workspace.accept()
        return {}, None

    def _take(self, arguments: Arguments, payload: Path | None) -> Answer:
        """Returns the present head and state, with a pack of what the commits in `have` do not lead to."""
        del payload
        workspace = self._workspace(arguments)
        workspace.require()
        snapshot = workspace.snapshot()
        have = [str(commit) for commit in arguments["have"]]
        commits = dict.fromkeys((snapshot["head"], snapshot["state"], *snapshot["undone"]))
        new = [commit for commit in commits if commit and commit not in have]
        if not new:
            return snapshot, None
        pack = workspace.pack(new, have)
        # The next exchange builds on these commits, and another slice may, too.
        _receive(self._ensure_repository(arguments), pack, new)
        return snapshot, pack

    def _remove(self, arguments: Arguments, payload: Path | None) -> Answer:
        """Removes a workspace, or everything of a run if no path is named."""
        del payload
        if "path" in arguments:
            self._workspace(arguments).remove()
        else:
            for part in ("files", "git"):
                shutil.rmtree(self._run(arguments) / part, ignore_errors=True)
        return {}, None

    def _list(self, arguments: Arguments, payload: Path | None) -> Answer:
        """Returns the workspaces of a run, each with its token."""
        del payload
        folders = sorted((self._run(arguments) / "git").glob("*"))
        states = [(folder.name, read_state(folder)) for folder in folders]
        workspaces = [
            {"name": name, "path": state["path"], "token": state["token"]} for name, state in states if state
        ]
        return {"workspaces": workspaces}, None


def _unpack(archive: tarfile.TarFile, member: tarfile.TarInfo, tree: Tree) -> None:
    """Creates a file of an archive. Python's own way to do that safely is missing in some versions of 3.11."""
    content = archive.extractfile(member)
    if content is None:  # no file
        return
    descriptor = tree.create(member.name, make=True)
    with content, os.fdopen(descriptor, "wb") as target:
        shutil.copyfileobj(content, target)
        os.fchmod(target.fileno(), member.mode & 0o777)


def _fetch(repository: Path, url: str) -> None:
    """Fetches from a URL, which saves the carrier the work. A failure does not matter."""
    command = (
        "fetch",
        "--quiet",
        "--no-tags",
        "--no-write-fetch-head",
        url,
        "+refs/heads/*:refs/weft/fetched/*",
    )
    with suppress(FarProblemError):
        run_git(
            ["--git-dir", str(repository), *command],
            env={"GIT_SSH_COMMAND": "ssh -o BatchMode=yes"},  # a question would wait for ever
            seconds=_LONGEST_FETCH,
        )


def _receive(repository: Path, pack: Path, commits: Sequence[str]) -> bool:
    """Takes in a pack; returns whether the commits are complete then."""
    is_small = pack.stat().st_size <= _SMALL_PACK
    command = ["unpack-objects", "-q"] if is_small else ["index-pack", "--stdin", "--fix-thin"]
    try:
        with pack.open("rb") as content:
            run_git(["--git-dir", str(repository), *command], source=content)
    except FarProblemError as error:
        if error.kind != "git":
            raise
        return False  # its deltas need objects that are not here
    return _are_complete(repository, commits)


def _are_complete(repository: Path, commits: Sequence[str]) -> bool:
    """Returns whether the repository has the commits with everything that they lead to, and notes that as refs."""
    git = ("--git-dir", str(repository))
    refs = {commit: f"refs/weft/have/{commit}" for commit in commits}
    noted = run_git([*git, "for-each-ref", "--format=%(objectname)", *refs.values()]).split()
    missing = [commit for commit in commits if commit not in noted]
    if not missing:
        return True
    try:
        # What the noted commits lead to is here. So this visits only what is new.
        run_git([*git, "rev-list", "--objects", "--quiet", *missing, "--not", "--glob=refs/weft/*"])
    except FarProblemError as error:
        if error.kind != "git":
            raise
        return False
    run_git(
        [*git, "update-ref", "--stdin"], text="".join(f"update {refs[each]} {each}\n" for each in missing)
    )
    return True


def _name(value: object) -> str:
    """Returns the name of a directory; raises `FarProblemError` if it would lead elsewhere."""
    name = str(value)
    if name in {"", ".", ".."} or "/" in name or "\0" in name:
        raise FarProblemError(f"invalid name: {name!r}", kind="protocol")
    return name
