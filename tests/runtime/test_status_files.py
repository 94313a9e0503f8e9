"""Status files: whole at any time, the newest in the end, and never in anybody's way."""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from weft.runtime.status_files import StatusFiles, read_status, status_file
from weft.safe_files import UnsafeFileError


def names(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


@contextmanager
def slow_disk(before: str = "fsync") -> Iterator[tuple[threading.Event, threading.Event, list[str]]]:
    """A disk that reports its first use, waits until it may continue, and records what was renamed."""
    asked, may_go_on = threading.Event(), threading.Event()
    named: list[str] = []
    operations: dict[str, Callable[..., None]] = {"fsync": os.fsync, "replace": os.replace}

    def waiting(name: str):
        def called(*args, **folders):
            if name == before:
                asked.set()
                assert may_go_on.wait(60)
            if name == "replace":
                named.append(Path(args[1]).name)
            return operations[name](*args, **folders)

        return called

    with pytest.MonkeyPatch.context() as patch:
        for name in operations:
            patch.setattr(os, name, waiting(name))
        yield asked, may_go_on, named


def test_what_was_set_is_in_the_file_of_its_subplan(tmp_path: Path) -> None:
    with closing(StatusFiles(tmp_path / "run")) as files:
        files.set("store/model", {"state": "running", "pid": 4711})
        files.set("", {"state": "running"})
    assert names(tmp_path / "run") == ["_plan.status.json", "store.model.status.json"]
    assert read_status(tmp_path / "run" / "store.model.status.json") == {"state": "running", "pid": 4711}
    assert (tmp_path / "run" / "_plan.status.json").read_text() == '{"state":"running"}\n'
    assert files.error is None


def test_the_newest_is_what_stays(tmp_path: Path) -> None:
    with closing(StatusFiles(tmp_path)) as files:
        for number in range(100):
            files.set("a", {"number": number})
    assert read_status(status_file(tmp_path, "a")) == {"number": 99}


def test_a_burst_delays_no_caller_and_only_the_newest_is_written(tmp_path: Path) -> None:
    with slow_disk() as (asked, may_go_on, named), closing(StatusFiles(tmp_path)) as files:
        files.set("a", {"number": -1})
        assert asked.wait(60)
        for number in range(1000):  # while the disk is busy with the first
            files.set("a", {"number": number})
        files.set("b", {"number": 0})
        may_go_on.set()
    assert named == ["a.status.json", "a.status.json", "b.status.json"]
    assert read_status(status_file(tmp_path, "a")) == {"number": 999}


@pytest.mark.parametrize("moment", ["fsync", "replace"])
def test_who_reads_while_it_is_written_reads_the_one_before(tmp_path: Path, moment: str) -> None:
    with closing(StatusFiles(tmp_path)) as files:
        files.set("a", {"text": "before"})
    with slow_disk(moment) as (asked, may_go_on, _), closing(StatusFiles(tmp_path)) as files:
        files.set("a", {"text": "after" * 1000})
        assert asked.wait(60)
        assert read_status(status_file(tmp_path, "a")) == {"text": "before"}
        may_go_on.set()
    assert read_status(status_file(tmp_path, "a")) == {"text": "after" * 1000}


def test_who_reads_all_the_time_reads_whole_files_only(tmp_path: Path) -> None:
    file = status_file(tmp_path, "a")
    with closing(StatusFiles(tmp_path)) as files:
        files.set("a", {"number": 0, "text": "0"})
    together, ended = threading.Barrier(2), threading.Event()
    seen: list[dict[str, object] | None] = []

    def read() -> None:
        together.wait()
        while not ended.is_set():
            seen.append(read_status(file))

    reader = threading.Thread(target=read)
    reader.start()
    with closing(StatusFiles(tmp_path)) as files:
        together.wait()
        for number in range(200):
            files.set("a", {"number": number, "text": str(number) * 2000})
    ended.set()
    reader.join()
    assert [
        record for record in seen if record is None or str(record["number"]) not in str(record["text"])
    ] == []


def test_an_error_is_remembered_and_the_others_are_written(tmp_path: Path) -> None:
    status_file(tmp_path, "a").mkdir()
    with closing(StatusFiles(tmp_path)) as files:
        files.set("a", {"state": "running"})
        files.set("b", {"state": object()})
        files.set("c", {"state": "running"})
    assert isinstance(files.error, IsADirectoryError)
    assert read_status(status_file(tmp_path, "c")) == {"state": "running"}
    assert not status_file(tmp_path, "b").exists()


def test_a_folder_that_cannot_be_made_is_an_error_that_is_remembered(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("in the way")
    with closing(StatusFiles(tmp_path / "run")) as files:
        files.set("a", {})
    assert isinstance(files.error, UnsafeFileError)


def test_a_file_continues_being_written_after_an_error(tmp_path: Path) -> None:
    with closing(StatusFiles(tmp_path)) as files:
        files.set("a", {"state": object()})
    assert isinstance(files.error, TypeError)
    with closing(StatusFiles(tmp_path)) as files:
        files.set("a", {"state": "running"})
    assert files.error is None
    assert read_status(status_file(tmp_path, "a")) == {"state": "running"}


def test_what_a_crash_left_half_written_is_removed(tmp_path: Path) -> None:
    (tmp_path / ".0123456789abcdef.new").write_text('{"sta')
    with closing(StatusFiles(tmp_path)):
        pass
    assert names(tmp_path) == []


def test_it_is_known_which_files_were_there_before(tmp_path: Path) -> None:
    with closing(StatusFiles(tmp_path)) as first:
        first.set("g/a", {"state": "running"})
    with closing(StatusFiles(tmp_path)) as second:
        assert (first.had("g/a"), second.had("g/a"), second.had("g/b")) == (False, True, False)


def test_to_close_ends_the_thread_and_may_be_done_twice(tmp_path: Path) -> None:
    files = StatusFiles(tmp_path)
    files.close()
    files.close()
    files.set("a", {})
    assert "weft-status-files" not in {thread.name for thread in threading.enumerate()}
    assert names(tmp_path) == []


def test_a_link_in_place_of_a_file_is_replaced_and_not_written_through(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("{}")
    run = tmp_path / "run"
    run.mkdir()
    status_file(run, "a").symlink_to(tmp_path / "precious")
    with closing(StatusFiles(run)) as files:
        files.set("a", {"state": "running"})
    assert (tmp_path / "precious").read_text() == "{}"
    assert read_status(status_file(run, "a")) == {"state": "running"}


@pytest.mark.parametrize("content", [b"", b'{"state": "run', b"[]", b'{"a": "\xff"}', b"\0"])
def test_what_is_no_record_reads_as_none(tmp_path: Path, content: bytes) -> None:
    assert read_status(tmp_path / "a") is None
    (tmp_path / "a").write_bytes(content)
    assert read_status(tmp_path / "a") is None
