"""The nets with published answers, and the little language they are written in."""

import pytest

from weft.net.explore import explore
from weft.testing import nets
from weft.testing.nets import PUBLISHED, PublishedFigures, net_of


@pytest.mark.parametrize(("name", "n"), PUBLISHED)
def test_the_whole_state_space_has_the_published_size(name: str, n: int) -> None:
    exploration = explore(getattr(nets, name)(n))
    assert exploration.complete
    assert (
        PublishedFigures(
            exploration.states, exploration.edges, exploration.place_bound, exploration.marking_bound
        )
        == PUBLISHED[name, n]
    )


@pytest.mark.parametrize(
    ("name", "n"), [key for key, figures in PUBLISHED.items() if figures.states < 10_000]
)
@pytest.mark.parametrize("use_numpy", [False, True])
def test_both_engines_find_the_published_figures(*, name: str, n: int, use_numpy: bool) -> None:
    exploration = explore(getattr(nets, name)(n), use_numpy=use_numpy)
    assert (
        PublishedFigures(
            exploration.states, exploration.edges, exploration.place_bound, exploration.marking_bound
        )
        == PUBLISHED[name, n]
    )


@pytest.mark.parametrize("n", [2, 3, 4, 6])
def test_philosophers_have_three_to_the_n_states_and_two_deadlocks(n: int) -> None:
    exploration = explore(nets.philosophers(n))
    assert (exploration.states, exploration.deadlocks) == (3**n, 2)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_building_houses_ends_with_nothing_left(n: int) -> None:
    exploration = explore(nets.house_construction(n))
    assert (exploration.deadlocks, exploration.first_deadlock) == (
        1,
        nets.house_construction(n).marking([0] * 26),
    )


def test_kanban_and_the_manufacturing_system_run_for_ever() -> None:
    assert explore(nets.kanban(2)).deadlocks == explore(nets.fms(1)).deadlocks == 0


def test_rules_are_read_with_weights_and_empty_sides() -> None:
    net = net_of(" > a + 2 b\n  3 a + a > \n\n", {"b": 5, "unused": 1})
    assert net.place_ids == ("b", "unused", "a")
    assert net.initial == (5, 1, 0)
    assert net.transition_ids == ("t1", "t2")
    assert net.inputs == ((), ((2, 4),))
    assert net.outputs == (((2, 1), (0, 2)), ())


def test_a_term_that_is_not_a_place_is_refused() -> None:
    with pytest.raises(ValueError, match="'two a '"):
        net_of("two a > b", {})
