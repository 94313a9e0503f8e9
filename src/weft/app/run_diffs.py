"""What a subplan has changed since it began: from where its branch began to where it is now.

Of a slice whose worktree is there, all that is in it counts, committed or not: who looks at a slice at work wants
to see the files that it has just made. What git ignores does not count, nor what was brought there. Git shows such
files only if its index has heard of them, so it gets a copy of the index that has.

Another run of the same plan gives its slices new branches, and `weft clean` removes them. What a slice did can be
seen even then, as the journal holds where its branch was.
"""

import os
import shutil
import tempfile
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from weft.app.journals import Book
from weft.app.run_repository import names_of
from weft.app.run_steps import WHOLE, chosen
from weft.engine.run.facts import Ended, RunStarted
from weft.errors import InputError
from weft.plan.model import Plan
from weft.workspaces.git.linked import git_dir_of
from weft.workspaces.git.names import Names
from weft.workspaces.git.program import Git, GitError
from weft.workspaces.git.refs import tip
from weft.workspaces.git.repository import Repository, open_repository
from weft.workspaces.git.sparse import settings
from weft.workspaces.git.unsaved import Unsaved, unsaved
from weft.workspaces.git.worktrees import Worktrees

_WORDS = {"A": "added", "D": "deleted"}
"""Anything else is `changed`."""
_PLAIN = ("--no-color", "--no-ext-diff", "--no-textconv", "--src-prefix=a/", "--dst-prefix=b/")
"""For programs, such as `git apply`, a diff is the same whatever the user likes to see."""


class FileChange(Struct, frozen=True):
    path: str
    status: str
    """added, changed or deleted."""
    added: int | None
    """Lines; None if it is no text."""
    removed: int | None


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


class View(Struct, frozen=True, kw_only=True):
    """How git is asked to compare."""

    git: Git
    ends: tuple[str, ...]
    files: tuple[str, ...] = ()
    env: Mapping[str, str] = {}
    unsaved: Unsaved | None = None

    def command(self, *options: str) -> tuple[str, ...]:
        return ("diff", *options, *self.ends, "--", *self.files)

    def plain(self, *options: str) -> bytes:
        """As it is for programs."""
        return self.git.do(*self.command(*_PLAIN, *options), env=self.env)

    def changes(self) -> list[FileChange]:
        fields = self.git.do(
            *self.command("--raw", "--numstat", "-z", "--no-renames", "--no-ext-diff", "--abbrev=40"),
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
    files = (".", *(f":(exclude,top,literal){os.fsdecode(path)}" for path in _left_out(found)))
    env = settings(found.git_dir)
    if not any(one.is_new and not one.staged for one in found.differences):
        yield View(git=diff.git, ends=(diff.start,), files=files, env=env, unsaved=found)
        return
    with tempfile.TemporaryDirectory(prefix="weft-diff-") as folder:
        index = shutil.copy(found.git_dir / "index", folder)
        env = {**env, "GIT_INDEX_FILE": str(index)}
        _tell_of_new_files(diff.git, files, env)
        yield View(git=diff.git, ends=(diff.start,), files=files, env=env, unsaved=found)


def _left_out(found: Unsaved) -> Sequence[bytes]:
    """What was brought; and repositories, of which git cannot say more than that they are there."""
    return [*found.brought, *(one.path for one in found.differences if one.is_repository)]


def _tell_of_new_files(git: Git, files: Sequence[str], env: Mapping[str, str]) -> None:
    command = ("add", "--intent-to-add", "--sparse", "--ignore-errors", "--", *files)
    answer = git.ask(*command, env=env)
    if answer.exit_code not in {0, 1}:  # 1: a file is gone again
        raise GitError(command, answer.exit_code, answer.said)


# Finding


def find_diff(book: Book, name: str | None, *, environ: Mapping[str, str] = os.environ) -> Diff:
    """Of a subplan, `store/model`, or of the whole plan; raises `InputError` if there is nothing to compare."""
    plan = book.plan()
    path = _path(book, plan, name or WHOLE)
    repository = open_repository(Path(book.run.directory), environ=environ)
    names = names_of(plan)
    ends = _ends_now(book, repository.git, names, path) or _ends_then(book, repository.git, names, path)
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


def _path(book: Book, plan: Plan, name: str) -> str:
    subplan, colon, _ = name.partition(":")
    if colon:
        raise InputError(f"what changed is known of subplans, not of steps; type: weft diff {subplan}")
    rows = chosen(plan, name).rows
    path, is_leaf = next(iter(rows)), plan.outline.is_leaf
    kinds = {plan.scopes[row].settings.isolation for row in rows.values() if is_leaf(row)}
    if "worktree" in kinds:
        return path
    if "dir" in kinds:
        place = book.places.work(plan.id)
        raise InputError(
            f"{path or 'this plan'} has no branch to compare, as it runs with `isolation: dir`; its files are in {place}"
        )
    raise InputError(
        f"{path or 'this plan'} has no branch to compare, as it works in the plan's own directory (`isolation: none`); "
        "to see what has changed there, type: git diff"
    )


class _Ends(Struct, frozen=True, kw_only=True):
    start: str
    head: str
    is_past: bool = False
    """Whether the branch is not there, or not this run's, any more."""


def _ends_now(book: Book, git: Git, names: Names, path: str) -> _Ends | None:
    newest = next(one.run for one in book.journal.runs(book.run.plan) if _has_begun(book, one.run))
    if newest != book.run.run:
        return None
    start, head = tip(git, names.start(path)), tip(git, names.head(path))
    return None if start is None or head is None else _Ends(start=start, head=head)


def _has_begun(book: Book, run: str) -> bool:
    """One that died before anything happened in it never was."""
    return run == book.run.run or any(True for _ in book.journal.facts(run))


def _ends_then(book: Book, git: Git, names: Names, path: str) -> _Ends:
    """As the journal has them. The branch of a group follows others, so of that it does not tell enough."""
    start = head = ""
    begun = False
    for one in book.journal.events(book.run.run):
        event = one.event
        begun |= event.kind == "step_started" and _is_in(event.subplan, path)
        moves = event.fact.moves if isinstance(event.fact, Ended | RunStarted) else ()
        for move in moves:
            if move.ref == names.head(path) and event.subplan == path:
                head = move.after
                start = move.after if event.step == "@workspace" else start
    if start and head and _is_there(git, start) and _is_there(git, head):
        return _Ends(start=start, head=head, is_past=True)
    raise InputError(_nothing(path, names.branch(path), begun=begun))


def _is_in(subplan: str, path: str) -> bool:
    return not path or subplan == path or subplan.startswith(f"{path}/")


def _is_there(git: Git, commit: str) -> bool:
    return git.ask("cat-file", "-e", f"{commit}^{{commit}}").exit_code == 0


def _nothing(path: str, branch: str, *, begun: bool) -> str:
    what = path or "the plan"
    if not begun:
        return f"{what} has not begun in this run, so it has changed nothing; to see what has, type: weft events"
    search = f"--grep='^Weft-Subplan: {path}'" if path else "--grep='^Weft-Plan: '"
    return (
        f"the branch {branch} of {what} is gone, or not this run's any more; what landed of it is found by: "
        f"git log {search}"
    )


def _worktree(repository: Repository, ref: str) -> Path | None:
    """Where the branch is checked out; in the user's own checkout what is not committed is not the subplan's."""
    known = Worktrees(repository.git, repository.common).listed()[1:]
    places = (one.path for one in known if one.branch == ref and one.prunable is None)
    return next((place for place in places if _is_whole(place)), None)


def _is_whole(place: Path) -> bool:
    return place.is_dir() and (git_dir_of(place) / "index").exists()
