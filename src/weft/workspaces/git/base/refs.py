"""Refs: where they lead, and how Weft moves them.

Several refs move in one git transaction: all or none, and only from their expected commits. Whether a move
succeeded is not read from git's message but from the refs afterwards. A move that is requested twice therefore
happens once, and an interrupted one is completed.
"""

import hashlib
import os
import re
import zlib
from collections.abc import Sequence
from pathlib import Path

from weft.engine.messages.facts import RefMove
from weft.safe_files import UnsafeFileError, read_file
from weft.workspaces.git.base.lock_files import about_lock, lock_in_the_way
from weft.workspaces.git.base.program import Git, GitError, GitOutput
from weft.workspaces.git.base.ref_files import UnusualRefError, may_have_refs_below, read_head, read_refs
from weft.workspaces.git.base.worktree_links import git_dir_at

_OID = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_SHA1 = 40
_COMMIT = re.compile(rb"commit \d+\0tree ([0-9a-f]+)\n")
_LARGEST = 64 * 1024
"""The size in bytes of a commit object that is read here; git reads larger ones."""
_PATIENCE = "core.filesRefLockTimeout=1000"
"""The milliseconds that git waits for a ref that another git has locked."""


def tip(git: Git, ref: str) -> str | None:
    """Returns the object of a full ref; None if the ref does not exist."""
    try:
        oid = read_refs(git.common, (ref,)).get(ref)
    except UnusualRefError:
        return _tip_by_git(git, ref)
    # A ref file is a few bytes, written and renamed before its commit's data is necessarily on disk. After a
    # power loss it may name an object that does not exist, and git's message about it is the useful one.
    return oid if oid is None or _is_there(git, oid) else _tip_by_git(git, ref)


def _is_there(git: Git, oid: str) -> bool:
    """Returns whether the repository has an object; asks git only if the object has no file of its own."""
    objects = git.common / "objects"
    return (objects / oid[:2] / oid[2:]).is_file() or (
        (objects, oid) in _THERE or _note_there(git, objects, oid)
    )


_THERE: set[tuple[Path, str]] = set()
"""Objects known to exist, by object directory. An object that a ref leads to never disappears."""


def _note_there(git: Git, objects: Path, oid: str) -> bool:
    is_there = git.ask("cat-file", "-e", oid).exit_code == 0
    if is_there:
        _THERE.add((objects, oid))
    return is_there


def _tip_by_git(git: Git, ref: str) -> str | None:
    command = ("show-ref", "--verify", "--hash", "--", ref)
    answer = git.ask(*command)
    if answer.exit_code == 0:
        return answer.text
    # for-each-ref lists a broken ref or warns about it, and does neither for a missing one.
    listed = git.ask("for-each-ref", "--format=%(refname)", ref)
    if listed.exit_code or listed.message or ref in listed.text.splitlines():
        second_answer = git.ask(*command)
        if second_answer.exit_code == 0:  # another process has just created it
            return second_answer.text
        message = f"{ref} is broken: {listed.message or answer.message}; type: weft doctor --fix"
        raise GitError(command, answer.exit_code, message)
    return None


def tips_of(git: Git, *refs: str) -> dict[str, str]:
    """Returns the objects of full refs, without refs that do not exist.

    Unlike that of `tips`, the cost does not depend on how many other refs there are.
    """
    try:
        return read_refs(git.common, refs)
    except UnusualRefError:
        names = frozenset(refs)
        return {ref: oid for ref, oid in tips(git, *refs).items() if ref in names}


def is_ref(git: Git, ref: str) -> bool:
    """Returns whether there is a ref of this full name, even if its object is missing."""
    try:
        return ref in read_refs(git.common, (ref,))
    except UnusualRefError:
        # Exit code 1 is for a ref that does not exist; a damaged ref gives another one.
        return git.ask("show-ref", "--verify", "--quiet", ref).exit_code != 1


def tips_below(git: Git, folder: str) -> dict[str, str]:
    """Returns all refs in a folder; fast if there are none."""
    return tips(git, folder) if may_have_refs_below(git.common, folder) else {}


def tips(git: Git, *prefixes: str) -> dict[str, str]:
    """Returns all refs with these names or below them, with their objects."""
    command = ("for-each-ref", "--format=%(objectname) %(refname)", *prefixes)
    answer = git.ask(*command)
    # git lists the readable refs and exits with 0 even if it had to skip a broken one; only the warning shows it.
    if answer.exit_code or answer.message:
        message = f"{answer.message or 'it gives no reason'}; to repair it, type: weft doctor --fix"
        raise GitError(command, answer.exit_code, message)
    pairs = (line.split(" ", 1) for line in answer.text.splitlines())
    return {ref: oid for oid, ref in pairs}


def is_ancestor(git: Git, ancestor: str, descendant: str) -> bool:
    """Returns whether `ancestor` is in the history of `descendant`, or the same commit."""
    return git.says_yes("merge-base", "--is-ancestor", ancestor, descendant)


def checked_out(git: Git) -> str | None:
    """Returns the ref of the branch that is checked out, which may not exist yet; None if HEAD is detached."""
    git_dir = git_dir_at(git.directory)
    if git_dir is not None:
        try:
            return read_head(git.common, git_dir)
        except UnusualRefError:
            pass
    head = git.ask("symbolic-ref", "--quiet", "HEAD")
    return None if head.exit_code else head.text


def resolved(git: Git, ref: str) -> str | None:
    """Returns the ref that a full ref stands for: itself, unless it is symbolic; None if it does not exist."""
    try:
        return ref if read_refs(git.common, (ref,)) else None
    except UnusualRefError:
        stands_for = git.ask("symbolic-ref", "--quiet", ref)
        return stands_for.text if stands_for.exit_code == 0 else ref if is_ref(git, ref) else None


def loose_commit_of(git: Git, ref: str) -> str | None:
    """Returns the commit of a ref if that commit has a file of its own; None if only git can tell."""
    try:
        oid = read_refs(git.common, (ref,)).get(ref)
    except UnusualRefError:
        return None
    return oid if oid is not None and _tree_of_loose(git.common / "objects", oid) else None


def tree_of(git: Git, commit: str) -> str:
    """Returns the tree of a commit."""
    tree = _tree_of_loose(git.common / "objects", commit)
    if tree is not None:
        return tree
    command = ("rev-parse", "--quiet", "--verify", f"{commit}^{{tree}}")
    answer = git.ask(*command)
    if answer.exit_code:
        raise GitError(
            command, answer.exit_code, f"{commit} is not a commit of this repository {answer.message}"
        )
    return answer.text


def _tree_of_loose(objects: Path, commit: str) -> str | None:
    """Returns the tree of a commit that has a file of its own, as new ones have; None if only git can tell.

    The contents are checked against the id, because a step may have written the file.
    """
    if not _OID.fullmatch(commit):
        return None
    try:
        packed = read_file(objects / commit[:2] / commit[2:], most=_LARGEST)
        # The bound holds for the decompressed size: a few kilobytes can expand to gigabytes.
        content = zlib.decompressobj().decompress(packed, _LARGEST)
    except (OSError, UnsafeFileError, zlib.error):
        return None
    digest = hashlib.new("sha1" if len(commit) == _SHA1 else "sha256", content, usedforsecurity=False)
    header = _COMMIT.match(content)
    return header[1].decode() if header and digest.hexdigest() == commit else None


def move(git: Git, moves: Sequence[RefMove], *, reason: str) -> bool:
    """Moves all these refs. Returns False, and moves none, if a ref is at neither its expected nor its new commit.

    An empty `before` creates a ref, an empty `after` removes it. If both are equal, the others move only if this
    ref is there. Several threads may call this at once.
    """
    if not moves:
        return True
    # `prepare` takes all locks and checks all old values before `commit` changes the first ref. git prints what
    # fails but not which refs had moved, so the result is read from the refs below.
    command = ("-c", _PATIENCE, "update-ref", "-m", reason, "--stdin")
    lines = ("start", *(_line(ref_move) for ref_move in moves), "prepare", "commit", "")
    answer = git.ask(*command, stdin=os.fsencode("\n".join(lines)))
    if answer.exit_code == 0:
        return True
    # A failed transaction has moved nothing, but an earlier attempt may have moved some of these refs: a kill
    # between two calls, or a caller that repeats after a crash. Those count as done, and only the rest moves.
    current = {ref_move.ref: tip(git, ref_move.ref) or "" for ref_move in moves}
    if any(current[ref_move.ref] not in {ref_move.before, ref_move.after} for ref_move in moves):
        return False
    remaining = [
        ref_move
        for ref_move in moves
        if ref_move.before == ref_move.after or current[ref_move.ref] != ref_move.after
    ]
    # No ref explains the failure, so it is git's own: a lock, a full disk, a damaged file.
    if len(remaining) == len(moves):
        raise GitError(command, answer.exit_code, _reason(answer))
    return move(git, remaining, reason=reason)


def _line(ref_move: RefMove) -> str:
    if ref_move.before == ref_move.after:
        return f"verify {ref_move.ref} {ref_move.before}".rstrip()
    if not ref_move.before:
        return f"create {ref_move.ref} {ref_move.after}"
    if not ref_move.after:
        return f"delete {ref_move.ref} {ref_move.before}"
    return f"update {ref_move.ref} {ref_move.after} {ref_move.before}"


def _reason(answer: GitOutput) -> str:
    lock = lock_in_the_way(answer.message)
    return about_lock(lock) if lock else answer.message
