"""The present use of pools: what holds them, and what waits for them."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from weft.app.read_model.history import ready_at
from weft.app.read_model.live_run import LiveRun
from weft.app.read_model.run_shapes import PoolHolder, PoolWaiter
from weft.app.read_model.subplan_shapes import LackedPool
from weft.app.views.wording.limits import limit_name
from weft.engine.messages.step_refs import ExecutionKey
from weft.engine.positions import HeldRoom, WaitingWork, WaitReason
from weft.terms import AT_REST

if TYPE_CHECKING:
    from weft.app.read_model.engine_copy import ReadableEngine

MOST_LISTED = 100
_MOST_HOLDERS = 20


class PoolUses:
    """What the engine knows about the pools of a run; nothing of a run that is over."""

    def __init__(self, live: LiveRun) -> None:
        self._live = live
        engine = None if live.state in AT_REST else live.engine()
        self._held: dict[str, list[HeldRoom]] = {}
        self._waiting: dict[str, list[WaitingWork]] = {}
        if engine is not None:
            self._read(engine)

    def _read(self, engine: "ReadableEngine") -> None:
        for held in engine.held_room():
            self._held.setdefault(limit_name(held.pool), []).append(held)
        for work in engine.waiting_work():
            for pool in work.pools:
                self._waiting.setdefault(limit_name(pool), []).append(work)

    def in_use(self, pool: str) -> int:
        return sum(held.amount for held in self._held.get(pool, ()))

    def holding(self, pool: str) -> int:
        """Returns how many hold something of a pool."""
        return len(self._held.get(pool, ()))

    def waiting(self, pool: str) -> int:
        """Returns how many wait for a pool."""
        return len(self._waiting.get(pool, ()))

    def holders(self, pool: str, most: int = MOST_LISTED) -> list[PoolHolder]:
        return [self._holder(held) for held in self._held.get(pool, ())[:most]]

    def waiters(self, pool: str) -> list[PoolWaiter]:
        """Returns what waits for a pool, the longest wait first."""
        now = self._live.context().now
        waiters = [
            PoolWaiter(
                path=self._live.view.outline.paths[work.row], step=work.step, since=self._since(work.row, now)
            )
            for work in self._waiting.get(pool, ())
        ]
        return sorted(waiters, key=lambda waiter: waiter.since)[:MOST_LISTED]

    def _holder(self, held: HeldRoom) -> PoolHolder:
        view, row = self._live.view, self._live.view.rows[held.row]
        record = None
        if held.execution is not None:
            record = self._live.history.executions.find(held.row, ExecutionKey(*held.execution))
        since = (row.started_at if record is None else record.started_at) or view.at
        running = ", ".join(step.step for step in row.steps.values())
        step = running if not held.step else held.step if record is None else record.step
        return PoolHolder(path=view.outline.paths[held.row], step=step, items=list(held.items), since=since)

    def _since(self, row: int, now: float) -> float:
        """Returns since when a subplan waits: the end of its last step, or of the last thing it depends on."""
        ends = [record.ended_at for record in self._live.history.of(row) if record.ended_at is not None]
        if ends:
            return max(ends)
        return ready_at(self._live.view, row, self._live.recorded.run.created_at, now)


def waits_of(live: LiveRun, row: int) -> list[WaitingWork]:
    """Returns what waits of a subplan."""
    engine = None if live.state in AT_REST else live.engine()
    return [] if engine is None else [work for work in engine.waiting_work() if work.row == row]


def lacked_pools(live: LiveRun, waits: Iterable[WaitingWork]) -> Iterator[LackedPool]:
    """Yields the pools without room for work, with what holds them."""
    uses: PoolUses | None = None
    for work in waits:
        for pool in work.pools:
            uses = uses or PoolUses(live)
            name = limit_name(pool)
            holders = uses.holders(name, _MOST_HOLDERS)
            yield LackedPool(
                name=name, step=work.step, holders=holders, more=uses.holding(name) - len(holders)
            )


_REASONS = {
    WaitReason.BUDGET: "It waits for money that other steps have reserved.",
    WaitReason.LIMIT: "It waits for the end of a usage limit.",
    WaitReason.PAUSED: "It is paused.",
}


def wait_sentence(waits: Sequence[WaitingWork]) -> str:
    """Returns why work that could go on does not; empty if nothing waits."""
    if not waits:
        return ""
    pools = dict.fromkeys(limit_name(pool) for work in waits for pool in work.pools)
    if pools:
        return f"It waits for {', '.join(pools)}."
    reason = next((work.reason for work in waits if work.reason in _REASONS), None)
    return _REASONS[reason] if reason is not None else "It is ready; work that is further along comes first."
