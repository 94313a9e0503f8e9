"""All states of nets whose number of states is published or can be counted."""

import tracemalloc
from time import process_time

from benchmarks import shapes
from weft.net.explore import Exploration, explore
from weft.net.plain import PlainNet
from weft.testing.nets import fms, house_construction, kanban, philosophers

NETS = {
    "philosophers 5": lambda: philosophers(5),
    "philosophers 10": lambda: philosophers(10),
    "fms 2": lambda: fms(2),
    "house 2": lambda: house_construction(2),
    "kanban 3": lambda: kanban(3),
    "7 slices of 3": lambda: shapes.parallel_slices(7),
}
LARGE_NETS = {
    "kanban 5": lambda: kanban(5),
    "fms 5": lambda: fms(5),
    "house 5": lambda: house_construction(5),
}


def states_per_second(net: PlainNet) -> float:
    before = process_time()
    found = whole(net)
    return found.states / (process_time() - before)


def whole(net: PlainNet) -> Exploration:
    found = explore(net)
    assert found.complete
    return found


class Exploring:
    params = tuple(NETS)
    param_names = ("net",)
    timeout = 300

    def setup(self, net: str) -> None:
        self.net = NETS[net]()

    def time_all_states(self, *_: object) -> Exploration:
        return whole(self.net)

    def track_states_per_second(self, *_: object) -> float:
        return max(states_per_second(self.net) for _ in range(3))

    track_states_per_second.unit = "states/s"  # type: ignore[attr-defined]

    def track_bytes_per_state(self, *_: object) -> float:
        """The most that was in use at once, as Python's allocator and numpy count it."""
        whole(self.net)  # what is imported on the way is not counted
        tracemalloc.start()
        found = whole(self.net)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak / found.states

    track_bytes_per_state.unit = "bytes"  # type: ignore[attr-defined]


class ExploringMillions:
    params = tuple(LARGE_NETS)
    param_names = ("net",)
    timeout = 1_200

    def track_states_per_second(self, net: str) -> float:
        return states_per_second(LARGE_NETS[net]())

    track_states_per_second.unit = "states/s"  # type: ignore[attr-defined]

    def peakmem_all_states(self, net: str) -> Exploration:
        return whole(LARGE_NETS[net]())
