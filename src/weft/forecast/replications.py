"""Replications of a plan: as many runs in virtual time as wanted, each with its own luck."""

from collections.abc import Iterable, Mapping

from msgspec import Struct

from weft.engine.engine import Engine
from weft.engine.messages.facts import EarlierSlice, EarlierSpending, RunStarted
from weft.engine.state.engine_state import engine_tables
from weft.forecast.bounds import LowerBounds
from weft.forecast.caps import watched_caps
from weft.forecast.chains import Chains
from weft.forecast.estimates import Estimates
from weft.forecast.history import NO_HISTORY, History
from weft.forecast.rehearsal import rehearsed, with_pool, with_width
from weft.forecast.tally import Tally
from weft.forecast.virtual_run import RunOutcome, VirtualRun
from weft.forecast.world import World, WorldSettings
from weft.plan.compile.compile import compile_plan
from weft.plan.model import Plan
from weft.plan.order.outline import ROOT


class Change(Struct, frozen=True):
    """A different size of a limit.

    `slots` is the `max_parallel` of the plan, `slots:PATH` that of a group; otherwise `pool:NAME` or `agent:NAME`.
    """

    name: str
    size: int

    def applied(self, plan: Plan) -> Plan:
        kind, _, path = self.name.partition(":")
        if kind == "slots":
            return with_width(plan, self.size, path)
        return with_pool(plan, self.name, self.size)


class Start(Struct, frozen=True, kw_only=True):
    """Where replications start."""

    carried: tuple[str, ...] = ()
    """The subplans that earlier runs have completed."""
    landed: tuple[str, ...] = ()
    """Those of them that have landed."""
    earlier: tuple[EarlierSpending, ...] = ()
    """The spending of earlier runs that counts against the ceilings."""
    continued: tuple[EarlierSlice, ...] = ()
    """The slices that have completed some of their steps."""
    running: Mapping[tuple[str, str], float] = {}
    """By path and step of a run that is under way: the seconds for which its executions have run."""


class Rehearsal:
    """A plan that is ready to be played many times."""

    def __init__(
        self,
        plan: Plan,
        history: History = NO_HISTORY,
        *,
        seed: int = 1,
        start: Start = Start(),  # noqa: B008 - frozen
    ) -> None:
        self._plan = rehearsed(plan)
        self._history = history
        self._start = start
        self.compiled = compile_plan(self._plan)
        self.estimates = Estimates(self._plan, history)
        self._settings = WorldSettings(
            estimates=self.estimates,
            seed=seed,
            batch=plan.scopes[ROOT].settings.merge_batch,
            running=start.running,
        )
        self.seed = seed
        self._chains = Chains(plan.outline, self.compiled.after)
        self._bounds = LowerBounds(self.compiled)
        # The tables depend only on the plan. To build them takes as long as many steps.
        self._tables = engine_tables(self.compiled)
        limits = self._tables.limits
        caps = watched_caps(plan.outline, limits)
        self._watched = {name: number for name, number in limits.caps.items() if name in caps} | limits.named

    @property
    def sizes(self) -> dict[str, int]:
        """The sizes of the limits: each `max_parallel`, and the pools of the plan and of its agents."""
        limits = self._tables.limits
        return {name: limits.sizes[number] for name, number in (limits.caps | limits.named).items()}

    def changed(self, changes: Iterable[Change]) -> "Rehearsal":
        """Returns the rehearsal of the same plan with other limits and the same luck."""
        plan = self._plan
        for change in changes:
            plan = change.applied(plan)
        return Rehearsal(plan, self._history, seed=self.seed, start=self._start)

    def add_to(self, tally: Tally, replication: int, *, watches_pools: bool = True) -> None:
        """Plays a replication and adds it to a tally."""
        outcome = self.play(replication, watches_pools=watches_pools)
        tally.add(replication, outcome, self._chains.last(outcome.ends), self._bounds.of(outcome.chains))

    def play(self, replication: int, *, watches_pools: bool = True) -> RunOutcome:
        """Returns the outcome of a replication."""
        start = self._start
        engine = Engine(self.compiled, writes_events=False, tables=self._tables)
        watched = self._watched if watches_pools else {}
        run = VirtualRun(engine, World(self._settings, replication), watched=watched)
        return run.play(
            RunStarted(
                at=0.0,
                run="forecast",
                carried=start.carried,
                landed=start.landed,
                earlier=start.earlier,
                continued=start.continued,
            )
        )


def play_all(rehearsal: Rehearsal, numbers: Iterable[int], *, watches_pools: bool = True) -> Tally:
    """Returns the tally of replications."""
    tally = Tally()
    for number in numbers:
        rehearsal.add_to(tally, number, watches_pools=watches_pools)
    return tally
