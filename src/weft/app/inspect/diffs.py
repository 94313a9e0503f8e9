"""The changes of a subplan: the difference between the commit its branch started from and its present state.

If a slice has a worktree, uncommitted files count, because a user who inspects a running slice wants to see its
newest files. Files that git ignores and files that Weft copied in do not count. Git compares untracked files only
if the index has an entry for them, so the diff uses a copy of the index with such entries.

A later run of the same plan gives its slices new branches, and `weft clean` removes branches. The changes of a
slice can still be shown, since the journal has the commits of its branch.
"""

import os
import tempfile
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from itertools import takewhile
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from weft.app.isolation.plan_repository import names_of
from weft.app.record.journal import RecordedRun
from weft.app.record.run_plan import plan_of
from weft.app.record.step_selection import WHOLE, chosen
from weft.engine.messages.events import StepStartedEvent
from weft.engine.messages.facts import Ended, RunStarted
from weft.engine.messages.internal_steps import MERGES, InternalStep
from weft.errors import InputError
from weft.plan.model import Plan
from weft.plan.settings import BRANCHED
from weft.workspaces.git.base.names import RefNames
from weft.workspaces.git.base.program import Git, GitError, show
from weft.workspaces.git.base.refs import tip
from weft.workspaces.git.base.repository import Repository, open_repository
from weft.workspaces.git.base.sparse import settings
from weft.workspaces.git.base.worktree_links import git_dir_of
from weft.workspaces.git.checkouts.commits import copy_index
from weft.workspaces.git.worktrees.unsaved_work import UnsavedWork, unsaved
from weft.workspaces.git.worktrees.worktrees import Worktrees

_WORDS = {"A": "added", "D": "deleted"}
"""Words for git's status letters; any other letter is `changed`."""
_PLAIN = ("--no-color", "--no-ext-diff", "--no-textconv", "--src-prefix=a/", "--dst-prefix=b/")
"""Options that make the diff independent of the user's settings, for programs such as `git apply`."""

_FAILURES = frozenset({128, 129})
"""Exit codes of git's own errors. Leaving the pager early gives other codes."""


class FileChange(Struct, frozen=True):
    """A changed file."""

    path: str
    status: str
    """added, changed or deleted."""
    added: int | None
    """Number of lines; None for a binary file."""
    removed: int | None

    def to_json(self) -> dict[str, object]:
        return {"path": self.path, "status": self.status, "added": self.added, "removed": self.removed}


class Diff(Struct, frozen=True, kw_only=True):
    """The two commits to compare, and where git compares them."""

    run: str
    subplan: str
    """Its path; empty for the whole plan."""
    branch: str
    start: str
    head: str
    git: Git
    """In the worktree, if there is one."""
    has_worktree: bool = False
    last_attempt: str = ""
    """The commit from which the last attempt started; empty if there was only one, or the commit is gone."""

    def since_last_attempt(self) -> "Diff":
        """Returns what the last attempt has changed. Raises `InputError` if there was only one."""
        if not self.last_attempt:
            raise InputError(
                f"{self.subplan or 'the plan'} has had one attempt, so there is none to compare with"
            )
        return replace(self, start=self.last_attempt)

    def to_json(self) -> dict[str, object]:
        return {
            "run": self.run,
            "subplan": self.subplan or None,
            "branch": self.branch,
            "start": self.start,
            "head": self.head,
        }


class View(Struct, frozen=True, kw_only=True):
    """The arguments with which git compares."""

    git: Git
    ends: tuple[str, ...]
    files: tuple[str, ...] = ()
    env: Mapping[str, str] = {}
    unsaved: UnsavedWork | None = None

    def command(self, *options: str) -> tuple[str, ...]:
        # `dirty`: see `weft.workspaces.git.base.status`.
        return ("diff", "--ignore-submodules=dirty", *options, *self.ends, "--", *self.files)

    def plain(self, *options: str) -> bytes:
        """Returns the diff for programs."""
        return self.git.do(*self.command(*_PLAIN, *options), env=self.env)

    def on_terminal(self, *options: str) -> None:
        """Shows the diff with the user's colours and pager."""
        # Weft blanks diff programs that the repository configures, and git fails on a blank program.
        own = ("--no-ext-diff",) if any(key.startswith("diff.") for key in self.git.replaced) else ()
        command = self.command(*own, *options)
        exit_code = show(self.git, *command, environ=os.environ, env=self.env)
        if exit_code in _FAILURES:
            raise GitError(command, exit_code, "")

    def changes(self) -> list[FileChange]:
        """Returns the changed files with their numbers of lines."""
        fields = self.git.do(
            # One call for both, since the worktree of a running slice may change between two calls.
            *self.command("--raw", "--numstat", "-z", "--no-renames", *_PLAIN[1:3], "--abbrev=40"),
            env=self.env,
        ).split(b"\0")[:-1]
        # With `--raw` and `--numstat`, git prints all raw lines first. A raw line starts with a colon and its path
        # is the next field; a numstat line holds its own path.
        status: dict[bytes, str] = {}
        changes: dict[bytes, FileChange] = {}
        parts = iter(fields)
        for part in parts:
            if part.startswith(b":"):
                status[next(parts)] = part.decode().rsplit(" ", 1)[1]
            else:
                added, removed, path = part.split(b"\t", 2)
                word = _WORDS.get(status.get(path, ""), "changed")
                changes[path] = FileChange(os.fsdecode(path), word, _lines(added), _lines(removed))
        return list(changes.values())

    def uncommitted(self) -> list[str]:
        return [] if self.unsaved is None else [os.fsdecode(path) for path in self.unsaved.paths]


def _lines(count: bytes) -> int | None:
    return None if count == b"-" else int(count)


# Comparison


@contextmanager
def open_view(diff: Diff) -> Generator[View]:
    """Yields the view to compare with. It includes uncommitted files if there is a worktree."""
    if not diff.has_worktree:
        yield View(git=diff.git, ends=(diff.start, diff.head))
        return
    unsaved_work = unsaved(diff.git)
    # `literal`, as a file name can contain the characters of patterns.
    files = (".", *(f":(exclude,top,literal){os.fsdecode(path)}" for path in unsaved_work.copied_in))
    env = settings(unsaved_work.git_dir)
    if not unsaved_work.unknown:
        yield View(git=diff.git, ends=(diff.start,), files=files, env=env, unsaved=unsaved_work)
        return
    with tempfile.TemporaryDirectory(prefix="weft-diff-") as folder:
        index = Path(folder, "index")
        # The index of the worktree itself must not change: a step may be using git there at this moment.
        copy_index(unsaved_work.git_dir, index)
        env = {**env, "GIT_INDEX_FILE": str(index)}
        _add_untracked_entries(diff.git, files, env)
        yield View(git=diff.git, ends=(diff.start,), files=files, env=env, unsaved=unsaved_work)


def _add_untracked_entries(git: Git, files: Sequence[str], env: Mapping[str, str]) -> None:
    command = ("add", "--intent-to-add", "--sparse", "--ignore-errors", "--", *files)
    result = git.ask(*command, env=env)
    if result.exit_code not in {0, 1}:  # 1: a file was deleted meanwhile
        raise GitError(command, result.exit_code, result.message)


# Commits


def find_diff(
    recorded_run: RecordedRun, name: str | None, *, environ: Mapping[str, str] = os.environ
) -> Diff:
    """Returns the diff of a subplan such as `store/model`, or of the plan.

    Raises `InputError` if there is none.
    """
    plan = plan_of(recorded_run)
    path = _path(recorded_run, plan, name or recorded_run.subplan or WHOLE)
    recorded_run.require_sight([path], path or "the whole plan")
    repository = open_repository(Path(recorded_run.run.directory), environ=environ)
    names = names_of(plan)
    ends = _ends(recorded_run, repository.git, names, path)
    worktree = None if ends.is_past else _worktree(repository, names.head(path))
    return Diff(
        run=recorded_run.run.run,
        subplan=path,
        branch=names.branch(path),
        start=ends.start,
        head=ends.head,
        git=repository.git if worktree is None else repository.git.at(worktree),
        has_worktree=worktree is not None,
        last_attempt=ends.last_attempt,
    )


def _path(recorded_run: RecordedRun, plan: Plan, name: str) -> str:
    subplan, colon, _ = name.partition(":")
    if colon:
        raise InputError(f"changes are recorded for subplans, not for steps; type: weft diff {subplan}")
    rows = chosen(plan, name).rows
    path, is_leaf = next(iter(rows)), plan.outline.is_leaf
    kinds = {plan.scopes[row].settings.isolation for row in rows.values() if is_leaf(row)}
    if not BRANCHED.isdisjoint(kinds):
        return path
    problem = f"there is no branch of {path or 'this plan'} to compare"
    if "dir" in kinds:
        place = recorded_run.places.work(plan.id)
        raise InputError(f"{problem}, as it is run with `isolation: dir`; what it did is in {place}")
    raise InputError(
        f"{problem}, as it works in the plan's own directory (`isolation: none`); to see what has changed there "
        "since the last commit, type: git diff"
    )


class _Ends(Struct, frozen=True, kw_only=True):
    """The two commits to compare."""

    start: str
    head: str
    is_past: bool = False
    """Whether the branch was deleted or belongs to a later run."""
    last_attempt: str = ""


def _ends(recorded_run: RecordedRun, git: Git, names: RefNames, path: str) -> _Ends:
    record = _branch_record(recorded_run, names.head(path), path)
    subject = path or "the plan"
    if not record.begun:
        problem = f"{subject} has not started in this run, so it has changed nothing"
        raise InputError(f"{problem}; to see what happened, type: weft events")
    last_attempt = record.last_attempt if _commit_exists(git, record.last_attempt) else ""
    # The refs belong to the newest run of the plan; for an older one only the journal knows the commits.
    if is_newest(recorded_run):
        start, head = tip(git, names.start(path)), tip(git, names.head(path))
        if start is not None and head is not None:
            return _Ends(start=start, head=head, last_attempt=last_attempt)
    if _commit_exists(git, record.start) and _commit_exists(git, record.head):
        return _Ends(start=record.start, head=record.head, is_past=True, last_attempt=last_attempt)
    trailer = f"Weft-Subplan: {path}" if path else f"Weft-Plan: {names.plan}"
    raise InputError(
        f"the branch {names.branch(path)} of {subject} is gone, or not this run's any more; to find what landed "
        f"of it, type: git log --grep='^{trailer}$'"
    )


def is_newest(recorded_run: RecordedRun) -> bool:
    """Returns whether no later run of the plan has started. A run without facts died before it did anything."""
    newer = takewhile(
        lambda run: run.run != recorded_run.run.run, recorded_run.journal.runs(recorded_run.run.plan)
    )
    return all(next(recorded_run.journal.facts(run.run), None) is None for run in newer)


class _BranchRecord(Struct):
    """The journal's record of a subplan's branch."""

    begun: bool = False
    """Whether a step has started, or an earlier run completed the subplan."""
    start: str = ""
    """The first commit of a slice's branch. Empty for a group, because its branch follows other branches."""
    head: str = ""
    last_attempt: str = ""
    """The head when the last attempt started; empty during the first one."""
    attempt: int = 1


def _branch_record(recorded_run: RecordedRun, ref: str, path: str) -> _BranchRecord:
    record = _BranchRecord()
    for recorded in recorded_run.journal.events(recorded_run.run.run):
        event = recorded.event
        if isinstance(event, StepStartedEvent):
            record.begun |= _is_in(event.subplan, path)
            if event.subplan == path and event.attempt > record.attempt and event.step not in MERGES:
                record.attempt, record.last_attempt = event.attempt, record.head
        match event.fact:
            case RunStarted(carried=carried):
                record.begun |= any(_is_in(completed, path) for completed in carried)
            case Ended(moves=moves) if event.subplan == path:
                for move in (move for move in moves if move.ref == ref):
                    record.head = move.after
                    if event.step == InternalStep.WORKSPACE:
                        # A slice that is sent back starts again, after the work of an earlier run.
                        record.start, record.last_attempt = move.after, move.before
            case _:
                pass
    return record


def _is_in(subplan: str, path: str) -> bool:
    return not path or subplan == path or subplan.startswith(f"{path}/")


def _commit_exists(git: Git, commit: str) -> bool:
    return bool(commit) and git.ask("cat-file", "-e", f"{commit}^{{commit}}").exit_code == 0


def _worktree(repository: Repository, ref: str) -> Path | None:
    """Returns the worktree of the branch.

    The user's checkout does not count: its changes are not the subplan's.
    """
    # Git lists the main checkout first.
    worktrees = Worktrees(repository.git, repository.common).listed()[1:]
    places = (worktree.path for worktree in worktrees if worktree.branch == ref and worktree.prunable is None)
    return next((place for place in places if _is_whole(place)), None)


def _is_whole(place: Path) -> bool:
    # A crash can leave a worktree that is registered but was never checked out; its files would all seem deleted.
    return place.is_dir() and (git_dir_of(place) / "index").exists()
