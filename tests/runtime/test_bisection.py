"""A group's verify that fails is run again on parts of the group, until it is known who is to blame."""

from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import count
from pathlib import Path

import pytest
from msgspec.structs import replace

from runtime.theatre import Deed, KilledError, NoWorkspaces, Theatre
from stored_events import StoredEvent
from weft.engine.messages.facts import RefMove
from weft.engine.suspects import Suspect
from weft.errors import WeftError
from weft.ports.host import EndReason, Job, JobEnded
from weft.ports.workspaces import ConflictError, MergeRequest, MergeResult

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def no_blocking() -> None:
    """Who dies leaves garbage; what is complained about when it is collected is no doing of Weft's."""


PLAN = """
infra_retries: 0
failure_mode: MODE
merge: {mode: auto}
subplans:
  - id: g
    verify: [[mark]]
    subplans:
      - {id: a, steps: [{id: x, run: [mark]}]}
      - {id: b, steps: [{id: x, run: [mark]}]}
      - {id: c, steps: [{id: x, run: [mark]}]}
"""
APART = [Suspect("g/a"), Suspect("g/b"), Suspect("g/c")]
SEARCH = ["abc", "abc", "", "a", "ab", "b", "c"]
"""On which parts verify is run if a and b break it; the last is what is left."""


class Parted(NoWorkspaces):
    """Of what was gathered last, the names of those that are in it."""

    def __init__(
        self, root: Path, suspects: Sequence[Suspect], conflicts: Collection[str], **more: object
    ) -> None:
        super().__init__(root, history=True, **more)  # type: ignore[arg-type]
        self.parted = suspects
        self.conflicts = conflicts
        self.now = ""
        self.merged: list[tuple[str, tuple[str, ...]]] = []

    def suspects(self, request: MergeRequest) -> Sequence[Suspect]:
        return self._ask("suspects", request.path, lambda: self.parted)

    def gather(self, request: MergeRequest) -> Sequence[RefMove]:
        return self._ask("gather", request.path, lambda: self._gathered(request))

    def _gathered(self, request: MergeRequest) -> Sequence[RefMove]:
        # Without parts it is the branch of the group, which holds all of them.
        paths = [part.path for part in request.parts] or [suspect.name for suspect in APART]
        self.now = "".join(path[-1] for path in paths if path not in request.without)
        if self.now in self.conflicts:
            raise ConflictError("no", ["f"])
        return ()

    def merge(self, request: MergeRequest) -> MergeResult:
        self.merged.append((request.path, request.without))
        return super().merge(request)


class Scene:
    """`words`: what verify does, by the parts that it is run on, where that is not to pass."""

    def __init__(
        self,
        root: Path,
        words: Mapping[str, str] | Callable[[str], str],
        *,
        mode: str = "fail_fast",
        suspects: Sequence[Suspect] = APART,
        conflicts: Collection[str] = (),
        failures: Mapping[str, BaseException] | None = None,
    ) -> None:
        self.workspaces = Parted(root, suspects, conflicts, failures=failures)
        self.theatre = Theatre(root, PLAN.replace("MODE", mode), workspaces=self.workspaces)
        self.verified: dict[str, str] = {}
        """By job, what it was run on."""
        self._say = words if callable(words) else lambda names: words.get(names, "say fine")
        self._start = self.theatre.machine.start
        self.theatre.machine.start = self.start  # type: ignore[method-assign]

    def start(self, job: Job) -> None:
        if job.env["WEFT_STEP"] == "@verify":
            if job.id not in self.theatre.machine.started:
                self.verified[job.id] = self.workspaces.now
            job = replace(job, commands=(("mark", self._say(self.verified[job.id])),))
        self._start(job)

    @property
    def asked(self) -> list[str]:
        return list(self.verified.values())

    @property
    def end(self) -> dict[str, object]:
        (result,) = self.theatre.ends("@verify")
        return result

    def told(self, kind: str) -> list[StoredEvent]:
        return [item for item in self.theatre.events() if item.kind == kind]


def together(names: str) -> str:
    """a and b break it."""
    return "exit 3" if {"a", "b"} <= set(names) else "say fine"


# --- what is run, and what is told ---


async def test_the_culprits_are_found_and_named(tmp_path: Path) -> None:
    scene = Scene(tmp_path, together)
    assert await scene.theatre.run() == "failed"
    assert scene.asked == SEARCH
    assert scene.end["message"] == (
        "`verify` of g fails with a and b together; it passes without them (6 more runs): exit code 3"
    )
    assert scene.end["culprits"] == ["g/a", "g/b"]
    assert scene.end["exit_code"] == 3
    assert sorted(path for path, _ in scene.workspaces.merged) == ["g/a", "g/b", "g/c"]


async def test_under_continue_on_error_the_group_continues_without_them(tmp_path: Path) -> None:
    scene = Scene(tmp_path, together, mode="continue_on_error")
    assert await scene.theatre.run() == "failed"
    assert scene.workspaces.merged[-1] == ("g", ("g/a", "g/b"))
    assert scene.workspaces.asked[-2:] == ["merge g", "land g"]
    assert [event.subplan for event in scene.told("left_out")] == ["g/a", "g/b"]


async def test_runs_are_jobs_of_the_same_order_with_logs_of_their_own(tmp_path: Path) -> None:
    scene = Scene(tmp_path, together)
    await scene.theatre.run()
    first, *others = scene.verified
    assert others == [f"{first}.{number}" for number in range(1, 7)]
    jobs = [scene.theatre.machine.started[job] for job in scene.verified]
    assert len({job.output for job in jobs}) == 7
    assert {job.cwd for job in jobs} == {str(scene.workspaces.place("g"))}
    assert scene.theatre.machine.ended == {}


async def test_a_verify_that_passes_the_second_time_has_failed_all_the_same(tmp_path: Path) -> None:
    answers = iter(["exit 3"])
    scene = Scene(tmp_path, lambda names: next(answers, "say fine"), mode="continue_on_error")
    assert await scene.theatre.run() == "failed"
    assert scene.asked == ["abc", "abc"]
    assert scene.end["message"] == (
        "`verify` of g is not reliable: it failed, and then passed on the same files: exit code 3"
    )
    assert "culprits" not in scene.end


async def test_what_does_not_go_together_is_not_run(tmp_path: Path) -> None:
    scene = Scene(tmp_path, together, conflicts=("a",))
    assert await scene.theatre.run() == "failed"
    assert scene.asked == ["abc", "abc", "", "ab", "b", "c"]
    assert [job.rpartition(".")[2] for job in scene.verified][1:] == ["1", "2", "4", "5", "6"]
    assert "(5 more runs)" in str(scene.end["message"])


@pytest.mark.parametrize("word", ["run nothing", "exit 127"])
async def test_if_verify_cannot_be_run_there_are_no_culprits(tmp_path: Path, word: str) -> None:
    scene = Scene(tmp_path, {"abc": "exit 1", "": word})
    assert await scene.theatre.run() == "failed"
    assert scene.asked == ["abc", "abc", ""]
    assert "none of them is to blame: exit code 1" in str(scene.end["message"])


@pytest.mark.parametrize("suspects", [[], [Suspect("g/a")]])
async def test_with_fewer_than_two_suspects_it_has_just_failed(
    tmp_path: Path, suspects: list[Suspect]
) -> None:
    scene = Scene(tmp_path, together, suspects=suspects)
    assert await scene.theatre.run() == "failed"
    assert (scene.asked, scene.end["message"]) == (["abc"], "exit code 3")
    assert scene.theatre.machine.ended == {}


@pytest.mark.parametrize(("word", "outcome"), [("run nothing", "infra"), ("say fine", "done")])
async def test_only_a_verify_that_failed_has_culprits(tmp_path: Path, word: str, outcome: str) -> None:
    scene = Scene(tmp_path, {"abc": word})
    await scene.theatre.run()
    assert (scene.asked, scene.theatre.outcomes("@verify")) == (["abc"], [outcome])


@pytest.mark.parametrize("error", [WeftError("no room"), OSError(28, "no room")])
async def test_a_search_with_an_error_leaves_the_failure_as_it_was(tmp_path: Path, error: Exception) -> None:
    scene = Scene(tmp_path, together, failures={"suspects": error})
    assert await scene.theatre.run() == "failed"
    assert scene.end["message"] == "exit code 3; the culprit could not be found: no room"
    assert scene.theatre.outcomes("@verify") == ["failed"]


async def test_a_run_that_is_lost_says_nothing_about_anybody(tmp_path: Path) -> None:
    scene = Scene(tmp_path, lambda names: "wait" if names == "ab" else together(names))

    def crash(deed: Deed) -> None:
        if deed.kind == "start" and scene.verified.get(deed.job) == "ab":
            scene.theatre.machine.work()
            scene.theatre.machine.crash()

    scene.theatre.after = crash
    assert await scene.theatre.run() == "failed"
    assert scene.theatre.outcomes("@verify") == ["lost"]


async def test_without_history_there_is_no_search(tmp_path: Path) -> None:
    text = PLAN.replace("MODE", "fail_fast").replace("verify: [[mark]]", "verify: [[exit 3]]")
    theatre = Theatre(tmp_path, text, workspaces=NoWorkspaces(tmp_path))
    assert await theatre.run() == "failed"
    assert theatre.ends("@verify")[0]["message"] == "exit code 3"


# --- the end of it all ---


@pytest.mark.parametrize("number", [0, 1, 3])
async def test_a_search_that_is_to_stop_stops_and_starts_again_later(tmp_path: Path, number: int) -> None:
    scene = Scene(tmp_path, lambda names: "wait" if len(scene.verified) == number + 1 else together(names))

    def stop(deed: Deed) -> None:
        if deed.kind == "start" and len(scene.verified) == number + 1:
            assert scene.theatre.coordinator is not None
            scene.theatre.coordinator.stop()

    scene._say = lambda names: "wait" if len(scene.verified) == number + 1 else together(names)
    scene.theatre.after = stop
    assert await scene.theatre.run() == "stopped"
    assert scene.theatre.outcomes("@verify") == ["stopped"]
    scene._say, scene.theatre.after = together, lambda deed: None
    scene.verified.clear()
    assert await scene.theatre.run() == "failed"
    assert scene.asked == SEARCH
    assert scene.theatre.outcomes("@verify") == ["stopped", "failed"]
    assert scene.theatre.machine.ended == {}


async def test_what_is_to_stop_while_git_is_at_work_is_not_run_any_more(tmp_path: Path) -> None:
    scene = Scene(tmp_path, together)
    scene.theatre.stop_while("suspects g")
    assert await scene.theatre.run() == "stopped"
    assert scene.asked == ["abc"]
    assert scene.theatre.outcomes("@verify") == ["stopped"]
    assert scene.theatre.machine.ended == {}


# --- deaths ---


def dies(number: int) -> Callable[[Deed], None]:
    def look(deed: Deed) -> None:
        nonlocal number
        number -= 1
        if number == 0:
            raise KilledError

    return look


async def die_and_go_on(theatre: Theatre, when: str, *numbers: int) -> bool:
    """Whether all these deaths came; the run is over then."""
    for number in numbers:
        setattr(theatre, when, dies(number))
        died = False
        try:
            await theatre.run()
        except* KilledError:
            died = True
        setattr(theatre, when, lambda deed: None)
        if not died:
            return False
    assert await theatre.run() == "failed"
    return True


def check(scene: Scene) -> None:
    """Nothing was run twice, and the same was found."""
    assert scene.asked == SEARCH
    assert set(scene.theatre.machine.marks.values()) == {1}
    assert str(scene.end["message"]).startswith(
        "`verify` of g fails with a and b together; it passes without"
    )
    assert [event.subplan for event in scene.told("left_out")] == ["g/a", "g/b"]
    assert scene.workspaces.merged[-1] == ("g", ("g/a", "g/b"))
    assert (scene.theatre.machine.ended, scene.theatre.machine.jobs) == ({}, {})


@pytest.mark.parametrize("when", ["before", "after"])
async def test_it_dies_once_at_every_deed(tmp_path: Path, when: str) -> None:
    for number in count(1):
        scene = Scene(tmp_path, together, mode="continue_on_error")
        if not await die_and_go_on(scene.theatre, when, number):
            break
        check(scene)
    assert number > 45


@pytest.mark.parametrize("when", ["before", "after"])
async def test_it_dies_three_times(tmp_path: Path, when: str) -> None:
    for first in range(30, 60, 4):
        for second in (2, 4, 7):
            scene = Scene(tmp_path, together, mode="continue_on_error")
            if await die_and_go_on(scene.theatre, when, first, second, second):
                check(scene)


async def test_a_question_that_could_not_be_asked_is_known_to_a_successor(tmp_path: Path) -> None:
    for number in count(40):
        scene = Scene(tmp_path, together, conflicts=("a",))
        if not await die_and_go_on(scene.theatre, "before", number):
            break
        assert scene.asked == ["abc", "abc", "", "ab", "b", "c"]
        assert scene.end["culprits"] == ["g/a", "g/b"]
    assert number > 45


async def test_a_run_of_verify_with_unknown_parts_is_lost(tmp_path: Path) -> None:
    scene = Scene(tmp_path, together)
    start = scene.start

    def forgetful(job: Job) -> None:
        start(job)
        if scene.verified.get(job.id) == "ab":
            raise KilledError

    scene.theatre.machine.start = forgetful  # type: ignore[method-assign]
    with pytest.raises(BaseExceptionGroup):
        await scene.theatre.run()
    first, *_ = scene.verified
    values: dict[str, JobEnded] = scene.theatre.machine.ended
    assert values.pop(first).why is EndReason.EXITED
    scene.theatre.machine.start = start  # type: ignore[method-assign]
    assert await scene.theatre.run() == "failed"
    assert scene.end["message"] == "the commit that it ran on is unknown"
    assert scene.theatre.outcomes("@verify") == ["lost"]
