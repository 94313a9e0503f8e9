"""Braces in texts that are not templates: `{{ slice.path }}` in the prompt of a slice reaches the agent as it is.

The prompt of a slice is the user's own text. It often quotes code with such braces, of Jinja, Vue, Helm or Go, and
must arrive as it is written; so it is no template, and neither are the goal, a title and the commands of `verify`
and `setup`. Braces around a name of Weft's own are probably meant as a template, and get a warning.
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
# After a dollar sign it is an expression of GitHub Actions.
_HOLE = re.compile(rf"(?<!\$)\{{\{{-?\s*(?:(?:{_WITH_PARTS})\s*[.\[][^{{}}\n]*|feedback\s*|attempt\s*)\}}\}}")


def check_braces(plan: Plan, reader: Reader) -> None:
    """Warns of each text that is no template and reads as one."""
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
        message = f"{hole[0]} stays as it is, since {key} is no template here"
        node = inside(reader.document, scalar, hole.start(), len(hole[0]))
        reader.warn(node, f"{message}; values are put into the prompt, run and question of a step")
