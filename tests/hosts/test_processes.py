import errno
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from weft.hosts.supervisor import processes
from weft.hosts.supervisor.processes import (
    Marks,
    Process,
    children,
    descendants,
    find_process,
    own_children,
    send,
)


@pytest.fixture
def sleeper() -> Iterator["subprocess.Popen[bytes]"]:
    with subprocess.Popen(["sleep", "3600"]) as process:
        yield process
        process.kill()


def seen(pid: int) -> Process:
    process = find_process(pid)
    assert process is not None
    return process


def test_a_name_with_parentheses_is_no_trouble() -> None:
    stat = b"12 (a) R (b) S 3 4 5 " + b"0 " * 15 + b"77 0 0"
    process = Process(12, stat)
    assert (process.parent, process.session, process.started, process.alive) == (3, 5, 77, True)


def test_now_is_counted_as_the_starts_of_processes_are() -> None:
    before = processes.now()
    with subprocess.Popen(["true"]) as process:
        started = seen(process.pid).started
        assert before <= started <= processes.now()


def test_who_has_gone_is_not_there(sleeper: "subprocess.Popen[bytes]") -> None:
    sleeper.kill()
    sleeper.wait()
    assert (find_process(sleeper.pid), children(sleeper.pid), descendants([sleeper.pid])) == (None, [], [])


@pytest.mark.parametrize("lists_children", [True, False])
def test_children_are_found_with_and_without_the_kernel_s_list(
    sleeper: "subprocess.Popen[bytes]", monkeypatch: pytest.MonkeyPatch, lists_children: bool
) -> None:
    monkeypatch.setattr(processes, "_LISTS_CHILDREN", lists_children)
    assert sleeper.pid in own_children()
    assert sleeper.pid in children(os.getpid())
    assert sleeper.pid in {process.pid for process in descendants([os.getpid()])}


@pytest.mark.parametrize("has_descriptors", [True, False])
def test_a_signal_goes_to_that_process_only(
    sleeper: "subprocess.Popen[bytes]", monkeypatch: pytest.MonkeyPatch, has_descriptors: bool
) -> None:
    def no_descriptors(pid: int) -> int:
        raise OSError(errno.ENOSYS, "")

    if not has_descriptors:
        monkeypatch.setattr(os, "pidfd_open", no_descriptors)
    process, another = seen(sleeper.pid), seen(sleeper.pid)
    another.started += 1
    send(another, signal.SIGKILL)
    send(process, 0)
    assert sleeper.poll() is None
    send(process, signal.SIGUSR1)
    assert sleeper.wait() == -signal.SIGUSR1
    send(process, signal.SIGUSR1)


@contextmanager
def running(env: dict[str, str]) -> Iterator[Process]:
    """A started process in its own session; its environment is visible only after the start."""
    script = ["/bin/sh", "-c", "echo; read _"]
    pipe = subprocess.PIPE
    with subprocess.Popen(script, env=env, start_new_session=True, stdin=pipe, stdout=pipe) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield seen(process.pid)


def test_a_job_is_known_by_session_when_nothing_else_is_left() -> None:
    marks = Marks("somewhere")
    marks.add("a", 1)
    with running({}) as process:
        assert marks.owner(process) is None
        marks.add_session("a", process.pid)
        assert marks.owner(process) == "a"
        marks.remove("a", 1, [process.pid])
        assert marks.owner(process) is None


def test_a_job_is_known_by_environment_when_there_are_no_limits_to_mark() -> None:
    marks, others = Marks("somewhere"), Marks("elsewhere")
    for each in (marks, others):
        each.add("a", 1)
        each.add("b", 2)
    with running(processes.job_variables("a", "somewhere")) as process:
        assert (marks.owner(process), others.owner(process)) == ("a", None)


def test_an_unreadable_proc_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_more(path: str, flags: int) -> int:
        raise OSError(errno.EMFILE, "too many open files")

    monkeypatch.setattr(os, "open", no_more)
    with pytest.raises(OSError, match="too many open files"):
        own_children()
