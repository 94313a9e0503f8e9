"""The verifies that apply to a tree before it lands.

A tree must pass the verify of every slice that has work in it, of every group with all of its slices in it, and of
the plan. Slices that have landed before count as well: a later result may break them. A command that several
subplans share is run once.

Commands run with the settings of the subplan that they come from (set-up, sandbox, time limit), so those of
subplans with the same settings make one job. A command that reads `WEFT_SUBPLAN`, itself or in its script, means
another thing for each subplan, so it runs for each of them.
"""

from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from weft.engine.states import SubplanExecutionState, SubplanTracker
from weft.plan.model import AgentWork, Ask, Command, Join, Plan, Step, Verify
from weft.plan.order.outline import ROOT
from weft.plan.settings import Settings
from weft.runtime.landing_queue.subplan_scripts import read_subplan
from weft.threads import run_sync


class VerifyWork(Struct, frozen=True, kw_only=True):
    """Commands that are run as one job."""

    row: int
    """The subplan that provides their settings."""
    path: str = ""
    """The subplan that the commands ask for by `WEFT_SUBPLAN`; empty if they do not."""
    setup: tuple[Command, ...] = ()
    commands: tuple[Command, ...] = ()
    owners: tuple[str, ...] = ()
    """For each command, the subplan that demands it; empty for the plan."""
    timeout: float = 0.0


class VerifyRules:
    def __init__(self, plan: Plan, tracker: SubplanTracker, folder: Path) -> None:
        """`folder` is the directory of the plan."""
        self._plan = plan
        self._folder = folder
        self._personal: frozenset[Command] | None = None
        """The commands that read the name of their subplan; None before `read_scripts`."""
        self._outline = plan.outline
        self._tracker = tracker

    async def read_scripts(self) -> None:
        """Reads the scripts of the verifies, once in a run. Must be awaited before `of`."""
        if self._personal is None:
            commands = {command for subplan in self._plan.subplans for command in subplan.verify}
            self._personal = await run_sync(read_subplan, commands, self._folder)

    def of(
        self, entries: Iterable[int], on_target: AbstractSet[int], parts: Iterable[int] = ()
    ) -> list[VerifyWork]:
        """Returns the verifies of a tree with the entries, everything that has landed, and the slices `parts`."""
        assert self._personal is not None
        slices = self._slices_in({*entries, *on_target}) | set(parts)
        works: dict[int, VerifyWork] = {}
        covered: set[Command] = set()
        personal: list[VerifyWork] = []
        for row in self._owners(slices):
            commands = self._plan.subplans[row].verify
            if not self._personal.isdisjoint(commands):
                work = self._with(None, row, list(commands))
                personal.append(replace(work, path=str(self._outline.paths[row])))
                continue
            fresh = [command for command in commands if command not in covered]
            covered.update(fresh)
            if fresh:
                # Subplans without settings of their own share the scope object of their group, so its identity
                # groups them.
                scope = id(self._plan.scopes[row])
                works[scope] = self._with(works.get(scope), row, fresh)
        return [*works.values(), *personal]

    def proves_itself(self, row: int) -> bool:
        """Returns whether the steps of a slice end with its verify, so that the tree they leave has passed it."""
        if not self._outline.is_leaf(row):
            return False
        for step in reversed(self._plan.pipeline_of(row).steps):
            if isinstance(step.body, Verify):
                # A verify that may be skipped, that runs beside other steps, or that may fail without
                # consequences proves nothing.
                return step.condition is None and not step.is_async and step.on_error == "abort"
            if not _leaves_files(step):
                return False
        return False

    def _slices_in(self, rows: Iterable[int]) -> set[int]:
        """Returns the completed slices in these subplans."""
        outline = self._outline
        return {
            leaf
            for row in rows
            for leaf in range(row, row + outline.sizes[row])
            if outline.is_leaf(leaf) and self._settings(leaf).has_branch and self._is_done(leaf)
        }

    def _is_done(self, row: int) -> bool:
        return self._tracker.state(self._outline.paths[row]) is SubplanExecutionState.COMPLETED

    def _owners(self, slices: AbstractSet[int]) -> Iterator[int]:
        """Yields slices, then complete groups, then the plan."""
        yield from sorted(slices)
        outline = self._outline
        for row in range(1, len(outline.paths)):
            if not outline.is_leaf(row) and self._plan.subplans[row].verify:
                leaves = {leaf for leaf in outline.below(row) if outline.is_leaf(leaf)}
                if leaves <= slices:
                    yield row
        yield ROOT

    def _with(self, work: VerifyWork | None, row: int, commands: list[Command]) -> VerifyWork:
        settings, path = self._settings(row), str(self._outline.paths[row])
        before = work or VerifyWork(row=row, setup=settings.setup_commands)
        return VerifyWork(
            row=before.row,
            setup=before.setup,
            commands=(*before.commands, *commands),
            owners=(*before.owners, *([path] * len(commands))),
            # The job runs the commands one after the other, and each subplan may use its own limit.
            timeout=before.timeout + settings.timeout,
        )

    def _settings(self, row: int) -> Settings:
        return self._plan.scopes[row].settings


def _leaves_files(step: Step) -> bool:
    """Returns whether a step certainly changes no file."""
    body = step.body
    return isinstance(body, Join | Ask) or (isinstance(body, AgentWork) and body.read_only)
