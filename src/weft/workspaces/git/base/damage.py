"""Files of a repository that a power loss has damaged: refs, `packed-refs`, and objects that are empty.

After a power loss a file that was just written can be empty, or hold zeros. git then refuses to work with it, and
mostly also to replace it. What such a file held stands elsewhere: the log of a branch has its last commits. The
damaged file is kept in `weft/damaged` of the repository, but for an empty object, which holds nothing.
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
_LOGGED = re.compile(r"^[0-9a-f]{40,64} ([0-9a-f]{40,64}) ", re.MULTILINE)
_OBJECT = re.compile(r"[0-9a-f]{38}(?:[0-9a-f]{24})?")
_PACKED = re.compile(
    rb"# pack-refs with:[^\n]*\n|(?:[0-9a-f]{40}|[0-9a-f]{64}) refs/[^\s]+\n|\^(?:[0-9a-f]{40}|[0-9a-f]{64})\n"
)
_KEPT = ("weft", "damaged")
DOCTOR = "weft doctor --fix"
"""What to type if something is damaged that Weft can make again."""


# Refs


def broken_refs(git: Git, *prefixes: str) -> list[str]:
    """The refs, among those with these prefixes, that lead nowhere: damaged, or their objects are missing."""
    listed = git.ask("for-each-ref", "--format=%(objectname) %(refname)", *prefixes)
    pairs = [line.split(" ", 1) for line in listed.text.splitlines()]
    asked = os.fsencode("".join(f"{oid}\n" for oid, _ in pairs))
    found = git.ask("cat-file", "--batch-check", stdin=asked).text.splitlines() if pairs else []
    lost = {line.split(" ", 1)[0] for line in found if line.endswith(" missing")}
    return [*_BROKEN.findall(listed.said), *(ref for oid, ref in pairs if oid in lost)]


def last_commit(git: Git, ref: str, others: Sequence[str] = ()) -> str:
    """The last commit of a branch that its log, or one of the others, leads to; empty if there is none."""
    logged = _LOGGED.findall(text_of(git.common / "logs" / ref) or "")
    candidates = dict.fromkeys((*reversed(logged), *others))
    return next((oid for oid in candidates if oid.strip("0") and _is_whole(git, oid)), "")


def _is_whole(git: Git, oid: str) -> bool:
    return git.ask("rev-parse", "--quiet", "--verify", f"{oid}^{{tree}}").exit_code == 0


def restore_ref(git: Git, ref: str, others: Sequence[str] = ()) -> str:
    """Makes a broken ref again; returns the commit it leads to, or nothing if it is gone now."""
    _put_aside(git.common, ref)
    commit = last_commit(git, ref, others)
    now = git.ask("rev-parse", "--quiet", "--verify", ref).text  # `packed-refs` can have an older state of it
    if commit and commit != now:
        git.do("update-ref", "-m", "weft: restored", ref, commit)
    return commit or now


def remedy(git: Git, ref: str) -> str:
    """The command that makes a broken ref of the user again, or one that shows more if its commit is unknown."""
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
    """The numbers of the lines of `packed-refs` that git does not understand; it reads no ref then."""
    lines = _packed(common).splitlines(keepends=True)
    return [number for number, line in enumerate(lines, 1) if not _PACKED.fullmatch(line)]


def _packed(common: Path) -> bytes:
    try:
        return read_file(common / "packed-refs", most=1 << 32)
    except FileNotFoundError:
        return b""


def rebuild_packed_refs(git: Git) -> list[str]:
    """Makes `packed-refs` of the lines that can be read; returns the branches that were made from their logs."""
    common = git.common
    lines = [line for line in _packed(common).splitlines(keepends=True) if _PACKED.fullmatch(line)]
    lock = common / "packed-refs.lock"
    try:
        with lock.open("xb") as file:
            file.writelines(lines)
    except FileExistsError:
        raise WorkspaceError(f"{lock} is there; if no git runs in this repository, type: rm {lock}") from None
    _put_aside(common, "packed-refs")
    lock.rename(common / "packed-refs")
    lost = [ref for ref in _logged_branches(common) if git.ask("show-ref", "--verify", ref).exit_code]
    return [ref for ref in lost if restore_ref(git, ref)]


def _logged_branches(common: Path) -> Iterator[str]:
    logs = common / "logs"
    for file in sorted((logs / "refs" / "heads").rglob("*")):
        if file.is_file():
            yield file.relative_to(logs).as_posix()


# Objects


def empty_objects(common: Path) -> Iterator[Path]:
    """Files of objects that hold nothing: git takes such an object for one that is there, and never writes it."""
    for folder in sorted((common / "objects").glob("[0-9a-f][0-9a-f]")):
        for file in sorted(folder.iterdir()):
            if _OBJECT.fullmatch(file.name) and file.stat().st_size == 0:
                yield file
