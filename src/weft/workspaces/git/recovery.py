"""Repairs before a plan works in a repository, after a crash or a power loss.

Locks of Weft's killed gits are removed, and interrupted fast-forwards of checkouts are completed. Damaged branches
and notes of the plan are restored, and so are the small files that connect git with the worktree of a slice. All
of it can be derived from the remaining files: from reflogs, from other notes, and from the names of the plan.
Damaged files are kept.
"""

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from weft.safe_files import UnsafeFileError, replace_file
from weft.workspaces.git.base.child_records import LeftoverLocks
from weft.workspaces.git.base.damage import broken_refs, restore_ref
from weft.workspaces.git.base.names import dotted
from weft.workspaces.git.base.refs import tips_of
from weft.workspaces.git.base.worktree_links import clone_of, git_dir_at, text_of
from weft.workspaces.git.checkouts.advance_branch import finish_forwards
from weft.workspaces.git.plan_repository import PlanRepository

_HEAD = re.compile(r"ref: refs/\S+|[0-9a-f]{40}|[0-9a-f]{64}")
_LOGGED = re.compile(r"^[0-9a-f]{40,64} ([0-9a-f]{40,64}) ", re.MULTILINE)
_DAMAGED = ".damaged"
_COMMON = "../.."


class Recovery:
    """Repairs the refs and worktrees of a plan."""

    def __init__(self, plan_repository: PlanRepository) -> None:
        self._repository = plan_repository
        self._names = plan_repository.names
        self._common = plan_repository.repository.common

    def recover(self, paths: Iterable[str]) -> list[str]:
        """Repairs everything and returns sentences for people about it; `paths` are those of all subplans."""
        # The order matters: stale locks block every git below, and a half-written checkout must be finished
        # before its branch is judged.
        LeftoverLocks(self._common).remove()
        finish_forwards(self._repository.git)
        names = {dotted(path): path for path in paths}
        damaged = [sentence for path in names.values() for sentence in self.restore(path)]
        return [*damaged, *self._restore_refs(names)]

    # Refs

    def _restore_refs(self, names: dict[str, str]) -> Iterator[str]:
        plan, git = self._names.plan, self._repository.git
        heads = f"refs/heads/{self._names.prefix}{plan}"
        for ref in broken_refs(git, heads, f"refs/weft/*/{plan}/**", f"refs/weft/*/{plan}"):
            name = ref.removeprefix(f"{heads}/")
            path = names.get(name)
            # A damaged note is only removed: the next step of its slice writes it again. A damaged branch holds
            # work, so more sources than its own reflog are searched.
            others = self._logged_commits(path) if ref.startswith("refs/heads/") and path is not None else ()
            commit = restore_ref(git, ref, others)
            outcome = f"it points to {commit[:12]} again, from its reflog" if commit else "it is removed"
            yield f"the ref {ref} was damaged; {outcome}"

    def _logged_commits(self, path: str) -> list[str]:
        """Returns commits that the branch of a subplan was at, latest first."""
        notes = (self._names.tip(path), self._names.start(path))
        refs = tips_of(self._repository.git, *notes)
        entry = git_dir_at(self._repository.worktree(path))
        logged = _LOGGED.findall(text_of(entry / "logs" / "HEAD") or "") if entry is not None else []
        # The note of the last recorded step is certain to be Weft's own; then the log of the worktree, which a
        # step may have filled with anything; the start is the last resort.
        return [*(refs[note] for note in notes[:1] if note in refs), *reversed(logged), *refs.values()]

    # The registration of a worktree

    def restore(self, path: str) -> list[str]:
        """Restores the files that connect git with the worktree of a subplan; returns sentences about it."""
        place = self._repository.worktree(path)
        if not place.is_dir() or place.is_symlink():
            return []
        entry = git_dir_at(place)
        if entry is None or entry.resolve().parent != self._common.resolve() / "worktrees":
            entry = self._entry_of(place, self._names.head(path))
        if entry is None or not entry.is_dir():
            return []
        damaged = [
            *self._restore_entry(entry, place, self._names.head(path)),
            *self._restore_link(entry, place),
        ]
        return [f"{file} was damaged; Weft has rewritten it" for file in damaged]

    def _restore_entry(self, entry: Path, place: Path, branch: str) -> Iterator[Path]:
        link = str(place.parent.resolve() / place.name / ".git")
        if text_of(entry / "commondir") != _COMMON:
            yield _write(entry / "commondir", _COMMON)
        back = text_of(entry / "gitdir")
        if back is None or "\0" in back or not (entry / back).parent.is_dir() or not back.endswith(".git"):
            yield _write(entry / "gitdir", link)
        if not _HEAD.fullmatch(text_of(entry / "HEAD") or ""):
            yield _write(entry / "HEAD", f"ref: {branch}")

    def _restore_link(self, entry: Path, place: Path) -> Iterator[Path]:
        """Restores a damaged `.git` file, unless a directory is there: that is a repository of its own."""
        link = place / ".git"
        # A power loss leaves a damaged file. Without any, another directory may have taken the worktree's place.
        if not os.path.lexists(link):
            return
        # With a clone, Weft passes git its directories in variables and needs no such file, and a step may have
        # written it.
        if clone_of(entry) is not None or (link.is_dir() and not link.is_symlink()):
            return
        leads_to = git_dir_at(place)
        if leads_to is None or not leads_to.is_dir():
            yield _write(link, f"gitdir: {entry}")

    def _entry_of(self, place: Path, branch: str) -> Path | None:
        """Returns the git directory of a worktree without a usable `.git`; None if that is uncertain."""
        link = str(place.parent.resolve() / place.name / ".git")
        entries = sorted((self._common / "worktrees").glob("*"))
        named = [entry for entry in entries if text_of(entry / "gitdir") == link]
        if named:
            return named[0]
        # Only an entry that has lost its own name can belong to this worktree, and only if exactly one of them
        # is on its branch.
        nameless = [
            entry
            for entry in entries
            if not (text_of(entry / "gitdir") or "").endswith(".git")
            and text_of(entry / "HEAD") == f"ref: {branch}"
        ]
        return nameless[0] if len(nameless) == 1 else None


def _write(file: Path, text: str) -> Path:
    """Writes the file and keeps the old one beside it."""
    if os.path.lexists(file):
        aside = file.with_name(file.name + _DAMAGED)
        # The first damaged version is kept: a second repair would otherwise overwrite it with a file of Weft's
        # own.
        if not os.path.lexists(aside):
            file.rename(aside)
    try:
        replace_file(file, f"{text}\n".encode())
    # A link or a special file is there. `replace_file` refuses to write through it.
    except UnsafeFileError:
        file.unlink()
        replace_file(file, f"{text}\n".encode())
    return file
