"""What a subplan has changed since it began: from where its branch began to where it is now.

Of a slice whose worktree is there, all that is in it counts, committed or not: who looks at a slice at work wants
to see the files that it has just made. What git ignores does not count, nor what was brought there. Git shows such
files only if its index has heard of them, so it gets a copy of the index that has.

Another run of the same plan gives its slices new branches, and `weft clean` removes them. What a slice did can be
seen even then, as the journal holds where its branch was.
"""

import os
import tempfile
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from itertools import takewhile
from pathlib import Path

from msgspec import Struct

from weft.app.isolation.plan_repository import names_of
from weft.app.record.journal import RecordedRun
from weft.app.record.run_plan import plan_of
from weft.app.record.step_selection import WHOLE, chosen
from weft.engine.messages.facts import Ended, RunStarted
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
"""Anything else is `changed`."""
_PLAIN = ("--no-color", "--no-ext-diff", "--no-textconv", "--src-prefix=a/", "--dst-prefix=b/")
"""For programs, such as `git apply`, a diff is the same whatever the user likes to see."""

_FAILURES = frozenset({128, 129})
"""Exit codes of git's own; who leaves the pager early ends git in other ways."""


class FileChange(Struct, frozen=True):
    path: str
    status: str
    """added, changed or deleted."""
    added: int | None
    """Lines; None if it is no text."""
    removed: int | None

    def to_json(self) -> dict[str, object]:
        return {"path": self.path, "status": self.status, "added": self.added, "removed": self.removed}


class Diff(Struct, frozen=True, kw_only=True):
    run: str
    subplan: str
    """Its path; empty for the whole plan."""
    branch: str
    start: str
    head: str
    git: Git
    """In the worktree, if there is one."""
    has_worktree: bool = False

    def to_json(self) -> dict[str, object]:
        return {
            "run": self.run,
            "subplan": self.subplan or None,
            "branch": self.branch,
            "start": self.start,
            "head": self.head,
        }


class View(Struct, frozen=True, kw_only=True):
    """How git is asked to compare."""

    git: Git
    ends: tuple[str, ...]
    files: tuple[str, ...] = ()
    env: Mapping[str, str] = {}
    unsaved: UnsavedWork | None = None

    def command(self, *options: str) -> tuple[str, ...]:
        # `dirty`: see `weft.workspaces.git.base.status`.
        return ("diff", "--ignore-submodules=dirty", *options, *self.ends, "--", *self.files)

    def plain(self, *options: str) -> bytes:
        """As it is for programs."""
        return self.git.do(*self.command(*_PLAIN, *options), env=self.env)

    def on_terminal(self, *options: str) -> None:
        """As the user likes it."""
        # In place of a program for diffs that the repository names, there is none that does nothing.
        own = ("--no-ext-diff",) if any(key.startswith("diff.") for key in self.git.replaced) else ()
        command = self.command(*own, *options)
        exit_code = show(self.git, *command, environ=os.environ, env=self.env)
        if exit_code in _FAILURES:
            raise GitError(command, exit_code, "")

    def changes(self) -> list[FileChange]:
        fields = self.git.do(
            *self.command("--raw", "--numstat", "-z", "--no-renames", *_PLAIN[1:3], "--abbrev=40"),
            env=self.env,
        ).split(b"\0")[:-1]
        status: dict[bytes, str] = {}
        found: dict[bytes, FileChange] = {}
        parts = iter(fields)
        for part in parts:
            if part.startswith(b":"):
                status[next(parts)] = part.decode().rsplit(" ", 1)[1]
            else:
                added, removed, path = part.split(b"\t", 2)
                word = _WORDS.get(status.get(path, ""), "changed")
                found[path] = FileChange(os.fsdecode(path), word, _lines(added), _lines(removed))
        return list(found.values())

    def uncommitted(self) -> list[str]:
        return [] if self.unsaved is None else [os.fsdecode(path) for path in self.unsaved.paths]


def _lines(count: bytes) -> int | None:
    return None if count == b"-" else int(count)


# Looking


@contextmanager
def looked_at(diff: Diff) -> Generator[View]:
    if not diff.has_worktree:
        yield View(git=diff.git, ends=(diff.start, diff.head))
        return
    found = unsaved(diff.git)
    files = (".", *(f":(exclude,top,literal){os.fsdecode(path)}" for path in found.brought))
    env = settings(found.git_dir)
    if not found.unknown:
        yield View(git=diff.git, ends=(diff.start,), files=files, env=env, unsaved=found)
        return
    with tempfile.TemporaryDirectory(prefix="weft-diff-") as folder:
        index = Path(folder, "index")
        copy_index(found.git_dir, index)
        env = {**env, "GIT_INDEX_FILE": str(index)}
        _tell_of_new_files(diff.git, files, env)
        yield View(git=diff.git, ends=(diff.start,), files=files, env=env, unsaved=found)


def _tell_of_new_files(git: Git, files: Sequence[str], env: Mapping[str, str]) -> None:
    command = ("add", "--intent-to-add", "--sparse", "--ignore-errors", "--", *files)
    answer = git.ask(*command, env=env)
    if answer.exit_code not in {0, 1}:  # 1: a file is gone again
        raise GitError(command, answer.exit_code, answer.message)


# Finding


def find_diff(book: RecordedRun, name: str | None, *, environ: Mapping[str, str] = os.environ) -> Diff:
    """Of a subplan, `store/model`, or of the whole plan; raises `InputError` if there is nothing to compare."""
    plan = plan_of(book)
    path = _path(book, plan, name or book.subplan or WHOLE)
    book.require_sight([path], path or "the whole plan")
    repository = open_repository(Path(book.run.directory), environ=environ)
    names = names_of(plan)
    ends = _ends(book, repository.git, names, path)
    worktree = None if ends.is_past else _worktree(repository, names.head(path))
    return Diff(
        run=book.run.run,
        subplan=path,
        branch=names.branch(path),
        start=ends.start,
        head=ends.head,
        git=repository.git if worktree is None else repository.git.at(worktree),
        has_worktree=worktree is not None,
    )


def _path(book: RecordedRun, plan: Plan, name: str) -> str:
    subplan, colon, _ = name.partition(":")
    if colon:
        raise InputError(f"what changed is known of subplans, not of steps; type: weft diff {subplan}")
    rows = chosen(plan, name).rows
    path, is_leaf = next(iter(rows)), plan.outline.is_leaf
    kinds = {plan.scopes[row].settings.isolation for row in rows.values() if is_leaf(row)}
    if not BRANCHED.isdisjoint(kinds):
        return path
    what = f"there is no branch of {path or 'this plan'} to compare"
    if "dir" in kinds:
        place = book.places.work(plan.id)
        raise InputError(f"{what}, as it is run with `isolation: dir`; what it did is in {place}")
    raise InputError(
        f"{what}, as it works in the plan's own directory (`isolation: none`); to see what has changed there "
        "since the last commit, type: git diff"
    )


class _Ends(Struct, frozen=True, kw_only=True):
    start: str
    head: str
    is_past: bool = False
    """Whether the branch is not there, or not this run's, any more."""


def _ends(book: RecordedRun, git: Git, names: RefNames, path: str) -> _Ends:
    told = _told(book, names.head(path), path)
    what = path or "the plan"
    if not told.begun:
        raise InputError(
            f"{what} has not begun in this run, so it has changed nothing; to see what happened, type: weft events"
        )
    if _is_newest(book):
        start, head = tip(git, names.start(path)), tip(git, names.head(path))
        if start is not None and head is not None:
            return _Ends(start=start, head=head)
    if told.start and _is_there(git, told.start) and _is_there(git, told.head):
        return _Ends(start=told.start, head=told.head, is_past=True)
    trailer = f"Weft-Subplan: {path}" if path else f"Weft-Plan: {names.plan}"
    raise InputError(
        f"the branch {names.branch(path)} of {what} is gone, or not this run's any more; what landed of it "
        f"is found by: git log --grep='^{trailer}$'"
    )


def _is_newest(book: RecordedRun) -> bool:
    """Whether no other run of the plan began later; one that died before anything happened in it never was."""
    newer = takewhile(lambda one: one.run != book.run.run, book.journal.runs(book.run.plan))
    return all(next(book.journal.facts(one.run), None) is None for one in newer)


class _Told(Struct):
    """What the journal says of a subplan."""

    begun: bool = False
    """Also if an earlier run had completed it."""
    start: str = ""
    """Of a slice; the branch of a group follows others, so of that the journal does not tell enough."""
    head: str = ""


def _told(book: RecordedRun, ref: str, path: str) -> _Told:
    told = _Told()
    for one in book.journal.events(book.run.run):
        event = one.event
        told.begun |= event.kind == "step_started" and _is_in(event.subplan, path)
        match event.fact:
            case RunStarted(carried=carried):
                told.begun |= any(_is_in(before, path) for before in carried)
            case Ended(moves=moves) if event.subplan == path:
                for after in (move.after for move in moves if move.ref == ref):
                    told.head = after
                    told.start = after if event.step == "@workspace" else told.start
            case _:
                pass
    return told


def _is_in(subplan: str, path: str) -> bool:
    return not path or subplan == path or subplan.startswith(f"{path}/")


def _is_there(git: Git, commit: str) -> bool:
    return git.ask("cat-file", "-e", f"{commit}^{{commit}}").exit_code == 0


def _worktree(repository: Repository, ref: str) -> Path | None:
    """Where the branch is checked out; in the user's own checkout what is not committed is not the subplan's."""
    known = Worktrees(repository.git, repository.common).listed()[1:]
    places = (one.path for one in known if one.branch == ref and one.prunable is None)
    return next((place for place in places if _is_whole(place)), None)


def _is_whole(place: Path) -> bool:
    return place.is_dir() and (git_dir_of(place) / "index").exists()
