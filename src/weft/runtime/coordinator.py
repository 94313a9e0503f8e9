"""The coordinator: feeds facts to the engine, stores its events, and then carries out its orders.

A *turn* takes all facts since the last turn. Their events are written to the journal in one transaction
before any order is carried out: a claim is durable before its effect starts, a settlement before its
consequences. If the journal cannot be written, no order is carried out and the coordinator ends. Running
processes continue; the next coordinator reads the journal and asks the host for the rest.
"""

from collections.abc import Callable, Sequence

import anyio
from anyio.lowlevel import cancel_shielded_checkpoint

from weft.engine.engine import Engine
from weft.engine.messages.events import AnyEvent, Recorded
from weft.engine.messages.facts import (
    Answered,
    AnyFact,
    Controlled,
    ControlState,
    CoordinatorLeft,
    HostChanged,
    LimitsEnded,
    MergeAsked,
    Resumed,
    StopAsked,
    answer_result,
)
from weft.engine.messages.orders import AnyOrder
from weft.ports.host import Host, KnownJobs
from weft.ports.journal import ControlRequest, Journal
from weft.ports.machines import MachineJobs, Machines, MachineStatus
from weft.runtime.effects import Effects
from weft.runtime.inbox import Inbox
from weft.runtime.machines.machine_states import MachineStates
from weft.terms import AT_REST, MachineState, RunState

REQUESTS_EVERY = 0.25
"""Seconds between checks for requests of people."""

Listener = Callable[[Sequence[Recorded]], None]


class Coordinator:
    def __init__(  # noqa: PLR0913 - by name, all of them
        self,
        run: str,
        engine: Engine,
        *,
        journal: Journal,
        host: Host,
        effects: Effects,
        inbox: Inbox,
        machines: Machines | None = None,
    ) -> None:
        """`machines` has news of other machines; None if all steps run on this one."""
        self._run = run
        self._engine = engine
        self._journal = journal
        self._host = host
        self._effects = effects
        self._inbox = inbox
        self._machines = machines
        self._machine_states = MachineStates()
        self._taken: list[int] = []
        """The ids of requests that were accepted since the last write to the journal."""
        self._state = ""

    def stop(self, *, now: bool = False) -> None:
        self._inbox.put(StopAsked(at=self._effects.now(), now=now))

    async def run(self, first: AnyFact, *, listener: Listener, waits: bool = True) -> str:
        """Runs until the run has ended or is stopped; returns its state.

        `first` is the fact that the run has started or was resumed. `waits`: whether to stay when only questions
        to people are left.
        """
        # Before the first fact: opening the host ends the processes of a dead supervisor, and the engine must
        # know which of its jobs still run.
        settles = isinstance(first, Resumed) and bool(first.settles)
        jobs = await (self._open_all() if settles else self._host.open())
        try:
            async with anyio.create_task_group() as tasks:
                self._effects.work_in(tasks)
                tasks.start_soon(self._take_ends)
                tasks.start_soon(self._take_news)
                tasks.start_soon(self._poll_requests)
                tasks.start_soon(self._effects.meter(self._engine).watch)
                if settles:
                    self._effects.take_over_work(self._engine.in_flight, jobs)
                else:
                    self._effects.take_over(self._engine.in_flight, jobs)
                self._take_requests(at_first=True)  # before the first turn, which may already end the run
                # Ends of jobs that were taken over may be in the inbox already. The engine has to learn first
                # that the run was resumed.
                self._inbox.put_first(first)
                while self._inbox or not await self._has_left(listener, waits=waits):
                    await self._inbox.wait()
                    await self._turn_for(listener)
                tasks.cancel_scope.cancel()
        finally:
            # Also after a cancellation: what was sent to the supervisor has to arrive.
            with anyio.CancelScope(shield=True):
                await self._host.close()
        return self._engine.state

    async def _open_all(self) -> KnownJobs:
        from weft.runtime.machines.known_jobs import open_all  # noqa: PLC0415 - seldom needed

        return await open_all(self._host, self._machines)

    async def _turn_for(self, listener: Listener) -> None:
        events = self._turn()
        await cancel_shielded_checkpoint()  # lets the tasks that start jobs run before the listener does
        listener(events)

    def _is_over(self, *, waits: bool) -> bool:
        """Whether nothing is left to do, except by people for whom the coordinator does not stay."""
        state = self._engine.state
        return state in AT_REST or (
            state == RunState.WAITING and not (waits and bool(self._engine.questions()))
        )

    async def _finish(self, listener: Listener) -> None:
        """Finishes the effects. That may run a verify, so facts are processed in the meantime."""

        async def take_facts() -> None:
            while True:
                await self._inbox.wait()
                await self._turn_for(listener)
                if self._engine.is_to_stop:
                    await self._effects.finish(stops=True)

        async with anyio.create_task_group() as tasks:
            # Without it the verify would never end: its end is a fact that a turn has to take.
            tasks.start_soon(take_facts)
            await self._effects.finish(stops=self._engine.is_to_stop)
            tasks.cancel_scope.cancel()

    async def _has_left(self, listener: Listener, *, waits: bool) -> bool:
        """Whether the run is at rest, or only people can continue it and the coordinator does not stay for them.

        A person may send a request at any moment. So the journal accepts the event that the coordinator
        leaves only if no request waits; otherwise the coordinator handles the requests first. A command that
        adds a request later sees that event and reports that the run is not active.
        """
        if not self._is_over(waits=waits):
            return False
        await self._finish(listener)
        if self._inbox or not self._is_over(waits=waits):
            return False
        if self._engine.state in AT_REST:
            return True
        self._engine.apply(CoordinatorLeft(at=self._effects.now()))
        # There are no orders: everything that can happen before the next fact has happened.
        recorded, _ = self._engine.take_messages()
        events = [(self._effects.now(), event) for event in recorded]
        last = self._journal.append_last(self._run, events)
        if last is None:
            self._take_requests()
            return False
        listener(self._number_events(events, last))
        return True

    def _turn(self) -> Sequence[Recorded]:
        engine = self._engine
        events: list[tuple[float, AnyEvent]] = []
        orders: list[AnyOrder] = []
        for fact in self._inbox.take():
            engine.apply(fact)
            emitted, ordered = engine.take_messages()
            events += [(fact.at, event) for event in emitted]
            orders += ordered
        changed = engine.state if engine.state != self._state else None
        # The requests that these events answer are marked as taken in the same transaction, so that a crash
        # neither loses nor repeats them.
        last = self._journal.append(self._run, events, taken=self._taken, state=changed)
        self._state, self._taken = engine.state, []
        # Only now may the host forget the jobs behind these events.
        self._effects.committed()
        for order in orders:
            self._effects.carry_out(order)
        return self._number_events(events, last)

    def _number_events(self, events: Sequence[tuple[float, AnyEvent]], last: int) -> Sequence[Recorded]:
        return [
            Recorded(seq=seq, at=at, run=self._run, event=event)
            for seq, (at, event) in enumerate(events, last - len(events) + 1)
        ]

    # Sources of facts

    async def _take_ends(self) -> None:
        async for ends in self._host.ended():
            for end in ends:
                self._effects.job_ended(end)

    async def _take_news(self) -> None:
        """Takes what happens to other machines."""
        if self._machines is None:
            return
        async for news in self._machines.news():
            match news:
                case MachineStatus():
                    if news.state is MachineState.REACHABLE:
                        self._effects.machine_returned(news, self._engine.placements)
                    state = self._machine_states.take(news)
                    if state is not None:
                        at, message = self._effects.now(), news.message
                        self._inbox.put(HostChanged(at=at, host=news.host, state=state, message=message))
                case MachineJobs():
                    self._effects.machine_answered(news, self._engine.in_flight)

    async def _poll_requests(self) -> None:
        while True:
            await anyio.sleep(REQUESTS_EVERY)
            # SQLite answers this without reading a table, so polling four times a second costs next to nothing.
            if self._journal.changed():
                self._take_requests()

    def _take_requests(self, *, at_first: bool = False) -> None:
        for request in self._journal.requests(self._run):
            self._taken.append(request.id)
            fact = fact_of(request, at=self._effects.now())
            if not (at_first and _is_stop(fact)):  # a stop from before was for the previous coordinator
                self._inbox.put(fact)


Requested = Answered | MergeAsked | LimitsEnded | Controlled | StopAsked
"""The requests of people to a run."""


def fact_of(request: ControlRequest, *, at: float) -> Requested:
    data, subplan = request.data, request.subplan
    match request.kind:
        case "merge":
            return MergeAsked(at=at, subplan=subplan, now=bool(data.get("now")))
        case "limits":
            return LimitsEnded(at=at)
        case "control" if data["wanted"] == ControlState.STOP and not subplan:
            return StopAsked(at=at, now=bool(data.get("now")))
        case "control":
            requested = ControlState(str(data["wanted"]))
            return Controlled(at=at, subplan=subplan, wanted=requested, now=bool(data.get("now")))
        case _:
            accepted, text = bool(data.get("accepted")), str(data.get("text", ""))
            result = answer_result(accepted=accepted, text=text)
            return Answered(
                at=at, subplan=subplan, step=request.step, accepted=accepted, text=text, result=result
            )


def _is_stop(fact: Requested) -> bool:
    return isinstance(fact, StopAsked) or (isinstance(fact, Controlled) and fact.wanted is ControlState.STOP)
