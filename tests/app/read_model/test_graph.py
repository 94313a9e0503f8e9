"""The graph of a plan with places: what is folded, and that nothing is lost by it."""

import pytest

from engine.run.stories import group, leaf, plan
from weft.app.read_model.chart_shapes import GraphNode
from weft.app.read_model.graph import MOST_BOXES, plan_graph, siblings
from weft.errors import InputError
from weft.plan.compile.plan_net import CompiledPlan

SMALL = plan(
    group("store", leaf("model"), leaf("disk", depends_on=["model"])), leaf("cli", depends_on=["store"])
)


def nested(groups: int, slices: int) -> CompiledPlan:
    return plan(*(group(f"g{n}", *(leaf(f"s{m}") for m in range(slices))) for n in range(groups)))


def covered_rows(nodes: list[GraphNode]) -> list[int]:
    """The rows for which boxes stand, without frames."""
    return [row for node in nodes if node.kind != "frame" for row in range(node.span[0], node.span[1] + 1)]


def test_a_small_plan_has_a_box_for_each_slice_and_a_frame_for_each_group() -> None:
    graph = plan_graph(SMALL)
    assert {(node.kind, node.path) for node in graph.nodes} == {
        ("frame", "store"), ("slice", "store/model"), ("slice", "store/disk"), ("slice", "cli"),
    }  # fmt: skip
    assert not graph.is_folded


def test_arrows_lead_from_boxes_and_frames_to_what_waits_for_them() -> None:
    graph = plan_graph(SMALL)
    paths = {node.id: node.path for node in graph.nodes}
    assert {(paths[edge.source], paths[edge.target]) for edge in graph.edges} == {
        ("store/model", "store/disk"), ("store", "cli"),
    }  # fmt: skip


def test_a_box_is_inside_of_the_frame_of_its_group() -> None:
    boxes = {node.path: node for node in plan_graph(SMALL).nodes}
    inner, frame = boxes["store/disk"], boxes["store"]
    assert frame.x < inner.x
    assert inner.x + inner.width < frame.x + frame.width
    assert frame.y < inner.y
    assert inner.y + inner.height < frame.y + frame.height


def test_ten_thousand_slices_are_few_boxes_that_stand_for_all_of_them() -> None:
    graph = plan_graph(nested(100, 100))
    assert graph.is_folded
    assert len(graph.nodes) <= MOST_BOXES
    assert covered_rows([*graph.nodes]) == [*range(1, 10_101)]


def test_what_is_in_a_folded_box_is_a_graph_of_its_own() -> None:
    compiled = nested(100, 100)
    first, last = plan_graph(compiled).nodes[1].span
    graph = plan_graph(compiled, 0, siblings(compiled, 0, first, last))
    assert covered_rows([*graph.nodes]) == [*range(first, last + 1)]
    assert {node.path for node in graph.nodes} > {"g8"}


def test_a_group_is_drawn_without_what_is_around_it() -> None:
    graph = plan_graph(SMALL, 1)
    assert [node.path for node in graph.nodes] == ["store/model", "store/disk"]
    assert graph.of == "store"


@pytest.mark.parametrize(("first", "last"), [(0, 3), (2, 3), (1, 2), (4, 1), (1, 9)])
def test_only_whole_parts_of_a_group_can_be_drawn(first: int, last: int) -> None:
    with pytest.raises(InputError, match="parts of the plan"):
        siblings(SMALL, 0, first, last)
