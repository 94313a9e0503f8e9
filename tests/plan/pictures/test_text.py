import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.plan.pictures.text import elide, elide_start, one_line, width_of


@given(st.text(), st.floats(20, 200))
def test_what_is_cut_fits_and_is_the_beginning(text, room):
    cut = elide(text, 10, room)
    assert width_of(cut, 10) <= room
    assert text.startswith(cut.removesuffix("…"))


@given(st.text(), st.floats(20, 200))
def test_what_is_cut_at_its_start_fits_and_is_the_end(text, room):
    cut = elide_start(text, 10, room)
    assert width_of(cut, 10) <= room
    assert text.endswith(cut.removeprefix("…"))


def test_what_fits_is_left_alone():
    assert elide("abc", 10, 100) == "abc"
    assert elide_start("abc", 10, 100) == "abc"


def test_a_cut_leaves_no_blank_before_the_dots():
    assert elide("abc def", 10, 32.5) == "abc…"
    assert elide_start("abc def", 10, 32) == "…def"


@pytest.mark.parametrize(("wide", "narrow"), [("W", "i"), ("中", "W"), ("e", "e\u0301"[1:]), ("ж", "i")])
def test_characters_have_different_widths(wide, narrow):
    assert width_of(wide, 10) > width_of(narrow, 10)


def test_white_space_is_one_blank_and_what_cannot_be_drawn_is_a_sign():
    assert one_line(" a\n\tb\0 ") == "a b␀"
