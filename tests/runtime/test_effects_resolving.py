"""Where an agent resolves conflicts: what is asked of a workspace before it starts and when it has ended."""

from collections.abc import Callable
from pathlib import Path

import pytest

from runtime.theatre import Deed, KilledError, NoWorkspaces, Theatre
from weft.errors import WeftError
from weft.ports.host import Job
from weft.ports.workspaces import HeldError, InfraError, OpenConflict, StepWork
from weft.runtime.conflict_resolution import prompt

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def no_blocking() -> None:
    """Where an agent is started, the folder for its report is made."""


CONFLICT = HeldError("both changed it", ["f"], conflict=True)


def plan(agent: str = "[mark]", verify: str = "[say verified]", **settings: object) -> str:
    more = "".join(f"{name}: {value}\n" for name, value in {"infra_retries": 0, **settings}.items())
    return (
        f"merge: {{mode: auto, resolve: agent}}\n{more}"
        f"agents: {{helper: {{use: command, command: {agent}}}}}\n"
        f"subplans: [{{id: a, prompt: paint it, verify: [{verify}], steps: [{{id: x, run: [mark]}}]}}]"
    )


def resolving(
    root: Path, text: str, *verifies: str, **failures: BaseException
) -> tuple[Theatre, NoWorkspaces]:
    (root / "logs").mkdir()
    failures = {"merge": CONFLICT, **failures}
    workspaces = NoWorkspaces(root, history=True, verifies=verifies, failures=failures)
    return Theatre(root, text, workspaces=workspaces), workspaces


def jobs(theatre: Theatre, step: str = "@resolve") -> list[Job]:
    return [job for job in theatre.machine.started.values() if job.env["WEFT_STEP"] == step]


def asked(workspaces: NoWorkspaces) -> list[str]:
    """All since the last step was recorded."""
    return workspaces.asked[workspaces.asked.index("record a:x") + 1 :]


RESOLVED = ["merge a", "open a", "close a", "merge a", "land a"]


async def test_the_conflict_is_opened_then_the_agent_works_then_it_is_closed_and_merged(
    tmp_path: Path,
) -> None:
    theatre, workspaces = resolving(tmp_path, plan())
    assert await theatre.run() == "completed"
    assert asked(workspaces) == RESOLVED
    (job,) = jobs(theatre)
    assert job.cwd == str(workspaces.place("a"))
    order = [(deed.kind, deed.job) for deed in theatre.deeds]
    opened, started, closed = (
        order.index(item) for item in (("ask", "open a"), ("start", job.id), ("ask", "close a"))
    )
    assert opened < started < closed
    assert workspaces.works[-1] == StepWork(
        path="a", step="@resolve", attempt=1, subject="a: resolve a conflict"
    )
    assert [(request.path, request.resolved, request.verifies) for request in workspaces.requests] == [
        ("a", True, True)
    ]
    assert theatre.outcomes("@merge") == ["conflict", "done"]
    assert theatre.outcomes("@resolve") == ["done"]
    assert theatre.moves("@resolve") == ["resolve a"]


async def test_the_prompt_names_the_conflict_and_how_it_is_judged(tmp_path: Path) -> None:
    theatre, _ = resolving(tmp_path, plan(verify="make test, [pytest, -q]"))
    await theatre.run()
    (job,) = jobs(theatre)
    assert job.stdin is not None
    for part in ("\npaint it\n", "\n- f\n", "`>>>>>>> heads/a`", "\n- did b\n", "make test\npytest -q\n"):
        assert part in job.stdin
    assert "weft" not in job.stdin.lower()


def test_many_files_are_counted_and_what_is_not_known_is_said() -> None:
    files = tuple(f"file{number}" for number in range(60))
    text = prompt("do it", OpenConflict(files=files, into="i", branch="b"), "")
    assert "- file49\n- and 10 more\n" in text
    assert "done to them here:\n- nothing that is known\n" in text
    assert "Then the whole must work." in text


async def test_where_nothing_is_in_conflict_any_more_no_agent_starts(tmp_path: Path) -> None:
    theatre, workspaces = resolving(tmp_path, plan())
    workspaces.conflict = OpenConflict()
    assert await theatre.run() == "completed"
    assert asked(workspaces) == ["merge a", "open a", "merge a", "land a"]
    assert jobs(theatre) == []
    assert theatre.ends("@resolve")[0]["message"] == "nothing is in conflict any more"


# --- not resolved ---


async def test_what_is_not_settled_has_failed_and_says_why(tmp_path: Path) -> None:
    theatre, workspaces = resolving(tmp_path, plan())
    workspaces.unresolved = "it left the conflict in f"
    assert await theatre.run() == "completed", "the next merge finds no conflict here"
    assert theatre.outcomes("@resolve") == ["failed"]
    assert theatre.ends("@resolve")[0]["message"] == "it left the conflict in f"
    assert theatre.moves("@resolve") == ["keep a"]
    assert theatre.outcomes("@merge") == ["conflict", "done"]


@pytest.mark.parametrize(
    ("agent", "outcome", "message"),
    [
        ("[exit 3]", "failed", "exit code 3"),
        ("[wait]", "timeout", "it exceeded its time limit of 0.5 s"),
        ("[run nothing]", "infra", "it could not be started: there is no nothing"),
    ],
)
async def test_the_conflict_is_closed_with_the_reason_however_the_agent_ended(
    tmp_path: Path, agent: str, outcome: str, message: str
) -> None:
    theatre, workspaces = resolving(tmp_path, plan(agent, timeout="0.5s"))
    assert await theatre.run() == "completed"
    assert asked(workspaces) == RESOLVED
    assert theatre.outcomes("@resolve") == [outcome]
    assert theatre.ends("@resolve")[0]["message"] == message
    assert theatre.moves("@resolve") == ["keep a"]


@pytest.mark.parametrize(
    ("error", "outcome", "said"),
    [
        (OSError(28, "No space", "/f"), "infra", "/f: No space"),
        (InfraError("git is gone"), "infra", "git is gone"),
        (HeldError("no"), "failed", "no"),
        (WeftError("no"), "failed", "no"),
    ],
)
async def test_a_conflict_that_cannot_be_opened_is_left_to_the_next_merge(
    tmp_path: Path, error: BaseException, outcome: str, said: str
) -> None:
    theatre, workspaces = resolving(tmp_path, plan(), open=error)
    assert await theatre.run() == "completed"
    assert asked(workspaces) == ["merge a", "open a", "merge a", "land a"]
    assert (theatre.outcomes("@resolve"), jobs(theatre)) == ([outcome], [])
    assert theatre.ends("@resolve")[0]["message"] == said


@pytest.mark.parametrize("error", [OSError(5, "Input/output error", "/f"), WeftError("no"), HeldError("no")])
@pytest.mark.parametrize(("agent", "said"), [("[mark]", ""), ("[exit 3]", "exit code 3; ")])
async def test_what_cannot_be_closed_has_failed(
    tmp_path: Path, error: BaseException, agent: str, said: str
) -> None:
    theatre, _ = resolving(tmp_path, plan(agent), close=error)
    await theatre.run()
    assert theatre.outcomes("@resolve") == ["failed"]
    assert theatre.ends("@resolve")[0]["message"].startswith(f"{said}its work could not be kept: ")


async def test_an_agent_that_cannot_be_called_leaves_no_open_conflict(tmp_path: Path) -> None:
    theatre, workspaces = resolving(tmp_path, plan())
    (tmp_path / "logs").rmdir()
    (tmp_path / "logs").write_text("in the way")
    assert await theatre.run() == "completed"
    assert theatre.outcomes("@resolve") == ["infra"]
    assert asked(workspaces) == RESOLVED


# --- verifying ---


@pytest.mark.parametrize("verify", ["[exit 3]", "[wait]"])
async def test_a_resolution_that_does_not_pass_is_held_and_stays_on_the_branch(
    tmp_path: Path, verify: str
) -> None:
    theatre, workspaces = resolving(tmp_path, plan(verify=verify, timeout="0.5s"), "merge a")
    assert await theatre.run() == "waiting"
    assert theatre.outcomes("@merge") == ["conflict", "held"]
    text = theatre.ends("@merge")[-1]["message"]
    assert text.startswith("`verify` fails on the resolved conflict: ")
    assert text.endswith(f"fix it in {workspaces.place('a')} and commit it there, then type: weft merge a")
    assert (asked(workspaces)[-1], workspaces.published) == ("discard a", {})


async def test_a_resolution_that_passes_moves(tmp_path: Path) -> None:
    theatre, workspaces = resolving(tmp_path, plan(), "merge a")
    assert await theatre.run() == "completed"
    assert workspaces.published == {"merge a": 1}


# --- stopping and dying ---


async def test_what_is_to_stop_is_closed_and_opened_again(tmp_path: Path) -> None:
    theatre, workspaces = resolving(tmp_path, plan("[wait]"))

    def stop(deed: Deed) -> None:
        if deed.kind == "start" and jobs(theatre):
            assert theatre.coordinator is not None
            theatre.coordinator.stop()

    theatre.after = stop
    assert await theatre.run() == "stopped"
    assert theatre.outcomes("@resolve") == ["stopped"]
    assert asked(workspaces) == ["merge a", "open a", "close a"]
    theatre.after = release(theatre)
    assert await theatre.run() == "completed"
    assert asked(workspaces) == ["merge a", "open a", "close a", "open a", "close a", "merge a", "land a"]


def release(theatre: Theatre) -> Callable[[Deed], None]:
    def look(deed: Deed) -> None:
        for job in theatre.machine.waiting() if deed.kind == "start" else ():
            theatre.machine.release(job)

    return look


async def test_what_is_to_stop_while_it_is_opened_is_closed_and_no_agent_starts(tmp_path: Path) -> None:
    theatre, workspaces = resolving(tmp_path, plan())
    theatre.stop_while("open a")
    assert await theatre.run() == "stopped"
    assert (theatre.outcomes("@resolve"), jobs(theatre)) == (["stopped"], [])
    assert asked(workspaces) == ["merge a", "open a", "close a"]


DEATHS = [
    ("ask", "open a", False),
    ("ask", "open a", True),
    ("start", "", False),
    ("start", "", True),
    ("ask", "close a", False),
    ("ask", "close a", True),
]


@pytest.mark.parametrize(("kind", "name", "after"), DEATHS)
async def test_after_a_kill_anywhere_the_next_coordinator_continues_and_no_agent_works_twice(
    tmp_path: Path, kind: str, name: str, after: bool
) -> None:
    theatre, workspaces = resolving(tmp_path, plan())

    def die(deed: Deed) -> None:
        is_it = deed.kind == kind and (deed.job == name if name else "open a" in workspaces.asked)
        if is_it:
            theatre.before = theatre.after = lambda _: None
            raise KilledError

    if after:
        theatre.after = die
    else:
        theatre.before = die
    with pytest.raises(BaseExceptionGroup):
        await theatre.run()
    assert await theatre.run() == "completed"
    assert theatre.outcomes("@resolve") == ["done"]
    assert theatre.outcomes("@merge") == ["conflict", "done"]
    (job,) = jobs(theatre)
    assert theatre.machine.marks[job.id] == 1
    assert theatre.moves("@resolve") == ["resolve a"]


async def test_an_agent_that_was_lost_is_closed_and_started_again(tmp_path: Path) -> None:
    theatre, workspaces = resolving(tmp_path, plan("[wait]", infra_retries=1))

    def crash(deed: Deed) -> None:
        if deed.kind == "start" and jobs(theatre):
            theatre.machine.waiting()
            theatre.after = release(theatre)
            theatre.machine.crash()

    theatre.after = crash
    assert await theatre.run() == "completed"
    assert theatre.outcomes("@resolve") == ["lost", "done"]
    assert asked(workspaces) == ["merge a", "open a", "close a", "open a", "close a", "merge a", "land a"]
