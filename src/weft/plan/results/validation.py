"""Validates a value against a JSON Schema, within limits.

A schema comes with a plan and a value from an agent, so either can be designed to take forever. Three limits
apply. All of them are deterministic, as the engine must reach the same result when it replays its facts:

*Patterns* are matched by RE2, in time linear in the text. A pattern that RE2 does not support, such as one with
lookarounds or backreferences, is refused; `pattern_fault` reports it when a plan is loaded.

*Steps* are counted: only so many keywords are applied.

*Items* are compared by their text and not in pairs.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, lru_cache
from itertools import islice
from typing import Any, cast

import msgspec

MOST_STEPS = 200_000
"""The most keywords that are applied to a value, about two seconds' worth."""
_PER_STEP = 1_000
"""The number of characters that a pattern can read for one step."""
_MOST_PATTERNS = 512
_MOST_MEMORY = 16 << 20
"""The most memory, in bytes, that RE2 may use for a pattern."""
_PATTERNS = ("pattern", "patternProperties")

Keyword = Callable[[Any, Any, Any, Any], Iterable[Any] | None]
"""A keyword function of jsonschema: validator, value of the keyword, value to check, schema."""


class TooManyStepsError(Exception):
    """Validation takes too many steps."""


def validator(schema: object) -> Any:  # noqa: ANN401 - jsonschema's types are incomplete
    """Returns a jsonschema validator for a single use; it raises `TooManyStepsError`."""
    # A class attribute and no argument, as jsonschema calls the keyword functions itself and passes nothing on.
    _Steps.remaining = MOST_STEPS
    return _class()(schema)


def pattern_fault(pattern: str) -> str | None:
    """Returns why a pattern cannot be used; None if it can."""
    error_class = _re2().error
    try:
        _compile_pattern(pattern)
    except (error_class, UnicodeError) as error:
        reason = error.args[0].decode(errors="replace") if isinstance(error, error_class) else str(error)
        return f"RE2 does not support the pattern {pattern!r} ({reason})"
    return None


class _Steps:
    """What the current validation may still use."""

    remaining = MOST_STEPS


def _take(steps: int) -> None:
    _Steps.remaining -= steps
    if _Steps.remaining < 0:
        raise TooManyStepsError


def _re2() -> Any:  # noqa: ANN401 - it has no types
    import re2  # type: ignore[import-untyped]  # noqa: PLC0415  # pyright: ignore[reportMissingTypeStubs]

    return re2


@lru_cache(maxsize=_MOST_PATTERNS)
def _compile_pattern(pattern: str) -> Any:  # noqa: ANN401 - re2 has no types
    re2 = _re2()
    options = re2.Options()
    options.log_errors = False
    options.max_mem = _MOST_MEMORY
    return re2.compile(pattern, options=options)


def _finds(pattern: str, text: str) -> bool:
    _take(1 + len(text) // _PER_STEP)
    # A lone surrogate is valid text in Python, but not in RE2.
    return _compile_pattern(pattern).search(text.encode(errors="replace").decode()) is not None


@cache
def _class() -> Any:  # noqa: ANN401
    from jsonschema import Draft202012Validator, validators  # noqa: PLC0415 - slow to import

    standard: dict[str, Keyword] = dict(Draft202012Validator.VALIDATORS)
    ours = standard | {
        "pattern": _pattern,
        "patternProperties": _pattern_properties,
        "additionalProperties": _additional_properties,
        "uniqueItems": _unique_items,
    }
    # Every keyword costs a step, so that nested schemas cannot run forever.
    counted = {name: _count_calls(keyword) for name, keyword in ours.items()}
    return cast("Any", validators).extend(Draft202012Validator, counted)


def _count_calls(keyword: Keyword) -> Keyword:
    def apply(check: Any, expected: Any, value: Any, schema: Any) -> Iterable[Any]:  # noqa: ANN401
        _take(1)
        return keyword(check, expected, value, schema) or ()

    return apply


# Keywords with patterns: like jsonschema's own, except for the matching.


def _error(message: str) -> Any:  # noqa: ANN401
    from jsonschema import ValidationError  # noqa: PLC0415 - slow to import

    return ValidationError(message)


def _pattern(_judge: Any, expected: str, value: object, _schema: object) -> Iterator[Any]:  # noqa: ANN401
    if isinstance(value, str) and not _finds(expected, value):
        yield _error(f"{value!r} does not match {expected!r}")


def _pattern_properties(
    check: Any,  # noqa: ANN401
    expected: Mapping[str, Any],
    value: Any,  # noqa: ANN401
    _schema: object,
) -> Iterator[Any]:
    for pattern, below in expected.items() if isinstance(value, dict) else ():
        for name, member in cast("dict[str, object]", value).items():
            if _finds(pattern, name):
                yield from check.descend(member, below, path=name, schema_path=pattern)


def _additional_properties(check: Any, expected: Any, value: Any, schema: Mapping[str, Any]) -> Iterator[Any]:  # noqa: ANN401
    if not isinstance(value, dict):
        return
    properties, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
    members = cast("dict[str, object]", value)
    more = [
        name
        for name in members
        if name not in properties and not any(_finds(pattern, name) for pattern in patterns)
    ]
    if isinstance(expected, dict):
        for name in more:
            yield from check.descend(members[name], expected, path=name)
    elif not expected and more:
        names = ", ".join(repr(name) for name in more)
        if patterns:
            are = "does" if len(more) == 1 else "do"
            regexes = ", ".join(map(repr, sorted(patterns)))
            yield _error(f"{names} {are} not match any of the regexes: {regexes}")
        else:
            were = "was" if len(more) == 1 else "were"
            yield _error(f"Additional properties are not allowed ({names} {were} unexpected)")


def _unique_items(_judge: Any, expected: object, value: object, _schema: object) -> Iterator[Any]:  # noqa: ANN401
    if not expected or not isinstance(value, list):
        return
    items = cast("list[object]", value)
    # jsonschema compares all pairs, which is quadratic.
    if len({_text_of(item) for item in items}) < len(items):
        shown = ", ".join(repr(item) for item in islice(items, 5)) + (", …" if len(items) > 5 else "")  # noqa: PLR2004
        yield _error(f"[{shown}] has non-unique elements")


def _text_of(item: object) -> bytes:
    """Returns the same text for equal values: 1 equals 1.0, and the order of keys does not matter."""
    return msgspec.json.encode(_plain(item), order="deterministic")


def _plain(item: object) -> object:
    if isinstance(item, float) and item.is_integer():
        return int(item)
    if isinstance(item, list):
        return [_plain(element) for element in cast("list[object]", item)]
    if isinstance(item, dict):
        return {name: _plain(element) for name, element in cast("dict[str, object]", item).items()}
    return item


def patterns_in(schema: Mapping[str, Any]) -> Iterator[str]:
    """Yields the patterns of this schema itself, without those of its subschemas."""
    for key in _PATTERNS:
        patterns = schema.get(key)
        if isinstance(patterns, str):
            yield patterns
        elif isinstance(patterns, Mapping):
            yield from cast("Mapping[str, object]", patterns)
