import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.app.views.wording.style import Style
from weft.cells import cells, strip_escapes

STYLE = Style()
PLAIN = Style(colours=False, unicode=False)


@pytest.mark.parametrize(
    ("text", "width"),
    [("abc", 3), ("模型", 4), ("e\u0301", 1), ("é", 1), ("a\ufe0f", 1), ("\uff58", 2), ("", 0)],
)
def test_text_takes_the_cells_that_a_terminal_gives_it(text, width) -> None:
    assert cells(text) == width


@pytest.mark.parametrize(
    ("text", "width", "cut"),
    [
        ("abcdef", 6, "abcdef"),
        ("abcdef", 5, "abcd…"),
        ("模型模型", 5, "模型…"),
        ("模型模型", 6, "模型…"),
        ("e\u0301e\u0301e\u0301", 2, "e\u0301…"),
        ("abc", 1, "…"),
        ("abc", 0, ""),
    ],
)
def test_what_is_too_long_is_cut_with_a_sign(text, width, cut) -> None:
    assert STYLE.cut(text, width) == cut


@pytest.mark.parametrize(
    ("text", "width", "cut"),
    [("store/model", 11, "store/model"), ("store/model", 6, "…model"), ("ab", 1, "…")],
)
def test_of_a_path_the_end_is_kept(text, width, cut) -> None:
    assert STYLE.cut_left(text, width) == cut


def test_without_unicode_the_sign_is_three_dots() -> None:
    assert [PLAIN.cut("abcdef", 5), PLAIN.cut("abcdef", 2)] == ["ab...", ".."]


def test_text_is_filled_up_to_exactly_so_many_cells() -> None:
    assert [STYLE.fit("模", 4), STYLE.fit("模型", 3)] == ["模  ", "模…"]


@given(st.text(), st.integers(0, 30))
def test_a_text_that_fits_has_exactly_the_width_whatever_is_in_it(text, width) -> None:
    assert cells(STYLE.fit(STYLE.shown(text), width)) == width


@given(st.text())
def test_nothing_that_commands_a_terminal_is_ever_shown(text) -> None:
    assert STYLE.shown(text).isprintable()
    assert PLAIN.shown(text).isascii()


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("\x1b[31;1mFAILED\x1b[0m here", "FAILED here"),
        ("\x1b]0;a title\x07text", "text"),
        ("\x1b]8;;http://x\x1b\\link", "link"),
        ("10 %\r57 %\r", "57 %"),
        ("10 %\r57 %\r\n", "57 %"),
        ("a\tb", "a b"),
        ("a\x00b", "a\\x00b"),
        ("\u202eevil", "\\u202eevil"),
        ("\x1b(Bx", "x"),
    ],
)
def test_of_output_only_the_text_is_shown(raw, shown) -> None:
    assert STYLE.shown(raw) == shown


def test_what_the_terminal_cannot_write_is_replaced() -> None:
    assert PLAIN.shown("naïve 模") == "na?ve ?"


def test_paint_is_put_on_only_where_there_are_colours_and_something_to_paint() -> None:
    assert STYLE.paint("x", "red") == "\x1b[31mx\x1b[0m"
    assert [STYLE.paint("x", ""), STYLE.paint("", "red"), PLAIN.paint("x", "red")] == ["x", "", "x"]
    assert strip_escapes(STYLE.paint("x", "bold")) == "x"
