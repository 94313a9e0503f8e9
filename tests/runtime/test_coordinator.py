"""What is written before what is done; what comes together is written together; how the coordinator ends."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from runtime.theatre import RUN, Deed, NoWorkspaces, Theatre, slices
from weft.engine.messages.event_codec import kind_of, outcome_of
from weft.engine.messages.events import Recorded
from weft.errors import WeftError
from weft.ports.workspaces import HeldError
from weft.store.errors import LeaseLostError
from weft.store.memory import MemoryJournal, MemoryReader

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


TWO = slices({"a": "[mark, say a]", "b": "[mark, say b]"})
CHAIN = """
subplans:
  - {id: a, steps: [{id: x, run: [mark]}, {id: y, run: [mark]}]}
  - {id: b, depends_on: [a], steps: [{id: z, run: [mark]}]}
"""


async def test_a_job_is_started_only_when_its_claim_is_written(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path, CHAIN)

    def look(deed: Deed) -> None:
        if deed.kind == "start":
            claimed = {
                f"{RUN}.{item.data['firing']}.{item.data['execution']}"
                for item in theatre.events()
                if item.kind == "step_started"
            }
            assert deed.job in claimed

    theatre.before = look
    assert await theatre.run() == "completed"
    assert [deed.kind for deed in theatre.deeds if deed.kind == "start"] == ["start"] * 3


async def test_what_follows_from_an_end_is_done_only_when_the_end_is_written(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path, CHAIN)
    finished: list[int] = []

    def look(deed: Deed) -> None:
        if deed.kind == "start":
            steps = [item.step for item in theatre.events() if item.kind == "step_finished"]
            finished.append(len([step for step in steps if not step.startswith("@")]))

    theatre.before = look
    await theatre.run()
    assert finished == [0, 1, 2]


async def test_the_host_may_forget_an_end_only_when_it_is_written(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path, CHAIN)

    def look(deed: Deed) -> None:
        if deed.kind == "forget":
            written = [
                f"{RUN}.{item.data['firing']}.1" for item in theatre.events() if item.kind == "step_finished"
            ]
            assert deed.job in written

    theatre.before = look
    await theatre.run()
    assert theatre.machine.ended == {}


async def test_ends_that_come_together_are_one_transaction(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path, slices({"a": "[wait]", "b": "[wait]"}))

    def release(events: Sequence[Recorded]) -> None:
        for job in theatre.machine.waiting() if len(theatre.machine.jobs) == 2 else ():
            theatre.machine.release(job)

    assert await theatre.run(release) == "completed"
    assert [deed.kinds.count("step_finished") for deed in theatre.deeds if deed.kind == "append"] == [0, 2]


async def test_listeners_hear_what_is_written_with_its_number(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path, TWO)
    heard: list[Recorded] = []

    def listen(events: Sequence[Recorded]) -> None:
        heard.extend(events)
        assert [replace(item, data="") for item in MemoryReader(theatre.recorded_run).events(RUN)] == heard

    await theatre.run(listen)
    assert [entry.seq for entry in heard] == list(range(1, len(heard) + 1))


def fails_at(theatre: Theatre, number: int, error: BaseException) -> Callable[[Deed], None]:
    """The n-th transaction is not written."""

    def look(deed: Deed) -> None:
        nonlocal number
        number -= deed.kind == "append"
        if number == 0 and deed.kind == "append":
            raise error

    return look


@pytest.mark.parametrize("number", range(1, 5))
async def test_if_the_journal_fails_nothing_is_done_any_more(tmp_path: Path, number: int) -> None:
    theatre = Theatre(tmp_path, CHAIN)
    theatre.before = fails_at(theatre, number, WeftError("the disk is full"))
    with pytest.RaisesGroup(pytest.RaisesExc(WeftError, match="the disk is full")):
        await theatre.run()
    assert [deed.kind for deed in theatre.deeds].count("append") == number - 1
    theatre.before = lambda deed: None
    assert await theatre.run() == "completed"
    assert set(theatre.machine.marks.values()) == {1}
    assert len(theatre.machine.marks) == 3


async def test_who_lost_the_lease_writes_and_does_nothing_any_more(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path, CHAIN)

    def usurp(deed: Deed) -> None:
        if (
            deed.kind == "start"
            and theatre.recorded_run.holder is not None
            and theatre.recorded_run.holder.epoch == 1
        ):
            theatre.recorded_run.locked = False
            MemoryJournal(theatre.recorded_run)

    theatre.after = usurp
    with pytest.RaisesGroup(LeaseLostError):
        await theatre.run()
    assert [deed.kind for deed in theatre.deeds].count("start") == 1
    theatre.after = lambda deed: None
    assert await theatre.run() == "completed"
    assert set(theatre.machine.marks.values()) == {1}


# --- people ---

ASK = """
subplans:
  - {id: a, steps: [{id: sure, action: ask, question: Sure?}, {id: x, run: [mark]}]}
"""


def say(theatre: Theatre, subplan: str = "a", **data: object) -> None:
    MemoryReader(theatre.recorded_run).ask(
        RUN, "answer", subplan=subplan, step="sure", data=dict(data), at=0.0
    )


async def test_without_waiting_it_ends_when_only_questions_are_left(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path, ASK)
    assert await theatre.run(waits=False) == "waiting"
    assert theatre.recorded_run.runs[RUN].state == "waiting"
    assert await theatre.run(waits=False) == "waiting"
    say(theatre, accepted=True)
    assert await theatre.run(waits=False) == "completed"
    assert theatre.recorded_run.requests == {}


async def test_who_waits_hears_the_answer(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path, ASK)

    def answer(events: Sequence[Recorded]) -> None:
        if "ask" in {kind_of(item.event) for item in events}:
            say(theatre, accepted=True, text="go")

    assert await theatre.run(answer) == "completed"
    assert [entry.data.get("text") for entry in theatre.events() if entry.kind == "answered"] == ["go"]


@pytest.mark.parametrize("when", ["before", "after"])
async def test_an_answer_is_taken_up_once_though_the_coordinator_dies_with_it(
    tmp_path: Path, when: str
) -> None:
    theatre = Theatre(tmp_path, ASK)
    await theatre.run(waits=False)
    say(theatre, accepted=True)

    def die(deed: Deed) -> None:
        if "answered" in deed.kinds:
            raise WeftError("died")

    setattr(theatre, when, die)
    with pytest.RaisesGroup(WeftError):
        await theatre.run()
    theatre.before = theatre.after = lambda deed: None
    assert await theatre.run() == "completed"
    assert [item.kind for item in theatre.events()].count("answered") == 1


async def test_an_answer_to_nothing_is_taken_up_too(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path, ASK)

    def answer(events: Sequence[Recorded]) -> None:
        if "ask" in {kind_of(item.event) for item in events}:
            say(theatre, accepted=True)
            say(theatre, accepted=False)

    assert await theatre.run(answer) == "completed"
    assert theatre.recorded_run.requests == {}


# --- what is held ---

HELD = "merge: {mode: auto}\nsubplans:\n  - {id: a, steps: [{id: x, run: [mark]}]}\n"
AND_ASK = "  - {id: b, steps: [{id: sure, action: ask, question: Sure?}]}\n"


def holds(root: Path, text: str) -> Theatre:
    """The first landing is held."""
    workspaces = NoWorkspaces(root, history=True, failures={"land": HeldError("it is in the way")})
    return Theatre(root, text, workspaces=workspaces)


def wants_merge(theatre: Theatre, subplan: str) -> None:
    MemoryReader(theatre.recorded_run).ask(RUN, "merge", subplan=subplan, step="", data={}, at=0.0)


@pytest.mark.parametrize("waits", [True, False])
async def test_the_coordinator_does_not_stay_for_holds(tmp_path: Path, waits: bool) -> None:
    theatre = holds(tmp_path, HELD)
    assert await theatre.run(waits=waits) == "waiting"
    assert theatre.recorded_run.runs[RUN].state == "waiting"
    assert theatre.outcomes("@land") == ["held"]


async def test_who_waits_stays_for_a_question_and_hears_that_something_is_to_be_merged(
    tmp_path: Path,
) -> None:
    theatre = holds(tmp_path, HELD + AND_ASK)

    def speak(events: Sequence[Recorded]) -> None:
        kinds = {(kind_of(item.event), outcome_of(item.event)) for item in events}
        if ("merge", "held") in kinds:
            wants_merge(theatre, "a")
        if ("merge_asked", "") in kinds:
            say(theatre, subplan="b", accepted=True)

    assert await theatre.run(speak) == "completed"
    assert theatre.outcomes("@land") == ["held", "done", "done"]
    (asked,) = [entry for entry in theatre.events() if entry.kind == "merge_asked"]
    assert asked.data == {"subplan": "a"}
    assert theatre.recorded_run.requests == {}


async def test_without_waiting_it_ends_when_only_questions_and_what_is_held_are_left(tmp_path: Path) -> None:
    theatre = holds(tmp_path, HELD + AND_ASK)
    assert await theatre.run(waits=False) == "waiting"
    assert theatre.outcomes("@land") == ["held"]


async def test_requests_made_without_a_coordinator_are_taken_once(tmp_path: Path) -> None:
    theatre = holds(tmp_path, HELD)
    await theatre.run()
    wants_merge(theatre, "")
    assert await theatre.run() == "completed"
    assert [item.kind for item in theatre.events()].count("merge_asked") == 1
    assert theatre.outcomes("@land") == ["held", "done"]
    assert theatre.recorded_run.requests == {}


# --- stopping ---


async def test_a_stopped_run_continues(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path, slices({"a": "[mark, wait, mark]"}))

    def stop(deed: Deed) -> None:
        assert theatre.coordinator is not None
        if deed.kind == "start":
            theatre.coordinator.stop()

    theatre.after = stop
    assert await theatre.run() == "stopped"
    assert theatre.outcomes("x") == ["stopped"]
    theatre.after = lambda deed: None

    def release(events: Sequence[Recorded]) -> None:
        for job in theatre.machine.waiting():
            theatre.machine.release(job)

    assert await theatre.run(release) == "completed"
    assert theatre.outcomes("x") == ["stopped", "done"]
    assert theatre.recorded_run.runs[RUN].state == "completed"
