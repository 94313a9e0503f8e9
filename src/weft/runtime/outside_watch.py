"""Watches the checkouts in which no step should work: the user's, and the worktrees of idle slices.

An agent has its own worktree, but only a sandbox keeps it there. So Weft examines the other checkouts before an
agent starts and after each step of an agent, and reports changes in between with the end of the step. A change
does not show its author: the user works in the checkout, too, and several agents may run. So the report names the
steps that ran meanwhile, and no step fails.

The state of a checkout is kept and compared with the next one. It is dropped

- for a worktree, when Weft or a step starts or ends something there;
- for all, when an agent starts and no other has run since: no agent made the earlier changes.

A landing moves the user's checkout from one commit to another, which is no difference from its commit. Each check
takes a bounded time: it examines the user's checkout first, then the worktrees in order of their last examination.
A checkout that takes too long is no longer watched.
"""

from collections.abc import Callable, Iterable
from pathlib import Path
from time import monotonic

import anyio
from msgspec.structs import replace

from weft.engine.messages.facts import Ended, OutsideChange
from weft.engine.messages.orders import AnyOrder, Launch, Ordered, Prepare
from weft.engine.messages.step_refs import ExecutionKey
from weft.ports.checkout import CheckoutState, ReadCheckout
from weft.threads import run_sync

CHECKOUT = ""
"""The user's checkout, among the paths of slices."""
BOUND = 2.0
"""Seconds for one check of all places."""
MOST_FILES = 10


class OutsideWatch:
    def __init__(
        self,
        read_checkout: ReadCheckout | None = None,
        *,
        checkout: Path | None = None,
        worktree: Callable[[str], Path] = Path,
        bound: float = BOUND,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        """Without `read_checkout` nothing is watched; without `checkout`, only worktrees are."""
        self._read_checkout = read_checkout
        self._checkout = checkout
        self._worktree = worktree
        self._bound = bound
        self._clock = clock
        self._lock = anyio.Lock()
        self._orders: dict[ExecutionKey, Ordered] = {}
        """The orders in progress."""
        self._agents: dict[ExecutionKey, str] = {}
        """The running steps of agents, as `path:step`."""
        self._slices: set[str] = set()
        """The slices with a worktree."""
        self._states: dict[str, CheckoutState] = {}
        """The last state of each place."""
        self._order: dict[str, None] = {}
        """All examined places, the least recently examined first."""
        self._during: dict[str, dict[str, None]] = {}
        """By place, the steps of agents that ran since its last state."""
        self._unwatched: set[str] = set()

    # Orders in progress

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
            self._states.pop(path, None)

    def _is_idle(self, place: str) -> bool:
        return place == CHECKOUT or all(order.path != place for order in self._orders.values())

    # Around the step of an agent

    async def step_starts(self, launch: Launch) -> None:
        """Examines the checkouts. Must be awaited before the step starts."""
        if self._read_checkout is None or launch.agent is None:
            return
        async with self._lock:
            # A place in which no agent has worked since its last state is examined again: the user may have
            # edited files there in the meantime.
            self._states = {place: state for place, state in self._states.items() if self._during[place]}
            name = f"{launch.path}:{launch.step}"
            self._agents[launch.key] = name
            await self._check([place for place in self._places() if place not in self._states])
            for place in self._states:
                self._during[place][name] = None

    async def ended(self, launch: Launch, fact: Ended) -> Ended:
        """Returns the fact with the changes outside. Must be awaited before the fact is reported."""
        if self._read_checkout is None or launch.agent is None:
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
        """Examines these places, as many as time allows, and returns their changes since the last state."""
        until = self._clock() + self._bound
        changes: list[OutsideChange] = []
        for place in places:
            if self._clock() >= until:
                break
            directory = self._checkout if place == CHECKOUT else self._worktree(place)
            if directory is None or place in self._unwatched or not self._is_idle(place):
                continue
            before = self._states.get(place)
            changes += await self._compare(place, directory, before)
        return changes

    async def _compare(
        self, place: str, directory: Path, before: CheckoutState | None
    ) -> list[OutsideChange]:
        assert self._read_checkout is not None
        # To the end of the queue, so that with too many worktrees for the bound each gets its turn.
        self._order.pop(place, None)
        self._order[place] = None
        now = await run_sync(self._read_checkout, directory)
        # git ran in a thread, and the event loop handled orders meanwhile.
        if not self._is_idle(place) or self._states.get(place) is not before:
            return []  # an order started there meanwhile, so the states cannot be compared
        if now is None:
            self._unwatched.add(place)
            self._states.pop(place, None)
            return []
        files = before.changed_in(now) if before is not None else []
        during = tuple(self._during.get(place, ()))
        self._states[place] = now
        self._during[place] = dict.fromkeys(self._agents.values())
        if not files:
            return []
        few, more = tuple(files[:MOST_FILES]), max(0, len(files) - MOST_FILES)
        return [OutsideChange(place=place, directory=str(directory), files=few, more=more, during=during)]
