"""Decides whether one JSON value can satisfy several schemas together.

"No such value" is claimed only if it is certain. A schema is a conjunction, so leaving a part out of the
reasoning only weakens the claims; keywords that are not understood here (`anyOf`, `not`, `pattern`, …) are left
out. Everything that both sides require of the value, also through `allOf` and `$ref`, is collected as a list of
*demands*. Then each type of JSON value is tried: if no type is allowed, or if the demands rule out each allowed
type, there is no such value. The demands on a required property are the same question again.

The search has a budget, since a schema may refer to itself; when that is spent, nothing is claimed.
"""

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import cast
from urllib.parse import unquote

from msgspec import Struct
from msgspec.structs import replace

from weft.plan.results.validation import TooManyStepsError, validator

Schema = Mapping[str, object]
Place = tuple[str | int, ...]

BUDGET = 5_000
"""The most demands that a search examines."""
MAX_DEPTH = 50
"""The deepest nesting of properties that a search follows."""

_HOLD_A_SCHEMA = frozenset({
    "additionalProperties", "contains", "contentSchema", "else", "if", "items", "not", "propertyNames", "then",
    "unevaluatedItems", "unevaluatedProperties",
})  # fmt: skip
_HOLD_SCHEMAS = frozenset({
    "$defs", "allOf", "anyOf", "definitions", "dependentSchemas", "oneOf", "patternProperties", "prefixItems",
    "properties",
})  # fmt: skip
REFERENCES = ("$ref", "$dynamicRef")

# A whole number is an integer, even if it is written 1.0; "fraction" stands for all other numbers.
_TYPES: Mapping[object, frozenset[str]] = {
    "number": frozenset({"integer", "fraction"}),
    **{kind: frozenset({kind}) for kind in ("null", "boolean", "integer", "string", "array", "object")},
}
_ALL_TYPES = frozenset[str]().union(*_TYPES.values())

# Keywords whose meaning does not depend on other keywords.
_INDEPENDENT = frozenset({
    "const", "enum", "exclusiveMaximum", "exclusiveMinimum", "maxItems", "maxLength", "maxProperties", "maximum",
    "minItems", "minLength", "minProperties", "minimum", "required", "type",
})  # fmt: skip


def schemas_in(schema: object) -> Iterator[tuple[Place, Schema]]:
    """Yields the schema and all its subschemas, without values that only look like one, as in `const`."""
    todo: list[tuple[Place, object]] = [((), schema)]
    while todo:
        place, schema = todo.pop()
        if isinstance(schema, Mapping):
            part = cast("Schema", schema)
            yield place, part
            todo += [((*place, key), part[key]) for key in part.keys() & _HOLD_A_SCHEMA]
            for key in part.keys() & _HOLD_SCHEMAS:
                todo += [((*place, key, *below), subschema) for below, subschema in _entries(part[key])]


def _entries(value: object) -> list[tuple[Place, object]]:
    entries = (
        cast("Schema", value).items()
        if isinstance(value, Mapping)
        else enumerate(cast("list[object]", value))
    )
    return [((key,), entry) for key, entry in entries]


def target(reference: str, root: object) -> object:
    """Returns what a pointer such as `#/$defs/x` refers to, or None."""
    pointer, value = unquote(reference), root
    if pointer != "#" and not pointer.startswith("#/"):
        return None
    for escaped in pointer.split("/")[1:]:
        key = escaped.replace("~1", "/").replace("~0", "~")
        if isinstance(value, Mapping):
            value = cast("Schema", value).get(key)
        elif isinstance(value, list) and re.fullmatch("[0-9]{1,6}", key):
            value = next(iter(cast("list[object]", value)[int(key) :]), None)
        else:
            return None
    return value


class Demand(Struct, frozen=True, kw_only=True):
    """A schema that a value has to satisfy."""

    schema: object
    root: object
    """The schema that its references start from."""
    side: str
    """The owner of the schema, for messages: "the dependency's schema"."""

    def get(self, key: str) -> object:
        return cast("Schema", self.schema).get(key) if isinstance(self.schema, Mapping) else None


class _SpentError(Exception):
    """The search has used up its budget."""


class _Budget(Struct):
    remaining: int = BUDGET

    def spend(self, amount: int) -> None:
        self.remaining -= amount
        if self.remaining < 0:
            raise _SpentError


class _Search(Struct, frozen=True, kw_only=True):
    budget: _Budget
    depth: int = 0

    def deeper(self) -> "_Search":
        if self.depth >= MAX_DEPTH:
            raise _SpentError
        return replace(self, depth=self.depth + 1)


def why_no_value(demands: Iterable[Demand]) -> str | None:
    """Returns why no value satisfies all demands; None if one may, or if the search takes too long."""
    try:
        return _no_value(demands, _Search(budget=_Budget()))
    except _SpentError:
        return None


def _no_value(demands: Iterable[Demand], search: _Search) -> str | None:
    """Returns why no value satisfies all demands; None if one may."""
    flat = flatten(demands)
    search.budget.spend(len(flat))
    closed = next((demand.side for demand in flat if demand.schema is False), None)
    if closed is not None:
        return f"{closed} allows nothing there"
    # From the simplest reason to the most involved, so that the message names the simplest.
    return _no_type(flat) or _no_listed_value(flat) or _no_value_of_a_type(flat, search)


def flatten(demands: Iterable[Demand]) -> list[Demand]:
    """Returns the demands, and those that they contain by `allOf` and `$ref`."""
    flat: list[Demand] = []
    todo = list(demands)
    visited: set[tuple[int, int]] = set()
    while todo:
        demand = todo.pop()
        # A schema may refer to itself, so each is visited once.
        mark = (id(demand.schema), id(demand.root))
        if mark not in visited:
            visited.add(mark)
            flat.append(demand)
            todo += conjuncts(demand)
    return flat


def conjuncts(demand: Demand) -> Iterator[Demand]:
    """Yields the demands that this demand implies."""
    parts, reference = demand.get("allOf"), demand.get("$ref")
    for part in cast("list[object]", parts) if isinstance(parts, list) else []:
        yield replace(demand, schema=part)
    if isinstance(reference, str):
        yield replace(demand, schema=target(reference, demand.root))


def _no_type(demands: list[Demand]) -> str | None:
    if allowed_types(demands):
        return None
    sides = dict.fromkeys(demand.side for demand in sorted(demands, key=lambda demand: demand.side))
    each = [(side, allowed_types([demand for demand in demands if demand.side == side])) for side in sides]
    return ", ".join(f"{side} allows {type_names(types)}" for side, types in each if types != _ALL_TYPES)


def allowed_types(demands: Iterable[Demand]) -> frozenset[str]:
    types = _ALL_TYPES
    for demand in demands:
        named = demand.get("type")
        if named is not None:
            names = cast("list[object]", named) if isinstance(named, list) else [named]
            types &= frozenset[str]().union(*(_TYPES[name] for name in names))
    return types


def type_names(types: frozenset[str]) -> str:
    names = types - {"integer", "fraction"} | {"number"} if "fraction" in types else types
    return " or ".join(sorted(names)) or "no type"


def _no_listed_value(demands: list[Demand]) -> str | None:
    """Returns why none of the values that a side lists satisfies all demands; None if one may."""
    listed = [(demand.side, values) for demand in demands if (values := _listed_values(demand)) is not None]
    if not listed:
        return None
    validators = [validator(_self_contained(demand.schema)) for demand in demands]
    # The shortest list gives the fewest values to try.
    side, values = min(listed, key=lambda pair: len(pair[1]))
    try:
        if any(all(validator_.is_valid(value) for validator_ in validators) for value in values):
            return None
    except TooManyStepsError:
        return None
    shown = ", ".join(json.dumps(value, ensure_ascii=False) for value in values[:5]) + (
        ", …" if values[5:] else ""
    )
    return f"{side} allows only {shown}, which the other requirements rule out"


def _listed_values(demand: Demand) -> list[object] | None:
    schema = demand.schema
    if not isinstance(schema, Mapping):
        return None
    if "const" in schema:
        return [cast("Schema", schema)["const"]]
    values = cast("Schema", schema).get("enum")
    return cast("list[object]", values) if isinstance(values, list) else None


def _self_contained(schema: object) -> dict[str, object]:
    """Returns the schema, or the part of it that means the same without its references."""
    if not isinstance(schema, Mapping):
        return {}
    whole = dict(cast("Schema", schema))
    if not any(key in part for _, part in schemas_in(whole) for key in REFERENCES):
        return whole
    return {key: value for key, value in whole.items() if key in _INDEPENDENT}


# Values of one type


def _no_value_of_a_type(demands: list[Demand], search: _Search) -> str | None:
    types = allowed_types(demands)
    # One type without a test is enough: it always has a value.
    if not types <= _IMPOSSIBLE.keys():
        return None
    reasons: list[str] = []
    for kind in sorted(types):
        reason = _IMPOSSIBLE[kind](demands, search)
        if reason is None:
            return None
        reasons.append(reason)
    return ", and ".join(dict.fromkeys(reasons))


def _no_fraction(demands: list[Demand], _: _Search) -> str | None:
    (low, above), (high, below) = _lower_bound(demands), _upper_bound(demands)
    if low < high or (low == high and not above and not below):
        return None
    return _no_number_between((low, above), (high, below))


def _no_integer(demands: list[Demand], _: _Search) -> str | None:
    (low, above), (high, below) = _lower_bound(demands), _upper_bound(demands)
    # An unbounded side always contains an integer.
    if math.inf in {-low, high}:
        return None
    first = math.floor(low) + 1 if above else math.ceil(low)
    last = math.ceil(high) - 1 if below else math.floor(high)
    return None if first <= last else _no_number_between((low, above), (high, below))


def _lower_bound(demands: list[Demand]) -> tuple[float, bool]:
    """Returns the highest lower bound, and whether it is itself excluded."""
    included = [(bound, False) for bound in _numbers(demands, "minimum")]
    return max([(-math.inf, False), *included, *((at, True) for at in _numbers(demands, "exclusiveMinimum"))])


def _upper_bound(demands: list[Demand]) -> tuple[float, bool]:
    included = [(bound, False) for bound in _numbers(demands, "maximum")]
    excluded = [(bound, True) for bound in _numbers(demands, "exclusiveMaximum")]
    return min([(math.inf, False), *included, *excluded], key=lambda bound: (bound[0], not bound[1]))


def _no_number_between(low: tuple[float, bool], high: tuple[float, bool]) -> str:
    lower = f"{'more than' if low[1] else 'at least'} {low[0]}"
    return f"a number would have to be {lower} and {'less than' if high[1] else 'at most'} {high[0]}"


def _no_string(demands: list[Demand], _: _Search) -> str | None:
    return _no_size(
        "a text would have to be at least {} and at most {} characters long", allowed_sizes(demands, "Length")
    )


def _no_array(demands: list[Demand], search: _Search) -> str | None:
    sizes = allowed_sizes(demands, "Items")
    reason = _no_size("a list would have to have at least {} and at most {} items", sizes)
    if reason is not None or sizes[0] < 1:
        return reason
    reason = _no_value(_on_first_item(demands), search.deeper())
    return None if reason is None else f"the first item: {reason}"


def _on_first_item(demands: Iterable[Demand]) -> Iterator[Demand]:
    for demand in demands:
        prefix, items = demand.get("prefixItems"), demand.get("items")
        if isinstance(prefix, list):
            yield replace(demand, schema=cast("list[object]", prefix)[0])
        elif items is not None:
            yield replace(demand, schema=items)


def _no_object(demands: list[Demand], search: _Search) -> str | None:
    required = required_names(demands)
    least, most = allowed_sizes(demands, "Properties")
    sizes = (max(least, len(required)), most)
    reason = _no_size("an object would have to have at least {} and at most {} properties", sizes)
    if reason is not None:
        return reason
    for name in required:
        reason = _no_value(on_property(demands, name), search.deeper())
        if reason is not None:
            return f"the required property '{name}': {reason}"
    return None


def required_names(demands: Iterable[Demand]) -> list[str]:
    lists = [cast("list[str]", demand.get("required") or []) for demand in demands]
    return sorted({name for names in lists for name in names})


def on_property(demands: Iterable[Demand], name: str) -> Iterator[Demand]:
    for demand in demands:
        properties = cast("Schema", demand.get("properties") or {})
        if name in properties:
            yield replace(demand, schema=properties[name])
        elif demand.get("patternProperties") is None:  # otherwise one of these patterns may apply
            additional = demand.get("additionalProperties")
            yield replace(demand, schema=True if additional is None else additional)


def _no_size(sentence: str, sizes: tuple[float, float]) -> str | None:
    return None if sizes[0] <= sizes[1] else sentence.format(*sizes)


def allowed_sizes(demands: list[Demand], keyword: str) -> tuple[float, float]:
    return max([0, *_numbers(demands, f"min{keyword}")]), min([math.inf, *_numbers(demands, f"max{keyword}")])


def _numbers(demands: Iterable[Demand], key: str) -> list[float]:
    values = [demand.get(key) for demand in demands]
    return [number for number in values if isinstance(number, int | float)]


# For any other type there is always a value.
_IMPOSSIBLE: Mapping[str, Callable[[list[Demand], _Search], str | None]] = {
    "fraction": _no_fraction,
    "integer": _no_integer,
    "string": _no_string,
    "array": _no_array,
    "object": _no_object,
}
