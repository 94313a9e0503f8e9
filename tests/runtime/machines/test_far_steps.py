"""Steps on other machines, around a real exchange with a copy in another directory."""

import shutil
from pathlib import Path

import anyio
import pytest

from weft.engine.messages.orders import Launch
from weft.ports.host import EndReason, JobEnded, Running
from weft.ports.machines import MachineLostError
from weft.ports.workspaces import PlacedSlice
from weft.runtime.machines.far_steps import FarSteps, placement_of, stale_jobs
from workspaces.copied_world import CopiedWorld
from workspaces.trees import put
from workspaces.worlds import repository_in

pytestmark = pytest.mark.anyio


@pytest.fixture
def world(tmp_path: Path) -> CopiedWorld:
    repository_in(tmp_path / "repository", {"README": "hello\n"})
    world = CopiedWorld(tmp_path / "repository")
    world.prepare("a")
    world.workspaces.prove("a")
    return world


@pytest.fixture
def steps(world: CopiedWorld) -> FarSteps:
    return FarSteps(world.copies)


def step(*, host: str = "near") -> Launch:
    return Launch(
        firing=1, execution=1, row=1, path="a", step="code", attempt=1, timeout=60.0, grace=1.0, host=host,
        token="r.1.1",
    )  # fmt: skip


async def test_a_step_on_this_machine_needs_no_exchange(world: CopiedWorld, steps: FarSteps) -> None:
    assert await steps.send(step(host=""), "job")
    await steps.fetch(step(host=""), "job")
    assert world.calls.made == []


async def test_of_two_steps_that_start_together_one_does_the_set_up(
    world: CopiedWorld, steps: FarSteps
) -> None:
    ready: list[str] = []

    async def start(job: str) -> None:
        if not await steps.send(step(), job):
            put(world.copy("a"), {"set-up": job})
            await steps.accept(step())
        ready.append((world.copy("a") / "set-up").read_text())

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(start, "first")
        tasks.start_soon(start, "second")
    assert ready[0] == ready[1], "one set-up serves both"
    assert world.calls.made.count("work.accept") == 1


async def test_after_a_failed_set_up_the_next_step_tries_it_again(steps: FarSteps) -> None:
    assert not await steps.send(step(), "first")
    steps.reject(step(), "first")
    assert not await steps.send(step(), "second")


async def test_a_copy_in_which_a_step_works_is_not_sent_again(world: CopiedWorld, steps: FarSteps) -> None:
    await steps.send(step(), "first")
    await steps.accept(step())
    put(world.copy("a"), {"by the first": "1"})
    assert await steps.send(step(), "second")
    assert (world.copy("a") / "by the first").exists()
    await steps.fetch(step(), "first")
    await steps.fetch(step(), "second")
    assert world.calls.made.count("work.put") == 1
    assert (world.place("a") / "by the first").exists()


async def test_a_step_that_did_not_start_does_not_keep_the_copy(world: CopiedWorld, steps: FarSteps) -> None:
    await steps.send(step(), "first")
    await steps.accept(step())
    steps.abandon(step(), "first")
    put(world.place("a"), {"newer": "1"})
    await steps.send(step(), "second")
    assert (world.copy("a") / "newer").exists()


@pytest.mark.parametrize("after", [False, True])
async def test_an_exchange_is_repeated_until_the_machine_answers(
    world: CopiedWorld, steps: FarSteps, *, after: bool
) -> None:
    world.calls.cut(1, after=after)
    assert not await steps.send(step(), "job")
    await steps.accept(step())
    put(world.copy("a"), {"new": "1"})
    world.calls.cut(1, after=after)
    await steps.fetch(step(), "job")
    assert (world.place("a") / "new").exists()


async def test_the_copy_of_a_slice_that_has_ended_is_removed(world: CopiedWorld, steps: FarSteps) -> None:
    await steps.send(step(), "job")
    await steps.accept(step())
    await steps.fetch(step(), "job")
    await steps.remove("a")
    assert not world.copy("a").exists()


async def test_a_copy_in_which_a_step_works_is_not_removed(world: CopiedWorld, steps: FarSteps) -> None:
    await steps.send(step(), "job")
    await steps.remove("a")
    assert world.copy("a").exists()


async def test_a_lost_machine_is_reported(world: CopiedWorld) -> None:
    class LostCopies:
        """The copies on a machine that counts as lost."""

        def send(self, placed: PlacedSlice) -> bool:
            raise MachineLostError(f"{placed.host} is lost")

    steps = FarSteps(LostCopies())  # type: ignore[arg-type]
    with pytest.raises(MachineLostError, match="near is lost"):
        await steps.send(step(), "job")


def test_the_placement_of_a_step_names_its_token() -> None:
    assert placement_of(step()) == PlacedSlice(path="a", host="near", token="r.1.1")


def test_without_its_files_the_copy_is_made_again(world: CopiedWorld) -> None:
    world.send("a")
    shutil.rmtree(world.copy("a"))
    assert not world.send("a")
    assert (world.copy("a") / "README").exists()


def test_only_jobs_of_present_orders_stay_on_a_machine_that_answers() -> None:
    jobs: dict[str, Running | JobEnded] = {
        job: Running(id=job, pid=1, started_at=0.0) for job in ("r.1.1", "r.2.1", "r.setup.3-1")
    }
    jobs["r.4.1"] = JobEnded(id="r.4.1", why=EndReason.EXITED)
    assert stale_jobs(jobs, {"r.1.1", "r.setup.3-1"}) == (["r.2.1"], ["r.4.1"])
