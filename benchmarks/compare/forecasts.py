"""How fast forecasts are, and how well they foretell real runs of steps that sleep.

*Speed* is CPU for a replication, measured on a few of them; a thousand cost a thousand times as much, on as many
cores as there are.

*Accuracy*: each step of a random plan sleeps for a time that is drawn from a lognormal distribution. The forecast
knows the distributions, and not the times that were drawn: from the estimates in the plan, or from three earlier
runs with other times. The makespan of a real run, from the start of the first process to the end of the last, is
compared with the P50. If one more token of a limit is advised, the plan runs again with it and the same times.
Steps sleep for seconds, so several plans can run at once, and a busy machine changes little.
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
from weft.forecast.replications import Rehearsal, play_all
from weft.forecast.spread import P90
from weft.plan.loader.load import load_plan
from weft.store.sqlite import open_reader

REPLICATIONS = 1_000
PLANS = 20
_CLOSE = 0.1
_SEED = 20
_AT_ONCE = 4
_RUNS = 400
_HISTORY = 3
"""Earlier runs, if the forecast knows the plan by its history."""


# Speed


def speed(sizes: Sizes) -> list[Row]:
    small, large = sizes(1_000, 50), sizes(10_000, 200)
    plain, piped = _replication(_plain(small), sizes(20, 2)), _replication(_piped(small), sizes(10, 1))
    of_large = _replication(_plain(large), sizes(3, 1))
    return [
        _speed("one step each, no workspaces", plain, small),
        _speed("an agent and a test each, worktrees, merges and landings", piped, small),
        Row(
            name=f"a forecast slice of {large:,} beside one of {small:,}",
            figure=(of_large / large) / (plain / small),
            bar=at_most(1.5),
            ours=f"{1e6 * of_large / large:.0f} us",
            beside=f"{1e6 * plain / small:.0f} us",
        ),
    ]


def _speed(words: str, seconds: float, slices: int) -> Row:
    return Row(
        name=f"{REPLICATIONS:,} replications of {slices:,} slices, extrapolated: {words}",
        figure=REPLICATIONS * seconds,
        bar=at_most(60, "s"),
        ours=f"{1e6 * seconds / slices:.0f} us for a slice, on one core",
    )


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


def _replication(text: str, count: int) -> float:
    """Returns the CPU seconds of a replication, the least of several; all of them complete the plan."""
    rehearsal = Rehearsal(load_plan(text))
    tally = play_all(rehearsal, [0])
    gc.disable()  # as `weft simulate` does
    try:
        calls = [partial(rehearsal.add_to, tally, number) for number in range(1, count + 1)]
        seconds = [cpu(call) for call in calls]
    finally:
        gc.enable()
    assert not tally.failed, "a plan that fails early costs little"
    return min(seconds)


# Accuracy


class _Trial(Struct, frozen=True):
    """The forecast P50, the makespan of a real run, and that with the advised token, if there is advice."""

    p50: float
    actual: float
    with_token: float | None


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
        actual = _makespan(folder)
        more = _with_advice(json.loads(text), answer)
        if more is None:
            return _Trial(answer.summary.p50.value, actual, None)
        (folder / "weft.yaml").write_text(json.dumps(more))
        return _Trial(answer.summary.p50.value, actual, _makespan(folder))


class _SleepingPlan:
    """A random plan whose steps have lognormal durations."""

    def __init__(self, random: Random, unit: float) -> None:
        self._has_pool = random.random() < 0.5
        self._width = random.randint(2, 4)
        self._slices: list[tuple[list[str], list[tuple[float, float]]]] = []
        """The dependencies of each slice, and for each step its median and log(P90 / P50)."""
        for number in range(random.randint(8, 12)):
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
