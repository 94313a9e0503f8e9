from plan.pictures.plans import plan
from weft.plan.pictures import dependency_picture
from weft.plan.pictures.heights import Heights, Neighbours, segments
from weft.plan.pictures.layers import columns_of
from weft.plan.pictures.ordering import _exchange, crossings, order_of


def columns(*paths, needs):
    return columns_of(dependency_picture(plan(*paths, needs=needs)))


def test_a_bend_is_in_a_cluster_up_to_the_column_where_that_closes():
    found = columns("g", "g/a", "g/b", "y", "z", needs={"g/b": ["g/a"], "y": ["g/b"], "z": ["y", "g/a"]})
    assert found.layers == [0, 1, 2, 3, 1, 2]
    assert found.homes == [1, 1, 0, 0, 1, 0]


def test_a_bend_is_in_a_cluster_from_the_column_where_that_opens():
    found = columns("a", "b", "g", "g/x", "g/y", needs={"b": ["a"], "g/x": ["a"], "g/y": ["b", "a", "g/x"]})
    assert found.layers == [0, 1, 1, 2, 1]
    assert found.homes == [0, 0, 1, 1, 1]


def test_of_a_circle_the_line_that_leads_furthest_back_is_drawn_backwards():
    found = columns("a", "b", "c", needs={"b": ["a"], "c": ["b"], "a": ["c"]})
    assert found.layers[:3] == [0, 1, 2]
    assert [chain.backwards for chain in found.chains] == [True, False, False]


def test_lines_that_change_places_cross():
    found = columns("a", "b", "c", "d", needs={"c": ["b"], "d": ["a"]})
    parts = list(segments(found))
    assert crossings(found, [[0, 1, 2, 3]], parts) == 1
    assert crossings(found, [[0, 1, 3, 2]], parts) == 0


def test_a_line_that_passes_a_frame_crosses_both_its_edges_and_what_is_in_it():
    found = columns("s", "g", "g/a", "g/b", "e", needs={"g": ["s"], "g/b": ["g/a"], "e": ["g", "s"]})
    parts = list(segments(found))
    first, second = found.chains[-1].bends
    assert crossings(found, [[0, first, second, ~1, 3], [1, 2]], parts) == 0
    assert crossings(found, [[0, first, ~1, second, 3], [1, 2]], parts) == 3


def test_neighbours_in_a_column_change_places_if_that_spares_a_crossing():
    found = columns("a", "b", "c", "d", needs={"c": ["b"], "d": ["a"]})
    order = [[0, 1, 2, 3]]
    _exchange(found, order, Neighbours(found))
    assert crossings(found, order, list(segments(found))) == 0


def test_neighbours_in_a_column_stay_if_a_change_spares_nothing():
    found = columns("a", "b", "c", "d", needs={"c": ["a"], "d": ["b"]})
    order = [[0, 1, 2, 3]]
    _exchange(found, order, Neighbours(found))
    assert order == [[0, 1, 2, 3]]


def test_the_bends_of_a_line_that_has_room_are_made_level():
    found = columns("a", "b", "c", "d", needs={"b": ["a"], "c": ["b"], "d": ["c", "a"]})
    sizes = [30.0, 60.0, 30.0, 30.0, 2.0, 2.0]
    neighbours = Neighbours(found)
    heights = Heights(found, order_of(found, sizes, neighbours), sizes)
    assert heights.at[4] != heights.at[5]
    heights.straighten(neighbours, [(4, 5)], 1)
    assert heights.at[4] == heights.at[5]
