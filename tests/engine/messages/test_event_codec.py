"""Events and their stored form: each class, and rows of other versions."""

import json
from collections.abc import Mapping
from enum import StrEnum
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import fields

from weft.engine.messages.event_base import Event
from weft.engine.messages.event_codec import (
    CLASSES,
    data_of,
    data_text,
    kind_of,
    kinds_of,
    outcome_of,
    to_event,
    to_plain,
)
from weft.engine.messages.events import (
    AnyEvent,
    BudgetEvent,
    SpentEvent,
    StepEnd,
    StepFinishedEvent,
    StepSkippedEvent,
    UnknownEvent,
)
from weft.engine.messages.facts import RefMove, Woke
from weft.engine.messages.failures import Failure

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
ENVELOPE = {field.name for field in fields(Event)}
_PLAIN: Mapping[object, st.SearchStrategy[Any]] = {
    str: TEXT,
    int: st.integers(0, 2**40),
    float: st.floats(0, 1e9),
    bool: st.booleans(),
    NoneType: st.none(),
}


def values_of(hint: Any) -> st.SearchStrategy[Any]:
    """Values of the type of a field."""
    origin, arguments = get_origin(hint), get_args(hint)
    if hint in _PLAIN:
        return _PLAIN[hint]
    if origin is Literal:
        return st.sampled_from(arguments)
    if origin is tuple:
        return st.lists(values_of(arguments[0]), max_size=2).map(tuple)
    if origin is dict:
        return st.dictionaries(TEXT, values_of(arguments[1]), max_size=2)
    if origin in {UnionType, Union}:
        return st.one_of(*map(values_of, arguments))
    if issubclass(hint, StrEnum):
        return st.sampled_from(list(hint))
    assert hint in {RefMove, Failure}
    return st.builds(hint, **{name: values_of(part) for name, part in get_type_hints(hint).items()})


def events_of(event_class: type[AnyEvent]) -> st.SearchStrategy[AnyEvent]:
    hints = get_type_hints(event_class)
    own = {field.name: values_of(hints[field.name]) for field in fields(event_class) if field.name != "fact"}
    return st.builds(event_class, **own, fact=st.none() | st.builds(Woke, at=st.floats(0, 1e9)))


def columns(event: AnyEvent) -> dict[str, Any]:
    envelope = {name: getattr(event, name) for name in ENVELOPE}
    return envelope | {"outcome": outcome_of(event), "data": data_text(event)}


@pytest.mark.parametrize("kind", CLASSES)
@settings(max_examples=20)
@given(data=st.data())
def test_an_event_of_each_class_becomes_a_row_and_the_row_the_same_event(kind: str, data: Any) -> None:
    event = data.draw(events_of(CLASSES[kind]))
    row = columns(event)
    again = to_event(kind_of(event), **row)
    assert kind_of(event) == kind
    assert type(again) is type(event)
    assert again == event
    assert columns(again) == row


@pytest.mark.parametrize("kind", CLASSES)
def test_a_row_without_data_is_read_with_defaults(kind: str) -> None:
    class_: Any = CLASSES[kind]
    event: AnyEvent = class_()
    assert to_event(kind, outcome=outcome_of(event)) == event


@pytest.mark.parametrize("kind", CLASSES)
def test_the_name_of_a_class_is_its_kind(kind: str) -> None:
    words = "".join(word.capitalize() for word in kind.split("_"))
    assert CLASSES[kind].__name__ == f"{words}Event"
    assert CLASSES[kind].__doc__ is not None
    assert kinds_of(CLASSES[kind]) == {kind}


def test_no_data_has_a_name_of_the_envelope() -> None:
    names = {field.encode_name for event_class in CLASSES.values() for field in fields(event_class)}
    assert {name for name in names if name.startswith("@")} == {f"@{name}" for name in ENVELOPE | {"outcome"}}


def test_keys_that_this_version_does_not_know_are_ignored() -> None:
    event = to_event(
        "spent", subplan="a", data='{"firing":3,"execution":2,"subplan":"b","model":"x"}', cost=4
    )
    assert event == SpentEvent(subplan="a", firing=3, execution=2, cost=4)


@pytest.mark.parametrize(
    ("kind", "outcome", "data"),
    [
        ("merged_by_magic", "", {"files": ["a"]}),
        ("merge", "postponed", {"files": ["a"]}),
        ("step_started", "late", {"firing": 1}),
        ("step_finished", "done", {"firing": "one"}),
    ],
)
def test_a_row_that_no_class_fits_keeps_everything(kind: str, outcome: str, data: dict[str, Any]) -> None:
    row: dict[str, Any] = {"outcome": outcome, "data": json.dumps(data, separators=(",", ":"))}
    event = to_event(kind, subplan="a", **row)
    assert event == UnknownEvent(kind=kind, outcome=outcome, data=data, subplan="a")
    assert (kind_of(event), columns(event)) == (kind, columns(event) | row)


def test_a_reason_for_which_only_another_version_skips_is_kept() -> None:
    assert to_event("step_skipped", outcome="other") == StepSkippedEvent(outcome="other")


def test_data_that_is_no_object_is_refused() -> None:
    with pytest.raises(msgspec.DecodeError):
        to_event("spent", data="[1")


def test_what_is_always_stored_and_what_only_if_it_is_set() -> None:
    assert data_of(SpentEvent(firing=1)) == {"firing": 1, "execution": 1}
    assert data_of(BudgetEvent(outcome="reset")) == {}
    assert data_of(StepFinishedEvent(message="")) == {}
    assert data_of(StepFinishedEvent(tail="", seconds=0.0, exit_code=0)) == {
        "exit_code": 0,
        "seconds": 0.0,
        "tail": "",
    }


def test_plain_values_leave_out_what_is_not_set() -> None:
    event = StepFinishedEvent(
        subplan="a", step="s", attempt=1, outcome=StepEnd.LOST, cost=0, fact=Woke(at=1.0)
    )
    assert to_plain(event) == {
        "kind": "step_finished",
        "subplan": "a",
        "step": "s",
        "attempt": 1,
        "outcome": "lost",
        "cost": 0,
        "fact": {"fact": "woke", "at": 1.0},
    }
    assert to_plain(event, '{"old":1}')["data"] == {"old": 1}
