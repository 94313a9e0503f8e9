"""One writer at a time, by a lock and by a lease."""

import errno
import fcntl
import os
import resource
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace

from contracts.journal_contract import record, told
from store.books import add, opened
from store.coordinators import Coordinator
from weft.engine.messages.event_codec import kind_of
from weft.errors import InputError, WeftError
from weft.store.errors import BusyError, LeaseLostError
from weft.store.lease import is_alive, new_holder
from weft.store.lock import LOCK_FILE
from weft.store.sqlite import open_journal, open_reader


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / ".weft" / "weft.db"


def test_of_several_that_come_at_once_exactly_one_may_write(path: Path) -> None:
    with Coordinator("hold", path) as a, Coordinator("hold", path) as b, Coordinator("hold", path) as c:
        everybody = (a, b, c)
        for each in everybody:
            each.go()
        assert sorted(each.says() for each in everybody) == ["busy", "busy", "epoch 1"]


def test_the_second_process_gets_the_holder_and_what_to_do(path: Path) -> None:
    with Coordinator("hold", path) as first:
        first.go()
        assert first.says() == "epoch 1"
        with pytest.raises(BusyError) as raised:
            open_journal(path, now=0.0)
    assert str(raised.value) == (
        f"another Weft runs in {path.parent}: process {first.pid} (weft run plan.yaml), "
        "since 2023-11-14 22:13:20 UTC; wait until it has ended, or stop it with: weft stop"
    )
    assert raised.value.holder is not None
    assert raised.value.holder.pid == first.pid


def test_after_the_death_of_the_holder_the_next_may_write_at_once(path: Path) -> None:
    with Coordinator("hold", path) as first:
        first.go()
        assert first.says() == "epoch 1"
        first.kill()
        with opened(path) as journal:
            assert journal.epoch == 2


def test_a_program_that_the_holder_started_does_not_keep_the_lock(path: Path) -> None:
    with Coordinator("spawn", path) as holder:
        child = int(holder.says())
        holder.kill()
        os.kill(child, 0)  # it lives
        with opened(path) as journal:
            assert journal.epoch == 2
        holder.hang_up()
        assert holder.rest() == []  # it has ended


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """The lock is held by a process that has done nothing else yet."""
    path.parent.mkdir(exist_ok=True)
    with (path.parent / LOCK_FILE).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def test_a_holder_that_has_only_just_started_has_no_name_yet(path: Path) -> None:
    with (
        locked(path),
        pytest.raises(BusyError, match=r"has just started in .*; wait a moment") as raised,
    ):
        open_journal(path, now=0.0)
    assert raised.value.holder is None
    assert not path.exists()


def died(path: Path) -> None:
    """A process had the lease and is dead."""
    with Coordinator("hold", path) as first:
        first.go()
        assert first.says() == "epoch 1"
        first.kill()


def test_the_dead_holder_of_before_is_not_taken_for_the_one_that_has_just_started(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    died(path)
    monkeypatch.setattr("weft.store.sqlite.time.sleep", lambda _: None)
    with locked(path), pytest.raises(BusyError, match="has just started") as raised:
        open_journal(path, now=0.0)
    assert raised.value.holder is None


def test_a_holder_without_a_command_is_named_by_its_number(path: Path) -> None:
    with opened(path), pytest.raises(BusyError, match=f"process {os.getpid()}, since 1970-01-01"):
        open_journal(path, now=0.0)


def test_the_lock_of_a_dead_holder_is_waited_for(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was killed while it started a program, which has not started yet."""
    died(path)
    descriptor = os.open(path.parent / LOCK_FILE, os.O_RDWR)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    monkeypatch.setattr("weft.store.sqlite.time.sleep", lambda _: os.close(descriptor))
    with opened(path) as journal:
        assert journal.epoch == 2


def test_a_lock_that_lies_does_no_harm(path: Path) -> None:
    """The lock file is deleted under its holder: two have a lock, and only the second one has the lease."""
    with opened(path, with_run=True) as first:
        (path.parent / LOCK_FILE).unlink()
        with opened(path) as second:
            assert second.epoch == 2
            with pytest.raises(LeaseLostError, match="another Weft has taken over"):
                add(first, ["a"])
            add(second, ["b"])
            assert [kind_of(each.event) for each in first.events("r1")] == ["b"]


def test_a_journal_that_was_deleted_is_not_written_to(path: Path) -> None:
    with opened(path, with_run=True) as journal:
        path.unlink()
        with pytest.raises(LeaseLostError, match="was deleted, moved or replaced"):
            add(journal, ["a"])


def test_a_journal_that_was_replaced_is_not_written_to(path: Path) -> None:
    with opened(path, with_run=True) as journal:
        path.parent.rename(path.parent.with_name("away"))
        with opened(path) as other:
            with pytest.raises(LeaseLostError, match="was deleted, moved or replaced"):
                add(journal, ["a"])
            assert other.runs() == []


def test_a_file_system_without_locks_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_locks(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", no_locks)
    with pytest.raises(WeftError, match=r"cannot lock .*: No locks available; keep it on a local disk"):
        open_journal(path, now=0.0)


def test_a_lock_that_cannot_be_made_is_the_users_business(path: Path) -> None:
    (path.parent / LOCK_FILE).mkdir(parents=True)
    with pytest.raises(InputError, match=r"cannot open .*coordinator.lock: is a directory, not a file"):
        open_journal(path, now=0.0)


@contextmanager
def no_more_files() -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_a_lock_that_the_machine_cannot_make_is_not_the_users_mistake(path: Path) -> None:
    path.parent.mkdir()
    with (
        no_more_files(),
        pytest.raises(WeftError, match="Too many open files; raise the limit of open files") as raised,
    ):
        open_journal(path, now=0.0)
    assert not isinstance(raised.value, InputError)


def test_one_that_could_not_open_the_journal_gives_the_lock_back(path: Path) -> None:
    path.mkdir(parents=True)
    with pytest.raises(InputError, match="not a regular file"):
        open_journal(path, now=0.0)
    path.rmdir()
    with opened(path) as journal:
        assert journal.epoch == 1


def test_the_holder_is_written_down_for_all_to_see(path: Path) -> None:
    with closing(open_journal(path, now=8.5, command="weft run x")) as journal:
        journal.add_run(record())
        journal.append("r1", told("a"))
        with closing(open_reader(path)) as reader:
            holder = reader.holder()
    assert holder is not None
    assert (holder.pid, holder.since, holder.command, holder.epoch) == (os.getpid(), 8.5, "weft run x", 1)
    assert is_alive(holder)


def test_a_lease_that_is_gone_has_no_holder(path: Path) -> None:
    with opened(path, with_run=True) as journal:
        journal._database.rows("DELETE FROM lease")
        assert journal.holder() is None
        with pytest.raises(LeaseLostError):
            add(journal, ["a"])


def test_no_two_leases_are_alike() -> None:
    assert new_holder(now=0.0, command="").nonce != new_holder(now=0.0, command="").nonce


def test_a_process_with_the_same_number_is_not_the_same_process() -> None:
    holder = new_holder(now=0.0, command="")
    assert not is_alive(replace(holder, started=holder.started + 1))


def test_a_zombie_is_not_alive() -> None:
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as process:
        stat = Path(f"/proc/{process.pid}/stat").read_text()
        started = int(stat.rpartition(")")[2].split()[19])
        holder = replace(new_holder(now=0.0, command=""), pid=process.pid, started=started)
        assert is_alive(holder)
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert not is_alive(holder)
    assert not is_alive(holder)


def test_the_name_of_a_process_may_be_anything() -> None:
    name = Path("/proc/self/comm")
    before, holder = name.read_text(), new_holder(now=0.0, command="")
    name.write_text("a) Z 1 (b")
    try:
        assert is_alive(holder)
    finally:
        name.write_text(before)
