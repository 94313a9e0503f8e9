"""Runs the verifies that apply to a tree, before the target moves to it.

A tree that has passed a command is never verified again for it. The start of a verify is in the journal before its
job starts, and the id of the job follows from that record: the tree, the commands, and the number of earlier
verifies of the tree. So a coordinator that takes over recognises the job of its predecessor and waits for its end
instead of running it again, and no id is ever used for two jobs.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from typing import TypedDict

import anyio
from msgspec import Struct
from msgspec.structs import replace

from weft.engine.messages.facts import Ended, StepOutcome, VerifyEnded, VerifyStarted
from weft.engine.messages.internal_steps import InternalStep
from weft.engine.messages.orders import Launch, LaunchKind
from weft.engine.rules.step_result import output_tail, shown
from weft.engine.suspects import VerifyAnswer
from weft.errors import WeftError
from weft.plan.model import Command
from weft.plan.order.outline import ROOT
from weft.ports.host import Host, JobEnded, KnownJobs
from weft.ports.target import Chain, LandingTarget, ScratchFiles
from weft.runtime.inbox import Inbox
from weft.runtime.jobs import JobFactory
from weft.runtime.landing_queue.verify_rules import VerifyRules, VerifyWork
from weft.runtime.lineage import Lineage
from weft.threads import run_sync

_JOBS = "land"
"""The second part of the ids of these jobs, where others have the number of a firing."""
_ABOUT_THE_TREE = frozenset({StepOutcome.DONE, StepOutcome.FAILED, StepOutcome.TIMEOUT})


class HaltedError(Exception):
    """The verify was stopped, because its results must not land now."""


class VerifyNotRunError(Exception):
    """A verify could not be run, for a reason that says nothing about the work."""

    def __init__(self, how: StepOutcome, message: str) -> None:
        super().__init__(message)
        self.how = how


class TreeVerdict(Struct, frozen=True, kw_only=True):
    """The result of the verifies of a tree."""

    how: StepOutcome
    owner: str = ""
    """The subplan of the verify that failed; empty for the plan."""
    exit_code: int | None = None
    message: str = ""
    tail: str = ""
    """The end of the output."""

    @property
    def answer(self) -> VerifyAnswer:
        if self.how is StepOutcome.DONE:
            return VerifyAnswer.GREEN
        return VerifyAnswer.RED if self.how is StepOutcome.FAILED else VerifyAnswer.UNCLEAR


GREEN = TreeVerdict(how=StepOutcome.DONE)


class Verifier:
    def __init__(  # noqa: PLR0913 - by name, all of them
        self,
        *,
        target: LandingTarget,
        host: Host,
        jobs: JobFactory,
        lineage: Lineage,
        rules: VerifyRules,
        inbox: Inbox,
        now: Callable[[], float],
        verified: Iterable[VerifyEnded] = (),
        pending: VerifyStarted | None = None,
    ) -> None:
        """`verified` and `pending` are the verifies of the journal, and the last one if it has not ended."""
        self._target = target
        self._host = host
        self._jobs = jobs
        self._lineage = lineage
        self._rules = rules
        self._inbox = inbox
        self._now = now
        self._passed: set[tuple[str, str]] = set()
        """Trees, each with a command that passed on it."""
        self._runs: Counter[str] = Counter()
        """How many verifies of each tree have ended."""
        for fact in verified:
            self._note(fact)
        self._has_scratch = False
        self._halted = False
        self._running = ""
        self._ends: dict[str, anyio.Event] = {}
        self._ended: dict[str, JobEnded] = {}
        self._pending = pending
        """The verify that an earlier coordinator started and did not finish."""
        self._adopted: set[str] = set()
        """Jobs of an earlier coordinator."""
        self._to_forget: list[str] = []
        self._commit = anyio.Event()
        """Set when all facts of the inbox are in the journal."""

    # Jobs

    def take_over(self, jobs: KnownJobs) -> set[str]:
        """Adopts the job that an earlier coordinator left; the ends of all others are in the journal."""
        job = "" if self._pending is None else self._id(self._pending)
        state = jobs.get(job)
        if state is None:
            return set()
        self._adopted.add(job)
        if isinstance(state, JobEnded):
            self._ended[job] = state
        return {job}

    def job_ended(self, ended: JobEnded) -> bool:
        """Returns whether it was one of these jobs."""
        if not _is_own(ended.id):
            return False
        self._ended[ended.id] = ended
        if ended.id in self._ends:
            self._ends[ended.id].set()
        return True

    def committed(self) -> list[str]:
        """Called when all facts of the inbox are in the journal. Returns jobs that the host may forget."""
        self._commit.set()
        self._commit = anyio.Event()
        jobs, self._to_forget = self._to_forget, []
        return jobs

    def halt(self, *, now: bool) -> None:
        """Stops the verify under way, which then raises `HaltedError`."""
        self._halted = True
        if self._running:
            self._host.stop(self._running, grace=0.0 if now else None)

    def resume(self) -> None:
        self._halted = False

    # Trees

    async def verify(self, chain: Chain, on_target: AbstractSet[int], *, again: bool = False) -> TreeVerdict:
        """Runs the verifies that have not passed on the tree yet; with `again`, all of them.

        `on_target` are the rows that have landed.
        """
        entries = [link.path for link in chain.links]
        rows = [self._lineage.row(path) for path in entries]
        whole = [self._lineage.row(path) for path in entries if path not in chain.parts]
        parts = [row for path in entries for row in self._lineage.slices(chain.parts.get(path, ()))]
        await self._rules.read_scripts()
        works = self._rules.of(whole, on_target, parts)
        if not again:
            works = await self._unproven(chain, works)
        if not works:
            return GREEN
        await self._prepare_scratch(chain, rows, works[0])
        for work in works:
            verdict = await self._run(work, chain, entries)
            if verdict.how is not StepOutcome.DONE:
                return verdict
        return GREEN

    async def _unproven(self, chain: Chain, works: Sequence[VerifyWork]) -> list[VerifyWork]:
        """Returns the works without the commands that have passed on this tree."""
        owners = {owner for work in works for owner in work.owners if owner}
        proofs = {owner: self._rules.proves_itself(self._lineage.row(owner)) for owner in owners}
        trees = await run_sync(self._target.passed_trees, proofs)
        left: list[VerifyWork] = []
        for work in works:
            pairs = [
                (owner, command)
                for owner, command in zip(work.owners, work.commands, strict=True)
                if (chain.tree, _text(work, command)) not in self._passed
                and chain.tree not in trees.get(owner, ())
            ]
            if pairs:
                commands = tuple(command for _, command in pairs)
                left.append(replace(work, commands=commands, owners=tuple(owner for owner, _ in pairs)))
        return left

    # The scratch worktree

    async def _prepare_scratch(self, chain: Chain, rows: Iterable[int], first: VerifyWork) -> None:
        """Checks the end of the chain out, unless the job of an earlier coordinator verifies it there already."""
        self._has_scratch = True
        pending = self._pending
        if pending is not None:
            if (pending.tree, pending.commands) == (chain.tree, _texts(first)):
                # Its job runs in the scratch worktree right now; a checkout would pull the files away from
                # under it.
                if self._id(pending) in self._adopted:
                    return
            else:
                await self._abandon(pending)
        await run_sync(self._target.check_out, chain.commit, self._scratch_files(rows))

    async def _abandon(self, pending: VerifyStarted) -> None:
        """Ends a verify of a tree that is not wanted any more."""
        job = self._id(pending)
        if job in self._adopted:
            if job not in self._ended:
                self._host.stop(job)
                await self._wait_for(job)
            del self._ended[job]
            self._adopted.remove(job)
            self._to_forget.append(job)
        message = "the target has moved"
        self._end(
            pending, VerifyEnded(at=self._now(), **_about(pending), how=StepOutcome.STOPPED, message=message)
        )

    def _scratch_files(self, rows: Iterable[int]) -> ScratchFiles:
        """Returns the files that the plan and the entries need besides tracked ones."""
        scopes = [self._lineage.settings(row) for row in (ROOT, *rows)]
        return ScratchFiles(
            copy=tuple(dict.fromkeys(glob for each in scopes for glob in each.copy)),
            link=tuple(dict.fromkeys(glob for each in scopes for glob in each.link)),
        )

    async def discard_scratch(self) -> None:
        if not self._has_scratch:
            return
        self._has_scratch = False
        try:
            await run_sync(self._target.discard)
        except (WeftError, OSError):
            return  # the next verify removes it, and so does `weft clean`

    # One job

    async def _run(self, work: VerifyWork, chain: Chain, entries: Sequence[str]) -> TreeVerdict:
        self._refuse_halted()
        started = self._pending or VerifyStarted(
            at=self._now(),
            tree=chain.tree,
            commit=chain.commit,
            entries=tuple(entries),
            commands=_texts(work),
        )
        launch = self._launch(work, started)
        if self._pending is None:
            self._pending = started = replace(started, log=self._jobs.log_name(launch))
            # The job must not start before its record is durable: a successor that does not find the record
            # would give the same id to another job.
            await self._record(started)
        ended = await self._job_end(launch)
        halted = StepOutcome.STOPPED if self._halted else None
        fact = self._jobs.fact(launch, ended, self._target.scratch, at=self._now(), halted=halted)
        verdict = _verdict(work, fact)
        verified = VerifyEnded(
            at=self._now(),
            **_about(started),
            how=fact.how,
            exit_code=fact.exit_code,
            signal=fact.signal,
            message=verdict.message,
            tail=verdict.tail,
            seconds=max(0.0, ended.ended_at - ended.started_at),
        )
        self._end(started, verified)
        # Only a note: the host forgets the job after the next commit of the journal, when `verified` is in it.
        self._to_forget.append(ended.id)
        self._refuse_halted()
        if fact.how not in _ABOUT_THE_TREE:
            raise VerifyNotRunError(fact.how, verdict.message)
        return verdict

    async def _record(self, fact: VerifyStarted) -> None:
        """Returns when the fact is in the journal."""
        self._inbox.put(fact)
        await self._commit.wait()

    def _end(self, started: VerifyStarted, fact: VerifyEnded) -> None:
        assert self._pending is started
        self._pending = None
        self._inbox.put(fact)
        self._note(fact)

    def _refuse_halted(self) -> None:
        if self._halted:
            raise HaltedError

    def _note(self, fact: VerifyEnded) -> None:
        self._runs[fact.tree] += 1
        if fact.how is StepOutcome.DONE:
            self._passed.update((fact.tree, command) for command in fact.commands)

    def _launch(self, work: VerifyWork, started: VerifyStarted) -> Launch:
        return Launch(
            firing=0,
            execution=0,
            row=work.row,
            path=work.path,
            step=InternalStep.LAND,
            kind=LaunchKind.LAND,
            attempt=1,
            name=self._name(started),
            work=(*work.setup, *work.commands),
            timeout=work.timeout,
            grace=self._lineage.settings(work.row).grace,
        )

    def _name(self, started: VerifyStarted) -> str:
        digest = hashlib.sha256("\0".join(started.commands).encode()).hexdigest()[:12]
        return f"{_JOBS}.{started.tree[:16]}-{digest}.{self._runs[started.tree] + 1}"

    def _id(self, started: VerifyStarted) -> str:
        return self._jobs.named(self._name(started))

    async def _job_end(self, launch: Launch) -> JobEnded:
        """Starts the job, unless an earlier coordinator has; returns how it ended."""
        job = self._jobs.id(launch)
        if job not in self._ended:
            if job not in self._adopted:
                self._host.start(self._jobs.job(launch, self._target.scratch))
            self._running = job
            try:
                await self._wait_for(job)
            finally:
                self._running = ""
        self._adopted.discard(job)
        return self._ended.pop(job)

    async def _wait_for(self, job: str) -> None:
        self._ends[job] = anyio.Event()
        await self._ends[job].wait()
        del self._ends[job]


def _verdict(work: VerifyWork, fact: Ended) -> TreeVerdict:
    if fact.how is StepOutcome.DONE:
        return GREEN
    number = fact.command - len(work.setup)
    last = min(number, len(work.commands) - 1)
    part = f" ({shown(work.commands[last])})" if number >= 0 else " (setup)"
    return TreeVerdict(
        how=fact.how,
        owner=work.owners[last] if number >= 0 else "",
        exit_code=fact.exit_code,
        message=f"{fact.message or fact.how}{part}",
        tail=output_tail(fact.result, fact.errors),
    )


def _is_own(job: str) -> bool:
    return f".{_JOBS}." in job


def _texts(work: VerifyWork) -> tuple[str, ...]:
    return tuple(_text(work, command) for command in work.commands)


def _text(work: VerifyWork, command: Command) -> str:
    """Returns the command as a person would type it."""
    return f"WEFT_SUBPLAN={work.path} {shown(command)}" if work.path else shown(command)


class _About(TypedDict):
    tree: str
    commit: str
    entries: tuple[str, ...]
    commands: tuple[str, ...]
    log: str


def _about(started: VerifyStarted) -> _About:
    return _About(
        tree=started.tree,
        commit=started.commit,
        entries=started.entries,
        commands=started.commands,
        log=started.log,
    )
