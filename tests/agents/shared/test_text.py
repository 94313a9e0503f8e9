from hypothesis import given
from hypothesis import strategies as st

from weft.agents.shared.text import last_line, one_line, strip_control_codes


def test_colours_movements_and_titles_go() -> None:
    assert (
        strip_control_codes("\x1b[1;31mred\x1b[0m \x1b[2K\x1b]0;title\x07\x1b]8;;x\x1b\\link\x1b(B")
        == "red link"
    )


def test_a_sequence_that_was_cut_off_goes_too() -> None:
    assert strip_control_codes("end\x1b]0;tit") == "end"


@given(st.text())
def test_one_line_is_one_line_that_moves_nothing(text: str) -> None:
    line = one_line(text)
    assert line.isprintable()
    assert len(line) <= 300


def test_a_long_line_is_cut() -> None:
    assert one_line("x" * 301) == "x" * 299 + "…"
    assert one_line("x" * 300) == "x" * 300


def test_the_last_line_is_the_last_one_that_says_something() -> None:
    assert last_line("one\ntwo\n\x1b[0m \n\n") == "two"
    assert last_line("") == ""
