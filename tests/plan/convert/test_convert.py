import math

import pytest

from weft.errors import InputError
from weft.plan.convert import Note, convert
from weft.plan.convert.fields import plain
from weft.plan.convert.names import free_id, valid_ids
from weft.plan.text.document import read_document


@pytest.mark.parametrize(
    ("source", "files"), [("brunch", {}), ("brunch", {"a.yaml": "", "b.yaml": ""}), ("ail", {})]
)
def test_one_file_is_needed(files, source):
    with pytest.raises(InputError, match=f"one file is needed, not {len(files)}"):
        convert(files, source)


def test_a_note_says_where_what_and_why():
    note = Note(
        file="plan.yaml", line=12, what="slice 'disk': derived_from is not carried over", why="no such key"
    )
    assert str(note) == "plan.yaml:12: slice 'disk': derived_from is not carried over: no such key"


def test_an_id_that_fits_is_kept_and_the_others_are_made_to_differ():
    names = ["A", "a", "a-2", "A!", "é", "_x", "x" * 80, "X" * 80]
    assert valid_ids(names, otherwise="part") == {
        "A": "a-3",
        "a": "a",
        "a-2": "a-2",
        "A!": "a-",
        "é": "part",
        "_x": "x",
        "x" * 80: "x" * 64,
        "X" * 80: "x" * 62 + "-2",
    }


def test_a_free_id_is_the_one_wanted_if_it_is_free():
    assert free_id("a", []) == "a"
    assert free_id("a", ["a", "a-2"]) == "a-3"


def test_values_are_those_of_yaml_1_2():
    text = "[0o17, 0x1f, +3, 1e3, .5, -.INF, yes, ~, '1', True, {a: [null]}]"
    assert plain(read_document(text, "x.yaml").root) == [
        15, 31, 3, 1000.0, 0.5, -math.inf, "yes", None, "1", True, {"a": [None]},
    ]  # fmt: skip
