import json

from stored_events import make_event
from weft.app.views.event_json import event_json, timestamp
from weft.engine.messages.events import Recorded
from weft.engine.messages.facts import Woke


def recorded(data=None, **event):
    stored = json.dumps(data or {})
    return Recorded(seq=7, at=1_700_000_000.1234, run="r1", event=make_event(data=data, **event), data=stored)


def test_an_event_that_just_happened_has_the_data_that_the_journal_stores() -> None:
    event = make_event(kind="merge_asked", data={"subplan": "store", "parts": ["store/model"]})
    entry = event_json(Recorded(seq=1, at=0.0, run="r1", event=event))
    assert (entry["subplan"], entry["parts"]) == ("store", ["store/model"])


def test_an_event_has_the_common_fields_first_and_then_its_own() -> None:
    entry = recorded(
        kind="step_finished",
        subplan="store/model",
        step="code",
        attempt=2,
        outcome="failed",
        cost=1_250_000,
        tokens=900,
        data={"exit_code": 1, "kind": "agent"},
    )
    assert list(event_json(entry).items()) == [
        ("seq", 7),
        ("ts", "2023-11-14T22:13:20.123Z"),
        ("run", "r1"),
        ("event", "step_finished"),
        ("subplan", "store/model"),
        ("step", "code"),
        ("attempt", 2),
        ("outcome", "failed"),
        ("cost_usd", 1.25),
        ("tokens", 900),
        ("exit_code", 1),
        ("kind", "agent"),
    ]


def test_a_request_is_shown_with_its_subplan() -> None:
    assert event_json(recorded(kind="merge_asked", data={"subplan": "store"}))["subplan"] == "store"


def test_what_an_event_does_not_say_is_null_and_an_unknown_cost_is_not_zero() -> None:
    result = event_json(recorded(kind="woke"))
    assert [result[name] for name in ("subplan", "step", "attempt", "outcome", "cost_usd", "tokens")] == [
        None
    ] * 6


def test_the_fact_is_not_reported() -> None:
    entry = event_json(recorded(kind="woke", fact=Woke(at=1.0)))
    assert "fact" not in entry


def test_data_never_replaces_a_common_field() -> None:
    entry = event_json(recorded(kind="run_started", data={"run": "another", "plan": "notes"}))
    assert (entry["run"], entry["plan"]) == ("r1", "notes")


def test_times_in_the_data_are_written_like_the_time_of_the_event() -> None:
    data = {"launched_at": 0, "completed_at": 1.5, "until": 60.0, "at": 1.0, "started_at": None}
    entry = event_json(recorded(kind="step_finished", data=data))
    assert (entry["launched_at"], entry["completed_at"]) == (
        "1970-01-01T00:00:00.000Z",
        "1970-01-01T00:00:01.500Z",
    )
    assert (entry["until"], entry["at"], entry["started_at"]) == ("1970-01-01T00:01:00.000Z", 1.0, None)


def test_a_time_is_rounded_to_the_millisecond() -> None:
    assert timestamp(0.9996) == "1970-01-01T00:00:01.000Z"
