from plan.outlines import sketched
from weft.ids import SubplanPath
from weft.plan.order.outline import Outline


def test_a_table_grows_in_plan_order_and_a_group_is_closed_behind_its_last_row() -> None:
    outline = Outline()
    whole = outline.add(SubplanPath(""), -1, leaf=False)
    group = outline.add(SubplanPath("g"), whole, leaf=False)
    leaf = outline.add(SubplanPath("g/x"), group, leaf=True)
    outline.close(group)
    outline.close(whole)
    assert (whole, group, leaf) == (0, 1, 2)
    assert outline.paths == ["", "g", "g/x"]
    assert outline.parents == [-1, 0, 1]
    assert outline.sizes == [3, 2, 1]
    assert outline.depends_on == [(), (), ()]


def test_rows_know_what_is_below_them_and_which_of_it_is_theirs() -> None:
    outline = sketched("a", "g", "g/x", "g/h", "g/h/y", "z")
    assert list(outline.below(2)) == [3, 4, 5]
    assert [list(outline.children(row)) for row in (0, 2, 4, 6)] == [[1, 2, 6], [3, 4], [5], []]


def test_an_empty_group_is_no_leaf() -> None:
    outline = sketched("a", "g/")
    assert outline.sizes[1:] == [1, 1]
    assert [outline.is_leaf(row) for row in (1, 2)] == [True, False]
