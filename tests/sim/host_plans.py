"""Random plans whose slices and steps run on several hosts, and what holds of every run of them."""

from collections import Counter
from collections.abc import Iterable, Iterator
from random import Random
from typing import Any

from sim.laws import Laws
from sim.random_plans import Data, Drawer
from sim.random_worlds import Chances, RandomWorld
from stored_events import StoredEvent, all_stored
from weft.engine.engine import Engine
from weft.engine.messages.events import AnyEvent, PlacedEvent, StepStartedEvent
from weft.engine.messages.orders import Launch, LaunchKind, Ordered
from weft.engine.simulate import HostFailure, Interruptions, SimulatedRun, Simulator
from weft.plan.compile.compile import compile_plan
from weft.plan.compile.plan_net import CompiledPlan
from weft.plan.hosts import LOCAL
from weft.plan.loader.load import load_plan
from weft.plan.placement import slice_hosts
from weft.plan.text.emit import to_yaml
from weft.plan.text.problems import PlanError

FAR = ("near", "far")


def plan_with_hosts(random: Random, *, is_pinned: bool) -> CompiledPlan:
    """`is_pinned`: each `host` names one host, so that no slice can move."""
    while True:
        data = Drawer(random).plan() | {"isolation": "worktree"}
        _add_hosts(random, data, is_pinned=is_pinned)
        try:
            return compile_plan(load_plan(to_yaml(data)))
        except PlanError:
            continue


def _add_hosts(random: Random, data: Data, *, is_pinned: bool) -> None:
    data["hosts"] = {
        "near": {"use": "ssh", "machine": "a", "slots": random.randint(1, 2), "labels": ["big"]},
        "far": {"use": "ssh", "machine": "b", "slots": random.randint(1, 3), "labels": ["big"]},
    }
    if random.random() < 0.5:
        data["hosts"]["local"] = {"slots": random.randint(1, 2)}
    data["host"] = _choice(random, is_pinned=is_pinned)
    for subplan in _subplans(data["subplans"]):
        if random.random() < 0.3:
            subplan["host"] = _choice(random, is_pinned=is_pinned)
    for steps in (
        *data["pipelines"].values(),
        *(s["steps"] for s in _subplans(data["subplans"]) if "steps" in s),
    ):
        for step in steps:
            if random.random() < 0.2 and (
                "run" in step or "prompt" in step or step.get("action") == "verify"
            ):
                step["host"] = _choice(random, is_pinned=is_pinned)


def _subplans(subplans: Iterable[Data]) -> Iterator[Data]:
    for subplan in subplans:
        yield subplan
        yield from _subplans(subplan.get("subplans", ()))


def _choice(random: Random, *, is_pinned: bool) -> Any:
    alone = ["near", "far", LOCAL]
    together = [["near", "far"], ["far", LOCAL], {"labels": ["big"]}, ["near", "far", LOCAL]]
    return random.choice(alone if is_pinned else alone + together)


class HostLaws(Laws):
    """What holds in every run on several hosts. A slice that moves has no place in the net of the plan."""

    def __init__(self, compiled: CompiledPlan, *, follows_net: bool) -> None:
        super().__init__(compiled)
        self._follows_net = follows_net

    def watch(self, run: SimulatedRun) -> None:
        self.slots_hold(run.engine.in_flight)
        if self._follows_net:
            super().watch(run)
            return
        self.holders_hold_what_is_in_use(run.engine)
        self.limits_hold(run.engine.in_flight)
        self.who_waits_holds_no_slot(run.engine)
        for firing in run.engine._state.firings.values():
            self.reserved[firing.serial, firing.execution] = firing.reserved

    def positions_are_those_of_the_net(self, engine: Engine) -> None:
        pass

    def slots_hold(self, flying: Iterable[Ordered]) -> None:
        """No host runs more steps than it has slots."""
        steps = [order for order in flying if isinstance(order, Launch) and order.kind is LaunchKind.STEP]
        busy = Counter(order.host or LOCAL for order in steps)
        for name, host in self.plan.hosts.items():
            assert host.slots is None or busy[name] <= host.slots, name

    def ended(self, run: SimulatedRun) -> None:
        if self._follows_net:
            super().ended(run)
        else:
            events = all_stored(event for _, event in run.events)
            assert run.state in {"completed", "failed"}, f"it hangs: {run.state}"
            assert "stuck" not in events[-1].data, events[-1].data["stuck"]
            self.nothing_is_held(run.engine)
            self.facts_are_told_once(run, events)
            self.states_are_legal(events)
            self.executions_follow(events)
            self.the_ledger_agrees(run)
        self.slices_stay([event for _, event in run.events])
        self.nothing_is_done_twice(all_stored(event for _, event in run.events))

    def slices_stay(self, events: Iterable[AnyEvent]) -> None:
        """Each step runs where its slice was placed last, or where the step itself says."""
        placed: dict[str, str] = {}
        tokens: set[str] = set()
        rows = {str(path): row for row, path in enumerate(self.plan.outline.paths)}
        for event in events:
            if isinstance(event, PlacedEvent):
                assert event.host in slice_hosts(self.plan, rows[event.subplan])
                assert event.token not in tokens, "a token is given out once"
                tokens.add(event.token)
                placed[event.subplan] = event.host
            elif (
                isinstance(event, StepStartedEvent)
                and not event.step.startswith("@")
                and event.action != "ask"
            ):
                launch = Launch(
                    firing=0, execution=1, row=rows[event.subplan], path=event.subplan, step=event.step,
                    attempt=1, timeout=1.0, grace=1.0,
                )  # fmt: skip
                choice = self.steps(launch)[-1].host
                home = placed.get(event.subplan, LOCAL)
                allowed = (home,) if choice is None else choice.candidates(self.plan.hosts)
                assert (event.host or LOCAL) in allowed
                assert home not in allowed or (event.host or LOCAL) == home

    def nothing_is_done_twice(self, events: Iterable[StoredEvent]) -> None:
        done = Counter(
            (event.subplan, event.step, event.data.get("attempt", event.attempt))
            for event in events
            if event.kind == "step_finished" and event.outcome == "done" and not event.step.startswith("@")
        )
        assert all(count == 1 for count in done.values()), done.most_common(1)


def play(
    compiled: CompiledPlan,
    world: str,
    chances: Chances | None = None,
    *,
    fails: float = 0.0,
    follows_net: bool = False,
) -> SimulatedRun:
    """A run in which all laws held. `fails`: how probable it is after each fact that a host fails."""
    trouble = Random(world).choice([0.0, 0.03, 0.1, 0.3])
    random_world, laws = RandomWorld(world, trouble, holds=False), HostLaws(compiled, follows_net=follows_net)
    others = (chances or Chances()).interruptions(world, compiled.plan.outline.paths)

    def failure(facts: int) -> HostFailure | None:
        random = Random(f"{world} host {facts}")
        if random.random() >= fails:
            return None
        return HostFailure(
            host=random.choice(FAR), is_lost=random.random() < 0.6, seconds=random.choice([0.5, 3.0, 40.0])
        )

    run = Simulator(
        compiled,
        random_world.happens,
        person=random_world.replies,
        interruptions=Interruptions(
            dies=others.dies,
            dies_early=others.dies_early,
            stops=others.stops,
            says=others.says,
            hosts=failure,
        ),
        watch=laws.watch,
        trace=follows_net,
    ).play()
    laws.ended(run)
    return run
