from itertools import pairwise

from hypothesis import given, settings

from parts import arc, outcome, place, transition
from plan.pictures.plans import plan, plans
from strategies import nets
from weft.net.model import Net
from weft.plan.pictures import (
    Edge,
    Node,
    NodeKind,
    Picture,
    dependency_picture,
    net_picture,
    tree_picture,
)
from weft.plan.pictures.geometry import Box
from weft.plan.pictures.layout import layout_of


def apart(a: Box, b: Box) -> bool:
    return a.right <= b.left or b.right <= a.left or a.bottom <= b.top or b.bottom <= a.top


def holds(outer: Box, inner: Box) -> bool:
    return (
        outer.left <= inner.left
        and inner.right <= outer.right
        and outer.top <= inner.top
        and inner.bottom <= outer.bottom
    )


def around(picture):
    """For each cluster's number, the numbers of the clusters that it is in."""
    numbers = {cluster.id: number for number, cluster in enumerate(picture.clusters)}
    nested: list[set[int]] = []
    for cluster in picture.clusters:
        parent = numbers.get(cluster.parent)
        nested.append(set() if parent is None else {parent} | nested[parent])
    return nested


def homes(picture):
    """For each node, the numbers of the clusters that it is in."""
    outer = around(picture)
    clusters_of = {node.id: set[int]() for node in picture.nodes}
    for number, cluster in enumerate(picture.clusters):
        for member in cluster.members:
            clusters_of[member] = {number} | outer[number]
    return [clusters_of[node.id] for node in picture.nodes]


def crossed(points, box) -> bool:
    """Whether a level part of the line runs through the inside of the box."""
    return any(
        y == z and box.top < y < box.bottom and min(x, w) < box.right - 0.1 and max(x, w) > box.left + 0.1
        for (x, y), (w, z) in pairwise(points)
    )


def box_of(picture, layout, id_):
    ids = [*(node.id for node in picture.nodes), *(cluster.id for cluster in picture.clusters)]
    return [*layout.boxes, *layout.frames][ids.index(id_)]


@given(plans(circles=True))
def test_no_two_boxes_overlap(rows):
    boxes = layout_of(dependency_picture(rows)).boxes
    assert all(apart(a, b) for n, a in enumerate(boxes) for b in boxes[:n])


@given(plans(circles=True))
def test_a_frame_holds_its_boxes_and_no_others(rows):
    picture = dependency_picture(rows)
    layout = layout_of(picture)
    for box, inside in zip(layout.boxes, homes(picture), strict=True):
        for number, frame in enumerate(layout.frames):
            assert holds(frame, box) == (number in inside)
            assert apart(frame, box) == (number not in inside)


@given(plans(circles=True))
def test_frames_are_within_each_other_or_apart(rows):
    picture = dependency_picture(rows)
    frames, outer = layout_of(picture).frames, around(picture)
    for inner in range(len(frames)):
        for candidate in range(inner):
            assert holds(frames[candidate], frames[inner]) == (candidate in outer[inner])
            assert apart(frames[candidate], frames[inner]) == (candidate not in outer[inner])


def test_a_frame_leaves_room_around_the_frames_in_it():
    inner, outer = layout_of(dependency_picture(plan("a", "a/b", "a/b/x"))).frames[::-1]
    assert (inner.left - outer.left, outer.right - inner.right) == (12, 12)
    assert (inner.top - outer.top, outer.bottom - inner.bottom) == (26, 12)


@given(plans())
def test_every_line_leads_to_the_right_if_there_is_no_cycle(rows):
    picture = dependency_picture(rows)
    layout = layout_of(picture)
    for edge, route in zip(picture.edges, layout.routes, strict=True):
        xs = [x for x, _ in route.points]
        assert xs == sorted(xs)
        assert box_of(picture, layout, edge.source).right < box_of(picture, layout, edge.target).left


@given(plans(circles=True))
def test_every_line_ends_at_the_sides_of_what_it_joins(rows):
    picture = dependency_picture(rows)
    layout = layout_of(picture)
    for edge, route in zip(picture.edges, layout.routes, strict=True):
        for (x, y), id_ in ((route.points[0], edge.source), (route.points[-1], edge.target)):
            box = box_of(picture, layout, id_)
            assert min(abs(x - box.left), abs(x - box.right)) < 0.001
            assert box.top < y < box.bottom


@given(plans(circles=True))
def test_no_line_runs_through_a_box(rows):
    layout = layout_of(dependency_picture(rows))
    assert not any(crossed(route.points, box) for route in layout.routes for box in layout.boxes)


@given(plans(circles=True))
def test_everything_is_on_the_paper(rows):
    layout = layout_of(dependency_picture(rows, title="plan"))
    for box in (*layout.boxes, *layout.frames):
        assert box.left > 19.999
        assert box.top > 19.999
        assert box.right < layout.width - 19.999
        assert box.bottom < layout.height - 19.999
    for x, y in (point for route in layout.routes for point in route.points):
        assert 0 <= x <= layout.width
        assert 0 <= y <= layout.height


@given(plans())
def test_a_tree_is_drawn_by_depth_without_a_crossing_and_in_plan_order(rows):
    layout = layout_of(tree_picture(rows))
    depths = [0]
    for row in rows[1:]:
        depths.append(depths[row.parent] + 1)
    assert list(layout.columns) == depths
    for depth in set(depths):
        tops = [box.top for box, own in zip(layout.boxes, depths, strict=True) if own == depth]
        assert tops == sorted(tops)


@settings(max_examples=60)
@given(nets())
def test_the_nodes_of_a_net_do_not_overlap_and_its_pools_are_no_neighbours_in_a_column_of_their_users(net):
    picture = net_picture(net)
    layout = layout_of(picture)
    boxes = layout.boxes
    assert all(apart(a, b) for n, a in enumerate(boxes) for b in boxes[:n])
    columns = {node.id: column for node, column in zip(picture.nodes, layout.columns, strict=True)}
    pools = {node.id for node in picture.nodes if node.kind is NodeKind.POOL}
    used = [(e.source, e.target) for e in picture.edges if not pools.isdisjoint((e.source, e.target))]
    assert all(columns[a] != columns[b] for a, b in used)


def test_a_chain_of_boxes_is_one_straight_line():
    rows = plan("a", "b", "c", needs={"b": ["a"], "c": ["b"]})
    layout = layout_of(dependency_picture(rows))
    assert layout.columns == (0, 1, 2)
    assert len({y for route in layout.routes for _, y in route.points}) == 1


def test_a_long_line_is_level_where_it_passes_boxes():
    rows = plan("a", "b", "c", "d", needs={"b": ["a"], "c": ["b"], "d": ["c", "a"]})
    route = layout_of(dependency_picture(rows)).routes[3]
    start, entered, left, end = route.points
    assert entered[1] == left[1]
    assert (start[1], end[1]) != (entered[1], left[1])


def test_lines_in_parallel_are_level_all_the_way_past_what_they_pass():
    needs = {"b": ["a"], "c": ["b"], "d": ["c"], "e": ["d", "a"], "f": ["d", "a"]}
    layout = layout_of(dependency_picture(plan("a", "b", "c", "d", "e", "f", needs=needs)))
    heights = [{y for _, y in layout.routes[number].points} for number in (4, 6)]
    assert [len(line_heights) for line_heights in heights] == [2, 2]


def test_lines_that_come_together_end_side_by_side():
    rows = plan("a", "b", "c", needs={"c": ["a", "b"]})
    first, second = (route.points[-1] for route in layout_of(dependency_picture(rows)).routes)
    assert first[0] == second[0]
    assert second[1] - first[1] == 8


def test_lines_that_part_start_at_one_point():
    rows = plan("a", "b", "c", needs={"b": ["a"], "c": ["a"]})
    first, second = (route.points[0] for route in layout_of(dependency_picture(rows)).routes)
    assert first == second


def test_an_order_that_would_cross_is_changed():
    rows = plan("a", "b", "c", "d", needs={"c": ["b"], "d": ["a"]})
    boxes = layout_of(dependency_picture(rows)).boxes
    assert (boxes[0].top < boxes[1].top) == (boxes[3].top < boxes[2].top)


def test_a_line_does_not_pass_through_a_frame_that_it_can_go_around():
    needs = {
        "web/b": ["web/a"],
        "web": ["store"],
        "docs": ["store", "cli"],
        "cli": ["store"],
        "cli/y": ["cli/x"],
    }
    rows = plan("store", "store/m", "web", "web/a", "web/b", "cli", "cli/x", "cli/y", "docs", needs=needs)
    picture = dependency_picture(rows)
    layout = layout_of(picture)
    (route,) = [
        route
        for edge, route in zip(picture.edges, layout.routes, strict=True)
        if (edge.source, edge.target) == ("g1", "n9")
    ]
    between = [y for x, y in route.points[1:-1] if layout.frames[1].left <= x <= layout.frames[1].right]
    assert len({(y > layout.frames[1].bottom, y > layout.frames[2].bottom) for y in between}) == 1


def test_boxes_without_lines_make_a_block():
    layout = layout_of(dependency_picture(plan(*(f"s{n}" for n in range(20)))))
    assert sorted(set(layout.columns)) == [0, 1, 2]
    assert layout.columns.count(0) == 7


def test_boxes_without_lines_are_as_wide_a_block_as_their_group_is_anyway():
    rows = plan("g", "g/a", "g/b", *(f"g/s{n}" for n in range(4)), needs={"g/b": ["g/a"]})
    assert layout_of(dependency_picture(rows)).columns == (0, 1, 0, 0, 1, 1)


def test_a_place_that_only_gives_stands_beside_what_takes_from_it():
    net = Net(
        [place("start", tokens=1), place("mid"), place("tries", tokens=3)],
        [
            transition("first", (arc("start"),), outcome("ok", arc("mid"))),
            transition("second", (arc("mid"), arc("tries")), outcome("ok")),
        ],
    )
    picture = net_picture(net)
    columns = dict(zip((node.label for node in picture.nodes), layout_of(picture).columns, strict=True))
    assert columns == {"start": 0, "first": 1, "mid": 2, "tries": 2, "second": 3}


def test_two_that_need_each_other_are_joined_by_two_lines_in_opposite_directions():
    rows = plan("a", "b", needs={"a": ["b"], "b": ["a"]})
    forward, back = layout_of(dependency_picture(rows)).routes[::-1]
    assert forward.points[0][0] < forward.points[-1][0]
    assert back.points[0][0] > back.points[-1][0]
    assert forward.points[0][1] != back.points[-1][1]


def test_a_line_within_a_column_swings_out_to_the_right():
    # Each of the two circles is opened at one line, and that leaves a and c in the same column.
    rows = plan("a", "b", "c", "d", needs={"a": ["c"], "c": ["d"], "d": ["a", "c"]})
    layout = layout_of(dependency_picture(rows))
    (route,) = [route for route in layout.routes if route.bulge]
    assert layout.columns == (0, 0, 0, 1)
    assert [x for x, _ in route.points] == [layout.boxes[2].right, layout.boxes[0].right]


def test_a_label_has_room_in_its_strip():
    def width(label: str) -> float:
        nodes = tuple(Node(id=id_, label=id_, kind=NodeKind.SLICE) for id_ in "ab")
        return layout_of(
            Picture(title="", nodes=nodes, edges=(Edge(source="a", target="b", label=label),))
        ).width

    assert width("a rather long label for a line") > width("short") + 100


def test_an_empty_picture_has_a_size():
    layout = layout_of(Picture(title="", nodes=(), edges=()))
    assert (layout.width, layout.height) == (40, 52)


def test_empty_room_across_the_whole_picture_is_taken_out():
    rows = plan("a", "b", "c", "d", "e", "f", needs={"d": ["a", "b", "c"], "f": ["e"]})
    boxes = sorted((box.top, box.bottom) for box in layout_of(dependency_picture(rows)).boxes)
    reached = boxes[0][1]
    for top, bottom in boxes:
        assert top - reached <= 22
        reached = max(reached, bottom)
