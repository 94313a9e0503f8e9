"""Workspaces with history: the calls before and after a step, and what is reported."""

from collections.abc import Callable
from pathlib import Path

import pytest

from runtime.theatre import Deed, NoWorkspaces, Theatre
from weft.engine.messages.facts import EarlierSlice, EarlierStep, Ended, StepOutcome
from weft.errors import WeftError
from weft.ports.workspaces import HeldError, InfraError, StepWork

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


GROUP = """
infra_retries: 0
merge: {mode: auto}
subplans:
  - id: g
    verify: [[mark]]
    subplans: [{id: a, setup: [[mark]], steps: [{id: x, run: [mark]}, {id: y, run: [mark]}]}]
"""


def one_step(words: str, **more: object) -> str:
    settings = "".join(f"{name}: {value}\n" for name, value in more.items())
    return f"infra_retries: 0\nretries: 0\n{settings}subplans: [{{id: a, steps: [{{id: x, run: {words}}}]}}]"


def with_history(root: Path, text: str, **failures: BaseException) -> tuple[Theatre, NoWorkspaces]:
    workspaces = NoWorkspaces(root, history=True, failures=failures)
    return Theatre(root, text, workspaces=workspaces), workspaces


def started(theatre: Theatre, step: str) -> list[str]:
    return [job.id for job in theatre.machine.started.values() if job.env["WEFT_STEP"] == step]


async def test_steps_are_proven_and_recorded_and_what_weft_runs_itself_is_not(tmp_path: Path) -> None:
    theatre, workspaces = with_history(tmp_path, GROUP)
    assert await theatre.run() == "completed"
    assert workspaces.asked == [
        "prepare g/a", "accept g/a",
        "prove g/a", "record g/a:x", "prove g/a", "record g/a:y",
        "merge g/a", "gather g", "merge g", "land g",
    ]  # fmt: skip


async def test_a_step_starts_only_when_its_workspace_is_proven(tmp_path: Path) -> None:
    theatre, _ = with_history(tmp_path, one_step("[mark]"))
    assert await theatre.run(waits=False) == "waiting"
    done = [(deed.kind, deed.job) for deed in theatre.deeds]
    (job,) = started(theatre, "x")
    assert done.index(("ask", "prove a")) < done.index(("start", job)) < done.index(("ask", "record a:x"))


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (
            OSError(28, "No space left on device", "/f"),
            "/f: No space left on device; free some space (df -h, df -i), then type the command again",
        ),
        (WeftError("it is not ours"), "it is not ours"),
        (InfraError("git is gone"), "git is gone"),
    ],
)
async def test_a_step_whose_workspace_is_not_proven_is_not_started(
    tmp_path: Path, error: Exception, said: str
) -> None:
    theatre, workspaces = with_history(tmp_path, one_step("[mark]"), prove=error)
    assert await theatre.run() == "failed"
    assert theatre.outcomes("x") == ["infra"]
    assert [end["message"] for end in theatre.ends("x")] == [said]
    assert started(theatre, "x") == []
    assert workspaces.works == []


async def test_what_could_not_be_proven_once_is_tried_again(tmp_path: Path) -> None:
    text = one_step("[mark]").replace("infra_retries: 0", "infra_retries: 1")
    theatre, _ = with_history(tmp_path, f"merge: {{mode: auto}}\n{text}", prove=InfraError("once"))
    assert await theatre.run() == "completed"
    assert theatre.outcomes("x") == ["infra", "done"]


# --- what it did ---


@pytest.mark.parametrize(
    ("words", "outcome"),
    [
        ("[mark]", "done"),
        ("[exit 3]", "failed"),
        ("[die 9]", "failed"),
        ("[wait]", "timeout"),
        ("[run nothing]", "infra"),
    ],
)
async def test_what_a_step_did_is_recorded_and_reported_however_it_ended(
    tmp_path: Path, words: str, outcome: str
) -> None:
    theatre, workspaces = with_history(tmp_path, one_step(words, timeout="0.5s"))
    await theatre.run()
    assert theatre.outcomes("x") == [outcome]
    assert workspaces.works == [StepWork(path="a", step="x", attempt=1, subject="a: x")]
    assert theatre.moves("x") == ["record a:x"]


def stops_at(theatre: Theatre) -> Callable[[Deed], None]:
    def stop(deed: Deed) -> None:
        if deed.kind == "start":
            assert theatre.coordinator is not None
            theatre.coordinator.stop()

    return stop


async def test_what_a_stopped_step_did_is_recorded(tmp_path: Path) -> None:
    theatre, workspaces = with_history(tmp_path, one_step("[mark, wait]"))
    theatre.after = stops_at(theatre)
    assert await theatre.run() == "stopped"
    assert theatre.outcomes("x") == ["stopped"]
    assert workspaces.asked[-1] == "record a:x"
    assert theatre.moves("x") == ["record a:x"]


async def test_what_a_cancelled_step_did_is_recorded(tmp_path: Path) -> None:
    theatre, _ = with_history(
        tmp_path,
        "subplans:\n"
        "  - {id: a, steps: [{id: one, async: true, run: [wait]}, {id: two, async: true, run: [wait, exit 1]},"
        " {id: both, action: join, depends_on: [one, two]}]}",
    )

    def release(deed: Deed) -> None:
        waiting = theatre.machine.waiting() if deed.kind == "start" else []
        for job in started(theatre, "two") if len(waiting) == 2 else ():
            theatre.machine.release(job)

    theatre.after = release
    assert await theatre.run() == "failed"
    assert (theatre.outcomes("one"), theatre.outcomes("two")) == (["cancelled"], ["failed"])
    assert (theatre.moves("one"), theatre.moves("two")) == (["record a:one"], ["record a:two"])


async def test_a_second_attempt_says_so(tmp_path: Path) -> None:
    text = "subplans: [{id: a, steps: [{id: x, run: [exit 1], on_error: retry, max_retries: 1}]}]"
    theatre, workspaces = with_history(tmp_path, text)
    assert await theatre.run() == "failed"
    assert [work.subject for work in workspaces.works] == ["a: x", "a: x (attempt 2)"]


@pytest.mark.parametrize("error", [WeftError("no"), HeldError("no"), OSError(5, "no")])
async def test_a_done_step_that_cannot_be_recorded_has_failed(tmp_path: Path, error: Exception) -> None:
    theatre, _ = with_history(tmp_path, one_step("[mark]"), record=error)
    assert await theatre.run() == "failed"
    assert theatre.outcomes("x") == ["failed"]
    (end,) = theatre.ends("x")
    assert end["message"] == "its changes could not be committed: no"


async def test_what_failed_and_cannot_be_recorded_says_both(tmp_path: Path) -> None:
    theatre, _ = with_history(tmp_path, one_step("[exit 3]"), record=WeftError("no room"))
    assert await theatre.run() == "failed"
    (end,) = theatre.ends("x")
    assert end["message"] == "exit code 3; its changes could not be committed: no room"


async def test_a_stopped_step_that_cannot_be_recorded_is_stopped(tmp_path: Path) -> None:
    theatre, _ = with_history(tmp_path, one_step("[wait]"), record=WeftError("no room"))
    theatre.after = stops_at(theatre)
    assert await theatre.run() == "stopped"
    assert theatre.outcomes("x") == ["stopped"]


async def test_the_host_may_forget_a_step_only_when_it_is_recorded_and_that_is_written(
    tmp_path: Path,
) -> None:
    theatre, workspaces = with_history(tmp_path, one_step("[mark]"))
    seen: list[tuple[str, list[str]]] = []

    def look(deed: Deed) -> None:
        if deed.kind == "forget":
            seen.append((workspaces.asked[2], theatre.outcomes("x")))

    theatre.before = look
    await theatre.run(waits=False)
    assert seen == [("record a:x", ["done"])]


# --- what moved before a process was started ---


async def test_a_workspace_s_moves_are_reported_with_and_without_a_setup(tmp_path: Path) -> None:
    theatre, _ = with_history(
        tmp_path,
        "merge: {mode: auto}\nsubplans:\n"
        "  - {id: a, setup: [[mark]], steps: [{id: x, run: [mark]}]}\n"
        "  - {id: b, steps: [{id: x, run: [mark]}]}",
    )
    assert await theatre.run() == "completed"
    assert theatre.moves("@workspace", "a") == ["prepare a"]
    assert theatre.moves("@workspace", "b") == ["prepare b"]


async def test_the_moves_of_a_workspace_whose_setup_fails_are_reported(tmp_path: Path) -> None:
    theatre, _ = with_history(
        tmp_path, "subplans: [{id: a, setup: [[exit 1]], steps: [{id: x, run: [mark]}]}]"
    )
    assert await theatre.run() == "failed"
    assert theatre.moves("@workspace") == ["prepare a"]


async def test_what_moved_for_the_verify_of_a_group_is_reported(tmp_path: Path) -> None:
    theatre, _ = with_history(tmp_path, GROUP)
    assert await theatre.run() == "completed"
    assert theatre.moves("@verify") == ["gather g"]


# --- what is ended before it begins ---


async def test_a_step_that_is_stopped_while_its_workspace_is_proven_is_not_started(tmp_path: Path) -> None:
    theatre, workspaces = with_history(tmp_path, one_step("[mark]", merge="{mode: auto}"))
    theatre.stop_while("prove a")
    assert await theatre.run() == "stopped"
    assert theatre.outcomes("x") == ["stopped"]
    assert (started(theatre, "x"), workspaces.works) == ([], [])
    assert await theatre.run() == "completed"
    assert theatre.outcomes("x") == ["stopped", "done"]


# Continuing


def continuing(root: Path, commit: str, **failures: BaseException) -> tuple[Theatre, NoWorkspaces]:
    workspaces = NoWorkspaces(root, history=True, failures=failures)
    theatre = Theatre(root, GROUP, workspaces=workspaces)
    done = Ended(at=0.0, firing=1, execution=1, how=StepOutcome.DONE)
    step = EarlierStep(step="x", attempt=1, end=done)
    theatre.continued = (EarlierSlice(subplan="g/a", run="r0", commit=commit, steps=(step,)),)
    return theatre, workspaces


async def test_in_a_workspace_that_is_kept_nothing_is_set_up_and_done_steps_do_not_run(
    tmp_path: Path,
) -> None:
    theatre, workspaces = continuing(tmp_path, "1")
    assert await theatre.run() == "completed"
    assert workspaces.asked[:3] == ["continue g/a", "prove g/a", "record g/a:y"]
    assert started(theatre, "x") == []
    ready = next(
        event for event in theatre.events() if event.step == "@workspace" and event.outcome == "done"
    )
    assert (ready.data["kept"], ready.data["moves"][0]["ref"]) == (True, "continue g/a")


async def test_where_nothing_is_kept_a_workspace_is_made_and_all_steps_run(tmp_path: Path) -> None:
    theatre, workspaces = continuing(tmp_path, "")
    assert await theatre.run() == "completed"
    assert workspaces.asked[:4] == ["continue g/a", "prepare g/a", "accept g/a", "prove g/a"]
    assert len(started(theatre, "x")) == 1


async def test_a_workspace_that_cannot_be_looked_at_is_no_workspace(tmp_path: Path) -> None:
    theatre, workspaces = continuing(tmp_path, "1", **{"continue": InfraError("no git")})
    assert await theatre.run() == "failed"
    assert "prepare g/a" not in workspaces.asked
