"""Output of `weft check --explain`: a table of values and where each comes from."""

import json
from collections.abc import Iterator, Sequence

from weft.cli.terminal import Row
from weft.plan.display.explain import EffectiveValue, Explanation
from weft.plan.text.emit import Plain

LONGEST_VALUE = 40
"""Characters, so that a table fits on a terminal."""


_IN_TOKENS = "Tokens used here count against these budgets:"


def explanation_lines(explanation: Explanation) -> Iterator[str]:
    step = "" if explanation.step is None else f", step {explanation.step}"
    yield f"In force at {explanation.path}{step}:"
    yield from table(explanation.settings)
    if explanation.own:
        yield "The step itself says:"
        yield from table(explanation.own)
    if explanation.ceilings:
        yield "Dollars spent here count against these budgets:"
        yield from table(explanation.ceilings)
    if explanation.token_ceilings:
        yield "and against these, in tokens:" if explanation.ceilings else _IN_TOKENS
        yield from table(explanation.token_ceilings)


def table(rows: Sequence[EffectiveValue]) -> Iterator[str]:
    """Yields a row for each value, with its origin."""
    values = [value_text(row.value) for row in rows]
    first = max(len(row.name) for row in rows)
    second = max(map(len, values))
    for row, value in zip(rows, values, strict=True):
        yield Row(f"  {row.name:<{first}}  {value:<{second}}  {row.origin}", hang=4)


def value_text(value: Plain, *, most: int | None = LONGEST_VALUE) -> str:
    """Returns the value on one line, cut to `most` characters."""
    match value:
        case None:
            return "not set"
        case str():
            text = value.replace("\n", " ").strip()
        # As JSON, since a list or a mapping is then as it can be typed in a plan.
        case _:
            text = json.dumps(value, ensure_ascii=False)
    return text if most is None or len(text) <= most else f"{text[: most - 1]}…"
