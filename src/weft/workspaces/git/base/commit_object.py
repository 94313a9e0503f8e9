"""The only place where Weft creates commit objects, signed where the user's own git would sign.

Whether commits are signed is decided once, when the repository is opened (`Git.signs`). If the signing program
fails, the consequence depends on the commit:

- REQUIRED, for merges: the commit is not created, and its landing is held with git's message.
- PREFERRED, for the work of a step: that work is paid for, so it is committed without a signature, and a note
  records that. No signed merge can include it later: as long as the note applies, such a merge is held, too.
- NEVER, for commits that only keep work and do not land.

A signing program may wait for a person who is absent, so it has a time limit. After that it is killed together
with its child processes.
"""

import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path

from msgspec import Struct

from weft.ports.workspaces import HeldError
from weft.safe_files import read_text, replace_file
from weft.workspaces.git.base.commit_file import write_commit_file
from weft.workspaces.git.base.program import Git, GitError

SECONDS = 60.0
"""The time limit of a signing program; a person may have to touch a key."""
_RESIGN = "git commit --amend --no-edit --gpg-sign"
_OFF = "to land without signatures, write `merge: {sign: false}` in the plan"


class SigningFailure(StrEnum):
    """The consequence of a missing signature."""

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

    With `once`, the same draft gives the same commit, even after a crash and although each signature may differ.
    Raises `HeldError` if a required signature cannot be made.
    """
    if not git.signs or sign is SigningFailure.NEVER:
        return _write(git, draft)
    if sign is SigningFailure.REQUIRED:
        _refuse_unsigned(git, draft.parents)
    # The id of the unsigned commit identifies the draft: it is a hash of everything but the signature. A signed
    # commit cannot serve as the key, since gpg and ssh put a time or random bytes into each signature.
    key, notes = (_write(git, draft) if once else ""), _Notes(git, "signed")
    noted = notes.read(key) if once else ""
    # Nothing but the note leads to that commit, so a `git gc` of the user may have removed it since.
    if noted and git.says_yes("cat-file", "-e", noted):
        return noted
    try:
        commit = _write_signed(git, draft, seconds)
    except GitError as error:
        if sign is SigningFailure.REQUIRED:
            raise HeldError(f"git cannot sign the commit ({_words(error)}); {_remedy(git)}") from error
        commit = _write(git, draft)
        _Notes(git, "unsigned").write(commit, _words(error))
        return commit
    if once:
        notes.write(key, commit)
    return commit


def signing_error(git: Git, env: Mapping[str, str], *, seconds: float = SECONDS) -> str:
    """Returns git's message if it cannot sign commits here; empty if it can, or if commits are not signed.

    Signs an empty commit to which no ref leads.
    """
    # A signing program that the repository itself configures runs only when there is something to sign.
    if not git.signs or any(key.startswith("gpg.") for key in git.replaced):
        return ""
    tree = git.line("hash-object", "-t", "tree", "-w", "--stdin")
    try:
        _write_signed(git, CommitDraft(tree=tree, message=b"a trial signature\n", env=env), seconds)
    except GitError as error:
        return f"{_words(error)}; {_remedy(git)}"
    return ""


def _write(git: Git, draft: CommitDraft) -> str:
    commit = write_commit_file(git, draft.tree, draft.parents, draft.message, draft.env)
    return commit or os.fsdecode(git.do(*_command(draft), stdin=draft.message, env=draft.env)).strip()


def _write_signed(git: Git, draft: CommitDraft, seconds: float) -> str:
    command = (*_command(draft), "--gpg-sign")
    answer = git.ask_within(seconds, *command, stdin=draft.message, env=draft.env)
    if answer.exit_code:
        raise GitError(command, answer.exit_code, answer.message)
    return answer.text


def _command(draft: CommitDraft) -> tuple[str, ...]:
    parents = (part for parent in draft.parents for part in ("-p", parent))
    # Messages are UTF-8 here. With another i18n.commitEncoding in the user's configuration, git would declare
    # that encoding in the commit without converting the bytes.
    return ("-c", "i18n.commitEncoding=UTF-8", "commit-tree", draft.tree, *parents, "-F", "-")


class _Notes:
    """Small files in the git directory, one for each commit."""

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
    """Raises `HeldError` if a merge would include a commit that could not be signed."""
    commits = [*_list_unsigned(git, parents)]
    if not commits:
        return
    first = commits[-1]
    words = _Notes(git, "unsigned").read(first)
    count = "a commit" if len(commits) == 1 else f"{len(commits)} commits"
    raise HeldError(
        f"git could not sign {count} when the work was done ({words}); to sign the existing commits, type: "
        f"{_resigning_command(git, first)}; {_OFF}"
    )


def _list_unsigned(git: Git, parents: Sequence[str]) -> Iterator[str]:
    """Yields the unsigned commits that the other parents have and the first one lacks, newest first."""
    noted = set(_Notes(git, "unsigned").commits())
    if noted and len(parents) > 1:
        # Only commits that this merge would bring in count: what the first parent has already, landed earlier
        # and is no longer a reason to hold anything.
        commits = git.line("rev-list", "--topo-order", *parents[1:], f"^{parents[0]}").splitlines()
        yield from (commit for commit in commits if commit in noted)


def _resigning_command(git: Git, first: str) -> str:
    """Returns the command that signs this commit and later ones, in the worktree of their branch."""
    places = git.line("for-each-ref", f"--contains={first}", "--format=%(worktreepath)", "refs/heads")
    folder = next((Path(line) for line in places.splitlines() if line), git.directory)
    rebase = f"rebase --rebase-merges --exec {shlex.quote(_RESIGN)} {first[:12]}^"
    return f"git -C {shlex.quote(str(folder))} {rebase}"


def _remedy(git: Git) -> str:
    """Returns the advice about a failing signing program."""
    trial = f"git -C {shlex.quote(str(git.directory))} commit-tree -S -m trial HEAD^{{tree}}"
    return f"to see it fail, type: {trial}; {_OFF}"


def _words(error: GitError) -> str:
    return " ".join(error.message.split()) or f"exit code {error.exit_code}"
