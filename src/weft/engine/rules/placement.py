"""The placement of slices on hosts.

A slice is placed when it starts: on the host with the fewest slices for its slots, of those that its `host`
allows and that can be reached; of equal ones on the first. The choice depends on nothing but the facts, so a
replay makes the same. The slice stays there. A step with a `host` of its own runs where the slice is if it may,
and otherwise on the first host that it allows and that can be reached.

While a host cannot be reached, nothing new starts there: requests for it are *stranded*, and hold no room
meanwhile. When a host counts as lost, what runs there ends as lost, and its slices are placed again. Each
placement has a number, and its *token* is what the far side knows it by, so that work of an earlier placement can
be refused.
"""

from weft.engine.messages.facts import Ended, HostChanged, StepOutcome
from weft.engine.messages.orders import Launch
from weft.engine.rules.event_writer import EventWriter
from weft.engine.state.engine_state import EngineState
from weft.engine.state.script import ShapeTransition
from weft.engine.state.slice_state import StepFiring, SubplanState
from weft.plan.hosts import LOCAL
from weft.plan.order.outline import ROOT
from weft.plan.placement import slice_hosts
from weft.terms import MachineState


class Placement:
    """Places slices, and decides where their steps run."""

    def __init__(self, state: EngineState, events: EventWriter) -> None:
        self._state = state
        self._events = events

    def place(self, subplan: SubplanState) -> bool:
        """Places a slice that is not placed; returns whether it is placed now."""
        if subplan.host is not None:
            return True
        state = self._state
        candidates = slice_hosts(state.plan, subplan.row)
        reachable = [host for host in candidates if state.hosts.is_reachable(host)]
        if not reachable:
            return False
        loads = self._loads() if len(reachable) > 1 else {}
        subplan.host = min(reachable, key=lambda host: loads.get(host, 0) / self._slots(host))
        subplan.placement += 1
        if candidates != (LOCAL,):
            self._events.placed(subplan, state.token(subplan))
        return True

    def may_start(self, hosts: tuple[str, ...]) -> bool:
        """Returns whether a slice may be placed now, if it may work on these hosts.

        While one of them has not been reached yet, the others take no more slices than they have slots. Otherwise
        the host that is reached first would get all slices.
        """
        states = self._state.hosts
        reachable = [host for host in hosts if states.is_reachable(host)]
        if not any(map(states.is_connecting, hosts)):
            return bool(reachable)
        loads = self._loads()
        return any(loads.get(host, 0) < self._slots(host) for host in reachable)

    def _loads(self) -> dict[str, int]:
        """Returns the number of slices on each host."""
        loads: dict[str, int] = {}
        for subplan in self._state.active.values():
            if subplan.host is not None:
                loads[subplan.host] = loads.get(subplan.host, 0) + 1
        return loads

    def _slots(self, host: str) -> int:
        spec = self._state.plan.hosts.get(host)
        slots = None if spec is None else spec.slots
        # Without slots of its own, this machine runs as much as the plan does.
        return self._state.settings(ROOT).max_parallel if slots is None else slots

    def prepares(self, subplan: SubplanState, move: ShapeTransition) -> bool:
        """Chooses the host of a step that is about to ask for room; returns whether it can be reached."""
        if not self.place(subplan):
            return False
        host = self._host_of(subplan, move)
        subplan.step_hosts = {**subplan.step_hosts, move.act.step: host}
        return self._state.hosts.is_reachable(host)

    def _host_of(self, subplan: SubplanState, move: ShapeTransition) -> str:
        choice = subplan.steps[move.act.step].step.host
        assert subplan.host is not None, "the slice is placed"
        if choice is None:
            return subplan.host
        allowed = choice.candidates(self._state.plan.hosts)
        if subplan.host in allowed:
            return subplan.host
        return next((host for host in allowed if self._state.hosts.is_reachable(host)), allowed[0])

    # Changes

    def ended(self, firing: StepFiring, how: StepOutcome) -> None:
        """Places the slice of a step that was lost on another machine again, unless another step of it runs there.

        The lost process may still be alive there, out of reach; the new placement keeps its work out.
        """
        host = host_of_order(firing)
        if how is not StepOutcome.LOST or host == LOCAL:
            return
        subplan = firing.subplan
        beside = (each for each in subplan.firings.values() if each is not firing and each.is_under_way)
        if not any(host_of_order(each) == host for each in beside):
            subplan.host = None

    def forgets(self) -> None:
        """Forgets which hosts can be reached: a new coordinator has reached none of them yet."""
        self._state.hosts.forget()

    def changes(self, fact: HostChanged) -> list[StepFiring]:
        """Records whether a host can be reached; returns the running steps that are lost with it."""
        state, host = self._state, fact.host
        state.hosts.change(host, fact.machine, fact.state)
        if fact.state is not MachineState.LOST or not state.hosts.is_lost(host):
            return []
        for subplan in state.active.values():
            if subplan.host == host:
                subplan.host = None
        running = (firing for firing in state.firings.values() if firing.is_under_way)
        return [firing for firing in running if host_of_order(firing) == host]


def host_of_order(firing: StepFiring) -> str:
    """Returns where the process of a firing runs."""
    order = firing.order
    return (order.host or LOCAL) if isinstance(order, Launch) else LOCAL


def lost_end(firing: StepFiring, fact: HostChanged) -> Ended:
    """Returns the end of a step whose host counts as lost."""
    return Ended(
        at=fact.at,
        firing=firing.serial,
        execution=firing.execution,
        how=StepOutcome.LOST,
        message=f"the host {fact.host} is lost" + (f": {fact.message}" if fact.message else ""),
    )
