"""Who begins next: order, pools, and that no wake-up is lost and no waiter starves."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategies import nets
from weft.ids import OutcomeName
from weft.net.game import Firing, TokenGame
from weft.net.model import Net, NetBuilder, PlaceKind
from weft.subplans.agenda import Agenda

DONE = (OutcomeName("done"),)


def steps(
    claims: list[dict[int, int]],
    pools: list[int],
    *,
    priorities: list[int] | None = None,
    again: bool = False,
) -> Net:
    """Independent steps with claims on pools. With `again`, each is ready again when it ends."""
    builder = NetBuilder()
    numbers = [
        builder.add_place(f"pool{n}", kind=PlaceKind.POOL, tokens=size) for n, size in enumerate(pools)
    ]
    for n, claim in enumerate(claims):
        ready = builder.add_place(f"ready{n}", tokens=1)
        claim_arcs = tuple((numbers[pool], weight) for pool, weight in claim.items())
        given_back = (*claim_arcs, (ready, 1)) if again else claim_arcs
        builder.add_transition(
            f"step{n}", ((ready, 1), *claim_arcs), DONE, (given_back,), action="work",
            priority=priorities[n] if priorities else 0,
        )  # fmt: skip
    return builder.build()


def begin_all(agenda: Agenda) -> list[Firing]:
    begun: list[Firing] = []
    while (firing := agenda.next()) is not None:
        begun.append(firing)
    return begun


def test_the_highest_priority_begins_first_and_ties_go_by_declaration() -> None:
    net = steps([{}] * 5, [], priorities=[1, 3, 2, 3, 1])
    assert [f.transition for f in begin_all(Agenda(TokenGame(net)))] == [1, 3, 2, 0, 4]


def test_a_pool_of_two_lets_two_in_and_the_next_when_one_leaves() -> None:
    agenda = Agenda(TokenGame(steps([{0: 1}] * 4, [2])))
    first, second = begin_all(agenda)
    assert [first.transition, second.transition] == [0, 1]
    agenda.finish(second, "done")
    assert [f.transition for f in begin_all(agenda)] == [2]


def test_a_step_that_takes_two_pools_takes_neither_until_it_can_take_both() -> None:
    game = TokenGame(steps([{0: 1}, {0: 1, 1: 1}], [1, 1]))
    agenda = Agenda(game)
    (holder,) = begin_all(agenda)
    assert holder.transition == 0
    assert game.marking()["pool1"] == 1
    agenda.finish(holder, 0)
    (both,) = begin_all(agenda)
    assert both.transition == 1
    assert (game.marking()["pool0"], game.marking()["pool1"]) == (0, 0)


def test_room_that_the_woken_one_cannot_use_goes_to_the_next() -> None:
    # 0 holds pool a, 1 holds pool b; 2 waits for a and b, 3 for a alone. When 0 ends, 2 is woken first
    # (declared first), lacks b, and must pass its chance on to 3.
    agenda = Agenda(TokenGame(steps([{0: 1}, {1: 1}, {0: 1, 1: 1}, {0: 1}], [1, 1])))
    first, second = begin_all(agenda)
    assert [first.transition, second.transition] == [0, 1]
    agenda.finish(first, 0)
    assert [f.transition for f in begin_all(agenda)] == [3]


def test_waiters_on_several_pools_do_not_wake_each_other_for_ever() -> None:
    # Everyone wants both pools, in turn blocked by one and by the other; `next` must return each time.
    agenda = Agenda(
        TokenGame(steps([{0: 1}, {1: 1}, *[{0: 1, 1: 1}, {0: 2, 1: 1}, {0: 1, 1: 2}] * 3], [2, 2]))
    )
    in_flight = begin_all(agenda)
    ended = 0
    while in_flight:
        agenda.finish(in_flight.pop(0), 0)
        ended += 1
        in_flight += begin_all(agenda)
    assert ended == 11


class Scene:
    """Random steps on random pools, some of which compete for the token that makes them ready."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.pools = [rng.randint(1, 4) for _ in range(rng.randint(1, 3))]
        builder = NetBuilder()
        pools = [
            builder.add_place(f"pool{n}", kind=PlaceKind.POOL, tokens=size)
            for n, size in enumerate(self.pools)
        ]
        self.claims: list[dict[int, int]] = []
        self.skips: list[int] = []
        for n in range(rng.randint(2, 9)):
            ready = builder.add_place(f"ready{n}", tokens=rng.randint(1, 2))
            for rival in range(rng.choice([1, 1, 2])):
                claim = {pool: rng.randint(1, 3) for pool in range(len(pools)) if rng.random() < 0.6}
                claim_arcs = tuple((pools[pool], weight) for pool, weight in claim.items())
                following = ((builder.add_place(f"after{n}.{rival}"), 1),)
                output_arcs = (*claim_arcs, *following)
                builder.add_transition(
                    f"step{n}.{rival}",
                    ((ready, 1), *claim_arcs),
                    DONE,
                    (output_arcs,),
                    priority=rng.randint(0, 2),
                )
                more = tuple((pools[pool], 1) for pool in range(len(pools)) if rng.random() < 0.5)
                builder.add_transition(
                    f"next{n}.{rival}", (*following, *more), DONE, (more,), priority=rng.randint(0, 3)
                )
            self.skips.append(builder.add_transition(f"skip{n}", ((ready, 1),), DONE, ((),)))
        self.game = TokenGame(builder.build())
        self.stalls = 0
        self.begun = 0

    def enabled(self) -> set[int]:
        return set(self.game.enabled()) - set(self.skips)

    def begin_the_best(self, agenda: Agenda) -> list[Firing]:
        begun: list[Firing] = []
        while True:
            enabled = self.enabled()
            firing = agenda.next()
            if firing is None:
                return begun
            begun.append(firing)
            self.begun += 1
            if self.begun < len(self.game.missing):  # priority decides alone within the first generation
                priorities = self.game.net.priorities
                assert firing.transition == min(enabled, key=lambda n: (-priorities[n], n))

    def play(self, *, patience: int) -> None:
        agenda = Agenda(self.game, manual=self.skips, patience=patience)
        in_flight: list[Firing] = []
        while True:
            if patience == NEVER:
                in_flight += self.begin_the_best(agenda)
            else:
                in_flight += begin_all(agenda)
            if patience == NEVER or not in_flight:
                assert not self.enabled(), "an enabled step was not begun: its wake-up was lost"
            waiting = [skip for skip in self.skips if not self.game.missing[skip]]
            self.stalls += bool(waiting and in_flight)
            if waiting and self.rng.random() < 0.2:  # what waits goes away, and its entry is stale
                agenda.fire(self.rng.choice(waiting))
            elif in_flight:
                for _ in range(self.rng.randint(1, min(3, len(in_flight)))):
                    agenda.finish(in_flight.pop(self.rng.randrange(len(in_flight))), 0)
            else:
                break
        assert [self.game.marking()[f"pool{n}"] for n in range(len(self.pools))] == self.pools


NEVER = 10**9
"""So much patience that nothing is ever held back on purpose."""


@pytest.mark.parametrize("seed", range(12))
def test_whenever_nothing_begins_nothing_could_and_pools_come_back_whole(seed: int) -> None:
    stalls = 0
    for round_ in range(150):
        scene = Scene(random.Random(f"{seed}/{round_}"))
        scene.play(patience=NEVER)
        stalls += scene.stalls
    assert stalls > 300  # the property is about these


@pytest.mark.parametrize("seed", range(12))
def test_with_reservations_nothing_is_held_back_for_ever(seed: int) -> None:
    for round_ in range(150):
        rng = random.Random(f"{seed}/{round_}")
        Scene(rng).play(patience=rng.randint(1, 3))


def test_when_a_wide_claim_ends_all_that_fit_in_its_place_begin() -> None:
    # Three kinds of claims wait for the two tokens; the first that begins must pass the second token on.
    agenda = Agenda(TokenGame(steps([{0: 2}, {0: 1}, {0: 1, 1: 1}], [2, 1])))
    (wide,) = begin_all(agenda)
    agenda.finish(wide, 0)
    assert [f.transition for f in begin_all(agenda)] == [1, 2]


def starts_of_the_first(agenda: Agenda, in_flight: list[Firing]) -> int:
    """Returns how often transition 0 starts in 60 rounds; the oldest firing ends in each round."""
    starts = 0
    for _ in range(60):
        agenda.finish(in_flight.pop(0), 0)
        begun = begin_all(agenda)
        starts += sum(firing.transition == 0 for firing in begun)
        in_flight += begun
    return starts


@pytest.mark.parametrize("narrow", [2, 3])
@pytest.mark.parametrize(("patience", "least", "most"), [(8, 3, 60), (NEVER, 0, 0)])
def test_a_wide_claim_is_not_passed_over_for_ever_by_narrow_ones(
    narrow: int, patience: int, least: int, most: int
) -> None:
    # Without a reservation it starves: of the two tokens one is always out.
    net = steps([{0: 2}, *[{0: 1}] * narrow], [2], priorities=[9, *[0] * narrow], again=True)
    game = TokenGame(net)
    agenda = Agenda(game, patience=patience)
    assert least <= starts_of_the_first(agenda, [game.begin(1), game.begin(2)]) <= most


@pytest.mark.parametrize(("patience", "least", "most"), [(8, 3, 60), (NEVER, 0, 0)])
def test_a_claim_on_two_pools_is_not_passed_over_for_ever_by_claims_on_one(
    patience: int, least: int, most: int
) -> None:
    # Whenever one pool is free the other is not: woken in vain, again and again.
    game = TokenGame(steps([{0: 1, 1: 1}, {0: 1}, {1: 1}], [1, 1], priorities=[9, 0, 0], again=True))
    agenda = Agenda(game, patience=patience)
    assert least <= starts_of_the_first(agenda, [game.begin(1), game.begin(2)]) <= most


@pytest.mark.parametrize("wide", [2, 3, 4])
@pytest.mark.parametrize(("patience", "least", "most"), [(8, 3, 60), (NEVER, 0, 0)])
def test_nor_by_narrow_ones_of_higher_priority(wide: int, patience: int, least: int, most: int) -> None:
    claims = [{0: wide}, *[{0: 1}] * (wide + 1)]
    net = steps(claims, [wide], priorities=[0, *[9] * (wide + 1)], again=True)
    game = TokenGame(net)
    agenda = Agenda(game, patience=patience)
    in_flight = [game.begin(number + 1) for number in range(wide)]
    assert least <= starts_of_the_first(agenda, in_flight) <= most


@pytest.mark.parametrize("chains", [2, 3, 5])
def test_nor_by_long_chains_of_narrow_ones_each_of_which_is_new(chains: int) -> None:
    builder = NetBuilder()
    pool = builder.add_place("pool", kind=PlaceKind.POOL, tokens=2)
    for chain in range(chains):
        ready = builder.add_place(f"ready{chain}", tokens=1)
        for number in range(40):
            after = builder.add_place(f"after{chain}.{number}")
            name = f"narrow{chain}.{number}"
            builder.add_transition(
                name, ((ready, 1), (pool, 1)), DONE, (((after, 1), (pool, 1)),), priority=9
            )
            ready = after
    ready = builder.add_place("ready", tokens=1)
    wide = builder.add_transition("wide", ((ready, 1), (pool, 2)), DONE, (((pool, 2),),))
    agenda = Agenda(TokenGame(builder.build()))
    in_flight, begun = begin_all(agenda), 0
    while all(firing.transition != wide for firing in in_flight):
        agenda.finish(in_flight.pop(0), 0)
        more = begin_all(agenda)
        begun += len(more)
        in_flight += more
    assert begun <= 20


def test_no_claim_on_a_pool_is_passed_over_more_often_than_the_bound_says() -> None:
    for seed in range(200):
        rng = random.Random(seed)
        size, patience = rng.randint(1, 5), rng.randint(1, 6)
        widths = [rng.randint(1, size) for _ in range(rng.randint(2, 8))]
        priorities = [rng.randint(0, 9) for _ in widths]
        agenda = Agenda(
            TokenGame(steps([{0: width} for width in widths], [size], priorities=priorities, again=True)),
            patience=patience,
        )
        in_flight, passed = begin_all(agenda), dict[int, int]()
        for _ in range(200):
            agenda.finish(in_flight.pop(rng.randrange(len(in_flight))), 0)
            for firing in begin_all(agenda):
                in_flight.append(firing)
                running = {firing.transition for firing in in_flight}
                waiting = {width for number, width in enumerate(widths) if number not in running}
                passed = {width: passed.get(width, 0) + 1 for width in waiting}
                passed.pop(widths[firing.transition], None)
                # Others may have been passed over before it, and each has the reservation once.
                most = max(passed.values(), default=0)
                assert most <= patience + 2 * len(set(widths)), (seed, widths, priorities)


def test_a_reserved_claim_begins_as_soon_as_it_fits_whatever_else_runs() -> None:
    game = TokenGame(steps([{0: 2}, {0: 1}, {0: 1}, {}], [2], priorities=[9, 0, 0, 0], again=True))
    narrow = [game.begin(1), game.begin(2)]
    game.begin(3)  # goes on all the time, and has nothing to do with the pool
    assert starts_of_the_first(Agenda(game, patience=2), narrow) >= 3


def test_a_reservation_ends_when_its_claim_has_started() -> None:
    # Two wide ones behind two narrow ones that overlap: once the first has got in, the narrow get theirs.
    game = TokenGame(steps([{0: 2}, {0: 2}, {0: 1}, {0: 1}], [2], again=True))
    agenda = Agenda(game, patience=2)
    in_flight = [game.begin(2), game.begin(3)]
    begun: list[int] = []
    for _ in range(80):
        agenda.finish(in_flight.pop(0), 0)
        more = begin_all(agenda)
        begun += [firing.transition for firing in more]
        in_flight += more
    first_wide = begun.index(0)
    assert {2, 3} <= set(begun[first_wide + 1 :])


def test_a_reservation_ends_when_it_is_not_needed_any_more() -> None:
    builder = NetBuilder()
    pool = builder.add_place("pool", kind=PlaceKind.POOL, tokens=2)
    ready = [builder.add_place(f"ready{n}", tokens=1) for n in range(4)]
    builder.add_transition("wide", ((ready[0], 1), (pool, 2)), DONE, (((pool, 2),),), priority=9)
    skip = builder.add_transition("skip", ((ready[0], 1),), DONE, ((),))
    for n in (1, 2):
        builder.add_transition(f"n{n}", ((ready[n], 1), (pool, 1)), DONE, (((pool, 1), (ready[n], 1)),))
    rival = builder.add_transition("other", ((ready[3], 1),), DONE, ((),))
    game = TokenGame(builder.build())
    in_flight = [game.begin(2), game.begin(3)]
    game.begin(rival)  # goes on all the time, so that a reservation is not given up for lack of anything else
    agenda = Agenda(game, manual=[skip], patience=1)
    begin_all(agenda)
    agenda.finish(in_flight.pop(), 0)
    assert begin_all(agenda) == []  # room is kept for the wide one
    agenda.fire(skip)
    agenda.finish(in_flight.pop(), 0)
    assert sorted(firing.transition for firing in begin_all(agenda)) == [2, 3]


def test_in_a_cycle_low_priority_gets_its_turn() -> None:
    # One token goes round and round through "again"; "once" competes for it at the lowest priority.
    builder = NetBuilder()
    place = builder.add_place("here", tokens=1)
    end = builder.add_place("end")
    builder.add_transition("again", ((place, 1),), DONE, (((place, 1),),), priority=9)
    builder.add_transition("once", ((place, 1),), DONE, (((end, 1),),), priority=0)
    agenda = Agenda(TokenGame(builder.build()))
    fired = []
    while (firing := agenda.next()) is not None:
        fired.append(firing.transition)
        agenda.finish(firing, 0)
        assert len(fired) < 50
    assert fired.count(1) == 1


def test_transitions_left_to_the_caller_are_offered_but_never_chosen() -> None:
    builder = NetBuilder()
    start, ready, end = (
        builder.add_place(name, tokens=int(name == "start")) for name in ("start", "ready", "end")
    )
    builder.add_transition("go", ((start, 1),), DONE, (((ready, 1),),))
    builder.add_transition("run", ((ready, 1),), DONE, (((end, 1),),))
    builder.add_transition("skip", ((ready, 1),), DONE, (((end, 1),),), priority=9)
    agenda = Agenda(TokenGame(builder.build()), manual=[2])
    go = agenda.next()
    assert go is not None
    assert agenda.finish(go, "done") == [1, 2]
    assert agenda.fire(2) == []
    assert agenda.next() is None


def test_a_claim_larger_than_its_pool_never_holds_the_others_back() -> None:
    agenda = Agenda(TokenGame(steps([{0: 3}, *[{0: 1}] * 6], [2])), patience=1)
    in_flight = begin_all(agenda)
    for remaining in (4, 3, 2, 1, 0, 0):
        assert len(in_flight) == 2 if remaining else in_flight
        agenda.finish(in_flight.pop(0), 0)
        in_flight += begin_all(agenda)
    assert in_flight == []


def test_a_reservation_for_room_that_never_comes_is_given_up_when_nothing_runs() -> None:
    # The pool loses a token: the wide claim, for which room is kept, will never fit again.
    builder = NetBuilder()
    pool = builder.add_place("pool", kind=PlaceKind.POOL, tokens=2)
    ready = [builder.add_place(f"ready{n}", tokens=1) for n in range(5)]
    builder.add_transition("leak", ((ready[0], 1), (pool, 1)), DONE, ((),), priority=9)
    builder.add_transition("wide", ((ready[1], 1), (pool, 2)), DONE, (((pool, 2),),), priority=5)
    for n in (2, 3, 4):
        builder.add_transition(f"narrow{n}", ((ready[n], 1), (pool, 1)), DONE, (((pool, 1),),))
    game = TokenGame(builder.build())
    agenda = Agenda(game, patience=1)
    ended = []
    in_flight = begin_all(agenda)
    while in_flight:
        firing = in_flight.pop(0)
        ended.append(game.net.transition_ids[firing.transition])
        agenda.finish(firing, 0)
        in_flight += begin_all(agenda)
    assert ended == ["leak", "narrow2", "narrow3", "narrow4"]


@given(nets(max_places=5, max_transitions=5), st.data())
def test_what_is_started_was_enabled_and_the_best_of_its_kind(net: Net, data: st.DataObject) -> None:
    game = TokenGame(net)
    agenda = Agenda(game)
    in_flight: list[Firing] = []
    # Priorities decide alone within the first generation: the first len(transitions) firings.
    for _ in range(len(net.transition_ids)):
        enabled = set(game.enabled())
        firing = agenda.next()
        if firing is None:
            assert not enabled
            if not in_flight:
                break
            agenda.finish(in_flight.pop(data.draw(st.integers(0, len(in_flight) - 1))), 0)
            continue
        best = min(enabled, key=lambda n: (-net.priorities[n], n))
        assert firing.transition == best
        in_flight.append(firing)
