"""Checks of the disks that Weft writes to: free space and kind of file system."""

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
from weft.app.doctor.plan_refs import find_repository_refs
from weft.errors import WeftError
from weft.terms import FINISHED

_FAR = frozenset(
    {"9p", "afs", "ceph", "cifs", "fuse.glusterfs", "fuse.s3fs", "fuse.sshfs", "glusterfs", "lustre", "nfs",
     "nfs4", "smb3", "smbfs"}
)  # fmt: skip
_OCTAL = re.compile(r"\\([0-7]{3})")
_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB")
_STEP = 1024


def _places(context: DoctorContext) -> Iterator[tuple[str, Path]]:
    """Yields purposes with a directory, one for each disk."""
    purposes = [
        ("Weft's own files", context.places.weft),
        *(("worktrees", place.parent) for place in _worktrees(context)),
        ("temporary files", Path(context.environ.get("TMPDIR") or tempfile.gettempdir())),
    ]
    devices: set[int] = set()
    for purpose, directory in dict.fromkeys(purposes):
        # The directory may not exist yet; its disk is that of the nearest parent which does.
        place = next(parent for parent in (directory, *directory.parents) if parent.exists())
        device = place.stat().st_dev
        if device not in devices:
            devices.add(device)
            yield purpose, place


def _worktrees(context: DoctorContext) -> Iterator[Path]:
    with suppress(WeftError, OSError):  # other checks report errors there
        repository_refs = context.once(find_repository_refs)
        for plan in () if repository_refs is None else repository_refs.plans:
            yield from (place for place, _ in plan.places())


def size_words(count: int) -> str:
    """Returns a size in the largest unit that fits."""
    power = min((max(count, 1).bit_length() - 1) // 10, len(_UNITS) - 1)
    return f"{count / _STEP**power:.1f} {_UNITS[power]}" if power else f"{count} {_UNITS[0]}"


def _exactly(count: int) -> str:
    return size_words(count) if count < _STEP else f"{size_words(count)} ({count:,} bytes)"


def space(context: DoctorContext) -> Iterator[Finding]:
    for purpose, place in _places(context):
        disk = os.statvfs(place)
        free = disk.f_bavail * disk.f_frsize
        words = f"{_exactly(free)} are free for {purpose} in {place}"
        yield _space_finding(words, free, context.bounds.space_problem, context.bounds.space_warning, place)


def inodes(context: DoctorContext) -> Iterator[Finding]:
    for purpose, place in _places(context):
        disk = os.statvfs(place)
        if disk.f_files:  # 0 on file systems without a fixed number of inodes
            words = f"{disk.f_favail:,} more files can be made for {purpose} in {place}"
            bounds = context.bounds
            yield _space_finding(words, disk.f_favail, bounds.inodes_problem, bounds.inodes_warning, place)


def _space_finding(words: str, amount: int, low: int, little: int, place: Path) -> Finding:
    if amount >= little:
        return fine(words)
    report = problem if amount < low else warning
    return report(words, command=f"df -h {shlex.quote(str(place))}", subject=str(place))


# --- logs ---


def logs(context: DoctorContext) -> Iterator[Finding]:
    sizes = {run: _size(run) for run in context.runs_folder.glob("*")}
    total = sum(sizes.values())
    words = f"{_exactly(total)} of logs in {context.runs_folder}"
    if total < context.bounds.logs:
        yield fine(words)
        return
    over = {run: size for run, size in sizes.items() if _is_over(context, run.name)}
    largest = max(over or sizes, key=lambda run: sizes[run])
    verb = "rm -r" if largest in over else "du -sh"
    yield warning(
        f"{words}; {largest.name} has most",
        command=f"{verb} {shlex.quote(str(largest))}",
        subject=str(context.runs_folder),
    )


def _is_over(context: DoctorContext, run: str) -> bool:
    return run in context.runs and context.runs[run].record.state in FINISHED


def _size(folder: Path) -> int:
    total = 0
    for place, _, files in os.walk(folder):
        for name in files:
            try:
                # Blocks and not the length: a sparse or compressed file takes less space. POSIX counts them in
                # units of 512 bytes.
                total += os.lstat(os.path.join(place, name)).st_blocks * 512  # noqa: PTH118 - far quicker
            except FileNotFoundError:
                continue
    return total


# --- what kind of disk ---


def filesystem(context: DoctorContext) -> Iterator[Finding]:
    _, place = next(_places(context))
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
    """Returns the kind of file system that a place is on; empty if the system does not say."""
    real = Path(os.path.realpath(place))
    kinds: dict[Path, str] = {}
    for line in Path(table).read_text(errors="surrogateescape").splitlines():
        fields, _, rest = line.partition(" - ")
        # The kernel writes blanks in paths as `\040`.
        where = _OCTAL.sub(lambda code: chr(int(code[1], 8)), fields.split(" ")[4])
        kinds[Path(where)] = rest.split(" ")[0]
    # The nearest mount point decides; of several mounts at one point, the last line of the table is visible.
    return next((kinds[parent] for parent in (real, *real.parents) if parent in kinds), "")


def _refusal_to_lock(place: Path) -> str:
    """Tries a shared lock on the directory itself, which blocks no other process and writes nothing."""
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
        covers=f"free space for `.weft`, worktrees and temporary files: a problem below "
        f"{size_words(_B.space_problem)}, a warning below {size_words(_B.space_warning)}",
        why="on a full disk, steps fail and nothing can be recorded",
        examine=space,
    ),
    Check(
        id="disk-inodes",
        covers=f"how many more files can be created there: a problem below {_B.inodes_problem:,}, a warning "
        f"below {_B.inodes_warning:,}",
        why="each worktree has all files of the repository",
        examine=inodes,
    ),
    Check(
        id="disk-logs",
        covers=f"the output of steps, in `.weft/runs`: a warning from {size_words(_B.logs)} on",
        why="logs are kept until you remove them",
        examine=logs,
    ),
    Check(
        id="disk-kind",
        covers="`.weft` is on a file system with locks (else a problem) that is not a network file system "
        "(else a warning)",
        why="locks keep two coordinators apart, and the journal shares memory between processes of one machine",
        examine=filesystem,
    ),
)
