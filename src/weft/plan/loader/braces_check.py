"""Warns about `{{ slice.path }}` and the like in texts that are not templates.

The prompt of a slice is the user's own text. It often quotes code with such braces (Jinja, Vue, Helm, Go) and
must reach the agent unchanged, so it is not a template. Neither are the goal, a title and the commands of
`verify` and `setup`. Braces around one of Weft's own names probably mean a template, so they get a warning.
"""

import re
from collections.abc import Iterator

from weft.plan.language.reader import Reader
from weft.plan.model import Plan
from weft.plan.templates.names import ROOTS
from weft.plan.text.document import Items, Node, Scalar
from weft.plan.text.inside import inside

LITERAL_KEYS = ("goal", "title", "prompt", "verify", "setup")
_WITH_PARTS = "|".join(root for root in ROOTS if root not in {"feedback", "attempt"})
# `${{ ... }}` is an expression of GitHub Actions.
_HOLE = re.compile(rf"(?<!\$)\{{\{{-?\s*(?:(?:{_WITH_PARTS})\s*[.\[][^{{}}\n]*|feedback\s*|attempt\s*)\}}\}}")


def check_braces(plan: Plan, reader: Reader) -> None:
    """Warns about each literal text that looks like a template."""
    for subplan in plan.subplans:
        for key in LITERAL_KEYS:
            node = subplan.source.get(key)
            for scalar in _scalars(node) if node is not None else ():
                _check(key, scalar, reader)


def _scalars(node: Node) -> Iterator[Scalar]:
    if isinstance(node, Scalar):
        yield node
    elif isinstance(node, Items):
        for item in node.nodes:
            yield from _scalars(item)


def _check(key: str, scalar: Scalar, reader: Reader) -> None:
    hole = _HOLE.search(scalar.text) if "{{" in scalar.text else None
    if hole is not None:
        message = f"{hole[0]} is not replaced: {key} is not a template"
        node = inside(reader.document, scalar, hole.start(), len(hole[0]))
        reader.warn(node, f"{message}. Templates are the prompt, run and question of a step")
