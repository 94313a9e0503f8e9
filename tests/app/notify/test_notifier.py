import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from threading import Thread

import anyio
import pytest
from msgspec.structs import replace

from app.notice_stories import asked, failed, finished, recorded
from app.receivers import program, serving
from app.run_stories import plan_of, slices
from weft.app.notify.hook import NotificationHook, make_hook
from weft.app.notify.notifier import LARGEST_LOG, LOG_NAME, MOST_WAITING, Notifier
from weft.app.project.places import Places
from weft.engine.messages.events import AnyEvent, Recorded
from weft.plan.model import Plan
from weft.store.memory import MemoryJournal

ENVIRON = {"PATH": os.environ["PATH"]}


class Shown:
    """An observer that keeps what it is told besides events."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def notes(self, lines: Sequence[str]) -> None:
        self.lines += lines


@pytest.fixture
def places(tmp_path: Path) -> Places:
    result = Places(tmp_path)
    result.weft.mkdir()
    return result


def plan(*notify: dict[str, object]) -> Plan:
    return plan_of(*slices("a", "b"), notify=list(notify))


def notifier(
    places: Places,
    *notify: dict[str, object],
    observer: object = None,
    history: Iterable[Recorded] = (),
    path: str = "",
    seconds: float = 60.0,
) -> Notifier:
    environ = {"PATH": path or ENVIRON["PATH"]}
    return Notifier(
        plan(*notify),
        history=history,
        places=places,
        observer=observer,
        environ=environ,
        last_seconds=seconds,
    )


def tell(told: NotificationHook, *events: AnyEvent) -> None:
    told.receive(recorded(events))


def finish(told: NotificationHook) -> None:
    anyio.run(told.finish)


def log(places: Places) -> list[str]:
    """Without the times."""
    return [line.partition(" ")[2] for line in (places.weft / LOG_NAME).read_text().splitlines()]


# Telling


def test_each_receiver_gets_its_events_in_order(places: Places) -> None:
    with serving() as every, serving() as some:
        notices = notifier(places, {"webhook": every.url}, {"on": ["finished", "gate"], "webhook": some.url})
        tell(notices, asked("a", 1), failed("b"))
        tell(notices, finished("completed"))
        finish(notices)
        assert [item["event"] for item in every.got] == ["gate", "failed", "finished"]
        assert [entry["event"] for entry in some.got] == ["gate", "finished"]


def test_one_entry_may_have_several_ways(places: Places, tmp_path: Path) -> None:
    program(tmp_path, "notify-send")
    with serving() as server:
        way = {"run": "cat > in.json", "desktop": True, "webhook": server.url}
        notices = notifier(places, way, path=f"{tmp_path}:{ENVIRON['PATH']}")
        tell(notices, asked("a", 1))
        finish(notices)
        assert json.loads((tmp_path / "in.json").read_text()) == server.got[0]
    assert (tmp_path / "notify-send.said").read_text().splitlines()[-2:] == ["notes: a asks", "Go on?"]


def test_what_happened_before_is_not_reported_again(places: Places) -> None:
    before = [replace(each, seq=each.seq - 10) for each in recorded([asked("a", 1), failed("b")])]
    with serving() as server:
        notices = notifier(places, {"webhook": server.url}, history=before)
        tell(notices, asked("a", 1), asked("a", 2))
        finish(notices)
        assert [item["event"] for item in server.got] == ["gate"]


# Without holding anything up


def test_one_that_hangs_holds_up_neither_the_run_nor_the_others(places: Places) -> None:
    with serving(hangs=True) as hanging, serving() as server:
        notices = notifier(places, {"webhook": hanging.url}, {"webhook": server.url})
        tell(notices, asked("a", 1))
        hanging.reached.wait()
        tell(notices, failed("b"))  # returns while the first still waits for its answer
        while len(server.got) < 2:
            server.reached.wait()
            server.reached.clear()
        assert len(hanging.got) == 1
        hanging.let_go.set()
        finish(notices)
        assert len(hanging.got) == 2


def test_the_end_does_not_wait_for_ever(places: Places) -> None:
    shown = Shown()
    with serving(hangs=True) as hanging:
        notices = notifier(places, {"webhook": hanging.url}, observer=shown, seconds=0.0)
        tell(notices, asked("a", 1), failed("b"))
        hanging.reached.wait()
        finish(notices)
        host = hanging.url.removesuffix("/key?x=1")
        assert log(places) == [
            f"{host}: remote end closed connection without response (of: notes: a asks)",
            f"{host}: the run was over, and there was no time left (of: notes: b has failed)",
        ]
        assert len(shown.lines) == 1


def test_leaving_waits_for_nothing(places: Places) -> None:
    async def leave() -> None:
        with anyio.CancelScope() as scope:
            scope.cancel()
            await notices.finish()

    with serving(hangs=True) as hanging:
        notices = notifier(places, {"webhook": hanging.url})
        tell(notices, asked("a", 1))
        hanging.reached.wait()
        anyio.run(leave)


def test_leaving_ends_a_wait(places: Places) -> None:
    async def leave() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(notices.finish)
            await anyio.to_thread.run_sync(hanging.reached.wait)
            tasks.cancel_scope.cancel()

    with serving(hangs=True) as hanging:
        notices = notifier(places, {"webhook": hanging.url})
        tell(notices, asked("a", 1))
        anyio.run(leave)  # else it would wait for a minute, and more for its answer


def test_of_very_many_at_once_the_rest_is_not_reported(places: Places) -> None:
    with serving(hangs=True) as hanging:
        notices = notifier(places, {"webhook": hanging.url})
        tell(notices, asked("a", 0))
        hanging.reached.wait()
        tell(notices, *(asked("a", number) for number in range(1, MOST_WAITING + 3)))
        assert len(log(places)) == 2
        assert log(places)[0].endswith(f"{MOST_WAITING} others wait already (of: notes: a asks)")
        hanging.let_go.set()
        finish(notices)
        assert len(hanging.got) == MOST_WAITING + 1


def test_where_no_thread_can_be_started_the_run_continues(
    places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_room(_: Thread) -> None:
        raise RuntimeError("can't start new thread")

    notices = notifier(places, {"run": "true"})
    with monkeypatch.context() as patch:
        patch.setattr(Thread, "start", no_room)
        tell(notices, asked("a", 1))
    finish(notices)
    assert log(places)[0].startswith("`true`: the system starts no further process or thread for this user")
    assert log(places)[0].endswith("(of: notes: a asks)")


# What went wrong


def test_the_first_failure_of_each_way_is_shown_and_all_are_in_the_log(places: Places) -> None:
    shown = Shown()
    notices = notifier(
        places, {"run": "exit 3", "on": ["gate"]}, {"run": ["no-such-program"]}, observer=shown
    )
    tell(notices, asked("a", 1), asked("b", 2))
    finish(notices)
    gone = "[Errno 2] No such file or directory: 'no-such-program'"
    assert sorted(log(places)) == [
        "`exit 3`: exit code 3 (of: notes: a asks)",
        "`exit 3`: exit code 3 (of: notes: b asks)",
        f"`no-such-program`: {gone} (of: notes: a asks)",
        f"`no-such-program`: {gone} (of: notes: b asks)",
    ]
    assert sorted(shown.lines) == [
        (
            "could not notify `exit 3`: exit code 3 (of: notes: a asks); further failures are logged in "
            ".weft/notify.log"
        ),
        (
            f"could not notify `no-such-program`: {gone} (of: notes: a asks); further failures are logged in "
            f".weft/notify.log"
        ),
    ]


def test_a_machine_without_a_desktop_is_reported_once(places: Places, tmp_path: Path) -> None:
    shown = Shown()
    notices = notifier(places, {"desktop": True}, observer=shown, path=str(tmp_path))
    tell(notices, asked("a", 1))
    tell(notices, asked("a", 2))
    finish(notices)
    assert log(places) == ["the desktop: there is neither notify-send nor osascript here"]
    assert len(shown.lines) == 1


def test_an_audience_that_does_not_listen_is_not_spoken_to(places: Places) -> None:
    notices = notifier(places, {"run": "exit 1"})
    tell(notices, asked("a", 1))
    finish(notices)
    assert len(log(places)) == 1


def test_the_log_does_not_grow_for_ever(places: Places) -> None:
    (places.weft / LOG_NAME).write_text("an old line\n" * LARGEST_LOG)
    notices = notifier(places, {"run": "exit 1"})
    tell(notices, asked("a", 1))
    finish(notices)
    text = (places.weft / LOG_NAME).read_text()
    assert len(text) < LARGEST_LOG
    assert text.endswith("`exit 1`: exit code 1 (of: notes: a asks)\n")


def test_a_log_that_cannot_be_written_breaks_nothing(places: Places) -> None:
    (places.weft / LOG_NAME).mkdir()
    shown = Shown()
    notices = notifier(places, {"run": "exit 1"}, observer=shown)
    tell(notices, asked("a", 1))
    finish(notices)
    assert len(shown.lines) == 1


# Who is told


def told_of(places: Places, *notify: dict[str, object]) -> NotificationHook:
    return make_hook(
        plan(*notify), "r1", places=places, journal=MemoryJournal(), observer=None, environ=ENVIRON
    )  # fmt: skip


def test_without_receivers_nothing_is_done(places: Places) -> None:
    messages = told_of(places)
    tell(messages, asked("a", 1))
    finish(messages)
    assert not isinstance(messages, Notifier)


def test_each_named_receiver_is_notified(places: Places, tmp_path: Path) -> None:
    messages = told_of(places, {"run": "echo $WEFT_NOTIFY_EVENT > told"})
    tell(messages, asked("a", 1))
    finish(messages)
    assert (tmp_path / "told").read_text() == "gate\n"
