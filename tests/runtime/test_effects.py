"""What is ordered is done, and reported as ended exactly once, however it ends."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from runtime.theatre import Deed, NoWorkspaces, Theatre
from weft.engine.messages.event_codec import kind_of
from weft.engine.messages.events import Recorded
from weft.errors import WeftError
from weft.ports.workspaces import ConflictError

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def no_blocking() -> None:
    """The coordinator makes and reads small files of agents between its turns."""


BROKEN = OSError(5, "Input/output error", "/some/file")
CHECK = "; check the disk (dmesg), then type the command again"
GROUP = """
infra_retries: 0
subplans:
  - id: g
    verify: [[mark]]
    subplans: [{id: a, setup: [[mark]], steps: [{id: x, run: [mark]}]}]
"""


def last(theatre: Theatre, subplan: str) -> tuple[str, str, str]:
    """How it ended: state, reason, message."""
    event = [item for item in theatre.events() if (item.kind, item.subplan) == ("subplan_state", subplan)][-1]
    return event.outcome, event.data.get("reason") or "", event.data.get("message") or ""


async def test_workspaces_are_made_set_up_merged_and_brought_together(tmp_path: Path) -> None:
    workspaces = NoWorkspaces(tmp_path)
    theatre = Theatre(tmp_path, GROUP, workspaces=workspaces)
    assert await theatre.run() == "completed"
    assert workspaces.asked == [
        "prepare g/a", "accept g/a", "merge g/a", "gather g", "merge g",
    ]  # fmt: skip


async def test_a_setup_that_fails_fails_the_slice(tmp_path: Path) -> None:
    theatre = Theatre(
        tmp_path, GROUP.replace("setup: [[mark]]", "setup: [[exit 3]]"), workspaces=NoWorkspaces(tmp_path)
    )
    assert await theatre.run() == "failed"
    state, reason, message = last(theatre, "g/a")
    assert (state, reason) == ("failed", "error")
    assert "exit code 3" in message
    assert theatre.outcomes("x") == []


@pytest.mark.parametrize("what", ["prepare", "accept", "gather"])
async def test_a_machine_that_fails_is_no_failure_of_the_work(tmp_path: Path, what: str) -> None:
    theatre = Theatre(tmp_path, GROUP, workspaces=NoWorkspaces(tmp_path, failures={what: BROKEN}))
    assert await theatre.run() == "failed"
    values = [
        entry for entry in theatre.events() if entry.kind == "step_finished" and entry.outcome == "infra"
    ]
    assert [item.data["message"] for item in values] == [f"/some/file: Input/output error{CHECK}"]


async def test_a_merge_that_the_machine_cannot_do_is_held(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path, GROUP, workspaces=NoWorkspaces(tmp_path, failures={"merge": BROKEN}))
    assert await theatre.run() == "waiting"
    assert theatre.outcomes("@merge") == ["held"]
    assert theatre.ends("@merge")[0]["message"] == f"/some/file: Input/output error{CHECK}"


async def test_a_machine_that_fails_once_is_tried_again(tmp_path: Path) -> None:
    workspaces = NoWorkspaces(tmp_path, failures={"prepare": BROKEN})
    theatre = Theatre(tmp_path, GROUP.replace("infra_retries: 0", "infra_retries: 1"), workspaces=workspaces)
    assert await theatre.run() == "completed"
    assert workspaces.asked[:2] == ["prepare g/a", "prepare g/a"]


async def test_a_conflict_is_reported_with_its_files(tmp_path: Path) -> None:
    conflict = ConflictError("two of them", ["one", "two"])
    theatre = Theatre(tmp_path, GROUP, workspaces=NoWorkspaces(tmp_path, failures={"merge": conflict}))
    assert await theatre.run() == "failed"
    assert last(theatre, "g/a")[:2] == ("failed", "conflict")
    (messages,) = [item for item in theatre.events() if item.outcome == "conflict"]
    assert messages.data["files"] == ["one", "two"]


async def test_a_workspace_that_cannot_be_used_fails_the_slice(tmp_path: Path) -> None:
    gone = WeftError("it is gone")
    theatre = Theatre(tmp_path, GROUP, workspaces=NoWorkspaces(tmp_path, failures={"merge": gone}))
    assert await theatre.run() == "failed"
    assert last(theatre, "g/a") == ("failed", "error", "@merge: it is gone")


async def test_an_agent_that_cannot_be_called_is_no_failure_of_the_work(tmp_path: Path) -> None:
    (tmp_path / "logs").write_text("in the way")
    theatre = Theatre(
        tmp_path,
        "policy: serial\ninfra_retries: 0\nagents: {c: {use: command, command: x}}\n"
        "subplans: [{id: a, prompt: p}]",
    )
    assert await theatre.run() == "failed"
    assert last(theatre, "a")[:2] == ("failed", "infra")


def stop_when(theatre: Theatre, kind: str, **more: bool):
    def stop(deed: Deed) -> None:
        assert theatre.coordinator is not None
        if deed.kind == kind:
            theatre.coordinator.stop(**more)

    return stop


async def test_what_is_to_end_before_it_could_be_started_is_not_started(tmp_path: Path) -> None:
    """The group's verify is ordered, and while its files are brought together the run is stopped."""
    theatre = Theatre(tmp_path, GROUP, workspaces=NoWorkspaces(tmp_path))

    def stop(events: Sequence[Recorded]) -> None:
        assert theatre.coordinator is not None
        if "@verify" in {item.event.step for item in events if kind_of(item.event) == "step_started"}:
            theatre.coordinator.stop()

    assert await theatre.run(stop) == "stopped"
    assert theatre.outcomes("@verify") == ["stopped"]
    assert await theatre.run() == "completed"
    assert theatre.outcomes("@verify") == ["stopped", "done"]


async def test_what_is_stopped_at_once_has_no_grace(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path, "subplans: [{id: a, steps: [{id: x, run: [wait]}]}]")
    theatre.after = stop_when(theatre, "start", now=True)
    assert await theatre.run() == "stopped"
    (end,) = [item for item in theatre.events() if item.kind == "step_finished"]
    assert end.data["signal"] == 9


async def test_a_sibling_of_what_failed_is_reported_as_cancelled(tmp_path: Path) -> None:
    theatre = Theatre(
        tmp_path,
        "subplans: [{id: a, steps: [{id: x, run: [wait]}]}, {id: b, steps: [{id: y, run: [exit 1]}]}]",
    )
    assert await theatre.run() == "failed"
    assert theatre.outcomes("x") == ["cancelled"]
    assert [deed.kind for deed in theatre.deeds].count("stop") == 1


async def test_an_end_that_the_host_sends_twice_is_reported_once(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path, "subplans: [{id: a, steps: [{id: x, run: [mark]}, {id: y, run: [mark]}]}]")

    def again(deed: Deed) -> None:
        for end in [*theatre.machine.ended.values()]:
            theatre.machine._tell(end)

    theatre.before = again
    assert await theatre.run() == "completed"
    assert theatre.outcomes("x") == theatre.outcomes("y") == ["done"]
    assert "ignored" not in {item.kind for item in theatre.events()}


async def test_a_usage_limit_ends_at_its_time(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    theatre = Theatre(
        tmp_path,
        "policy: serial\nagents: {c: {use: command, command: [say limit]}}\nsubplans: [{id: a, prompt: p}]",
    )

    def limit(deed: Deed) -> None:
        if deed.kind == "start":
            job = theatre.machine.jobs[deed.job].job
            Path(job.env["WEFT_RESULT"]).write_text(
                '{"limited_for": 500}' if deed.job.endswith(".1") else "{}"
            )

    theatre.after = limit
    assert await theatre.run() == "completed"
    assert theatre.outcomes("work") == ["limited", "done"]
    assert theatre.clock.now() >= 500.0
