"""Results that contain a failing result by chance, and are rebuilt without it.

A slice that started while another result was merged, but not verified yet, contains that result. If the verify of
the other one fails, the slice is held behind it although it does not depend on it. The queue then rebuilds the
slice from its own commits and tries it again, like any result that has just joined: all verifies run on its new
tree.

The verify of a result that is held may pass later, together with others. Until then it counts as failing, also for
results that reach the queue after it.

A result is rebuilt at most once without the same others, because it does not contain them afterwards.
"""

from collections.abc import Mapping
from functools import partial

from weft.engine.messages.orders import Land
from weft.errors import WeftError
from weft.ports.target import LandingTarget
from weft.ports.workspaces import HeldError
from weft.runtime.lineage import Lineage
from weft.threads import run_sync


class Rebuilds:
    def __init__(self, target: LandingTarget, lineage: Lineage) -> None:
        self._target = target
        self._lineage = lineage
        self._failing: set[str] = set()
        """The results that are held because a verify fails with them."""
        self._notes: dict[str, str] = {}

    def held(self, path: str, error: HeldError) -> None:
        """Notes that a result is held."""
        # A message about another subject means that the verify fails on the target itself.
        if error.red and str(error).startswith(f"{path} "):
            self._failing.add(path)
        else:
            self._failing.discard(path)

    async def orders_to_retry(self, held: Mapping[Land, HeldError]) -> list[Land]:
        """Rebuilds results without those that they are held behind, and returns the ones to try again."""
        orders = [order for order, error in held.items() if await self._rebuild(order, error)]
        # What waits for one of these as well can be rebuilt after it has landed.
        while True:
            paths = {order.path for order in orders}
            more = [
                order
                for order, error in held.items()
                if order.path not in paths and not paths.isdisjoint(error.waits_for)
            ]
            if not more:
                return orders
            orders += more

    async def _rebuild(self, order: Land, error: HeldError) -> bool:
        """Rebuilds a result without those that it is held behind; returns whether that was possible."""
        if order.within or not error.waits_for or not self._failing.issuperset(error.waits_for):
            return False
        request = self._lineage.apart(order.row, error.waits_for)
        if request is None:
            return False
        try:
            releases = self._lineage.settings(order.row).keep_worktrees != "always"
            kept = await run_sync(partial(self._target.rebuild, request, releases=releases))
        except (WeftError, OSError):
            return False  # the reason that holds the result is the one to report
        if kept:
            self._notes[order.path] = (
                f"rebuilt without the work of {' and '.join(error.waits_for)}, which it does not depend on; "
                f"its earlier commits are kept as {kept}"
            )
        return bool(kept)

    def note_of(self, path: str) -> str:
        """Returns a phrase about a result that was rebuilt; empty for others."""
        return self._notes.get(path, "")
