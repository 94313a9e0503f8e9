"""Dependencies among subplans in two levels, and whether an order exists that satisfies them all.

A member starts after the start of its group. A group starts when the groups it depends on are done, and is done
when its members are. So a cycle can run through both levels even if neither has one by itself.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from itertools import groupby


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """A group with its members, and their dependencies."""

    needs: Sequence[str]
    """The groups it depends on."""
    members: Mapping[str, Sequence[str]]
    """Each member with the members, of any group, that it depends on."""


def cycle(groups: Mapping[str, Group], *, group_word: str, member_word: str) -> str | None:
    """Returns a cycle as a sentence about what waits for what; None if there is an order."""
    graph: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for name, group in groups.items():
        graph["start", name] = [("done", need) for need in group.needs]
        graph["done", name] = [("member", member) for member in group.members]
        for member, needs in group.members.items():
            # A member waits for the start of its group, which waits for other groups.
            graph["member", member] = [("start", name), *(("member", need) for need in needs)]
    words = {"start": group_word, "done": group_word, "member": member_word}
    return _describe([f"{words[kind]} {name!r}" for kind, name in _find_cycle(graph)])


def cycle_among(needs: Mapping[str, Sequence[str]], *, word: str) -> str | None:
    """Returns the same for names on one level."""
    graph = {("", name): [("", need) for need in needed] for name, needed in needs.items()}
    return _describe([f"{word} {name!r}" for _, name in _find_cycle(graph)])


def _find_cycle(graph: Mapping[tuple[str, str], Sequence[tuple[str, str]]]) -> list[tuple[str, str]]:
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        nodes: list[tuple[str, str]] = error.args[1]
        return nodes[::-1]
    return []


def _describe(names: list[str]) -> str | None:
    return " waits for ".join(name for name, _ in groupby(names)) or None
