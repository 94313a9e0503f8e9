"""Unfolding: the net that is analysed behaves as the net that runs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategies import nets
from weft.errors import NetError
from weft.ids import OutcomeName
from weft.net.game import Firing, TokenGame
from weft.net.model import Net, NetBuilder, PlaceKind
from weft.net.plain import PlainNet, unfold
from weft.net.verdict import Answer, Verdict


def net_with(action: str | None, *outcomes: str) -> Net:
    builder = NetBuilder()
    start = builder.add_place("start", tokens=1)
    end = builder.add_place("end")
    names = tuple(OutcomeName(name) for name in outcomes)
    builder.add_transition("t", ((start, 1),), names, tuple(((end, 1),) for _ in names), action=action)
    return builder.build()


def test_an_action_is_a_start_a_running_place_and_an_end_for_each_outcome() -> None:
    plain = unfold(net_with("work", "ok", "failed"))
    assert plain.place_ids == ("start", "end", "t.running")
    assert plain.place_kinds[2] is PlaceKind.RUNNING
    assert plain.transition_ids == ("t.start", "t.ok", "t.failed")
    assert plain.inputs == (((0, 1),), ((2, 1),), ((2, 1),))
    assert plain.outputs == (((2, 1),), ((1, 1),), ((1, 1),))


def test_a_choice_without_an_action_is_a_transition_for_each_outcome() -> None:
    assert unfold(net_with(None, "yes", "no")).transition_ids == ("t.yes", "t.no")


def test_an_instant_with_one_outcome_stays_as_it_is() -> None:
    plain = unfold(net_with(None, "done"))
    assert plain.transition_ids == ("t",)
    assert plain.to_net().outcomes == (("fired",),)
    assert unfold(plain.to_net()) == plain


def test_an_unfolding_that_would_give_two_nodes_one_id_is_refused() -> None:
    builder = NetBuilder()
    builder.add_place("t.running")
    builder.add_transition("t", (), (OutcomeName("ok"),), ((),), action="work")
    with pytest.raises(NetError, match=r"two nodes of the net have the id 't\.running'"):
        unfold(builder.build())


@given(nets(), st.data())
def test_the_unfolding_can_do_exactly_what_the_net_can(net: Net, data: st.DataObject) -> None:
    """Moves of one net are moves of the other: begin is start, finish is the transition of the outcome."""
    plain = unfold(net)
    game, unfolded = TokenGame(net), TokenGame(plain.to_net())
    in_flight: list[Firing] = []

    def fire(id_: str) -> None:
        number = unfolded.net.transition_number(id_)
        unfolded.finish(unfolded.begin(number), 0)

    for _ in range(data.draw(st.integers(0, 12))):
        enabled = list(game.enabled())
        acting = [n for n in enabled if net.actions[n] is not None]
        instant = [n for n in enabled if net.actions[n] is None]
        moves = [("begin", n) for n in acting] + [("fire", n) for n in instant]
        moves += [("finish", n) for n in range(len(in_flight))]
        if not moves:
            break
        move, number = data.draw(st.sampled_from(moves))
        if move == "begin":
            in_flight.append(game.begin(number))
            fire(f"{net.transition_ids[number]}.start")
        else:
            firing = in_flight.pop(number) if move == "finish" else game.begin(number)
            names = net.outcomes[firing.transition]
            outcome = data.draw(st.sampled_from(names))
            game.finish(firing, outcome)
            id_ = net.transition_ids[firing.transition]
            fire(id_ if move == "fire" and len(names) == 1 else f"{id_}.{outcome}")
        marking, unfolded_marking = game.marking(), unfolded.marking()
        assert all(unfolded_marking[place] == marking[place] for place in net.place_ids)
        running = {f"{t}.running": count for t, count in marking.running.items()}
        assert {p: n for p, n in unfolded_marking.tokens.items() if p not in net.place_ids} == running


def test_the_skeleton_is_the_net_without_its_pools() -> None:
    plain = PlainNet(
        place_ids=("a", "pool", "b"),  # type: ignore[arg-type]
        transition_ids=("t",),  # type: ignore[arg-type]
        inputs=(((0, 1), (1, 2)),),
        outputs=(((1, 2), (2, 1)),),
        initial=(1, 2, 0),
        place_kinds=(PlaceKind.CONTROL, PlaceKind.POOL, PlaceKind.CONTROL),
    )
    skeleton = plain.skeleton()
    assert skeleton.place_ids == ("a", "b")
    assert (skeleton.inputs, skeleton.outputs, skeleton.initial) == ((((0, 1),),), (((1, 1),),), (1, 0))


def test_a_verdict_is_not_a_yes_or_no() -> None:
    verdict = Verdict(answer=Answer.UNKNOWN, why="")
    with pytest.raises(TypeError, match="three values"):
        assert verdict
