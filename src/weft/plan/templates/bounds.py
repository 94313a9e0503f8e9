"""Limits on what a template may do: steps of loops and calls, and characters that it produces.

The coordinator renders templates, so one that never ends, or takes all memory, would take the coordinator down
with it, again after each restart. The limits count and do not measure time: a template that is rendered again
during recovery must give the same answer. An operation that can multiply is checked beforehand for the size of
its result.
"""

import re
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from functools import wraps
from typing import Any, cast

MOST_STEPS = 200_000
"""Items of loops, calls, filters and values inserted into the text, in total."""
MOST_REPEATED = 1_000_000
"""The most characters or items that a `*` may produce, and the largest number passed to a call or filter."""
MOST_TEXT = 32_000_000
"""The most characters that a render, or one operation in it, may produce."""
_MOST_ADDED = 10_000
"""The most lists that a `sum` may join; each is copied once for every list after it."""
_PER_STEP = 10_000
"""The number of characters that can be read for one step."""
_NUMBER = re.compile(r"\d{7,}")
"""A width or precision in a format that is beyond all limits."""
_PLACE = re.compile(r"[{%]")


class _Meter:
    """What the current render may still use."""

    steps = MOST_STEPS
    text = MOST_TEXT


def begin() -> None:
    """Resets the limits at the start of a render."""
    _Meter.steps, _Meter.text = MOST_STEPS, MOST_TEXT


def step(reads: object = None) -> None:
    """Counts one step; `reads` is a text that the step looks through."""
    length = len(cast("str", reads)) if isinstance(reads, str | list) else 0
    # A method such as `count` reads its whole text in one call, so long texts cost more.
    _Meter.steps -= 1 + length // _PER_STEP
    if _Meter.steps < 0:
        raise OverflowError(f"it takes more than {MOST_STEPS:,} steps")


def put(text: str) -> str:
    """Counts a value that is inserted into the text, and returns it."""
    step()
    _Meter.text -= len(text)
    if _Meter.text < 0:
        raise OverflowError(f"it produces more than {MOST_TEXT:,} characters")
    return text


def metered(items: Iterable[object]) -> Generator[object]:
    """Yields the items of a loop, and counts them."""
    for item in items:
        step()
        yield item


def refuse_size(size: int) -> None:
    if size > MOST_TEXT:
        raise OverflowError(f"the result would have {size:,} characters; at most {MOST_TEXT:,} are allowed")


def refuse_numbers(values: Iterable[object]) -> None:
    for value in values:
        if isinstance(value, int) and abs(value) > MOST_REPEATED:
            raise OverflowError(f"{value} is too large here; at most {MOST_REPEATED:,} is allowed")


def refuse_format(text: str, values: Iterable[object]) -> None:
    """Refuses a `'…'.format()` or `'…' % …` with too large a result."""
    if _NUMBER.search(text):
        raise OverflowError(f"a width in the format {text[:40]!r} is too large")
    # `%` takes a tuple or a mapping of values, `format` takes them one by one.
    parts = list(_parts(values))
    refuse_numbers(parts)
    # A number among the arguments may be a width.
    longest = max((part if isinstance(part, int) else len(str(part)) for part in parts), default=0)
    # Every `{` or `%` counts as a place, also an escaped one: too strict is harmless, too lenient is not.
    refuse_size(len(text) + len(_PLACE.findall(text)) * max(longest, 0))


def _parts(values: Iterable[object]) -> Generator[object]:
    for value in values:
        if isinstance(value, tuple):
            yield from cast("tuple[object, ...]", value)
        elif isinstance(value, Mapping):
            yield from cast("Mapping[object, object]", value).values()
        else:
            yield value


def refuse_call(owner: object, name: str, args: tuple[object, ...], more: Mapping[str, object]) -> None:
    """Refuses a method call with too large a result."""
    step(owner)
    refuse_numbers((*args, *more.values()))
    if not isinstance(owner, str):
        return
    match name, args:
        case (("format" | "format_map"), _):
            refuse_format(owner, (*args, *more.values()))
        case "replace", (str() as old, str() as new, *_):
            # An empty text to replace is found before each character and at the end.
            refuse_size(len(owner) + (owner.count(old) if old else len(owner) + 1) * len(new))
        case "join", (items,) if isinstance(items, list | tuple):
            refuse_join(owner, cast("list[object]", items))
        case "expandtabs", (int() as width, *_):
            refuse_size(len(owner) + owner.count("\t") * width)
        case "translate", (table,) if isinstance(table, Mapping):
            longest = max(
                (len(str(replacement)) for replacement in cast("Mapping[object, object]", table).values()),
                default=1,
            )
            refuse_size(len(owner) * longest)
        case _:
            pass


def refuse_join(separator: str, items: Iterable[object]) -> None:
    texts = [item for item in items if isinstance(item, str)]
    refuse_size(sum(map(len, texts)) + len(separator) * len(texts))


def refuse_sum(left: object, right: object) -> None:
    """Refuses a `+` with too large a result."""
    if isinstance(left, str | list | tuple) and isinstance(right, str | list | tuple):
        refuse_size(len(cast("str", left)) + len(cast("str", right)))


def bound_filter(name: str, apply: Callable[..., Any]) -> Callable[..., Any]:
    """Returns the filter with a check before each call. Jinja's marks on the filter are preserved."""

    @wraps(apply)
    def check_and_apply(*args: Any, **more: Any) -> Any:  # noqa: ANN401 - filters take anything
        # Some filters get Jinja's environment as their first argument.
        arguments = args[1:] if hasattr(apply, "jinja_pass_arg") else args
        step(arguments[0] if arguments else None)
        refuse_numbers((*arguments[1:], *more.values()))
        check = _FILTERS.get(name)
        if check is not None:
            check(arguments, more)
        return apply(*args, **more)

    return check_and_apply


def _replace(arguments: Sequence[Any], _more: Mapping[str, Any]) -> None:
    refuse_call(str(arguments[0]), "replace", tuple(map(str, arguments[1:3])), {})


def _indent(arguments: Sequence[Any], more: Mapping[str, Any]) -> None:
    width = arguments[1] if len(arguments) > 1 else more.get("width", 4)
    size = width if isinstance(width, int) else len(str(width))
    refuse_size(len(str(arguments[0])) + (str(arguments[0]).count("\n") + 1) * size)


def _wordwrap(arguments: Sequence[Any], more: Mapping[str, Any]) -> None:
    text, between = str(arguments[0]), arguments[3] if len(arguments) > 3 else more.get("wrapstring")  # noqa: PLR2004
    refuse_size(len(text) * (1 + len(str(between or ""))))


def _format(arguments: Sequence[Any], more: Mapping[str, Any]) -> None:
    refuse_format(str(arguments[0]), (*arguments[1:], *more.values()))


def _sum(arguments: Sequence[Any], more: Mapping[str, Any]) -> None:
    start = arguments[2] if len(arguments) > 2 else more.get("start", 0)  # noqa: PLR2004
    if not isinstance(start, int | float) and len(list(arguments[0])) > _MOST_ADDED:
        raise OverflowError(f"a sum of more than {_MOST_ADDED:,} lists")


_FILTERS: dict[str, Callable[[Sequence[Any], Mapping[str, Any]], None]] = {
    "replace": _replace,
    "indent": _indent,
    "wordwrap": _wordwrap,
    "format": _format,
    "sum": _sum,
}
