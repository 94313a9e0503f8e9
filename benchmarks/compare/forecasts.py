"""How fast forecasts are, and how well they foretell real runs of steps that sleep.

*Speed* is CPU for a replication, measured on a few of them; a thousand cost a thousand times as much, on as many
cores as there are.

*Accuracy*: random plans of sleeping steps run once, so that the journal knows how long each step takes on this
machine. Then the plan is forecast, and runs again: its makespan, from the start of the first process to the end of
the last, is held against the forecast P50. If one more token of a limit is advised, the plan runs a third time,
with that token.
"""

import gc
import json
from contextlib import closing
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.compare.going import WEFT, write_plan
from benchmarks.compare.measuring import Sizes, cpu
from benchmarks.compare.processes import cost_of
from benchmarks.compare.table import Row, at_least, at_most
from weft.app.forecast.forecast import ForecastRequest, PlanForecast, forecast
from weft.app.project.files import InputSource
from weft.engine.messages.facts import Ended
from weft.forecast.replications import Rehearsal, play_all
from weft.plan.loader.load import load_plan
from weft.store.sqlite import open_reader

REPLICATIONS = 1_000
PLANS = 20
_CLOSE = 0.1
_SEED = 20


# Speed


def speed(sizes: Sizes) -> list[Row]:
    small, large = sizes(1_000, 50), sizes(10_000, 200)
    of_small = _replication(small, sizes(20, 2))
    of_large = _replication(large, sizes(3, 1))
    growth = (of_large / large) / (of_small / small)
    return [
        Row(
            name=f"{REPLICATIONS:,} replications of {small:,} slices, extrapolated from {sizes(20, 2)}",
            figure=REPLICATIONS * of_small,
            bar=at_most(60, "s"),
            ours=f"{1e6 * of_small / small:.0f} us for a slice, on one core",
        ),
        Row(
            name=f"a forecast slice of {large:,} beside one of {small:,}",
            figure=growth,
            bar=at_most(1.5),
            ours=f"{1e6 * of_large / large:.0f} us",
            beside=f"{1e6 * of_small / small:.0f} us",
        ),
    ]


def _replication(slices: int, count: int) -> float:
    """Returns the CPU seconds of a replication."""
    text = json.dumps(
        {
            "weft": 1,
            "plan": "many",
            "isolation": "none",
            "max_parallel": 8,
            "subplans": [
                {
                    "id": f"s{number}",
                    "depends_on": [f"s{number - 10}"] if number >= 10 else [],
                    "steps": [{"id": "work", "run": "true", "estimate": {"minutes": "5..20", "fail": 0.05}}],
                }
                for number in range(slices)
            ],
        }
    )
    rehearsal = Rehearsal(load_plan(text))
    play_all(rehearsal, [0])
    gc.disable()  # as `weft simulate` does
    try:
        return cpu(lambda: play_all(rehearsal, range(count))) / count
    finally:
        gc.enable()


# Accuracy


def accuracy(sizes: Sizes) -> list[Row]:
    trials = [_trial(number, sizes(1_000, 100) / 1_000) for number in range(sizes(PLANS, 1))]
    ratios = sorted(actual / p50 for p50, actual, _ in trials)
    close = sum(abs(ratio - 1) <= _CLOSE for ratio in ratios)
    advised = [(actual, with_token) for _, actual, with_token in trials if with_token is not None]
    shorter = sum(after < before for before, after in advised)
    return [
        Row(
            name=f"real makespans of {len(trials)} sleeping plans within 10 % of the forecast P50",
            figure=close / len(trials),
            bar=at_least(0.9),
            ours=f"{close} of {len(trials)}; actual over P50 {ratios[0]:.3f} to {ratios[-1]:.3f}",
        ),
        Row(
            name="real runs that the advised token shortens",
            figure=shorter / len(advised) if advised else 1.0,
            bar=at_least(0.9),
            ours=f"{shorter} of {len(advised)} for which there was advice",
        ),
    ]


def _trial(number: int, unit: float) -> tuple[float, float, float | None]:
    """Returns the forecast P50, the real makespan, and that with the advised token, if there is advice."""
    random = Random(_SEED + number)
    plan = _plan(random, unit)
    with TemporaryDirectory() as parent:
        folder = Path(parent, "plan")
        write_plan(folder, json.dumps(plan))
        _makespan(folder)  # the history
        source = InputSource(name="weft.yaml", directory=folder)
        answer = forecast(ForecastRequest(source=source, runs=200, is_fresh=True), environ={})
        actual = _makespan(folder)
        more = _with_advice(plan, answer)
        if more is None:
            return answer.summary.p50.value, actual, None
        (folder / "weft.yaml").write_text(json.dumps(more))
        return answer.summary.p50.value, actual, _makespan(folder)


def _plan(random: Random, unit: float) -> dict[str, Any]:
    subplans: list[dict[str, Any]] = []
    has_pool = random.random() < 0.5
    for number in range(random.randint(6, 10)):
        steps = [
            {"id": f"t{step}", "run": f"sleep {random.uniform(0.2, 1.0) * unit:.3f}"}
            for step in range(random.randint(1, 2))
        ]
        if has_pool:
            steps[-1]["pool"] = "db"
        before = [other["id"] for other in subplans if random.random() < 0.15]
        subplans.append({"id": f"s{number}", "depends_on": before, "steps": steps})
    plan = {"weft": 1, "plan": "sleeping", "isolation": "none", "max_parallel": random.randint(2, 3)}
    return plan | ({"pools": {"db": 1}} if has_pool else {}) | {"subplans": subplans}


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
