"""Repository files that a power loss has damaged: refs, `packed-refs` and empty objects.

After a power loss, a recently written file can be empty or hold zeros. git then refuses to read it, and usually
also to replace it. Its contents can be recovered elsewhere: the reflog of a branch has its last commits. Weft
moves damaged files to `weft/damaged` of the repository, except empty objects, which hold nothing.
"""

import os
import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from weft.safe_files import read_file
from weft.workspaces.errors import WorkspaceError
from weft.workspaces.git.base.program import Git
from weft.workspaces.git.base.worktree_links import text_of

_BROKEN = re.compile(r"^warning: ignoring (?:broken|dangling) (?:sym)?ref (\S+)$", re.MULTILINE)
_LOGGED = r"(?m:^[0-9a-f]{40,64} ([0-9a-f]{40,64}) )"
_OBJECT = r"[0-9a-f]{38}(?:[0-9a-f]{24})?"
_PACKED = (
    rb"# pack-refs with:[^\n]*\n|(?:[0-9a-f]{40}|[0-9a-f]{64}) refs/[^\s]+\n"
    rb"|\^(?:[0-9a-f]{40}|[0-9a-f]{64})\n"
)
_KEPT = ("weft", "damaged")
DOCTOR = "weft doctor --fix"
"""The command that repairs damage that Weft can repair."""


# Refs


def broken_refs(git: Git, *prefixes: str) -> list[str]:
    """Returns the refs with these prefixes that are unreadable or lead to missing objects."""
    # git does not list a ref that it cannot parse; it only warns. A ref whose object is missing is listed like
    # any other. So both the warnings and the objects have to be checked.
    listed = git.ask("for-each-ref", "--format=%(objectname) %(refname)", *prefixes)
    pairs = [line.split(" ", 1) for line in listed.text.splitlines()]
    ids = os.fsencode("".join(f"{oid}\n" for oid, _ in pairs))
    lines = git.ask("cat-file", "--batch-check", stdin=ids).text.splitlines() if pairs else []
    lost = {line.split(" ", 1)[0] for line in lines if line.endswith(" missing")}
    return [*_BROKEN.findall(listed.message), *(ref for oid, ref in pairs if oid in lost)]


def last_commit(git: Git, ref: str, others: Sequence[str] = ()) -> str:
    """Returns the newest commit in the branch's reflog, or else in `others`, that exists; empty if none does."""
    logged = re.findall(_LOGGED, text_of(git.common / "logs" / ref) or "")
    # A power loss can leave a reflog entry whose commit never reached the disk, so the newest entry is not
    # always usable.
    candidates = dict.fromkeys((*reversed(logged), *others))
    return next((oid for oid in candidates if oid.strip("0") and _is_whole(git, oid)), "")


def _is_whole(git: Git, oid: str) -> bool:
    return git.ask("rev-parse", "--quiet", "--verify", f"{oid}^{{tree}}").exit_code == 0


def restore_ref(git: Git, ref: str, others: Sequence[str] = ()) -> str:
    """Restores a broken ref; returns its commit, or an empty string if the ref is gone now."""
    _put_aside(git.common, ref)
    commit = last_commit(git, ref, others)
    # Without its loose file, the ref may still resolve: `packed-refs` can hold an older commit of it.
    current = git.ask("rev-parse", "--quiet", "--verify", ref).text
    if commit and commit != current:
        git.do("update-ref", "-m", "weft: restored", ref, commit)
    return commit or current


def remedy(git: Git, ref: str) -> str:
    """Returns the command that restores a broken ref of the user, or `git fsck` if its commit is unknown."""
    commit = last_commit(git, ref) if ref.startswith("refs/") else ""
    if not commit:
        return "git fsck"
    file, update = git.common / ref, f"git update-ref {shlex.quote(ref)} {commit}"
    return f"rm {shlex.quote(str(file))} && {update}" if file.is_file() else update


def _put_aside(common: Path, name: str) -> None:
    file = common / name
    if os.path.lexists(file):
        folder = common.joinpath(*_KEPT)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        file.rename(folder / name.replace("/", "."))


# Packed refs


def damaged_lines(common: Path) -> list[int]:
    """Returns the line numbers of `packed-refs` that git cannot parse. One such line makes git read no ref."""
    lines = _read_packed(common).splitlines(keepends=True)
    return [number for number, line in enumerate(lines, 1) if not re.fullmatch(_PACKED, line)]


def _read_packed(common: Path) -> bytes:
    try:
        return read_file(common / "packed-refs", most=1 << 32)
    except FileNotFoundError:
        return b""


def rebuild_packed_refs(git: Git) -> list[str]:
    """Rewrites `packed-refs` with its readable lines; returns the branches restored from reflogs."""
    common = git.common
    lines = [line for line in _read_packed(common).splitlines(keepends=True) if re.fullmatch(_PACKED, line)]
    lock = common / "packed-refs.lock"
    try:
        # `packed-refs.lock` is git's own lock. While it exists no git can pack or delete refs, so no line is
        # lost between reading the file and replacing it.
        with lock.open("xb") as file:
            file.writelines(lines)
    except FileExistsError:
        raise WorkspaceError(f"{lock} exists; if no git runs in this repository, type: rm {lock}") from None
    _put_aside(common, "packed-refs")
    lock.rename(common / "packed-refs")
    # Reflogs outlive a damaged `packed-refs`. A branch that has a reflog, but neither a line nor a file, was on
    # a damaged line.
    lost = [ref for ref in _logged_branches(common) if git.ask("show-ref", "--verify", ref).exit_code]
    return [ref for ref in lost if restore_ref(git, ref)]


def _logged_branches(common: Path) -> Iterator[str]:
    logs = common / "logs"
    for file in sorted((logs / "refs" / "heads").rglob("*")):
        if file.is_file():
            yield file.relative_to(logs).as_posix()


# Objects


def empty_objects(common: Path) -> Iterator[Path]:
    """Yields empty object files. git takes such an object for present and never writes it again."""
    for folder in sorted((common / "objects").glob("[0-9a-f][0-9a-f]")):
        for file in sorted(folder.iterdir()):
            if re.fullmatch(_OBJECT, file.name) and file.stat().st_size == 0:
                yield file
