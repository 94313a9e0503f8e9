import json

from hypothesis import given
from hypothesis import strategies as st

from weft.agents.shared import streams
from weft.agents.shared.streams import (
    LONGEST_LINE,
    as_text,
    has_gap,
    list_objects,
    list_values,
    parse_document,
    parse_events,
    value_at,
)

TEXTS = st.text(max_size=5)
VALUES = (
    TEXTS
    | st.none()
    | st.integers()
    | st.lists(TEXTS, max_size=2)
    | st.dictionaries(TEXTS, TEXTS, max_size=2)
)


@given(st.lists(st.dictionaries(TEXTS, VALUES, min_size=1, max_size=3), max_size=4))
def test_each_line_is_an_event(given_events: list[dict[str, object]]) -> None:
    text = "\n".join(json.dumps(event, ensure_ascii=False) for event in given_events)
    assert list(parse_events(text)) == given_events


def test_signs_that_look_like_ends_of_lines_may_be_in_a_text() -> None:
    assert list(parse_events('{"a": "x\u2028y\x85z"}')) == [{"a": "x\u2028y\x85z"}]


def test_what_is_no_object_is_passed_over() -> None:
    assert list(parse_events('x\n[1]\n"a"\n{"a"\n{}\n{"a": 1}')) == [{"a": 1}]


def test_an_event_may_stand_between_other_signs() -> None:
    assert list(parse_events('\x1b[0m…{"a": 1} and more\r\n')) == [{"a": 1}]


def test_a_line_may_be_long_but_not_endless() -> None:
    fits = '{"a":"' + "x" * (LONGEST_LINE - len('{"a":""}')) + '"}'
    assert len(list(parse_events(fits))) == 1
    assert list(parse_events(fits.replace("x", "xx", 1))) == []


def test_a_file_is_one_object_or_nothing() -> None:
    assert parse_document('{"a": 1}') == {"a": 1}
    assert [parse_document(text) for text in (None, "", "[1]", "{", "[" * 100_000)] == [{}] * 5


def test_a_gap_is_a_line_by_itself() -> None:
    assert has_gap("a\n[… 1,234 bytes left out …]\nb")
    assert not has_gap("a [… 1,234 bytes left out …]")


def test_values_are_found_along_keys() -> None:
    assert value_at({"a": {"b": 3}}, "a", "b") == 3
    others: list[object] = [{}, {"a": 1}, {"a": {}}, 7, None]
    assert [value_at(value, "a", "b") for value in others] == [None] * 5
    assert list_objects([{"a": 1}, 2, {}]) == [{"a": 1}, {}]
    assert list_objects({"a": 1}) == []
    assert list_values({"a": 1, "b": 2}) == [1, 2]
    assert list_values([1]) == []


def test_words_are_text_or_json_and_never_halves_of_signs() -> None:
    assert [as_text(value) for value in (None, "a", ["ä"], 1, "\ud800")] == ["", "a", '["ä"]', "1", "?"]


def test_what_is_of_another_kind_is_unknown() -> None:
    assert [streams.read_count(value) for value in (3, 0, -1, True, 1.5, "3", None)] == [3, 0, *[None] * 5]
    assert [streams.read_cost(value) for value in (0.01, 0, -1, float("nan"), "3", None)] == [
        10_000,
        0,
        *[None] * 4,
    ]
    assert [streams.read_session(value) for value in ("x", "", "a\nb", 3, None)] == ["x", *[None] * 4]
