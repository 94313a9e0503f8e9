"""Invariants: checked on any net, found on small ones."""

from itertools import combinations, product
from random import Random

import pytest

from weft.errors import InputError, NetError
from weft.ids import OutcomeName, PlaceId, TransitionId
from weft.net.invariants import (
    TooManyInvariantsError,
    check_invariant,
    leaking_transition,
    p_invariants,
    pool_conservation,
    t_invariants,
    unbalanced_place,
)
from weft.net.linear import incidence, rank
from weft.net.model import Arc, Arcs, Net, Outcome, Place, PlaceKind, Transition
from weft.net.plain import PlainNet, unfold
from weft.net.trace import fire, replay
from weft.net.verdict import Answer
from weft.testing.skeletons import NetSketch, mutate_net, refined_workflow


def steps_with_pool(count: int, *, leaky: int | None = None) -> Net:
    """Steps in parallel that each hold one of three slots while they run; one of them may keep it."""
    places = [Place(id=PlaceId("slots"), kind=PlaceKind.POOL, tokens=3)]
    transitions = []
    for number in range(count):
        ready, completed, failed = (PlaceId(f"{number}.{state}") for state in ("ready", "done", "lost"))
        places += [Place(id=ready, tokens=1), Place(id=completed), Place(id=failed)]
        returned = () if number == leaky else (Arc(PlaceId("slots")),)
        outcomes = (
            Outcome(name=OutcomeName("ok"), outputs=(Arc(completed), Arc(PlaceId("slots")))),
            Outcome(name=OutcomeName("failed"), outputs=(Arc(failed), *returned)),
        )
        transitions.append(
            Transition(
                id=TransitionId(f"step{number}"),
                inputs=(Arc(ready), Arc(PlaceId("slots"))),
                outcomes=outcomes,
                action="work",
            )
        )
    return Net(places, transitions)


def slots_and_running(net: PlainNet) -> dict[PlaceId, int]:
    return {id_: 1 for id_ in net.place_ids if id_ == "slots" or id_.endswith(".running")}


# Checking


def test_slots_and_running_steps_are_always_as_many() -> None:
    net = unfold(steps_with_pool(20))
    verdict = check_invariant(net, slots_and_running(net))
    assert verdict.answer is Answer.PROVED
    assert verdict.why == "the sum is 3 and none of the 60 transitions changes it"


def test_a_leak_is_named_with_what_it_changes() -> None:
    net = unfold(steps_with_pool(20, leaky=13))
    verdict = check_invariant(net, slots_and_running(net))
    assert verdict.answer is Answer.REFUTED
    assert verdict.why == "transition 'step13.failed' changes the sum by \N{MINUS SIGN}1"
    assert verdict.trace == ()


def test_a_leak_that_can_happen_at_once_comes_with_its_trace() -> None:
    net = unfold(steps_with_pool(2))
    verdict = check_invariant(net, {PlaceId("slots"): 5})
    assert verdict.why == "transition 'step0.start' changes the sum by \N{MINUS SIGN}5"
    assert verdict.trace == ("step0.start",)
    assert replay(net, verdict.trace)[0] == 2


def test_a_gain_is_signed_too_and_weights_of_arcs_count() -> None:
    net = PlainNet(
        place_ids=(PlaceId("a"), PlaceId("b")),
        transition_ids=(TransitionId("t"),),
        inputs=(((0, 2),),),
        outputs=(((1, 3),),),
        initial=(0, 0),
    )
    why = check_invariant(net, {PlaceId("a"): 1, PlaceId("b"): 1}).why
    assert why == "transition 't' changes the sum by +1"
    assert check_invariant(net, {PlaceId("a"): 3, PlaceId("b"): 2}).answer is Answer.PROVED


def test_a_weight_for_a_place_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(NetError, match="no place 'elsewhere'"):
        check_invariant(unfold(steps_with_pool(1)), {PlaceId("elsewhere"): 1})


def test_counts_of_transitions_that_change_a_place_are_reported() -> None:
    net = refined_workflow(Random(0), 0)
    assert unbalanced_place(net, [2]) == (0, -2)
    assert unbalanced_place(net, [0]) is None


# Pools


def test_pools_are_conserved_if_every_outcome_gives_back_what_was_taken() -> None:
    verdict = pool_conservation(steps_with_pool(20))
    assert verdict.answer is Answer.PROVED
    assert verdict.why == "each of the 40 outcomes gives every pool back what was taken (pools: 1)"


def test_the_pool_the_transition_and_the_outcome_that_leak_are_named() -> None:
    verdict = pool_conservation(steps_with_pool(20, leaky=13))
    assert verdict.answer is Answer.REFUTED
    assert verdict.why == (
        "transition 'step13' takes 1 from pool 'slots' and gives back 0 with outcome 'failed'"
    )


def test_an_outcome_that_gives_what_was_not_taken_leaks_too() -> None:
    net = Net(
        [
            Place(id=PlaceId("a"), tokens=1),
            Place(id=PlaceId("kept"), kind=PlaceKind.POOL, tokens=2),
            Place(id=PlaceId("fed"), kind=PlaceKind.POOL),
        ],
        [
            Transition(
                id=TransitionId("t"),
                inputs=(Arc(PlaceId("a")), Arc(PlaceId("kept"), 2)),
                outcomes=(
                    Outcome(
                        name=OutcomeName("done"), outputs=(Arc(PlaceId("fed"), 2), Arc(PlaceId("kept"), 2))
                    ),
                ),
            )
        ],
    )
    assert pool_conservation(net).why == (
        "transition 't' takes 0 from pool 'fed' and gives back 2 with outcome 'done'"
    )


# Finding


def random_net(rng: Random) -> PlainNet:
    """A small net with weights, loops, and places that nothing touches."""
    places, transitions = rng.randint(1, 6), rng.randint(1, 6)

    def arcs() -> Arcs:
        chosen = rng.sample(range(places), rng.randint(0, min(places, 3)))
        return tuple((place, rng.choice([1, 1, 1, 2, 3])) for place in chosen)

    return PlainNet(
        place_ids=tuple(PlaceId(f"p{n}") for n in range(places)),
        transition_ids=tuple(TransitionId(f"t{n}") for n in range(transitions)),
        inputs=tuple(arcs() for _ in range(transitions)),
        outputs=tuple(arcs() for _ in range(transitions)),
        initial=tuple(rng.randint(0, 2) for _ in range(places)),
    )


def minimal_supports(matrix: list[dict[int, int]]) -> set[frozenset[int]]:
    """By definition: the rows of the smallest sets that add up to zero with positive factors.

    In a smallest set the factors are unique, so the rows have one rank less than they are many.
    """
    supports: set[frozenset[int]] = set()
    for size in range(1, len(matrix) + 1):
        for rows in map(frozenset, combinations(range(len(matrix)), size)):
            if any(smaller <= rows for smaller in supports):
                continue
            chosen = [matrix[row] for row in sorted(rows)]
            if rank(chosen) == size - 1 and has_positive_factors(chosen):
                supports.add(rows)
    return supports


def has_positive_factors(rows: list[dict[int, int]]) -> bool:
    return any(zero(rows, factors) for factors in product(range(1, 10), repeat=len(rows)))


def zero(rows: list[dict[int, int]], factors: tuple[int, ...]) -> bool:
    columns = {column for row in rows for column in row}
    return not any(sum(f * row.get(c, 0) for f, row in zip(factors, rows, strict=True)) for c in columns)


def test_minimal_invariants_are_those_of_the_definition_where_factors_are_small() -> None:
    rng = Random(8)
    compared = 0
    for _ in range(400):
        net = random_net(rng)
        matrix = incidence(net)
        invariants = t_invariants(net)
        if len(matrix) > 4 or any(factor > 9 for row in invariants for factor in row.values()):
            continue
        numbers = {id_: n for n, id_ in enumerate(net.transition_ids)}
        assert {frozenset(numbers[id_] for id_ in row) for row in invariants} == minimal_supports(matrix)
        compared += len(invariants)
    assert compared > 50


def test_minimal_invariants_hold_have_no_common_divisor_and_none_contains_another() -> None:
    rng = Random(9)
    places_found = transitions_found = 0
    for _ in range(500):
        net = random_net(rng)
        for row in p_invariants(net):
            assert check_invariant(net, row).answer is Answer.PROVED
            places_found += 1
        for counts in t_invariants(net):
            assert unbalanced_place(net, [counts.get(t, 0) for t in net.transition_ids]) is None
            transitions_found += 1
        for rows in (p_invariants(net), t_invariants(net)):
            assert all(min(row.values()) > 0 for row in rows)
            assert all(not set(a) <= set(b) for a in rows for b in rows if a is not b)
            assert all(any(v % d for v in row.values()) for row in rows for d in (2, 3, 5))
    assert places_found > 200
    assert transitions_found > 200


def test_the_sum_of_an_invariant_is_the_same_in_every_reachable_marking() -> None:
    rng = Random(10)
    for _ in range(60):
        net = mutate_net(refined_workflow(rng, rng.randint(1, 6)), rng, 1)
        rows = [[row.get(place, 0) for place in net.place_ids] for row in p_invariants(net)]
        reached = {net.initial}
        walk = [net.initial]
        for tokens in walk:
            for transition in range(len(net.transition_ids)):
                after = fire(net, tokens, transition)
                if after is not None and after not in reached and len(reached) < 200:
                    reached.add(after)
                    walk.append(after)
        for row in rows:
            assert len({sum(w * n for w, n in zip(row, tokens, strict=True)) for tokens in reached}) == 1


def test_a_sound_net_that_starts_again_has_invariants_that_cover_it() -> None:
    sketch = NetSketch()
    sketch.add("fork", ["i"], ["a", "b"])
    sketch.add("left", ["a"], ["c"])
    sketch.add("right", ["b"], ["d"])
    sketch.add("other", ["b"], ["d"])
    sketch.add("join", ["c", "d"], ["i"])
    net = sketch.net(i=1)
    assert p_invariants(net) == ({"i": 1, "a": 1, "c": 1}, {"i": 1, "b": 1, "d": 1})
    assert t_invariants(net) == (
        {"fork": 1, "left": 1, "right": 1, "join": 1},
        {"fork": 1, "left": 1, "other": 1, "join": 1},
    )


def test_more_rows_than_the_limit_are_an_error_and_never_a_shorter_answer() -> None:
    sketch = NetSketch()
    for stage in range(6):
        for branch in range(3):
            sketch.add(f"{stage}.{branch}", [f"p{stage}"], [f"p{(stage + 1) % 6}"])
    net = sketch.net(p0=1)
    assert len(t_invariants(net)) == 3**6
    with pytest.raises(TooManyInvariantsError, match="more than 700 rows"):
        t_invariants(net, limit=700)
    with pytest.raises(InputError, match="more than 3 rows"):
        p_invariants(net, limit=3)


def test_the_leaking_transition_is_the_first_one() -> None:
    net = refined_workflow(Random(1), 5)
    assert leaking_transition(net, [1] + [0] * (len(net.place_ids) - 1)) == (0, -1)
