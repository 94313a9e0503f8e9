"""One firing: beside SNAKES, beside itself in a small net, and beside itself without a pool."""

from collections.abc import Callable
from importlib import import_module

from benchmarks import shapes
from benchmarks.compare.measuring import Measured, Sizes, cpu, in_turn, micro, rate
from benchmarks.compare.table import Bar, Row, at_least, at_most
from weft.net.game import TokenGame
from weft.net.model import Net
from weft.net.plain import PlainNet, unfold

POOL = 10


def _per_firing(net: Net, times: int = 1) -> Measured:
    def measured() -> float:
        agendas = [shapes.agenda_of(net) for _ in range(times)]
        fired: list[int] = []
        spent = cpu(lambda: fired.extend(map(shapes.play, agendas)))
        assert sum(fired) == times * len(net.transition_ids)
        return spent / sum(fired)

    return measured


# SNAKES. Our driver finds out by itself what may begin; theirs is told, but for the last.


class _Snakes:
    """A net of SNAKES's, and ways to drive it."""

    def __init__(self, net: PlainNet) -> None:
        sn = import_module("snakes.nets")  # not installed where only the table is tested
        self.no_binding = sn.Substitution()
        self.net = sn.PetriNet("net")
        for id_, tokens in zip(net.place_ids, net.initial, strict=True):
            self.net.add_place(sn.Place(id_, [sn.dot] * tokens))
        for name, taken, given in zip(net.transition_ids, net.inputs, net.outputs, strict=True):
            self.net.add_transition(sn.Transition(name))
            for place, _ in taken:
                self.net.add_input(net.place_ids[place], name, sn.Value(sn.dot))
            for place, _ in given:
                self.net.add_output(net.place_ids[place], name, sn.Value(sn.dot))
        self.order = net.transition_ids

    def told_transition(self, firings: int) -> None:
        """Fires in an order that is known to work; the binding comes from SNAKES, as in its tutorials."""
        for name in self.order[:firings]:
            transition = self.net.transition(name)
            transition.fire(transition.modes()[0])

    def told_binding(self, firings: int) -> None:
        """The same, with nothing left to find out."""
        for name in self.order[:firings]:
            self.net.transition(name).fire(self.no_binding)

    def scanning(self, firings: int) -> None:
        """Asks all transitions which are enabled, and fires the first that is."""
        for _ in range(firings):
            enabled = [t for t in self.net.transition() if t.enabled(self.no_binding)]
            enabled[0].fire(self.no_binding)


def _theirs(net: PlainNet, drive: Callable[[_Snakes, int], None], moves: int, firings: int) -> Measured:
    """`moves` are SNAKES's own; what is counted are `firings` of our net."""

    def measured() -> float:
        made = _Snakes(net)
        return cpu(lambda: drive(made, moves)) / firings

    return measured


def _told(net: Net) -> Measured:
    """Our token game without the choice of what is next: told which transition, as SNAKES is."""

    def play(game: TokenGame) -> None:
        for number in range(len(net.transition_ids)):
            game.finish(game.begin(number), 0)

    def measured() -> float:
        game = TokenGame(net)
        return cpu(lambda: play(game)) / len(net.transition_ids)

    return measured


def beside_snakes(sizes: Sizes) -> list[Row]:
    net = shapes.slices(sizes(2_000, 100), pool=POOL)
    atomic, split = shapes.as_plain(net), unfold(net)
    count, scans = len(net.transition_ids), sizes(4, 2)
    ours, told, of_transition, of_binding, of_halves, scan = in_turn(
        3,
        _per_firing(net, 3),
        _told(net),
        _theirs(atomic, _Snakes.told_transition, count, count),
        _theirs(atomic, _Snakes.told_binding, count, count),
        _theirs(split, _Snakes.told_transition, 2 * count, count),
        _theirs(atomic, _Snakes.scanning, scans, scans),
    )
    size = f"a firing of {count:,}"
    return [
        _row(f"{size}, told which, beside SNAKES told which", told, of_transition, at_least(15)),
        _row(f"{size}, told which, beside SNAKES told its binding too", told, of_binding, None),
        _row(f"{size}, found by itself, beside SNAKES told which", ours, of_transition, None),
        _row(f"{size}, found by itself, beside SNAKES told begin and end", ours, of_halves, None),
        _row(f"{size}, found by itself, beside SNAKES that scans", ours, scan, at_least(5_000)),
    ]


def _row(name: str, ours: float, theirs: float, bar: Bar | None) -> Row:
    return Row(
        name=name,
        figure=theirs / ours,
        bar=bar,
        ours=rate(ours, "firings"),
        beside=rate(theirs, "firings"),
    )


# Ourselves


def large_beside_small(sizes: Sizes) -> list[Row]:
    large = sizes(1_000_000, 50_000)
    makers = {"chain": shapes.chain, "slices": lambda size: shapes.slices(size // 5)}
    return [_scaling(name, make, large) for name, make in makers.items()]


def _scaling(name: str, make: Callable[[int], Net], large: int) -> Row:
    small = 1_000
    in_large, in_small = in_turn(3, _per_firing(make(large)), _per_firing(make(small), large // small // 10))
    return Row(
        name=f"a firing of {large:,} beside one of {small:,}: {name}",
        figure=in_large / in_small,
        bar=at_most(2.5),
        ours=micro(in_large),
        beside=micro(in_small),
    )


def pool_beside_none(sizes: Sizes) -> list[Row]:
    waiters = sizes(10_000, 1_000)
    pooled, free = in_turn(
        5, _per_firing(shapes.slices(waiters, pool=1)), _per_firing(shapes.slices(waiters))
    )
    return [
        Row(
            name=f"a pool of 1 with {waiters:,} waiters beside no pool",
            figure=pooled / free,
            bar=at_most(1.5),
            ours=micro(pooled),
            beside=micro(free),
        )
    ]
