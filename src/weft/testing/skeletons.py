"""Workflow nets for tests and benchmarks.

`plan_skeleton` is the control part of a plan with dependencies, of any size. `refined_workflow` grows a small
sound net from a single step, and `mutate_net` changes a net so that it may or may not be sound.
"""

from random import Random

from msgspec.structs import replace

from weft.ids import PlaceId, TransitionId
from weft.net.model import Arcs
from weft.net.plain import PlainNet


class NetSketch:
    """A plain net under construction: a place is created when an arc first names it."""

    def __init__(self) -> None:
        self.places: dict[str, int] = {}
        self.transitions: dict[str, tuple[list[str], list[str]]] = {}

    def add(self, name: str, inputs: list[str], outputs: list[str]) -> None:
        self.transitions[name] = (inputs, outputs)
        for place in (*inputs, *outputs):
            self.places.setdefault(place, len(self.places))

    def net(self, **tokens: int) -> PlainNet:
        """The net as it stands, with these tokens in its initial marking."""

        def arcs(places: list[str]) -> Arcs:
            return tuple((self.places[place], 1) for place in places)

        return PlainNet(
            place_ids=tuple(map(PlaceId, self.places)),
            transition_ids=tuple(map(TransitionId, self.transitions)),
            inputs=tuple(arcs(inputs) for inputs, _ in self.transitions.values()),
            outputs=tuple(arcs(outputs) for _, outputs in self.transitions.values()),
            initial=tuple(tokens.get(place, 0) for place in self.places),
        )


def plan_skeleton(
    slices: int, rng: Random, *, steps: int = 3, attempts: int = 3, dependencies: int = 3
) -> PlainNet:
    """Returns the control part of a plan: slices of steps with several attempts, and joins between slices.

    A slice starts when its up to `dependencies` predecessors have ended, or at once if it has none. It is
    skipped, or its steps run in turn. Attempts are unrolled: after each, the step is ok, or the next attempt
    follows, or the last attempt gives up, which ends the slice. Every slice ends exactly once.
    """
    # Only earlier slices, so that the dependencies have no cycle.
    needs = [sorted(rng.sample(range(n), rng.randint(0, min(n, dependencies)))) for n in range(slices)]
    dependents: list[list[int]] = [[] for _ in range(slices)]
    for number, dependencies_of_slice in enumerate(needs):
        for dependency in dependencies_of_slice:
            dependents[dependency].append(number)
    sketch = NetSketch()
    sketch.add("begin", ["source"], [f"{n}.ready.0.0" for n in range(slices) if not needs[n]])
    for number in range(slices):
        _add_slice(sketch, number, needs[number], steps=steps, attempts=attempts)
        signals = [f"{number}.before.{dependency}" for dependency in dependents[number]]
        sketch.add(f"{number}.close", [f"{number}.end"], [*signals, f"{number}.closed"])
    sketch.add("finish", [f"{n}.closed" for n in range(slices)], ["sink"])
    return sketch.net(source=1)


def _add_slice(sketch: NetSketch, number: int, needs: list[int], *, steps: int, attempts: int) -> None:
    end = f"{number}.end"
    first = f"{number}.ready.0.0"
    if needs:
        sketch.add(f"{number}.join", [f"{dependency}.before.{number}" for dependency in needs], [first])
    sketch.add(f"{number}.skip", [first], [end])
    for step in range(steps):
        following = f"{number}.ready.{step + 1}.0" if step + 1 < steps else end
        for attempt in range(attempts):
            at = f"{step}.{attempt}"
            ready, run, result = (f"{number}.{phase}.{at}" for phase in ("ready", "run", "result"))
            sketch.add(f"{number}.start.{at}", [ready], [run])
            sketch.add(f"{number}.done.{at}", [run], [result])
            sketch.add(f"{number}.ok.{at}", [result], [following])
            if attempt + 1 < attempts:
                sketch.add(f"{number}.retry.{at}", [result], [f"{number}.ready.{step}.{attempt + 1}"])
            else:
                sketch.add(f"{number}.giveup.{at}", [result], [end])


def refined_workflow(rng: Random, refinements: int, *, loops: bool = True) -> PlainNet:
    """Returns a sound free-choice workflow net: one step, refined repeatedly.

    A random transition is replaced by two in sequence, by a choice of two, by two in parallel, or (with `loops`)
    by a loop. None of these makes a sound net unsound.
    """
    sketch = NetSketch()
    sketch.add("t", ["source"], ["sink"])
    for number in range(refinements):
        name = rng.choice(list(sketch.transitions))
        inputs, outputs = sketch.transitions[name]
        rule = rng.choice(["sequence", "choice", "fork", "loop"] if loops else ["sequence", "choice", "fork"])
        a, b, t = f"a{number}", f"b{number}", f"t{number}"
        if rule == "choice":
            sketch.add(t, inputs, outputs)
        elif rule == "sequence":
            sketch.add(name, inputs, [a])
            sketch.add(t, [a], outputs)
        elif rule == "fork":
            sketch.add(name, inputs, [f"{a}.in", f"{b}.in"])
            sketch.add(f"{t}.left", [f"{a}.in"], [f"{a}.out"])
            sketch.add(f"{t}.right", [f"{b}.in"], [f"{b}.out"])
            sketch.add(t, [f"{a}.out", f"{b}.out"], outputs)
        else:
            sketch.add(name, inputs, [a])
            sketch.add(f"{t}.work", [a], [b])
            sketch.add(f"{t}.again", [b], [a])
            sketch.add(t, [b], outputs)
    return sketch.net(source=1)


def mutate_net(net: PlainNet, rng: Random, changes: int) -> PlainNet:
    """Returns the net with some arcs moved, added or removed; the result may or may not be a workflow net."""
    rows = [[list(arcs) for arcs in net.inputs], [list(arcs) for arcs in net.outputs]]
    for _ in range(changes):
        arcs = rng.choice(rng.choice(rows))
        place = rng.randrange(len(net.place_ids))
        change = rng.choice(["add", "drop", "move"])
        if change != "add" and arcs:
            arcs.pop(rng.randrange(len(arcs)))
        if change != "drop" and place not in {target for target, _ in arcs}:
            arcs.append((place, 1))
    inputs, outputs = ([tuple(arcs) for arcs in side] for side in rows)
    return replace(net, inputs=tuple(inputs), outputs=tuple(outputs))
