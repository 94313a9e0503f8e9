"""Long lines of logs, broken for the width of the screen."""

from hypothesis import given
from hypothesis import strategies as st

from weft.app.views.wording.style import Style
from weft.cells import cells
from weft.tui.line_list import broken

PLAIN = Style(colours=False)


def lines(text: str, width: int) -> list[str]:
    return [line for line, _ in broken((text, "red"), width, PLAIN)]


def test_a_line_is_broken_at_a_blank_and_continues_deeper_than_it_starts() -> None:
    assert lines("    one two three four", 16) == ["    one two", "      three four"]
    assert lines("short", 16) == ["short"]


@given(st.text(alphabet=" ab…漢字", max_size=60), st.integers(10, 30))
def test_no_line_is_too_long_and_nothing_is_lost(text: str, width: int) -> None:
    shown = lines(text, width)
    assert all(cells(line) <= width for line in shown)
    assert "".join(shown).replace(" ", "") == text.replace(" ", "")
