"""The push after a landing, with a target and a remote in memory."""

from pathlib import Path
from threading import Event

import pytest
from anyio import from_thread

from runtime.landing_queue.test_queue import Scene, plan
from runtime.theatre import KilledError
from weft.ports.target import Chain, PushError, RemoteMovedError

pytestmark = pytest.mark.anyio

PUSH = "{mode: auto, push: origin}"
MOVED = RemoteMovedError("origin has commits that main lacks; type: git pull")
REFUSED = PushError("remote: no")
WAITS = "id: b, steps: [{id: x, run: [wait]}]"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def pushes(scene: Scene) -> list[tuple[str, str, bool]]:
    """Of each push that was reported: the outcome, the message and whether it is final."""
    return [
        (event.outcome, event.data.get("message", ""), event.data.get("final", False))
        for event in scene.told("push")
    ]


async def test_what_has_landed_is_pushed_once(tmp_path: Path) -> None:
    scene = Scene(tmp_path, plan(merge=PUSH))
    assert await scene.theatre.run() == "completed"
    (event,) = scene.told("push")
    assert (event.outcome, event.data) == ("pushed", {"remote": "origin", "commit": "base+a"})
    assert (scene.target.pushes, scene.target.pushed) == (["origin"], "base+a")


async def test_nothing_is_pushed_unless_the_plan_says_so(tmp_path: Path) -> None:
    scene = Scene(tmp_path, plan())
    assert await scene.theatre.run() == "completed"
    assert (scene.target.pushes, scene.told("push")) == ([], [])


async def test_nothing_is_pushed_if_nothing_lands(tmp_path: Path) -> None:
    scene = Scene(tmp_path, plan("[exit 3]", merge=PUSH), "land a")
    assert await scene.theatre.run() == "waiting"
    assert (scene.target.pushes, scene.told("push")) == ([], [])


async def test_a_push_that_fails_is_reported_and_tried_again_at_the_end_of_the_run(tmp_path: Path) -> None:
    scene = Scene(tmp_path, plan(merge=PUSH))
    scene.target.push_errors = [REFUSED]
    assert await scene.theatre.run() == "completed"
    assert scene.target.landed == ["a"]
    assert pushes(scene) == [("failed", "remote: no", False), ("pushed", "", False)]


async def test_a_push_that_fails_at_the_end_is_final(tmp_path: Path) -> None:
    scene = Scene(tmp_path, plan(merge=PUSH))
    scene.target.push_errors = [REFUSED, REFUSED]
    assert await scene.theatre.run() == "completed"
    assert scene.target.landed == ["a"]
    assert pushes(scene) == [("failed", "remote: no", False), ("failed", "remote: no", True)]


async def test_a_run_that_waits_for_a_person_pushes_again_before_it_leaves(tmp_path: Path) -> None:
    text = plan(ids="ab", merge="{mode: auto, push: origin, batch: 1}")
    scene = Scene(tmp_path, text.replace("id: b, verify: [[mark]]", "id: b, verify: [[exit 3]]"), "land b")
    scene.target.push_errors = [REFUSED]
    assert await scene.theatre.run() == "waiting"
    assert scene.target.landed == ["a"]
    assert pushes(scene) == [("failed", "remote: no", False), ("pushed", "", False)]


async def test_a_push_that_fails_is_tried_again_after_the_next_landing(tmp_path: Path) -> None:
    text = plan(ids="ab", merge=PUSH).replace("id: b,", "id: b, depends_on: [a],")
    scene = Scene(tmp_path, text)
    scene.target.push_errors = [REFUSED]
    assert await scene.theatre.run() == "completed"
    assert scene.target.pushed == "base+a+b"
    assert pushes(scene)[0] == ("failed", "remote: no", False)
    assert pushes(scene)[-1] == ("pushed", "", False)
    assert len(scene.target.pushes) == 2


async def test_commits_of_the_remote_are_verified_before_the_target_moves_and_pushed_again(
    tmp_path: Path,
) -> None:
    """The verify of the remote's commits ends although the run has nothing else left to do."""
    scene = Scene(tmp_path, plan(whole="[say plan]", merge=PUSH))
    scene.target.push_errors = [MOVED]
    assert await scene.theatre.run() == "completed"
    assert scene.target.landed == ["a", "theirs-1"]
    assert scene.verifies() == [("passed", ["a"]), ("passed", [])]
    assert scene.target.checked_out == ["base+a", "base+a+theirs-1"]
    assert scene.target.discarded == 2
    assert scene.target.pushed == "base+a+theirs-1"
    assert pushes(scene) == [("pushed", "", False)]


async def test_a_remote_that_moves_at_the_end_of_the_run_is_verified_too(tmp_path: Path) -> None:
    scene = Scene(tmp_path, plan(whole="[say plan]", merge=PUSH))
    scene.target.push_errors = [REFUSED, MOVED]
    assert await scene.theatre.run() == "completed"
    assert scene.target.pushed == "base+a+theirs-1"
    assert pushes(scene) == [("failed", "remote: no", False), ("pushed", "", False)]


async def test_a_remote_that_moves_again_and_again_is_reported_with_the_commands(tmp_path: Path) -> None:
    scene = Scene(tmp_path, plan(merge=PUSH))
    scene.target.push_errors = [MOVED] * 12
    assert await scene.theatre.run() == "completed"
    first, last = pushes(scene)
    text = f"remote moved, after 5 merges of its commits: {MOVED}"
    assert (first, last) == (("failed", text, False), ("failed", text, True))
    assert (len(scene.target.pushes), scene.target.fetches) == (12, 10)


@pytest.mark.parametrize(
    ("verify", "text"),
    [
        (
            "[exit 3]",
            "`verify` fails on main with the remote's commits: exit code 3 ('exit 3'); main has not moved; ",
        ),
        (
            "[run nothing]",
            "`verify` could not be run on main with the remote's commits: it could not be started",
        ),
    ],
)
async def test_commits_of_the_remote_that_do_not_pass_the_verify_do_not_reach_the_target(
    tmp_path: Path, verify: str, text: str
) -> None:
    scene = Scene(tmp_path, plan(verify, merge=PUSH))
    scene.target.push_errors = [MOVED, MOVED]
    assert await scene.theatre.run() == "completed"
    assert scene.target.landed == ["a"]
    outcomes = [(outcome, message.startswith(text)) for outcome, message, _ in pushes(scene)]
    assert outcomes == [("failed", True), ("failed", True)]


@pytest.mark.parametrize("ids", ["a", "ab"], ids=["at the end of the run", "while a step runs"])
async def test_a_stop_ends_a_push_that_hangs(tmp_path: Path, ids: str) -> None:
    text = plan(ids=ids, merge=PUSH).replace("id: b, verify: [[mark]], steps: [{id: x, run: [mark]}]", WAITS)
    scene = Scene(tmp_path, text)

    def hang(remote: str) -> str:
        assert scene.theatre.coordinator is not None
        from_thread.run_sync(scene.theatre.coordinator.stop)
        assert scene.target.hung_up.wait(60)
        raise PushError(f"{remote} hangs")

    scene.target.push = hang  # type: ignore[method-assign]
    assert await scene.theatre.run() == ("completed" if ids == "a" else "stopped")
    assert pushes(scene) == [("failed", "origin hangs", False)]
    assert scene.target.pushed == ""


async def test_landings_continue_while_a_remote_hangs_and_are_pushed_together(tmp_path: Path) -> None:
    """The first push ends when all results have landed; a single one is left then."""
    scene = Scene(tmp_path, plan(ids="abc", merge="{mode: auto, push: origin, batch: 1}"))
    have_landed = Event()
    push = scene.target.push

    def hang(remote: str) -> str:
        assert have_landed.wait(60)
        return push(remote)

    scene.target.push = hang  # type: ignore[method-assign]
    advance = scene.target.advance

    def note(chain: Chain) -> bool:
        moved = advance(chain)
        if len(scene.target.landed) == 3:
            have_landed.set()
        return moved

    scene.target.advance = note  # type: ignore[method-assign]
    assert await scene.theatre.run() == "completed"
    assert len(scene.target.pushes) == 2
    assert scene.target.pushed == "+".join(["base", *scene.target.landed])


async def test_a_landing_that_an_earlier_coordinator_did_not_push_is_pushed_by_the_next(
    tmp_path: Path,
) -> None:
    text = plan(ids="ab", merge=PUSH).replace("id: b,", "id: b, depends_on: [a], verify: [[exit 3]],", 1)
    scene = Scene(
        tmp_path, text.replace("verify: [[exit 3]], verify: [[mark]]", "verify: [[exit 3]]"), "land b"
    )
    scene.target.push_errors = [KilledError()]
    with pytest.raises(BaseExceptionGroup) as caught:
        await scene.theatre.run()
    assert caught.group_contains(KilledError)
    assert await scene.theatre.run() == "waiting"
    assert (scene.target.landed, scene.target.pushed) == (["a"], "base+a")
    assert pushes(scene) == [("pushed", "", False)]
