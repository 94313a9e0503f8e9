"""The last word about a subplan, or about what it is in, counts."""

from hypothesis import given
from hypothesis import strategies as st

from weft.engine.messages.facts import ControlState
from weft.engine.state.control_requests import ControlRequests

PATHS = ["", "a", "a/b", "a/b/c", "a/bc", "d"]
words = st.lists(st.tuples(st.sampled_from(PATHS), st.sampled_from(ControlState)))


def is_in(path: str, group: str) -> bool:
    return not group or path == group or path.startswith(f"{group}/")


def said(given_words: list[tuple[str, ControlState]]) -> ControlRequests:
    wishes = ControlRequests()
    for path, wanted in given_words:
        wishes.says(path, wanted)
    return wishes


@given(words)
def test_the_last_word_counts(given_words: list[tuple[str, ControlState]]) -> None:
    wishes = said(given_words)
    for path in PATHS:
        last = [wanted for group, wanted in given_words if is_in(path, group)]
        assert wishes.of(path) is (last or [ControlState.GO])[-1]


@given(words)
def test_a_word_holds_where_it_counts_for_all_that_is_inside(
    given_words: list[tuple[str, ControlState]],
) -> None:
    wishes = said(given_words)
    for group in PATHS:
        inside = {wishes.of(path) for path in PATHS if is_in(path, group)}
        for wanted in ControlState:
            assert wishes.holds(group, wanted) is (inside == {wanted})


@given(words)
def test_when_all_goes_on_nothing_is_wanted_any_more(given_words: list[tuple[str, ControlState]]) -> None:
    wishes = said([*given_words, ("", ControlState.GO)])
    assert not wishes


def test_whoever_starts_again_wants_what_was_stopped_to_go_on_and_nothing_else() -> None:
    wishes = said([("a", ControlState.PAUSE), ("a/b", ControlState.STOP), ("d", ControlState.FREEZE)])
    wishes.forget_stops()
    assert [wishes.of(path) for path in ("a/b", "a", "d")] == [
        ControlState.PAUSE,
        ControlState.PAUSE,
        ControlState.FREEZE,
    ]
