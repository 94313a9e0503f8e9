"""A value is held against a schema within a bound, whatever both are."""

import pytest
from jsonschema import Draft202012Validator

from weft.plan.results.json_schemas import schema_fault
from weft.plan.results.validation import TooManyStepsError, pattern_fault, validator

EVIL = "^(a+)+$"
"""Python's own matcher needs ages to see that many letters and an exclamation mark do not match."""
BAD = "a" * 100_000 + "!"


def errors(schema: object, value: object) -> list[str]:
    return [error.message for error in validator(schema).iter_errors(value)]


def test_a_pattern_is_matched_in_a_time_that_grows_with_the_text_only() -> None:
    assert len(errors({"pattern": EVIL}, BAD)) == 1
    assert errors({"pattern": EVIL}, "aaa") == []
    assert len(errors({"patternProperties": {EVIL: False}}, {"aaa": 1, BAD: 1})) == 1
    assert len(errors({"patternProperties": {EVIL: {}}, "additionalProperties": False}, {BAD: 1})) == 1


@pytest.mark.parametrize("pattern", [r"(?=a)b", r"(a)\1", "[", "a{2000}", r"(?<!x)y"])
def test_a_pattern_without_a_bound_is_refused_when_the_plan_is_loaded(pattern: str) -> None:
    message = pattern_fault(pattern)
    assert message is not None
    assert message.startswith("RE2 does not support the pattern ")
    for schema in ({"pattern": pattern}, {"items": {"patternProperties": {pattern: True}}}):
        assert schema_fault(schema) is not None


def test_patterns_that_nothing_bounds_are_refused_beside_unevaluated_properties() -> None:
    schema = {"patternProperties": {"a+": True}, "unevaluatedProperties": False}
    assert schema_fault(schema) == (
        "at the top: unevaluatedProperties beside a pattern with repetitions in patternProperties; "
        "use additionalProperties"
    )
    assert schema_fault({"patternProperties": {"^x-": True}, "unevaluatedProperties": False}) is None


def test_so_many_keywords_are_applied_and_no_more() -> None:
    """Each level has two ways, and both fail: as many as there are atoms, soon."""
    tree = {
        "$ref": "#/$defs/t",
        "$defs": {"t": {"anyOf": [{"items": {"$ref": "#/$defs/t"}, "minItems": 1}] * 2}},
    }
    value: object = []
    for _ in range(40):
        value = [value]
    with pytest.raises(TooManyStepsError):
        errors(tree, value)
    assert errors({"type": "string"}, "next") == []  # the next one begins to count again


def test_equal_items_are_found_without_comparing_all_with_all() -> None:
    many = [{"number": number} for number in range(20_000)]
    assert errors({"uniqueItems": True}, many) == []
    assert errors({"uniqueItems": True}, [{"a": 1, "b": [2]}, {"b": [2.0], "a": 1.0}]) != []
    assert errors({"uniqueItems": True}, [1, True, "1", None, 0, False]) == []
    assert errors({"uniqueItems": False}, [1, 1]) == []


def test_half_a_surrogate_pair_is_text() -> None:
    assert errors({"pattern": "b$"}, "\ud83db") == []


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"pattern": "^a"}, "b"),
        ({"pattern": "^a"}, 3),
        ({"additionalProperties": False, "properties": {"a": {}}}, {"a": 1, "b": 2}),
        ({"additionalProperties": False}, {"b": 1, "c": 2}),
        ({"additionalProperties": {"type": "string"}}, {"b": 1}),
        ({"additionalProperties": True}, {"b": 1}),
        ({"additionalProperties": False, "patternProperties": {"^x": {}, "^y": {}}}, {"x1": 1, "b": 2}),
        ({"additionalProperties": False, "patternProperties": {"^x": {}}}, {"a": 1, "b": 2}),
        ({"patternProperties": {"^x": {"type": "string"}}}, {"x": 1, "y": 1}),
        ({"patternProperties": {"^x": False}}, ["x"]),
    ],
)
def test_what_is_said_is_what_jsonschema_says(schema: dict[str, object], value: object) -> None:
    assert errors(schema, value) == [
        error.message for error in Draft202012Validator(schema).iter_errors(value)
    ]
