"""Whatever fails: the run continues, or ends with a clear message and can be resumed, with the same result."""

import errno
import os
import shutil
import struct
from collections import Counter
from collections.abc import Callable
from functools import partial
from itertools import count
from pathlib import Path
from sqlite3 import SQLITE_FULL, SQLITE_IOERR
from typing import Any

import pytest
from msgspec.structs import replace

from e2e.crashes import Driver, Traces, named, traces, undisturbed
from e2e.projects import Project
from e2e.rich import SMALL
from hosts.places import with_fault
from store.books import wal_of
from store.faulty_vfs import Disk, faulty_disk
from weft.errors import WeftError
from weft.hosts import local
from weft.hosts.link import SupervisorLink
from weft.hosts.local import LocalHost
from weft.store.sqlite import SqliteJournal

CHUNKS = 2


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Traces:
    return undisturbed(tmp_path_factory.mktemp("whole") / "project", SMALL)


class Nth:
    """Wraps a function so that at its n-th call something else is done."""

    def __init__(self, number: int, instead: Callable[..., Any]) -> None:
        self._left = number
        self._instead = instead
        self.has_come = False

    def of(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*arguments: Any, **named: Any) -> Any:
            self._left -= 1
            if self._left == 0:
                self.has_come = True
                return self._instead(call, *arguments, **named)
            return call(*arguments, **named)

        return wrapped


def check_repeats(project: Project, whole: Traces, *outcomes: str) -> None:
    """The same end; a step ran again only after one of these."""
    lines = traces(project)
    assert replace(lines, steps=dict.fromkeys(lines.steps, 1)) == whole
    finished = project.story().of("step_finished")
    again = Counter(
        named(item.subplan, item.step, item.attempt) for item in finished if item.outcome in outcomes
    )
    assert [name for name, times in lines.steps.items() if times > 1 + again[name]] == []


# --- the journal ---


@pytest.mark.parametrize("chunk", range(CHUNKS))
@pytest.mark.parametrize(
    ("code", "message"), [(SQLITE_FULL, "the disk is full"), (SQLITE_IOERR, "could not read or write it")]
)
def test_the_nth_write_of_the_journal_fails(
    folder: Path, whole: Traces, code: int, message: str, chunk: int
) -> None:
    """No order is carried out before it is written; running jobs continue and are taken over."""
    for number in count(chunk + 1, CHUNKS):
        project = Project(folder / str(number)).plan(SMALL)
        with faulty_disk() as disk, pytest.MonkeyPatch.context() as patch:
            nth = Nth(number, partial(from_now_on, disk, code))
            patch.setattr(SqliteJournal, "append", nth.of(SqliteJournal.append))
            complaint = complaint_of(project)
        assert (message in complaint) == nth.has_come
        project.run()
        assert traces(project) == whole
        project.end()
        if not nth.has_come:
            break


def from_now_on(disk: Disk, code: int, call: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    disk.fail(1, times=1000, code=code)
    return call(*arguments, **named)


def complaint_of(project: Project) -> str:
    """Returns the error that ended a run; nothing if it ended normally."""
    try:
        project.run()
    except (WeftError, OSError) as error:
        return str(error).lower()
    return ""


# --- the connection to the supervisor ---


def breaks(call: Callable[..., Any], link: SupervisorLink, *_: object) -> None:
    """What was to go through is lost, and with it the connection."""
    link._transport.abort()


# One that breaks just before the end leaves a connection that was about to be made to the garbage collector.
@pytest.mark.filterwarnings("ignore:unclosed <socket", "ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("chunk", range(CHUNKS))
@pytest.mark.parametrize("method", ["_flush", "data_received"])
def test_the_connection_breaks_at_the_nth_message(
    folder: Path, whole: Traces, method: str, chunk: int
) -> None:
    for number in count(chunk + 1, CHUNKS):
        project = Project(folder / str(number)).plan(SMALL)
        nth = Nth(number, breaks)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(SupervisorLink, method, nth.of(getattr(SupervisorLink, method)))
            project.run()
        assert traces(project) == whole
        project.end()
        if not nth.has_come:
            break


# --- the supervisor ---


@pytest.mark.parametrize("number", range(2, 60, 8))
@pytest.mark.parametrize("kind", ["EMFILE", "ENOSPC", "EIO", "before", "after"])
def test_the_supervisor_fails(folder: Path, whole: Traces, kind: str, number: int) -> None:
    project = Project(folder / "project").plan(SMALL)
    program = with_fault(f"{kind}:{number}:{project.outside}/fired")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(local, "LocalHost", partial(LocalHost, program=program))
        project.run()
    check_repeats(project, whole, "lost", "infra")
    project.end()


# --- the disk ---


def is_full(*_: object, **__: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("chunk", range(CHUNKS))
@pytest.mark.parametrize("call", ["fsync", "rename"])
def test_the_disk_is_full_at_the_nth_call(folder: Path, whole: Traces, call: str, chunk: int) -> None:
    for number in count(chunk + 1, CHUNKS):
        project = Project(folder / str(number)).plan(SMALL)
        nth = Nth(number, is_full)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(os, call, nth.of(getattr(os, call)))
            complaint = complaint_of(project)
        assert complaint == "" or "no space left on device" in complaint
        project.run()
        check_repeats(project, whole, "infra")
        project.end()
        if not nth.has_come:
            break


# --- power ---


class Wal:
    """Where in it transactions end."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        (page,) = struct.unpack(">I", data[8:12])
        self.frames: list[int] = []
        """Where each ends."""
        self.commits: list[int] = []
        for at in range(32, len(data) - page - 23, page + 24):
            if data[at + 8 : at + 16] != data[16:24]:  # of an earlier use of the file
                break
            self.frames.append(at + 24 + page)
            if data[at + 4 : at + 8] != b"\0\0\0\0":
                self.commits.append(at + 24 + page)

    def cuts(self) -> list[int]:
        """Within the last transaction: the end of each page, and some in between."""
        begin, end = self.commits[-2:]
        return sorted({begin, *range(begin, end, 1999), *(at for at in self.frames if begin < at < end)})


@pytest.mark.parametrize("number", [3, 7, 12])
def test_the_power_fails_while_the_journal_is_written(folder: Path, whole: Traces, number: int) -> None:
    """The last transaction is cut anywhere; nothing that follows from it has been done yet."""
    work, saved = folder / "work", folder / "saved"
    work.mkdir()
    project = Project(work / "project").plan(SMALL)
    driver = Driver()
    assert driver.run(project, "machine", "append.after", number) == "killed"
    assert driver.close() == ""
    wal_file = wal_of(project.root / ".weft" / "weft.db")
    wal = Wal(wal_file.read_bytes())
    copy(work, saved)
    for cut in wal.cuts():
        wal_file.write_bytes(wal.data[:cut])
        project.run()
        check_repeats(project, whole, "lost")
        project.end()
        shutil.rmtree(work)
        copy(saved, work)


def copy(folder: Path, there: Path) -> None:
    shutil.copytree(folder, there, ignore=shutil.ignore_patterns("socket"))
