"""What `weft check --explain` says to a person: a table of values and where they come from."""

import json
from collections.abc import Iterator, Sequence

from weft.plan.showing.explain import Explanation, InForce
from weft.plan.text.emit import Plain

LONGEST_VALUE = 40
"""Characters, so that a table fits on a terminal."""


def explained(explanation: Explanation) -> Iterator[str]:
    step = "" if explanation.step is None else f", step {explanation.step}"
    yield f"In force at {explanation.path}{step}:"
    yield from _table(explanation.settings)
    if explanation.own:
        yield "The step itself says:"
        yield from _table(explanation.own)
    if explanation.ceilings:
        yield "What is spent here counts against these budgets, in dollars:"
        yield from _table(explanation.ceilings)


def _table(rows: Sequence[InForce]) -> Iterator[str]:
    values = [_value(row.value) for row in rows]
    first = max(len(row.name) for row in rows)
    second = max(map(len, values))
    for row, value in zip(rows, values, strict=True):
        yield f"  {row.name:<{first}}  {value:<{second}}  {row.origin}"


def _value(value: Plain) -> str:
    match value:
        case None:
            return "not set"
        case str():
            text = value.replace("\n", " ").strip()
        case _:
            text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 1]}…"
