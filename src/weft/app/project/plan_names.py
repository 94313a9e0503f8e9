"""Names in plans, for completion: read in haste, and not checked."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

from weft.app.project.files import InputSource, read_text
from weft.plan.text.document import LIMITS, Items, Scalar, Table, read_document

Titled = tuple[str, str]
"""The path of a subplan, and its title; empty if it has none."""

_ENDINGS = (".yaml", ".yml")
_PLAN = re.compile(rb"^weft[ \t]*:", re.MULTILINE)
_HEAD = 4_096
"""Bytes of a file in which one can see whether it is a plan."""
_MOST_FILES = 200
"""So many are looked into."""


def subplans_of(source: InputSource) -> Iterator[Titled]:
    """The subplans in a file, also of a plan that is wrong."""
    return subplans_in(read_text(source, most=LIMITS.size))


def agents_of(source: InputSource) -> Iterator[Titled]:
    """The agents that a file defines, each with its adapter."""
    root = read_document(read_text(source, most=LIMITS.size), "").root
    agents = root.get("agents") if isinstance(root, Table) else None
    for name, (_, agent) in agents.entries.items() if isinstance(agents, Table) else ():
        use = agent.get("use") if isinstance(agent, Table) else None
        yield name, use.text if isinstance(use, Scalar) else ""


def subplans_in(text: str) -> Iterator[Titled]:
    waiting = [("", read_document(text, "").root)]
    for prefix, node in waiting:  # grows while it is walked
        inner = node.get("subplans") if isinstance(node, Table) else None
        for one in inner.nodes if isinstance(inner, Items) else ():
            id_ = one.get("id") if isinstance(one, Table) else None
            if isinstance(one, Table) and isinstance(id_, Scalar):
                title = one.get("title")
                yield prefix + id_.text, title.text if isinstance(title, Scalar) else ""
                waiting.append((f"{prefix}{id_.text}/", one))


def plan_files(directory: Path, beginning: str) -> list[str]:
    """The plans whose names begin so, as they would be typed."""
    name = beginning.rpartition("/")[2]
    before = beginning.removesuffix(name) if name else beginning
    if not os.path.isdir(directory / before):  # noqa: PTH112 - of what cannot be seen: no
        return []
    names = sorted(one.name for one in (directory / before).iterdir())
    fitting = [one for one in names if one.startswith(name) and one.endswith(_ENDINGS)]
    return [before + one for one in fitting[:_MOST_FILES] if _is_plan(directory / before / one)]


def _is_plan(file: Path) -> bool:
    if not file.is_file():  # a pipe would have to be waited for
        return False
    with file.open("rb") as stream:
        return _PLAN.search(stream.read(_HEAD)) is not None
