"""The net of a tree of subplans: its size, and that every net that can come out is sound."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft import ParallelExecutionConfig, PlaceKind, Subplan, SubplanGroup
from weft.net.explore import explore
from weft.net.invariants import pool_conservation
from weft.net.model import Net
from weft.net.plain import unfold
from weft.net.soundness import soundness
from weft.net.verdict import Answer
from weft.subplans.compile import compile_tree
from weft.subplans.tree import read_tree


async def work() -> None: ...


def leaf(id_: str, *depends_on: str) -> Subplan:
    return Subplan(id_, work, depends_on)


def compiled(*subplans: Subplan | SubplanGroup, max_parallel: int = 4) -> Net:
    return compile_tree(read_tree(subplans, ParallelExecutionConfig(max_parallel=max_parallel))).net


@pytest.mark.parametrize(
    ("subplans", "places", "transitions"),
    [
        ((), 4, 2),
        ((leaf("a"),), 5, 4),
        ((leaf("a"), leaf("b", "a")), 6, 6),
        ((leaf("a"), leaf("b"), leaf("c", "a", "b")), 9, 9),
        ((SubplanGroup("g", (leaf("a"),), max_parallel=2),), 8, 6),
    ],
)
def test_the_size_of_the_net_is_what_the_scheme_says(
    subplans: tuple[Subplan | SubplanGroup, ...], places: int, transitions: int
) -> None:
    net = compiled(*subplans)
    assert (len(net.place_ids), len(net.transition_ids)) == (places, transitions)


def test_a_leaf_claims_a_slot_of_every_limit_around_it_and_gives_all_back_with_every_outcome() -> None:
    net = compiled(SubplanGroup("g", (SubplanGroup("h", (leaf("a"),)),), max_parallel=2), max_parallel=3)
    run = net.transition(net.transition_number("g/h/a.run"))
    slots = {arc for arc in run.inputs if "slots" in arc.place}
    assert {arc.place for arc in slots} == {"g.slots", "/.slots"}
    assert [outcome.name for outcome in run.outcomes] == ["completed", "failed", "cancelled"]
    assert all(slots <= set(outcome.outputs) for outcome in run.outcomes)
    sizes = {place.id: place.tokens for place in net.places if place.kind is PlaceKind.POOL}
    assert sizes == {"/.slots": 3, "g.slots": 2}


@st.composite
def trees(draw: st.DrawFn) -> tuple[list[Subplan | SubplanGroup], ParallelExecutionConfig]:
    paths: list[str] = []

    def level(around: str, depth: int) -> list[Subplan | SubplanGroup]:
        made: list[Subplan | SubplanGroup] = []
        for n in range(draw(st.integers(1, 3))):
            id_, path = f"s{n}", f"{around}s{n}"
            # Whole paths of anything finished before it in plan order: siblings and across groups.
            ended = [f"/{p}" for p in paths if not path.startswith(f"{p}/")]
            before = tuple(draw(st.sets(st.sampled_from(ended), max_size=2))) if ended else ()
            if depth < 2 and draw(st.booleans()):
                limit = draw(st.none() | st.integers(1, 2))
                inner = tuple(level(f"{path}/", depth + 1))
                made.append(SubplanGroup(id_, inner, before, max_parallel=limit))
            else:
                made.append(leaf(id_, *before))
            paths.append(path)
        return made

    return level("", 0), ParallelExecutionConfig(max_parallel=draw(st.integers(1, 3)))


@settings(max_examples=150)
@given(trees())
def test_every_net_is_proved_sound_and_exploration_agrees(
    tree: tuple[list[Subplan | SubplanGroup], ParallelExecutionConfig],
) -> None:
    net = compile_tree(read_tree(*tree)).net
    plain = unfold(net)
    by_theorem = soundness(plain.skeleton())
    assert by_theorem.free_choice
    assert by_theorem.workflow_net
    assert by_theorem.verdict.answer is Answer.PROVED
    assert "rank theorem" in by_theorem.verdict.why
    assert pool_conservation(net).answer is Answer.PROVED
    # With the pools the net is no workflow net; exploration says whether it can get stuck.
    seen = explore(plain, max_states=3_000)
    if seen.complete:
        assert seen.deadlocks == 1
        assert seen.first_deadlock is not None
        left = {p for p in seen.first_deadlock.tokens if not p.endswith(".slots")}
        assert left == {"/.end"}
        assert seen.dead_transitions == ()
