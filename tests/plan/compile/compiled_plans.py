"""Compiled plans for tests, and ways to look at them."""

import json
from collections.abc import Callable, Container, Iterable, Iterator
from typing import Any

from weft.net.game import TokenGame
from weft.net.model import Arcs, Marking, Net, PlaceKind
from weft.net.plain import PlainNet
from weft.plan.compile.compile import compile_plan
from weft.plan.compile.parts import Shape
from weft.plan.compile.plan_net import CompiledPlan
from weft.plan.loader.load import load_plan

HEAD = {
    "weft": 1,
    "plan": "p",
    "infra_retries": 0,
    "agents": {"coder": {"use": "claude", "pool": 2}, "tester": {"use": "codex"}},
    "pools": {"port": 2, "disk": 1},
}


def compiled(text: str) -> CompiledPlan:
    return compile_plan(load_plan(text))


def plan(*subplans: dict[str, Any], **more: Any) -> CompiledPlan:
    return compiled(json.dumps({**HEAD, **more, "subplans": subplans}))


def leaf(id_: str, *depends_on: str, **more: Any) -> dict[str, Any]:
    return {"id": id_, "prompt": "do", "steps": [run("x")], "depends_on": depends_on, **more}


def group(id_: str, *subplans: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"id": id_, "subplans": subplans, **more}


def run(id_: str, **more: Any) -> dict[str, Any]:
    return {"id": id_, "run": "true", **more}


def shape_of(*steps: dict[str, Any], **more: Any) -> Shape:
    """The shape of a slice with these steps and something to verify."""
    compiled_plan = plan({"id": "a", "prompt": "do", "verify": "true", "steps": steps}, **more)
    return compiled_plan.shapes[compiled_plan.shape_of[1]]


def back(first: str, times: int | None = None) -> dict[str, Any]:
    return {"on_fail": {"retry_from": first} | ({} if times is None else {"max": times})}


def results(*actions: str) -> list[dict[str, str]]:
    return [{"when": "attempt == 1", "action": action} for action in actions]


LOOPS: dict[str, list[dict[str, Any]]] = {
    "overlapping": [run("a"), run("b"), run("c", **back("a", 2)), run("d", **back("b", 2))],
    "chained": [run("a"), *[run(n, **back(m, 1)) for m, n in ("ab", "bc", "cd")]],
    "crossing twice": [
        *map(run, "ab"),
        run("c", **back("a", 1)),
        run("d", **back("b", 1)),
        run("e", **back("c", 2)),
    ],
    "nested": [run("a"), run("b"), run("c", **back("b", 2)), run("d", **back("a", 2))],
    "with questions": [run("a"), run("b", **back("a", 1), on_result=results("ask", "abort")), run("c")],
    "with tries": [run("a"), run("b", **back("a", 1), on_error="retry", max_retries=1), run("c")],
    "from one step": [run("a"), run("b", **back("a", 2)), run("c", **back("a", 1))],
    "around branches": [
        run("a"),
        run("b", **{"async": True}),
        run("c", **{"async": True, "depends_on": ["b"]}),
        {"id": "j", "action": "join", "depends_on": ["b", "c"], **back("a", 2)},
        run("e", **back("a", 1)),
    ],
}


# Text


def rendered(net: Net) -> list[str]:
    """The net for reading, a line for each transition; what is only claimed stands on the left alone."""
    kinds = net.place_kinds
    pools = {
        net.place_ids[place]: tokens
        for place, tokens in enumerate(net.initial)
        if kinds[place] is PlaceKind.POOL
    }
    counts = f"{len(net.place_ids)} places, {len(net.transition_ids)} transitions"
    held = ", ".join(f"{name} {size}" for name, size in pools.items())
    return [counts, f"pools: {held}", *(_line(net, number) for number in range(len(net.transition_ids)))]


def _line(net: Net, number: int) -> str:
    inputs = net.inputs[number]
    claims = {arc for arc in inputs if all(arc in outputs for outputs in net.outputs[number])}
    ways: dict[str, list[str]] = {}
    for name, outputs in zip(net.outcomes[number], net.outputs[number], strict=True):
        ways.setdefault(_sum(net, (arc for arc in outputs if arc not in claims)), []).append(name)
    single = len(net.outcomes[number]) == 1
    right = next(iter(ways)) if single else " | ".join(f"{', '.join(ns)}: {way}" for way, ns in ways.items())
    return f"{net.transition_ids[number]}: {_sum(net, inputs)} → {right}"


def _sum(net: Net, arcs: Iterable[tuple[int, int]]) -> str:
    return " + ".join(
        f"{weight}·{net.place_ids[place]}" if weight > 1 else net.place_ids[place] for place, weight in arcs
    )


# Runs


def firings(game: TokenGame, left_out: Container[int] = (), key: Callable[[int], Any] = int) -> Iterator[int]:
    """Fires the greatest of what is enabled until nothing is, each done; nothing comes twice."""
    fired: set[int] = set()
    while (
        chosen := max((t for t in game.enabled() if t not in left_out), key=key, default=None)
    ) is not None:
        assert chosen not in fired
        fired.add(chosen)
        game.finish(game.begin(chosen), "done")
        yield chosen


# States


def final_marking(net: Net) -> Marking:
    """One token in the end, every pool full, nothing else."""
    full = {place.id: place.tokens for place in net.places if place.kind is PlaceKind.POOL}
    ends = {place.id: 1 for place in net.places if place.kind is PlaceKind.END}
    return Marking(full | ends)


State = tuple[int, ...]
Graph = dict[State, list[tuple[int, State]]]
"""For each state, the transitions that can fire and where they lead."""


def state_graph(net: PlainNet, most: int = 100_000) -> Graph:
    """All states, found the plain way."""
    graph: Graph = {}
    waiting = [net.initial]
    while waiting:
        state = waiting.pop()
        if state not in graph:
            assert len(graph) < most
            graph[state] = list(_steps(net, state))
            waiting += [after for _, after in graph[state]]
    return graph


def _steps(net: PlainNet, state: State) -> Iterator[tuple[int, State]]:
    for number, (inputs, outputs) in enumerate(zip(net.inputs, net.outputs, strict=True)):
        if all(state[place] >= weight for place, weight in inputs):
            yield number, _moved(state, inputs, outputs)


def _moved(state: State, inputs: Arcs, outputs: Arcs) -> State:
    tokens = list(state)
    for place, weight in inputs:
        tokens[place] -= weight
    for place, weight in outputs:
        tokens[place] += weight
    return tuple(tokens)


def reaching(graph: Graph, goal: State) -> set[State]:
    """The states from which the goal can be reached."""
    before: dict[State, list[State]] = {state: [] for state in graph}
    for state, steps in graph.items():
        for _, after in steps:
            before[after].append(state)
    reached, waiting = {goal}, [goal]
    while waiting:
        for state in before[waiting.pop()]:
            if state not in reached:
                reached.add(state)
                waiting.append(state)
    return reached
