"""Schemas of results: faults are found, and a contradiction is claimed only where there is one."""

from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from weft.plan.results.json_schemas import DIALECT, contradiction, join_contradictions, schema_fault

STRING = {"type": "string"}
INTEGER = {"type": "integer"}


def record(**properties: object) -> dict[str, Any]:
    """An object that has all of these."""
    return {"type": "object", "properties": properties, "required": list(properties)}


def closed(**properties: object) -> dict[str, Any]:
    """An object that may have these and nothing else."""
    return {"type": "object", "properties": properties, "additionalProperties": False}


def chain(length: int, end: object) -> dict[str, Any]:
    """Objects within objects."""
    schema: Any = end
    for _ in range(length):
        schema = record(x=schema)
    return dict(schema)


# Faults


@pytest.mark.parametrize(
    "schema",
    [
        True,
        {},
        record(a=STRING),
        {"$schema": DIALECT, "$id": "https://example.org/note", "type": "object"},
        {"$ref": "#/$defs/note", "$defs": {"note": STRING}},
        {"$ref": "#/$defs/a~1b%20c", "$defs": {"a/b c": STRING}},
        {"$ref": "#/prefixItems/0", "prefixItems": [STRING]},
        {"$ref": "#note", "$defs": {"note": {"$anchor": "note"}}},
        {"type": "object", "properties": {"below": {"$ref": "#"}}},
        {"properties": {"$ref": STRING, "$id": STRING}},
        {"const": {"$ref": "https://example.org"}, "default": {"$id": "x"}},
    ],
)
def test_a_schema_that_stands_on_its_own_has_no_fault(schema: object) -> None:
    assert schema_fault(schema) is None


@pytest.mark.parametrize(
    ("schema", "fault"),
    [
        (5, "at the top: 5 is not of type 'object', 'boolean'"),
        ({"type": "strin"}, "at type: 'strin' is not a type; did you mean 'string'?"),
        (
            {"properties": {"a": {"items": {"minimum": "x"}}}},
            "at properties.a.items.minimum: 'x' is not of type 'number'",
        ),
        ({"anyOf": [True, {"required": "a"}]}, "at anyOf.1.required: 'a' is not of type 'array'"),
        ({"pattern": "("}, "at pattern: '(' is not a 'regex'"),
        ({"properties": {1: {}}}, "at properties: the key 1 is not text"),
        ({"enum": [1, float("inf")]}, "at enum.1: inf is not a number in JSON"),
        ({"const": b"x"}, "at const: b'x' is not a value in JSON"),
        ({"$schema": "http://json-schema.org/draft-07/schema#"}, f"at $schema: only {DIALECT} is known"),
        (
            {"items": {"$id": "x"}},
            "at items.$id: a schema within a schema cannot have an address of its own",
        ),
    ],
)
def test_a_fault_is_reported_with_its_place(schema: object, fault: str) -> None:
    assert schema_fault(schema) == fault


@pytest.mark.parametrize(
    "reference",
    [
        "https://example.org/x",
        "other.json#/a",
        "#/$defs/b",
        "#/$defs/a/type/x",
        "#b",
        "#/allOf/7",
        "#/allOf/x",
    ],
)
@pytest.mark.parametrize("keyword", ["$ref", "$dynamicRef"])
def test_a_reference_that_leads_nowhere_in_the_schema_is_a_fault(keyword: str, reference: str) -> None:
    schema = {"$defs": {"a": STRING}, "allOf": [{}], "not": {"oneOf": [{keyword: reference}]}}
    assert schema_fault(schema) == (
        f"at not.oneOf.0.{keyword}: {reference!r} is not a place in this schema, as '#/$defs/NAME' is"
    )


@pytest.mark.parametrize(
    ("schema", "place"),
    [
        ({"$ref": "#"}, "the top"),
        ({"properties": {"a": {"$ref": "#/properties/a"}}}, "properties.a"),
        ({"allOf": [{"$ref": "#"}]}, "the top"),
    ],
)
def test_a_schema_that_asks_only_for_itself_is_a_fault(schema: object, place: str) -> None:
    assert schema_fault(schema) == f"at {place}: this leads back to itself, and would be checked without end"


def test_a_schema_too_deep_for_the_checker_is_a_fault() -> None:
    assert schema_fault(chain(2_000, STRING)) == "the schema is nested too deeply"


# Contradictions


@pytest.mark.parametrize(
    ("dependency", "required", "reason"),
    [
        (
            STRING,
            {"type": ["number", "null"]},
            "the dependency's schema allows string, the wanted schema allows null or number",
        ),
        (
            INTEGER,
            {"enum": ["a", "b"]},
            'the wanted schema allows only "a", "b", which the other requirements rule out',
        ),
        (
            {"enum": [1, 2, 3, 4, 5, 6]},
            {"minimum": 7},
            "the dependency's schema allows only 1, 2, 3, 4, 5, …, which the other requirements rule out",
        ),
        (
            {"const": None},
            {"enum": [0, False]},
            "the dependency's schema allows only null, which the other requirements rule out",
        ),
        (
            {"type": "number", "minimum": 2},
            {"maximum": 1.5},
            "a number would have to be at least 2 and at most 1.5",
        ),
        (
            {"type": "number", "exclusiveMinimum": 1, "minimum": 1},
            {"exclusiveMaximum": 1, "maximum": 1},
            "a number would have to be more than 1 and less than 1",
        ),
        (
            {"type": "string", "minLength": 4},
            {"maxLength": 3},
            "a text would have to be at least 4 and at most 3 characters long",
        ),
        (
            {"type": "array", "minItems": 4},
            {"maxItems": 3},
            "a list would have to have at least 4 and at most 3 items",
        ),
        (
            {"type": "array", "minItems": 1, "items": STRING},
            {"prefixItems": [INTEGER]},
            "the first item: the dependency's schema allows string, the wanted schema allows integer",
        ),
        (
            record(a=True, b=True),
            {"maxProperties": 1},
            "an object would have to have at least 2 and at most 1 properties",
        ),
        (
            record(a=STRING),
            closed(b=STRING),
            "the required property 'a': the wanted schema allows nothing there",
        ),
        (
            {"type": "object", "properties": {"a": False}},
            {"required": ["a"]},
            "the required property 'a': the dependency's schema allows nothing there",
        ),
        (
            record(a=record(b=STRING)),
            {"properties": {"a": {"properties": {"b": INTEGER}}}},
            (
                "the required property 'a': the required property 'b': the dependency's schema allows string,"
                " the wanted schema allows integer"
            ),
        ),
        (
            {"type": ["string", "integer"], "minLength": 2, "minimum": 2},
            {"maxLength": 1, "maximum": 1},
            (
                "a number would have to be at least 2 and at most 1, and "
                "a text would have to be at least 2 and at most 1 characters long"
            ),
        ),
    ],
)
def test_a_contradiction_is_reported_with_its_reason(
    dependency: dict[str, Any], required: dict[str, Any], reason: str
) -> None:
    assert contradiction(dependency, required) == reason


@pytest.mark.parametrize(
    ("dependency", "required"),
    [
        ({"const": 1}, {"const": True}),
        ({"const": {"a": 1}}, record(b=True)),
        ({"enum": ["long"]}, {"pattern": "^s"}),
        ({"const": 1, "anyOf": [{"$ref": "#/$defs/a"}], "$defs": {"a": {}}}, {"const": 2}),
        ({"type": "integer", "exclusiveMinimum": 1}, {"exclusiveMaximum": 2}),
        ({"type": "integer", "minimum": 1.2}, {"maximum": 1.8}),
        ({"type": "number", "minimum": 1}, {"exclusiveMaximum": 1}),
        ({"type": "number", "exclusiveMinimum": 1}, {"maximum": 1}),
        ({"type": ["integer", "string"]}, {"type": ["array", "boolean"]}),
        ({"type": "object", "additionalProperties": STRING}, record(a=INTEGER)),
        ({"allOf": [STRING]}, INTEGER),
        ({"$ref": "#/$defs/a", "$defs": {"a": STRING}}, INTEGER),
        (record(a={"$ref": "#/$defs/a"}) | {"$defs": {"a": STRING}}, record(a=INTEGER)),
        (chain(20, STRING), chain(20, INTEGER)),
    ],
)
def test_these_are_found_from_both_sides(dependency: dict[str, Any], required: dict[str, Any]) -> None:
    assert contradiction(dependency, required)
    assert contradiction(required, dependency)


@pytest.mark.parametrize(
    ("dependency", "required"),
    [
        (INTEGER, {"type": "number"}),
        (INTEGER, {"const": 1.0}),
        ({"minimum": 2}, {"maximum": 1}),  # any text will do
        ({"properties": {"a": STRING}}, record(a=INTEGER) | {"type": ["object", "null"]}),
        ({"type": "object", "properties": {"a": STRING}}, {"properties": {"a": INTEGER}}),
        ({"type": "array", "items": STRING}, {"items": INTEGER}),
        ({"type": "array", "minItems": 1, "items": STRING}, {"prefixItems": [STRING]}),
        ({"type": "array", "minItems": 1}, {"type": "array"}),
        ({"type": "integer", "minimum": 1}, {"maximum": 1}),
        ({"type": "integer", "minimum": 1}, {"type": "integer"}),
        ({"type": "number", "minimum": 1}, {"maximum": 1}),
        ({"type": "number", "exclusiveMinimum": 1}, {"exclusiveMaximum": 1.5}),
        ({"type": "integer", "maximum": 1}, {"type": "integer"}),
        (record(ab=STRING), closed() | {"patternProperties": {"^a": STRING}}),
        (record(a=STRING), {"type": "object", "unevaluatedProperties": False, "allOf": [record(a=STRING)]}),
        ({"$dynamicRef": "#/$defs/a", "$defs": {"a": STRING}}, INTEGER),  # not followed: nothing is claimed
    ],
)
def test_nothing_is_claimed_where_a_value_may_be(
    dependency: dict[str, Any], required: dict[str, Any]
) -> None:
    assert contradiction(dependency, required) is None


def test_a_schema_without_any_value_but_without_end_is_left_undecided() -> None:
    endless = record(x={"$ref": "#"})
    assert contradiction(endless, endless) is None


def test_a_search_that_grows_without_measure_is_left_undecided() -> None:
    steps = {
        f"{at}": record(a={"$ref": f"#/$defs/{at + 1}"}, b={"$ref": f"#/$defs/{at + 1}"}) for at in range(30)
    }
    doubling = {"$ref": "#/$defs/0", "$defs": {**steps, "30": STRING}}
    assert schema_fault(doubling) is None
    assert contradiction(doubling, {"type": "object"}) is None


# Soundness: the judge is the jsonschema library

VALUES = st.recursive(
    st.sampled_from([None, True, False, 0, 1, 2, 1.0, 1.5, -1, "", "a", "ab", "abc"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
    max_leaves=4,
)
TYPES = st.sampled_from(["null", "boolean", "integer", "number", "string", "array", "object"])
BOUNDS = st.sampled_from([-1, 0, 0.5, 1, 1.5, 2])
SIZES = st.integers(0, 2)
NAMES = st.lists(st.sampled_from("ab"), unique=True, max_size=2)


def keywords(inner: st.SearchStrategy[Any]) -> dict[str, st.SearchStrategy[Any]]:
    named = st.dictionaries(st.sampled_from("ab"), inner, max_size=2)
    return {
        "type": TYPES | st.lists(TYPES, min_size=1, max_size=3, unique=True),
        "const": VALUES,
        "enum": st.lists(VALUES, min_size=1, max_size=3),
        **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), BOUNDS),
        **{f"{end}{noun}": SIZES for end in ("min", "max") for noun in ("Length", "Items", "Properties")},
        "required": NAMES,
        "properties": named,
        "patternProperties": st.dictionaries(st.sampled_from(["^a", "b$"]), inner, max_size=1),
        **dict.fromkeys(("additionalProperties", "items", "unevaluatedProperties", "not", "contains"), inner),
        **dict.fromkeys(("prefixItems", "allOf", "anyOf"), st.lists(inner, min_size=1, max_size=2)),
    }


def schemas_of(values: dict[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[dict[str, Any]]:
    """Few of the keywords at once: a schema with many of them is met by nothing."""
    chosen = st.lists(st.sampled_from(sorted(values)), max_size=4, unique=True)
    return chosen.flatmap(lambda names: st.fixed_dictionaries({name: values[name] for name in names}))


SCHEMAS = st.recursive(st.booleans(), lambda inner: schemas_of(keywords(inner)), max_leaves=4)
REFERENCES = {"$ref": st.sampled_from(["#/$defs/a", "#/$defs/b"])}
ROOTS = st.builds(
    lambda schema, a, b: {"$defs": {"a": a, "b": b}} | schema,
    schemas_of(keywords(SCHEMAS | st.fixed_dictionaries(REFERENCES)) | REFERENCES),
    SCHEMAS,
    SCHEMAS,
)


def meets(value: object, schema: dict[str, Any]) -> bool:
    judge: Any = Draft202012Validator(schema)
    return bool(judge.is_valid(value))


@given(ROOTS, ROOTS, st.lists(VALUES, min_size=10, max_size=20))
def test_where_a_value_meets_both_schemas_no_contradiction_is_claimed(
    dependency: dict[str, Any], required: dict[str, Any], values: list[object]
) -> None:
    assume(any(meets(value, dependency) and meets(value, required) for value in values))
    assert contradiction(dependency, required) is None


@given(ROOTS, VALUES)
def test_a_schema_that_a_value_meets_does_not_contradict_that_value(
    schema: dict[str, Any], value: object
) -> None:
    assume(meets(value, schema))
    assert contradiction({"const": value}, schema) is None
    assert contradiction({"enum": [value]} | schema, schema) is None


@given(ROOTS)
def test_schemas_made_of_known_keywords_have_no_fault(schema: dict[str, Any]) -> None:
    assert schema_fault(schema) is None


# Joins


def test_a_join_whose_schema_fits_its_dependencies_has_no_fault() -> None:
    join = closed(a=record(x=STRING), b={"type": ["integer", "null"]}) | {"required": ["a", "b"]}
    assert join_contradictions(join, {"a": record(x=STRING, y=INTEGER), "b": INTEGER}) == {}


def test_each_dependency_that_cannot_fit_is_named() -> None:
    join = {"properties": {"a": STRING, "b": STRING}}
    assert join_contradictions(join, {"a": INTEGER, "b": STRING, "c": INTEGER}) == {
        "a": "the dependency's schema allows integer, the join's schema allows string"
    }


def test_a_dependency_for_which_a_closed_join_has_no_property_is_named() -> None:
    assert join_contradictions(closed(a=STRING), {"a": STRING, "b": STRING}) == {
        "b": "the join's schema does not allow a property of this name"
    }


def test_a_name_that_a_join_requires_is_one_of_its_dependencies() -> None:
    assert join_contradictions({"allOf": [{"required": ["a", "z"]}]}, {"a": STRING}) == {
        "z": "the join's schema requires 'z', which is not among its dependencies"
    }


def test_a_join_is_an_object() -> None:
    assert join_contradictions({"type": ["array", "null"]}, {"a": STRING}) == {
        "": "the result of a join is an object, but its schema allows only array or null"
    }


@pytest.mark.parametrize(
    ("bound", "fault"),
    [
        (
            {"minProperties": 2},
            {"": "the join has 1 dependencies, but its schema wants at least 2 properties"},
        ),
        (
            {"maxProperties": 0},
            {"": "the join has 1 dependencies, but its schema wants at most 0 properties"},
        ),
        ({"minProperties": 1, "maxProperties": 1}, {}),
    ],
)
def test_a_join_has_as_many_properties_as_dependencies(bound: dict[str, int], fault: dict[str, str]) -> None:
    assert join_contradictions(bound, {"a": STRING}) == fault


def test_references_in_a_join_start_at_the_joins_schema() -> None:
    join = {"properties": {"a": {"$ref": "#/$defs/text"}}, "$defs": {"text": STRING}}
    assert list(join_contradictions(join, {"a": INTEGER})) == ["a"]
