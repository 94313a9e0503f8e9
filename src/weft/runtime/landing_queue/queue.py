"""The landing queue: results wait here, are verified together, and land by one move of the target.

The queue takes all results that are ready as a *batch*, builds their chain of merges on the tip of the target and
has the tree at its end verified. What passes lands by one compare-and-swap; what does not is held. Results that
join while a batch is verified make the next one.

All that the queue knows is in git, in the journal and with the host. A queue that dies is replaced by one that
starts over: it builds the chain again, finds in the history of the target what has landed, and does not verify
again what has passed.
"""

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from enum import IntEnum
from functools import partial

import anyio
from anyio.lowlevel import checkpoint
from msgspec.structs import replace

from weft.engine.messages.facts import Ended, RefMove, StepOutcome
from weft.engine.messages.orders import Land
from weft.engine.messages.step_refs import ExecutionKey
from weft.errors import WeftError
from weft.plan.model import Plan
from weft.plan.order.outline import ROOT
from weft.ports.target import Chain, LandingEntry, LandingTarget, waits_for
from weft.ports.workspaces import HeldError, InfraError
from weft.runtime.jobs import reason
from weft.runtime.landing_queue.judge import ChainJudge
from weft.runtime.landing_queue.rebuilds import Rebuilds
from weft.runtime.landing_queue.verifier import HaltedError, Verifier, VerifyNotRunError
from weft.runtime.lineage import Lineage
from weft.threads import run_sync

TRIES = 5
"""How often a chain is built again because the target has moved meanwhile."""


class Purpose(IntEnum):
    """What the queue does with a result; the lowest comes first."""

    LAND = 0
    PREVIEW = 1
    """Verify it, for a person who is asked afterwards."""
    PRESENT = 2
    """Only find out whether it can be merged; a person has not agreed yet."""


class LandingQueue:
    def __init__(  # noqa: PLR0913 - by name, all of them
        self,
        *,
        plan: Plan,
        target: LandingTarget,
        lineage: Lineage,
        verifier: Verifier,
        on_target: Callable[[], AbstractSet[int]],
        is_to_land: Callable[[int], bool],
        now: Callable[[], float],
        report: Callable[[Ended], None],
        landed: Callable[[str], None] = lambda _commit: None,
    ) -> None:
        """`is_to_land` returns whether the result of a row is to land and has not, as far as the engine knows.

        `report` receives the end of each order, `landed` each new commit of the target.
        """
        settings = plan.scopes[ROOT].settings
        self._plan = plan
        self._target = target
        self._lineage = lineage
        self._judge = ChainJudge(target, verifier, allows_red_base=settings.merge_allow_red_base)
        self._rebuilds = Rebuilds(target, lineage)
        self._verifier = verifier
        self._on_target = on_target
        self._is_to_land = is_to_land
        self._now = now
        self._report = report
        self._landed = landed
        self._most = settings.merge_batch
        self._waiting: list[Land] = []
        self._batch: list[Land] = []
        """The orders that are worked on and have not ended."""
        self._halted: dict[ExecutionKey, StepOutcome] = {}
        self._rows: set[int] = set()
        """The rows that have landed, even if the engine does not know it yet."""
        self._is_busy = False
        self._moving = anyio.Lock()
        """Held while a batch is worked on, or a remote branch."""

    # Orders

    def add(self, order: Land) -> None:
        self._waiting.append(order)

    def halt(self, firing: int, execution: int, how: StepOutcome, *, now: bool) -> None:
        """Ends an order. Stops a verify that is running for it."""
        key = ExecutionKey(firing, execution)
        order = next((each for each in self._waiting if each.key == key), None)
        if order is not None:
            self._waiting.remove(order)
            self._finish(order, self._fact(order, how))
        elif any(each.key == key for each in self._batch):
            self._halted[key] = how
            self._verifier.halt(now=now)

    async def work(self) -> None:
        """Works until nothing waits; does nothing if another task works already."""
        if self._is_busy:
            return
        self._is_busy = True
        try:
            await checkpoint()  # the orders of one turn come one by one; all of them join the first batch
            while self._waiting:
                async with self._moving:
                    self._take_batch()
                    await self._work_on_batch()
                if not self._waiting:
                    # Orders may join meanwhile, and their own task leaves them to this one.
                    await self._verifier.discard_scratch()
        finally:
            self._is_busy = False

    def _take_batch(self) -> None:
        """Takes the first orders that are for one purpose."""
        purpose = min(map(_purpose, self._waiting))
        orders = [order for order in self._waiting if _purpose(order) is purpose]
        # A group and its completed parts have one branch, so they are not in one batch.
        orders = list({order.path: order for order in reversed(orders)}.values())[::-1]
        self._batch = orders[: self._most] if purpose is Purpose.LAND else orders
        self._waiting = [order for order in self._waiting if order not in self._batch]

    async def _work_on_batch(self) -> None:
        try:
            purpose = _purpose(self._batch[0])
            if purpose is Purpose.LAND:
                await self._land()
            else:
                await self._ask(verifies=purpose is Purpose.PREVIEW)
        except HaltedError:
            self._put_back()
        except VerifyNotRunError as error:
            for order in list(self._batch):
                self._finish(order, self._fact(order, error.how, str(error)))
        except (WeftError, OSError) as error:
            for order in list(self._batch):
                self._fail(order, error)
        finally:
            self._batch = []

    def _put_back(self) -> None:
        """Ends the orders that are to end; the others of the batch wait again."""
        self._verifier.resume()
        for order in [each for each in self._batch if each.key in self._halted]:
            self._finish(order, self._fact(order, self._halted.pop(order.key)))
        self._waiting = [*self._batch, *self._waiting]

    # Landing

    async def _land(self) -> None:
        for _ in range(TRIES):
            chain = await self._build_batch()
            await self._settle_outside(chain)
            self._defer(chain)
            if not chain.links:
                return
            judgement = await self._judge.judge(chain, self._build, self._on_target() | self._rows)
            # The culprits are held only after the rest has landed. If the target has moved, everything is
            # judged again on its new tip.
            if judgement.chain is None or await self._advance(judgement.chain):
                await self._hold_or_rebuild(judgement.held)
                return
        for order in list(self._batch):
            text = (
                f"{self._target.name} moved {TRIES} times while {order.path} was verified; when no other program "
                f"moves it, type: weft merge {order.path}"
            )
            self._hold_order(order, HeldError(text))

    async def _build_batch(self) -> Chain:
        """Builds the chain of the batch. Entries of a later batch join it if an entry here waits for them."""
        while True:
            chain = await self._build([order.path for order in self._batch])
            missing = {path for error in chain.held.values() for path in error.waits_for}
            joining = [order for order in self._waiting if order.path in missing and _is_for_landing(order)]
            if not joining:
                return chain
            self._waiting = [order for order in self._waiting if order not in joining]
            self._batch += joining

    def _defer(self, chain: Chain) -> None:
        """Puts entries in conflict with an earlier link first in the next batch."""
        deferred = [self._order_of(path) for path in chain.deferred]
        self._batch = [order for order in self._batch if order not in deferred]
        self._waiting = [*deferred, *self._waiting]

    async def _hold_or_rebuild(self, held: Mapping[str, HeldError]) -> None:
        """Holds entries that may not land; tries those again that could be rebuilt without the failing ones."""
        for path, error in held.items():
            if error.red:
                self._hold_order(self._order_of(path), error)
        behind = {self._order_of(path): error for path, error in held.items() if not error.red}
        for order in await self._rebuilds.orders_to_retry(behind):
            del behind[order]
            self._batch.remove(order)
            self._waiting.append(order)
        for order, error in behind.items():
            self._hold_order(order, error)

    async def _advance(self, chain: Chain) -> bool:
        """Moves the target; False if the chain has to be built again."""
        try:
            moved = await run_sync(self._target.advance, chain)
        except HeldError as error:
            # A local change in the user's checkout blocks only results that touch the same files. The others
            # are tried again without them.
            paths = await run_sync(self._target.touched, chain, error.files) if error.files else ()
            for path in paths or [link.path for link in chain.links]:
                self._hold_order(self._order_of(path), error)
            return not self._batch
        if not moved:
            return False
        self._landed(chain.commit)
        for link in chain.links:
            order = self._order_of(link.path)
            ref = f"refs/heads/{self._target.name}"
            self._report_landed(order, (RefMove(ref=ref, before=link.before, after=link.commit),), chain)
        return True

    async def absorb(self, remote: str) -> None:
        """Merges the branch of a remote into the target, once the result is verified.

        Landings continue while it is fetched. Raises `PushError` if it cannot be fetched, and `HeldError` if it
        cannot be merged or verified.
        """
        # Outside the lock: a slow remote must not hold up landings.
        theirs = await run_sync(self._target.fetch, remote, abandon_on_cancel=True)
        async with self._moving:
            self._verifier.resume()  # a halt concerns the results of a batch, and none is worked on
            try:
                for _ in range(TRIES):
                    chain = await run_sync(self._target.merge_fetched, remote, theirs)
                    if chain is None:
                        return
                    await self._verify_fetched(chain)
                    if await run_sync(self._target.advance, chain):
                        return
            finally:
                with anyio.CancelScope(shield=True):
                    await self._verifier.discard_scratch()

    async def _verify_fetched(self, chain: Chain) -> None:
        name = self._target.name
        try:
            verdict = await self._verifier.verify(chain, self._on_target() | self._rows)
        except VerifyNotRunError as error:
            raise HeldError(
                f"`verify` could not be run on {name} with the remote's commits: {error}"
            ) from error
        if verdict.how is not StepOutcome.DONE:
            raise HeldError(
                f"`verify` fails on {name} with the remote's commits: {verdict.message}; {name} has not moved; "
                "fix that on the remote, then land another result, or push it yourself"
            )

    # Questions to a person

    async def _ask(self, *, verifies: bool) -> None:
        """Holds what would land if a person agreed to all of it, and what would not, with the reason."""
        chain = await self._build([order.path for order in self._batch])
        await self._settle_outside(chain)
        ready: Chain | None = chain
        if verifies and chain.links:
            judgement = await self._judge.judge(chain, self._build, self._on_target() | self._rows)
            await self._hold_or_rebuild(judgement.held)
            ready = judgement.chain
        for link in ready.links if ready is not None else ():
            self._hold_order(self._order_of(link.path), self._question(link.path, chain))
        for path in chain.deferred:
            self._hold_order(self._order_of(path), self._question(path, chain))

    def _question(self, path: str, chain: Chain) -> HeldError:
        unit = chain.together.get(path, (path,))
        along = list(dict.fromkeys(base for member in unit for base in chain.built_on.get(member, ())))
        along = [base for base in along if base not in unit]
        if along:
            return waits_for(path, along)
        others = [member for member in unit if member != path]
        together = f" together with {' and '.join(others)}: they hold each other's work" if others else ""
        return HeldError(
            f"{path} is ready to land on {self._target.name}{together}; type: weft merge {' '.join(unit)}",
            asks=True,
            waits_for=others,
        )

    # Chains

    async def _build(self, paths: Sequence[str], onto: str | None = None) -> Chain:
        orders = [self._order_of(path) for path in paths]
        ordered = {order.row for order in orders}

        def is_to_land(path: str) -> bool:
            row = self._lineage.row_of(path)
            if row is None or row in self._rows:  # landed by this queue, and the engine does not know it yet
                return False
            return row in ordered or self._is_to_land(row)

        entries = [self._entry(order) for order in orders]
        # Read before the branches are: what is completed then is in them.
        parts = {order.path: self._lineage.completed_parts(order.row) for order in orders if order.within}
        chain = await run_sync(partial(self._target.build, entries, is_to_land=is_to_land, onto=onto))
        if not parts:
            return chain
        both = {path: (*completed, *chain.parts.get(path, ())) for path, completed in parts.items()}
        return replace(chain, parts={path: tuple(dict.fromkeys(paths)) for path, paths in both.items()})

    def _entry(self, order: Land) -> LandingEntry:
        settings, subplan = self._lineage.settings(order.row), self._plan.subplans[order.row]
        strict = settings.strict_files and self._lineage.is_slice(order.row)
        return LandingEntry(
            path=order.path,
            subject=self._lineage.subject(order.row) + (" (completed parts)" if order.within else ""),
            take_branch=settings.merge_take_branch,
            files=subplan.files if strict else None,
            within=order.within,
            checks_worktree=order.execution > 1,
        )

    async def _settle_outside(self, chain: Chain) -> None:
        """Ends the orders of entries that have landed, or cannot be part of a chain."""
        for path, moves in chain.landed.items():
            if moves:
                self._landed(moves[-1].after)
            self._report_landed(self._order_of(path), moves, chain)
        await self._hold_or_rebuild(chain.held)

    # Ends of orders

    def _order_of(self, path: str) -> Land:
        return next(order for order in self._batch if order.path == path)

    def _hold_order(self, order: Land, error: HeldError) -> None:
        self._rebuilds.held(order.path, error)
        command = f"weft merge {' '.join((*error.waits_for, order.path))}"
        text = str(error)
        if order.within or not all(map(self._is_complete, error.waits_for)):
            text = text.replace(command, f"{command} --now")
        if note := self._rebuilds.note_of(order.path):
            text = f"{text}\n({order.path} was {note})"
        fact = self._fact(order, StepOutcome.HELD, text, error.files)
        why = {"conflict": error.conflict, "asks": error.asks, "red": error.red}
        self._finish(order, replace(fact, waits_for=error.waits_for, result=error.tail, **why))

    def _is_complete(self, path: str) -> bool:
        """Returns whether a subplan lands as a whole. Of an incomplete group only the completed parts can land."""
        row = self._lineage.row(path)
        return self._lineage.is_slice(row) or self._lineage.is_completed(row)

    def _report_landed(self, order: Land, moves: Sequence[RefMove], chain: Chain) -> None:
        note = self._rebuilds.note_of(order.path)
        fact = replace(self._fact(order, StepOutcome.DONE, note), moves=tuple(moves))
        if order.within:
            rows = self._lineage.slices(chain.parts[order.path])
            self._rows.update(rows)
            fact = replace(fact, parts=tuple(self._plan.outline.paths[row] for row in rows))
        else:
            self._rows.add(order.row)
        self._finish(order, fact)

    def _fail(self, order: Land, error: WeftError | OSError) -> None:
        if isinstance(error, HeldError):
            self._hold_order(order, error)
            return
        how = StepOutcome.INFRA if isinstance(error, OSError | InfraError) else StepOutcome.FAILED
        self._finish(order, self._fact(order, how, reason(error)))

    def _finish(self, order: Land, fact: Ended) -> None:
        if order in self._batch:
            self._batch.remove(order)
        self._report(fact)

    def _fact(self, order: Land, how: StepOutcome, message: str = "", files: Sequence[str] = ()) -> Ended:
        return Ended(
            at=self._now(),
            firing=order.firing,
            execution=order.execution,
            how=how,
            message=message,
            files=tuple(files),
        )


def _purpose(order: Land) -> Purpose:
    if order.agreed:
        return Purpose.LAND
    return Purpose.PREVIEW if order.preview else Purpose.PRESENT


def _is_for_landing(order: Land) -> bool:
    return _purpose(order) is Purpose.LAND
