"""How fast forecasts are, and how well they foretell real runs of steps that sleep.

*Speed* is CPU for a replication, measured on a few of them; a thousand cost a thousand times as much, on as many
cores as there are.

*Accuracy*: each step of a random plan sleeps for a time that is drawn from a lognormal distribution. The forecast
knows the distributions, and not the times that were drawn: from the estimates in the plan, or from three earlier
runs with other times. The makespan of a real run, from the start of the first process to the end of the last, is
compared with the P50. That also shows how lucky the drawn times are; so it is compared with a forecast that knows
them, too, which shows what the model lacks. If one more token of a limit is advised, the plan runs again with it
and the same times. Steps sleep for seconds, so several plans can run at once, and a busy machine changes little.
"""

import gc
import json
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from functools import partial
from math import exp
from multiprocessing import get_context
from pathlib import Path
from random import Random
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from msgspec import Struct

from benchmarks.compare.going import WEFT, write_plan
from benchmarks.compare.measuring import Sizes, cpu
from benchmarks.compare.processes import cost_of
from benchmarks.compare.table import Row, at_least, at_most
from weft.app.forecast.forecast import ForecastRequest, PlanForecast, forecast
from weft.app.project.files import InputSource
from weft.engine.messages.facts import Ended
from weft.forecast.history import History
from weft.forecast.replications import Rehearsal, play_all
from weft.forecast.spread import P90
from weft.plan.loader.load import load_plan
from weft.plan.model import Plan
from weft.store.sqlite import open_reader

REPLICATIONS = 1_000
PLANS = 20
_CLOSE = 0.1
_SEED = 20
_AT_ONCE = 6
_RUNS = 400
_HISTORY = 3
"""Earlier runs, if the forecast knows the plan by its history."""


# Speed


def speed(sizes: Sizes) -> list[Row]:
    small, large = sizes(1_000, 50), sizes(10_000, 200)
    plain, piped = _Pace(_plain(small), sizes(20, 2)), _Pace(_piped(small), sizes(10, 1))
    return [
        _speed("one step each, no workspaces", plain, small),
        _speed("an agent and a test each, worktrees, merges and landings", piped, small),
        _growth("with one step", plain, small, _Pace(_plain(large), sizes(3, 1)), large),
        _growth("with an agent and a test", piped, small, _Pace(_piped(large), sizes(3, 1)), large),
    ]


class _Pace:
    """The CPU seconds of a replication, the least of several, quick and on the engine; all complete the plan."""

    def __init__(self, text: str, count: int) -> None:
        plan = load_plan(text)
        self.quick, self.on_engine = (_seconds(plan, count, is_quick=is_quick) for is_quick in (True, False))


def _speed(words: str, pace: _Pace, slices: int) -> Row:
    return Row(
        name=f"{REPLICATIONS:,} replications of {slices:,} slices, extrapolated: {words}",
        figure=REPLICATIONS * pace.quick,
        bar=at_most(60, "s"),
        ours=f"{1e6 * pace.quick / slices:.1f} us for a slice, on one core",
        beside=f"{1e6 * pace.on_engine / slices:.1f} us on the engine",
    )


def _growth(words: str, pace: _Pace, slices: int, large: _Pace, many: int) -> Row:
    return Row(
        name=f"a forecast slice {words} of {many:,} beside one of {slices:,}",
        figure=(large.quick / many) / (pace.quick / slices),
        bar=at_most(1.5),
        ours=f"{1e6 * large.quick / many:.1f} us",
        beside=f"{1e6 * pace.quick / slices:.1f} us",
    )


def _seconds(plan: Plan, count: int, *, is_quick: bool) -> float:
    rehearsal = Rehearsal(plan, is_quick=is_quick)
    tally = play_all(rehearsal, [0])
    gc.disable()  # as `weft simulate` does
    try:
        calls = [partial(rehearsal.add_to, tally, number) for number in range(1, count + 1)]
        seconds = [cpu(call) for call in calls]
    finally:
        gc.enable()
    assert not tally.failed, "a plan that fails early costs little"
    return min(seconds)


def _plain(slices: int) -> str:
    work = {"id": "work", "run": "true", "estimate": {"minutes": "5..20"}}
    subplans = [{"id": f"s{number}", **_after(number), "steps": [work]} for number in range(slices)]
    plan = {"weft": 1, "plan": "many", "isolation": "none", "max_parallel": 8, "timeout": "50h"}
    return json.dumps(plan | {"subplans": subplans})


def _piped(slices: int) -> str:
    test = {"id": "test", "run": "true", "pool": "db", "estimate": {"minutes": "1..3", "fail": 0.1}}
    steps = [{"id": "code", "prompt": "do"}, test | {"on_fail": {"retry_from": "code", "max": 5}}]
    estimate = {"minutes": "5..20", "cost": 0.3}
    subplans = [
        {"id": f"s{number}", "pipeline": "slice", "estimate": estimate, **_after(number)}
        for number in range(slices)
    ]
    plan = {"weft": 1, "plan": "many", "max_parallel": 8, "timeout": "50h", "pools": {"db": 2}}
    agents = {"coder": {"use": "claude", "pool": 6}}
    return json.dumps(plan | {"agents": agents, "pipelines": {"slice": steps}, "subplans": subplans})


def _after(number: int) -> dict[str, list[str]]:
    return {"depends_on": [f"s{number - 10}"]} if number >= 10 else {}


# Accuracy


class _Trial(Struct, frozen=True):
    """A random plan that ran for real."""

    p50: float
    """Of the forecast."""
    exact: float
    """The forecast if the times that were drawn are known."""
    actual: float
    with_token: float | None
    """The makespan with the advised token; None without advice."""


def accuracy(sizes: Sizes) -> list[Row]:
    rows: list[Row] = []
    trials: list[_Trial] = []
    unit, plans = sizes(1_000, 100) / 1_000, sizes(PLANS, 1)
    for words, history in (("their estimates", 0), (f"{_HISTORY} earlier runs", sizes(_HISTORY, 1))):
        with ProcessPoolExecutor(_AT_ONCE, mp_context=get_context("spawn")) as pool:
            part = list(pool.map(partial(_trial, unit=unit, history=history), range(plans)))
        rows.append(_closeness(words, part))
        trials += part
    advised = [(trial.actual, trial.with_token) for trial in trials if trial.with_token is not None]
    shorter = sum(after < before for before, after in advised)
    return [
        *rows,
        _model_error(trials),
        Row(
            name="real runs that the advised token shortens",
            figure=shorter / len(advised) if advised else 1.0,
            bar=at_least(0.9),
            ours=f"{shorter} of {len(advised)} for which there was advice",
        ),
    ]


def _closeness(words: str, trials: Sequence[_Trial]) -> Row:
    ratios = sorted(trial.actual / trial.p50 for trial in trials)
    close = sum(abs(ratio - 1) <= _CLOSE for ratio in ratios)
    return Row(
        name=f"real makespans of {len(trials)} sleeping plans within 10 % of the P50 from {words}",
        figure=close / len(trials),
        bar=at_least(0.9),
        ours=f"{close} of {len(trials)}; actual over P50 {ratios[0]:.3f} to {ratios[-1]:.3f}, "
        f"median {median(ratios):.3f}",
    )


def _model_error(trials: Sequence[_Trial]) -> Row:
    ratios = sorted(trial.actual / trial.exact for trial in trials)
    return Row(
        name="the largest difference of a real makespan from the forecast that knows how long each step sleeps",
        figure=max(abs(ratio - 1) for ratio in ratios),
        bar=at_most(0.1),
        ours=f"actual over forecast {ratios[0]:.3f} to {ratios[-1]:.3f}, median {median(ratios):.3f}",
    )


def _trial(number: int, unit: float, history: int) -> _Trial:
    random = Random(_SEED + number)
    plan = _SleepingPlan(random, unit)
    with TemporaryDirectory() as parent:
        folder = Path(parent, "plan")
        text = plan.text(random, with_estimates=not history)
        write_plan(folder, text)
        for _ in range(history):
            (folder / "weft.yaml").write_text(plan.text(random))
            _makespan(folder)
        (folder / "weft.yaml").write_text(text)
        source = InputSource(name="weft.yaml", directory=folder)
        answer = forecast(ForecastRequest(source=source, runs=_RUNS, is_fresh=True), environ={})
        actual, with_token = _makespan(folder), None
        more = _with_advice(json.loads(text), answer)
        if more is not None:
            (folder / "weft.yaml").write_text(json.dumps(more))
            with_token = _makespan(folder)
        return _Trial(answer.summary.p50.value, _exact(json.loads(text)), actual, with_token)


def _exact(plan: dict[str, Any]) -> float:
    """Returns the makespan if each step takes as long as it sleeps."""
    for subplan in plan["subplans"]:
        for step in subplan["steps"]:
            step["estimate"] = {"minutes": float(step["run"].removeprefix("sleep ")) / 60}
    return Rehearsal(load_plan(json.dumps(plan)), History(sigma=0.0)).play(0).seconds


class _SleepingPlan:
    """A random plan whose steps have lognormal durations."""

    def __init__(self, random: Random, unit: float) -> None:
        self._has_pool = random.random() < 0.5
        self._width = random.randint(2, 4)
        self._slices: list[tuple[list[str], list[tuple[float, float]]]] = []
        """The dependencies of each slice, and for each step its median and log(P90 / P50)."""
        for number in range(random.randint(16, 20)):
            before = [f"s{other}" for other in range(number) if random.random() < 0.15]
            steps = [
                (random.uniform(1.0, 3.0) * unit, random.uniform(0.05, 0.4))
                for _ in range(random.randint(1, 3))
            ]
            self._slices.append((before, steps))

    def text(self, random: Random, *, with_estimates: bool = False) -> str:
        """Returns the plan with newly drawn times."""
        plan: dict[str, Any] = {
            "weft": 1,
            "plan": "sleeping",
            "isolation": "none",
            "max_parallel": self._width,
        }
        if self._has_pool:
            plan["pools"] = {"db": 1}
        plan["subplans"] = [
            {
                "id": f"s{number}",
                "depends_on": before,
                "steps": [
                    self._step(place, len(steps), *step, random, with_estimates=with_estimates)
                    for place, step in enumerate(steps)
                ],
            }
            for number, (before, steps) in enumerate(self._slices)
        ]
        return json.dumps(plan)

    def _step(
        self, place: int, steps: int, median: float, spread: float, random: Random, *, with_estimates: bool
    ) -> dict[str, Any]:
        seconds = median * exp(random.gauss(0.0, spread / P90))
        step: dict[str, Any] = {"id": f"t{place}", "run": f"sleep {seconds:.3f}"}
        if with_estimates:
            low, high = median * exp(-spread) / 60, median * exp(spread) / 60
            step["estimate"] = {"minutes": f"{low:.6f}..{high:.6f}"}
        if self._has_pool and place == steps - 1:
            step["pool"] = "db"
        return step


def _with_advice(plan: dict[str, Any], answer: PlanForecast) -> dict[str, Any] | None:
    """Returns the plan with one more token of the limit that holds it up most; None without advice."""
    if not answer.savings or not answer.savings[0].is_certain:
        return None
    best = answer.savings[0]
    if best.name == "slots":
        return plan | {"max_parallel": best.size + 1}
    return plan | {"pools": {best.name.partition(":")[2]: best.size + 1}}


def _makespan(folder: Path) -> float:
    cost_of((*WEFT, "--quiet", "--fresh"), folder)
    with closing(open_reader(folder / ".weft" / "weft.db")) as journal:
        events = list(journal.events(journal.runs()[0].run))
    ends = [recorded.event.fact for recorded in events if isinstance(recorded.event.fact, Ended)]
    steps = [end for end in ends if end.seconds]
    return max(end.at for end in steps) - min(end.at - end.seconds for end in steps)
