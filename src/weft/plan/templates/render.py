"""Templates with values put in, and conditions with values looked at.

As with reading them, there are two ways to the same result: plain templates and comparisons need no Jinja, which
takes longer to import than most plans take to load. The first way takes a template only where it is sure to agree
with the second; a test holds them together.
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
"""The names of values that have no character that means anything to a program."""


def render(text: str, values: Values, *, quote: bool = False) -> str:
    """The text with its values.

    Values are put in as JSON, but texts without quotes. `quote`: it is a command for /bin/sh, and each value is to
    arrive there as it is; what goes through `| raw` becomes a part of the command.
    """
    try:
        parts = _plain_parts(text)
        pieces = _pieces_by_jinja(text, values) if parts is None else [_piece(part, values) for part in parts]
    except TemplateError as error:
        raise RenderError(error.message, offset=error.offset) from error
    return shell_text(pieces) if quote else "".join(pieces)


def check_command(text: str) -> None:
    """Raises `RenderError` if a value stands where none can in a command, if that can be told without it."""
    try:
        parts = _plain_parts(text) or ()
    except TemplateError:
        return
    pieces: list[str] = []
    for part in parts:
        if isinstance(part, str) or part.raw:
            pieces.append(part if isinstance(part, str) else "x")
            continue
        pieces.append(Put(HARMLESS_VALUE if _is_harmless(part.name) else ANY_VALUE))
        try:
            shell_text(pieces)
        except RenderError as error:
            raise RenderError(error.message, offset=part.name.offset) from None


def check_arguments(texts: Sequence[str]) -> tuple[int, RenderError] | None:
    """The first argument of a command in which a value would be run as code, and what is wrong with it."""
    for number, text in enumerate(texts):
        program = code_reader(texts[:number])
        if program is not None:
            names = (name for name in _values_in(text) if not _is_harmless(name))
            for name in names:
                return number, RenderError(code_refusal(program), offset=name.offset)
    return None


def _values_in(text: str) -> Sequence[Name]:
    """The names whose values a text takes, but for those through `| raw`, for which the author answers."""
    try:
        parts = _plain_parts(text)
        return parse_template(text).names if parts is None else [
            part.name for part in parts if isinstance(part, _Hole) and not part.raw
        ]  # fmt: skip
    except TemplateError:
        return ()


def _is_harmless(name: Name) -> bool:
    """Whether its value is an id or a number, whatever happens."""
    return name.path in _HARMLESS or (name.path[0] == "step" and name.path[-1] == "exit_code")


def holds(expression: str, values: Values) -> bool:
    """Whether a condition is true; it may stand in `{{ }}` as a whole, and be `always` or `never`."""
    if expression in {"always", "never"}:
        return expression == "always"
    try:
        plain = _plain_comparison(expression)
        if plain is None:
            return _truth_by_jinja(expression, values)
    except TemplateError as error:
        raise RenderError(error.message, offset=error.offset) from error
    found = look_up(values, plain.name)
    if plain.operator is None:
        return bool(found)
    return (found == plain.literal) is (plain.operator == "==")


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
    """The parts of a template if all of it is as plain as can be, else None."""
    names = parse_template(text).names
    if "{%" in text or "{#" in text:
        return None
    parts: list[str | _Hole] = []
    end = 0
    for name in names:
        start = text.find("{{", end)
        hole = HOLE.match(text, start)
        if hole is None or hole.start("root") != name.offset:
            return None
        parts += [_as_jinja_reads(text[end:start]), _Hole(name, hole["raw"] is not None)]
        end = hole.end()
    return None if "{{" in text[end:] else (*parts, _as_jinja_reads(text[end:]))


def _piece(part: str | _Hole, values: Values) -> str:
    if isinstance(part, str):
        return part
    text = _told_at(part.name, look_up(values, part.name))
    return text if part.raw else Put(text)


def _told_at(name: Name, value: object) -> str:
    try:
        return text_of(value)
    except RenderError as error:
        raise RenderError(error.message, offset=name.offset) from error


@lru_cache(maxsize=MOST_TEMPLATES)
def _plain_comparison(text: str) -> _Comparison | None:
    names = parse_expression(text).names
    wrapped = WRAPPED.fullmatch(text)
    found = COMPARISON.fullmatch(text, *(wrapped.span(1) if wrapped else ()))
    if found is None or len(names) != 1 or found.start("root") != names[0].offset:
        return None
    literal = cast("str | None", found["literal"])
    return _Comparison(names[0], found["operator"], None if literal is None else _constant(literal))


def _constant(literal: str) -> object:
    if literal in {"true", "false"}:
        return literal == "true"
    if literal[0] in "'\"":
        return _as_jinja_reads(literal[1:-1])
    return float(literal) if "." in literal else int(literal)


def _as_jinja_reads(text: str) -> str:
    """Jinja makes one sign of each end of line."""
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
