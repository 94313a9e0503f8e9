"""Names as a kind of folder, for files that are all in one and that no links tell apart.

Files whose names begin with the same word are a family. Digits say nothing: `f001` and `f002` are of one family,
and one family is nothing to split.
"""

import re
from collections.abc import Sequence

from weft.decompose.splitting.graph import Graph
from weft.decompose.splitting.links import Group, total

_WORD = re.compile(r"[A-Z]?(?:(?![A-Z])[^\W\d_])+|[A-Z]+(?![a-z])")  # letters up to the next capital one


def family_of(path: str) -> str:
    """The first word of the name: of `check_this`, `check-that` and `CheckIt` it is `check`."""
    found = _WORD.search(path.rpartition("/")[2].partition(".")[0])
    return found[0].lower() if found else ""


def families(graph: Graph, parts: int) -> list[Group]:
    """So many groups of about equal load at most, of families that follow each other; none is torn."""
    by_name = dict[str, list[int]]()
    for node, path in enumerate(graph.paths):
        by_name.setdefault(family_of(path), []).append(node)
    return _in_a_row(graph, [by_name[name] for name in sorted(by_name)], parts)


def _in_a_row(graph: Graph, families_in_order: Sequence[Group], parts: int) -> list[Group]:
    """Each family goes where its middle is, if the whole row is cut into equal parts."""
    everything, before = sum(graph.loads), 0
    found: list[list[int]] = [[] for _ in range(parts)]
    for family in families_in_order:
        load = total(graph.loads, family)
        found[(2 * before + load) * parts // (2 * everything)].extend(family)
        before += load
    return [group for group in found if group]
