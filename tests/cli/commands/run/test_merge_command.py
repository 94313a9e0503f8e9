"""`weft merge`: what is held is told, tried again, and lands; by whoever runs the plan, or by itself."""

import json
import os
import re
import signal
import sqlite3
import subprocess
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from time import sleep

import pytest
from click.testing import CliRunner, Result

from cli.running import WEFT
from e2e.repositories import MINE, Repository
from weft.app.control import holds
from weft.app.record.journal import open_book
from weft.app.run import merge as run_merging
from weft.app.run.merge import merge
from weft.cli.main import cli
from weft.cli.text.merge import MergeObserver
from weft.engine.messages.events import Recorded
from weft.errors import InputError, WeftError
from weft.store.lease import take_lock
from weft.store.lock import LOCK_FILE

READY = """
subplans:
  - {id: g, subplans: [{id: a, steps: [{id: w, run: echo a > a}]}, {id: b, steps: [{id: w, run: echo b > b}]}]}
  - {id: d, steps: [{id: w, run: "echo d > d"}]}
"""
# Whichever way the processes are scheduled: e begins before d is merged, and writes after that.
CONFLICT = """
subplans:
  - {id: d, steps: [{id: w, run: "read _ < OUTSIDE/begun; echo d > same"}]}
  - {id: e, steps: [{id: w, run: "echo > OUTSIDE/begun; read _ < OUTSIDE/merged; echo e > same"}]}
  - {id: f, depends_on: [d], steps: [{id: w, run: "echo > OUTSIDE/merged; echo f > f"}]}
  - {id: late, depends_on: [e], steps: [{id: w, run: "cat same > late"}]}
"""
GATED = """
subplans:
  - {id: d, steps: [{id: w, run: "echo d > d"}]}
  - {id: z, steps: [{id: w, run: "echo > OUTSIDE/begun; read _ < OUTSIDE/merged; echo z > z"}]}
"""
# When it is alone it passes; together with what a person did it waits at a gate.
VERIFY_IS_GATED = """
subplans:
  - id: d
    verify: test ! -e other || { echo > OUTSIDE/begun; read _ < OUTSIDE/merged; }
    steps: [{id: w, run: echo d > d}]
"""
# What x depends on does not go together, so its workspace is held; z stays at its gate.
WORKSPACE_IS_HELD = """
subplans:
  - {id: g, subplans: [{id: a, steps: [{id: w, run: echo a > same}]}]}
  - id: h
    subplans:
      - {id: y, steps: [{id: w, run: echo y > same}]}
      - {id: x, depends_on: [y, /g/a], steps: [{id: w, run: echo x > x}]}
  - {id: z, steps: [{id: w, run: "echo > OUTSIDE/begun; read _ < OUTSIDE/merged; echo z > z"}]}
"""
ASKS = "  - {id: q, steps: [{id: sure, action: ask, question: Really?}]}\n"


def made(top: Path, plan: str) -> Repository:
    repository = Repository(top / "project")
    for gate in ("begun", "merged"):
        os.mkfifo(repository.outside / gate)
    return repository.plan(plan)


@pytest.fixture
def repository(tmp_path: Path) -> Iterator[Repository]:
    repository = made(tmp_path, READY)
    yield repository
    repository.kill_processes()  # which a test that failed has left
    repository.end()


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Repository]:
    """Holds a conflict, and something that is only to be agreed to."""
    repository = made(tmp_path_factory.mktemp("held"), CONFLICT)
    assert repository.run(waits=False).state == "waiting"
    yield repository
    repository.end()


def weft(repository: Repository, *arguments: str) -> Result:
    """In this process."""
    return CliRunner().invoke(cli, ["-C", str(repository.root), *arguments])


def wait_for(is_so: Callable[[], object]) -> None:
    """For what another process is about to do."""
    while not is_so():
        sleep(0.02)


def told(repository: Repository, text: str) -> list[str]:
    """Without what is different each time."""
    text = re.sub(r"\b[0-9a-f]{7}\b", "COMMIT", text)
    text = re.sub(r"\d{8}-\d{6}-[0-9a-f]{4}", "RUN", text)
    return text.replace(str(repository.root), "PROJECT").splitlines()


# What is told


def test_what_is_held_is_listed_with_what_to_do(held: Repository) -> None:
    done = weft(held, "merge", "--list")
    assert (done.exit_code, done.stderr) == (4, "")
    assert told(held, done.stdout) == [
        "d is ready to land on main; type: weft merge d",
        "e cannot be merged into weft/tried/_plan: 1 file in conflict. Nothing has moved.",
        "  same (add/add)",
        "    weft/tried/_plan added it: COMMIT d: w [d]",
        "    weft/tried/e added it: COMMIT e: w [e]",
        "      <<<<<<< weft/tried/_plan",
        "      d",
        "      =======",
        "      e",
        "      >>>>>>> weft/tried/e",
        "  To settle it, merge the other way round, in the worktree of the subplan:",
        "    git -C PROJECT/.weft/worktrees/tried/e merge weft/tried/_plan",
        "    (fix the files that git names, and `git add` them)",
        "    git -C PROJECT/.weft/worktrees/tried/e commit",
        "    weft merge e",
        "f is built on the work of d, which has not landed; to land all of it, type: weft merge d f",
    ]


def test_for_programs_it_is_data(held: Repository) -> None:
    done = weft(held, "merge", "--list", "--json", "e")
    data = json.loads(done.stdout)["data"]
    (item,) = data["held"]
    assert (done.exit_code, data["merged"]) == (4, [])
    assert (item["subplan"], item["step"], item["conflict"], item["files"]) == ("e", "@merge", True, ["same"])
    assert (item["waits_for"], item["asks"]) == ([], False)
    assert item["message"].startswith("e cannot be merged into weft/tried/_plan: 1 file in conflict.")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("latte", "there is no subplan 'latte'; did you mean 'late'?"),
        ("late", "late is not held; held: d, e, f"),
        ("d:w", "there is no subplan 'd:w'; known: d, e, f, late"),
    ],
)
def test_what_is_not_held_is_refused(held: Repository, name: str, said: str) -> None:
    done = weft(held, "merge", name)
    assert (done.exit_code, done.stdout, done.stderr) == (2, "", f"error: {said}\n")


def test_what_is_held_can_be_completed_but_not_twice(held: Repository) -> None:
    def completed(words: str) -> Sequence[str]:
        env = {"_WEFT_COMPLETE": "zsh_complete", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
        done = subprocess.run(
            [WEFT],
            cwd=held.root,
            env={**held.environ, **MINE, **env},
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.splitlines()[1::3]

    assert [completed("weft merge "), completed("weft merge d "), completed("weft merge x")] == [
        ["d", "e", "f"],
        ["e", "f"],
        [],
    ]


def test_where_nothing_is_held_that_is_said(repository: Repository) -> None:
    repository.plan(f"merge: {{mode: auto}}\n{READY}")
    assert repository.run().state == "completed"
    done = weft(repository, "merge")
    assert (done.exit_code, done.stdout) == (0, "")
    assert told(repository, done.stderr) == ["run RUN holds nothing"]
    assert weft(repository, "merge", "--list").exit_code == 0


# What it does


def test_one_lands_and_the_others_are_said_to_be_held_still(repository: Repository) -> None:
    repository.run()
    done = weft(repository, "merge", "d")
    assert (done.exit_code, told(repository, done.stdout)) == (0, ["d: landed on main (COMMIT)"])
    assert done.stderr == "still held: g\n"
    assert repository.landed() == ["Merge d"]


def test_all_of_it_lands_and_the_run_is_over(repository: Repository) -> None:
    repository.run()
    done = weft(repository, "merge", "--json")
    data = json.loads(done.stdout)["data"]
    assert (done.exit_code, done.stderr, data["held"]) == (0, "", [])
    commits = repository.git("log", "--first-parent", "--reverse", "--format=%H", "-2").splitlines()
    assert data["merged"] == [
        {"subplan": path, "branch": "main", "commit": commit}
        for path, commit in zip(("g", "d"), commits, strict=True)
    ]
    assert (repository.story().state, repository.landed()) == ("completed", ["Merge g", "Merge d"])


def test_what_has_landed_may_be_asked_for_again(repository: Repository) -> None:
    repository.run()
    weft(repository, "merge", "d")
    done = weft(repository, "merge", "d", "--json")
    assert (done.exit_code, json.loads(done.stdout)["data"]["merged"]) == (0, [])
    assert weft(repository, "merge", "d").stderr == "nothing of d is held\n"


def test_a_conflict_that_is_not_settled_is_held_still_and_the_rest_lands(repository: Repository) -> None:
    repository.plan(CONFLICT)
    repository.run(waits=False)
    done = weft(repository, "merge")
    assert (done.exit_code, told(repository, done.stdout)[:3]) == (
        4,
        [
            "d: landed on main (COMMIT)",
            "f: landed on main (COMMIT)",
            "e cannot be merged into weft/tried/_plan: 1 file in conflict. Nothing has moved.",
        ],
    )
    repository.resolve("e", repository.branch(""), same="both\n")
    done = weft(repository, "merge", "e")
    assert (done.exit_code, told(repository, done.stdout)) == (
        0,
        ["e: merged into weft/tried/_plan", "e: landed on main (COMMIT)"],
    )
    assert done.stderr == f"to resume the run, type: weft run {repository.root}/weft.yaml\n"
    assert repository.files()["same"] == "both"


def test_what_is_in_the_way_is_named_and_lands_when_it_is_gone(repository: Repository) -> None:
    repository.run()
    (repository.root / "d").write_text("mine")
    done = weft(repository, "merge", "d")
    assert (
        done.exit_code,
        "d: main is checked out in PROJECT, and files" in told(repository, done.stdout)[0],
    ) == (
        4,
        True,
    )
    (repository.root / "d").unlink()
    assert weft(repository, "merge", "d").exit_code == 0


def test_a_merge_whose_verify_fails_on_what_came_together_is_held_with_why(repository: Repository) -> None:
    repository.plan("subplans: [{id: d, verify: test ! -e other, steps: [{id: w, run: echo d > d}]}]")
    repository.run()
    repository.commit(other="by a person\n")
    done = weft(repository, "merge", "d")
    assert (done.exit_code, repository.landed()) == (4, ["a person: other"])
    assert done.stdout.startswith("d does not land on main: `verify` of d fails with it: exit code 1 ")


def test_within_a_step_nothing_is_merged(repository: Repository) -> None:
    repository.run()
    done = CliRunner(env={"WEFT_RUN": "r", "WEFT_SUBPLAN": "d", "WEFT_STEP": "w"}).invoke(
        cli, ["-C", str(repository.root), "merge"]
    )
    assert (done.exit_code, "is refused inside a step of d" in done.stderr) == (2, True)
    assert repository.landed() == []


# Others


def held_now(repository: Repository) -> set[str]:
    try:
        with open_book(repository.root) as recorded_run:
            return {item.subplan for item in holds.held(recorded_run)}
    except InputError:  # nothing has been run yet
        return set()


def test_the_coordinator_is_asked_and_the_result_is_shown(repository: Repository) -> None:
    repository.plan(GATED)
    with repository.started("run") as run:
        (repository.outside / "begun").read_text()
        wait_for(lambda: held_now(repository))
        done = weft(repository, "merge", "d")
        assert (done.exit_code, told(repository, done.stdout)) == (0, ["d: landed on main (COMMIT)"])
        assert run.poll() is None
        (repository.outside / "merged").write_text("\n")
        assert run.wait() == 4
    assert repository.landed() == ["Merge d"]
    assert weft(repository, "merge").exit_code == 0


def test_after_a_death_what_is_held_lands_while_the_steps_continue(repository: Repository) -> None:
    repository.plan(GATED)
    with repository.started("run") as run:
        (repository.outside / "begun").read_text()
        wait_for(lambda: held_now(repository))
        run.kill()
        run.wait()
    done = weft(repository, "merge")
    assert (done.exit_code, told(repository, done.stdout)) == (0, ["d: landed on main (COMMIT)"])
    assert len(repository.processes()) > 0, "the step is still at its gate"
    with repository.started("run") as run:
        (repository.outside / "merged").write_text("\n")
        assert run.wait() == 4
    assert repository.weft("merge").returncode == 0
    assert repository.landed() == ["Merge d", "Merge z"]


def test_a_merge_that_is_killed_can_be_done_again(repository: Repository) -> None:
    """It dies while git has the lock of the branch in its way."""
    repository.run()
    lock = repository.root / ".git" / "refs" / "heads" / "main.lock"
    lock.touch()
    with repository.started("merge", "d") as merge:
        wait_for(lambda: repository.story().of("merge_asked"))
        merge.kill()
        merge.wait()
    lock.unlink()
    assert weft(repository, "merge", "d").exit_code == 0
    assert repository.landed() == ["Merge d"]


def test_a_request_for_the_workspace_of_a_paused_slice_is_answered_at_once(repository: Repository) -> None:
    """The step of another slice is under way all the time, with a coordinator and without."""
    repository.plan(WORKSPACE_IS_HELD)
    paused = "h/x is paused and was not tried; to resume it, type: weft resume h/x"

    def tries() -> int:
        return len(repository.told("step_finished", "h/x", "@workspace"))

    with repository.started("run") as run:
        (repository.outside / "begun").read_text()
        wait_for(lambda: tries() == 1)
        assert weft(repository, "pause", "h").exit_code == 0
        done = weft(repository, "merge", "h/x")
        assert (done.exit_code, done.stdout.splitlines()[-1]) == (4, paused)
        assert json.loads(weft(repository, "merge", "h/x", "--json").stdout)["data"]["paused"] == ["h/x"]
        assert tries() == 1
        assert weft(repository, "resume", "h/x").exit_code == 0
        wait_for(lambda: tries() == 2)
        assert weft(repository, "pause", "h").exit_code == 0
        run.kill()
        run.wait()
    done = weft(repository, "merge", "h/x")
    assert (done.exit_code, done.stdout.splitlines()[-1]) == (4, paused)
    with repository.started("run") as run:
        (repository.outside / "merged").write_text("\n")
        assert run.wait() == 4
    assert tries() == 2


def test_a_coordinator_that_takes_up_no_request_is_reported(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_merging, "TAKEN_WITHIN", 0.0)
    repository.plan(GATED)
    with repository.started("run") as run:
        (repository.outside / "begun").read_text()
        wait_for(lambda: held_now(repository))
        run.send_signal(signal.SIGSTOP)
        done = weft(repository, "merge", "d")
        run.send_signal(signal.SIGCONT)
        assert (done.exit_code, f"process {run.pid}" in done.stderr) == (1, True)
        wait_for(lambda: not held_now(repository))
        (repository.outside / "merged").write_text("\n")
        assert run.wait() == 4
    assert repository.landed() == ["Merge d"]


def test_of_two_at_once_each_has_its_way(repository: Repository) -> None:
    repository.run()
    with repository.started("merge", "g", "d") as item, repository.started("merge", "d", "g") as other:
        assert [item.wait(), other.wait()] == [0, 0]
    assert sorted(repository.landed()) == ["Merge d", "Merge g"]
    assert weft(repository, "merge").exit_code == 0


def pretend(repository: Repository, pid: int) -> None:
    """As far as the journal tells, that process ran the plan last."""
    started = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])
    with closing(sqlite3.connect(repository.root / ".weft" / "weft.db")) as database, database:
        database.execute("UPDATE lease SET pid = ?, started = ?, since = 0", (pid, started))


@pytest.fixture
def another() -> Iterator[int]:
    """The process of somebody else."""
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as process:
        yield process.pid
        process.kill()


def test_a_coordinator_that_has_ended_is_not_waited_for(repository: Repository, another: int) -> None:
    """A process that has ended its run may live on."""
    repository.run()
    pretend(repository, another)
    lock = take_lock(repository.root / ".weft" / LOCK_FILE)
    assert lock is not None

    def leave_when_asked() -> None:
        with open_book(repository.root) as recorded_run:
            wait_for(lambda: recorded_run.journal.requests(recorded_run.run.run))
        os.close(lock)

    with ThreadPoolExecutor() as threads:
        left = threads.submit(leave_when_asked)
        done = weft(repository, "merge", "d")
        left.result()
    assert (done.exit_code, told(repository, done.stdout)) == (0, ["d: landed on main (COMMIT)"])


def test_nothing_is_done_while_another_process_holds_the_lock(repository: Repository) -> None:
    repository.run()
    lock = take_lock(repository.root / ".weft" / LOCK_FILE)
    assert lock is not None
    with (
        open_book(repository.root) as recorded_run,
        pytest.raises(WeftError, match="another Weft process works in"),
    ):
        merge(
            recorded_run,
            holds.held(recorded_run),
            MergeObserver(None),
            environ=repository.environ,
            patience=2,
        )
    os.close(lock)
    assert repository.landed() == []


def test_what_goes_wrong_is_reported_as_it_is(repository: Repository) -> None:
    class Deaf(MergeObserver):
        def receive(self, events: Sequence[Recorded]) -> None:
            raise LookupError

    repository.run()
    with open_book(repository.root) as recorded_run, pytest.raises(LookupError):
        merge(recorded_run, holds.held(recorded_run), Deaf(None), environ=repository.environ)


def test_a_merge_that_is_stopped_says_so_and_moves_nothing(repository: Repository) -> None:
    repository.plan(VERIFY_IS_GATED).run()
    before = repository.commit(other="by a person\n")
    with repository.started("merge") as merging:
        (repository.outside / "begun").read_text()
        merging.send_signal(signal.SIGINT)
        assert merging.wait() == 130
    assert repository.tip() == before


def test_while_another_plan_is_run_it_says_so(repository: Repository) -> None:
    repository.run()
    (run,) = {event.data["run"] for event in repository.story().of("run_started")}
    text = (repository.root / "weft.yaml").read_text()
    repository.plan(GATED)
    plan = (repository.root / "weft.yaml").read_text().replace("plan: tried", "plan: other")
    (repository.root / "weft.yaml").write_text(text)
    (repository.root / "other.yaml").write_text(plan)
    with repository.started("run", "other.yaml") as other:
        (repository.outside / "begun").read_text()
        done = weft(repository, "merge", "--run", run)
        assert (done.exit_code, f"process {other.pid} (weft run)" in done.stderr) == (1, True)
        other.send_signal(signal.SIGINT)
        assert other.wait() == 130


def test_a_run_that_stays_for_a_question_lands_what_is_asked_for(repository: Repository) -> None:
    repository.plan(READY + ASKS)
    with repository.started("run", "--wait") as run:
        wait_for(lambda: held_now(repository) == {"g", "d"})
        assert weft(repository, "merge").exit_code == 0
        assert weft(repository, "answer", "q", "yes").exit_code == 0
        assert run.wait() == 0
    assert sorted(repository.landed()) == ["Merge d", "Merge g"]


def test_started_work_is_finished_without_a_reader(repository: Repository) -> None:
    repository.run()
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {WEFT} merge | true"],
        cwd=repository.root,
        env={**repository.environ, **MINE},
        check=False,
        capture_output=True,
    )
    assert done.stderr == b""
    assert sorted(repository.landed()) == ["Merge d", "Merge g"]
