"""Workspaces: where slices work, and how what they did comes together and gets to where the user wants it.

Everything here may be done again after a crash in the middle of it: what is asked for twice is the same as once.
"""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from weft.engine.run.facts import EarlierSlice, RefMove
from weft.engine.suspects import Suspect
from weft.errors import WeftError

CLONE = "weft-clone"
"""In the git directory of a worktree: `git`, the git directory that its steps have for themselves, and `link`, the
content of a file `.git` that leads there. A sandbox shows both of them in place of the worktree's own."""


class WorkspaceRequest(Struct, frozen=True, kw_only=True):
    path: str
    """Of the slice."""
    after: tuple[str, ...] = ()
    """The slices whose work it starts with, in plan order: all that it depends on, near and far."""
    copy: tuple[str, ...] = ()
    """Globs of files of the plan's directory that are copied in."""
    link: tuple[str, ...] = ()
    """Globs of files and directories of the plan's directory that are linked in."""
    sparse: tuple[str, ...] = ()
    """The only directories of the repository that are wanted; none: all of it."""
    without: tuple[str, ...] = ()
    """Subplans whose work it is not to start with, where its dependencies do not need it: it could not land before
    them, and they cannot land before a person has helped."""


class Continued(Struct, frozen=True, kw_only=True):
    """What came of the wish to continue in the workspace that an earlier run left."""

    is_kept: bool
    """Whether it holds all that the earlier run did of the slice; else nothing was changed there."""
    moves: tuple[RefMove, ...] = ()


class Work(Struct, frozen=True, kw_only=True):
    """What a step did, or one go at it."""

    path: str
    step: str
    attempt: int
    subject: str
    """A line about it."""


class Watch(Struct, frozen=True, kw_only=True):
    """A step that is about to start, and of which is to be known what it changes."""

    work: Work
    job: str
    """Names this execution of it for ever."""
    reads: bool
    """Whether it may only read. Then all that are beside it may only read, too."""
    beside: tuple[str, ...] = ()
    """The other executions in this workspace whose ends may not be known to everybody yet."""


class Breach(Struct, frozen=True, kw_only=True):
    """A step that may only read has changed something."""

    message: str
    """For people: what it did, and what has become of that."""
    files: tuple[str, ...] = ()
    moves: tuple[RefMove, ...] = ()
    """Where what it did is kept."""


class Part(Struct, frozen=True, kw_only=True):
    """A subplan in a group."""

    path: str
    subject: str = ""
    """A line about its merge."""
    after: tuple[str, ...] = ()
    """The others in the group that it depends on."""
    take_branch: tuple[str, ...] = ()
    """Globs of files that are taken as it has them, where they are in conflict."""


class MergeRequest(Struct, frozen=True, kw_only=True):
    """A subplan's work is to be brought to the subplan around it."""

    path: str
    subject: str
    """A line about it."""
    slices: tuple[str, ...] = ()
    """The slices whose work is together after it, in plan order; none if branches hold it."""
    take_branch: tuple[str, ...] = ()
    """Globs of files that are taken as the subplan has them, where they are in conflict."""
    files: tuple[str, ...] | None = None
    """Globs of the only files that it may have changed; None: any."""
    verifies: bool = False
    """Whether what comes together can be verified."""
    resolved: bool = False
    """Whether an agent was to resolve a conflict of it, so that no earlier verify counts."""
    is_group: bool = False
    parts: tuple[Part, ...] = ()
    """Of a group: what is in it, in plan order."""
    without: tuple[str, ...] = ()
    """Those of its parts whose work is not wanted; with each one all that are built on it."""
    copy: tuple[str, ...] = ()
    link: tuple[str, ...] = ()
    sparse: tuple[str, ...] = ()
    """As of a workspace, for the directory in which it is verified."""


class Merged(Struct, frozen=True, kw_only=True):
    """What came of a merge."""

    moves: tuple[RefMove, ...] = ()
    verify_in: Path | None = None
    """If this is not None, nothing has moved yet: what came together is here, and is to be verified first."""


class OpenConflict(Struct, frozen=True, kw_only=True):
    """A conflict that is where an agent can resolve it."""

    files: tuple[str, ...] = ()
    """None: there is no conflict any more, and nothing was put anywhere."""
    into: str = ""
    branch: str = ""
    """How the two sides are called in the files: what came meanwhile, and what the slice did."""
    others: tuple[str, ...] = ()
    own: tuple[str, ...] = ()
    """What each of them did to these files, the last thing first."""


class Closed(Struct, frozen=True, kw_only=True):
    """What came of it."""

    message: str = ""
    """Why it is not resolved, and all is as it was before; empty if it is."""
    moves: tuple[RefMove, ...] = ()


class InfraError(WeftError):
    """What it takes to do it did not work; that says nothing about the work."""


class ConflictError(WeftError):
    """Subplans changed the same files in different ways, and nothing but doing one of them anew helps."""

    def __init__(self, message: str, files: Sequence[str]) -> None:
        super().__init__(message)
        self.files = tuple(files)


class HeldError(WeftError):
    """It cannot go on before a person has done something; nothing has moved. The message says what to do."""

    def __init__(  # noqa: PLR0913 - by name, all of them
        self,
        message: str,
        files: Sequence[str] = (),
        *,
        conflict: bool = False,
        waits_for: Sequence[str] = (),
        asks: bool = False,
        red: bool = False,
        tail: str = "",
    ) -> None:
        super().__init__(message)
        self.files = tuple(files)
        self.conflict = conflict
        """Whether two changed the same files in different ways; else something else is in the way."""
        self.waits_for = tuple(waits_for)
        """What must land first."""
        self.asks = asks
        """Whether nothing is in the way, and a person is only to agree."""
        self.red = red
        """Whether a verify failed."""
        self.tail = tail
        """The end of what the verify wrote."""


class Workspaces(Protocol):
    def place(self, path: str) -> Path:
        """Where the subplan works; the directory need not be there yet."""
        ...

    def scratch(self, path: str) -> Path:
        """Where what a subplan did is verified together with what others did."""
        ...

    def has_history(self, path: str) -> bool:
        """Whether a workspace is proven before each step, and what the step did is recorded after it."""
        ...

    def prepare(self, request: WorkspaceRequest) -> Sequence[RefMove]:
        """A fresh workspace. What an earlier, unfinished try left there goes, and nothing of it is lost."""
        ...

    def continue_after(self, request: WorkspaceRequest, earlier: EarlierSlice) -> Continued:
        """Keep the workspace that an earlier run left, if it still holds what that run did of the slice.

        It must build on what the slice builds on now. What a step left there that was cut off goes, where that is
        known, and nothing of it is lost. If the slice was only to be merged, nothing is touched.
        """
        ...

    def accept(self, path: str) -> None:
        """What is in a workspace now is what its slice starts with: commands that set it up have been run."""
        ...

    def prove(self, path: str) -> None:
        """Raises `WeftError` if the workspace is not what was prepared: then no step may start in it."""
        ...

    def is_own(self, path: str) -> bool:
        """Whether nobody but the steps of the subplan works there, so that changes are theirs."""
        ...

    def watch(self, watch: Watch) -> None:
        """Note what is there, so that it can be told after the step what it has changed.

        Readers that overlap are watched together: the first one that ends after a change is to answer for it.
        """
        ...

    def unwatch(self, path: str, jobs: Collection[str]) -> None:
        """Steps overlap that may change files, so nobody can tell who did what.

        Only what was found before is still known, of those jobs whose ends may not be known to everybody yet.
        """
        ...

    def take_commits(self, path: str) -> None:
        """Has what the steps under way have committed so far appear in the repository.

        What cannot enter yet is no error: `record` takes it, or says why it cannot be taken.
        """
        ...

    def record(self, work: Work) -> Sequence[RefMove]:
        """Keep what a step has changed."""
        ...

    def changed_files(self, path: str, moves: Sequence[RefMove]) -> Sequence[str]:
        """What the subplan has changed by these moves, as `M src/a.py`; nothing where there is no history."""
        ...

    def has_changed(self, path: str, job: str) -> bool | None:
        """Whether a step that was watched has changed files, once that is recorded; None: that is not known."""
        ...

    def restore(self, path: str, job: str) -> Breach | None:
        """Undo what a step has changed that may only read, where that can be; nothing of it is lost.

        None: it has changed nothing, or that is not known.
        """
        ...

    def open_conflict(self, request: MergeRequest, work: Work) -> OpenConflict:
        """Put what keeps a slice from being merged into its workspace, for an agent to resolve; that is the work.

        Raises `WeftError` if that cannot be. Whatever an earlier, unfinished try left there is kept, and undone.
        """
        ...

    def close_conflict(self, work: Work, *, failed: str = "") -> Closed:
        """Keep what was made of it if all is settled; else, or if it `failed`, undo it and lose nothing."""
        ...

    def foresee(self, path: str) -> Mapping[str, Sequence[str]]:
        """The other subplans under way with whose work that of this one is in conflict by now, and the files."""
        ...

    def gather(self, request: MergeRequest) -> Sequence[RefMove]:
        """What the slices in a group did, in one directory at its place: for its verify, and as its result.

        Without some of its parts, nothing but that directory changes. Raises `ConflictError` if what is left does
        not go together.
        """
        ...

    def suspects(self, request: MergeRequest) -> Sequence[Suspect]:
        """Those parts of a group that it can be gathered without, and what each is built on; none if it cannot."""
        ...

    def merge(self, request: MergeRequest) -> Merged:
        """Bring what a subplan did to the subplan around it; that of a group, without some of its parts.

        Raises `ConflictError` or `HeldError` if that cannot be; then nothing has changed.
        """
        ...

    def publish(self, path: str) -> Merged | None:
        """What was to be verified has passed: let it move. None if what it was merged with has moved meanwhile."""
        ...

    def discard(self, path: str) -> None:
        """What was to be verified is not wanted any more."""
        ...

    def release(self, path: str) -> bool:
        """The work of a slice is merged: remove its workspace, unless that holds what is nowhere else.

        Whether it was removed. What is ignored goes with it.
        """
        ...

    def put_away(self, path: str) -> None:
        """A slice has failed: remove its workspace. All that is in it but what is ignored gets a name first."""
        ...
