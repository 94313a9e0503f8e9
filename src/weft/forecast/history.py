"""Samples of the executions of earlier runs, from any source."""

from collections.abc import Mapping

from msgspec import Struct

from weft.engine.messages.internal_steps import is_internal
from weft.forecast.spread import LogSample, Noise, Spread


class WorkSample(Struct, frozen=True, kw_only=True):
    """The ended executions of a step, of an agent, or of one kind of work of Weft itself."""

    seconds: LogSample = LogSample()
    """Of the executions that succeeded or failed by themselves."""
    cost: LogSample = LogSample()
    """In micro-dollars, of the executions with a known cost that is not zero."""
    free: int = 0
    """Executions that are known to have cost nothing."""
    unpriced: int = 0
    """Executions of agents with an unknown cost."""
    failures: int = 0

    @property
    def count(self) -> int:
        return self.seconds.count

    @property
    def is_priced(self) -> bool:
        """Whether most of its executions have a known cost."""
        return bool(self.cost.count + self.free) and self.cost.count + self.free >= self.unpriced


class LimitSample(Struct, frozen=True, kw_only=True):
    """The usage limits that an agent has met."""

    share: float = 0.0
    """Of its executions."""
    wait: Spread = Spread(3600.0)
    """Seconds until the limit ended."""


class History(Struct, frozen=True, kw_only=True):
    """The samples of a project."""

    steps: Mapping[tuple[str, str], WorkSample] = {}
    """By path and step; the work of Weft itself has the name of its internal step."""
    agents: Mapping[str, WorkSample] = {}
    """By the name of the agent."""
    kinds: Mapping[str, WorkSample] = {}
    """By the name of the internal step: workspaces, merges, verifies."""
    noises: Mapping[str, Noise] = {}
    """How much durations of the same step differ: by the name of the agent or internal step; empty: commands."""
    cost_noises: Mapping[str, Noise] = {}
    """The same for costs, by the name of the agent."""
    limits: Mapping[str, LimitSample] = {}
    """By the name of the agent."""
    runs: int = 0
    """The number of runs that they come from."""
    sigma: float | None = None
    """How much whole runs differ, as the standard deviation of a logarithm; None if too few are known."""

    @property
    def executions(self) -> int:
        """The executions of the plan's own steps."""
        return sum(sample.count for (_, step), sample in self.steps.items() if not is_internal(step))


NO_HISTORY = History()
