"""What another size of a limit is worth. Advice is followed, and played again."""

from collections.abc import Callable
from typing import Any

import pytest

from forecast.rehearsals import Data, call, group, leaf, rehearsal, steady, work
from weft.forecast.advice import Saving, enough, savings, widths
from weft.forecast.caps import MOST
from weft.forecast.history import History
from weft.forecast.quantiles import quantile
from weft.forecast.replications import Change, Rehearsal, play_all
from weft.forecast.summary import summarize
from weft.forecast.tally import Tally


def play(rehearsed: Rehearsal) -> Tally:
    return play_all(rehearsed, range(30), watches_pools=False)


def advised(rehearsed: Rehearsal) -> list[Saving]:
    return savings(rehearsed, summarize(rehearsed, play_all(rehearsed, range(30))), play)


def median(rehearsed: Rehearsal) -> float:
    return quantile(sorted(play(rehearsed).seconds.values()), 0.5)


def slices(count: int, *steps: Data, **more: Any) -> list[Data]:
    return [leaf(f"s{number}", *steps, **more) for number in range(count)]


def test_the_finish_for_each_width() -> None:
    reports = widths(rehearsal(*slices(8)), [8, 1, 2, 2], play)
    assert [(report.width, report.p50.value, report.p90.value) for report in reports] == [
        (1, 480.0, 480.0),
        (2, 240.0, 240.0),
        (8, 60.0, 60.0),
    ]


@pytest.mark.parametrize(("count", "most", "expected"), [(8, 16, 8), (6, 16, 6), (5, 16, 5), (1, 16, 1)])
def test_the_width_beyond_which_more_buys_little_is_found_between_the_reports(
    count: int, most: int, expected: int
) -> None:
    rehearsed = rehearsal(*slices(count))
    reports = widths(rehearsed, [1, 2, 4, 8, most], play)
    assert enough(rehearsed, reports, play) == expected


def test_a_chain_needs_a_width_of_one() -> None:
    rehearsed = rehearsal(leaf("a"), leaf("b", depends_on=["a"]))
    assert enough(rehearsed, widths(rehearsed, [1, 4], play), play) == 1


def test_one_more_token_of_the_bottleneck_saves_what_the_advice_says() -> None:
    rehearsed = rehearsal(*slices(6, work(pool="db")), max_parallel=6, pools={"db": 1})
    first, *rest = advised(rehearsed)
    assert (first.name, first.size) == ("pool:db", 1)
    assert first.saves.value == pytest.approx(180.0)
    assert first.busy == pytest.approx(1.0)
    assert first.is_certain
    assert all(not saving.is_certain for saving in rest)


def test_one_more_slice_at_once_of_a_group_saves_what_the_advice_says() -> None:
    # Six minutes of work one after the other, or three and three; the slice outside takes less than either.
    rehearsed = rehearsal(group("g", *slices(6), max_parallel=1), leaf("h"), max_parallel=6)
    first, *rest = advised(rehearsed)
    assert (first.name, first.size) == ("slots:g", 1)
    assert first.saves.value == pytest.approx(180.0)
    assert first.busy == pytest.approx(1.0)
    # Five slices wait for the first minute, four for the second, and so on.
    assert first.wait == pytest.approx(60.0 * (5 + 4 + 3 + 2 + 1))
    assert first.is_certain
    assert all(not saving.is_certain for saving in rest)


def test_the_limit_of_a_group_inside_another_is_of_use_only_together_with_it() -> None:
    inner = group("in", *slices(4), max_parallel=1)
    narrow = rehearsal(group("out", inner, max_parallel=1), max_parallel=4)
    assert not any(saving.is_certain for saving in advised(narrow))
    wide = rehearsal(group("out", inner, max_parallel=2), max_parallel=4)
    best = advised(wide)[0]
    assert best.name == "slots:out/in"
    assert best.saves.value == pytest.approx(120.0)


def test_only_the_tightest_of_many_groups_are_compared() -> None:
    groups = [group(f"g{count}", *slices(count), max_parallel=1) for count in range(1, 14)]
    rehearsed = rehearsal(*groups, max_parallel=32)
    assert len(rehearsed.sizes) == 14
    tightest = {f"slots:g{count}" for count in range(13, 13 - MOST, -1)}
    assert {saving.name for saving in advised(rehearsed)} == {"slots"} | tightest


def test_a_group_with_no_more_slices_than_its_limit_is_not_compared() -> None:
    rehearsed = rehearsal(group("g", *slices(3), max_parallel=3), leaf("h"), max_parallel=1)
    assert [saving.name for saving in advised(rehearsed)] == ["slots"]


def test_nothing_waits_so_nothing_is_played() -> None:
    rehearsed = rehearsal(*slices(2, work(pool="db")), max_parallel=4, pools={"db": 2})
    summary = summarize(rehearsed, play_all(rehearsed, range(5)))
    played: list[Rehearsal] = []

    def counted(each: Rehearsal) -> Tally:
        played.append(each)
        return play(each)

    assert [saving.saves.value for saving in savings(rehearsed, summary, counted)] == [0.0, 0.0]
    assert len(played) == 1


PLANS: dict[str, Callable[[int], Rehearsal]] = {
    "slots": lambda seed: rehearsal(
        *slices(9, work(minutes="2..6")), max_parallel=2, history=History(), seed=seed
    ),
    "a pool": lambda seed: rehearsal(
        *slices(8, work("x", "1..3", pool="db"), work("y", "1..2")),
        max_parallel=6,
        pools={"db": 2},
        seed=seed,
    ),
    "an agent": lambda seed: rehearsal(
        *slices(7, call(minutes="3..9")),
        isolation="dir",
        max_parallel=7,
        agents={"coder": {"use": "claude", "pool": 2}},
        history=steady(),
        seed=seed,
    ),
    "two limits": lambda seed: rehearsal(
        *slices(8, work("x", "1..3", pool="db"), work("y", "1..9")),
        max_parallel=4,
        pools={"db": 1},
        seed=seed,
    ),
    "groups": lambda seed: rehearsal(
        group("g", *slices(4, work(minutes="2..9"))),
        group("h", *slices(4, work(minutes="1..4"))),
        max_parallel=3,
        seed=seed,
    ),
    "a limit of a group": lambda seed: rehearsal(
        group("g", *slices(7, work(minutes="2..9")), max_parallel=2),
        group("h", *slices(3, work(minutes="1..4"))),
        max_parallel=6,
        seed=seed,
    ),
    "values": lambda seed: rehearsal(
        *slices(6, work(minutes="1..4", pool="port")),
        max_parallel=6,
        pools={"port": {"values": [1, 2]}},
        seed=seed,
    ),
    "failures": lambda seed: rehearsal(
        *slices(6, work(minutes="1..4", estimate={"fail": 0.3}, on_error="retry", max_retries=3)),
        max_parallel=2,
        seed=seed,
    ),
}


@pytest.mark.parametrize("make", PLANS.values(), ids=PLANS)
def test_the_advised_token_shortens_the_run(make: Callable[[int], Rehearsal]) -> None:
    rehearsed = make(1)
    best = advised(rehearsed)[0]
    assert best.is_certain
    more = rehearsed.changed([Change(best.name, best.size + 1)])
    assert more.sizes[best.name] == best.size + 1
    # Other luck than that of the advice: the saving is there on other nights, too.
    other = make(99)
    before, after = median(other), median(other.changed([Change(best.name, best.size + 1)]))
    assert before - after == pytest.approx(best.saves.value, rel=0.5)
    assert after < before


@pytest.mark.parametrize("make", PLANS.values(), ids=PLANS)
def test_another_size_changes_the_duration_of_no_step(make: Callable[[int], Rehearsal]) -> None:
    rehearsed = make(1)
    for name, size in rehearsed.sizes.items():
        changed = rehearsed.changed([Change(name, size + 1)])
        for number in range(5):
            before, after = rehearsed.play(number), changed.play(number)
            assert before.works == pytest.approx(after.works)
            assert before.night == after.night
            assert before.cost == after.cost
