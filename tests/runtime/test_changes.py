"""The changes of steps: which steps are watched, which one is responsible, and what is reported."""

from collections.abc import Callable
from itertools import count
from pathlib import Path
from threading import Event as Signal

import pytest

from runtime.theatre import Deed, KilledError, NoWorkspaces, Theatre
from weft.engine.messages.facts import RefMove
from weft.errors import WeftError
from weft.ports.workspaces import Breach
from weft.workspaces.in_place import InPlaceWorkspaces

pytestmark = pytest.mark.anyio

HEAD = """
infra_retries: 0
retries: 0
merge: {mode: auto}
agents:
  good: {use: command, command: [mark]}
  slow: {use: command, command: [mark, wait]}
  bad: {use: command, command: [exit 3]}
  missing: {use: command, command: [run nothing]}
agent: good
"""
WRITE = "{id: write, prompt: do}"
READ = "{id: read, prompt: look, read_only: true}"
BREACH = Breach(
    message="it wrote a file", files=("file",), moves=(RefMove(ref="kept", before="", after="1"),)
)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def no_blocking() -> None:
    """Where an agent is started, the folder for its report is made."""


def played(
    root: Path, *steps: str, history: bool = True, **failures: BaseException
) -> tuple[Theatre, NoWorkspaces]:
    workspaces = NoWorkspaces(root, history=history, failures=failures)
    text = f"{HEAD}subplans:\n  - id: a\n    prompt: x\n    steps: [{', '.join(steps)}]"
    return Theatre(root, text, workspaces=workspaces), workspaces


def of_steps(workspaces: NoWorkspaces) -> list[str]:
    """What was asked of workspaces about steps."""
    return [
        question for question in workspaces.asked if question.split()[0] not in {"prepare", "merge", "land"}
    ]


# --- who is watched ---


async def test_agents_that_are_to_change_files_are_watched(tmp_path: Path) -> None:
    theatre, workspaces = played(tmp_path, WRITE)
    assert await theatre.run() == "completed"
    assert of_steps(workspaces) == ["prove a", "watch a:write", "record a:write"]
    (watch,) = workspaces.watched.values()
    assert (watch.job, watch.reads, watch.beside) == ("r1.2.1", False, ())


async def test_readers_are_watched_and_what_they_changed_is_undone_before_anything_is_recorded(
    tmp_path: Path,
) -> None:
    theatre, workspaces = played(tmp_path, READ)
    assert await theatre.run() == "completed"
    assert of_steps(workspaces) == ["prove a", "watch a:read", "restore a", "record a:read"]
    (watch,) = workspaces.watched.values()
    assert watch.reads


async def test_without_history_only_readers_are_watched(tmp_path: Path) -> None:
    theatre, workspaces = played(tmp_path, WRITE, READ, "{id: x, run: [mark]}", history=False)
    assert await theatre.run() == "completed"
    assert of_steps(workspaces) == ["prove a", "watch a:read", "restore a"]


@pytest.mark.parametrize(
    "step",
    [
        "{id: x, run: [mark]}",
        "{id: x, prompt: give, output_schema: {type: string}}",
    ],
)
async def test_others_are_not_watched(tmp_path: Path, step: str) -> None:
    theatre, workspaces = played(tmp_path, step)
    await theatre.run()
    assert of_steps(workspaces) == ["prove a", "record a:x"]


async def test_steps_in_a_shared_directory_are_not_watched(tmp_path: Path) -> None:
    text = f"{HEAD}policy: serial\nsubplans: [{{id: a, prompt: x, steps: [{WRITE}, {READ}]}}]"
    theatre = Theatre(tmp_path, text, workspaces=None)
    assert isinstance(theatre.workspaces, InPlaceWorkspaces)
    assert await theatre.run() == "completed"
    assert theatre.ends("read")[0].get("message") is None


async def test_a_step_that_cannot_be_watched_is_not_started(tmp_path: Path) -> None:
    theatre, _ = played(tmp_path, READ, watch=WeftError("no room for a note"))
    assert await theatre.run() == "failed"
    assert theatre.outcomes("read") == ["infra"]
    assert theatre.ends("read")[0]["message"] == "no room for a note"
    assert not theatre.machine.started


# --- what is told ---


@pytest.mark.parametrize("idle", [True, False])
async def test_whether_an_agent_changed_files_is_reported(tmp_path: Path, idle: bool) -> None:
    theatre, workspaces = played(tmp_path, WRITE)
    workspaces.idle = {"write"} if idle else set()
    assert await theatre.run() == "completed"
    assert [end["changed"] for end in theatre.ends("write")] == [not idle]


async def test_what_could_not_be_committed_is_not_said_to_be_nothing(tmp_path: Path) -> None:
    theatre, workspaces = played(tmp_path, WRITE, record=WeftError("no"))
    workspaces.idle = {"write"}
    assert await theatre.run() == "failed"
    assert "changed" not in theatre.ends("write")[0]


@pytest.mark.parametrize("history", [True, False])
async def test_a_reader_that_changed_something_has_failed(tmp_path: Path, history: bool) -> None:
    theatre, workspaces = played(tmp_path, READ, history=history)
    workspaces.breaches = {"read": BREACH}
    assert await theatre.run() == "failed"
    (end,) = theatre.ends("read")
    assert theatre.outcomes("read") == ["failed"]
    assert (end["message"], end["files"]) == ("it wrote a file", ["file"])
    assert theatre.moves("read") == ["kept", *["record a:read"] * history]


@pytest.mark.parametrize(
    ("agent", "outcome", "message"),
    [("bad", "failed", "exit code 3; it wrote a file"), ("missing", "infra", "; it wrote a file")],
)
async def test_what_a_reader_changed_that_ended_badly_is_reported_as_well(
    tmp_path: Path, agent: str, outcome: str, message: str
) -> None:
    theatre, workspaces = played(tmp_path, READ.replace("prompt: look", f"prompt: look, agent: {agent}"))
    workspaces.breaches = {"read": BREACH}
    assert await theatre.run() == "failed"
    assert theatre.outcomes("read") == [outcome]
    assert theatre.ends("read")[0]["message"].endswith(message)


async def test_a_reader_of_whom_it_cannot_be_seen_has_failed_and_nothing_is_recorded(tmp_path: Path) -> None:
    theatre, workspaces = played(tmp_path, READ, restore=OSError(5, "Input/output error", "f"))
    assert await theatre.run() == "failed"
    text = (
        "its changes could not be read, or not be undone: f: Input/output error; check the disk (dmesg), "
        "then type the command again"
    )
    assert theatre.ends("read")[0]["message"] == text
    assert "record a:read" not in workspaces.asked


# --- several at once ---

BOTH = "{id: both, action: join, depends_on: [one, two]}"
READER = "prompt: look, read_only: true, async: true, agent: slow"
WRITER = "prompt: do, async: true, agent: slow"
COMMAND = "run: [mark, wait], async: true"


def together(theatre: Theatre) -> None:
    """Each of two waiting steps continues when both are running; the first one first."""

    def release(deed: Deed) -> None:
        waiting = theatre.machine.waiting() if deed.kind == "start" else []
        for job in sorted(waiting) if len(waiting) == 2 else ():
            theatre.machine.release(job)

    theatre.after = release


async def test_readers_that_overlap_are_watched_together(tmp_path: Path) -> None:
    theatre, workspaces = played(tmp_path, f"{{id: one, {READER}}}", f"{{id: two, {READER}}}", BOTH)
    together(theatre)
    workspaces.breaches = {"two": BREACH}
    assert await theatre.run() == "failed"
    assert "unwatch a" not in workspaces.asked
    assert sorted(watch.beside for watch in workspaces.watched.values()) == [("r1.2.1",), ("r1.3.1",)]
    assert theatre.outcomes("two") == ["failed"]


@pytest.mark.parametrize(
    ("one", "two"),
    [(READER, WRITER), (WRITER, READER), (READER, COMMAND), (COMMAND, READER), (WRITER, COMMAND)],
)
@pytest.mark.parametrize("history", [True, False])
async def test_no_step_is_responsible_if_another_beside_it_may_change_files(
    tmp_path: Path, one: str, two: str, history: bool
) -> None:
    theatre, workspaces = played(
        tmp_path, f"{{id: one, {one}}}", f"{{id: two, {two}}}", BOTH, history=history
    )
    together(theatre)
    workspaces.idle = {"one", "two"}
    workspaces.breaches = {"one": BREACH, "two": BREACH}
    assert await theatre.run() == "completed"
    assert workspaces.watched == {}
    assert [end.get("changed") for step in ("one", "two") for end in theatre.ends(step)] == [None, None]


async def test_a_step_that_comes_after_others_have_ended_is_watched_again(tmp_path: Path) -> None:
    theatre, workspaces = played(
        tmp_path, f"{{id: one, {READER}}}", f"{{id: two, {COMMAND}}}", BOTH, READ, WRITE
    )
    together(theatre)
    workspaces.breaches = {"read": BREACH}
    assert await theatre.run() == "failed"
    assert theatre.outcomes("one") == ["done"]
    assert theatre.outcomes("read") == ["failed"]


LATER = ("{id: two, prompt: look, read_only: true}", "{id: x, run: [mark]}")
"""A command that starts when a reader has ended."""
JOIN = "{id: both, action: join, depends_on: [one]}"


async def test_a_later_step_that_may_change_files_ends_the_watch(tmp_path: Path) -> None:
    theatre, workspaces = played(tmp_path, f"{{id: one, {READER}}}", *LATER, JOIN)
    workspaces.breaches = {"one": BREACH}

    def release(deed: Deed) -> None:
        if deed.kind == "start" and theatre.machine.started[deed.job].env["WEFT_STEP"] == "x":
            theatre.machine.release(*theatre.machine.waiting())

    theatre.after = release
    assert await theatre.run() == "completed"
    assert workspaces.asked.count("watch a:one") == workspaces.asked.count("unwatch a") == 1


async def test_a_watch_that_is_noted_after_it_was_ended_is_ended_again(tmp_path: Path) -> None:
    theatre, workspaces = played(tmp_path, f"{{id: one, {READER.replace('slow', 'good')}}}", *LATER, JOIN)
    workspaces.breaches = {"one": BREACH}
    ended = Signal()

    def hold(deed: Deed) -> None:
        assert deed.job != "watch a:one" or ended.wait(60.0)

    def let_go(deed: Deed) -> None:
        if deed.job == "unwatch a":
            ended.set()

    theatre.before, theatre.after = hold, let_go
    assert await theatre.run() == "completed"
    assert workspaces.asked.count("unwatch a") == 2
    assert theatre.outcomes("one") == ["done"]


# --- after a death ---


def dies_at(theatre: Theatre, number: int, wanted: Callable[[Deed], bool]) -> None:
    """Before the deed of this number among such ones."""
    seen = count(1)

    def look(deed: Deed) -> None:
        if wanted(deed) and next(seen) == number:
            raise KilledError

    theatre.before = look


@pytest.mark.parametrize("asked", ["watch a:read", "restore a", "record a:read"])
async def test_a_reader_that_is_taken_over_is_judged_in_the_same_way(tmp_path: Path, asked: str) -> None:
    theatre, workspaces = played(tmp_path, READ)
    workspaces.breaches = {"read": BREACH}
    dies_at(theatre, 1, lambda deed: deed.job == asked)
    with pytest.raises(BaseExceptionGroup):
        await theatre.run()
    assert await theatre.run() == "failed"
    assert theatre.outcomes("read") == ["failed"]
    assert theatre.ends("read")[0]["message"] == "it wrote a file"
    assert len(theatre.machine.started) == 1


async def test_an_agent_that_is_taken_over_is_judged_in_the_same_way(tmp_path: Path) -> None:
    theatre, workspaces = played(tmp_path, WRITE)
    workspaces.idle = {"write"}
    dies_at(theatre, 2, lambda deed: "step_finished" in deed.kinds)  # the first is that of its workspace
    with pytest.raises(BaseExceptionGroup):
        await theatre.run()
    assert await theatre.run() == "completed"
    assert [end["changed"] for end in theatre.ends("write")] == [False]


async def test_what_overlapped_before_a_death_does_not_answer_after_it(tmp_path: Path) -> None:
    theatre, workspaces = played(tmp_path, f"{{id: one, {READER}}}", f"{{id: two, {COMMAND}}}", BOTH)
    workspaces.breaches = {"one": BREACH}

    def die(deed: Deed) -> None:
        if deed.kind == "start" and len(theatre.machine.waiting()) == 2:
            theatre.after = lambda deed: None
            raise KilledError

    theatre.after = die
    with pytest.raises(BaseExceptionGroup):
        await theatre.run()
    for job in theatre.machine.waiting():
        theatre.machine.release(job)
    assert await theatre.run() == "completed"
    assert theatre.outcomes("one") == ["done"]
