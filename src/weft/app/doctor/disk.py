"""Space on the disks that Weft writes to, and what kind of disks they are."""

import errno
import fcntl
import os
import re
import shlex
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from weft.app.doctor.context import Bounds, DoctorContext
from weft.app.doctor.findings import Check, Finding, fine, problem, warning
from weft.app.doctor.plan_refs import find_remains
from weft.engine.messages.run_status import FINISHED
from weft.errors import WeftError

_FAR = frozenset(
    {"9p", "afs", "ceph", "cifs", "fuse.glusterfs", "fuse.s3fs", "fuse.sshfs", "glusterfs", "lustre", "nfs",
     "nfs4", "smb3", "smbfs"}
)  # fmt: skip
_OCTAL = re.compile(r"\\([0-7]{3})")
_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB")
_STEP = 1024


def _places(ground: DoctorContext) -> Iterator[tuple[str, Path]]:
    """What is where; of several on one disk the first."""
    wishes = [
        ("Weft's own files", ground.places.weft),
        *(("worktrees", place.parent) for place in _worktrees(ground)),
        ("temporary files", Path(ground.environ.get("TMPDIR") or tempfile.gettempdir())),
    ]
    seen: set[int] = set()
    for what, wished in dict.fromkeys(wishes):
        place = next(one for one in (wished, *wished.parents) if one.exists())
        device = place.stat().st_dev
        if device not in seen:
            seen.add(device)
            yield what, place


def _worktrees(ground: DoctorContext) -> Iterator[Path]:
    with suppress(WeftError, OSError):  # other checks tell what is wrong there
        remains = ground.once(find_remains)
        for plan in () if remains is None else remains.plans:
            yield from (place for place, _ in plan.places())


def sized(count: int) -> str:
    """In the unit that makes it short."""
    power = min((max(count, 1).bit_length() - 1) // 10, len(_UNITS) - 1)
    return f"{count / _STEP**power:.1f} {_UNITS[power]}" if power else f"{count} {_UNITS[0]}"


def _exactly(count: int) -> str:
    return sized(count) if count < _STEP else f"{sized(count)} ({count:,} bytes)"


def space(ground: DoctorContext) -> Iterator[Finding]:
    for what, place in _places(ground):
        found = os.statvfs(place)
        free = found.f_bavail * found.f_frsize
        words = f"{_exactly(free)} are free for {what} in {place}"
        yield _judged(words, free, ground.bounds.space_problem, ground.bounds.space_warning, place)


def inodes(ground: DoctorContext) -> Iterator[Finding]:
    for what, place in _places(ground):
        found = os.statvfs(place)
        if found.f_files:  # some file systems have as many as fit
            words = f"{found.f_favail:,} more files can be made for {what} in {place}"
            bounds = ground.bounds
            yield _judged(words, found.f_favail, bounds.inodes_problem, bounds.inodes_warning, place)


def _judged(words: str, amount: int, low: int, little: int, place: Path) -> Finding:
    if amount >= little:
        return fine(words)
    tell = problem if amount < low else warning
    return tell(words, command=f"df -h {shlex.quote(str(place))}", subject=str(place))


# --- logs ---


def logs(ground: DoctorContext) -> Iterator[Finding]:
    sizes = {run: _size(run) for run in ground.runs_folder.glob("*")}
    total = sum(sizes.values())
    words = f"{_exactly(total)} of logs in {ground.runs_folder}"
    if total < ground.bounds.logs:
        yield fine(words)
        return
    over = {run: size for run, size in sizes.items() if _is_over(ground, run.name)}
    largest = max(over or sizes, key=lambda run: sizes[run])
    verb = "rm -r" if largest in over else "du -sh"
    yield warning(
        f"{words}; {largest.name} has most",
        command=f"{verb} {shlex.quote(str(largest))}",
        subject=str(ground.runs_folder),
    )


def _is_over(ground: DoctorContext, run: str) -> bool:
    return run in ground.runs and ground.runs[run].record.state in FINISHED


def _size(folder: Path) -> int:
    found = 0
    for place, _, files in os.walk(folder):
        for name in files:
            try:
                found += os.lstat(os.path.join(place, name)).st_blocks * 512  # noqa: PTH118 - far quicker
            except FileNotFoundError:
                continue
    return found


# --- what kind of disk ---


def filesystem(ground: DoctorContext) -> Iterator[Finding]:
    _, place = next(_places(ground))
    kind = kind_of(place)
    if kind in _FAR:
        yield warning(
            f"{place} is on a network file system ({kind})",
            command=f"df -T {shlex.quote(str(place))}",
            subject=str(place),
        )
    refusal = _refusal_to_lock(place)
    if refusal:
        yield problem(
            f"files in {place} cannot be locked: {refusal}",
            command=f"df -T {shlex.quote(str(place))}",
            subject=f"{place}:locks",
        )


def kind_of(place: Path, table: str = "/proc/self/mountinfo") -> str:
    """The kind of file system that a place is on; empty if the system does not tell."""
    real = Path(os.path.realpath(place))
    kinds: dict[Path, str] = {}
    for line in Path(table).read_text(errors="surrogateescape").splitlines():
        fields, _, rest = line.partition(" - ")
        where = _OCTAL.sub(lambda code: chr(int(code[1], 8)), fields.split(" ")[4])
        kinds[Path(where)] = rest.split(" ")[0]
    return next((kinds[one] for one in (real, *real.parents) if one in kinds), "")


def _refusal_to_lock(place: Path) -> str:
    """A lock that many can have at once, on the directory itself: nobody is in its way, and nothing is written."""
    descriptor = os.open(place, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError as error:
        return "" if error.errno == errno.EWOULDBLOCK else str(error.strerror)
    finally:
        os.close(descriptor)
    return ""


_B = Bounds()
CHECKS = (
    Check(
        id="disk-space",
        looks_at=f"free space for `.weft`, worktrees and temporary files: a problem below "
        f"{sized(_B.space_problem)}, a warning below {sized(_B.space_warning)}",
        why="with a full disk steps fail, and nothing can be recorded",
        examine=space,
    ),
    Check(
        id="disk-inodes",
        looks_at=f"how many more files can be made there: a problem below {_B.inodes_problem:,}, a warning below "
        f"{_B.inodes_warning:,}",
        why="each worktree has all files of the repository",
        examine=inodes,
    ),
    Check(
        id="disk-logs",
        looks_at=f"what steps wrote, in `.weft/runs`: a warning from {sized(_B.logs)} on",
        why="logs are kept until you remove them",
        examine=logs,
    ),
    Check(
        id="disk-kind",
        looks_at="`.weft` is on a file system that has locks (else a problem), and that is no network's (a "
        "warning)",
        why="locks keep two coordinators apart, and the journal shares memory between processes of one machine",
        examine=filesystem,
    ),
)
