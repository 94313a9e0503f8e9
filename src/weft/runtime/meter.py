"""Looks, once a second, what the agents under way have spent so far, and has the engine hear of it.

What it hears is in the journal, as the engine's state depends on it; so it is told only what is worth a row: what
comes to a hundredth of a ceiling, and anything else a few seconds later. When one has something worth to be told,
all tell what they have: that costs no transaction more. A file that has not changed is not read, and nobody is
asked twice: what is known already is what the engine says, also to a coordinator that has just taken over.
"""

import os
import stat
from collections.abc import Callable, Iterable
from math import inf
from pathlib import Path

import anyio
from msgspec import Struct

from weft.engine.engine import Engine
from weft.engine.messages.facts import Spent
from weft.engine.messages.orders import Launch
from weft.ports.agent import Progress
from weft.runtime.inbox import Inbox
from weft.runtime.jobs import JobFactory, SpendingGauge
from weft.runtime.results import last_lines

EVERY = 1.0
"""Seconds between looks."""
SECONDS = 5.0
"""After so long anything is worth to be told."""
PERCENT = 1
"""So much of a ceiling is worth it at once."""
MOST = 2**16
"""Bytes that are read of a file; what an agent says at its end may be longer."""

_Mark = tuple[int, int, int]


class _Watched(Struct, eq=False):
    gauge: SpendingGauge
    mark: _Mark | None = None
    """Of the file as it was read last."""
    progress: Progress | None = None
    told_at: float = -inf


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
        """`launches` are those of agents under way, each with its directory."""
        self._engine = engine
        self._jobs = jobs
        self._inbox = inbox
        self._launches = launches
        self._now = now
        self._watched: dict[tuple[int, int], _Watched | None] = {}

    async def watch(self) -> None:
        while True:
            await anyio.sleep(EVERY)
            self.look()

    def look(self) -> None:
        now = self._now()
        running = {(launch.firing, launch.execution): (launch, cwd) for launch, cwd in self._launches()}
        self._watched = {key: one for key, one in self._watched.items() if key in running}
        news: list[tuple[Spent, _Watched]] = []
        is_worth_it = False
        for key, (launch, cwd) in running.items():
            watched = self._watch(key, launch, cwd)
            fact = None if watched is None else self._news(watched, launch, now)
            if watched is not None and fact is not None:
                news.append((fact, watched))
                is_worth_it = is_worth_it or self._is_worth_it(watched, launch, fact)
        for fact, watched in news if is_worth_it else ():
            watched.told_at = now
            self._inbox.put(fact)

    def _watch(self, key: tuple[int, int], launch: Launch, cwd: Path) -> _Watched | None:
        if key not in self._watched:
            gauge = self._jobs.gauge(launch, cwd)
            self._watched[key] = None if gauge is None else _Watched(gauge)
        return self._watched[key]

    def _news(self, watched: _Watched, launch: Launch, now: float) -> Spent | None:
        """What the engine has not heard."""
        mark = _mark(watched.gauge.file)
        if mark is not None and mark != watched.mark:
            watched.mark = mark
            watched.progress = watched.gauge.read(last_lines(watched.gauge.file, MOST)) or watched.progress
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

    def _is_worth_it(self, watched: _Watched, launch: Launch, fact: Spent) -> bool:
        if fact.at - watched.told_at >= SECONDS:
            return True
        known, ceilings = self._engine.spent_so_far(launch.firing), self._engine.lowest_ceilings(launch.row)
        return any(
            ceiling is not None and ((now or 0) - before) * 100 >= ceiling * PERCENT
            for now, before, ceiling in zip((fact.cost, fact.tokens), known, ceilings, strict=True)
        )


def _mark(file: str) -> _Mark | None:
    """By which one sees whether a file is another than before; None if there is none."""
    try:
        found = os.lstat(file)
    except OSError:
        return None
    return (found.st_mtime_ns, found.st_size, found.st_ino) if stat.S_ISREG(found.st_mode) else None
