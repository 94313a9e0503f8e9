"""The workspace of one slice on this machine: files, and a git directory that borrows the objects of a repository.

The file `weft-state` in the git directory says what was exchanged last. It is written before and after each
change, so that after a crash the next exchange does all of it again. Weft stages files in an index of its own,
`weft-index`; the one of the step stays as it is.
"""

import json
import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from weft.safe_files import locate, read_file, remove_file, replace_file

from .errors import FarProblemError
from .git import configuration, has_commit, ignore_pattern, run_git

COPIED = "weft-copied"
"""Lists files that came from the coordinator's machine and are in no commit."""
SETUP = "weft-setup"
"""Lists untracked files of the set-up."""
_EXCLUDED = "weft-exclude"
"""What the repository itself excludes, besides its `.gitignore` files."""
_STATE = "weft-state"
_INDEX = "weft-index"
_OPERATIONS = {
    "MERGE_HEAD": "merge",
    "CHERRY_PICK_HEAD": "cherry-pick",
    "REVERT_HEAD": "revert",
    "rebase-merge": "rebase",
    "rebase-apply": "rebase",
}
_LEFTOVERS = (*_OPERATIONS, "MERGE_MSG", "MERGE_MODE", "AUTO_MERGE", "sequencer")
_LOCKS = ("index.lock", "HEAD.lock", "packed-refs.lock", "config.lock", "shallow.lock", f"{_INDEX}.lock")
_SUBMODULE = "160000"
_LARGEST = 1 << 28
"""Bytes of a file that is read as a whole, such as an index."""
_ID_LENGTHS = (40, 64)
_IDENTITY = {
    f"GIT_{role}_{part}": value
    for role in ("AUTHOR", "COMMITTER")
    for part, value in {"NAME": "Weft", "EMAIL": "weft@localhost"}.items()
}
"""The author of states, which are in no history."""


class FarWorkspace:
    """The workspace of one slice."""

    def __init__(self, run: Path, *, path: str, name: str, token: str) -> None:
        self._run = run
        self._path = path
        self._name = name
        self._token = token
        self.place = run / "files" / name
        self._git_dir = run / "git" / name
        self._state = read_state(self._git_dir)

    @property
    def exists(self) -> bool:
        return self._state is not None and self.place.is_dir()

    @property
    def is_ready(self) -> bool:
        """Whether its set-up is complete."""
        return self._state is not None and bool(self._state["ready"])

    def require(self) -> None:
        """Raises `FarProblemError` unless it exists and belongs to the token."""
        if not self.exists:
            raise FarProblemError(f"there is no workspace of {self._path} at {self.place}", kind="missing")
        assert self._state is not None
        if self._state["token"] != self._token:
            raise FarProblemError(
                f"the workspace of {self._path} belongs to {self._state['token']}, and not to {self._token}",
                kind="stale",
            )

    # Creation and removal

    def set_aside_if_stale(self) -> dict[str, str] | None:
        """Moves a workspace of another token out of the way; returns its token and its name from now on."""
        if self._state is None:
            self._wipe()  # after a crash while it was made
            return None
        token = str(self._state["token"])
        if token == self._token:
            if not self.place.is_dir():  # only its files are gone
                self._wipe()
            return None
        stale = f"{self._name}@{token}"
        for folder in (self._run / "files", self._run / "git"):
            with suppress(FileNotFoundError):
                (folder / self._name).rename(folder / stale)
        self._state = None
        return {"name": stale, "token": token}

    def make(self, repository: Path, arguments: Mapping[str, Any]) -> None:
        """Creates it empty; `bring_to` fills it."""
        for folder in ("objects/info", "refs/heads", "info"):
            (self._git_dir / folder).mkdir(parents=True, exist_ok=True)
        self.place.mkdir(parents=True, exist_ok=True)
        sparse = [str(line) for line in arguments.get("sparse") or ()]
        write(self._git_dir / "objects/info/alternates", f"{repository}/objects\n")
        write(self._git_dir / "HEAD", "ref: refs/heads/none\n")
        identity = {str(key): str(value) for key, value in arguments["identity"].items()}
        settings = configuration(self.place, str(arguments["format"]), identity, sparse=bool(sparse))
        write(self._git_dir / "config", settings)
        if sparse:
            write(self._git_dir / "info/sparse-checkout", "".join(f"{line}\n" for line in sparse))
        write(self._git_dir / _EXCLUDED, str(arguments.get("exclude") or ""))
        self.exclude(COPIED, [])
        write(self.place / ".git", f"gitdir: {self._git_dir}\n")

    def remove(self) -> None:
        if self._state is not None and self._state["token"] != self._token:
            self.require()
        self._wipe()

    def _wipe(self) -> None:
        # The state goes with the git directory, last: until then the workspace is known and can be removed again.
        shutil.rmtree(self.place, ignore_errors=True)
        shutil.rmtree(self._git_dir, ignore_errors=True)
        self._state = None

    # From the coordinator

    def bring_to(self, ref: str, head: str, state: str) -> None:
        """Checks out the files of `state` with the branch `ref` at `head`, unless that was exchanged last."""
        before = None if self._state is None else (self._state["head"], self._state["state"])
        if before == (head, state):
            return
        self._remove_leftovers()
        # Nothing is certain while the files change; a call that is repeated does all of it.
        self.note(head="", state="")
        if before is None or self._tree(before[1]) != self._tree(state):
            if before is not None:
                self._stage()  # `read-tree -u` removes only files that the index knows
            self.git("read-tree", "--reset", "-u", state, index=_INDEX)
        self.git("update-ref", "--no-deref", "-m", "weft: exchanged", ref, head)
        self.git("symbolic-ref", "HEAD", ref)
        replace_file(self._git_dir / "index", read_file(self._git_dir / _INDEX, most=_LARGEST))
        if head != state:
            self.git("read-tree", "--reset", head, index="index")
        self.note(ref=ref, head=head, state=state, log=self._log_size())

    def _remove_leftovers(self) -> None:
        """Ends unfinished merges and removes locks. No process works here any more."""
        for name in (*_LEFTOVERS, *_LOCKS):
            tree, place = locate(self._git_dir / name)
            with suppress(FileNotFoundError):
                tree.remove_tree(place)

    def exclude(self, kind: str, names: Sequence[str]) -> None:
        """Lists files that are no work of the slice; a new list replaces the last one of its kind."""
        write(self._git_dir / kind, json.dumps(list(names)))
        lines = _read(self._git_dir / _EXCLUDED).splitlines()
        for each in (COPIED, SETUP):
            with suppress(FileNotFoundError):
                lines += [ignore_pattern(name) for name in json.loads(_read(self._git_dir / each))]
        write(self._git_dir / "info/exclude", "".join(f"{line}\n" for line in lines))

    def accept(self) -> None:
        """Records that the set-up is complete, with its untracked files."""
        listing = self.git("ls-files", "--others", "--exclude-standard", "-z")
        self.exclude(SETUP, [name for name in listing.split("\0") if name])
        self.note(ready=True)

    def note(self, **fields: Any) -> None:  # noqa: ANN401 - as JSON has them
        before = self._state or {"path": self._path, "token": self._token, "ready": False, "log": 0}
        self._state = before | fields
        write(self._git_dir / _STATE, json.dumps(self._state))

    # To the coordinator

    def snapshot(self) -> dict[str, Any]:
        """Returns the present head and state, and what is unfinished; changes neither files nor branches."""
        assert self._state is not None
        for lock in _LOCKS:  # of processes of the step, which have ended
            remove_file(self._git_dir / lock)
        head = self._ask("rev-parse", "--quiet", "--verify", "HEAD^{commit}")
        parent = head or str(self._state["head"])
        state = self._commit_state(parent)
        # The next `bring_to` compares with this. Where the log ends is not noted: the answer may get lost.
        self.note(head=parent, state=state)
        return {
            "ref": self._ask("symbolic-ref", "--quiet", "HEAD"),
            "head": head,
            "state": state,
            "operation": next(
                (kind for name, kind in _OPERATIONS.items() if (self._git_dir / name).exists()), ""
            ),
            "undone": self._undone(parent),
            "place": str(self.place),
        }

    def _commit_state(self, parent: str) -> str:
        assert self._state is not None
        before = str(self._state["state"])
        self._stage()
        self._refuse_repositories(before or parent)
        tree = self.git("write-tree", index=_INDEX).strip()
        if before and parent == self._state["head"] and tree == self._tree(before):
            return before
        if tree == self._tree(parent):
            return parent
        # With the date of its parent, the commit is the same each time.
        date = self.git("show", "--no-patch", "--no-show-signature", "--format=%ct +0000", parent).strip()
        dates = {"GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date}
        command = ("commit-tree", tree, "-p", parent, "-m", "what is not committed")
        return self.git(*command, env=_IDENTITY | dates).strip()

    def _stage(self) -> None:
        self.git("add", "--all", index=_INDEX)

    def _tree(self, commit: object) -> str:
        return self.git("rev-parse", f"{commit}^{{tree}}").strip() if commit else ""

    def _refuse_repositories(self, before: str) -> None:
        """Raises `FarProblemError` for repositories in the workspace: a commit would have only their names."""
        command = ("diff-index", "--cached", "--raw", "-z", "--no-renames", before)
        entries = self.git(*command, index=_INDEX).split("\0")
        nested = [
            name
            for change, name in zip(entries[::2], entries[1::2], strict=False)
            if change.split()[1] == _SUBMODULE and (self.place / name / ".git").is_dir()
        ]
        if nested:
            raise FarProblemError(
                f"{self.place} contains other repositories, so their files cannot be committed: "
                f"{', '.join(nested[:5])}; remove the `.git` in each, or add it to .gitignore, and try again",
                kind="work",
            )

    def _undone(self, head: str) -> list[str]:
        """Returns the commits that the step has made and taken back, the last of each line."""
        assert self._state is not None
        lines = _read_bytes(self._git_dir / "logs/HEAD")[int(self._state["log"]) :].splitlines()
        logged = {line.split(b" ")[1].decode("ascii", "replace") for line in lines if line.count(b" ") > 1}
        commits = sorted(commit for commit in logged if len(commit) in _ID_LENGTHS and commit.strip("0"))
        if not commits:
            return []
        revisions = "".join(f"{line}\n" for line in (*commits, f"^{head}"))
        listing = self._ask("rev-list", "--ignore-missing", "--children", "--stdin", text=revisions)
        return [line for line in listing.splitlines() if " " not in line]

    def _log_size(self) -> int:
        return len(_read_bytes(self._git_dir / "logs/HEAD"))

    def pack(self, commits: Sequence[str], have: Sequence[str]) -> Path:
        """Returns a file with a pack of what these commits lead to and those in `have` do not."""
        excluded = [commit for commit in have if has_commit(self._git_dir, commit)]
        revisions = "".join(f"{line}\n" for line in (*commits, *(f"^{commit}" for commit in excluded)))
        descriptor, place = tempfile.mkstemp(prefix="pack-", dir=self._run)
        command = ("pack-objects", "--revs", "--stdout", "-q", "--delta-base-offset")
        with os.fdopen(descriptor, "wb") as target:
            run_git(["--git-dir", str(self._git_dir), *command], text=revisions, target=target)
        return Path(place)

    # git

    def git(
        self, *command: str, index: str = "", env: Mapping[str, str] | None = None, text: str | None = None
    ) -> str:
        places = {"GIT_DIR": str(self._git_dir), "GIT_WORK_TREE": str(self.place)}
        if index:
            places["GIT_INDEX_FILE"] = str(self._git_dir / index)
        return run_git(command, env={**places, **(env or {})}, directory=self.place, text=text)

    def _ask(self, *command: str, text: str | None = None) -> str:
        """Returns git's output; an error counts as no output."""
        try:
            return self.git(*command, text=text).strip()
        except FarProblemError:
            return ""


def read_state(git_dir: Path) -> dict[str, Any] | None:
    """Returns the note of a workspace; None if it was not completed."""
    try:
        return dict(json.loads(_read(git_dir / _STATE)))
    except (OSError, ValueError, TypeError):
        return None


def _read(path: Path) -> str:
    return read_file(path, most=_LARGEST).decode("utf-8", "surrogateescape")


def _read_bytes(path: Path) -> bytes:
    """Returns the contents of a file that the step can write; nothing if there is no such file."""
    try:
        return read_file(path, most=_LARGEST)
    except FileNotFoundError:
        return b""


def write(path: Path, text: str) -> None:
    """Replaces a file, readable for its owner alone."""
    replace_file(path, text.encode("utf-8", "surrogateescape"))
