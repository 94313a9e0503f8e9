"""The landing queue with everything around it in memory: batches, verifies, and what it reports."""

from pathlib import Path

import pytest
from anyio import from_thread

from runtime.memory_target import MemoryTarget, tree_of
from runtime.theatre import Deed, NoWorkspaces, Theatre
from stored_events import StoredEvent
from weft.engine.messages.facts import Ended
from weft.errors import WeftError
from weft.ports.host import Job
from weft.ports.workspaces import HeldError, InfraError

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def plan(verify: str = "[mark]", *, ids: str = "a", whole: str = "", **more: object) -> str:
    """Slices whose own steps do not verify them."""
    settings = "".join(f"{name}: {value}\n" for name, value in more.items())
    slices = "".join(
        f"  - {{id: {name}, verify: [{verify}], steps: [{{id: x, run: [mark]}}]}}\n" for name in ids
    )
    whole = f"verify: {whole}\n" if whole else ""
    merge = "" if "merge" in more else "merge: {mode: auto}\n"
    return f"infra_retries: 0\n{merge}setup: [[say set-up]]\n{settings}{whole}subplans:\n{slices}"


class Scene:
    def __init__(
        self,
        root: Path,
        text: str,
        *verifies: str,
        overtaken: dict[str, int] | None = None,
        failures: dict[str, BaseException] | None = None,
    ) -> None:
        self.workspaces = NoWorkspaces(
            root, history=True, verifies=verifies, overtaken=overtaken, failures=failures
        )
        self.theatre = Theatre(root, text, workspaces=self.workspaces)
        assert isinstance(self.theatre.target, MemoryTarget)
        self.target = self.theatre.target

    @property
    def jobs(self) -> list[Job]:
        return [job for job in self.theatre.machine.started.values() if job.env["WEFT_STEP"] == "@land"]

    def told(self, kind: str) -> list[StoredEvent]:
        return [event for event in self.theatre.events() if event.kind == kind]

    def verifies(self) -> list[tuple[str, list[str]]]:
        """How each verify ended, and what would have landed."""
        ended = (event for event in self.told("verify") if event.outcome != "started")
        return [(event.outcome, event.data["entries"]) for event in ended]

    def landings(self) -> list[str]:
        """The moves of the target."""
        return [asked for asked in self.workspaces.asked if asked.startswith("land ")]


async def test_what_need_not_be_verified_lands_at_once(tmp_path: Path) -> None:
    scene = Scene(tmp_path, plan())
    assert await scene.theatre.run() == "completed"
    assert scene.landings() == ["land a"]
    assert (scene.jobs, scene.told("verify")) == ([], [])


async def test_what_lands_is_set_up_and_verified_in_the_scratch_worktree(tmp_path: Path) -> None:
    scene = Scene(tmp_path, plan("[say verified], say again"), "land a")
    assert await scene.theatre.run() == "completed"
    (job,) = scene.jobs
    assert job.cwd == str(scene.target.scratch)
    assert job.commands == (("say set-up",), ("say verified",), ("/bin/sh", "-c", "say again"))
    assert scene.target.checked_out == ["base+a"]
    assert scene.target.landed == ["a"]
    assert scene.verifies() == [("passed", ["a"])]


async def test_the_journal_has_tree_commands_status_duration_and_log_of_a_verify(tmp_path: Path) -> None:
    scene = Scene(tmp_path, plan("[exit 3]"), "land a")
    assert await scene.theatre.run() == "waiting"
    started, ended = scene.told("verify")
    assert (started.outcome, started.data["commands"]) == ("started", ["'exit 3'"])
    assert (ended.outcome, ended.data["exit_code"], ended.data["tree"]) == ("failed", 3, tree_of("base+a"))
    assert (scene.theatre.root / "logs" / ended.data["log"]).name.startswith("@land.land.")
    assert ended.data["seconds"] >= 0.0


async def test_results_that_join_during_a_verify_are_verified_together_and_land_by_one_move(
    tmp_path: Path,
) -> None:
    """The verify of the first result ends when the others have been merged."""
    scene = Scene(
        tmp_path,
        plan("[wait]", ids="abc", merge="{mode: auto, order: completion}"),
        "land a",
        "land b",
        "land c",
    )
    machine = scene.theatre.machine

    def release(_: object) -> None:
        merged = [asked for asked in scene.workspaces.asked if asked.startswith("merge ")]
        for job in machine.waiting() if len(merged) == 3 else ():
            machine.release(job)

    scene.theatre.after = lambda deed: release(deed) if deed.kind in {"start", "append"} else None
    assert await scene.theatre.run() == "completed"
    assert len(scene.target.landed) == 3
    assert scene.landings() == [f"land {scene.target.landed[0]}", f"land {' '.join(scene.target.landed[1:])}"]
    assert [len(entries) for _, entries in scene.verifies()] == [1, 2]


async def test_a_result_that_joins_while_the_scratch_worktree_is_removed_lands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slices = "".join(
        f"  - {{id: {name}, verify: [[mark]], steps: [{{id: x, run: [{step}]}}]}}\n"
        for name, step in (("a", "mark"), ("b", "wait"))
    )
    scene = Scene(
        tmp_path, f"merge: {{mode: auto, order: completion}}\nsubplans:\n{slices}", "land a", "land b"
    )
    machine = scene.theatre.machine

    def is_queued() -> bool:
        return any((event.subplan, event.step) == ("b", "@land") for event in scene.told("step_started"))

    def discard() -> None:
        for job in machine.waiting():
            from_thread.run_sync(machine.release, job)
        while not from_thread.run_sync(is_queued):
            pass

    monkeypatch.setattr(scene.target, "discard", discard)
    assert await scene.theatre.run() == "completed"
    assert scene.target.landed == ["a", "b"]


async def test_nothing_moves_before_it_is_verified(tmp_path: Path) -> None:
    scene = Scene(tmp_path, plan("[wait]"), "land a")
    moved: list[list[str]] = []

    def release(deed: Deed) -> None:
        for job in scene.theatre.machine.waiting() if deed.kind == "start" else ():
            moved.append(list(scene.target.landed))
            scene.theatre.machine.release(job)

    scene.theatre.after = release
    assert await scene.theatre.run() == "completed"
    assert moved == [[]]
    assert scene.target.landed == ["a"]


@pytest.mark.parametrize("verify", ["[exit 3]", "[wait]"])
async def test_a_result_whose_verify_fails_is_held_with_the_reason(tmp_path: Path, verify: str) -> None:
    scene = Scene(tmp_path, plan(verify, timeout="0.5s"), "land a")
    assert await scene.theatre.run() == "waiting"
    (end,) = scene.theatre.ends("@land")
    assert end["red"]
    assert end["message"].startswith("a does not land on main: `verify` of a fails with it: ")
    assert end["message"].endswith("commit a fix to branch weft/p/a, then type: weft merge a")
    assert scene.target.landed == []


async def test_the_target_itself_is_verified_before_a_result_is_blamed(tmp_path: Path) -> None:
    scene = Scene(tmp_path, plan("[mark]", whole="[[exit 3]]"))
    assert await scene.theatre.run() == "waiting"
    assert scene.verifies() == [("failed", ["a"]), ("failed", [])]
    (end,) = scene.theatre.ends("@land")
    assert end["message"].startswith("`verify` already fails on main at base: exit code 3 ('exit 3')")


@pytest.mark.parametrize(("allowed", "landed"), [("true", ["a"]), ("false", [])])
async def test_a_red_target_may_be_allowed(tmp_path: Path, allowed: str, landed: list[str]) -> None:
    merge = f"{{mode: auto, allow_red_base: {allowed}}}"
    scene = Scene(tmp_path, plan("[mark]", whole="[[exit 3]]", merge=merge))
    assert await scene.theatre.run() == ("completed" if landed else "waiting")
    assert scene.target.landed == landed


async def test_a_verify_that_cannot_be_run_says_nothing_about_the_result(tmp_path: Path) -> None:
    scene = Scene(tmp_path, plan("[run nothing]"), "land a")
    await scene.theatre.run()
    assert scene.theatre.outcomes("@land") == ["held"]
    assert "it could not be started: there is no nothing" in scene.theatre.ends("@land")[0]["message"]


@pytest.mark.parametrize(
    ("error", "outcome", "text"),
    [
        (OSError(28, "No space", "/f"), "held", "/f: No space"),
        (InfraError("git is gone"), "held", "git is gone"),
        (WeftError("no"), "failed", "no"),
        (HeldError("do it", ["f"]), "held", "do it"),
        (HeldError("a rebase is unfinished there"), "held", "a rebase is unfinished there"),
    ],
)
async def test_a_target_that_cannot_move_says_why(
    tmp_path: Path, error: BaseException, outcome: str, text: str
) -> None:
    scene = Scene(tmp_path, plan(), "land a", failures={"land": error})
    await scene.theatre.run()
    assert scene.theatre.outcomes("@land") == [outcome]
    assert scene.theatre.ends("@land")[0]["message"] == text
    assert scene.target.landed == []


async def test_what_is_held_is_tried_again_by_the_next_coordinator(tmp_path: Path) -> None:
    scene = Scene(tmp_path, plan(), "land a", failures={"land": HeldError("wait")})
    assert await scene.theatre.run() == "waiting"
    assert await scene.theatre.run() == "completed"
    assert scene.theatre.outcomes("@land") == ["held", "done"]
    assert len(scene.jobs) == 1, "the tree has passed, so it is not verified again"


# The target moves


async def test_a_target_that_has_moved_is_verified_with_what_came(tmp_path: Path) -> None:
    scene = Scene(tmp_path, plan(), "land a", overtaken={"land a": 2})
    assert await scene.theatre.run() == "completed"
    assert scene.target.landed == ["person-0", "person-1", "a"]
    assert scene.target.checked_out == ["base+a", "base+person-0+a", "base+person-0+person-1+a"]
    assert scene.theatre.outcomes("@land") == ["done"]


async def test_a_target_that_moves_all_the_time_holds_the_result(tmp_path: Path) -> None:
    scene = Scene(tmp_path, plan(), "land a", overtaken={"land a": 5})
    assert await scene.theatre.run() == "waiting"
    (end,) = scene.theatre.ends("@land")
    assert end["message"].startswith("main moved 5 times while a was verified")


# People


CONFIRM = "{mode: confirm}"


async def test_what_a_person_is_asked_about_is_verified_before_the_question(tmp_path: Path) -> None:
    scene = Scene(tmp_path, plan(ids="ab", whole="[[say whole]]", merge=CONFIRM))
    assert await scene.theatre.run(waits=False) == "waiting"
    assert scene.verifies() == [("passed", ["a", "b"])], "once, for both together"
    assert scene.target.landed == []
    held = [event for event in scene.told("step_finished") if event.outcome == "held"]
    assert [event.fact.asks for event in held if isinstance(event.fact, Ended)] == [True] * 4


async def test_what_would_not_pass_is_not_asked_about(tmp_path: Path) -> None:
    scene = Scene(tmp_path, plan("[exit 3]", merge=CONFIRM), "land a")
    assert await scene.theatre.run(waits=False) == "waiting"
    ends = scene.theatre.ends("@land")
    assert [(end.get("asks", False), end.get("red", False)) for end in ends] == [(True, False), (False, True)]


async def test_without_a_verify_a_person_is_asked_at_once(tmp_path: Path) -> None:
    text = "infra_retries: 0\nsubplans: [{id: a, steps: [{id: x, run: [mark]}]}]"
    scene = Scene(tmp_path, text)
    assert await scene.theatre.run(waits=False) == "waiting"
    assert scene.theatre.outcomes("@land") == ["held"]
    assert scene.told("verify") == []


# Stopping


async def test_a_verify_that_is_to_stop_is_stopped_and_done_again_later(tmp_path: Path) -> None:
    scene = Scene(tmp_path, plan("[wait]"), "land a")
    theatre = scene.theatre

    def stop(deed: Deed) -> None:
        assert theatre.coordinator is not None
        if deed.kind == "start" and theatre.machine.waiting():
            theatre.coordinator.stop()

    theatre.after = stop
    assert await theatre.run() == "stopped"
    assert theatre.outcomes("@land") == ["stopped"]
    assert scene.target.landed == []

    def release(deed: Deed) -> None:
        for job in theatre.machine.waiting() if deed.kind == "start" else ():
            theatre.machine.release(job)

    theatre.after = release
    assert await theatre.run() == "completed"
    assert theatre.outcomes("@land") == ["stopped", "done"]
    assert len({job.id for job in scene.jobs}) == 2


async def test_a_command_that_names_the_subplan_runs_for_each_of_them(tmp_path: Path) -> None:
    verify = "[say $WEFT_SUBPLAN]"
    scene = Scene(tmp_path, plan(verify, ids="ab", merge="{mode: confirm}"), "land a", "land b")
    assert await scene.theatre.run(waits=False) == "waiting"
    assert [job.env["WEFT_SUBPLAN"] for job in scene.jobs] == ["a", "b"]


async def test_a_command_whose_script_names_the_subplan_runs_for_each_of_them(tmp_path: Path) -> None:
    scene = Scene(tmp_path, plan("[sh ./check.sh]", ids="ab", merge="{mode: confirm}"), "land a", "land b")
    (scene.theatre.root / "check.sh").write_text("test -d parts/$WEFT_SUBPLAN\n")
    assert await scene.theatre.run(waits=False) == "waiting"
    assert [job.env["WEFT_SUBPLAN"] for job in scene.jobs] == ["a", "b"]


async def test_a_command_that_several_subplans_share_runs_once(tmp_path: Path) -> None:
    scene = Scene(tmp_path, plan("[say shared]", ids="ab", merge="{mode: confirm}"), "land a", "land b")
    assert await scene.theatre.run(waits=False) == "waiting"
    assert len(scene.jobs) == 1
