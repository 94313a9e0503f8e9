"""The coordinator dies before or after each thing it does, and so does its successor: nothing is done twice."""

from itertools import count
from pathlib import Path

import pytest

from runtime.theatre import Deed, KilledError, NoWorkspaces, Theatre

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


async def die_and_go_on(theatre: Theatre, when: str, *numbers: int) -> bool:
    """Whether all these deaths came; the run is over then."""
    for number in numbers:
        setattr(theatre, when, dies(number))
        try:
            await theatre.run()
        except* KilledError:
            setattr(theatre, when, calm)
        if getattr(theatre, when) is not calm:
            return False
    assert await theatre.run() == "failed"
    return True


def check(theatre: Theatre) -> None:
    assert len(theatre.machine.marks) == STEPS
    assert set(theatre.machine.marks.values()) == {1}
    states = {one.subplan: one.outcome for one in theatre.events() if one.kind == "subplan_state"}
    assert states == {"g": "completed", "g/a": "completed", "g/b": "completed", "c": "failed"}
    finished = [one.data for one in theatre.events() if one.kind == "step_finished" and "firing" in one.data]
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


async def test_what_ended_on_request_of_nobody_that_is_known_is_lost(tmp_path: Path) -> None:
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


async def test_what_was_stopped_by_one_who_died_is_stopped_and_not_lost(tmp_path: Path) -> None:
    """And that another has taken over is told before all that it finds."""
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
    told = len(theatre.events())
    theatre.before = theatre.after = calm

    def release(events: object) -> None:
        for job in theatre.machine.waiting():
            theatre.machine.release(job)

    assert await theatre.run(release) == "completed"
    assert theatre.outcomes("x") == ["stopped", "done"]
    assert theatre.events()[told].kind == "recovered"
