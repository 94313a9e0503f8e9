"""What a template may do before it is refused: steps of loops and calls, and characters that it makes.

A template is rendered by the coordinator, so one that takes for ever, or all memory, would take the coordinator
with it, and again after each restart. The bounds count and do not measure time: a template that is rendered again
when a run is recovered must give the same answer. What can multiply is asked beforehand how much it would make.
"""

import re
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from functools import wraps
from typing import Any, cast

MOST_STEPS = 200_000
"""Items of loops, calls, filters and values put into the text."""
MOST_REPEATED = 1_000_000
"""Signs or items that a `*` may make, and the largest number that a call or a filter may be given."""
MOST_TEXT = 32_000_000
"""Characters that a render, or one operation in it, may make."""
_MOST_ADDED = 10_000
"""Lists that a `sum` may join; each is copied as often as there are others."""
_PER_STEP = 10_000
"""Characters that are read for the price of a step."""
_NUMBER = re.compile(r"\d{7,}")
"""In a format: a width or a precision beyond all bounds."""
_PLACE = re.compile(r"[{%]")


class _Meter:
    steps = MOST_STEPS
    text = MOST_TEXT


def begin() -> None:
    """A render begins."""
    _Meter.steps, _Meter.text = MOST_STEPS, MOST_TEXT


def step(reads: object = None) -> None:
    """One step; `reads`: a text that it looks through."""
    length = len(cast("str", reads)) if isinstance(reads, str | list) else 0
    _Meter.steps -= 1 + length // _PER_STEP
    if _Meter.steps < 0:
        raise OverflowError(f"it takes more than {MOST_STEPS:,} steps")


def put(text: str) -> str:
    step()
    _Meter.text -= len(text)
    if _Meter.text < 0:
        raise OverflowError(f"it makes more than {MOST_TEXT:,} characters")
    return text


def metered(items: Iterable[object]) -> Generator[object]:
    """What a loop goes through."""
    for item in items:
        step()
        yield item


def refuse_size(size: int) -> None:
    if size > MOST_TEXT:
        raise OverflowError(f"the result would have {size:,} characters, and at most {MOST_TEXT:,} are made")


def refuse_numbers(values: Iterable[object]) -> None:
    for value in values:
        if isinstance(value, int) and abs(value) > MOST_REPEATED:
            raise OverflowError(f"{value} is too large here; at most {MOST_REPEATED:,} is allowed")


def refuse_format(text: str, values: Iterable[object]) -> None:
    """Of `'…'.format()` and `'…' % …`."""
    if _NUMBER.search(text):
        raise OverflowError(f"a width in the format {text[:40]!r} is too large")
    parts = list(_parts(values))
    refuse_numbers(parts)
    # A number as an argument may be a width.
    longest = max((part if isinstance(part, int) else len(str(part)) for part in parts), default=0)
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
    """Of a method, before it is called."""
    step(owner)
    refuse_numbers((*args, *more.values()))
    if not isinstance(owner, str):
        return
    match name, args:
        case (("format" | "format_map"), _):
            refuse_format(owner, (*args, *more.values()))
        case "replace", (str() as old, str() as new, *_):
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
    """Of `+`."""
    if isinstance(left, str | list | tuple) and isinstance(right, str | list | tuple):
        refuse_size(len(cast("str", left)) + len(cast("str", right)))


def bounded(name: str, apply: Callable[..., Any]) -> Callable[..., Any]:
    """A filter that asks beforehand; what Jinja has noted about it, it keeps."""

    @wraps(apply)
    def ask(*args: Any, **more: Any) -> Any:  # noqa: ANN401 - whatever a filter is given
        arguments = args[1:] if hasattr(apply, "jinja_pass_arg") else args
        step(arguments[0] if arguments else None)
        refuse_numbers((*arguments[1:], *more.values()))
        check = _FILTERS.get(name)
        if check is not None:
            check(arguments, more)
        return apply(*args, **more)

    return ask


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
