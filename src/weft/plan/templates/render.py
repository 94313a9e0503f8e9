"""Renders templates, and evaluates conditions.

As in parsing, there are two ways to the same result: simple templates and comparisons need no Jinja, which takes
longer to import than most plans take to load. The first way accepts a template only where it is certain to agree
with the second; a test compares them.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import cast

from msgspec import Struct

from weft.plan.templates.interpreters import code_reader
from weft.plan.templates.parse import (
    COMPARISON,
    HOLE,
    WRAPPED,
    Name,
    TemplateError,
    parse_expression,
    parse_template,
)
from weft.plan.templates.shell import ANY_VALUE, HARMLESS_VALUE, code_refusal, shell_text
from weft.plan.templates.values import Put, RenderError, Values, look_up, text_of

MOST_TEMPLATES = 1_024
_HARMLESS = frozenset({("slice", "id"), ("slice", "path"), ("plan", "id"), ("run", "id"), ("attempt",)})
"""Names of values that contain no character with a meaning to a program."""


def render(text: str, values: Values, *, quote: bool = False) -> str:
    """Returns the text with its values.

    Values are inserted as JSON, but texts without quotes. With `quote`, the text is a command for /bin/sh, and
    each value reaches the program unchanged; a value that goes through `| raw` becomes a part of the command.
    """
    try:
        parts = _plain_parts(text)
        pieces = _pieces_by_jinja(text, values) if parts is None else [_piece(part, values) for part in parts]
    except TemplateError as error:
        raise RenderError(error.message, offset=error.offset) from error
    return shell_text(pieces) if quote else "".join(pieces)


def check_command(text: str) -> None:
    """Raises `RenderError` if a value is where none can be in a command, as far as its text alone shows."""
    try:
        parts = _plain_parts(text) or ()
    except TemplateError:
        return
    pieces: list[str] = []
    for part in parts:
        if isinstance(part, str) or part.raw:
            pieces.append(part if isinstance(part, str) else "x")
            continue
        # The command is checked up to each value, so that the error has the position of that value.
        pieces.append(Put(HARMLESS_VALUE if _is_harmless(part.name) else ANY_VALUE))
        try:
            shell_text(pieces)
        except RenderError as error:
            raise RenderError(error.message, offset=part.name.offset) from None


def check_arguments(texts: Sequence[str]) -> tuple[int, RenderError] | None:
    """Returns the first argument of a command in which a value would run as code, with the error."""
    for number, text in enumerate(texts):
        program = code_reader(texts[:number])
        if program is not None:
            names = (name for name in _values_in(text) if not _is_harmless(name))
            for name in names:
                return number, RenderError(code_refusal(program), offset=name.offset)
    return None


def _values_in(text: str) -> Sequence[Name]:
    """Returns the names of the values that a text inserts, except through `| raw`, the author's decision."""
    try:
        parts = _plain_parts(text)
        return parse_template(text).names if parts is None else [
            part.name for part in parts if isinstance(part, _Hole) and not part.raw
        ]  # fmt: skip
    except TemplateError:
        return ()


def _is_harmless(name: Name) -> bool:
    """Returns whether the value is always an id or a number."""
    return name.path in _HARMLESS or (name.path[0] == "step" and name.path[-1] == "exit_code")


def holds(expression: str, values: Values) -> bool:
    """Returns whether a condition is true. It may be entirely within `{{ }}`, and may be `always` or `never`."""
    if expression in {"always", "never"}:
        return expression == "always"
    try:
        plain = _plain_comparison(expression)
        if plain is None:
            return _truth_by_jinja(expression, values)
    except TemplateError as error:
        raise RenderError(error.message, offset=error.offset) from error
    value = look_up(values, plain.name)
    if plain.operator is None:
        return bool(value)
    # As in Python and Jinja: `1 == 1.0` is true, and `'1' == 1` is not.
    return (value == plain.literal) is (plain.operator == "==")


# Without Jinja


class _Hole(Struct, frozen=True):
    name: Name
    raw: bool


class _Comparison(Struct, frozen=True):
    name: Name
    operator: str | None
    literal: object


@lru_cache(maxsize=MOST_TEMPLATES)
def _plain_parts(text: str) -> tuple[str | _Hole, ...] | None:
    """Returns the parts of a template if all its values are in the simplest form; otherwise None."""
    names = parse_template(text).names
    if "{%" in text or "{#" in text:
        return None
    parts: list[str | _Hole] = []
    end = 0
    for name in names:
        start = text.find("{{", end)
        hole = HOLE.match(text, start)
        # The parser found a name elsewhere, so the template is not plain.
        if hole is None or hole.start("root") != name.offset:
            return None
        parts += [_as_jinja_reads(text[end:start]), _Hole(name, hole["raw"] is not None)]
        end = hole.end()
    return None if "{{" in text[end:] else (*parts, _as_jinja_reads(text[end:]))


def _piece(part: str | _Hole, values: Values) -> str:
    if isinstance(part, str):
        return part
    text = _text_at(part.name, look_up(values, part.name))
    return text if part.raw else Put(text)


def _text_at(name: Name, value: object) -> str:
    """Returns the text of a value; an error gets the position of the name."""
    try:
        return text_of(value)
    except RenderError as error:
        raise RenderError(error.message, offset=name.offset) from error


@lru_cache(maxsize=MOST_TEMPLATES)
def _plain_comparison(text: str) -> _Comparison | None:
    names = parse_expression(text).names
    wrapped = WRAPPED.fullmatch(text)
    match = COMPARISON.fullmatch(text, *(wrapped.span(1) if wrapped else ()))
    if match is None or len(names) != 1 or match.start("root") != names[0].offset:
        return None
    literal = cast("str | None", match["literal"])
    return _Comparison(names[0], match["operator"], None if literal is None else _constant(literal))


def _constant(literal: str) -> object:
    if literal in {"true", "false"}:
        return literal == "true"
    if literal[0] in "'\"":
        return _as_jinja_reads(literal[1:-1])
    return float(literal) if "." in literal else int(literal)


def _as_jinja_reads(text: str) -> str:
    """Returns the text with line breaks as single characters, as Jinja reads it."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


# With Jinja


def _pieces_by_jinja(text: str, values: Values) -> list[str]:
    from weft.plan.templates.jinja_render import pieces_by_jinja  # noqa: PLC0415 - Jinja is slow to import

    return pieces_by_jinja(text, lambda: parse_template(text).names, values)


def _truth_by_jinja(expression: str, values: Values) -> bool:
    from weft.plan.templates.jinja_render import truth_by_jinja  # noqa: PLC0415 - Jinja is slow to import

    wrapped = WRAPPED.fullmatch(expression)
    bare = wrapped[1] if wrapped else expression
    return truth_by_jinja(bare, lambda: parse_expression(expression).names, values)
