"""Links, and pieces of them."""

from weft.decompose.split.links import Links, groups_by_node, total

SQUARE = Links.of([{1: 5, 3: 7}, {0: 5, 2: 6}, {1: 6, 3: 8}, {2: 8, 0: 7}])


def rows(links: Links) -> list[dict[int, int]]:
    return [dict(links.at(node)) for node in range(len(links.starts) - 1)]


def test_each_node_has_its_neighbours_and_weights() -> None:
    assert rows(SQUARE) == [{1: 5, 3: 7}, {0: 5, 2: 6}, {1: 6, 3: 8}, {2: 8, 0: 7}]
    assert SQUARE.degrees == [2, 2, 2, 2]


def test_within_groups_other_links_are_gone_and_nodes_are_renumbered() -> None:
    first, second = SQUARE.within([[3, 0], [1]])
    assert (rows(first), rows(second)) == ([{1: 7}, {0: 7}], [{}])


def test_nodes_can_be_added_with_links_to_those_there_are() -> None:
    pair = Links.of([{1: 5}, {0: 5}])
    extended = pair.with_more([{2: 1}, {}], [{0: 1, 3: 9}, {2: 9}])
    assert rows(extended) == [{1: 5, 2: 1}, {0: 5}, {0: 1, 3: 9}, {2: 9}]


def test_groups_by_node_and_what_a_group_has_together() -> None:
    assert groups_by_node(4, [[3, 0], [1, 2]]) == [0, 1, 1, 0]
    assert total([1, 10, 100], [2, 0]) == 101
