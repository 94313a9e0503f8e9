"""The coordinator dies before or after each thing it does, and so does its successor: nothing is done twice."""

from itertools import count
from pathlib import Path

import pytest

from runtime.memory_target import MemoryTarget
from runtime.theatre import Deed, KilledError, NoWorkspaces, Theatre
from weft.ports.host import EndReason, Job

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def no_blocking() -> None:
    """Who dies leaves garbage; what is complained about when it is collected is no doing of Weft's."""


PLAN = """
max_parallel: 2
infra_retries: 10
subplans:
  - id: g
    verify: [[mark, exit 0]]
    subplans:
      - {id: a, setup: [[mark]], steps: [{id: x, run: [mark]}, {id: y, run: [mark, exit 2], on_error: continue}]}
      - id: b
        steps:
          - {id: one, async: true, run: [mark, say 1]}
          - {id: two, async: true, run: [mark, say 2]}
          - {id: both, action: join, depends_on: [one, two]}
          - {id: use, run: [mark, "say {{ step.both.result }}"]}
  - {id: c, depends_on: [g], steps: [{id: x, run: [mark, exit 1], on_error: retry, max_retries: 1}]}
"""
STEPS = 9
"""So many jobs there are if nothing is lost: the setup, the verify, and seven goes at steps."""


def dies(number: int, *kinds: str):
    """Raises at the n-th such deed."""

    def look(deed: Deed) -> None:
        nonlocal number
        number -= not kinds or deed.kind in kinds
        if number == 0:
            number = -1
            raise KilledError

    return look


def calm(deed: Deed) -> None:
    pass


async def die_and_go_on(theatre: Theatre, when: str, *numbers: int, ends: str = "failed") -> bool:
    """Whether all these deaths came; the run is over then."""
    for number in numbers:
        setattr(theatre, when, dies(number))
        try:
            await theatre.run()
        except* KilledError:
            setattr(theatre, when, calm)
        if getattr(theatre, when) is not calm:
            return False
    assert await theatre.run() == ends
    return True


def check(theatre: Theatre) -> None:
    assert len(theatre.machine.marks) == STEPS
    assert set(theatre.machine.marks.values()) == {1}
    states = {item.subplan: item.outcome for item in theatre.events() if item.kind == "subplan_state"}
    assert states == {"g": "completed", "g/a": "completed", "g/b": "completed", "c": "failed"}
    finished = [
        entry.data for entry in theatre.events() if entry.kind == "step_finished" and "firing" in entry.data
    ]
    ended = [(data["firing"], data["execution"]) for data in finished]
    assert len(ended) == len(set(ended))
    assert theatre.machine.ended == {}
    assert theatre.machine.jobs == {}


@pytest.mark.parametrize("when", ["before", "after"])
async def test_it_dies_once_at_every_deed(tmp_path: Path, when: str) -> None:
    for number in count(1):
        theatre = Theatre(tmp_path, PLAN, workspaces=NoWorkspaces(tmp_path))
        if not await die_and_go_on(theatre, when, number):
            break
        check(theatre)
    assert number > 3 * STEPS


@pytest.mark.parametrize("when", ["before", "after"])
async def test_it_dies_three_times(tmp_path: Path, when: str) -> None:
    for first in range(1, 24, 5):
        for second in (1, 2, 4, 7):
            theatre = Theatre(tmp_path, PLAN, workspaces=NoWorkspaces(tmp_path))
            if await die_and_go_on(theatre, when, first, second, second):
                check(theatre)


# --- merges that are verified ---

MERGES = """
max_parallel: 2
infra_retries: 10
failure_mode: continue_on_error
merge: {mode: auto}
subplans:
  - id: g
    verify: [[mark]]
    setup: [[say ready]]
    subplans:
      - {id: a, verify: [[mark]], steps: [{id: x, run: [mark]}]}
      - {id: b, verify: [[mark]], steps: [{id: x, run: [mark]}]}
  - {id: red, verify: [[mark, exit 1]], steps: [{id: x, run: [mark]}]}
  - {id: held, verify: [[mark, exit 1]], steps: [{id: x, run: [mark]}]}
"""
VERIFIES = ("merge g/a", "merge g/b", "merge g", "land g", "land g/a", "land g/b", "merge red", "land held")


class Merging:
    """A run with merges that are verified, some of them several times; it is noted which commits were."""

    def __init__(self, root: Path) -> None:
        self.workspaces = NoWorkspaces(
            root, history=True, verifies=VERIFIES, overtaken={"merge g/a": 1, "land g": 2}
        )
        self.theatre = Theatre(root, MERGES, workspaces=self.workspaces)
        self.verified: dict[int, str] = {}
        """The jobs, by what they verified."""
        start = self.theatre.machine.start

        def noted(job: Job) -> None:
            if job.id not in self.theatre.machine.started and job.env["WEFT_STEP"] == "@merge":
                self.verified[self.workspaces.merging[job.env["WEFT_SUBPLAN"]]] = job.id
            start(job)

        self.theatre.machine.start = noted  # type: ignore[method-assign]

    def outcomes(self) -> dict[tuple[str, str], str]:
        """The last of each step, and the states of subplans."""
        kinds = ("step_finished", "subplan_state")
        return {
            (item.subplan, item.step): item.outcome for item in self.theatre.events() if item.kind in kinds
        }

    def passed(self) -> set[str]:
        """The trees that the landing queue has verified."""
        events = (item for item in self.theatre.events() if (item.kind, item.outcome) == ("verify", "passed"))
        return {event.data["tree"] for event in events}

    def check(self, undisturbed: dict[tuple[str, str], str]) -> None:
        assert self.outcomes() == undisturbed
        assert set(self.theatre.machine.marks.values()) == {1}
        assert set(self.workspaces.published) == {"merge g/a", "merge g/b", "merge g"}
        assert set(self.workspaces.published.values()) <= set(self.verified), "what moved was verified"
        target = self.theatre.target
        assert isinstance(target, MemoryTarget)
        assert target.landed == ["person-0", "person-1", "g"]
        assert set(target.trees) <= self.passed(), "what landed was verified"
        assert (self.theatre.machine.ended, self.theatre.machine.jobs) == ({}, {})
        assert "ignored" not in {item.kind for item in self.theatre.events()}


async def undisturbed(root: Path) -> dict[tuple[str, str], str]:
    merging = Merging(root)
    assert await merging.theatre.run() == "waiting"
    merging.check(merging.outcomes())
    return merging.outcomes()


async def test_what_is_merged_without_any_death(tmp_path: Path) -> None:
    assert await undisturbed(tmp_path) == {
        ("g", ""): "completed",
        ("g", "@land"): "done",
        ("g", "@merge"): "done",
        ("g", "@verify"): "done",
        ("g/a", ""): "completed",
        ("g/a", "@merge"): "done",
        ("g/a", "@workspace"): "done",
        ("g/a", "x"): "done",
        ("g/b", ""): "completed",
        ("g/b", "@merge"): "done",
        ("g/b", "@workspace"): "done",
        ("g/b", "x"): "done",
        ("held", ""): "completed",
        ("held", "@land"): "held",
        ("held", "@merge"): "done",
        ("held", "@workspace"): "done",
        ("held", "x"): "done",
        ("red", ""): "failed",
        ("red", "@merge"): "failed",
        ("red", "@workspace"): "done",
        ("red", "x"): "done",
    }


@pytest.mark.parametrize("when", ["before", "after"])
async def test_it_dies_once_at_every_deed_of_merges_that_are_verified(tmp_path: Path, when: str) -> None:
    expected = await undisturbed(tmp_path)
    for number in count(1):
        merging = Merging(tmp_path)
        if not await die_and_go_on(merging.theatre, when, number, ends="waiting"):
            break
        merging.check(expected)
    assert number > 60


@pytest.mark.parametrize("when", ["before", "after"])
async def test_it_dies_three_times_among_merges_that_are_verified(tmp_path: Path, when: str) -> None:
    expected = await undisturbed(tmp_path)
    for first in range(20, 90, 14):
        for second in (3, 8):
            merging = Merging(tmp_path)
            if await die_and_go_on(merging.theatre, when, first, second, second, ends="waiting"):
                merging.check(expected)


ONE = """
infra_retries: 0
merge: {mode: auto}
setup: [[mark]]
subplans: [{id: a, verify: [[VERIFY]], steps: [{id: x, run: [mark]}]}]
"""


def one_merge(root: Path, words: str, **overtaken: int) -> tuple[Theatre, NoWorkspaces]:
    workspaces = NoWorkspaces(
        root, history=True, verifies=["merge a"], overtaken={f"{name} a": n for name, n in overtaken.items()}
    )
    return Theatre(root, ONE.replace("VERIFY", words), workspaces=workspaces), workspaces


async def dies_after_start(theatre: Theatre, number: int) -> str:
    """Its n-th job is started, and it dies. The job."""
    theatre.after = dies(number, "start")
    with pytest.RaisesGroup(KilledError):
        await theatre.run()
    theatre.after = calm
    return list(theatre.machine.started)[number - 1]


def verifies(theatre: Theatre) -> list[str]:
    return [job.id for job in theatre.machine.started.values() if job.env["WEFT_STEP"] == "@merge"]


def releases(theatre: Theatre):
    def release(_: object) -> None:
        for job in theatre.machine.waiting():
            theatre.machine.release(job)

    return release


async def test_a_verify_that_runs_is_taken_over_and_what_it_verified_moves(tmp_path: Path) -> None:
    theatre, workspaces = one_merge(tmp_path, "wait")
    job = await dies_after_start(theatre, 3)
    assert await theatre.run(releases(theatre)) == "completed"
    assert verifies(theatre) == [job]
    assert workspaces.published == {"merge a": 1}
    assert theatre.outcomes("@merge") == ["done"]


async def test_a_later_round_that_runs_is_taken_over(tmp_path: Path) -> None:
    theatre, workspaces = one_merge(tmp_path, "wait", merge=1)
    die = dies(4, "start")

    def pass_the_first_and_die(deed: Deed) -> None:
        die(deed)
        releases(theatre)(deed)

    theatre.after = pass_the_first_and_die
    with pytest.RaisesGroup(KilledError):
        await theatre.run()
    theatre.after = calm
    assert await theatre.run(releases(theatre)) == "completed"
    first, second = verifies(theatre)
    assert second == f"{first}.1"
    assert theatre.outcomes("@merge") == ["done"]
    assert workspaces.published == {"merge a": 2}


async def test_a_verify_that_passed_without_a_coordinator_is_run_again_because_the_merge_may_be_another(
    tmp_path: Path,
) -> None:
    theatre, workspaces = one_merge(tmp_path, "mark")
    job = await dies_after_start(theatre, 3)
    theatre.machine.work()
    assert await theatre.run() == "completed"
    assert verifies(theatre) == [job, f"{job}.1"]
    assert workspaces.published == {"merge a": 2}
    assert theatre.outcomes("@merge") == ["done"]


async def test_a_merge_that_was_made_again_and_not_verified_yet_does_not_move(tmp_path: Path) -> None:
    """The first round has passed; it dies when the second is about to start, which would be red."""
    theatre, workspaces = one_merge(tmp_path, "wait, exit 1", merge=1)

    def pass_the_first(deed: Deed) -> None:
        for job in theatre.machine.waiting() if deed.kind == "start" else ():
            theatre.machine.end(job, why=EndReason.EXITED, exit_code=0)

    theatre.after = pass_the_first
    theatre.before = dies(4, "start")
    with pytest.RaisesGroup(KilledError):
        await theatre.run()
    theatre.before, theatre.after = calm, releases(theatre)
    assert workspaces.merging == {"a": 2}
    assert await theatre.run() == "failed"
    assert workspaces.published == {}
    assert theatre.outcomes("@merge") == ["failed"]


async def test_a_verify_that_failed_without_a_coordinator_has_failed(tmp_path: Path) -> None:
    theatre, workspaces = one_merge(tmp_path, "exit 1")
    job = await dies_after_start(theatre, 3)
    theatre.machine.work()
    assert await theatre.run() == "failed"
    assert verifies(theatre) == [job]
    assert workspaces.published == {}


async def test_a_verify_that_was_lost_is_said_to_be_lost(tmp_path: Path) -> None:
    theatre, _ = one_merge(tmp_path, "wait")
    await dies_after_start(theatre, 3)
    theatre.machine.work()
    theatre.machine.crash()
    assert await theatre.run() == "waiting"
    assert theatre.outcomes("@merge") == ["held"]
    assert "came together" not in theatre.ends("@merge")[0]["message"]


@pytest.mark.parametrize("ended", [True, False])
async def test_a_setup_is_taken_over_and_what_it_made_is_accepted(tmp_path: Path, ended: bool) -> None:
    theatre, workspaces = one_merge(tmp_path, "mark")
    job = await dies_after_start(theatre, 1)
    for _ in range(ended):
        theatre.machine.work()
    assert await theatre.run() == "completed"
    setups = [item.id for item in theatre.machine.started.values() if item.env["WEFT_STEP"] == "@workspace"]
    assert setups == [job]
    assert workspaces.asked[:2] == ["prepare a", "accept a"]
    assert theatre.outcomes("@workspace") == ["done"]


async def test_the_work_of_a_step_without_a_coordinator_is_recorded(tmp_path: Path) -> None:
    theatre, workspaces = one_merge(tmp_path, "mark")
    await dies_after_start(theatre, 2)
    theatre.machine.work()
    assert await theatre.run() == "completed"
    assert [work.step for work in workspaces.works] == ["x"]
    assert theatre.moves("x") == ["record a:x"]


# --- what is lost, and what was stopped ---


async def test_what_is_lost_is_done_again(tmp_path: Path) -> None:
    """At every start the one who watches the jobs dies, too, and with it all that wait."""
    theatre = Theatre(tmp_path, "infra_retries: 1\nsubplans: [{id: a, steps: [{id: x, run: [mark, wait]}]}]")
    theatre.after = dies(1, "start")
    with pytest.RaisesGroup(KilledError):
        await theatre.run()
    theatre.after = calm
    theatre.machine.work()
    theatre.machine.crash()

    def release(events: object) -> None:
        for job in theatre.machine.waiting():
            theatre.machine.release(job)

    assert await theatre.run(release) == "completed"
    assert theatre.outcomes("x") == ["lost", "done"]


async def test_a_job_that_was_stopped_by_an_unknown_program_is_lost(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path, "infra_retries: 0\nsubplans: [{id: a, steps: [{id: x, run: [wait]}]}]")
    theatre.after = dies(1, "start")
    with pytest.RaisesGroup(KilledError):
        await theatre.run()
    theatre.after = calm
    theatre.machine.work()
    (job,) = theatre.machine.jobs
    theatre.machine.stop(job, now=False)
    assert await theatre.run() == "failed"
    assert theatre.outcomes("x") == ["lost"]


async def test_a_job_that_a_dead_coordinator_stopped_is_stopped_and_not_lost(tmp_path: Path) -> None:
    """The fact that another coordinator has taken over comes before all that it finds."""
    theatre = Theatre(tmp_path, "infra_retries: 0\nsubplans: [{id: a, steps: [{id: x, run: [wait]}]}]")

    def stop(deed: Deed) -> None:
        if deed.kind == "start":
            assert theatre.coordinator is not None
            theatre.coordinator.stop()

    def die(deed: Deed) -> None:
        if "step_finished" in deed.kinds:
            raise KilledError

    theatre.before, theatre.after = die, stop
    with pytest.RaisesGroup(KilledError):
        await theatre.run()
    number = len(theatre.events())
    theatre.before = theatre.after = calm

    def release(events: object) -> None:
        for job in theatre.machine.waiting():
            theatre.machine.release(job)

    assert await theatre.run(release) == "completed"
    assert theatre.outcomes("x") == ["stopped", "done"]
    assert theatre.events()[number].kind == "recovered"
