"""Whatever fails, and wherever: what was acknowledged is there, and nothing is there in part."""

import resource
import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from itertools import pairwise
from pathlib import Path
from sqlite3 import SQLITE_FULL, SQLITE_IOERR

import pytest

from contracts.journal_contract import ask
from store.books import add, copy_of, opened, quick_folder, stored, wal_of, with_small_pages
from store.coordinators import Coordinator
from store.faulty_vfs import Disk, faulty_disk
from weft.engine.messages.event_codec import kind_of
from weft.errors import InputError, WeftError
from weft.store.sqlite import open_journal, open_reader

BEFORE, TURN = ["a", "b"], ["c", "d", "e"]


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with quick_folder() as folder:
        yield folder


# --- a WAL that is not whole ---


class Cut:
    """A journal whose last transaction is TURN: its file, its WAL, and where in that it begins."""

    def __init__(self, folder: Path) -> None:
        self.path = with_small_pages(folder / "weft.db")
        self.folder = folder
        with opened(self.path, with_run=True) as journal:
            add(journal, BEFORE)
            self.begins = wal_of(self.path).stat().st_size
            add(journal, TURN)
            self.wal = wal_of(self.path).read_bytes()
            # Taken while it is open: with the end of the last connection the WAL goes.
            self.path = copy_of(self.path, folder / "taken", wal=b"")

    def reopened(self, wal: bytes) -> Path:
        return copy_of(self.path, self.folder / "reopened", wal=wal)


@pytest.fixture(scope="module")
def cut(folder: Path) -> Cut:
    place = folder / "cut"
    place.mkdir()
    return Cut(place)


def test_cut_anywhere_within_its_last_transaction_it_holds_all_before_it(cut: Cut) -> None:
    assert len(cut.wal) - cut.begins > 512  # more than one page: there is something to be torn
    for end in range(cut.begins, len(cut.wal)):
        assert stored(cut.reopened(cut.wal[:end])) == BEFORE, f"cut at {end}"
    assert stored(cut.reopened(cut.wal)) == BEFORE + TURN


def test_with_any_byte_of_its_last_transaction_changed_it_holds_all_before_it(cut: Cut) -> None:
    for at in range(cut.begins, len(cut.wal)):
        damaged = bytearray(cut.wal)
        damaged[at] ^= 0x10
        assert stored(cut.reopened(bytes(damaged))) == BEFORE, f"changed at {at}"


def test_with_zeros_instead_of_its_end_it_holds_all_before_it(cut: Cut) -> None:
    """As some file systems leave a file after a power cut."""
    last = len(cut.wal.rstrip(b"\0"))
    for end in range(cut.begins, last):
        assert stored(cut.reopened(cut.wal[:end].ljust(len(cut.wal), b"\0"))) == BEFORE, f"zeros from {end}"


def test_garbage_behind_its_end_is_no_part_of_it(cut: Cut) -> None:
    assert stored(cut.reopened(cut.wal + b"\xa5" * 5000)) == BEFORE + TURN


def test_after_a_cut_one_can_write_again(cut: Cut) -> None:
    for end in range(cut.begins, len(cut.wal), 97):
        path = cut.reopened(cut.wal[:end])
        with opened(path) as journal:
            assert journal.epoch == 2
            add(journal, ["x"])
        assert stored(path) == [*BEFORE, "x"], f"cut at {end}"


# --- the n-th thing done to the disk fails ---


def count(folder: Path, work: Callable[[Path], None]) -> int:
    """How many things are done to the disk by it, when nothing fails."""
    with faulty_disk() as disk:
        work(fresh(folder))
        return disk.done


def fresh(folder: Path) -> Path:
    shutil.rmtree(folder / "n", ignore_errors=True)
    (folder / "n").mkdir()
    return with_small_pages(folder / "n" / "weft.db")


def open_once(path: Path) -> None:
    with opened(path):
        pass


@pytest.mark.parametrize("times", [1, 1000], ids=["once", "from then on"])
@pytest.mark.parametrize(
    ("code", "message"),
    [
        (SQLITE_FULL, "the disk is full; free some space"),
        (SQLITE_IOERR, "could not read or write it; check"),
    ],
    ids=["full", "broken"],
)
def test_a_journal_that_could_not_be_made_is_made_the_next_time(
    folder: Path, times: int, code: int, message: str
) -> None:
    failed = 0
    for nth in range(1, count(folder, open_once) + 1):
        path = fresh(folder)
        with faulty_disk() as disk:
            disk.fail(nth, times=times, code=code)
            failed += is_refused(lambda: open_once(path), message)  # noqa: B023 - called at once
        with opened(path, with_run=True) as journal:
            add(journal, TURN)
        assert stored(path) == TURN
    assert failed > 20


def is_refused(work: Callable[[], object], message: str) -> bool:
    """Whether it failed with these words; any other failure is not caught."""
    try:
        work()
    except InputError:
        raise  # as if it were the user's mistake
    except WeftError as error:
        if message in str(error):
            return True
        raise
    return False


class Writer:
    """Adds turns, keeps account of those that were acknowledged, and checkpoints often."""

    def __init__(self, path: Path, disk: Disk) -> None:
        self.journal = open_journal(path, now=0.0)
        self.disk = disk
        self.acknowledged: list[str] = []
        self.failed = 0
        self.journal._database.rows("PRAGMA wal_autocheckpoint = 12")

    def turn(self, kinds: list[str]) -> None:
        if is_refused(lambda: add(self.journal, kinds), "could not read or write it"):
            self.failed += 1
        else:
            self.acknowledged += kinds

    def work(self) -> None:
        for number in range(8):
            self.turn([f"{number}a", f"{number}b", f"{number}c"])


def with_run(folder: Path) -> Path:
    path = fresh(folder)
    with opened(path, with_run=True):
        pass
    return path


@pytest.fixture
def things_done(folder: Path) -> int:
    path = with_run(folder)
    with faulty_disk() as disk:
        writer = Writer(path, disk)
        done_before = disk.done
        writer.work()
        done = disk.done - done_before
        writer.journal.close()
    assert writer.acknowledged == stored(path)
    return done


def test_a_failed_write_leaves_the_journal_as_it_was_and_the_next_one_works(
    folder: Path, things_done: int
) -> None:
    refused = []
    for nth in range(1, things_done + 1):
        path = with_run(folder)
        with faulty_disk() as disk:
            writer = Writer(path, disk)
            disk.fail(nth)
            writer.work()
            assert [kind_of(each.event) for each in writer.journal.events("r1")] == writer.acknowledged
            writer.journal.close()
        assert stored(path) == writer.acknowledged, f"after a fault at {nth}"
        refused.append(writer.failed)
    # One fault costs one turn, or none if it met a checkpoint, which is made good later.
    assert set(refused) == {0, 1}


def test_a_disk_that_fails_for_good_costs_nothing_that_was_acknowledged(
    folder: Path, things_done: int
) -> None:
    for nth in range(1, things_done + 1):
        path = with_run(folder)
        with faulty_disk() as disk:
            writer = Writer(path, disk)
            disk.fail(nth, times=10**6)
            writer.work()
            disk.heal()
            writer.turn(["last"])
            writer.journal.close()
        assert writer.acknowledged[-1] == "last"
        assert stored(path) == writer.acknowledged, f"after faults from {nth} on"


def test_killed_at_any_write_it_holds_whole_turns_and_all_that_were_acknowledged(folder: Path) -> None:
    """What lies on the disk at each moment is what the next process would find."""
    path = with_run(folder)
    seen: list[tuple[int, list[str]]] = []
    with faulty_disk() as disk:
        writer = Writer(path, disk)

        def look() -> None:
            copy = copy_of(path, folder / "killed", wal=wal_of(path).read_bytes())
            disk.watch = lambda: None  # the looking is not to be looked at
            seen.append((len(writer.acknowledged), stored(copy)))
            disk.watch = look

        disk.watch = look
        writer.work()
        disk.watch = lambda: None
        writer.journal.close()
    for acknowledged, item in seen:
        assert item == writer.acknowledged[: len(item)]
        assert acknowledged <= len(item) <= acknowledged + 3
        assert len(item) % 3 == 0
    assert all(len(first) <= len(second) for (_, first), (_, second) in pairwise(seen))
    assert {len(result) for _, result in seen} == set(range(0, 25, 3))


# --- no space, for real ---


@contextmanager
def files_no_longer_than(size: int) -> Iterator[None]:
    """The kernel refuses to write beyond it, as it does beyond a quota."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_python_gets_an_error_at_the_limit_and_no_signal() -> None:
    assert signal.getsignal(signal.SIGXFSZ) == signal.SIG_IGN


def test_a_turn_that_does_not_fit_is_refused_and_fits_later(folder: Path) -> None:
    path = with_run(folder)
    with opened(path) as journal:
        add(journal, BEFORE)
        begins = wal_of(path).stat().st_size
        for size in range(begins, begins + 4 * 536, 41):
            with files_no_longer_than(size), pytest.raises(WeftError, match="could not read or write it"):
                add(journal, ["x"] * 100)  # more than four pages
            assert [kind_of(each.event) for each in journal.events("r1")] == BEFORE, f"limit {size}"
        add(journal, TURN)
    assert stored(path) == BEFORE + TURN


def test_a_journal_that_does_not_fit_is_made_when_there_is_space(folder: Path) -> None:
    sizes = [*range(0, 4096, 512), *range(4096, 32768, 4096)]
    for size in sizes:
        shutil.rmtree(folder / "n", ignore_errors=True)
        path = folder / "n" / "weft.db"
        with files_no_longer_than(size), pytest.raises(WeftError, match="could not read or write it"):
            open_once(path)
        with opened(path, with_run=True) as journal:
            add(journal, TURN)
        assert stored(path) == TURN, f"limit {size}"


def test_a_request_that_does_not_fit_is_refused(folder: Path) -> None:
    path = with_run(folder)
    with opened(path) as journal, closing(open_reader(path)) as reader:
        with files_no_longer_than(100), pytest.raises(WeftError, match="could not read or write it"):
            ask(reader)
        assert journal.requests("r1") == []
        number = ask(reader)
        assert [each.id for each in journal.requests("r1")] == [number]


# --- killed ---


@pytest.mark.parametrize("turns", [1, 2, 7, 30, 101])
def test_killed_while_it_writes_all_that_it_said_is_there_and_nothing_in_part(
    tmp_path: Path, turns: int
) -> None:
    path = tmp_path / ".weft" / "weft.db"
    with Coordinator("write", path) as coordinator:
        acknowledged = [int(coordinator.says()) for _ in range(turns)][-1]
        coordinator.kill()
        acknowledged = max([acknowledged, *map(int, coordinator.rest())])
    kinds = stored(path)
    assert len(kinds) >= acknowledged >= 3 * turns
    assert len(kinds) % 3 == 0
    assert kinds == [f"turn {number // 3}" for number in range(len(kinds))]
    with opened(path) as journal:
        assert journal.epoch == 2
        assert journal.append("r1", []) == len(kinds)
