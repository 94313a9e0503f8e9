"""One replication: the engine of a run, driven in virtual time.

Unlike `engine.simulate`, which serves the tests of the engine, this driver keeps no record of facts, events and
orders, and the coordinator does not die. People answer at once, and agree, and all hosts can be reached.
"""

from collections.abc import Mapping
from heapq import heappop, heappush

from weft.engine.engine import Engine
from weft.engine.messages.facts import Answered, AnyFact, Ended, HostChanged, MergeAsked, StepOutcome, Woke
from weft.engine.messages.orders import AnyOrder, Halt, Launch, Order, Ordered, WakeAt
from weft.engine.messages.step_refs import ExecutionKey
from weft.forecast.run_outcome import PoolUse, RunOutcome, longest
from weft.forecast.world import World
from weft.terms import AT_REST, MachineState

_LAST = 1 << 60
_TERMINATED = 15
"""SIGTERM, by which an execution ends that was ordered to."""


class VirtualRun:
    """Drives an engine until its run is over."""

    def __init__(self, engine: Engine, world: World, *, watched: Mapping[str, int] = {}) -> None:
        """`watched`: the numbers, by name, of the pools whose use is recorded, which takes time at each fact."""
        self._engine = engine
        self._world = world
        self._now = 0.0
        self._queue: list[tuple[float, int, int, AnyFact]] = []
        self._count = 0
        self._ends: dict[int, Ended] = {}
        """By firing: the end of its execution under way."""
        self._pools = {name: PoolUse() for name in watched}
        self._meters = [(self._pools[name], engine.pool(number)) for name, number in watched.items()]
        self._rows: dict[int, float] = {}
        """By row of a slice: when its last step ended."""
        self._works: dict[str, float] = {}
        self._branches: dict[tuple[int, str], float] = {}
        """By row and branch: the seconds of the executions that followed each other."""
        self._launches: dict[int, tuple[Launch, str, float]] = {}
        """By firing: the executions under way that are work of the plan, their branches, and when they started."""
        self._asked: set[ExecutionKey] = set()

    def play(self, first: AnyFact) -> RunOutcome:
        """Applies the first fact and everything that follows from it, until the run is over."""
        self._apply(first)
        for host in self._engine.far_hosts:
            self._apply(HostChanged(at=self._now, host=host, state=MachineState.REACHABLE))
        engine, queue, ends = self._engine, self._queue, self._ends
        while queue and engine.state not in AT_REST:
            at, _, _, fact = heappop(queue)
            if isinstance(fact, Ended):
                if ends.get(fact.firing) is not fact:
                    continue  # it was halted
                del ends[fact.firing]
                self._add_work(fact)
            self._pass(at)
            self._apply(fact)
        return RunOutcome(
            seconds=self._now,
            cost=engine.spent[0],
            unpriced=engine.unknown_costs,
            is_completed=engine.state == "completed",
            meets_ceiling=engine.has_reached_ceiling,
            pools=self._pools,
            ends=self._rows,
            works=self._works,
            chains=longest(self._branches),
            night=self._world.night,
        )

    def _pass(self, at: float) -> None:
        """Lets time pass, and adds it to the use of the pools."""
        seconds = at - self._now
        self._now = at
        if seconds:
            for use, pool in self._meters:
                use.busy += pool.used * seconds
                use.waiting += pool.waiting * seconds

    def _apply(self, fact: AnyFact) -> None:
        engine = self._engine
        engine.apply(fact)
        for order in engine.take_messages()[1]:
            self._obey(order)
        if engine.has_to_ask:
            self._ask_people()

    def _obey(self, order: AnyOrder) -> None:
        match order:
            case Order():
                self._execute(order)
            case WakeAt():
                self._at(max(order.at, self._now), Woke(at=max(order.at, self._now)), _LAST)
            case Halt():
                self._halt(order)
            case _:
                pass  # a rehearsal pauses nothing, so no process is frozen

    def _halt(self, order: Halt) -> None:
        """Ends an execution early, with the share of its cost for the time that it ran."""
        end = self._ends.get(order.firing)
        if end is None or end.at <= self._now:
            return
        share = 1.0 - (end.at - self._now) / end.seconds if end.seconds else 1.0
        cost = None if end.cost is None else round(end.cost * max(share, 0.0))
        self._end(
            Ended(
                at=self._now,
                firing=order.firing,
                execution=order.execution,
                how=StepOutcome(order.how),
                signal=_TERMINATED,
                cost=cost,
                seconds=end.seconds * max(share, 0.0),
            )
        )

    def _end(self, end: Ended) -> None:
        self._ends[end.firing] = end
        self._at(end.at, end, end.firing)

    def _execute(self, order: Ordered) -> None:
        if isinstance(order, Launch) and order.is_work:
            self._launches[order.firing] = (order, self._world.branch(order), self._now)
        self._end(self._world.ends(order, self._now))

    def _add_work(self, end: Ended) -> None:
        """Counts an execution when it ends: one that is halted has worked only until then."""
        launch = self._launches.pop(end.firing, None)
        if launch is not None:
            order, branch, ordered = launch
            row, seconds = order.row, end.at - ordered
            self._rows[row] = end.at
            self._works[order.path] = self._works.get(order.path, 0.0) + seconds
            key = (row, branch)
            self._branches[key] = self._branches.get(key, 0.0) + seconds

    def _at(self, when: float, fact: AnyFact, rank: int) -> None:
        """Queues a fact. At the same time, executions come first, in their order, then people, then wake-ups."""
        self._count += 1
        heappush(self._queue, (when, rank, self._count, fact))

    def _ask_people(self) -> None:
        for question in self._engine.questions():
            key = ExecutionKey(question.serial, question.execution)
            if key not in self._asked:
                self._asked.add(key)
                path, step = question.subplan.path, question.step
                answer = Answered(at=self._now, subplan=path, step=step, accepted=True, result="yes")
                self._at(self._now, answer, _LAST - 1)
        for firing in self._engine.held():
            key = ExecutionKey(firing.serial, firing.execution)
            if key not in self._asked:
                self._asked.add(key)
                self._at(self._now, MergeAsked(at=self._now, subplan=firing.subplan.path), _LAST - 1)
