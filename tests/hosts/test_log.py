"""The log is read as far as it can be, wherever it was cut."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.hosts.supervisor.log import JobLog, LogHistory, encode


def read(path: Path) -> LogHistory:
    history = LogHistory()
    history.read(str(path))
    return history


def story(log: JobLog) -> None:
    """One job has ended, one was forgotten, one runs, one was about to be started."""
    log.add_supervisor()
    for name in ("ended", "forgotten", "runs", "starts"):
        log.add_start(name, 7, 1)
    for name in ("ended", "forgotten", "runs"):
        log.add_run(name, os.getpid())
    log.add(*(f'{{"ended":{encode({"id": name, "why": "exited"})}}}' for name in ("ended", "forgotten")))
    log.add_forget(["forgotten"])


def test_the_log_shows_which_jobs_have_ended(tmp_path: Path) -> None:
    story(JobLog(str(tmp_path / "log")))
    history = read(tmp_path / "log")
    assert list(history.ended) == ["ended"]
    assert {name: len(begun.pids) for name, begun in history.unfinished.items()} == {"runs": 1, "starts": 0}
    assert history.ids == {"ended", "forgotten", "runs", "starts"}
    assert history.unfinished["runs"].boot == Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def test_there_need_not_be_one(tmp_path: Path) -> None:
    assert read(tmp_path / "log").ids == set()


def test_a_log_cut_at_any_byte_gives_a_prefix_and_can_be_continued(tmp_path: Path) -> None:
    story(JobLog(str(tmp_path / "whole")))
    whole = (tmp_path / "whole").read_bytes()
    for length in range(len(whole)):
        path = tmp_path / "log"
        path.write_bytes(whole[:length])
        before = read(path)
        JobLog(str(path)).add_start("next", 8, 1)
        after = read(path)
        assert after.unfinished.keys() - before.unfinished.keys() - {"starts"} == {"next"}
        assert before.ended.keys() - after.ended.keys() == set()


@given(st.binary(max_size=300))
def test_anything_may_be_in_it(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.mktemp("log") / "log"
    path.write_bytes(data + b'\n{"start":"a","mark":1,"at":1.0}\n')
    assert "a" in read(path).unfinished


def test_after_a_write_that_failed_the_next_starts_a_line(tmp_path: Path) -> None:
    path = tmp_path / "log"
    log = JobLog(str(path))
    log.add_start("a", 1, 1)
    with path.open("ab") as other:  # what a full disk left of a record
        other.write(b'{"start":"b","mar')
    log._torn = True
    log.add_start("c", 3, 1)
    assert set(read(path).unfinished) == {"a", "c"}


def test_a_write_may_take_several(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: write(descriptor, data[:3]))
    story(JobLog(str(tmp_path / "log")))
    assert set(read(tmp_path / "log").unfinished) == {"runs", "starts"}
