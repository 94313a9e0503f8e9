"""Threads, where the system has no room for one."""

import errno
import threading
from threading import Thread

import pytest

from weft.threads import map_in_threads, run_sync, start_thread


@pytest.fixture
def no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading, "_start_new_thread", refuse)
    monkeypatch.setattr(threading, "_start_joinable_thread", refuse, raising=False)


@pytest.mark.usefixtures("no_room")
def test_a_thread_that_cannot_be_started_is_an_error_of_the_system() -> None:
    with pytest.raises(BlockingIOError) as raised:
        start_thread(Thread(target=print))
    assert raised.value.errno == errno.EAGAIN
    with pytest.raises(BlockingIOError):
        list(map_in_threads(str, [1, 2], most=2))


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.usefixtures("no_room")
async def test_a_worker_thread_that_cannot_be_started_is_an_error_of_the_system() -> None:
    with pytest.raises(BlockingIOError):
        await run_sync(str, 1)


@pytest.mark.anyio
async def test_the_errors_of_the_function_are_its_own() -> None:
    def fail() -> None:
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        await run_sync(fail)


def test_results_come_in_the_order_of_the_items() -> None:
    assert list(map_in_threads(str, [3, 1, 2], most=2)) == ["3", "1", "2"]
