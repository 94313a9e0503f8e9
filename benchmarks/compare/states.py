"""All states of a net: beside pm4py's reachability graph, and how much memory a large net takes."""

import json
import resource
import subprocess
import sys
from importlib import import_module
from typing import Any

from benchmarks import shapes
from benchmarks.compare.measuring import Measured, Sizes, cpu, in_turn, rate
from benchmarks.compare.table import Bar, Row, at_least, at_most
from weft.net.explore import Exploration, explore
from weft.net.formats import write_pnml
from weft.net.plain import PlainNet
from weft.testing.nets import PUBLISHED, kanban

STATES_BAR = at_least(100)
KANBAN_STATES = {1: 160, 2: 4_600, 3: 58_400, 4: 454_475, 5: PUBLISHED["kanban", 5].states}


def _ours(net: PlainNet, states: int, *, use_numpy: bool | None = None) -> Measured:
    def measured() -> float:
        found: list[Exploration] = []
        spent = cpu(lambda: found.append(explore(net, use_numpy=use_numpy)))
        assert found[0].complete
        assert found[0].states == states
        return spent / states

    return measured


def _theirs(net: PlainNet, states: int) -> Measured:
    pnml = import_module("pm4py.objects.petri_net.importer.variants.pnml")  # heavy, and not always there
    reachability_graph = import_module("pm4py.objects.petri_net.utils.reachability_graph")
    theirs, initial, _ = pnml.import_net_from_string(write_pnml(net))

    def measured() -> float:
        graphs: list[Any] = []
        spent = cpu(lambda: graphs.append(reachability_graph.construct_reachability_graph(theirs, initial)))
        assert len(graphs[0].states) == states
        return spent / states

    return measured


def beside_pm4py(sizes: Sizes) -> list[Row]:
    import_module("numpy")  # the import is not measured, as that of pm4py is not
    small, large = sizes(7, 4), sizes(8, 5)
    return [*_slices(small, rounds=3), *_slices(large, rounds=1), _kanbans(2, sizes(5, 3))]


def _kanbans(small: int, large: int) -> Row:
    """pm4py is as fast on the small one as it ever is; we have all of the large one to do."""
    ours, theirs = in_turn(
        2, _ours(kanban(large), KANBAN_STATES[large]), _theirs(kanban(small), KANBAN_STATES[small])
    )
    return _row(f"states of Kanban {large} beside pm4py on Kanban {small}", ours, theirs)


def _slices(count: int, rounds: int) -> list[Row]:
    net, states = shapes.parallel_slices(count), 4**count + 2
    ours, with_numpy, theirs = in_turn(
        rounds, _ours(net, states), _ours(net, states, use_numpy=True), _theirs(net, states)
    )
    name = f"{states:,} states of {count} slices"
    return [
        _row(f"{name} beside pm4py", ours, theirs),
        _row(f"{name} beside pm4py, numpy from the start", with_numpy, theirs, bar=None),
    ]


def _row(name: str, ours: float, theirs: float, bar: Bar | None = STATES_BAR) -> Row:
    return Row(
        name=name,
        figure=theirs / ours,
        bar=bar,
        ours=rate(ours, "states"),
        beside=rate(theirs, "states"),
    )


def memory_of_kanban(sizes: Sizes) -> list[Row]:
    """In a process of its own, for a process never tells less than the most it ever had."""
    size = sizes(5, 3)
    command = [sys.executable, "-m", "benchmarks.compare.states", str(size)]
    told = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    assert told["states"] == KANBAN_STATES[size]
    return [
        Row(
            name=f"memory for Kanban {size}, {told['states']:,} states",
            figure=told["bytes"] / 1e9,
            bar=at_most(2, "GB"),
            ours=f"{told['bytes'] / told['states']:,.0f} bytes/state, {told['cpu']:.1f} s",
        )
    ]


def _explore_kanban(size: int) -> None:
    found: list[Exploration] = []
    spent = cpu(lambda: found.append(explore(kanban(size))))
    kibibytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps({"states": found[0].states, "bytes": 1024 * kibibytes, "cpu": spent}))


if __name__ == "__main__":
    _explore_kanban(int(sys.argv[1]))
