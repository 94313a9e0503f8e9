"""Names in plans, for shell completion: read quickly, without checking the plan."""

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
"""Bytes of a file that are searched for the mark of a plan."""
_MOST_FILES = 200
"""Number of files to open at most."""


def subplans_of(source: InputSource) -> Iterator[Titled]:
    """Yields the subplans in a file, even if the plan has errors."""
    return subplans_in(read_text(source, most=LIMITS.size))


def agents_of(source: InputSource) -> Iterator[Titled]:
    """Yields the agents that a file defines, each with its adapter."""
    root = read_document(read_text(source, most=LIMITS.size), "").root
    agents = root.get("agents") if isinstance(root, Table) else None
    for name, (_, agent) in agents.entries.items() if isinstance(agents, Table) else ():
        use = agent.get("use") if isinstance(agent, Table) else None
        yield name, use.text if isinstance(use, Scalar) else ""


def subplans_in(text: str) -> Iterator[Titled]:
    # Without recursion, since this reads files that no check has limited in depth.
    waiting = [("", read_document(text, "").root)]
    for prefix, node in waiting:  # grows while it is walked
        inner = node.get("subplans") if isinstance(node, Table) else None
        for subplan in inner.nodes if isinstance(inner, Items) else ():
            id_ = subplan.get("id") if isinstance(subplan, Table) else None
            if isinstance(subplan, Table) and isinstance(id_, Scalar):
                title = subplan.get("title")
                yield prefix + id_.text, title.text if isinstance(title, Scalar) else ""
                waiting.append((f"{prefix}{id_.text}/", subplan))


def plan_files(directory: Path, beginning: str) -> list[str]:
    """Returns the plan files that complete the beginning, as the user would type them."""
    name = beginning.rpartition("/")[2]
    before = beginning.removesuffix(name) if name else beginning
    if not os.path.isdir(directory / before):  # noqa: PTH112 - of what cannot be seen: no
        return []
    names = sorted(entry.name for entry in (directory / before).iterdir())
    files = [file for file in names if file.startswith(name) and file.endswith(_ENDINGS)]
    return [before + file for file in files[:_MOST_FILES] if _is_plan(directory / before / file)]


def _is_plan(file: Path) -> bool:
    if not file.is_file():  # reading a pipe could block
        return False
    with file.open("rb") as stream:
        return _PLAN.search(stream.read(_HEAD)) is not None
