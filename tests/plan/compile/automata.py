"""What can be seen of something that moves from state to state: sets of labelled runs, compared and measured."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

Label = str | None
State = Any
"""Something to be a member of sets."""


@dataclass(frozen=True, slots=True)
class Automaton:
    start: State
    moves: Callable[[State], Iterable[tuple[Label, State]]]

    def closure(self, states: Iterable[State]) -> frozenset[State]:
        """With all that is reached unseen."""
        reached, waiting = set(states), list(states)
        while waiting:
            for label, after in self.moves(waiting.pop()):
                if label is None and after not in reached:
                    reached.add(after)
                    waiting.append(after)
        return frozenset(reached)

    def seen(self, states: Iterable[State]) -> dict[str, set[State]]:
        successors: dict[str, set[State]] = {}
        for state in states:
            for label, after in self.moves(state):
                if label is not None:
                    successors.setdefault(label, set()).add(after)
        return successors


def first_difference(
    left_automaton: Automaton, right_automaton: Automaton, *, subset: bool = False
) -> tuple[str, ...] | None:
    """A shortest run that only one of them has; with `subset`, that only the first has. None without one."""
    start = (left_automaton.closure([left_automaton.start]), right_automaton.closure([right_automaton.start]))
    waiting: list[tuple[tuple[str, ...], tuple[frozenset[State], frozenset[State]]]] = [((), start)]
    visited = {start}
    for run, (left, right) in waiting:  # grows while it is walked
        ours, theirs = left_automaton.seen(left), right_automaton.seen(right)
        for label in sorted(ours.keys() | (set[str]() if subset else theirs.keys())):
            if label not in ours or label not in theirs:
                return (*run, label)
            pair = (left_automaton.closure(ours[label]), right_automaton.closure(theirs[label]))
            if pair not in visited:
                visited.add(pair)
                waiting.append(((*run, label), pair))
    return None


def most(automaton: Automaton, label: str) -> int:
    """How often the label can come in one run; there are no circles."""
    memory: dict[State, int] = {}
    stack: list[tuple[State, list[tuple[Label, State]] | None]] = [(automaton.start, None)]
    while stack:
        state, moves = stack.pop()
        if moves is not None:
            memory[state] = max((memory[after] + (move == label) for move, after in moves), default=0)
        elif state not in memory:
            following = list(automaton.moves(state))
            stack.append((state, following))
            stack += [(after, None) for _, after in following if after not in memory]
    return memory[automaton.start]
