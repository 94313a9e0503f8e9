from plan.pictures.plans import plan
from weft.plan.pictures import dependency_picture
from weft.plan.pictures.heights import Heights, Neighbours, segments
from weft.plan.pictures.layers import columns_of
from weft.plan.pictures.node_order import _exchange, crossings, order_of


def columns(*paths, needs):
    return columns_of(dependency_picture(plan(*paths, needs=needs)))


def test_a_bend_is_in_a_cluster_up_to_the_column_where_that_closes():
    result = columns("g", "g/a", "g/b", "y", "z", needs={"g/b": ["g/a"], "y": ["g/b"], "z": ["y", "g/a"]})
    assert result.layers == [0, 1, 2, 3, 1, 2]
    assert result.homes == [1, 1, 0, 0, 1, 0]


def test_a_bend_is_in_a_cluster_from_the_column_where_that_opens():
    result = columns("a", "b", "g", "g/x", "g/y", needs={"b": ["a"], "g/x": ["a"], "g/y": ["b", "a", "g/x"]})
    assert result.layers == [0, 1, 1, 2, 1]
    assert result.homes == [0, 0, 1, 1, 1]


def test_of_a_cycle_the_line_that_leads_furthest_back_is_drawn_backwards():
    result = columns("a", "b", "c", needs={"b": ["a"], "c": ["b"], "a": ["c"]})
    assert result.layers[:3] == [0, 1, 2]
    assert [chain.backwards for chain in result.chains] == [True, False, False]


def test_lines_that_change_places_cross():
    result = columns("a", "b", "c", "d", needs={"c": ["b"], "d": ["a"]})
    parts = list(segments(result))
    assert crossings(result, [[0, 1, 2, 3]], parts) == 1
    assert crossings(result, [[0, 1, 3, 2]], parts) == 0


def test_a_line_that_passes_a_frame_crosses_both_its_edges_and_what_is_in_it():
    result = columns("s", "g", "g/a", "g/b", "e", needs={"g": ["s"], "g/b": ["g/a"], "e": ["g", "s"]})
    parts = list(segments(result))
    first, second = result.chains[-1].bends
    assert crossings(result, [[0, first, second, ~1, 3], [1, 2]], parts) == 0
    assert crossings(result, [[0, first, ~1, second, 3], [1, 2]], parts) == 3


def test_neighbours_in_a_column_change_places_if_that_spares_a_crossing():
    result = columns("a", "b", "c", "d", needs={"c": ["b"], "d": ["a"]})
    order = [[0, 1, 2, 3]]
    _exchange(result, order, Neighbours(result))
    assert crossings(result, order, list(segments(result))) == 0


def test_neighbours_in_a_column_stay_if_a_change_spares_nothing():
    result = columns("a", "b", "c", "d", needs={"c": ["a"], "d": ["b"]})
    order = [[0, 1, 2, 3]]
    _exchange(result, order, Neighbours(result))
    assert order == [[0, 1, 2, 3]]


def test_the_bends_of_a_line_that_has_room_are_made_level():
    result = columns("a", "b", "c", "d", needs={"b": ["a"], "c": ["b"], "d": ["c", "a"]})
    sizes = [30.0, 60.0, 30.0, 30.0, 2.0, 2.0]
    neighbours = Neighbours(result)
    heights = Heights(result, order_of(result, sizes, neighbours), sizes)
    assert heights.at[4] != heights.at[5]
    heights.straighten(neighbours, [(4, 5)], 1)
    assert heights.at[4] == heights.at[5]
