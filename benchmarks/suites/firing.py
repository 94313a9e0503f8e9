"""The interpreter: what one firing costs, whatever the shape and the size of the net."""

from benchmarks import shapes
from weft.net.model import Net

SHAPES = {
    "chain": shapes.chain,
    "slices": lambda size: shapes.slices(size // 5),
    "slices with a pool of 10": lambda size: shapes.slices(size // 5, pool=10),
    "fan-out": shapes.fan_out,
    "grid": lambda size: shapes.grid(round(size**0.5)),
}


class Firing:
    """CPU to play a net to its end, from the making of the game on."""

    params = (tuple(SHAPES), (1_000, 10_000, 100_000))
    param_names = ("shape", "transitions")
    timeout = 300

    def setup(self, shape: str, transitions: int) -> None:
        self.net: Net = SHAPES[shape](transitions)

    def time_whole_game(self, *_: object) -> int:
        return shapes.play(shapes.agenda_of(self.net))

    def track_firings_per_second(self, *_: object) -> float:
        return 1 / shapes.best_of(3, lambda: shapes.cpu_per_firing(self.net))

    track_firings_per_second.unit = "firings/s"  # type: ignore[attr-defined]

    def peakmem_whole_game(self, *_: object) -> int:
        return shapes.play(shapes.agenda_of(self.net))


class AMillionTransitions:
    params = ("chain", "slices", "slices with a pool of 10", "grid")
    param_names = ("shape",)
    timeout = 1_200
    size = 1_000_000

    def track_microseconds_per_firing(self, shape: str) -> float:
        return 1e6 * shapes.cpu_per_firing(SHAPES[shape](self.size))

    track_microseconds_per_firing.unit = "us"  # type: ignore[attr-defined]


class Waiting:
    """Steps that wait for room, and much of it."""

    params = (100, 10_000)
    param_names = ("waiters",)
    timeout = 300

    def setup(self, waiters: int) -> None:
        self.pool_of_one = shapes.slices(waiters, pool=1)
        self.no_pool = shapes.slices(waiters)

    def time_pool_of_one(self, *_: object) -> int:
        return shapes.play(shapes.agenda_of(self.pool_of_one))

    def time_no_pool(self, *_: object) -> int:
        return shapes.play(shapes.agenda_of(self.no_pool))


class Lanes:
    """Groups with a limit of their own, all under one limit."""

    params = (10, 1_000)
    param_names = ("groups",)
    timeout = 300

    def setup(self, groups: int) -> None:
        self.net = shapes.lanes(groups)

    def time_whole_game(self, *_: object) -> int:
        return shapes.play(shapes.agenda_of(self.net))

    def track_microseconds_per_firing(self, *_: object) -> float:
        return 1e6 * shapes.best_of(3, lambda: shapes.cpu_per_firing(self.net))

    track_microseconds_per_firing.unit = "us"  # type: ignore[attr-defined]
