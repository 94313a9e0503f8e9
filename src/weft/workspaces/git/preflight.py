"""Checks before slices start: reasons not to start, and facts that may surprise a person.

A *refusal* is a reason not to start: slices would lack files that they need. A *note* is shown, and work starts.
These checks read the list of the repository's files and whatever `git status` reads, but no other contents.
"""

import os
import re
import shlex
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

from msgspec import Struct

from weft.errors import InputError
from weft.workspaces.errors import shown
from weft.workspaces.git.base.commit_object import signing_error
from weft.workspaces.git.base.names import RefNames
from weft.workspaces.git.base.program import Git
from weft.workspaces.git.base.refs import is_ref, tip
from weft.workspaces.git.base.repository import Ends, Repository
from weft.workspaces.git.base.worktree_links import git_dir_at

_SUBMODULE = re.compile(rb"^160000 commit [0-9a-f]+\t([^\0]+)", re.DOTALL)
_UNFINISHED = {
    "rebase-merge": "rebase",
    "rebase-apply": "rebase",
    "MERGE_HEAD": "merge",
    "CHERRY_PICK_HEAD": "cherry-pick",
    "REVERT_HEAD": "revert",
}
"""Files in the git directory of a checkout that show an unfinished operation."""
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]*(/[A-Za-z0-9_][A-Za-z0-9_-]*)*")
"""Names that git certainly allows for a branch."""
_NAMED = 3
"""The number of files that a message names; the others are counted."""


class Concerns(Struct, frozen=True, kw_only=True):
    """The results of the checks."""

    refusals: tuple[str, ...]
    notes: tuple[str, ...]


def concerns(
    repository: Repository, ends: Ends, *, setup: Sequence[str], names: RefNames | None = None
) -> Concerns:
    """Returns refusals and notes; `setup` are the commands for a new worktree, `names` the names to be used."""
    git = repository.git
    entries = _entries(repository, ends.base)
    return Concerns(
        refusals=(
            *_of_names(git, names),
            *_of_histories(git, ends),
            *_of_directory(repository, ends, entries),
            *_of_signing(repository),
            *_of_submodules(entries, setup),
            *_of_case(git, entries),
        ),
        notes=(
            *_of_identity(repository),
            *_of_commits(git, ends),
            *_of_large_files(git, ends.base, entries),
            *_of_sparseness(repository),
            *_of_unfinished(repository),
        ),
    )


def _entries(repository: Repository, base: str) -> list[bytes]:
    """Returns all files of a commit: mode, kind, id and name of each."""
    listed = repository.git.ask("ls-tree", "-r", "-z", "--full-tree", base)
    if listed.exit_code:
        raise InputError(
            f"git cannot list the files of commit {base[:12]} in {repository.top} ({listed.message}); to find the "
            f"damage, type: git fsck"
        )
    return listed.out.split(b"\0")[:-1]


# Refusals


def _of_names(git: Git, names: RefNames | None) -> Iterator[str]:
    if names is None:
        return
    branch = names.branch("")
    if not _PLAIN_NAME.fullmatch(branch) and not git.says_yes("check-ref-format", f"refs/heads/{branch}"):
        yield f"git does not allow a branch {branch!r}; write another `branch_prefix` in the plan, such as weft/"
        return
    parts = branch.split("/")
    # git stores refs as files in directories, so a branch `weft` excludes every branch `weft/…`.
    for end in range(1, len(parts)):
        folder = "/".join(parts[:end])
        if is_ref(git, f"refs/heads/{folder}"):
            yield (
                f"there is a branch {folder!r}, and git allows no {branch!r} beside it; write another "
                f"`branch_prefix` in the plan, or type: git branch -m {folder} {folder}-old"
            )


def _of_histories(git: Git, ends: Ends) -> Iterator[str]:
    # Most plans start from the tip of their target; then there is no need to walk through the history.
    if not _starts_at_target(git, ends) and not git.says_yes("merge-base", ends.base, ends.target_ref):
        yield (
            f"the base {ends.base[:12]} and the target {ends.target!r} have no commit in common, so work that "
            f"starts from the base cannot land on the target; write another `base` or `target` in the plan"
        )


def _starts_at_target(git: Git, ends: Ends) -> bool:
    return tip(git, ends.target_ref) == ends.base


def _of_directory(repository: Repository, ends: Ends, entries: Sequence[bytes]) -> Iterator[str]:
    """Yields a refusal if the commit lacks the plan's directory, in which steps work."""
    inside = os.fsencode(repository.inside.as_posix()) + b"/"
    if repository.inside == Path() or any(entry.partition(b"\t")[2].startswith(inside) for entry in entries):
        return
    if repository.git.says_yes("-C", str(repository.top), "check-ignore", "--quiet", "--", shown(inside)):
        yield (
            f"the plan is in {shown(inside)}, which git ignores, so slices would not have this directory; "
            "move the plan to a directory that git tracks"
        )
        return
    git = f"git -C {shlex.quote(str(repository.top))}"
    yield (
        f"the plan is in {shown(inside)}, and the commit {ends.base[:12]} that slices start from has no such "
        f"directory; to commit it, type: {git} add {shlex.quote(shown(inside))} && {git} commit -m 'add a plan'; "
        "if `base` names another branch, do so there"
    )


def _of_signing(repository: Repository) -> Iterator[str]:
    error = signing_error(repository.git, repository.identity)
    if error:
        yield f"commits must be signed (`merge.sign`, or git's commit.gpgSign), but git cannot sign: {error}"


def _of_submodules(entries: Sequence[bytes], setup: Sequence[str]) -> Iterator[str]:
    submodules = [match[1] for entry in entries if (match := _SUBMODULE.match(entry))]
    if not submodules or any("submodule" in command for command in setup):
        return
    if any(entry.endswith(b"\t.gitmodules") for entry in entries):
        yield (
            f"the repository has submodules ({_some(submodules)}), and a fresh worktree has none of their files; "
            f"write `setup: git submodule update --init --recursive` in the plan"
        )
    else:
        yield (
            f"there are repositories in the repository ({_some(submodules)}) that `.gitmodules` does not name, "
            f"so git cannot check out their files in a worktree; type `git rm --cached {shown(submodules[0])}` "
            f"and commit that"
        )


def _of_case(git: Git, entries: Sequence[bytes]) -> Iterator[str]:
    # `git init` sets this by a trial on the file system.
    if not git.settings.is_true("core.ignorecase"):
        return

    def folded(name: bytes) -> str:
        return os.fsdecode(name).casefold()

    names = sorted((entry.partition(b"\t")[2] for entry in entries), key=folded)
    groups = [list(group) for _, group in groupby(names, key=folded)]
    same = [name for group in groups if len(group) > 1 for name in group]
    if same:
        yield (
            f"some names differ only in case ({_some(same)}), and this file system treats them as the same; "
            f"rename all but one of each, and commit that"
        )


# Notes


def _of_identity(repository: Repository) -> Iterator[str]:
    if repository.identity:
        yield (
            "git has no name and e-mail address for you, so Weft commits as Weft <weft@localhost>; to commit "
            "under your own name, set user.name and user.email with `git config`"
        )


def _of_commits(git: Git, ends: Ends) -> Iterator[str]:
    if _starts_at_target(git, ends):
        return
    count = git.line("rev-list", "--count", ends.base, f"^{ends.target_ref}")
    if count != "0":
        yield (
            f"work starts from {ends.base[:12]}, which is not part of {ends.target!r}: its additional commits "
            f"({_count(int(count), 'commit')}) land there, too"
        )


def _of_large_files(git: Git, base: str, entries: Sequence[bytes]) -> Iterator[str]:
    if not any(entry.endswith(b".gitattributes") for entry in entries):
        return  # the usual case; the search below takes longer than all other checks except `git status`
    pattern = r"^[^#].*[[:space:]]filter=lfs([[:space:]]|$)"
    pathspec = ":(glob)**/.gitattributes"
    if not git.says_yes("grep", "--quiet", "--extended-regexp", "-e", pattern, base, "--", pathspec):
        return
    if not any(git.says_yes("config", "--get", f"filter.lfs.{setting}") for setting in ("smudge", "process")):
        yield (
            "files of this repository are stored in Git LFS, which is not set up here: worktrees will contain "
            "pointer files. To get the files, type: git lfs install"
        )


def _of_sparseness(repository: Repository) -> Iterator[str]:
    if repository.git.settings.is_true("core.sparsecheckout"):
        yield (
            f"the checkout {repository.top} is sparse, and worktrees will have the same part of the files; to "
            f"get all of them, type: git sparse-checkout disable"
        )


def _of_unfinished(repository: Repository) -> Iterator[str]:
    git_dir = git_dir_at(repository.top)
    folder = git_dir or Path(repository.git.line("rev-parse", "--absolute-git-dir"))
    for name, operation in _UNFINISHED.items():
        if (folder / name).exists():
            yield (
                f"a {operation} is unfinished in {repository.top}: slices start without it, and nothing lands in "
                f"that checkout until it is finished; `git status` shows how"
            )


def uncommitted(repository: Repository) -> Iterator[str]:
    """Yields notes about uncommitted files of the checkout, which slices will lack."""
    status = repository.git.do("status", "--porcelain", "-z", "--untracked-files=normal", "--no-renames")
    lines = status.split(b"\0")[:-1]
    untracked = [line[3:] for line in lines if line.startswith(b"??")]
    changed = [line[3:] for line in lines if not line.startswith(b"??")]
    without = "slices start from commits and do not see uncommitted files"
    if changed:
        yield f"{_count(len(changed), 'file')} changed in {repository.top} ({_some(changed)}): {without}"
    if untracked:
        yield (
            f"{len(untracked)} untracked in {repository.top} ({_some(untracked)}): {without}; list files that "
            f"slices need under `copy` or `link`"
        )


def _some(names: Sequence[bytes]) -> str:
    first = ", ".join(shown(name) for name in names[:_NAMED])
    return f"{first} and {len(names) - _NAMED} more" if len(names) > _NAMED else first


def _count(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
