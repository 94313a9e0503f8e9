"""Commit objects: the one place where Weft makes them, signed where the user's own git would sign.

Whether commits are signed is decided once, when the repository is opened (`Git.signs`). What happens when the
signing program fails depends on the commit:

- REQUIRED, for merges: the commit is not made, and its landing is held with git's words.
- PREFERRED, for the work of a step: that work is paid for, so it is committed without a signature, and a note says
  so. No signed merge can bring it in later: as long as the note applies, such a merge is held, too.
- NEVER, for commits that keep something aside and do not land.

A signing program may wait for a person who is not there, so it has a time limit; then it is killed with all that
it started.
"""

import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path

from msgspec import Struct

from weft.ports.workspaces import HeldError
from weft.safe_files import read_text, replace_file
from weft.workspaces.git.base.program import Git, GitError

SECONDS = 60.0
"""The time limit of a signing program; a person may have to touch a key."""
_RESIGN = "git commit --amend --no-edit --gpg-sign"
_OFF = "to land without signatures, write `merge: {sign: false}` in the plan"


class SigningFailure(StrEnum):
    """What a missing signature means for a commit."""

    NEVER = "never"
    PREFERRED = "preferred"
    REQUIRED = "required"


class CommitDraft(Struct, frozen=True, kw_only=True):
    """The contents of a commit."""

    tree: str
    parents: Sequence[str] = ()
    message: bytes
    env: Mapping[str, str]
    """Variables for git that name author, committer and dates."""


def write_commit(
    git: Git, draft: CommitDraft, *, sign: SigningFailure, once: bool = False, seconds: float = SECONDS
) -> str:
    """Returns the id of a new commit; no ref leads to it yet.

    With `once`, the same draft gives the same commit, also after a crash, although a signature may differ each
    time. Raises `HeldError` if a required signature cannot be made.
    """
    if not git.signs or sign is SigningFailure.NEVER:
        return _write(git, draft)
    if sign is SigningFailure.REQUIRED:
        _refuse_unsigned(git, draft.parents)
    key, notes = (_write(git, draft) if once else ""), _Notes(git, "signed")
    noted = notes.read(key) if once else ""
    if noted and git.says_yes("cat-file", "-e", noted):
        return noted
    try:
        made = _write_signed(git, draft, seconds)
    except GitError as error:
        if sign is SigningFailure.REQUIRED:
            raise HeldError(f"git cannot sign the commit ({_words(error)}); {_remedy(git)}") from error
        made = _write(git, draft)
        _Notes(git, "unsigned").write(made, _words(error))
        return made
    if once:
        notes.write(key, made)
    return made


def signing_error(git: Git, env: Mapping[str, str], *, seconds: float = SECONDS) -> str:
    """Why git cannot sign commits here, in git's words; empty if it can, or does not have to.

    Signs a commit of no files, to which nothing leads.
    """
    if not git.signs or any(key.startswith("gpg.") for key in git.replaced):
        return (
            ""  # which program signs, the repository says; that one runs only when there is something to sign
        )
    tree = git.line("hash-object", "-t", "tree", "-w", "--stdin")
    try:
        _write_signed(git, CommitDraft(tree=tree, message=b"a trial signature\n", env=env), seconds)
    except GitError as error:
        return f"{_words(error)}; {_remedy(git)}"
    return ""


def _write(git: Git, draft: CommitDraft) -> str:
    return os.fsdecode(git.do(*_command(draft), stdin=draft.message, env=draft.env)).strip()


def _write_signed(git: Git, draft: CommitDraft, seconds: float) -> str:
    command = (*_command(draft), "--gpg-sign")
    answer = git.ask_within(seconds, *command, stdin=draft.message, env=draft.env)
    if answer.exit_code:
        raise GitError(command, answer.exit_code, answer.said)
    return answer.text


def _command(draft: CommitDraft) -> tuple[str, ...]:
    parents = (part for parent in draft.parents for part in ("-p", parent))
    return ("-c", "i18n.commitEncoding=UTF-8", "commit-tree", draft.tree, *parents, "-F", "-")


class _Notes:
    """Small files beside the repository's own, one for each commit."""

    def __init__(self, git: Git, kind: str) -> None:
        self._folder = git.common / "weft" / kind

    def read(self, commit: str) -> str:
        try:
            return read_text(self._folder / commit)
        except FileNotFoundError:
            return ""

    def write(self, commit: str, text: str) -> None:
        replace_file(self._folder / commit, text.encode())

    def commits(self) -> list[str]:
        try:
            return sorted(file.name for file in self._folder.iterdir() if not file.suffix)
        except FileNotFoundError:
            return []


# Without a signature


def _refuse_unsigned(git: Git, parents: Sequence[str]) -> None:
    """Raises `HeldError` if a merge would bring in work whose commit could not be signed when it was made."""
    brought = [*_brought(git, parents)]
    if not brought:
        return
    first = brought[-1]
    words = _Notes(git, "unsigned").read(first)
    count = "a commit" if len(brought) == 1 else f"{len(brought)} commits"
    raise HeldError(
        f"git could not sign {count} when the work was done ({words}); "
        f"to sign what is there, type: {_resigning(git, first)}; {_OFF}"
    )


def _brought(git: Git, parents: Sequence[str]) -> Iterator[str]:
    """The commits without a signature that the other parents have and the first one has not, the newest first."""
    noted = set(_Notes(git, "unsigned").commits())
    if noted and len(parents) > 1:
        commits = git.line("rev-list", "--topo-order", *parents[1:], f"^{parents[0]}").splitlines()
        yield from (commit for commit in commits if commit in noted)


def _resigning(git: Git, first: str) -> str:
    """Signs this commit and those after it, in the worktree of the branch that has it."""
    places = git.line("for-each-ref", f"--contains={first}", "--format=%(worktreepath)", "refs/heads")
    folder = next((Path(line) for line in places.splitlines() if line), git.directory)
    rebase = f"rebase --rebase-merges --exec {shlex.quote(_RESIGN)} {first[:12]}^"
    return f"git -C {shlex.quote(str(folder))} {rebase}"


def _remedy(git: Git) -> str:
    """What a person can do about a signing program that fails."""
    trial = f"git -C {shlex.quote(str(git.directory))} commit-tree -S -m trial HEAD^{{tree}}"
    return f"to see it fail, type: {trial}; {_OFF}"


def _words(error: GitError) -> str:
    return " ".join(error.said.split()) or f"exit code {error.exit_code}"
