"""Asks agents for one word each, to see whether they would work: the real call, in an empty directory.

A supervisor runs them as it runs steps, so that nothing of them is left alive, whatever they start. It goes when
all have ended; if we are killed, it ends what is left at the time limit, and goes then.
"""

import fcntl
import os
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import anyio
from msgspec import Struct
from msgspec.structs import replace

from weft.agents.adapters import adapter_of
from weft.agents.words import last_line
from weft.app.agents_overview import AtHand, Seen
from weft.app.approval import require
from weft.app.places import Places, project_of
from weft.app.plans import project_layer
from weft.app.run_isolation import isolation_of
from weft.engine.run.facts import Ended, How
from weft.engine.run.orders import Launch
from weft.errors import InputError, WeftError
from weft.hosts.local import LocalHost
from weft.plan.loading.slices_check import NEED_MORE
from weft.plan.model import Agent
from weft.plan.order.outline import ROOT
from weft.ports.host import JobEnded
from weft.runtime.jobs import Jobs

PROMPT = "Answer with the word ready. Change no files."
GRACE = 2.0
_RUN = "probe"
AT_ONCE = 4
"""Some take hundreds of megabytes each."""


# --- whom to ask ---


class ToProbe(Struct, frozen=True):
    agents: tuple[Agent, ...]
    missing: tuple[Seen, ...] = ()
    """Those that were named and are not installed."""


def to_probe(
    found: AtHand, seen: Sequence[Seen], environ: Mapping[str, str], *, named: bool, model: str | None
) -> ToProbe:
    """All that were named; else those that are there and speak with models.

    Raises `WeftError` if there is none, and `InputError` if one cannot be asked, or not yet.
    """
    for one in seen if named else ():
        if one.needs_more:
            raise InputError(f"{one.use!r} needs a plan that says what it runs; name an agent of a plan")
    chosen = [one for one in seen if named or _speaks(one)]
    agents = [one.agent for one in chosen if one.is_installed]
    if not chosen:
        raise WeftError(
            "no agent is installed that could be asked; to see how to install one, type: weft agents"
        )
    if any(agent.name in found.plan.agents for agent in agents):
        _require_approval(found, environ)
    if model is not None:
        agents = [replace(agent, model=model) for agent in agents]
    return ToProbe(tuple(agents), tuple(one for one in chosen if not one.is_installed))


def _speaks(one: Seen) -> bool:
    """With models, for all that Weft knows; and need not be told which."""
    is_known = one.use not in NEED_MORE and one.is_installed
    return is_known and (one.is_of_plan or one.program is not None)


def _require_approval(found: AtHand, environ: Mapping[str, str]) -> None:
    """Of commands that came with the project, as for a run."""
    layer = project_layer(found.plan)
    if layer is not None:
        require(layer, project_of(found.folder).project, environ)


# --- what came of it ---


class Probed(Struct, frozen=True, kw_only=True):
    agent: Agent
    how: How | None
    """How it ended; None if it could not even be called."""
    message: str = ""
    """Why there was no answer."""
    answer: str = ""
    seconds: float = 0.0
    tokens: int | None = None
    cost: int | None = None
    """In micro-dollars."""
    until: float | None = None
    """When a usage limit ends that it has met."""

    @property
    def has_answered(self) -> bool:
        return self.how is How.DONE


Tell = Callable[[Probed], object]


# --- asking ---


def probe(
    found: AtHand,
    agents: Sequence[Agent],
    environ: Mapping[str, str],
    *,
    timeout: float,
    tell: Tell = lambda _probed: None,
) -> list[Probed]:
    """What became of each, in the same order; `tell` hears of each when it has ended."""
    if not agents:
        return []
    with tempfile.TemporaryDirectory(prefix="weft-agents-", ignore_cleanup_errors=True) as folder:
        places = Places(Path(folder))
        places.host(_RUN).mkdir(parents=True)
        probes = _Probes(found, agents, environ, places=places, timeout=timeout, tell=tell)
        try:
            anyio.run(probes.run)
        finally:
            _wait_for_its_end(places.host(_RUN))
    return [probes.told[number] for number in range(len(agents))]


class _Probes:
    def __init__(
        self,
        found: AtHand,
        agents: Sequence[Agent],
        environ: Mapping[str, str],
        *,
        places: Places,
        timeout: float,
        tell: Tell,
    ) -> None:
        self._places = places
        self._agents = agents
        self._model = found.plan.scopes[ROOT].settings.model
        self._timeout = timeout
        self._tell = tell
        self._jobs = Jobs(
            run=_RUN,
            plan=found.plan,
            plan_dir=found.folder,
            logs=places.logs(_RUN),
            adapter_of=adapter_of,
            environ=environ,
            isolation=isolation_of(found.plan, places, _RUN, found.folder, environ),
        )
        self._waiting = list(enumerate(agents))
        self._running: dict[str, tuple[int, Launch, Path]] = {}
        self.told: dict[int, Probed] = {}

    async def run(self) -> None:
        host = LocalHost(self._places.host(_RUN), linger=0.0)
        await host.open()
        try:
            self._start(host)
            if self._running:
                async for ends in host.ended():
                    self._take(ends)
                    self._start(host)
                    if not self._running:
                        break
        finally:
            for job in self._running:  # somebody has had enough of it
                host.stop(job, grace=0.0)
            with anyio.CancelScope(shield=True):
                await host.close()

    def _start(self, host: LocalHost) -> None:
        while self._waiting and len(self._running) < AT_ONCE:
            number, agent = self._waiting.pop(0)
            launch, cwd = self._launch(number, agent), self._places.project / str(number)
            cwd.mkdir()
            try:
                job = self._jobs.job(launch, cwd)
            except (WeftError, OSError) as error:
                self._note(number, Probed(agent=agent, how=None, message=str(error)))
            else:
                self._running[job.id] = (number, launch, cwd)
                host.start(job)

    def _launch(self, number: int, agent: Agent) -> Launch:
        return Launch(
            firing=number,
            execution=1,
            row=ROOT,
            path=f"agents/{number}",
            step="probe",
            attempt=1,
            agent=agent,
            model=agent.model or self._model,
            prompt=PROMPT,
            timeout=self._timeout,
            grace=GRACE,
        )

    def _take(self, ends: Sequence[JobEnded]) -> None:
        for end in ends:
            number, launch, cwd = self._running.pop(end.id)
            fact = self._jobs.fact(launch, end, cwd, at=time.time(), halted=None)
            self._note(number, what_came(self._agents[number], fact, self._timeout))

    def _note(self, number: int, probed: Probed) -> None:
        self.told[number] = probed
        self._tell(probed)


def what_came(agent: Agent, fact: Ended, timeout: float) -> Probed:
    message = fact.message
    if fact.how is How.TIMEOUT:
        said = last_line(fact.errors) or last_line(fact.result)
        message = f"there was no answer within {timeout:g} s" + (f"; it said: {said}" if said else "")
    return Probed(
        agent=agent,
        how=fact.how,
        message="" if fact.how is How.DONE else message,
        answer=last_line(fact.result) if fact.how is How.DONE else "",
        seconds=fact.seconds,
        tokens=fact.tokens,
        cost=fact.cost,
        until=fact.until,
    )


def _wait_for_its_end(directory: Path) -> None:
    """Of the supervisor, whose files are there; it holds a lock as long as it lives."""
    lock = os.open(directory / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
    finally:
        os.close(lock)
