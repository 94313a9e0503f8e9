import pytest

from weft.app.views.rows import RowView, StepFailure
from weft.app.views.wording.words import (
    clock,
    count,
    span,
    spent,
    spent_shortly,
    step_name,
    time_left,
    what_failed,
    why_not,
)


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0:00"), (65.9, "1:05"), (3_600, "1:00:00"), (36_061, "10:01:01")]
)
def test_a_stopwatch(seconds, text) -> None:
    assert clock(seconds) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0.0 s"),
        (7.25, "7.2 s"),
        (10, "10 s"),
        (60, "1 min"),
        (760, "12 min 40 s"),
        (3_600, "1 h"),
        (3_900, "1 h 5 min"),
    ],
)
def test_a_time_as_one_says_it(seconds, text) -> None:
    assert span(seconds) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (5, "less than a minute left"),
        (61, "about 2 min left"),
        (7_200, "about 2 h left"),
        (7_260, "about 2 h 1 min left"),
    ],
)
def test_the_time_that_is_left_is_not_reported_more_exactly_than_it_is_known(seconds, text) -> None:
    assert time_left(seconds) == text


@pytest.mark.parametrize(
    ("cost", "unknown", "long", "short"),
    [
        (0, 0, "", ""),
        (1_250_000, 0, "$1.25", "$1.25"),
        (1_250_000, 2, "$1.25 + 2 unknown", "$1.25+?"),
        (0, 2, "cost of 2 unknown", "$?"),
    ],
)
def test_an_unknown_cost_is_said_to_be_unknown(cost, unknown, long, short) -> None:
    row_view = RowView(cost=cost, unknown_costs=unknown)
    assert (spent(row_view), spent_shortly(row_view)) == (long, short)


@pytest.mark.parametrize(
    ("given", "name"),
    [
        (("code", 1, 4), "code"),
        (("code", 2, 4), "code 2/4"),
        (("@merge", 2, 0), "merge 2"),
        (("@verify",), "verify"),
    ],
)
def test_a_step_is_named_with_its_attempt_from_the_second_on(given, name) -> None:
    assert step_name(*given) == name


@pytest.mark.parametrize(
    ("failure", "said"),
    [
        ({"exit_code": 1, "command": "pytest -q"}, "exit code 1 (pytest -q)"),
        ({"exit_code": 1, "command": "make", "message": "check: failed (make)"}, "exit code 1 (make)"),
        ({"message": "check: no such program (make)", "command": "make"}, "no such program (make)"),
        ({"message": "the agent gave up", "command": "agent coder"}, "the agent gave up (agent coder)"),
        ({"signal": 9, "command": "make"}, "ended by signal 9 (make)"),
        ({"how": "timeout"}, "timed out"),
        ({"how": "lost"}, "lost"),
    ],
)
def test_a_failure_is_said_with_the_command(failure, said) -> None:
    assert what_failed(StepFailure(step="check", **failure)) == said


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"failure": StepFailure(step="x", exit_code=2), "message": "m"}, "exit code 2"),
        ({"message": "blocked by a, b", "reason": "blocked"}, "blocked by a, b"),
        ({"reason": "blocked", "cause": "a"}, "blocked by a"),
        ({"reason": "cancelled", "cause": "a"}, "cancelled because of a"),
        ({"reason": "lost"}, "lost"),
        ({}, "failed"),
    ],
)
def test_a_subplan_that_did_not_succeed_says_why(row, said) -> None:
    assert why_not(RowView(**row)) == said


def test_one_is_counted_without_an_s() -> None:
    assert [count(1, "slice"), count(1_000, "slice")] == ["1 slice", "1,000 slices"]
