"""The meter: reads once a second how much the running agents have spent, and reports it to the engine.

Each report is a fact in the journal, since the state of the engine depends on it. So the meter reports only
amounts that are worth a row: at least a hundredth of a ceiling, or any amount after a few seconds. When one
agent has such an amount, the meter reports all new amounts, since that needs no further transaction. It does
not read unchanged reports, and compares with the amounts in the engine, which a new coordinator has as well.
"""

from collections.abc import Callable, Iterable
from math import inf
from pathlib import Path

import anyio
from msgspec import Struct

from weft.engine.engine import Engine
from weft.engine.messages.facts import Spent
from weft.engine.messages.orders import Launch
from weft.engine.messages.step_refs import ExecutionKey
from weft.ports.agent import Progress
from weft.ports.host import PartState
from weft.runtime.inbox import Inbox
from weft.runtime.jobs import JobFactory, SpendingGauge

EVERY = 1.0
"""Seconds between readings."""
SECONDS = 5.0
"""Seconds after which any amount is reported."""
PERCENT = 1
"""The percentage of a ceiling that is reported at once."""
MOST = 2**16
"""Bytes that are read from the end of a file."""


class _WatchedAgent(Struct, eq=False):
    gauge: SpendingGauge
    state: PartState | None = None
    """The state of the report at the last reading."""
    progress: Progress | None = None
    reported_at: float = -inf


class Meter:
    def __init__(
        self,
        engine: Engine,
        jobs: JobFactory,
        inbox: Inbox,
        *,
        launches: Callable[[], Iterable[tuple[Launch, Path]]],
        now: Callable[[], float],
    ) -> None:
        """`launches` returns the launches of running agents, each with its directory."""
        self._engine = engine
        self._jobs = jobs
        self._inbox = inbox
        self._launches = launches
        self._now = now
        self._watched: dict[ExecutionKey, _WatchedAgent | None] = {}

    async def watch(self) -> None:
        while True:
            await anyio.sleep(EVERY)
            self.read_all()

    def read_all(self) -> None:
        now = self._now()
        running = {launch.key: (launch, cwd) for launch, cwd in self._launches()}
        self._watched = {key: watched for key, watched in self._watched.items() if key in running}
        news: list[tuple[Spent, _WatchedAgent]] = []
        is_worth_it = False
        for key, (launch, cwd) in running.items():
            watched = self._watch(key, launch, cwd)
            fact = None if watched is None else self._news(watched, launch, now)
            if watched is not None and fact is not None:
                news.append((fact, watched))
                is_worth_it = is_worth_it or self._is_worth_it(watched, launch, fact)
        for fact, watched in news if is_worth_it else ():
            watched.reported_at = now
            self._inbox.put(fact)

    def _watch(self, key: ExecutionKey, launch: Launch, cwd: Path) -> _WatchedAgent | None:
        if key not in self._watched:
            gauge = self._jobs.gauge(launch, cwd)
            self._watched[key] = None if gauge is None else _WatchedAgent(gauge)
        return self._watched[key]

    def _news(self, watched: _WatchedAgent, launch: Launch, now: float) -> Spent | None:
        """Returns the spending that the engine does not know yet, if any."""
        state = watched.gauge.state()
        if state is not None and state != watched.state:
            watched.state = state
            watched.progress = watched.gauge.read(MOST) or watched.progress
        progress = watched.progress
        if progress is None:
            return None
        cost, tokens = self._engine.spent_so_far(launch.firing)
        if (progress.cost or 0) <= cost and (progress.tokens or 0) <= tokens:
            return None
        return Spent(
            at=now,
            firing=launch.firing,
            execution=launch.execution,
            cost=progress.cost,
            tokens=progress.tokens,
        )

    def _is_worth_it(self, watched: _WatchedAgent, launch: Launch, fact: Spent) -> bool:
        if fact.at - watched.reported_at >= SECONDS:
            return True
        spent, ceilings = self._engine.spent_so_far(launch.firing), self._engine.lowest_ceilings(launch.row)
        return any(
            ceiling is not None and ((now or 0) - before) * 100 >= ceiling * PERCENT
            for now, before, ceiling in zip((fact.cost, fact.tokens), spent, ceilings, strict=True)
        )
