"""Checks for damage by a crash or a power loss: refs, objects, an interrupted fast-forward."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from weft.app.doctor.context import DoctorContext
from weft.app.doctor.findings import Check, Finding, problem
from weft.errors import WeftError
from weft.workspaces.git.base.damage import (
    DOCTOR,
    broken_refs,
    damaged_lines,
    empty_objects,
    rebuild_packed_refs,
    remedy,
    restore_ref,
)
from weft.workspaces.git.base.discovery import repository_around
from weft.workspaces.git.base.program import Git
from weft.workspaces.git.base.refs import tips_of
from weft.workspaces.git.checkouts.advance_branch import cut_off_in, finish_forwards

_NOTES = "refs/weft/"


def _git(context: DoctorContext) -> Git | None:
    """Git at the top of the project's checkout; None if there is no repository."""
    top = repository_around(context.places.project)
    try:
        git = Git(top, environ=context.environ) if top is not None else None
        return git if git is not None and git.common.is_dir() else None
    except (WeftError, OSError):  # another check reports it
        return None


# --- refs ---


def refs(context: DoctorContext) -> Iterator[Finding]:
    git = _git(context)
    # Git itself may be unusable here, so these checks read the files of the repository directly where they can.
    if git is None:
        return
    numbers = damaged_lines(git.common)
    if numbers:
        lines = ", ".join(map(str, numbers[:5]))
        yield problem(
            f"git cannot read {git.common / 'packed-refs'}: it is damaged in line {lines}",
            command=DOCTOR,
            subject=str(git.common / "packed-refs"),
            fix=partial(_rebuild, context, git),
        )
        return
    for ref in broken_refs(git, "refs"):
        is_ours = _is_ours(ref)
        yield problem(
            f"the ref {ref} is damaged, or points to a missing object",
            command=DOCTOR if is_ours else remedy(git, ref),
            subject=ref,
            # The user's own refs are never written: only the user knows which commit is the right one.
            fix=partial(_restore, context, git, ref) if is_ours else None,
        )


def _is_ours(ref: str) -> bool:
    return ref.startswith((_NOTES, "refs/heads/weft/"))


def _rebuild(context: DoctorContext, git: Git) -> None:
    with context.alone():
        if damaged_lines(git.common):
            rebuild_packed_refs(git)


def _restore(context: DoctorContext, git: Git, ref: str) -> None:
    with context.alone():
        # Checked again under the lock; a repair by hand in between must not be undone.
        if ref in broken_refs(git, ref):
            name = ref.removeprefix("refs/heads/weft/")
            notes = tips_of(git, f"{_NOTES}tip/{name}", f"{_NOTES}start/{name}")
            restore_ref(git, ref, [*notes.values()])


# --- objects ---


def objects(context: DoctorContext) -> Iterator[Finding]:
    git = _git(context)
    files = [*empty_objects(git.common)] if git is not None else []
    if files:
        count = "an object" if len(files) == 1 else f"{len(files):,} objects"
        yield problem(
            f"the repository has {count} without contents: {files[0]}{' and others' if len(files) > 1 else ''}",
            command=DOCTOR,
            subject=str(files[0].parents[1]),
            fix=partial(_remove, context, files),
        )


def _remove(context: DoctorContext, files: list[Path]) -> None:
    with context.alone():
        for file in files:
            # Git may have written the object again since the check.
            if file.stat().st_size == 0:
                file.unlink()


# --- a fast-forward ---


def forwards(context: DoctorContext) -> Iterator[Finding]:
    git = _git(context)
    for place, branch in cut_off_in(git) if git is not None else ():
        yield problem(
            f"a fast-forward of {branch} in {place} was interrupted",
            command=DOCTOR,
            subject=str(place),
            fix=partial(_finish, context, git.working()) if git is not None else None,
        )


def _finish(context: DoctorContext, git: Git) -> None:
    with context.alone():
        finish_forwards(git)


CHECKS = (
    Check(
        id="git-refs",
        covers="refs that are damaged or point to missing objects; lines of `packed-refs` that git cannot read",
        why="git does not read or write such a ref, and with a damaged `packed-refs` it reads no ref at all",
        fix_description="restores the refs of Weft from reflogs and notes, and `packed-refs` from its readable "
        "lines; "
        "keeps the damaged files in `.git/weft/damaged`",
        examine=refs,
    ),
    Check(
        id="git-objects",
        covers="object files that are empty, as after a power loss",
        why="git believes that these objects exist, so it neither reads nor rewrites them",
        fix_description="removes them; git then writes the object again, or finds it in a pack",
        examine=objects,
    ),
    Check(
        id="fast-forward",
        covers="a fast-forward of a checkout that was interrupted, while no Weft works on it",
        why="some files of your checkout are those of another commit",
        fix_description="finishes it, or reverts it if you have changed one of the files meanwhile",
        examine=forwards,
    ),
)
