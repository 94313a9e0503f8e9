"""What holds in every run, whatever happens; looked at after each fact, and once more at the end."""

from collections import Counter
from collections.abc import Iterable

from stored_events import StoredEvent, all_stored
from weft.app.history.ledger import Ledger
from weft.engine.engine import Engine
from weft.engine.messages.orders import Land, Launch, LaunchKind, Merge, Ordered, Prepare
from weft.engine.positions import PoolNames, WaitReason, held_room, net_position, waiting_work
from weft.engine.simulate import SimulatedRun
from weft.engine.state.budget import ALERTS, Budget
from weft.engine.state.ceilings import budgets_of, carry
from weft.net.game import Firing, TokenGame
from weft.net.model import PlaceKind
from weft.plan.compile.plan_net import CompiledPlan
from weft.plan.model import Step
from weft.plan.order.outline import ROOT

_TERMINAL = {"completed", "failed"}
_NOT_THE_LAST = {"stopped", "limited", "held"}
_ARROWS = {("pending", "running"), ("pending", "failed"), ("running", "completed"), ("running", "failed")}


def _is_finishing(order: Ordered) -> bool:
    """Whether the steps of its slice have ended: it is merged, or an agent resolves its conflict."""
    return isinstance(order, Merge) or (isinstance(order, Launch) and order.kind is LaunchKind.RESOLVE)


class Laws:
    def __init__(self, compiled: CompiledPlan) -> None:
        self.compiled = compiled
        self.plan = compiled.plan
        self.reserved: dict[tuple[int, int], tuple[int, int]] = {}
        self.net = NetOfRun(compiled)
        self.prepared: set[int] = set()
        """Rows of the slices that have begun."""

    def watch(self, run: SimulatedRun) -> None:
        self.net.follow(run.engine)
        self.positions_are_those_of_the_net(run.engine)
        self.holders_hold_what_is_in_use(run.engine)
        flying = run.engine.in_flight
        self.limits_hold(flying)
        self.finishing_goes_before_starting(run.engine, flying)
        self.who_waits_holds_no_slot(run.engine)
        for firing in run.engine._state.firings.values():
            self.reserved[firing.serial, firing.execution] = firing.reserved

    # During the run

    def limits_hold(self, flying: Iterable[Ordered]) -> None:
        launches = [order for order in flying if isinstance(order, Launch)]
        self.agents_hold(launches)
        self.pools_hold(launches)
        for row, subplan in enumerate(self.plan.subplans):
            below = range(row, row + self.plan.outline.sizes[row])
            settings = self.plan.scopes[row].settings
            inside = [order for order in flying if order.row in below]
            if settings.policy == "serial":
                assert len(inside) <= 1, "serial: one at a time"
            if row == ROOT or "max_parallel" in subplan.settings:
                slices = {order.row for order in inside if _is_work(order)}
                assert len(slices) <= settings.max_parallel or self.plan.outline.is_leaf(row)

    def finishing_goes_before_starting(self, engine: Engine, flying: Iterable[Ordered]) -> None:
        """When a slice begins, there is a place for it beside all that work, and beside the merge backlog.

        As many slices of the backlog as half a limit take no place. A slice that began, was held or lost and is
        tried again only takes its slots again.
        """
        new = [order for order in flying if isinstance(order, Prepare) and order.row not in self.prepared]
        self.prepared.update(order.row for order in new)
        firings, outline = engine._state.firings, self.plan.outline
        busy = {
            order.row
            for order in flying
            if outline.is_leaf(order.row)
            and not isinstance(order, Land)
            and not (isinstance(order, Merge) and firings[order.firing].frozen)
        }
        backlog = {order.row for order in flying if order.row in busy and _is_finishing(order)}
        for row, subplan in enumerate(self.plan.subplans):
            below = range(row, row + outline.sizes[row])
            is_limit = row == ROOT or ("max_parallel" in subplan.settings and not outline.is_leaf(row))
            if is_limit and any(order.row in below for order in new):
                limit = self.plan.scopes[row].settings.max_parallel
                finishing = len(backlog.intersection(below))
                working = len((busy - backlog).intersection(below))
                assert working + max(0, finishing - limit // 2) <= limit

    def agents_hold(self, launches: list[Launch]) -> None:
        busy = Counter(order.agent.name for order in launches if order.agent is not None)
        for name, agent in self.plan.agents.items():
            assert agent.pool is None or busy[name] <= agent.pool

    def pools_hold(self, launches: list[Launch]) -> None:
        taken: Counter[str] = Counter()
        ports: Counter[str] = Counter()
        branches: Counter[int] = Counter()
        for order in launches:
            if order.step.startswith("@"):
                continue
            steps = self.steps(order)
            taken.update(dict(steps[-1].pools))
            ports.update(order.env.get("WEFT_POOL_PORT", "").split())
            branches[order.row] += any(step.is_async for step in steps)
        assert all(taken[name] <= pool.size for name, pool in self.plan.pools.items())
        assert all(count == 1 for count in ports.values()), "each thing is with one step"
        for row, count in branches.items():
            limit = self.plan.scopes[row].settings.max_concurrency
            assert limit is None or count <= limit

    def steps(self, order: Launch) -> list[Step]:
        """The step, after those whose pipelines it stands in."""
        values: list[Step] = []
        pipeline = self.plan.pipeline_of(order.row)
        for name in order.step.split("."):
            values.append(next(step for step in pipeline.steps if step.id == name))
            pipeline = self.plan.pipelines.get(getattr(values[-1].body, "pipeline", ""), pipeline)
        return values

    def who_waits_holds_no_slot(self, engine: Engine) -> None:
        state = engine._state
        for subplan in state.active.values():
            if subplan.slots and not state.stopping:
                assert any(firing.is_under_way for firing in subplan.firings.values()), (
                    f"{subplan.path} waits"
                )

    def positions_are_those_of_the_net(self, engine: Engine) -> None:
        """The tokens and firings that a view shows of a subplan are those in its part of the one net."""
        for row, path in enumerate(self.plan.outline.paths):
            position = net_position(engine._state, row)
            if position is None:
                continue
            shape, copy = self.compiled.shapes[position.shape], path or "the plan"
            places = range(shape.own, len(shape.net.place_ids))
            own = {place for place in places if shape.net.place_kinds[place] is PlaceKind.CONTROL}
            shown = {place: count for place, count in position.tokens.items() if place in own}
            tokens = {place: self.net.tokens(f"{copy}: {shape.net.place_ids[place]}") for place in own}
            assert shown == {place: count for place, count in tokens.items() if count}, path
            firings = {name: self.net.firings(f"{copy}: {name}") for name in shape.net.transition_ids}
            shown_firings = Counter(str(shape.net.transition_ids[number]) for number in position.firing)
            assert shown_firings == +Counter(firings), path

    def holders_hold_what_is_in_use(self, engine: Engine) -> None:
        """The parts of a pool that a view shows as held are together what is not free of it."""
        held = Counter[str]()
        for part in held_room(engine._state, PoolNames(engine._state)):
            held[part.pool] += part.amount
        limits, allocator = engine._state.limits, engine._state.allocator
        named = {**limits.caps, **limits.named}
        in_use = {name: allocator.size(pool) - allocator.free(pool) for name, pool in named.items()}
        assert {name: held[name] for name in named} == in_use
        waiting = [*waiting_work(engine._state, PoolNames(engine._state))]
        assert len(waiting) == len(engine._state.candidates) + len(engine._state.requests)
        assert not any(work.pools for work in waiting if work.reason is not WaitReason.ROOM)

    # At the end

    def ended(self, run: SimulatedRun) -> None:
        events = all_stored(event for _, event in run.events)
        assert run.state in _TERMINAL, f"it hangs: {run.state}"
        assert "stuck" not in events[-1].data, events[-1].data["stuck"]
        self.net.ended()
        self.nothing_is_held(run.engine)
        self.facts_are_told_once(run, events)
        self.states_are_legal(events)
        self.executions_follow(events)
        self.people_are_heard(events)
        for unit, name in enumerate(("usd", "tokens")):
            self.ceilings_hold(run, events, unit)
            self.alerts_are_told_once(run, events, name)
        self.the_ledger_agrees(run)

    def nothing_is_held(self, engine: Engine) -> None:
        state = engine._state
        left = [state.firings, state.requests, state.active, state.questions, state.short, state.throttled]
        left += [state.candidates, state.held]
        assert not any(left), left
        assert not any(state.lent.values())
        assert not any(state.budget.reserved)
        assert not any(state.token_budget.reserved)
        assert not state.budget._accounts
        assert not state.token_budget._accounts
        pools = state.allocator._pools
        assert all(pool.free == pool.size for pool in pools.values())

    def facts_are_told_once(self, run: SimulatedRun, events: list[StoredEvent]) -> None:
        assert [event.fact for event in events if event.fact is not None] == run.facts

    def states_are_legal(self, events: list[StoredEvent]) -> None:
        outline = self.plan.outline
        now: dict[str, str] = dict.fromkeys(outline.paths[1:], "pending")
        parents: dict[str, str] = {
            path: outline.paths[outline.parents[row]] for row, path in enumerate(outline.paths) if row
        }
        for event in events:
            if event.kind != "subplan_state":
                continue
            assert event.data["from"] == now[event.subplan]
            assert (now[event.subplan], event.outcome) in _ARROWS
            now[event.subplan] = event.outcome
            assert now.get(parents[event.subplan], "") not in _TERMINAL, "a group ends after what is in it"
        assert set(now.values()) <= _TERMINAL

    def people_are_heard(self, events: list[StoredEvent]) -> None:
        """Nothing begins that they do not want to go on, but for merges that they ask for."""
        words: list[tuple[str, str]] = []
        for event in events:
            if event.kind in {"paused", "resumed"}:
                words = [word for word in words if not _is_in(word[0], event.subplan)]
                words.append((event.subplan, event.outcome))
            elif event.kind == "recovered":
                words = [(path, wanted) for path, wanted in words if wanted != "stop"]
            elif event.kind == "step_started" and event.step not in {"@merge", "@land"}:
                last = [wanted for path, wanted in words if _is_in(event.subplan, path)]
                assert (last or ["go"])[-1] == "go", f"{event.subplan} begins {event.step}"

    def executions_follow(self, events: list[StoredEvent]) -> None:
        """An execution starts once and ends once; another follows where it was stopped or limited."""
        open_: set[int] = set()
        last: dict[int, tuple[int, str]] = {}
        for event in events:
            firing = event.data.get("firing", 0)
            before, how = last.get(firing, (0, "limited"))
            if event.kind == "step_started":
                assert firing not in open_
                assert how in _NOT_THE_LAST
                assert event.data["execution"] == before + 1
                open_.add(firing)
            elif event.kind == "step_finished" and firing:
                open_.remove(firing)
                last[firing] = (event.data["execution"], event.outcome)
            elif event.kind == "step_cancelled" and firing not in open_:
                last[firing] = (before, "cancelled")
        assert not open_
        assert not [how for _, how in last.values() if how in _NOT_THE_LAST]

    def ceilings_hold(self, run: SimulatedRun, events: list[StoredEvent], unit: int) -> None:
        """At no time more is spent than a ceiling allows, but for what steps cost beyond what was reserved.

        And in the end all is counted, and once.
        """
        budget = _budget(run, unit)
        for row, path in enumerate(self.plan.outline.paths):
            ceiling = budget.ceiling(row)
            costs: dict[tuple[int, int], int] = {}
            spent = beyond = 0
            for event in events:
                inside = not path or f"{event.subplan}/".startswith(f"{path}/")
                amount = (event.cost, event.tokens)[unit]
                if event.kind not in {"spent", "step_finished"} or amount is None or not inside:
                    continue
                key = (event.data["firing"], event.data["execution"])
                before, reserved = costs.get(key, 0), self.reserved[key][unit]
                assert amount >= before
                costs[key] = amount
                spent += amount - before
                beyond += max(0, amount - reserved) - max(0, before - reserved)
                assert ceiling is None or spent <= ceiling + beyond
            assert spent == budget.spent[row]

    def the_ledger_agrees(self, run: SimulatedRun) -> None:
        """The next run of the plan starts with exactly what counts against the ceilings of this one."""
        ledger = Ledger()
        ledger.add_run(event for _, event in run.events)
        carried = budgets_of(self.plan)
        carry(self.plan, carried, ledger.entries.values())
        for unit, budget in enumerate(carried):
            counted = _budget(run, unit)
            assert budget.spent == counted.spent
            assert budget.assumed == counted.assumed
        assert carried[0].unknown == _budget(run, 0).unknown

    def alerts_are_told_once(self, run: SimulatedRun, events: list[StoredEvent], unit: str) -> None:
        budget = _budget(run, unit == "tokens")
        table: dict[str, list[int]] = {}
        for event in events:
            if event.kind == "budget" and event.data["unit"] == unit:
                table.setdefault(event.subplan, []).append(event.data["percent"])
        for row, path in enumerate(self.plan.outline.paths):
            ceiling, spent = budget.ceiling(row), budget.spent[row]
            reached = [part for part in ALERTS if ceiling is not None and spent * 100 >= ceiling * part]
            assert table.get(path, []) == reached


def _budget(run: SimulatedRun, unit: int) -> Budget:
    state = run.engine._state
    return state.token_budget if unit else state.budget


def _is_work(order: Ordered) -> bool:
    """Whether a slice holds its slots for it."""
    return isinstance(order, Launch) and not order.step.startswith("@")


class NetOfRun:
    """Plays the moves of an engine in the one net of the plan."""

    def __init__(self, compiled: CompiledPlan) -> None:
        self.compiled = compiled
        self.net = compiled.net
        self.game = TokenGame(self.net)
        self.running: dict[int, list[Firing]] = {}
        self.seen: list[tuple[str, str]] = []

    def follow(self, engine: Engine) -> None:
        moves, seen = engine.moves, self.seen
        number = len(seen)
        if number and (len(moves) < number or moves[number - 1] != seen[-1]):
            raise AssertionError("a successor tells another story")
        for name, outcome in moves[number:]:
            self.move(name, outcome)
            seen.append((name, outcome))

    def tokens(self, place: str) -> int:
        return self.game.tokens[self.net.place_number(place)]

    def firings(self, transition: str) -> int:
        return len(self.running.get(self.net.transition_number(transition), ()))

    def move(self, name: str, outcome: str) -> None:
        if outcome in {"lent", "regained"}:
            self.lend(name, 1 if outcome == "lent" else -1)
            return
        number = self.net.transition_number(name)
        if outcome:
            self.game.finish(self.running[number].pop(), outcome)
        else:
            self.running.setdefault(number, []).append(self.game.begin(number))

    def lend(self, name: str, sign: int) -> None:
        """What is lent is in the pools, though in the net it is held."""
        path, _, what = name.rpartition(": ")
        if what == "slots":
            claims = [(place, 1) for place in self.slots(path)]
        else:
            claims = list(self.game.claims[self.net.transition_number(name)])
        for place, weight in claims:
            self.game.tokens[place] += sign * weight

    def slots(self, path: str) -> list[int]:
        plan = self.compiled.plan
        result, row = [], [str(item) for item in plan.outline.paths].index(path)
        while row >= 0:
            limited = "max_parallel" in plan.subplans[row].settings and not plan.outline.is_leaf(row)
            if row == ROOT or limited:
                result.append(self.net.place_number(f"slots {plan.outline.paths[row]}".rstrip()))
            row = plan.outline.parents[row]
        return result

    def ended(self) -> None:
        """The end is reached, all pools are full, and there is no other token."""
        for place, kind in enumerate(self.net.place_kinds):
            full = self.net.initial[place] if kind is PlaceKind.POOL else int(kind is PlaceKind.END)
            assert self.game.tokens[place] == full, self.net.place_ids[place]
        assert not self.game.busy


def _is_in(path: str, group: str) -> bool:
    return not group or path == group or path.startswith(f"{group}/")
