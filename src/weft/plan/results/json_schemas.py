"""JSON Schemas of results: whether a schema is valid, and whether a value can satisfy two of them."""

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

from weft.plan.results.demands import (
    REFERENCES,
    Demand,
    Place,
    Schema,
    allowed_sizes,
    allowed_types,
    conjuncts,
    flatten,
    on_property,
    required_names,
    schemas_in,
    target,
    type_names,
    why_no_value,
)
from weft.plan.results.validation import pattern_fault, patterns_in
from weft.plan.text.problems import suggestion

DIALECT = "https://json-schema.org/draft/2020-12/schema"
TYPE_NAMES = ("string", "number", "integer", "boolean", "null", "array", "object")


def schema_fault(schema: object) -> str | None:
    """Returns why this is not a self-contained JSON Schema (2020-12); None if it is."""
    try:
        # In this order, since each check relies on the one before: the metaschema expects JSON, the last one valid
        # keywords.
        return _fault_as_json(schema) or _fault_by_metaschema(schema) or _fault_in_references(schema)
    except RecursionError:
        return "the schema is nested too deeply"


def _fault_as_json(schema: object) -> str | None:
    for place, value in _walk(schema):
        if isinstance(value, dict):
            wrong_keys = [key for key in cast("dict[object, object]", value) if not isinstance(key, str)]
            if wrong_keys:
                return f"{_at(place)}: the key {wrong_keys[0]!r} is not text"
        elif isinstance(value, float) and not math.isfinite(value):
            return f"{_at(place)}: {value} is not a number in JSON"
        elif not isinstance(value, list | str | int | float | None):
            return f"{_at(place)}: {value!r} is not a value in JSON"
    return None


def _walk(value: object) -> Iterator[tuple[Place, object]]:
    # A stack instead of recursion: the schema is not known to be shallow yet.
    todo: list[tuple[Place, object]] = [((), value)]
    while todo:
        place, value = todo.pop()
        yield place, value
        if isinstance(value, dict):
            todo += [((*place, key), below) for key, below in cast("dict[str, object]", value).items()]
        elif isinstance(value, list):
            todo += [((*place, index), below) for index, below in enumerate(cast("list[object]", value))]


def _fault_by_metaschema(schema: object) -> str | None:
    from jsonschema import Draft202012Validator as Standard  # noqa: PLC0415 - slow to import

    # Any: jsonschema's types are incomplete.
    metaschema: Any = Standard(Standard.META_SCHEMA, format_checker=Standard.FORMAT_CHECKER)
    fault: Any = next(metaschema.iter_errors(schema), None)
    if fault is None:
        return None
    place, instance = tuple(fault.absolute_path), fault.instance
    if place[-1:] == ("type",) and isinstance(instance, str):
        return f"{_at(place)}: {instance!r} is not a type{suggestion(instance, TYPE_NAMES)}"
    return f"{_at(place)}: {fault.message}"


def _fault_in_references(schema: object) -> str | None:
    parts = list(schemas_in(schema))
    anchors = {part.get(key) for _, part in parts for key in ("$anchor", "$dynamicAnchor")}
    for place, part in parts:
        if part.get("$schema", DIALECT) not in {DIALECT, f"{DIALECT}#"}:
            return f"{_at((*place, '$schema'))}: only {DIALECT} is known"
        # A nested `$id` would change what references inside it start from.
        if place and "$id" in part:
            return f"{_at((*place, '$id'))}: a schema within a schema cannot have an address of its own"
        pattern_error = next(filter(None, map(pattern_fault, patterns_in(part))), None)
        if pattern_error is not None:
            return f"{_at(place)}: {pattern_error}; write it without lookarounds, references back and \\u escapes"
        if "unevaluatedProperties" in part and any(_repeats(subschema) for _, subschema in parts):
            # Here jsonschema matches the patterns itself, with Python's unbounded regular expressions.
            message = "unevaluatedProperties beside a pattern with repetitions in patternProperties"
            return f"{_at(place)}: {message}; use additionalProperties"
        broken = [
            key for key in REFERENCES if key in part and not _leads_somewhere(part[key], schema, anchors)
        ]
        if broken:
            message = f"{part[broken[0]]!r} is not a place in this schema"
            return f"{_at((*place, broken[0]))}: {message}, as '#/$defs/NAME' is"
        if _asks_for_itself(part, schema):
            return f"{_at(place)}: this leads back to itself, and would be checked without end"
    return None


def _repeats(part: Schema) -> bool:
    """Returns whether a pattern of its properties can match the same text in many ways."""
    patterns = part.get("patternProperties")
    if not isinstance(patterns, Mapping):
        return False
    return any(set(name) & set("*+{") for name in cast("Mapping[str, object]", patterns))


def _leads_somewhere(reference: object, root: object, anchors: set[object]) -> bool:
    text = str(reference)
    return (text.startswith("#") and text[1:] in anchors) or target(text, root) is not None


def _asks_for_itself(part: Schema, root: object) -> bool:
    parts = flatten(conjuncts(Demand(schema=part, root=root, side="")))
    return any(demand.schema is part for demand in parts)


def _at(place: Iterable[str | int]) -> str:
    return "at " + (".".join(str(key) for key in place) or "the top")


# Contradictions between two schemas


def contradiction(dependency: Schema, required: Schema) -> str | None:
    """Returns why no value can satisfy both schemas; None if one may. Neither may have a `schema_fault`."""
    return why_no_value(
        [_dependency(dependency), Demand(schema=required, root=required, side="the wanted schema")]
    )


def join_contradictions(join_schema: Schema, dependencies: Mapping[str, Schema]) -> dict[str, str]:
    """Returns, for each dependency that cannot satisfy the join's schema, the reason.

    Also returns one for each name that the join requires and that is not a dependency. A fault of the join as a
    whole is under the empty name.
    """
    join = flatten([Demand(schema=join_schema, root=join_schema, side="the join's schema")])
    faults = {
        name: f"the join's schema requires '{name}', which is not among its dependencies"
        for name in required_names(join)
        if name not in dependencies
    }
    whole = _fault_of_the_whole(join, len(dependencies))
    if whole is not None:
        faults[""] = whole
    for name, schema in dependencies.items():
        reason = _no_such_member(schema, list(on_property(join, name)))
        if reason is not None:
            faults[name] = reason
    return faults


def _fault_of_the_whole(join: list[Demand], count: int) -> str | None:
    if "object" not in allowed_types(join):
        return (
            f"the result of a join is an object, but its schema allows only {type_names(allowed_types(join))}"
        )
    least, most = allowed_sizes(join, "Properties")
    if not least <= count <= most:
        bound = f"at least {least}" if count < least else f"at most {most}"
        return f"the join has {count} dependencies, but its schema wants {bound} properties"
    return None


def _dependency(schema: object) -> Demand:
    return Demand(schema=schema, root=schema, side="the dependency's schema")


def _no_such_member(schema: Schema, demands: list[Demand]) -> str | None:
    if any(demand.schema is False for demand in demands):
        return "the join's schema does not allow a property of this name"
    return why_no_value([_dependency(schema), *demands])
