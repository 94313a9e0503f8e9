"""The samples of a project's journal: how long its steps took, what they cost, and how often they failed."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from math import log
from statistics import fmean, stdev

from msgspec import Struct, field

from weft.engine.messages.events import (
    AnyEvent,
    LimitedEvent,
    StepFinishedEvent,
    StepStartedEvent,
    VerifyEvent,
)
from weft.engine.messages.internal_steps import InternalStep, is_internal
from weft.engine.messages.landing_events import VerifyOutcome
from weft.engine.messages.step_events import StepEnd
from weft.forecast.history import History, LimitSample, WorkSample
from weft.forecast.spread import log_sample, pooled
from weft.ports.journal import JournalReader

_ENDED = frozenset({StepEnd.DONE, StepEnd.REJECTED, StepEnd.FAILED, StepEnd.TIMEOUT})
"""The ends of executions that took as long as they take. Others were cut off."""
_RUNS = 3
"""So many runs are needed to see how much they differ, with as many steps in common."""

_WAITS = 0.5**2
"""The variance, of logarithms, that is assumed for the lengths of usage limits."""

StepKey = tuple[str, str]


class _Observations(Struct):
    """The executions of one kind of work."""

    seconds: list[float] = field(default_factory=list[float])
    costs: list[float] = field(default_factory=list[float])
    free: int = 0
    unpriced: int = 0
    failures: int = 0
    group: str = ""
    """Of a step: the name of its agent or of the internal step that it is; empty for a command."""

    def sample(self) -> WorkSample:
        return WorkSample(
            seconds=log_sample(self.seconds),
            cost=log_sample(self.costs),
            free=self.free,
            unpriced=self.unpriced,
            failures=self.failures,
        )


def _table() -> defaultdict[str, _Observations]:
    return defaultdict(_Observations)


class Samples:
    """Observations from the events of runs."""

    def __init__(self) -> None:
        self._steps: defaultdict[StepKey, _Observations] = defaultdict(_Observations)
        self._agents = _table()
        self._kinds = _table()
        self._calls: dict[str, int] = defaultdict(int)
        self._waits: defaultdict[str, list[float]] = defaultdict(list)
        self._runs: list[dict[StepKey, list[float]]] = []

    def add_run(self, events: Iterable[tuple[float, AnyEvent]], *, is_same_plan: bool) -> None:
        """Adds the events of a run. Of steps of other plans, only the agent and the kind of work count."""
        started: dict[tuple[int, int], StepStartedEvent] = {}
        durations: defaultdict[StepKey, list[float]] = defaultdict(list)
        for at, event in events:
            if isinstance(event, StepStartedEvent):
                started[event.firing, event.execution] = event
            elif isinstance(event, StepFinishedEvent):
                start = started.pop((event.firing, event.execution), None)
                if start is not None:
                    self._add_end(start, event, durations if is_same_plan else None)
            else:
                self._add_other(at, event)
        if durations:
            self._runs.append(durations)

    def _add_other(self, at: float, event: AnyEvent) -> None:
        if isinstance(event, LimitedEvent):
            for agent in event.agents:
                self._waits[agent].append(max(event.until - at, 1.0))
        elif isinstance(event, VerifyEvent) and event.outcome is VerifyOutcome.PASSED:
            self._kinds[InternalStep.LAND].seconds.append(event.seconds or 0.0)

    def _add_end(
        self, start: StepStartedEvent, end: StepFinishedEvent, durations: dict[StepKey, list[float]] | None
    ) -> None:
        if start.agent is not None:
            self._calls[start.agent] += 1
        if end.outcome not in _ENDED or end.seconds is None:
            return
        # The time that a landing takes includes its wait in the queue; its verify is counted by itself.
        if start.step == InternalStep.LAND:
            return
        observations = self._groups_of(start)
        if durations is not None:
            key = (start.subplan, start.step)
            own = self._steps[key]
            own.group = start.agent or (start.step if is_internal(start.step) else "")
            observations.append(own)
            durations[key].append(end.seconds)
        for each in observations:
            each.seconds.append(end.seconds)
            each.failures += end.outcome is not StepEnd.DONE
            if start.agent is not None:
                _add_cost(each, end)

    def _groups_of(self, start: StepStartedEvent) -> list[_Observations]:
        """Returns the wider groups to which a step belongs. A command belongs to none."""
        if start.agent is not None:
            return [self._agents[start.agent]]
        return [self._kinds[start.step]] if is_internal(start.step) else []

    def history(self) -> History:
        limits = {
            agent: LimitSample(
                share=min(len(waits) / max(self._calls[agent], len(waits)), 0.9),
                wait=log_sample(waits).any_value(_WAITS),
            )
            for agent, waits in self._waits.items()
        }
        steps = {key: each.sample() for key, each in self._steps.items()}
        groups: defaultdict[str, list[WorkSample]] = defaultdict(list)
        for key, each in self._steps.items():
            groups[each.group].append(steps[key])
        return History(
            steps=steps,
            agents={name: each.sample() for name, each in self._agents.items()},
            kinds={name: each.sample() for name, each in self._kinds.items()},
            noises={name: pooled(each.seconds for each in group) for name, group in groups.items()},
            cost_noises={name: pooled(each.cost for each in group) for name, group in groups.items()},
            limits=limits,
            runs=len(self._runs),
            sigma=_difference_of_runs(self._runs),
        )


def _add_cost(observations: _Observations, end: StepFinishedEvent) -> None:
    if end.cost is None or end.cost_at_least:
        observations.unpriced += 1
    elif end.cost:
        observations.costs.append(float(end.cost))
    else:
        observations.free += 1


def _log(seconds: float) -> float:
    # Below a millisecond, times differ by chance alone.
    return log(max(seconds, 1e-3))


def _difference_of_runs(runs: Sequence[dict[StepKey, list[float]]]) -> float | None:
    """Returns how much whole runs differ; None if too few runs have enough steps in common."""
    logs: defaultdict[StepKey, list[float]] = defaultdict(list)
    for run in runs:
        for key, seconds in run.items():
            logs[key] += map(_log, seconds)
    usual = {key: fmean(values) for key, values in logs.items() if len(values) >= _RUNS}
    effects: list[float] = []
    for run in runs:
        differences = [_log(value) - usual[key] for key in run if key in usual for value in run[key]]
        if len(differences) >= _RUNS:
            effects.append(fmean(differences))
    return stdev(effects) if len(effects) >= _RUNS else None


def read_samples(journal: JournalReader, plan: str) -> History:
    """Returns the history of a project for a plan."""
    samples = Samples()
    for record in journal.runs():
        events = ((recorded.at, recorded.event) for recorded in journal.events(record.run))
        samples.add_run(events, is_same_plan=record.plan == plan)
    return samples.history()
