"""Replications of a plan: as many runs in virtual time as wanted, each with its own luck."""

from collections.abc import Iterable

from msgspec import Struct

from weft.engine.engine import Engine
from weft.engine.messages.facts import RunStarted
from weft.engine.state.engine_state import engine_tables
from weft.forecast.bounds import LowerBounds
from weft.forecast.caps import watched_caps
from weft.forecast.chains import Chains
from weft.forecast.estimates import Estimates
from weft.forecast.history import NO_HISTORY, History
from weft.forecast.quick.quick_run import QuickRun
from weft.forecast.quick.quick_tables import quick_tables
from weft.forecast.rehearsal import rehearsed, with_pool, with_width
from weft.forecast.run_outcome import RunOutcome
from weft.forecast.start import Start
from weft.forecast.tally import Tally
from weft.forecast.virtual_run import VirtualRun
from weft.forecast.world import World, WorldSettings
from weft.plan.compile.compile import compile_plan
from weft.plan.model import Plan
from weft.plan.order.outline import ROOT

_FEW = 8
_MOST_TROUBLES = 0.75
"""Quick runs are tried until more than a few, and more than this share of them, were given up."""


class Change(Struct, frozen=True):
    """A different size of a limit.

    `slots` is the `max_parallel` of the plan, `slots:PATH` that of a group; otherwise `pool:NAME`,
    `agent:NAME` or `host:NAME`.
    """

    name: str
    size: int

    def applied(self, plan: Plan) -> Plan:
        kind, _, path = self.name.partition(":")
        if kind == "slots":
            return with_width(plan, self.size, path)
        return with_pool(plan, self.name, self.size)


class Rehearsal:
    """A plan that is ready to be played many times."""

    def __init__(
        self,
        plan: Plan,
        history: History = NO_HISTORY,
        *,
        seed: int = 1,
        start: Start = Start(),  # noqa: B008 - frozen
        is_quick: bool = True,
    ) -> None:
        """`is_quick`: false if the engine plays all replications, which changes nothing but the time."""
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
        self._is_quick = is_quick
        # A quick run does not place slices.
        may_be_quick = (
            is_quick and start.is_between_slices and not any(s.has_hosts for s in self.compiled.shapes)
        )
        self._quick = quick_tables(self.compiled, self._tables, self.estimates) if may_be_quick else None
        self._tries = self._troubles = 0
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
        return Rehearsal(plan, self._history, seed=self.seed, start=self._start, is_quick=self._is_quick)

    def add_to(self, tally: Tally, replication: int, *, watches_pools: bool = True) -> None:
        """Plays a replication and adds it to a tally."""
        outcome = self.play(replication, watches_pools=watches_pools)
        tally.add(replication, outcome, self._chains.last(outcome.ends), self._bounds.of(outcome.chains))

    def play(self, replication: int, *, watches_pools: bool = True) -> RunOutcome:
        """Returns the outcome of a replication."""
        if self._quick is not None and self._quick_runs_pay:
            self._tries += 1
            outcome = self.play_quickly(replication, watches_pools=watches_pools)
            if outcome is not None:
                return outcome
            self._troubles += 1
        return self._play_on_engine(replication, watches_pools=watches_pools)

    def play_quickly(self, replication: int, *, watches_pools: bool = True) -> RunOutcome | None:
        """Returns the outcome of a replication; None if only the engine can play it."""
        if self._quick is None:
            return None
        world, watched = World(self._settings, replication), self._watched if watches_pools else {}
        return QuickRun(self._quick, world, self._start, watched).play()

    @property
    def _quick_runs_pay(self) -> bool:
        """Whether quick runs have mostly come to their end so far. A run that is given up is lost time."""
        return self._troubles <= max(_FEW, self._tries * _MOST_TROUBLES)

    def _play_on_engine(self, replication: int, *, watches_pools: bool) -> RunOutcome:
        start, watched = self._start, self._watched if watches_pools else {}
        engine = Engine(self.compiled, writes_events=False, tables=self._tables)
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
