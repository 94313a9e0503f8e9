"""One replication by the rules of the engine, as long as nothing fails for good."""

from collections import deque
from collections.abc import Mapping
from heapq import heappop, heappush

from weft.engine.messages.facts import StepOutcome
from weft.engine.pools.lanes import Claims
from weft.engine.state.script import OutcomeRoute
from weft.forecast.quick.quick_budget import QuickBudget
from weft.forecast.quick.quick_requests import QuickRequests
from weft.forecast.quick.quick_state import QuickSubplan, TroubleError
from weft.forecast.quick.quick_tables import QuickMove, QuickTables, QuickWork
from weft.forecast.quick.quick_tree import QuickTree
from weft.forecast.run_outcome import PoolUse, RunOutcome, longest
from weft.forecast.start import Start
from weft.forecast.world import World
from weft.plan.compile.parts import READY

_End = tuple[float, int, QuickSubplan, Claims, QuickWork, float, int | None, OutcomeRoute]
"""The end of an execution: time, number, subplan, claims, work, start, cost, and where its token goes."""


class QuickRun:
    """Plays one replication."""

    def __init__(self, tables: QuickTables, world: World, start: Start, watched: Mapping[str, int]) -> None:
        """`watched`: the numbers, by name, of the pools whose use is recorded."""
        self._tables = tables
        self._world = world
        self._budget = QuickBudget(tables.compiled.plan, start) if tables.has_ceilings else None
        self._requests = requests = QuickRequests(tables, self._budget)
        self._tree = QuickTree(tables, start)
        self._arrivals: deque[tuple[QuickSubplan, int]] = deque()
        self._ended: deque[QuickSubplan] = deque()
        self._queue: list[_End] = []
        self._serial = 0
        self._now = 0.0
        draws = tables.draws.of(world)
        self._first_seconds, self._first_costs, self._unusual = draws.seconds, draws.costs, draws.unusual
        self._counts = [0] * len(draws.seconds)
        """By work: how often it was executed."""
        self._cost = self._unpriced = 0
        self._pools = {name: PoolUse() for name in watched}
        self._meters = [
            (self._pools[name], requests.allocator.pool(number)) for name, number in watched.items()
        ]
        self._ends: dict[int, float] = {}
        self._works: dict[str, float] = {}
        self._branches: dict[tuple[int, str], float] = {}

    def play(self) -> RunOutcome | None:
        """Returns the outcome; None if the run needs rules that only the engine has."""
        try:
            self._play()
        except TroubleError:
            return None
        return RunOutcome(
            seconds=self._now,
            cost=self._cost,
            unpriced=self._unpriced,
            is_completed=True,
            meets_ceiling=False,
            pools=self._pools,
            ends=self._ends,
            works=self._works,
            chains=longest(self._branches),
            night=self._world.night,
        )

    def _play(self) -> None:
        self._settle()
        queue, tree, requests, budget = self._queue, self._tree, self._requests, self._budget
        while not tree.is_over:
            if not queue:
                raise TroubleError
            at, serial, subplan, claims, work, started, cost, route = heappop(queue)
            if at > self._now:
                self._pass(at)
            if work.is_step:
                self._add_work(work, at, at - started)
            if budget is not None:
                budget.settle(serial, work, cost)
            subplan.running -= 1
            requests.note_end(subplan, claims)
            self._put_down(subplan, route)
            self._settle()

    def _pass(self, at: float) -> None:
        """Lets time pass, and adds it to the use of the pools."""
        seconds = at - self._now
        self._now = at
        for use, pool in self._meters:
            used = pool.size - pool.free
            if used:
                use.busy += used * seconds
            if pool.parked:
                use.waiting += pool.waiting * seconds

    def _add_work(self, work: QuickWork, at: float, seconds: float) -> None:
        branch, works, branches = work.branch, self._works, self._branches
        self._ends[branch[0]] = at
        works[work.path] = works.get(work.path, 0.0) + seconds
        branches[branch] = branches.get(branch, 0.0) + seconds

    # Tokens

    def _settle(self) -> None:
        """Processes queues and pools until nothing more can happen before the next end."""
        requests, allocator, gates_are_new = self._requests, self._requests.allocator, True
        while True:
            if self._follow():
                gates_are_new = True
            number = allocator.next()
            if number is not None:
                self._grant(number)
                gates_are_new = True
            elif requests.lend_slots():
                gates_are_new = True
            elif gates_are_new and allocator.reopen():
                gates_are_new = False
            else:
                return

    def _follow(self) -> bool:
        """Processes the queues until they are empty; returns whether they had any entry."""
        arrivals, ended, tree, is_busy = self._arrivals, self._ended, self._tree, False
        ready, starting = tree.ready, tree.starting
        while True:
            if arrivals:
                self._arrive(*arrivals.popleft())
            elif ended:
                tree.end(ended.popleft())
            elif ready:
                row = ready.popleft()
                if tree.begin(row):
                    self._requests.ask_for_slots(row)
            else:
                return is_busy
            is_busy = True
            while starting:
                arrivals.append((starting.popleft(), READY))

    def _put_down(self, subplan: QuickSubplan, route: OutcomeRoute) -> None:
        if route.frees:
            self._requests.free_slots(subplan)
        for place in route.places:
            self._arrivals.append((subplan, place))
        if route.ends:
            if subplan.pools:
                self._requests.drop_pools(subplan)
            self._ended.append(subplan)

    def _arrive(self, subplan: QuickSubplan, place: int) -> None:
        move = subplan.moves[place]
        if move is None:
            raise TroubleError
        if move.inputs > 1:
            self._join(subplan, move)
        elif subplan.is_carried and move.carried is not None:
            self._put_down(subplan, move.carried)
        elif not move.acts:
            self._put_down(subplan, move.done)
        elif move.needs_room or subplan.has_lent:
            self._requests.ask(subplan, move)
        else:
            self._start(subplan, move, ())

    def _join(self, subplan: QuickSubplan, move: QuickMove) -> None:
        """Holds a token until the others of the transition have arrived."""
        arrived = subplan.arrived.get(move.number, 0) + 1
        if arrived == move.inputs:
            del subplan.arrived[move.number]
            self._put_down(subplan, move.done)
        else:
            subplan.arrived[move.number] = arrived

    # Executions

    def _grant(self, number: int) -> None:
        row = self._requests.admitted(number)
        if row is None:
            request = self._requests.granted(number)
            self._start(request.subplan, request.move, request.claims)
            return
        subplan = self._tree.subplan(row, self._tables.compiled.shape_of[row])
        self._requests.take_slots(subplan)
        begin = subplan.moves[READY]
        assert begin is not None
        if begin.acts:
            self._start(subplan, begin, self._requests.claims(subplan, begin))
        else:
            self._put_down(subplan, begin.done)

    def _start(self, subplan: QuickSubplan, move: QuickMove, claims: Claims) -> None:
        work = subplan.works.get(move.number)
        if work is None:
            raise TroubleError
        self._serial += 1
        if self._budget is not None and work.agent is not None:
            self._budget.reserve(self._serial, work)
        subplan.running += 1
        if move.is_merge:
            self._requests.note_merge(subplan)
        seconds, cost, route = self._execution(move, work)
        if cost is not None:
            self._cost += cost
        elif work.agent is not None:
            self._unpriced += 1
        end = (self._now + seconds, self._serial, subplan, claims, work, self._now, cost, route)
        heappush(self._queue, end)

    def _execution(self, move: QuickMove, work: QuickWork) -> tuple[float, int | None, OutcomeRoute]:
        """Returns the seconds and the cost of an execution, and where it leads."""
        number = work.number
        count = self._counts[number]
        self._counts[number] = count + 1
        if count or number in self._unusual:
            seconds, how, cost, _ = self._world.execution(work.estimate, work.timeout, count)
            if how is not StepOutcome.DONE:
                return seconds, cost, _route_of_failure(move, how)
        else:
            seconds, cost = self._first_seconds[number], self._first_costs[number]
        if work.lands:
            seconds = self._world.lands(self._now, seconds)
        return seconds, cost, move.done


def _route_of_failure(move: QuickMove, how: StepOutcome) -> OutcomeRoute:
    if move.retry is None or how is StepOutcome.LIMITED:
        raise TroubleError
    return move.retry
