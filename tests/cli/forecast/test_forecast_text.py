"""Output of `weft simulate`: sentences of its sections, and what programs read."""

from datetime import UTC, datetime
from typing import Any

import pytest
from msgspec.structs import replace

from forecast.rehearsals import call, group, leaf, rehearsal, work
from weft.app.forecast.forecast import PlanForecast
from weft.cli.forecast.forecast_text import forecast_json, forecast_lines
from weft.forecast.advice import Saving, WidthReport, savings, widths
from weft.forecast.history import NO_HISTORY
from weft.forecast.quantiles import Interval
from weft.forecast.replications import Rehearsal, play_all
from weft.forecast.summary import summarize
from weft.forecast.tally import Tally

EVENING = datetime(2026, 11, 18, 22, 30, tzinfo=UTC)


def forecast_of(
    rehearsed: Rehearsal, reports: list[WidthReport] | None = None, advice: list[Saving] | None = None
) -> PlanForecast:
    return PlanForecast(
        plan="p",
        summary=summarize(rehearsed, play_all(rehearsed, range(5))),
        by=None,
        in_time=None,
        ceiling=None,
        has_spent=False,
        widths=reports or [],
        enough=None,
        savings=advice or [],
        history=NO_HISTORY,
        slices=1,
        done=0,
    )


def lines(forecast: PlanForecast, *, verbose: bool = False) -> list[str]:
    return [str(line) for line in forecast_lines(forecast, EVENING, verbose=verbose)]


def of_section(label: str, forecast: PlanForecast, *, verbose: bool = False) -> str:
    (line,) = [line for line in lines(forecast, verbose=verbose) if line.startswith(f"{label} ")]
    return line[12:]


def report(width: int, minutes: float) -> WidthReport:
    seconds, cost = Interval(minutes * 60, minutes * 60, minutes * 60), Interval(0.0, 0.0, 0.0)
    return WidthReport(width=width, p50=seconds, p90=seconds, cost_p50=cost)


# Sentences


def test_a_plan_that_calls_no_agent_costs_no_dollars() -> None:
    assert of_section("Cost", forecast_of(rehearsal(leaf("a")))) == "no agent is called"
    unpriced = rehearsal(leaf("a", call()), isolation="dir")
    assert of_section("Cost", forecast_of(unpriced)).startswith("unknown: ")
    paid = rehearsal(leaf("a", work(estimate={"cost": 2})))
    assert of_section("Cost", forecast_of(paid)).startswith("P50 $2.")


@pytest.mark.parametrize(
    ("minutes", "shown"),
    [
        ([40, 20, 10, 10, 10], "1: 40 min   2: 20 min   4: 10 min"),
        ([40, 20, 10, 10.01, 9.99], "1: 40 min   2: 20 min   4: 10 min"),
        ([40, 40, 40, 30, 20], "1: 40 min   2: 40 min   4: 40 min   8: 30 min   16: 20 min"),
        ([40, 40, 40, 40, 40], "1: 40 min"),
        ([40, 20, 10, 12, 11], "1: 40 min   2: 20 min   4: 10 min"),
    ],
)
def test_the_widths_end_with_the_first_after_which_nothing_is_gained(
    minutes: list[float], shown: str
) -> None:
    reports = [report(width, each) for width, each in zip((1, 2, 4, 8, 16), minutes, strict=True)]
    forecast = forecast_of(rehearsal(leaf("a")), reports)
    assert of_section("Width", forecast) == shown
    # Programs get all of them.
    shown_to_programs: Any = forecast_json(forecast)["width"]
    assert len(shown_to_programs) == 5


def test_widths_that_were_not_compared_say_why() -> None:
    assert of_section("Width", forecast_of(rehearsal(leaf("a")))) == "not compared, because Ctrl-C came first"


def test_widths_that_a_person_has_asked_for_are_all_shown() -> None:
    reports = [report(width, 40) for width in (1, 2, 4)]
    shown = forecast_lines(
        forecast_of(rehearsal(leaf("a")), reports), EVENING, verbose=False, every_width=True
    )
    assert "Width       1: 40 min   2: 40 min   4: 40 min" in map(str, shown)


def test_the_slices_whose_estimates_matter_are_named_with_what_to_do() -> None:
    forecast = forecast_of(rehearsal(leaf("wide", work(minutes="5..100"))))
    assert of_section("Estimates", forecast) == (
        "most of the uncertainty comes from: wide (100 %); a better estimate there helps most"
    )


def test_the_lower_bound_comes_with_the_distance_of_the_schedule_from_it() -> None:
    # Three slices of a minute in two slots: a minute and a half of work for each, but none can be split.
    three = rehearsal(leaf("a"), leaf("b"), leaf("c"), max_parallel=2)
    assert of_section("Bound", forecast_of(three), verbose=True) == (
        "no schedule is below 1 min 30 s; P50 is 2 min, 33 % above it"
    )
    chain = rehearsal(leaf("a"), leaf("b", depends_on=["a"]))
    assert of_section("Bound", forecast_of(chain), verbose=True) == (
        "no schedule is below 2 min; P50 is 2 min, which is no more"
    )


# Timeouts


def test_warnings_about_timeouts_are_bounded() -> None:
    steps = [work(f"s{number}", minutes=30 + number, timeout="20m") for number in range(5)]
    _, _, *shown = lines(forecast_of(rehearsal(leaf("a", *steps), leaf("b", *steps))))
    ends = "in one of ten runs, and its timeout of 20 min ends it; the same in 1 more slice"
    assert [line.strip() for line in shown[:4]] == [
        f"warning: a:s4 takes 34 min or more {ends}",
        f"warning: a:s3 takes 33 min or more {ends}",
        f"warning: a:s2 takes 32 min or more {ends}",
        "… and 2 more such warnings",
    ]


# JSON


def test_the_limits_are_there_even_if_nothing_was_compared() -> None:
    capped = rehearsal(group("g", leaf("a"), leaf("b"), max_parallel=1), max_parallel=3)
    pools = forecast_json(forecast_of(capped))["pools"]
    assert pools == [
        {
            "name": "max_parallel",
            "size": 3,
            "busy": pytest.approx(1 / 3),
            "wait_s": 0.0,
            "one_more_saves_s": None,
            "one_more_saves_95_s": None,
        },
        {
            "name": "g.max_parallel",
            "size": 1,
            "busy": pytest.approx(1.0),
            "wait_s": pytest.approx(60.0),
            "one_more_saves_s": None,
            "one_more_saves_95_s": None,
        },
    ]


SHAPE = {
    "makespan_s": {"p50": 0.0, "p90": 0.0},
    "cost_usd": {"p50": 0.0, "p90": 0.0, "unknown": 0.0},
    "p_by": 0.0,
    "p_ceiling": 0.0,
    "lower_bound_s": 0.0,
    "width": [{"n": 0, "p50_s": 0.0, "p90_s": 0.0, "cost_p50_usd": 0.0}],
    "pools": [{"name": "", "size": 0, "busy": 0.0, "wait_s": 0.0, "one_more_saves_s": 0.0}],
    "paths": [{"share": 0.0, "subplans": [""]}],
    "defaults": [""],
    "history": {"steps": 0, "runs": 0},
    "runs": 0,
    "seed": 0,
}


def lacking(shape: Any, value: Any, at: str = "data") -> list[str]:
    """Returns the places at which a value lacks something of a shape, or has a value of another type."""
    if isinstance(shape, dict) and isinstance(value, dict):
        faults = [lacking(part, value.get(key), f"{at}.{key}") for key, part in shape.items()]
        return [each for parts in faults for each in parts]
    if isinstance(shape, list) and isinstance(value, list):
        if not value:
            return [f"{at}: empty"]
        return [each for part in value for each in lacking(shape[0], part, f"{at}[]")]
    return [] if type(shape) is type(value) else [f"{at}: {value!r}"]


def test_json_has_every_field_of_the_specified_shape() -> None:
    def play(each: Rehearsal) -> Tally:
        return play_all(each, range(5), watches_pools=False)

    rehearsed = rehearsal(leaf("a", {"id": "x", "run": "true"}), leaf("b"), max_parallel=1)
    summary = summarize(rehearsed, play_all(rehearsed, range(5)))
    forecast = forecast_of(rehearsed, widths(rehearsed, [1, 2], play), savings(rehearsed, summary, play))
    data = forecast_json(replace(forecast, by=3600.0, in_time=Interval(1.0, 1.0, 1.0)))
    assert lacking(SHAPE, data) == []
