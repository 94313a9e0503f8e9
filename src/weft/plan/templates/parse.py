"""Parses templates: which names they read. Rendering is elsewhere.

Importing Jinja takes longer than loading a plan, and nearly all templates are text with a few `{{ a.b.c }}` in
it. So there are two ways to the same answer: a regular expression for those, and Jinja's own parser for the rest.
The first accepts a template only where it is certain to agree with the second; a test compares them.
"""

import re

from msgspec import Struct

from weft.errors import InputError

Path = tuple[str | int, ...]


class Name(Struct, frozen=True, kw_only=True):
    """One use of a name that the template itself does not define."""

    path: Path
    """`step.a.items[0].x` is ("step", "a", "items", 0, "x"); the path ends before the first key that is not
    constant."""
    offset: int
    """The position of the name in the text."""


class Template(Struct, frozen=True, kw_only=True):
    """What a template reads."""

    names: tuple[Name, ...]
    """The names, in the order of the text."""


class TemplateError(InputError):
    """A text is not a template, or is one that cannot be checked before it is evaluated."""

    def __init__(self, message: str, *, offset: int) -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset


_CHAIN = r"(?P<root>[A-Za-z][A-Za-z0-9_]*)(?P<keys>(?:\.[A-Za-z][A-Za-z0-9_]*|\[(?:0|[1-9][0-9]{0,8})\])*)"
HOLE = re.compile(rf"\{{\{{\s*{_CHAIN}\s*(?P<raw>\|\s*raw\s*)?\}}\}}")
"""A value in a template, in its simplest form."""
_LITERAL = r"""(?P<literal>'[^'\\]*'|"[^"\\]*"|-?(?:0|[1-9][0-9]{0,8})(?:\.[0-9]{1,9})?|true|false)"""
COMPARISON = re.compile(rf"\s*{_CHAIN}\s*(?:(?P<operator>[=!]=)\s*{_LITERAL}\s*)?")
"""An expression in its simplest form."""
_KEY = re.compile(r"\.([A-Za-z0-9_]+)|\[([0-9]+)\]")
WRAPPED = re.compile(r"\s*\{\{[-+]?(.*?)-?\}\}\s*", re.DOTALL)
"""An expression that is entirely within braces."""

# Words that are not names to Jinja, or not everywhere. Jinja's own parser handles them.
_WORDS = frozenset({"and", "or", "not", "in", "is", "if", "else"})
_CONSTANTS = frozenset({"true", "false", "none", "True", "False", "None"})

_NO_NAMES = Template(names=())


def parse_template(text: str) -> Template:
    """Parses a text with `{{ … }}` in it."""
    if "{{" not in text and "{%" not in text and "{#" not in text:
        return _NO_NAMES
    names = _names_in_plain_holes(text)
    # Jinja is imported only for templates that are not plain.
    return Template(names=names) if names is not None else _by_jinja(text, expression=False)


def parse_expression(text: str) -> Template:
    """Parses an expression, which may be entirely within `{{ }}`."""
    wrapped = WRAPPED.fullmatch(text)
    if wrapped is not None:
        # Spaces keep the offsets of names as in the original text.
        text = " " * wrapped.start(1) + wrapped[1]
    if not text.strip():
        raise TemplateError("the expression is empty", offset=0)
    plain = COMPARISON.fullmatch(text)
    name = _plain_name(plain)
    return Template(names=(name,)) if name is not None else _by_jinja(text, expression=True)


def _names_in_plain_holes(text: str) -> tuple[Name, ...] | None:
    """Returns the names if all values of the template are in the simplest form; otherwise None."""
    # A statement or a comment can change what the text around it means, so Jinja has to read all of it.
    if "{%" in text or "{#" in text:
        return None
    names: list[Name] = []
    start = text.find("{{")
    while start >= 0:
        hole = HOLE.match(text, start)
        name = _plain_name(hole)
        if hole is None or name is None:
            return None
        names.append(name)
        start = text.find("{{", hole.end())
    return tuple(names)


def _plain_name(match: re.Match[str] | None) -> Name | None:
    if match is None or match["root"] in _WORDS or match["root"] in _CONSTANTS:
        return None
    keys = (word or int(number) for word, number in _KEY.findall(match["keys"]))
    return Name(path=(match["root"], *keys), offset=match.start("root"))


def _by_jinja(text: str, *, expression: bool) -> Template:
    from weft.plan.templates import jinja_names  # noqa: PLC0415 - Jinja is slow to import, and rarely needed

    read = jinja_names.names_in_expression if expression else jinja_names.names_in_template
    try:
        uses = read(text)
    except jinja_names.JinjaFaultError as fault:
        raise TemplateError(fault.message, offset=fault.offset) from fault
    return Template(names=tuple(Name(path=use.path, offset=use.offset) for use in uses))
