"""Errors about options that expect a number, with the allowed range."""

import re

import click

_NO_NUMBER = re.compile(r"(?P<value>.*) is not a valid (?P<kind>integer|float)(?: range)?\.", re.DOTALL)
_NOUNS = {"integer": "a whole number", "float": "a number"}


def with_allowed_values(error: click.BadParameter) -> click.BadParameter:
    """Returns the error; adds the allowed range if click's own message lacks it."""
    match = _NO_NUMBER.fullmatch(error.message)
    if match is None:
        return error
    noun = _NOUNS[match["kind"]]
    message = f"{match['value']} is not {noun}; allowed is {noun}{_bounds(error.param)}."
    return click.BadParameter(message, ctx=error.ctx, param=error.param, param_hint=error.param_hint)


def _bounds(parameter: click.Parameter | None) -> str:
    """Returns the allowed range; without bounds, an example."""
    kind = None if parameter is None else parameter.type
    if not isinstance(kind, click.IntRange | click.FloatRange) or kind.min is None:
        default = None if parameter is None else parameter.default
        return f", such as {default}" if isinstance(default, int | float) else ""
    return f" from {kind.min:g} on" if kind.max is None else f" from {kind.min:g} to {kind.max:g}"
