"""Holds a value against a JSON Schema, within a bound.

A schema comes with a plan and a value from an agent, so either may be made to take for ever. Three things bound
it, and all of them give the same answer each time, as the engine must when it is fed its facts again:

*Patterns* are matched by RE2, in time that grows with the text and not beyond. A pattern that RE2 does not know,
such as one that looks ahead or refers back, is no pattern here; `pattern_fault` says so when a plan is loaded.

*Steps* are counted: so many keywords are applied, and no more.

*Items* are told apart by their text and not one by one.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, lru_cache
from itertools import islice
from typing import Any, cast

import msgspec
import re2 as untyped_re2  # type: ignore[import-untyped]  # pyright: ignore[reportMissingTypeStubs]

re2: Any = untyped_re2

MOST_STEPS = 200_000
"""Keywords that are applied to a value; some two seconds."""
_PER_STEP = 1_000
"""Characters that a pattern may read for the price of a step."""
_MOST_PATTERNS = 512
_MOST_MEMORY = 16 << 20
"""Bytes that RE2 may use for a pattern."""
_PATTERNS = ("pattern", "patternProperties")

Keyword = Callable[[Any, Any, Any, Any], Iterable[Any] | None]
"""As jsonschema has them: the validator, the value of the keyword, the value that is checked, the schema."""


class TooManyStepsError(Exception):
    """A value takes too long to be held against a schema."""


def validator(schema: object) -> Any:  # noqa: ANN401 - the types told for it go on without end
    """One of jsonschema; it raises `TooManyStepsError`, and is used once."""
    _Steps.left = MOST_STEPS
    return _class()(schema)


def pattern_fault(pattern: str) -> str | None:
    """Why this cannot be used as a pattern."""
    try:
        _compiled(pattern)
    except (re2.error, UnicodeError) as error:
        reason = error.args[0].decode(errors="replace") if isinstance(error, re2.error) else str(error)
        return f"RE2, which matches patterns in a bounded time, does not know {pattern!r} ({reason})"
    return None


class _Steps:
    left = MOST_STEPS


def _take(steps: int) -> None:
    _Steps.left -= steps
    if _Steps.left < 0:
        raise TooManyStepsError


@lru_cache(maxsize=_MOST_PATTERNS)
def _compiled(pattern: str) -> Any:  # noqa: ANN401 - it comes without types
    options = re2.Options()
    options.log_errors = False
    options.max_mem = _MOST_MEMORY
    return re2.compile(pattern, options=options)


def _finds(pattern: str, text: str) -> bool:
    _take(1 + len(text) // _PER_STEP)
    # Half of a surrogate pair is text for Python, and not for RE2.
    return _compiled(pattern).search(text.encode(errors="replace").decode()) is not None


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
    counted = {name: _counted(keyword) for name, keyword in ours.items()}
    return cast("Any", validators).extend(Draft202012Validator, counted)


def _counted(keyword: Keyword) -> Keyword:
    def apply(judge: Any, wanted: Any, value: Any, schema: Any) -> Iterable[Any]:  # noqa: ANN401
        _take(1)
        return keyword(judge, wanted, value, schema) or ()

    return apply


# Keywords that have a pattern, as jsonschema has them but for the matching.


def _error(message: str) -> Any:  # noqa: ANN401
    from jsonschema import ValidationError  # noqa: PLC0415 - slow to import

    return ValidationError(message)


def _pattern(_judge: Any, wanted: str, value: object, _schema: object) -> Iterator[Any]:  # noqa: ANN401
    if isinstance(value, str) and not _finds(wanted, value):
        yield _error(f"{value!r} does not match {wanted!r}")


def _pattern_properties(judge: Any, wanted: Mapping[str, Any], value: Any, _schema: object) -> Iterator[Any]:  # noqa: ANN401
    for pattern, below in wanted.items() if isinstance(value, dict) else ():
        for name, member in cast("dict[str, object]", value).items():
            if _finds(pattern, name):
                yield from judge.descend(member, below, path=name, schema_path=pattern)


def _additional_properties(judge: Any, wanted: Any, value: Any, schema: Mapping[str, Any]) -> Iterator[Any]:  # noqa: ANN401
    if not isinstance(value, dict):
        return
    properties, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
    members = cast("dict[str, object]", value)
    more = [
        name
        for name in members
        if name not in properties and not any(_finds(pattern, name) for pattern in patterns)
    ]
    if isinstance(wanted, dict):
        for name in more:
            yield from judge.descend(members[name], wanted, path=name)
    elif not wanted and more:
        names = ", ".join(repr(name) for name in more)
        if patterns:
            are = "does" if len(more) == 1 else "do"
            regexes = ", ".join(map(repr, sorted(patterns)))
            yield _error(f"{names} {are} not match any of the regexes: {regexes}")
        else:
            were = "was" if len(more) == 1 else "were"
            yield _error(f"Additional properties are not allowed ({names} {were} unexpected)")


def _unique_items(_judge: Any, wanted: object, value: object, _schema: object) -> Iterator[Any]:  # noqa: ANN401
    if not wanted or not isinstance(value, list):
        return
    items = cast("list[object]", value)
    if len({_text_of(item) for item in items}) < len(items):
        shown = ", ".join(repr(item) for item in islice(items, 5)) + (", …" if len(items) > 5 else "")  # noqa: PLR2004
        yield _error(f"[{shown}] has non-unique elements")


def _text_of(item: object) -> bytes:
    """The same for equal values: in JSON 1 and 1.0 are one number, and the order of keys says nothing."""
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
    """Those that stand in this schema itself."""
    for key in _PATTERNS:
        patterns = schema.get(key)
        if isinstance(patterns, str):
            yield patterns
        elif isinstance(patterns, Mapping):
            yield from cast("Mapping[str, object]", patterns)
