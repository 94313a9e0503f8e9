"""A run in virtual time: the real engine, with a function as its world.

For each order, the world returns how long it takes and how it ends. Time jumps from one fact to the next;
simultaneous facts occur in the order of their orders. The coordinator may die: its successor gets only the
facts, while ordered work continues.
"""

from collections.abc import Callable
from heapq import heapify, heappop, heappush
from math import inf

from msgspec import Struct
from msgspec.structs import replace

from weft.engine.engine import Engine
from weft.engine.messages.events import AnyEvent
from weft.engine.messages.facts import (
    Answered,
    AnyFact,
    Controlled,
    ControlState,
    EarlierSlice,
    EarlierSpending,
    Ended,
    HostChanged,
    MergeAsked,
    Resumed,
    RunStarted,
    Spent,
    StepOutcome,
    StopAsked,
    Woke,
    answer_result,
)
from weft.engine.messages.orders import AnyOrder, Freeze, Halt, Order, Ordered, WakeAt
from weft.engine.messages.step_refs import ExecutionKey
from weft.engine.rules.step_result import part_name
from weft.plan.compile.plan_net import CompiledPlan
from weft.terms import MachineState

DYING = 0.001
"""Seconds that an execution takes to end after a `Halt`."""
CONNECTING = 0.25
"""Seconds between one host and the next, when a coordinator connects to them."""

_TERMINATED = 15
"""SIGTERM, by which such an execution ends."""
_AFTER_ALL = 1 << 60


class SimulatedEnd(Struct, frozen=True, kw_only=True):
    """The duration and the end of an ordered execution."""

    seconds: float = 1.0
    how: StepOutcome = StepOutcome.DONE
    result: str = ""
    exit_code: int | None = None
    message: str = ""
    idle: bool = False
    """Of a timeout: whether the agent was silent."""
    lasting: bool = False
    cost: int | None = None
    tokens: int | None = None
    spends: tuple[tuple[float, int, int], ...] = ()
    """Reports while it runs: seconds after the start, and the total micro-dollars and tokens."""
    session: str | None = None
    changed: bool | None = None
    left: str | None = None
    wait: float = 60.0
    """The duration of a usage limit, in seconds."""
    conflict: bool = False
    """Whether it is held for a conflict."""
    culprits: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    kept: bool = False
    """Whether a workspace was left by an earlier run."""


class SimulatedReply(Struct, frozen=True):
    """How a person answers a question."""

    after: float = 0.0
    accepted: bool = True
    text: str = ""


World = Callable[[Ordered], SimulatedEnd]
Person = Callable[[str, str], SimulatedReply | None]
"""Returns the answer to a question of a subplan and step; None: no answer. A hold is retried after it."""


class SimulatedRun(Struct, kw_only=True):
    """The record of a simulated run."""

    engine: Engine
    facts: list[AnyFact] = []
    events: list[tuple[float, AnyEvent]] = []
    orders: list[AnyOrder] = []
    seconds: float = 0.0
    peak: int = 0
    """The highest number of simultaneous executions."""
    deaths: int = 0

    @property
    def state(self) -> str:
        return self.engine.state


def _nothing(_run: SimulatedRun) -> None:
    pass


class HostFailure(Struct, frozen=True, kw_only=True):
    """A host that cannot be reached for some time."""

    host: str
    is_lost: bool
    """Whether it counts as lost meanwhile."""
    seconds: float


class Interruptions(Struct, frozen=True, kw_only=True):
    """Interruptions of the coordinator, as functions of the number of facts so far."""

    dies: Callable[[int], bool] = lambda _facts: False
    dies_early: Callable[[int], bool] = lambda _facts: False
    """Whether it dies after it has written the journal and before it carries out any order."""
    stops: Callable[[int], bool] = lambda _facts: False
    says: Callable[[int], Controlled | None] = lambda _facts: None
    """The request of a person. When nothing else can happen, the simulator resumes everything."""
    hosts: Callable[[int], HostFailure | None] = lambda _facts: None
    """The host that fails now. It is back after some time."""


class Simulator:
    """Drives an engine with a simulated world and person."""

    def __init__(
        self,
        compiled: CompiledPlan,
        world: World,
        *,
        person: Person = lambda _subplan, _step: SimulatedReply(),
        interruptions: Interruptions = Interruptions(),  # noqa: B008 - it is frozen
        watch: Callable[[SimulatedRun], None] = _nothing,
        trace: bool = False,
    ) -> None:
        """`watch` is called after each fact."""
        self._compiled = compiled
        self._world = world
        self._person = person
        self._interruptions = interruptions
        self._watch = watch
        self._trace = trace
        self._queue: list[tuple[float, int, int, AnyFact]] = []
        self._count = 0
        self._now = 0.0
        self._under_way: dict[ExecutionKey, float] = {}
        self._ahead: dict[ExecutionKey, Ended] = {}
        """The future ends of running executions."""
        self._left: dict[ExecutionKey, float] = {}
        """The remaining seconds of frozen executions."""
        self._asked: set[int] = set()
        self._helped: set[ExecutionKey] = set()
        self._back: dict[str, float] = {}
        """When a host that has failed can be reached again."""
        self._dead = False
        self.run = SimulatedRun(engine=Engine(compiled, trace=trace))

    def play(
        self,
        *,
        env: dict[str, str] | None = None,
        carried: tuple[str, ...] = (),
        earlier: tuple[EarlierSpending, ...] = (),
        continued: tuple[EarlierSlice, ...] = (),
    ) -> SimulatedRun:
        self._apply(
            RunStarted(
                at=0.0,
                run="simulated",
                env=env or {},
                carried=carried,
                earlier=earlier,
                continued=continued,
            )
        )
        self._reach_hosts()
        self._interrupt()
        while (self._queue or self._is_paused()) and not self._is_over():
            if not self._queue:
                self._at(self._now, Controlled(at=0.0, subplan="", wanted=ControlState.GO))
            self._now, _, _, fact = heappop(self._queue)
            if self._is_due(fact):
                self._apply(replace(fact, at=self._now))
                self._interrupt()
        self.run.seconds = self._now
        return self.run

    def _is_over(self) -> bool:
        return self.run.state in {"completed", "failed"}

    def _is_paused(self) -> bool:
        """Returns whether nothing more can happen before a person resumes paused work."""
        run = self.run
        return run.state == "paused" or (run.state == "waiting" and run.engine.is_restrained)

    def _is_due(self, fact: AnyFact) -> bool:
        """Returns whether a fact is still due: its execution has not been halted or frozen."""
        if isinstance(fact, HostChanged):
            return self._back.get(fact.host, 0.0) <= self._now
        if isinstance(fact, Spent):
            return self._now <= self._under_way.get(fact.key, -1.0) < inf
        if not isinstance(fact, Ended):
            return True
        key = fact.key
        if self._under_way.get(key) != self._now:
            return False
        del self._under_way[key], self._ahead[key]
        return True

    def _interrupt(self) -> None:
        facts = len(self.run.facts)
        if self._is_over():
            return
        if not self._dead and self._interruptions.stops(facts):
            self._apply(StopAsked(at=self._now))
        request = None if self._dead else self._interruptions.says(facts)
        if request is not None:
            self._apply(replace(request, at=self._now))
        failure = None if self._dead else self._interruptions.hosts(facts)
        if failure is not None:
            self._fail(failure)
        self._dead = self._dead or self._interruptions.dies(facts)
        while self._dead or self.run.state == "stopped":
            self._take_over()

    def _take_over(self) -> None:
        """Starts a new coordinator, which has only the facts. Wake-ups of its predecessor are lost."""
        self._dead = False
        self._queue = [entry for entry in self._queue if not isinstance(entry[-1], Woke)]
        heapify(self._queue)
        engine = Engine(self._compiled, quiet=True, trace=self._trace)
        for fact in self.run.facts:
            engine.apply(fact)
        engine.take_messages()
        engine.speak()
        self.run.engine = engine
        self.run.deaths += 1
        for order in engine.in_flight:
            if order.key not in self._under_way:
                self._execute(order)  # its predecessor died before it carried out the order
        self._apply(Resumed(at=self._now, epoch=self.run.deaths + 1))
        self._reach_hosts()

    def _reach_hosts(self) -> None:
        """Lets the coordinator reach each host that has not failed, one after the other."""
        for number, host in enumerate(self.run.engine.far_hosts):
            if self._back.get(host, 0.0) <= self._now:
                reached = HostChanged(at=0.0, host=host, state=MachineState.REACHABLE)
                self._at(self._now + number * CONNECTING, reached)

    def _fail(self, failure: HostFailure) -> None:
        """Lets a host fail, which may count as lost later, and return."""
        self._back[failure.host] = max(self._back.get(failure.host, 0.0), self._now + failure.seconds)
        self._apply(HostChanged(at=self._now, host=failure.host, state=MachineState.UNREACHABLE))
        if failure.is_lost and not self._dead:
            self._apply(HostChanged(at=self._now, host=failure.host, state=MachineState.LOST))
        reached = HostChanged(at=0.0, host=failure.host, state=MachineState.REACHABLE)
        self._at(self._now + failure.seconds, reached)

    def _apply(self, fact: AnyFact) -> None:
        run = self.run
        run.facts.append(fact)
        run.engine.apply(fact)
        events, orders = run.engine.take_messages()
        run.events += [(fact.at, event) for event in events]
        run.orders += orders
        self._dead = self._interruptions.dies_early(len(run.facts))
        if not self._dead:
            for order in orders:
                self._obey(order)
            self._ask_people()
        run.peak = max(run.peak, len(self._under_way))
        self._watch(run)

    def _ask_people(self) -> None:
        for question in self.run.engine.questions():
            if question.serial in self._asked:
                continue
            self._asked.add(question.serial)
            path = question.subplan.path
            reply = self._person(path, question.step)
            if reply is not None:
                answer = Answered(
                    at=0.0,
                    subplan=path,
                    step=question.step,
                    accepted=reply.accepted,
                    text=reply.text,
                    result=answer_result(accepted=reply.accepted, text=reply.text),
                )
                self._at(self._now + reply.after, answer)
        self._ask_for_help()

    def _ask_for_help(self) -> None:
        """Lets the person settle holds and request their retry."""
        for firing in self.run.engine.held():
            key = ExecutionKey(firing.serial, firing.execution)
            if key in self._helped:
                continue
            self._helped.add(key)
            reply = self._person(firing.subplan.path, part_name(firing.move))
            if reply is not None:
                self._at(self._now + reply.after, MergeAsked(at=0.0, subplan=firing.subplan.path))

    def _obey(self, order: AnyOrder) -> None:
        match order:
            case WakeAt():
                self._at(max(order.at, self._now), Woke(at=0.0))
            case Halt():
                key = order.key
                if self._under_way.get(key, 0.0) > self._now + DYING:
                    fact = Ended(
                        at=0.0,
                        firing=key[0],
                        execution=key[1],
                        how=StepOutcome(order.how),
                        signal=_TERMINATED,
                    )
                    self._ends(key, DYING, fact)
            case Freeze():
                self._freeze(order.key, thaw=order.thaw)
            case Order():
                self._execute(order)

    def _freeze(self, key: ExecutionKey, *, thaw: bool) -> None:
        """Freezes or thaws an execution that has not ended."""
        if thaw and key in self._left:
            self._ends(key, self._left.pop(key), self._ahead[key])
        elif not thaw and self._now < self._under_way.get(key, 0.0) < inf:
            self._left[key] = self._under_way[key] - self._now
            self._under_way[key] = inf

    def _execute(self, order: Ordered) -> None:
        how = self._world(order)
        fact = Ended(
            at=0.0,
            firing=order.firing,
            execution=order.execution,
            how=how.how,
            result=how.result,
            exit_code=how.exit_code,
            message=how.message,
            idle=how.idle,
            lasting=how.lasting,
            conflict=how.conflict,
            cost=how.cost,
            tokens=how.tokens,
            session=how.session,
            changed=how.changed,
            left=how.left,
            kept=how.kept,
            culprits=how.culprits,
            left_out=how.left_out,
            until=self._now + how.seconds + how.wait if how.how is StepOutcome.LIMITED else None,
            seconds=how.seconds,
        )
        for after, cost, tokens in how.spends:
            report = Spent(at=0.0, firing=order.firing, execution=order.execution, cost=cost, tokens=tokens)
            self._at(self._now + after, report)
        self._ends(order.key, how.seconds, fact)

    def _ends(self, key: ExecutionKey, after: float, fact: Ended) -> None:
        self._under_way[key] = self._now + after
        self._ahead[key] = fact
        self._left.pop(key, None)
        self._at(self._now + after, fact)

    def _at(self, when: float, fact: AnyFact) -> None:
        """Queues a fact. At the same time, executions come first, then people, then wake-ups."""
        self._count += 1
        rank = fact.firing if isinstance(fact, Ended | Spent) else _AFTER_ALL + isinstance(fact, Woke)
        heappush(self._queue, (when, rank, self._count, fact))
