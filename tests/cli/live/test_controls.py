"""Keys of the live view: what each does, and the panels that they open."""

import pytest

from app.run_stories import Story, slices
from weft.app.views.wording.style import Style
from weft.cli.live.controls import Command, Controls, Leave, OpenTop, Panel
from weft.cli.live.panels import hint_line, panel

PLAIN = Style(colours=False)


class Keys:
    """A story, and the live view of a person who presses keys."""

    def __init__(self, *, is_own: bool = True) -> None:
        self.story = Story(*slices(*"abcd"), *(each | {"pipeline": "gated"} for each in slices("e", "f")))
        self.story.start()
        self.story.begin(*"abcdef")
        self.controls = Controls(is_own=is_own)

    def ask(self, path: str, text: str) -> None:
        self.story.step(path, "gate")
        self.story.tell("ask", path, "gate", firing=self.story.firing, question=text)

    def hold(self, *paths: str) -> None:
        self.story.complete(*paths)
        for path in paths:
            self.story.step(path, "@land")
            self.story.end(path, "@land", "held", message="it is ready", asks=True)

    def press(self, *keys: str) -> object:
        return [self.controls.press(key, self.story.view) for key in keys][-1]

    def shown(self, width: int = 60, height: int = 8, log: tuple[str, ...] = ()) -> list[str]:
        return panel(
            self.controls, self.story.view, self.story.at, (width, height), PLAIN, lambda _, most: log[-most:]
        )

    def hint(self, width: int = 79) -> str:
        return hint_line(self.controls, self.story.view, width, PLAIN)


@pytest.fixture
def keys() -> Keys:
    return Keys()


def test_the_line_of_keys_has_those_that_do_something(keys: Keys) -> None:
    assert keys.hint() == "p pause  t top  q leave it running  ? help"
    keys.story.step("a", "check", command="pytest")
    keys.ask("e", "Sure?")
    keys.hold("b")
    assert keys.hint() == "a answer  m land  p pause  l log  t top  q leave it running  ? help"
    keys.ask("f", "Sure?")
    assert keys.hint().startswith("a answer (2)  ")


def test_where_there_is_little_room_the_key_for_help_stays(keys: Keys) -> None:
    assert keys.hint(width=24) == "p pause  t top  ? help"
    assert keys.hint(width=6) == "? help"


def test_a_question_is_shown_whole_and_answered_by_a_command(keys: Keys) -> None:
    keys.ask("e", "Publish it?\nIt has 14 changes.")
    keys.story.wait(65)
    assert keys.press("a") is None
    assert keys.shown() == ["e:gate asks, since 1:05", "Publish it?", "It has 14 changes."]
    assert keys.hint() == "y yes  n no  Esc back"
    assert keys.press("y") == Command("weft answer e:gate yes")
    assert keys.controls.panel is Panel.NONE


def test_of_several_questions_the_oldest_comes_first_and_the_next_one_after_it(keys: Keys) -> None:
    keys.ask("f", "First?")
    keys.story.wait(1)
    keys.ask("e", "Second?")
    keys.press("a")
    assert keys.shown()[:2] == ["f:gate asks, since 0:01; 1 more question after it", "First?"]
    assert keys.press("n") == Command("weft answer f:gate no")
    assert keys.shown()[1] == "Second?"
    assert keys.press("n") == Command("weft answer e:gate no")
    assert keys.press("a") is None
    assert keys.hint() == "no question is open"
    keys.controls.offer_again()
    keys.press("a")
    assert keys.shown()[1] == "First?"


def test_a_question_that_was_answered_elsewhere_says_so(keys: Keys) -> None:
    keys.ask("e", "Sure?")
    keys.press("a")
    keys.story.tell("answered", "e", "gate", outcome="yes")
    assert keys.shown() == ["no question is open any more"]
    assert keys.hint() == "Esc back"
    assert keys.press("y") is None
    assert keys.press("escape") is None
    assert keys.controls.panel is Panel.NONE


def test_a_long_question_scrolls(keys: Keys) -> None:
    keys.ask("e", "\n".join(f"line {number}" for number in range(1, 9)))
    keys.press("a")
    assert keys.shown(height=5)[1:] == ["line 1", "line 2", "line 3", "… 5 more lines: j"]
    keys.press("j", "down")
    assert keys.shown(height=5) == ["line 2", "line 3", "line 4", "line 5", "… 3 more lines: j"]
    keys.press(*["j"] * 9)
    assert keys.shown(height=5)[-2:] == ["line 8", "… the end; k goes back"]
    keys.press("k", "up")
    assert keys.shown(height=5)[-2:] == ["line 6", "… 2 more lines: j"]
    assert len(keys.shown(height=20)) == 9


def test_landing_is_confirmed_with_the_results_that_land(keys: Keys) -> None:
    assert keys.press("m") is None
    assert keys.hint() == "nothing waits for your consent to land"
    keys.hold("a", "b", "c", "d")
    keys.press("m")
    assert keys.shown() == ["Land 4 results?", "  a", "  b", "  c", "  d"]
    assert keys.shown(height=3) == ["Land 4 results?", "  a", "  … and 3 more"]
    assert keys.hint() == "y yes  n no"
    assert keys.press("n") is None
    assert keys.controls.panel is Panel.NONE
    assert keys.press("m", "y") == Command("weft merge")


def test_a_run_of_this_process_is_left_after_a_confirmation(keys: Keys) -> None:
    assert keys.press("q") is None
    assert keys.shown()[0] == "Leave the run in the background?"
    assert keys.press("n") is None
    assert keys.press("q", "y") == Leave()


def test_a_run_of_another_process_is_left_at_once() -> None:
    keys = Keys(is_own=False)
    assert keys.hint().endswith("q leave  ? help")
    assert keys.press("q") == Leave()


def test_pausing_resuming_and_top_are_requests(keys: Keys) -> None:
    assert keys.press("p") == Command("weft pause")
    keys.story.tell("paused", outcome="pause")
    assert keys.hint().startswith("p resume")
    assert keys.press("p") == Command("weft resume")
    assert keys.press("t") == OpenTop()
    assert keys.press("x") is None
    assert keys.controls.panel is Panel.NONE


@pytest.mark.parametrize(("is_own", "words"), [(True, "leave it running"), (False, "the run continues")])
def test_the_help_says_what_leaving_means(is_own: bool, words: str) -> None:
    keys = Keys(is_own=is_own)
    keys.press("?")
    assert words in "\n".join(keys.shown(height=20))
    assert keys.hint() == "Esc back"
    keys.press("?")
    assert keys.shown() == []


def test_the_log_is_that_of_the_step_that_started_last_and_others_can_be_chosen(keys: Keys) -> None:
    assert keys.press("l") is None
    assert keys.hint() == "no step runs"
    keys.story.step("a", "check", command="pytest")
    keys.press("l")
    assert keys.shown() == ["a", "no output yet"]
    keys.story.wait(1)
    keys.story.step("b", "check", command="pytest")
    assert keys.shown(log=("one", "two"), height=2) == ["b  (1 of 2: j, k)", "two"]
    keys.press("j", "j", "j")
    assert keys.shown(log=("x\x1b[31m",))[0] == "a  (2 of 2: j, k)"
    assert "\x1b" not in keys.shown(log=("x\x1b[31m",))[1]
    keys.story.end("a", "check")
    keys.story.end("b", "check")
    assert keys.shown() == ["no step runs any more"]
    keys.press("l")
    assert keys.controls.panel is Panel.NONE


def test_the_result_of_a_command_takes_the_place_of_the_keys_until_the_next_one(keys: Keys) -> None:
    keys.controls.note = "$ weft pause: paused \x1b[31m"
    assert keys.hint().startswith("$ weft pause: paused")
    assert "\x1b" not in keys.hint()
    keys.press("x")
    assert keys.hint().startswith("p pause")
