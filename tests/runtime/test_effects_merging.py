"""Merges: what is verified before it moves, how often, and what is reported."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from runtime.theatre import Deed, NoWorkspaces, Theatre
from stored_events import StoredEvent
from weft.engine.messages.events import Recorded
from weft.engine.messages.facts import Ended
from weft.errors import WeftError
from weft.ports.host import Job
from weft.ports.workspaces import ConflictError, HeldError, InfraError

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def plan(verify: str = "[mark]", **more: object) -> str:
    """Of one slice; its own steps do not verify it."""
    settings = "".join(f"{name}: {value}\n" for name, value in more.items())
    return (
        f"infra_retries: 0\nmerge: {{mode: auto}}\nsetup: [[say set-up]]\n{settings}"
        f"subplans: [{{id: a, verify: [{verify}], steps: [{{id: x, run: [mark]}}]}}]"
    )


def merging(
    root: Path,
    text: str,
    *verifies: str,
    overtaken: dict[str, int] | None = None,
    failures: dict[str, BaseException] | None = None,
) -> tuple[Theatre, NoWorkspaces]:
    workspaces = NoWorkspaces(root, history=True, verifies=verifies, overtaken=overtaken, failures=failures)
    return Theatre(root, text, workspaces=workspaces), workspaces


def jobs(theatre: Theatre, step: str) -> list[Job]:
    return [job for job in theatre.machine.started.values() if job.env["WEFT_STEP"] == step]


def told(theatre: Theatre, kind: str) -> list[StoredEvent]:
    return [item for item in theatre.events() if item.kind == kind]


def asked(workspaces: NoWorkspaces) -> list[str]:
    """All since the last step was recorded."""
    return workspaces.asked[workspaces.asked.index("record a:x") + 1 :]


def release_all(theatre: Theatre) -> Callable[[Deed], None]:
    def release(deed: Deed) -> None:
        for job in theatre.machine.waiting() if deed.kind == "start" else ():
            theatre.machine.release(job)

    return release


# --- without a verify ---


async def test_what_need_not_be_verified_moves_at_once(tmp_path: Path) -> None:
    theatre, workspaces = merging(tmp_path, plan())
    assert await theatre.run() == "completed"
    assert asked(workspaces) == ["merge a", "land a"]
    assert theatre.moves("@merge") == ["merge a"]
    assert theatre.moves("@land") == ["refs/heads/main"]
    assert [event.step for event in told(theatre, "merge")] == ["@merge", "@land"]
    assert jobs(theatre, "@merge") == jobs(theatre, "@land") == []


async def test_without_history_landing_reports_of_nothing(tmp_path: Path) -> None:
    workspaces = NoWorkspaces(tmp_path)
    theatre = Theatre(tmp_path, plan(), workspaces=workspaces)
    assert await theatre.run() == "completed"
    assert theatre.outcomes("@land") == ["done"]
    assert told(theatre, "merge") == []


# --- with one ---


async def test_what_came_together_is_set_up_and_verified_and_then_moves(tmp_path: Path) -> None:
    what, step = "merge a", "@merge"
    theatre, workspaces = merging(tmp_path, plan("[say verified], say again"), what)
    assert await theatre.run() == "completed"
    (job,) = jobs(theatre, step)
    assert job.cwd == str(workspaces.scratch("a"))
    assert job.commands == (("say set-up",), ("say verified",), ("/bin/sh", "-c", "say again"))
    assert workspaces.published == {what: 1}
    assert theatre.outcomes(step) == ["done"]
    assert theatre.moves(step) == ["follow a", what]


async def test_nothing_moves_before_it_is_verified(tmp_path: Path) -> None:
    what = "merge a"
    theatre, workspaces = merging(tmp_path, plan("[wait]"), what)
    moved: list[list[str]] = []

    def release(deed: Deed) -> None:
        for job in theatre.machine.waiting() if deed.kind == "start" else ():
            moved.append(list(workspaces.published))
            theatre.machine.release(job)

    theatre.after = release
    assert await theatre.run() == "completed"
    assert moved == [[]]
    assert list(workspaces.published) == [what]
    assert [deed.job for deed in theatre.deeds].count("publish a") == 1


@pytest.mark.parametrize("verify", ["[exit 3]", "[wait]"])
async def test_a_merge_whose_verify_is_red_has_failed_and_nothing_moved(tmp_path: Path, verify: str) -> None:
    theatre, workspaces = merging(tmp_path, plan(verify, timeout="0.5s"), "merge a")
    assert await theatre.run() == "failed"
    (end,) = theatre.ends("@merge")
    assert end["message"].startswith("`verify` fails on the merged result, although it passed before: ")
    assert asked(workspaces) == ["merge a", "discard a"]
    assert (workspaces.merging, workspaces.published) == ({}, {})


async def test_a_red_merge_says_how_it_ended(tmp_path: Path) -> None:
    theatre, _ = merging(tmp_path, plan("[exit 3]"), "merge a")
    await theatre.run()
    assert theatre.outcomes("@merge") == ["failed"]
    assert theatre.ends("@merge")[0]["message"].endswith(": exit code 3")


async def test_a_verify_that_could_not_be_run_says_nothing_about_what_came_together(tmp_path: Path) -> None:
    what, step = "merge a", "@merge"
    theatre, workspaces = merging(tmp_path, plan("[run nothing]"), what)
    await theatre.run()
    assert theatre.outcomes(step) == ["held"]
    assert theatre.ends(step)[0]["message"] == "it could not be started: there is no nothing"
    assert workspaces.asked[-1] == "discard a"


@pytest.mark.parametrize("error", [OSError(5, "no"), WeftError("no"), HeldError("no")])
async def test_what_cannot_be_removed_after_a_red_verify_is_reported_and_changes_nothing(
    tmp_path: Path, error: BaseException
) -> None:
    theatre, _ = merging(tmp_path, plan("[exit 3]"), "merge a", failures={"discard": error})
    assert await theatre.run() == "failed"
    assert theatre.outcomes("@merge") == ["failed"]
    assert theatre.ends("@merge")[0]["message"].endswith(
        "exit code 3; the worktree of the verify could not be removed: no"
    )
    assert told(theatre, "ignored") == []


# --- what goes wrong without a verify, or after it ---

WRONG = [
    (OSError(5, "It is broken", "/f"), "held", "/f: It is broken"),
    (InfraError("git is gone"), "held", "git is gone"),
    (WeftError("no"), "failed", "no"),
    (HeldError("do it", ["f"], waits_for=["b"]), "held", "do it"),
]


@pytest.mark.parametrize(("error", "outcome", "said"), WRONG)
@pytest.mark.parametrize("method", ["merge", "publish"])
async def test_a_merge_that_cannot_be_says_why(
    tmp_path: Path, method: str, error: BaseException, outcome: str, said: str
) -> None:
    theatre, workspaces = merging(tmp_path, plan(), "merge a", failures={method: error})
    await theatre.run()
    assert theatre.outcomes("@merge") == [outcome]
    assert theatre.ends("@merge")[0]["message"] == said
    assert workspaces.published == {}


async def test_what_is_held_says_for_what(tmp_path: Path) -> None:
    error = HeldError("both changed it", ["f", "g"], conflict=True, waits_for=["b"])
    theatre, _ = merging(tmp_path, plan(), failures={"merge": error})
    assert await theatre.run() == "waiting"
    (item,) = told(theatre, "merge")
    assert (item.outcome, item.data["files"], item.data["waits_for"]) == ("conflict", ["f", "g"], ["b"])


async def test_a_hold_that_only_needs_approval_says_so(tmp_path: Path) -> None:
    theatre, _ = merging(tmp_path, plan(), failures={"land": HeldError("agree", asks=True)})
    assert await theatre.run() == "waiting"
    facts = [event.fact for event in told(theatre, "step_finished") if event.outcome == "held"]
    assert [fact.asks for fact in facts if isinstance(fact, Ended)] == [True]


async def test_a_conflict_that_cannot_be_settled_fails(tmp_path: Path) -> None:
    theatre, _ = merging(tmp_path, plan(), failures={"merge": ConflictError("both changed it", ["f"])})
    assert await theatre.run() == "failed"
    assert theatre.outcomes("@merge") == ["conflict"]
    assert theatre.ends("@merge")[0]["files"] == ["f"]


# --- rounds ---


async def test_where_the_branch_has_moved_meanwhile_all_is_done_again_as_another_job(tmp_path: Path) -> None:
    what, step = "merge a", "@merge"
    theatre, workspaces = merging(tmp_path, plan(), what, overtaken={what: 2})
    assert await theatre.run() == "completed"
    first, *others = [job.id for job in jobs(theatre, step)]
    assert others == [f"{first}.1", f"{first}.2"]
    assert workspaces.asked.count("publish a") == 3
    assert workspaces.published == {what: 3}
    assert theatre.outcomes(step) == ["done"]
    assert told(theatre, "ignored") == []
    assert theatre.moves(step) == ["follow a", "follow a", "follow a", what]


async def test_each_round_writes_to_files_of_its_own(tmp_path: Path) -> None:
    theatre, _ = merging(tmp_path, plan(), "merge a", overtaken={"merge a": 1})
    await theatre.run()
    first, second = [job.output for job in jobs(theatre, "@merge")]
    assert second == f"{first}.1"


async def test_a_later_round_may_be_red(tmp_path: Path) -> None:
    theatre, workspaces = merging(tmp_path, plan("[wait, exit 3]"), "merge a", overtaken={"merge a": 1})

    def release(deed: Deed) -> None:
        for job in theatre.machine.waiting() if deed.kind == "start" else ():
            (theatre.machine.release if job.endswith(".1.1") else finish)(job)

    def finish(job: str) -> None:
        theatre.machine.end(job, why="exited", exit_code=0)

    theatre.after = release
    assert await theatre.run() == "failed"
    assert theatre.outcomes("@merge") == ["failed"]
    assert len(jobs(theatre, "@merge")) == 2
    assert workspaces.published == {}


async def test_a_repeated_end_of_an_earlier_round_is_not_that_of_the_next(tmp_path: Path) -> None:
    theatre, workspaces = merging(tmp_path, plan("[wait]"), "merge a", overtaken={"merge a": 1})

    def release(deed: Deed) -> None:
        for end in list(theatre.machine.ended.values()) if deed.kind == "start" else ():
            theatre.machine._tell(end)
        for job in theatre.machine.waiting() if deed.kind == "start" else ():
            theatre.machine.release(job)

    theatre.after = release
    assert await theatre.run() == "completed"
    assert workspaces.published == {"merge a": 2}


async def test_a_round_is_not_forgotten_before_the_next_is_on_its_way(tmp_path: Path) -> None:
    """Otherwise a coordinator after a death between the two would use the first id again."""
    theatre, _ = merging(tmp_path, plan(), "merge a", overtaken={"merge a": 1})
    await theatre.run()
    first, second = [job.id for job in jobs(theatre, "@merge")]
    order = [(deed.kind, deed.job) for deed in theatre.deeds if deed.job in {first, second}]
    assert order[:2] == [("start", first), ("start", second)]
    assert sorted(order[2:]) == [("forget", first), ("forget", second)]


# --- halting ---


@pytest.mark.parametrize("number", [0, 1, 2])
async def test_a_verify_that_is_to_stop_is_stopped_in_whichever_round_it_is(
    tmp_path: Path, number: int
) -> None:
    theatre, workspaces = merging(tmp_path, plan("[wait]"), "merge a", overtaken={"merge a": number})

    def step(deed: Deed) -> None:
        assert theatre.coordinator is not None
        for job in theatre.machine.waiting() if deed.kind == "start" else ():
            if len(jobs(theatre, "@merge")) > number:
                theatre.coordinator.stop()
            else:
                theatre.machine.release(job)

    theatre.after = step
    assert await theatre.run() == "stopped"
    assert theatre.outcomes("@merge") == ["stopped"]
    last = jobs(theatre, "@merge")[-1].id
    assert [deed.job for deed in theatre.deeds if deed.kind == "stop"] == [last]
    assert workspaces.asked[-1] == "discard a"
    assert "came together" not in theatre.ends("@merge")[0].get("message", "")

    theatre.after = release_all(theatre)
    assert await theatre.run() == "completed"
    assert theatre.outcomes("@merge") == ["stopped", "done"]


@pytest.mark.parametrize("during", ["merge a", "publish a"])
async def test_what_is_to_stop_while_git_is_at_work_is_not_verified_any_more(
    tmp_path: Path, during: str
) -> None:
    theatre, _ = merging(tmp_path, plan(), "merge a", overtaken={"merge a": 1})
    theatre.stop_while(during)
    assert await theatre.run() == "stopped"
    assert theatre.outcomes("@merge") == ["stopped"]
    begun = len(jobs(theatre, "@merge"))
    assert begun == ["merge a", "publish a"].index(during)
    theatre.before = theatre.after = lambda deed: None
    assert await theatre.run() == "completed"
    assert theatre.outcomes("@merge") == ["stopped", "done"]


async def test_what_moved_before_it_could_be_stopped_is_done(tmp_path: Path) -> None:
    theatre, workspaces = merging(tmp_path, plan(), "merge a")
    theatre.stop_while("publish a")
    assert await theatre.run() == "stopped"
    assert theatre.outcomes("@merge") == ["done"]
    assert workspaces.published == {"merge a": 1}


# --- what is ahead ---


async def test_a_conflict_ahead_is_reported_once(tmp_path: Path) -> None:
    """The second step ends when its start has been reported."""
    text = plan().replace("{id: x, run: [mark]}", "{id: w, run: [mark]}, {id: x, run: [wait]}")
    theatre, workspaces = merging(tmp_path, text)
    workspaces.foreseen = {"b": ["f"]}

    def release(_: Deed | Sequence[Recorded]) -> None:
        heard = {entry.kind for entry in theatre.events()}
        for job in theatre.machine.waiting() if "conflict_ahead" in heard else ():
            theatre.machine.release(job)

    theatre.after = lambda deed: release(deed) if deed.kind == "start" else None
    assert await theatre.run(release) == "completed"
    (item,) = told(theatre, "conflict_ahead")
    assert (item.subplan, item.outcome, item.data) == ("a", "ahead", {"other": "b", "files": ["f"]})


async def test_that_nothing_can_be_foreseen_is_no_harm(tmp_path: Path) -> None:
    theatre, _ = merging(tmp_path, plan(), failures={"forecast": WeftError("no")})
    assert await theatre.run() == "completed"
    assert told(theatre, "conflict_ahead") == []
