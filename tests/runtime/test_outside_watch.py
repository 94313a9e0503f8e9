"""What changes outside of the worktrees of agents: which places are watched when, and during which steps."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from weft.engine.messages.facts import Ended, OutsideChange, StepOutcome
from weft.engine.messages.orders import AgentTask, Launch, Ordered, Prepare
from weft.plan.model import Agent
from weft.ports.checkout import CheckoutState
from weft.runtime.outside_watch import MOST_FILES, OutsideWatch

pytestmark = pytest.mark.anyio
HOME = Path("checkout")
AGENT = Agent(name="coder", use="command")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def launch(firing: int, path: str, *, agent: Agent | None = AGENT) -> Launch:
    return Launch(
        firing=firing, execution=1, row=firing, path=path, step="code", attempt=1, timeout=1.0, grace=1.0,
        work=() if agent is None else AgentTask(agent=agent),
    )  # fmt: skip


def prepare(firing: int, path: str) -> Prepare:
    return Prepare(firing=firing, execution=1, row=firing, path=path)


def end_of(order: Ordered) -> Ended:
    return Ended(at=0.0, firing=order.firing, execution=order.execution, how=StepOutcome.DONE)


class World:
    """Checkouts whose files change when a test says so."""

    def __init__(self, *slices: str, bound: float = 60.0, clock: Iterator[float] | None = None) -> None:
        self.files: dict[str, dict[str, int]] = {"checkout": {}, **{name: {} for name in slices}}
        self.heads = dict.fromkeys(self.files, "1")
        self.looks: list[str] = []
        self.unreadable: set[str] = set()
        self.meanwhile: Callable[[], None] = lambda: None
        time = clock if clock is not None else iter(lambda: 0.0, None)
        self.watch = OutsideWatch(
            self._look, checkout=HOME, worktree=Path, bound=bound, clock=lambda: next(time)
        )
        for number, name in enumerate(slices):
            order = prepare(1000 + number, name)
            self.watch.ordered(order)
            self.watch.reported(end_of(order))

    def _look(self, place: Path) -> CheckoutState | None:
        name = str(place)
        self.looks.append(name)
        self.meanwhile()
        if name in self.unreadable:
            return None
        return CheckoutState(self.heads[name], {path: (stamp,) for path, stamp in self.files[name].items()})

    async def begin(self, order: Launch) -> None:
        self.watch.ordered(order)
        await self.watch.step_starts(order)

    async def end(self, order: Launch) -> tuple[OutsideChange, ...]:
        fact = await self.watch.ended(order, end_of(order))
        self.watch.reported(fact)
        return fact.outside


async def test_what_changes_in_the_checkout_while_an_agent_runs_is_reported() -> None:
    world, step = World("a"), launch(1, "a")
    world.files["checkout"] = {"mine": 1}
    await world.begin(step)
    world.files["checkout"] = {"mine": 1, "stray": 2}
    assert await world.end(step) == (
        OutsideChange(directory="checkout", files=("stray",), during=("a:code",)),
    )


async def test_what_changes_while_no_agent_runs_is_the_user_s() -> None:
    world, first, second = World("a"), launch(1, "a"), launch(2, "a")
    await world.begin(first)
    await world.end(first)
    world.files["checkout"] = {"mine": 1}
    await world.begin(second)
    assert await world.end(second) == ()


async def test_a_change_is_reported_once_with_all_agents_that_ran() -> None:
    world, first, second = World("a", "b"), launch(1, "a"), launch(2, "b")
    await world.begin(first)
    await world.begin(second)
    world.files["checkout"] = {"stray": 1}
    (change,) = await world.end(first)
    assert change.during == ("a:code", "b:code")
    assert await world.end(second) == ()


async def test_an_agent_that_ended_before_a_change_is_not_named() -> None:
    world, first, second = World("a", "b"), launch(1, "a"), launch(2, "b")
    await world.begin(first)
    await world.begin(second)
    await world.end(first)
    world.files["checkout"] = {"stray": 1}
    (change,) = await world.end(second)
    assert change.during == ("b:code",)


async def test_the_worktree_of_an_idle_slice_is_watched() -> None:
    world, step = World("a", "b"), launch(1, "a")
    await world.begin(step)
    world.files["b"] = {"lost": 1}
    (change,) = await world.end(step)
    assert (change.place, change.directory, change.files) == ("b", "b", ("lost",))


async def test_the_worktree_of_a_slice_at_work_is_not_watched() -> None:
    world, first, second = World("a", "b"), launch(1, "a"), launch(2, "b", agent=None)
    await world.begin(first)
    world.watch.ordered(second)
    world.files["b"] = {"own": 1}
    assert await world.end(first) == ()
    assert world.looks.count("b") == 1


async def test_what_a_slice_did_before_its_step_ended_is_its_own() -> None:
    world, first, second = World("a", "b"), launch(1, "a"), launch(2, "b")
    await world.begin(first)
    await world.begin(second)
    world.files["b"] = {"own": 1}
    assert await world.end(second) == ()
    assert await world.end(first) == ()


async def test_a_look_during_which_a_step_starts_there_counts_for_nothing() -> None:
    world, step = World("a", "b"), launch(1, "a")
    await world.begin(step)
    world.files["b"] = {"own": 1}
    world.meanwhile = lambda: world.watch.ordered(launch(2, "b"))
    assert await world.end(step) == ()


async def test_steps_that_are_no_agents_are_not_checked() -> None:
    world, step = World("a"), launch(1, "a", agent=None)
    await world.begin(step)
    assert (await world.end(step), world.looks) == ((), [])


async def test_of_many_files_the_first_few_are_named() -> None:
    world, step = World("a"), launch(1, "a")
    await world.begin(step)
    world.files["checkout"] = {f"f{number:02}": 1 for number in range(MOST_FILES + 3)}
    (change,) = await world.end(step)
    assert (len(change.files), change.more) == (MOST_FILES, 3)


async def test_a_place_that_cannot_be_looked_at_in_time_is_not_watched_any_more() -> None:
    world, first, second = World("a", "b"), launch(1, "a"), launch(2, "a")
    world.unreadable = {"checkout", "b"}
    await world.begin(first)
    await world.end(first)
    await world.begin(second)
    assert world.looks == ["checkout", "b"]
    world.watch.ordered(prepare(3, "b"))
    world.watch.reported(end_of(prepare(3, "b")))
    await world.end(second)
    assert world.looks == ["checkout", "b", "b"]


async def test_a_check_takes_a_bounded_time_and_the_oldest_looks_are_renewed_first() -> None:
    """Here each time that is asked for is a second later: a check has time for the checkout and one more."""
    world = World("a", "b", "c", bound=2.5, clock=iter(float(number) for number in range(100)))
    for number in (1, 2):
        await world.begin(launch(number, "x"))
        await world.end(launch(number, "x"))
    assert world.looks == ["checkout", "a", "checkout", "b", "checkout", "c", "checkout", "a"]


async def test_without_a_way_to_look_nothing_is_watched() -> None:
    watch, step = OutsideWatch(), launch(1, "a")
    watch.ordered(step)
    await watch.step_starts(step)
    assert await watch.ended(step, end_of(step)) == end_of(step)


def test_a_file_that_is_as_in_the_commit_again_has_changed_unless_that_is_another_commit() -> None:
    before = CheckoutState("1", {"mine": (1,), "same": (2,), "edited": (3,)})
    assert before.changed_in(CheckoutState("1", {"same": (2,), "edited": (4,)})) == ["edited", "mine"]
    assert before.changed_in(CheckoutState("2", {"same": (2,), "edited": (4,)})) == ["edited"]
