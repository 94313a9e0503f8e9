"""Watches the checkouts in which no step is to work: the user's, and the worktrees of slices that are idle.

An agent has a worktree of its own, and nothing but a sandbox keeps it there. So the other checkouts are looked at
before agents start and after each step of an agent, and what has changed in between is reported with the end of
the step. A change has no name on it: the user works in the checkout, too, and several agents may run. So the
report says during which steps it was, and nothing fails.

A look is kept until the next one, which is compared with it. It is dropped

- of a worktree, when Weft or a step begins or ends something there;
- of all, when an agent starts and no other has run since: what came before was not an agent.

Landing moves the user's checkout from one commit to another, which is no difference from its commit. Each check
takes a bounded time: the user's checkout comes first, then the worktrees whose last look is the oldest. A place
that cannot be looked at in time is not watched any more.
"""

from collections.abc import Callable, Iterable
from pathlib import Path
from time import monotonic

import anyio
from msgspec.structs import replace

from weft.engine.messages.facts import Ended, OutsideChange
from weft.engine.messages.orders import AnyOrder, Launch, Ordered, Prepare
from weft.engine.messages.step_refs import ExecutionKey
from weft.ports.checkout import CheckoutState, LookAt
from weft.threads import run_sync

CHECKOUT = ""
"""The user's checkout, among the paths of slices."""
BOUND = 2.0
"""Seconds for the looks of one check."""
MOST_FILES = 10


class OutsideWatch:
    def __init__(
        self,
        look_at: LookAt | None = None,
        *,
        checkout: Path | None = None,
        worktree: Callable[[str], Path] = Path,
        bound: float = BOUND,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        """Without `look_at` nothing is watched; without `checkout`, only worktrees are."""
        self._look_at = look_at
        self._checkout = checkout
        self._worktree = worktree
        self._bound = bound
        self._clock = clock
        self._lock = anyio.Lock()
        self._orders: dict[ExecutionKey, Ordered] = {}
        """What is under way."""
        self._agents: dict[ExecutionKey, str] = {}
        """The steps of agents among these."""
        self._slices: set[str] = set()
        """Those that have a worktree."""
        self._looks: dict[str, CheckoutState] = {}
        """The last look at each place."""
        self._order: dict[str, None] = {}
        """All places that were ever looked at, the one whose look is the oldest first."""
        self._during: dict[str, dict[str, None]] = {}
        """The agents' steps that ran since the last look at each place."""
        self._unwatched: set[str] = set()

    # What is under way

    def ordered(self, order: AnyOrder) -> None:
        if not isinstance(order, Ordered):
            return
        self._orders[order.key] = order
        if isinstance(order, Prepare):
            self._slices.add(order.path)
            self._unwatched.discard(order.path)
        self._drop(order.path)

    def reported(self, fact: Ended) -> None:
        execution = fact.key
        self._agents.pop(execution, None)
        order = self._orders.pop(execution, None)
        if order is not None:
            self._drop(order.path)

    def _drop(self, path: str) -> None:
        if path != CHECKOUT:
            self._looks.pop(path, None)

    def _is_idle(self, place: str) -> bool:
        return place == CHECKOUT or all(order.path != place for order in self._orders.values())

    # Around the step of an agent

    async def begins(self, launch: Launch) -> None:
        """To be awaited before the step starts."""
        if self._look_at is None or launch.agent is None:
            return
        async with self._lock:
            self._looks = {place: look for place, look in self._looks.items() if self._during[place]}
            name = f"{launch.path}:{launch.step}"
            self._agents[launch.key] = name
            await self._check([place for place in self._places() if place not in self._looks])
            for place in self._looks:
                self._during[place][name] = None

    async def ended(self, launch: Launch, fact: Ended) -> Ended:
        """The fact, with what has changed outside; to be awaited before it is reported."""
        if self._look_at is None or launch.agent is None:
            return fact
        async with self._lock:
            self._agents.pop(launch.key, None)
            changes = await self._check(self._places())
        return replace(fact, outside=tuple(changes)) if changes else fact

    def _places(self) -> list[str]:
        new = sorted(self._slices - self._order.keys())
        checked = [place for place in self._order if place in self._slices]
        return [CHECKOUT, *new, *checked]

    async def _check(self, places: Iterable[str]) -> list[OutsideChange]:
        """Looks at these places, as many as there is time for; the changes since the last look at each."""
        until = self._clock() + self._bound
        changes: list[OutsideChange] = []
        for place in places:
            if self._clock() >= until:
                break
            directory = self._checkout if place == CHECKOUT else self._worktree(place)
            if directory is None or place in self._unwatched or not self._is_idle(place):
                continue
            before = self._looks.get(place)
            changes += await self._compare(place, directory, before)
        return changes

    async def _compare(
        self, place: str, directory: Path, before: CheckoutState | None
    ) -> list[OutsideChange]:
        assert self._look_at is not None
        self._order.pop(place, None)
        self._order[place] = None
        now = await run_sync(self._look_at, directory)
        if not self._is_idle(place) or self._looks.get(place) is not before:
            return []  # something began there meanwhile
        if now is None:
            self._unwatched.add(place)
            self._looks.pop(place, None)
            return []
        files = before.changed_in(now) if before is not None else []
        during = tuple(self._during.get(place, ()))
        self._looks[place] = now
        self._during[place] = dict.fromkeys(self._agents.values())
        if not files:
            return []
        few, more = tuple(files[:MOST_FILES]), max(0, len(files) - MOST_FILES)
        return [OutsideChange(place=place, directory=str(directory), files=few, more=more, during=during)]
