import pytest

from app.run_stories import plan_of, slices
from weft.app.views.estimates import Attempts, Pace


def estimated(minutes):
    return {"estimate": {"minutes": minutes}}


def test_progress_is_the_weight_of_what_has_ended() -> None:
    plan = plan_of(*slices("a", **estimated("2..4")), *slices("b", **estimated(1)))
    pace = Pace(plan)
    assert pace.progress == 0.0
    pace.ended(1, 10.0)
    assert pace.progress == 0.75
    pace.ended(2, None)
    assert pace.progress == 1.0


def test_a_slice_without_an_estimate_weighs_as_much_as_the_others_on_average() -> None:
    plan = plan_of(*slices("a", **estimated("2..4")), *slices("b", **estimated(1)), *slices("c"))
    assert Pace(plan).weights == [0.0, 3.0, 1.0, 2.0]


def test_without_any_estimate_all_slices_weigh_the_same() -> None:
    assert Pace(plan_of(*slices("a", "b"))).weights == [0.0, 1.0, 1.0]


def test_slices_that_take_no_time_make_no_progress() -> None:
    plan = plan_of(*slices("a", **estimated(0)))
    assert Pace(plan).progress == 0.0


def ten_slices():
    return Pace(plan_of(*slices(*"abcdefghij")))


def test_nothing_is_guessed_before_a_few_slices_have_ended() -> None:
    pace = ten_slices()
    for row in (1, 2):
        pace.ended(row, 60.0)
    assert pace.remaining([(4, 0.0)]) is None
    pace.ended(3, 60.0)
    assert pace.remaining([(4, 0.0)]) == 7 * 60.0


def test_slices_that_did_not_run_say_nothing_about_how_long_others_take() -> None:
    pace = ten_slices()
    for row in (1, 2, 3):
        pace.ended(row, None)
    assert pace.remaining([(4, 0.0)]) is None


def test_the_rest_is_shared_by_as_many_as_run_now() -> None:
    pace = ten_slices()
    for row in (1, 2, 3):
        pace.ended(row, 60.0)
    assert pace.remaining([(4, 30.0), (5, 30.0)]) == (5 * 60.0 + 2 * 30.0) / 2


def test_one_that_takes_longer_than_expected_has_nothing_left_but_makes_up_for_no_other() -> None:
    pace = ten_slices()
    for row in range(1, 8):
        pace.ended(row, 60.0)
    assert pace.remaining([(8, 500.0), (9, 20.0)]) == (60.0 + 0.0 + 40.0) / 2


def test_the_end_is_not_before_that_of_any_slice_that_runs() -> None:
    pace = ten_slices()
    for row in range(1, 9):
        pace.ended(row, 60.0)
    assert pace.remaining([(9, 0.0), (10, 60.0)]) == 60.0


def test_while_nothing_runs_nothing_is_guessed() -> None:
    pace = ten_slices()
    for row in (1, 2, 3):
        pace.ended(row, 60.0)
    assert pace.remaining([]) is None


def test_slices_that_were_said_to_take_no_time_give_no_rate() -> None:
    pace = Pace(plan_of(*slices("a", "b", "c", **estimated(0)), *slices("d", **estimated(1))))
    for row in (1, 2, 3):
        pace.ended(row, 60.0)
    assert pace.remaining([(4, 0.0)]) is None


@pytest.mark.parametrize(
    ("pipeline", "step", "most"),
    [("tdd", "tests", 3), ("tdd", "code", 4), ("tdd", "check", 4), ("outer", "inner.code", 8)],
)
def test_how_often_a_step_may_be_tried_counts_all_loops_around_it(pipeline, step, most) -> None:
    attempts = Attempts(plan_of({"id": "a", "prompt": "x", "pipeline": pipeline}))
    assert [attempts.most(1, step) for _ in range(2)] == [most, most]


def test_what_weft_does_itself_has_no_known_number_of_attempts() -> None:
    attempts = Attempts(plan_of(*slices("a")))
    assert (attempts.most(1, "@workspace"), attempts.most(0, "@verify")) == (0, 0)
