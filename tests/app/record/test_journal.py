"""The journal, open at a run: which one, who runs it, what to type, and how it is followed."""

import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from msgspec import structs

from app.books import Written, written
from stored_events import make_event
from weft.app.record.journal import POLL_INTERVAL, open_book
from weft.app.record.run_plan import plan_of
from weft.engine.messages.event_codec import kind_of
from weft.errors import InputError
from weft.store.sqlite import open_journal


@pytest.fixture
def one(tmp_path: Path) -> Iterator[Written]:
    with written(tmp_path) as files:
        yield files


def test_a_journal_without_a_run_is_reported(tmp_path: Path) -> None:
    open_journal(tmp_path / ".weft" / "weft.db", now=0.0).close()
    text = "nothing has been run here yet; to run the plan, type: weft run"
    with pytest.raises(InputError, match=text), open_book(tmp_path):
        pass


def test_the_last_run_is_meant_if_none_is_named(one: Written) -> None:
    with one.opened() as recorded_run:
        assert recorded_run.run.run == "r1"
    one.journal.add_run(structs.replace(one.journal.runs()[0], run="r2"))
    with one.opened() as recorded_run:
        assert recorded_run.run.run == "r2"
    with open_book(one.root, "r1") as recorded_run:
        assert recorded_run.run.run == "r1"


def test_the_plan_is_as_it_was_when_the_run_began(one: Written) -> None:
    with one.opened() as recorded_run:
        assert plan_of(recorded_run).outline.paths == ["", "store", "store/model", "docs"]


@pytest.mark.parametrize(
    ("file", "command"),
    [
        ("weft.yaml", "weft run"),
        ("plans/my plan.yaml", "weft run 'my plan.yaml'"),
        ("standard input", "weft run -"),
    ],
)
def test_what_to_type_to_have_it_continue(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str, command: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with written(tmp_path, file=file) as files, files.opened() as recorded_run:
        assert recorded_run.run_command() == command


def test_from_elsewhere_the_whole_name_of_the_plan_is_typed(
    one: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir("/")
    with one.opened() as recorded_run:
        assert recorded_run.run_command() == f"weft run {str(one.root)[1:]}/weft.yaml"
    monkeypatch.chdir("/proc")
    with one.opened() as recorded_run:
        assert recorded_run.run_command() == f"weft run {one.root}/weft.yaml"


def test_a_living_coordinator_is_found(one: Written) -> None:
    with one.opened() as recorded_run:
        assert recorded_run.has_coordinator()
        one.die()
        assert not recorded_run.has_coordinator()


class Sleeps:
    """Instead of time passing, something happens."""

    def __init__(self, *happens: Callable[[], None]) -> None:
        self._happens = list(happens)

    def __call__(self, seconds: float) -> None:
        assert seconds == POLL_INTERVAL
        self._happens.pop(0)()


def nothing() -> None:
    pass


def followed(one: Written, monkeypatch: pytest.MonkeyPatch, *happens: Callable[[], None]) -> list[str]:
    """The kinds of events that who follows gets while all this happens, and where it is told to be alone."""
    sleeps = Sleeps(*happens)
    monkeypatch.setattr(time, "sleep", sleeps)
    got: list[str] = []
    with one.opened() as recorded_run:
        events = recorded_run.events(follow=True, alone=lambda: got.append("alone"))
        got.extend(kind_of(recorded.event) for recorded in events)
    assert sleeps._happens == []
    return got


def test_following_yields_each_event_once_until_the_run_is_over(
    one: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    one.tell(make_event(kind="run_started"))
    asks = partial(one.tell, make_event(kind="ask"), state="waiting")
    ends = partial(one.tell, make_event(kind="answered"), make_event(kind="run_finished"), state="completed")
    got = followed(one, monkeypatch, nothing, asks, nothing, ends)
    assert got == ["run_started", "ask", "answered", "run_finished"]


def test_following_ends_when_the_coordinator_leaves_a_run_that_waits(
    one: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    one.tell(make_event(kind="run_started"))
    asks = partial(one.tell, make_event(kind="ask"), state="waiting")
    leaves = partial(one.tell, make_event(kind="coordinator_left"))
    assert followed(one, monkeypatch, asks, nothing, leaves) == ["run_started", "ask", "coordinator_left"]


def test_a_run_that_is_over_is_not_waited_for(one: Written, monkeypatch: pytest.MonkeyPatch) -> None:
    one.tell(make_event(kind="run_finished"), state="abandoned")
    assert followed(one, monkeypatch) == ["run_finished"]


def test_following_reports_a_missing_coordinator_once(one: Written, monkeypatch: pytest.MonkeyPatch) -> None:
    recovers = partial(one.tell, make_event(kind="recovered"))
    ends = partial(one.tell, make_event(kind="run_finished"), state="completed")
    got = followed(
        one,
        monkeypatch,
        one.die,
        nothing,
        nothing,
        one.come_back,
        recovers,
        one.die,
        nothing,
        one.come_back,
        ends,
    )
    assert got == ["alone", "recovered", "alone", "run_finished"]


def test_a_run_that_ends_is_not_left_alone(one: Written, monkeypatch: pytest.MonkeyPatch) -> None:
    def end() -> None:
        one.tell(make_event(kind="run_finished"), state="completed")
        one.die()

    assert followed(one, monkeypatch, end) == ["run_finished"]


def test_a_missing_coordinator_is_reported_only_on_request(
    one: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    one.die()
    ends = partial(one.tell, make_event(kind="run_finished"), state="completed")
    monkeypatch.setattr(time, "sleep", Sleeps(nothing, ends))
    with one.opened() as recorded_run:
        assert len(list(recorded_run.events(follow=True))) == 1
