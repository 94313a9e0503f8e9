"""People pause, freeze and stop a run while a coordinator plays it, or while none does."""

from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Event as Signal

import pytest

from runtime.theatre import RUN, Deed, NoWorkspaces, Theatre, slices
from weft.engine.messages.event_codec import kind_of, outcome_of
from weft.engine.messages.events import Recorded
from weft.store.memory import MemoryReader

pytestmark = pytest.mark.anyio

TWO_STEPS = "subplans: [{id: a, steps: [{id: x, run: [mark, wait]}, {id: y, run: [mark]}]}]"


def say(theatre: Theatre, wanted: str, subplan: str = "", **more: object) -> None:
    data: dict[str, object] = {"wanted": wanted, **more}
    MemoryReader(theatre.recorded_run).ask(RUN, "control", subplan=subplan, step="", data=data, at=0.0)


Heard = Callable[[Sequence[Recorded]], None]


def on(theatre: Theatre, what: dict[tuple[str, str], Callable[[], None]]) -> Heard:
    """An action after an event of this kind and outcome."""

    def hears(events: Sequence[Recorded]) -> None:
        for item in events:
            what.get((kind_of(item.event), outcome_of(item.event)), lambda: None)()

    return hears


async def test_what_is_paused_continues_at_the_next_step(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path, TWO_STEPS)
    (job,) = [f"{RUN}.1.1"]
    states: list[str] = []

    def paused() -> None:
        theatre.machine.release(job)

    def first_ended() -> None:
        states.append(theatre.recorded_run.runs[RUN].state)
        say(theatre, "go")

    heard = on(
        theatre,
        {
            ("step_started", ""): lambda: say(theatre, "pause") if not states else None,
            ("paused", "pause"): paused,
            ("step_finished", "done"): lambda: first_ended() if not states else None,
        },
    )
    assert await theatre.run(heard) == "completed"
    assert states == ["paused"]
    assert [item.kind for item in theatre.events() if item.kind in {"paused", "resumed"}] == [
        "paused",
        "resumed",
    ]
    assert theatre.recorded_run.requests == {}


async def test_what_is_frozen_stands_still_and_continues(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path, TWO_STEPS)
    job = f"{RUN}.1.1"
    begun: list[str] = []

    def started() -> None:
        begun.append("")
        if len(begun) == 1:
            say(theatre, "freeze", "a")

    def frozen() -> None:
        theatre.machine.release(job)
        assert theatre.machine.jobs[job].waits, "it stands still, whatever it is told"
        say(theatre, "go")

    heard = on(theatre, {("step_started", ""): started, ("paused", "freeze"): frozen})
    assert await theatre.run(heard) == "completed"
    assert theatre.outcomes("x") == theatre.outcomes("y") == ["done"]


async def test_a_stop_ends_the_run_and_the_next_coordinator_continues(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path, slices({"a": "[mark, wait]"}))
    assert await theatre.run(on(theatre, {("step_started", ""): lambda: say(theatre, "stop")})) == "stopped"
    assert theatre.outcomes("x") == ["stopped"]
    heard = on(theatre, {("step_started", ""): lambda: theatre.machine.release(theatre.machine.waiting()[0])})
    assert await theatre.run(heard) == "completed"


async def stopped(root: Path) -> Theatre:
    """A run whose coordinator has gone, in the middle of its first step."""
    theatre = Theatre(root, TWO_STEPS)
    await theatre.run(on(theatre, {("step_started", ""): lambda: say(theatre, "stop")}))
    return theatre


def goes_through(theatre: Theatre) -> Callable[[], None]:
    def release() -> None:
        for name in theatre.machine.waiting():
            theatre.machine.release(name)

    return release


@pytest.mark.parametrize("subplan", ["", "a"], ids=["of all", "of a subplan"])
async def test_a_stop_that_no_coordinator_took_does_not_stop_the_next_one(
    tmp_path: Path, subplan: str
) -> None:
    theatre = await stopped(tmp_path)
    say(theatre, "stop", subplan)
    assert await theatre.run(on(theatre, {("step_started", ""): goes_through(theatre)})) == "completed"
    assert theatre.recorded_run.requests == {}


async def test_a_pause_that_no_coordinator_took_pauses_the_next_one(tmp_path: Path) -> None:
    theatre = await stopped(tmp_path)
    say(theatre, "pause")
    states: list[str] = []

    def first_ended() -> None:
        states.append(theatre.recorded_run.runs[RUN].state)
        say(theatre, "go")

    what = {("step_started", ""): goes_through(theatre), ("step_finished", "done"): first_ended}
    assert await theatre.run(on(theatre, what)) == "completed"
    assert states[0] == "paused"


async def test_a_subplan_is_stopped_at_once_and_continues_while_others_do(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path, slices({"a": "[mark, wait]", "b": "[mark, wait]"}))
    ended: list[str] = []

    def stopped() -> None:
        ended.append("a")
        say(theatre, "go", "a")

    def goes_on() -> None:
        for name in theatre.machine.waiting():
            theatre.machine.release(name)

    started: list[str] = []

    def begins() -> None:
        started.append("")
        if len(started) == 2:
            say(theatre, "stop", "a", now=True)
        elif len(started) == 3:
            goes_on()

    heard = on(theatre, {("step_started", ""): begins, ("step_finished", "stopped"): stopped})
    assert await theatre.run(heard) == "completed"
    assert ended == ["a"]
    executions = [item.data["execution"] for item in theatre.events() if item.kind == "step_started"]
    assert executions == [1, 1, 2]


async def test_what_has_no_process_yet_stands_still_as_soon_as_it_has_one(tmp_path: Path) -> None:
    """It is frozen while its workspace is being proven."""
    theatre = Theatre(tmp_path, slices({"a": "[mark]"}), workspaces=NoWorkspaces(tmp_path, history=True))
    asked, heard = Signal(), Signal()
    values: list[tuple[str, bool]] = []
    machine_freezes = theatre.machine.freeze

    def freeze(name: str, *, frozen: bool) -> None:
        values.append((name, frozen))
        machine_freezes(name, frozen=frozen)
        if frozen:
            say(theatre, "go")

    def proving(deed: Deed) -> None:
        if deed.job == "prove a":
            asked.set()
            assert heard.wait(60.0)

    def begun(events: Sequence[Recorded]) -> None:
        if any(kind_of(outcome.event) == "step_started" and outcome.event.step == "x" for outcome in events):
            say(theatre, "freeze")
        if any(kind_of(entry.event) == "paused" for entry in events):
            heard.set()  # the order has been obeyed by now

    theatre.machine.freeze = freeze  # type: ignore[method-assign]
    theatre.before = proving
    await theatre.run(begun)
    job = next(name for name, item in theatre.machine.started.items() if item.env["WEFT_STEP"] == "x")
    assert (asked.is_set(), values) == (True, [(job, True), (job, False)])
    assert theatre.outcomes("x") == ["done"]


# Before the coordinator leaves

GATE_AND_WORK = """
subplans:
  - {id: gate, steps: [{id: sure, action: ask, question: Really?}, {id: y, run: [mark]}]}
  - {id: a, steps: [{id: x, run: [mark]}]}
"""


def answer(theatre: Theatre, said: bool = True) -> None:  # noqa: FBT002 - as a person says it
    data: dict[str, object] = {"accepted": said}
    MemoryReader(theatre.recorded_run).ask(RUN, "answer", subplan="gate", step="sure", data=data, at=0.0)


@pytest.mark.parametrize("moment", ["the last work has ended", "the coordinator decides to leave"])
async def test_what_a_person_says_before_the_coordinator_leaves_is_heard(tmp_path: Path, moment: str) -> None:
    theatre = Theatre(tmp_path, GATE_AND_WORK)
    asked: list[str] = []

    def say_once() -> None:
        if not asked:
            asked.append("")
            answer(theatre)

    def leaving(deed: Deed) -> None:
        if deed.kind == "leave" and moment == "the coordinator decides to leave":
            say_once()

    theatre.before = leaving
    ends = {("step_finished", "done"): say_once} if moment == "the last work has ended" else {}
    assert await theatre.run(on(theatre, ends), waits=False) == "completed"
    assert (theatre.outcomes("y"), theatre.recorded_run.requests) == (["done"], {})


@pytest.mark.parametrize(("wanted", "state"), [("pause", "waiting"), ("go", "waiting"), ("stop", "stopped")])
async def test_what_a_person_wants_of_a_run_that_is_about_to_be_left_is_taken_up(
    tmp_path: Path, wanted: str, state: str
) -> None:
    theatre = Theatre(tmp_path, GATE_AND_WORK)
    values: list[str] = []

    def leaving(deed: Deed) -> None:
        if deed.kind == "leave" and not values:
            values.append("")
            say(theatre, wanted)

    theatre.before = leaving
    assert await theatre.run(waits=False) == state
    assert theatre.recorded_run.requests == {}
    assert {"pause": "paused", "go": "resumed", "stop": "stopping"}[wanted] in [
        item.kind for item in theatre.events()
    ]


async def test_a_coordinator_says_that_it_leaves_what_only_people_can_continue(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path, GATE_AND_WORK)
    heard: list[str] = []
    assert (
        await theatre.run(lambda events: heard.extend(kind_of(item.event) for item in events), waits=False)
        == "waiting"
    )
    assert theatre.events()[-1].kind == heard[-1] == "coordinator_left"
    answer(theatre)
    assert await theatre.run(waits=False) == "completed"
