"""Refs: where they lead, and how they are moved: all of them or none, and only from where they are known to be.

A move is one transaction of git's. Whether it was done is not read from what git says, but from where the refs are
afterwards: so a move that is asked for twice is done once, and one that was cut off half way is finished.
"""

import os
from collections.abc import Sequence
from pathlib import Path

from weft.engine.messages.facts import RefMove
from weft.workspaces.git.base.lock_files import about_lock, lock_in_the_way
from weft.workspaces.git.base.program import Git, GitError, GitOutput
from weft.workspaces.git.base.ref_files import UnusualRefError, may_have_refs_below, read_refs

_PATIENCE = "core.filesRefLockTimeout=1000"
"""So many milliseconds another git may take for a ref that we want to move."""


def tip(git: Git, ref: str) -> str | None:
    """The object that a full ref leads to; None if there is no such ref."""
    try:
        oid = read_refs(git.common, (ref,)).get(ref)
    except UnusualRefError:
        return _tip_by_git(git, ref)
    return oid if oid is None or _is_there(git, oid) else _tip_by_git(git, ref)


def _is_there(git: Git, oid: str) -> bool:
    """Whether the repository has an object; git is asked only about one that is not in a file of its own."""
    objects = git.common / "objects"
    return (objects / oid[:2] / oid[2:]).is_file() or (
        (objects, oid) in _THERE or _note_there(git, objects, oid)
    )


_THERE: set[tuple[Path, str]] = set()
"""Objects that are known to be there, by the place of all objects: none that a ref leads to ever goes."""


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
    # A ref that leads nowhere is listed, or git complains about it; of one that is missing there is no word.
    listed = git.ask("for-each-ref", "--format=%(refname)", ref)
    if listed.exit_code or listed.said or ref in listed.text.splitlines():
        again = git.ask(*command)
        if again.exit_code == 0:  # it has been made in between
            return again.text
        said = f"{ref} is broken: {listed.said or answer.said}; type: weft doctor --fix"
        raise GitError(command, answer.exit_code, said)
    return None


def tips_of(git: Git, *refs: str) -> dict[str, str]:
    """The objects that full refs lead to; a ref that does not exist is left out.

    The cost does not depend on how many other refs there are, unlike that of `tips`.
    """
    try:
        return read_refs(git.common, refs)
    except UnusualRefError:
        wanted = frozenset(refs)
        return {ref: oid for ref, oid in tips(git, *refs).items() if ref in wanted}


def tips_below(git: Git, folder: str) -> dict[str, str]:
    """All refs whose names begin with that of a folder; quick where there are none."""
    return tips(git, folder) if may_have_refs_below(git.common, folder) else {}


def tips(git: Git, *prefixes: str) -> dict[str, str]:
    """All refs whose names are one of these, or lie below it, and the objects that they lead to."""
    command = ("for-each-ref", "--format=%(objectname) %(refname)", *prefixes)
    answer = git.ask(*command)
    if answer.exit_code or answer.said:
        said = f"{answer.said or 'it gives no reason'}; to have repaired what can be, type: weft doctor --fix"
        raise GitError(command, answer.exit_code, said)
    pairs = (line.split(" ", 1) for line in answer.text.splitlines())
    return {ref: found for found, ref in pairs}


def is_ancestor(git: Git, one: str, other: str) -> bool:
    """Whether all that led to one commit led to the other too, or they are the same."""
    return git.says_yes("merge-base", "--is-ancestor", one, other)


def tree_of(git: Git, commit: str) -> str:
    command = ("rev-parse", "--quiet", "--verify", f"{commit}^{{tree}}")
    answer = git.ask(*command)
    if answer.exit_code:
        raise GitError(command, answer.exit_code, f"{commit} is no commit of this repository {answer.said}")
    return answer.text


def move(git: Git, moves: Sequence[RefMove], *, reason: str) -> bool:
    """Move all these refs; False if one is neither where it is expected nor where it is to be: then none moves.

    An empty `before` makes a ref, an empty `after` removes it; if both are the same, the others move only if it is
    there. Several threads may do this at once.
    """
    if not moves:
        return True
    command = ("-c", _PATIENCE, "update-ref", "-m", reason, "--stdin")
    lines = ("start", *(_line(wish) for wish in moves), "prepare", "commit", "")
    answer = git.ask(*command, stdin=os.fsencode("\n".join(lines)))
    if answer.exit_code == 0:
        return True
    now = {wish.ref: tip(git, wish.ref) or "" for wish in moves}
    if any(now[wish.ref] not in {wish.before, wish.after} for wish in moves):
        return False
    left = [wish for wish in moves if wish.before == wish.after or now[wish.ref] != wish.after]
    if len(left) == len(moves):
        raise GitError(command, answer.exit_code, _reason(answer))
    return move(git, left, reason=reason)


def _line(wish: RefMove) -> str:
    if wish.before == wish.after:
        return f"verify {wish.ref} {wish.before}".rstrip()
    if not wish.before:
        return f"create {wish.ref} {wish.after}"
    if not wish.after:
        return f"delete {wish.ref} {wish.before}"
    return f"update {wish.ref} {wish.after} {wish.before}"


def _reason(answer: GitOutput) -> str:
    lock = lock_in_the_way(answer.said)
    return about_lock(lock) if lock else answer.said
