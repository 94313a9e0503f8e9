"""Where slices are placed, what waits for a host, and what happens when one is lost."""

from weft.engine.engine import Engine
from weft.engine.messages.events import HostChangedEvent, PlacedEvent, StepFinishedEvent
from weft.engine.messages.facts import AnyFact, Ended, HostChanged, Resumed, RunStarted, StepOutcome
from weft.engine.messages.orders import Launch, Ordered, Prepare
from weft.plan.compile.compile import compile_plan
from weft.plan.loader.load import load_plan
from weft.terms import MachineState

NEAR = "near: {use: ssh, machine: a, slots: 2}"
FAR = "far: {use: ssh, machine: b, slots: 1}"
BOTH = f"hosts: {{{NEAR}, {FAR}}}"


class Player:
    """An engine whose orders end when the test says so."""

    def __init__(self, *subplans: str, top: str = BOTH, reached: tuple[str, ...] = ()) -> None:
        lines = "".join(f"  - {line}\n" for line in subplans)
        self.compiled = compile_plan(load_plan(f"weft: 1\nplan: p\nagent: claude\n{top}\nsubplans:\n{lines}"))
        self.engine = Engine(self.compiled)
        self.facts: list[AnyFact] = []
        self.events: list[object] = []
        self.open: dict[int, Ordered] = {}
        for host in reached:
            self.host(host)
        self.tell(RunStarted(at=0.0, run="r"))

    def tell(self, fact: AnyFact) -> None:
        self.facts.append(fact)
        self.engine.apply(fact)
        events, orders = self.engine.take_messages()
        self.events += events
        self.open.update({order.firing: order for order in orders if isinstance(order, Ordered)})
        for event in events:
            if isinstance(event, StepFinishedEvent):
                self.open.pop(event.firing, None)

    def host(self, host: str, state: MachineState = MachineState.REACHABLE, machine: str = "") -> None:
        self.tell(HostChanged(at=1.0, host=host, state=state, machine=machine, message="cut off"))

    def end(self, order: Ordered, how: StepOutcome = StepOutcome.DONE, session: str | None = None) -> None:
        self.tell(Ended(at=1.0, firing=order.firing, execution=order.execution, how=how, session=session))

    def prepare(self) -> None:
        """Ends all orders for workspaces."""
        for order in list(self.open.values()):
            if isinstance(order, Prepare):
                self.end(order)

    @property
    def running(self) -> dict[str, str]:
        """The hosts of the running steps, by subplan and step."""
        launches = [order for order in self.open.values() if isinstance(order, Launch)]
        return {f"{order.path}:{order.step}": order.host for order in launches}

    def launch(self, path: str) -> Launch:
        return next(order for order in self.open.values() if isinstance(order, Launch) and order.path == path)

    @property
    def placed(self) -> list[tuple[str, str, str]]:
        events = [event for event in self.events if isinstance(event, PlacedEvent)]
        return [(event.subplan, event.host, event.token) for event in events]


def leaf(name: str, more: str = "", step: str = "") -> str:
    return f"{{id: {name}, {more}steps: [{{id: x, run: ls{step}}}]}}"


ON_BOTH = "host: [near, far], "


def test_a_slice_starts_where_the_fewest_slices_are_for_the_slots() -> None:
    player = Player(*(leaf(name, ON_BOTH) for name in "abcdef"), top=f"{BOTH}\nmax_parallel: 6")
    player.host("near")
    player.host("far")
    # While `far` is still connecting, `near` takes no more than it has slots.
    assert [(path, host) for path, host, _ in player.placed] == [
        ("a", "near"),
        ("b", "near"),
        ("c", "far"),
        ("d", "near"),
        ("e", "far"),
        ("f", "near"),
    ]


def test_of_equal_hosts_the_first_that_is_named_is_taken() -> None:
    player = Player(leaf("a", "host: [far, near], "))
    player.host("near", MachineState.UNREACHABLE)
    player.host("far")
    assert [host for _, host, _ in player.placed] == ["far"]
    both = Player("{id: g, depends_on: [a], host: [far, near], steps: [{id: x, run: ls}]}", leaf("a"))
    both.host("near")
    both.host("far")
    both.prepare()
    both.end(both.launch("a"))
    for order in list(both.open.values()):
        both.end(order)
    assert [(path, host) for path, host, _ in both.placed] == [("g", "far")]


def test_a_slice_stays_where_it_is_and_its_steps_know_the_placement() -> None:
    player = Player("{id: a, host: [near, far], steps: [{id: x, run: ls}, {id: y, run: ls, host: far}]}")
    player.host("near")
    player.host("far")
    prepare = next(iter(player.open.values()))
    assert isinstance(prepare, Prepare)
    assert (prepare.host, prepare.token) == ("near", "r.1.1")
    player.end(prepare)
    x = player.launch("a")
    assert (x.host, x.token) == ("near", "r.1.1")
    player.end(x)
    y = player.launch("a")
    assert (y.step, y.host, y.token) == ("y", "far", "r.1.1")
    player.end(y)
    (merge,) = player.open.values()
    player.end(merge)
    assert not any(isinstance(order, Launch) for order in player.open.values())


def test_work_on_this_machine_has_neither_host_nor_token() -> None:
    player = Player(leaf("a", "host: [local, near], "), leaf("b"))
    player.host("near")
    player.prepare()
    assert {(order.host, order.token) for order in player.open.values() if isinstance(order, Launch)} == {
        ("", "")
    }
    assert player.placed == [("a", "local", "r.1.1")]


def test_a_run_that_waits_for_a_host_is_neither_finished_nor_waiting_for_people() -> None:
    player = Player(leaf("a", "host: near, "))
    assert (player.engine.state, player.open) == ("running", {})
    player.host("near", MachineState.UNREACHABLE)
    assert (player.engine.state, player.open) == ("running", {})
    player.host("near")
    player.prepare()
    player.end(player.launch("a"))
    for order in list(player.open.values()):
        player.end(order)
    for order in list(player.open.values()):
        player.end(order)
    assert player.engine.state == "completed"


def test_what_waits_for_a_host_holds_no_place_that_others_can_use() -> None:
    two = "steps: [{id: x, run: ls}, {id: y, run: ls}]"
    top = f"{BOTH}\nmax_parallel: 1"
    player = Player(f"{{id: a, host: near, {two}}}", leaf("b"), top=top, reached=("near",))
    player.prepare()
    player.host("near", MachineState.UNREACHABLE)
    assert player.running == {"a:x": "near"}, "what runs there continues"
    player.end(player.launch("a"))
    player.prepare()
    assert player.running == {"b:x": ""}
    player.host("near")
    player.end(player.launch("b"))
    assert player.running == {"a:y": "near"}


def test_steps_on_a_lost_host_run_again_elsewhere_under_another_token() -> None:
    player = Player(leaf("a", ON_BOTH))
    player.host("near")
    player.host("far")
    player.prepare()
    lost = player.launch("a")
    player.host("near", MachineState.UNREACHABLE)
    player.host("near", MachineState.LOST)
    assert player.placed == [("a", "near", "r.1.1"), ("a", "far", "r.1.2")]
    again = player.launch("a")
    assert (again.host, again.token, again.attempt) == ("far", "r.1.2", lost.attempt)
    count = len(player.events)
    player.end(lost)  # it is back, and says so too late
    assert player.running == {"a:x": "far"}
    assert not any(isinstance(event, StepFinishedEvent) for event in player.events[count:])


def test_where_no_other_host_is_allowed_a_slice_waits_for_the_lost_one() -> None:
    player = Player(leaf("a", "host: near, "))
    player.host("near")
    player.prepare()
    player.host("near", MachineState.LOST)
    assert (player.engine.state, player.open) == ("running", {})
    player.host("near")
    assert player.launch("a").token == "r.1.2"


def test_losses_count_against_infra_retries() -> None:
    player = Player(leaf("a", "host: near, "), top=f"{BOTH}\ninfra_retries: 1")
    player.host("near")
    player.prepare()
    for _ in range(2):
        player.host("near", MachineState.LOST)
        player.host("near")
    assert player.engine.state == "failed"


def test_a_host_is_lost_when_all_of_its_machines_are() -> None:
    player = Player(leaf("a", "host: near, "))
    player.host("near", machine="one")
    player.host("near", machine="two")
    player.prepare()
    player.host("near", MachineState.LOST, machine="one")
    assert player.running == {"a:x": "near"}
    player.host("near", MachineState.LOST, machine="two")
    assert player.running == {}
    player.host("near", machine="two")
    assert player.running == {"a:x": "near"}


def test_a_step_that_is_lost_with_its_machine_is_placed_again() -> None:
    player = Player(leaf("a", "host: near, "))
    player.host("near", machine="one")
    player.prepare()
    player.end(player.launch("a"), StepOutcome.LOST)
    assert player.launch("a").token == "r.1.2"


def test_a_new_coordinator_reaches_the_hosts_before_anything_starts_there() -> None:
    player = Player("{id: a, host: near, steps: [{id: x, run: ls}, {id: y, run: ls}]}")
    player.host("near")
    player.prepare()
    x = player.launch("a")
    again = Engine(player.compiled, quiet=True)
    for fact in player.facts:
        again.apply(fact)
    again.take_messages()
    again.speak()
    player.engine, player.open = again, {order.firing: order for order in again.in_flight}
    player.tell(Resumed(at=2.0, epoch=2))
    player.end(x)
    assert (player.engine.state, player.open) == ("running", {})
    player.host("near")
    assert (player.launch("a").step, player.launch("a").token) == ("y", "r.1.1")


def test_a_conversation_is_not_continued_on_another_machine() -> None:
    talk = "{id: x, prompt: p}, {id: y, prompt: q, resume: true}"
    player = Player(f"{{id: a, host: [near, far], steps: [{talk}]}}")
    player.host("near")
    player.host("far")
    player.prepare()
    player.end(player.launch("a"), session="s1")
    task = player.launch("a").task
    assert task is not None
    assert task.session == "s1"
    player.host("near", MachineState.LOST)
    moved = player.launch("a")
    assert moved.task is not None
    assert (moved.host, moved.task.session) == ("far", None)


def test_a_plan_on_this_machine_alone_writes_no_event_about_hosts() -> None:
    player = Player(leaf("a"), leaf("b"))
    player.prepare()
    assert player.running == {"a:x": "", "b:x": ""}
    assert not any(isinstance(event, PlacedEvent | HostChangedEvent) for event in player.events)
