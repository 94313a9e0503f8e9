"""Group files by the first word of their names, where they share a folder and no links distinguish them.

Files with names that start with the same word are a family. Digits do not count: `f001` and `f002` are one family,
and a single family cannot be split.
"""

import re
from collections.abc import Sequence

from weft.decompose.split.graph import Graph
from weft.decompose.split.links import Group, total

_WORD = re.compile(r"[A-Z]?(?:(?![A-Z])[^\W\d_])+|[A-Z]+(?![a-z])")  # letters up to the next capital letter


def family_of(path: str) -> str:
    """Returns the first word of the name, such as `check` for `check_this`, `check-that` and `CheckIt`."""
    match = _WORD.search(path.rpartition("/")[2].partition(".")[0])
    return match[0].lower() if match else ""


def group_by_family(graph: Graph, parts: int) -> list[Group]:
    """Returns at most `parts` groups of about equal load, made of consecutive families. No family is divided."""
    by_name = dict[str, list[int]]()
    for node, path in enumerate(graph.paths):
        by_name.setdefault(family_of(path), []).append(node)
    # In the order of names, so that a reader finds `a` to `f` in one part.
    return _split_evenly(graph, [by_name[name] for name in sorted(by_name)], parts)


def _split_evenly(graph: Graph, families_in_order: Sequence[Group], parts: int) -> list[Group]:
    """Assigns each family to the equal part of the sequence that contains its middle."""
    everything, before = sum(graph.loads), 0
    groups: list[list[int]] = [[] for _ in range(parts)]
    for family in families_in_order:
        load = total(graph.loads, family)
        # The part that contains the middle of the family, in integers.
        groups[(2 * before + load) * parts // (2 * everything)].extend(family)
        before += load
    return [group for group in groups if group]
