"""Plans for forecasts in a few words: commands with known durations, and nights that are all alike."""

import json
from collections.abc import Iterable
from math import log
from typing import Any

from weft.forecast.history import History, WorkSample
from weft.forecast.replications import Rehearsal, play_all
from weft.forecast.run_outcome import RunOutcome
from weft.forecast.spread import LogSample
from weft.forecast.start import Start
from weft.forecast.tally import Tally
from weft.plan.loader.load import Surroundings, load_plan
from weft.plan.model import Plan

Data = dict[str, Any]

STEADY = History(sigma=0.0)
"""Whole runs do not differ: durations are as the plan states them."""


MANY = 10**15
"""So many executions leave no doubt about their mean and variance."""


def sampled(seconds: float, count: int = MANY, variance: float = 0.0) -> WorkSample:
    """Executions that all took about as long."""
    return WorkSample(seconds=LogSample(count, log(seconds), variance))


def steady(**kinds: float) -> History:
    """The work of Weft itself takes these seconds, and otherwise none that count."""
    every = dict.fromkeys(("workspace", "merge", "land", "verify"), 1e-6) | kinds
    return History(sigma=0.0, kinds={f"@{name}": sampled(seconds) for name, seconds in every.items()})


def work(id_: str = "work", minutes: object = 1, **more: Any) -> Data:
    """A command."""
    estimate = {"minutes": minutes} | more.pop("estimate", {})
    return {"id": id_, "run": "true", "estimate": estimate, **more}


def call(id_: str = "call", minutes: object = 1, **more: Any) -> Data:
    """A call of an agent."""
    estimate = {"minutes": minutes} | more.pop("estimate", {})
    return {"id": id_, "agent": "coder", "prompt": "do", "estimate": estimate, **more}


def leaf(id_: str, *steps: Data, **more: Any) -> Data:
    return {"id": id_, "prompt": "do", "steps": steps or [work()], **more}


def group(id_: str, *subplans: Data, **more: Any) -> Data:
    return {"id": id_, "subplans": subplans, **more}


def plan(*subplans: Data, git: bool = False, **head: Any) -> Plan:
    """In one directory, so that Weft itself does nothing that takes time; no step meets its time limit."""
    data: Data = {"weft": 1, "plan": "p", "isolation": "none", "timeout": "100h"} | head
    if "coder" in json.dumps([subplans, head]):
        data = {"agents": {"coder": {"use": "claude"}}, "agent": "coder"} | data
    return load_plan(json.dumps(data | {"subplans": subplans}), surroundings=Surroundings(git=git))


def rehearsal(
    *subplans: Data, history: History = STEADY, seed: int = 1, start: Start | None = None, **head: Any
) -> Rehearsal:
    return Rehearsal(plan(*subplans, **head), history, seed=seed, start=start or Start())


def outcome(*subplans: Data, **more: Any) -> RunOutcome:
    return rehearsal(*subplans, **more).play(0)


def tally(*subplans: Data, runs: Iterable[int] = range(200), **more: Any) -> Tally:
    return play_all(rehearsal(*subplans, **more), runs)
