"""`weft start`, `status`, `pause`, `resume`, `stop` and `retry`, with real processes, from several terminals."""

import json
import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cli.running import Project
from cli.terminals import Terminal
from hosts.places import stands_still

TWO_STEPS = """
subplans:
  - {id: a, steps: [{id: x, run: 'GATE x'}, {id: y, run: 'MARK'}]}
"""
TWO_SLICES = """
subplans:
  - {id: a, steps: [{id: x, run: 'GATE x'}, {id: y, run: 'MARK'}]}
  - {id: g, subplans: [{id: b, steps: [{id: x, run: 'GATE y'}, {id: y, run: 'MARK'}]}]}
"""


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    project = Project(tmp_path / "project")
    yield project
    project.end()


def weft(project: Project, *arguments: str) -> str:
    """What it says; all must go well."""
    done = project.process("-C", str(project.root), *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


def status(project: Project) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(weft(project, "status", "--json"))["data"]
    return data


def subplan(project: Project, path: str) -> dict[str, Any]:
    return next(item for item in status(project)["subplans"] if item["path"] == path)


def until(project: Project, state: str) -> dict[str, Any]:
    """How the run is when it has come to this state: whoever watches it says so."""
    watcher = project.start("-C", str(project.root), "status", "--watch", "--json")
    assert watcher.stdout is not None
    for line in watcher.stdout:
        data: dict[str, Any] = json.loads(line)["data"]
        if data["state"] == state:
            watcher.kill()
            return data
    raise AssertionError(f"it has never been {state}")


def started(project: Project, text: str = TWO_STEPS) -> Project:
    weft(project.plan(text), "start")
    project.reached()
    return project


# Start


def test_the_head_of_a_start_names_what_can_touch_the_same_files_at_once(project: Project) -> None:
    project.plan(
        """
subplans:
  - {id: a, files: [x, y], steps: [{id: work, run: "true"}]}
  - {id: b, files: [x, y], steps: [{id: work, run: "true"}]}
  - {id: c, files: [x], depends_on: [a, b], steps: [{id: work, run: "true"}]}
"""
    )
    head = project.process("start").stderr
    assert "Overlap   1 pair of subplans can touch the same files:" in head
    assert "a and b  x and 1 more  may run together" in head
    until(project, "completed")


def test_a_run_continues_in_the_background_until_it_is_over(project: Project) -> None:
    result = weft(project.plan(TWO_STEPS), "start")
    assert project.told(result) == [
        f"run RUN is running in the background (process {project.coordinators()[0]})"
    ]
    project.reached()
    project.let_through()
    counts = until(project, "completed")["counts"]
    assert {state: count for state, count in counts.items() if count} == {"completed": 1}
    assert project.marks() == ["a:y"]
    assert "All is done" not in result
    assert "a  completed" in (project.root / ".weft" / "coordinator.log").read_text()


def test_before_it_starts_it_is_said_what_can(project: Project) -> None:
    project.plan(TWO_STEPS + "  - {id: b, depends_on: [a], steps: [{id: x, run: 'true'}]}\n")
    lines = project.process("-C", str(project.root), "start").stderr.splitlines()
    assert lines[:3] == [
        "Start     1 slice can start right away, with nothing it depends on: a.",
        "Blocked   1 slice waits:",
        "            b  blocked by a",
    ]


def test_starting_a_running_plan_reports_the_run(project: Project) -> None:
    started(project)
    (pid,) = project.coordinators()
    again = json.loads(weft(project, "start", "--json"))["data"]
    assert (again["pid"], again["started"]) == (pid, False)
    assert project.coordinators() == [pid]


def test_a_plan_that_cannot_be_run_is_said_and_nothing_stays(project: Project) -> None:
    done = project.plan("subplans: [{id: a, steps: [{id: x, rum: ls}]}]").process("start")
    assert done.returncode == 2
    assert "weft.yaml:4:" in done.stderr
    assert "rum" in done.stderr
    assert project.coordinators() == []


def test_a_plan_from_standard_input_is_refused(project: Project) -> None:
    done = project.process("start", "-", input=project.filled(TWO_STEPS))
    assert done.returncode == 2
    assert "write it to a file first" in done.stderr


def test_a_fresh_start_does_not_say_that_all_is_complete(project: Project) -> None:
    project.plan("subplans: [{id: a, steps: [{id: x, run: 'MARK'}]}]")
    assert project.process("run", "-q").returncode == 0
    done = project.process("start", "--fresh")
    assert done.returncode == 0
    assert "Start     1 slice can start right away" in done.stderr
    assert "complete" not in done.stderr
    until(project, "completed")
    assert project.marks() == ["a:x", "a:x"]


def test_of_starts_at_the_same_time_one_starts_and_the_others_say_that_it_runs(project: Project) -> None:
    project.plan(TWO_STEPS)
    starts = [project.start("-C", str(project.root), "start") for _ in range(3)]
    values = [(item.communicate(), item.returncode) for item in starts]
    project.reached()
    (pid,) = project.coordinators()
    assert sorted(project.told(out)[0] for (out, _), _ in values) == [
        f"run RUN is running already (process {pid})",
        f"run RUN is running already (process {pid})",
        f"run RUN is running in the background (process {pid})",
    ]
    assert ([code for _, code in values], len(project.runs())) == ([0, 0, 0], 1)
    project.let_through()
    until(project, "completed")


def test_nothing_to_do_is_said(project: Project) -> None:
    project.plan("subplans: [{id: a, steps: [{id: x, run: 'true'}]}]")
    assert project.process("run", "-q").returncode == 0
    done = project.process("start")
    assert done.returncode == 0
    assert "nothing to do" in done.stderr


def test_a_start_within_a_step_is_refused(project: Project) -> None:
    done = project.plan(TWO_STEPS).process("start", env={"WEFT_RUN": "r1", "WEFT_SUBPLAN": "a"})
    assert done.returncode == 2
    assert "`weft start` is refused inside a step of a" in done.stderr


def test_flags_and_ids_reach_the_coordinator(project: Project) -> None:
    weft(project.plan(TWO_SLICES), "start", "a", "--max-parallel", "3")
    project.reached()
    project.let_through()
    until(project, "completed")
    assert project.marks() == ["a:y"]


# Status


def test_status_tells_what_is_under_way(project: Project) -> None:
    started(project, TWO_SLICES)
    project.reached("y")
    now = status(project)
    assert (now["state"], now["plan"], now["counts"]["running"]) == ("running", "tried", 2)
    assert now["coordinator"]["alive"] is True
    item = next(row for row in now["subplans"] if row["path"] == "g/b")
    assert (item["state"], item["step"], item["attempt"], item["steps_done"], item["steps_total"]) == (
        "running",
        "x",
        1,
        0,
        2,
    )
    lines = project.told(weft(project, "status"))
    assert lines[0] == f"tried  running  run RUN  (process {now['coordinator']['pid']})"
    assert [line.split()[:4] for line in lines[3:5]] == [
        ["▶", "a", "running", "x"],
        ["▶", "g/b", "running", "x"],
    ]


def test_status_works_from_a_directory_within_the_project(project: Project) -> None:
    started(project)
    inner = project.root / "deep" / "down"
    inner.mkdir(parents=True)
    assert "running" in weft(project, "-C", str(inner), "status")


def test_status_where_nothing_was_run_says_so(project: Project) -> None:
    done = project.process("status")
    assert (done.returncode, done.stdout) == (2, "")
    assert "nothing has been run" in done.stderr


def test_status_tells_what_failed_and_what_it_was_blocked_by(project: Project) -> None:
    project.plan(
        "failure_mode: continue_on_error\nsubplans:\n"
        "  - {id: a, steps: [{id: x, run: 'exit 3'}]}\n"
        "  - {id: b, depends_on: [a], steps: [{id: x, run: 'true'}]}\n"
    )
    assert project.process("run", "-q").returncode == 1
    assert [row["reason"] for row in status(project)["subplans"]] == ["error", "blocked"]
    assert "✗ a  failed" in weft(project, "status")


# Pause and resume


def test_what_is_paused_ends_its_step_and_continues_with_the_next(project: Project) -> None:
    started(project)
    assert project.told(weft(project, "pause")) == ["run RUN is paused"]
    (pid,) = project.coordinators()
    project.let_through()
    assert until(project, "paused")["coordinator"]["pid"] == pid
    assert project.marks() == []
    assert project.told(weft(project, "pause")) == ["run RUN was paused already"]
    assert project.told(weft(project, "resume")) == ["run RUN resumes"]
    until(project, "completed")
    assert project.marks() == ["a:y"]


def test_one_subplan_is_paused_and_others_continue(project: Project) -> None:
    started(project, TWO_SLICES)
    project.reached("y")
    assert weft(project, "pause", "g") == "g is paused\n"
    project.let_through("y")
    project.let_through("x")
    until(project, "paused")
    assert project.marks() == ["a:y"]
    assert subplan(project, "g/b")["wanted"] == "pause"
    weft(project, "resume", "g")
    until(project, "completed")


def test_a_pause_outlives_a_coordinator_that_is_killed(project: Project) -> None:
    started(project)
    weft(project, "pause")
    os.kill(project.coordinators()[0], signal.SIGKILL)
    project.let_through()
    weft(project, "start")
    until(project, "paused")
    assert project.marks() == []
    weft(project, "resume")
    until(project, "completed")


def killed_while_paused(project: Project, *how: str) -> None:
    """Nothing runs but the processes that are frozen, if there are any."""
    started(project)
    weft(project, "pause", *how)
    if not how:
        project.let_through()
        until(project, "paused")
    os.kill(project.coordinators()[0], signal.SIGKILL)


def test_what_was_paused_when_its_coordinator_was_killed_is_the_same_run_and_still_paused(
    project: Project,
) -> None:
    killed_while_paused(project)
    assert status(project)["state"] == "paused"
    done = project.process("-C", str(project.root), "start")
    (pid,) = project.coordinators()
    assert project.told(done.stdout) == [f"run RUN is still paused in the background (process {pid})"]
    assert "the run is paused, so nothing new starts; to resume it, type: weft resume" in done.stderr
    assert project.told(weft(project, "start")) == [f"run RUN is paused (process {pid})"]
    assert (len(project.runs()), project.marks(), status(project)["state"]) == (1, [], "paused")
    weft(project, "resume")
    until(project, "completed")
    assert project.marks() == ["a:y"]
    assert [
        item.outcome for item in project.events() if (item.kind, item.step) == ("step_finished", "x")
    ] == ["done"]


def test_what_was_resumed_before_it_was_started_again_is_not_paused(project: Project) -> None:
    killed_while_paused(project)
    done = project.process("resume")
    assert project.told(done.stdout + done.stderr) == [
        "run RUN is not paused any more",
        "no coordinator works on it now; to resume it, type: weft start",
    ]
    assert "resumes in the background" in weft(project, "start")
    until(project, "completed")
    assert len(project.runs()) == 1


def test_what_was_frozen_when_its_coordinator_was_killed_is_woken_by_a_resume(project: Project) -> None:
    killed_while_paused(project, "--freeze")
    steps = project.step_processes()
    weft(project, "start")
    assert status(project)["state"] == "paused"
    assert [stands_still(pid) for pid in steps] == [True] * len(steps)
    weft(project, "resume")
    project.let_through()
    until(project, "completed")
    assert (len(project.runs()), project.marks()) == (1, ["a:y"])


@pytest.mark.parametrize("how", ["the plan has changed", "--fresh"])
def test_of_a_frozen_run_that_is_given_up_no_process_is_left(project: Project, how: str) -> None:
    killed_while_paused(project, "--freeze")
    steps = project.step_processes()
    project.plan("subplans: [{id: a, steps: [{id: x, run: 'MARK'}]}]")
    weft(project, "start", *(["--fresh"] if how == "--fresh" else []))
    if how != "--fresh":  # what was paused stays paused in a run of the plan as it is now
        until(project, "paused")
        weft(project, "resume")
    until(project, "completed")
    assert set(project.step_processes()).isdisjoint(steps)
    assert len(project.runs()) == 2


def test_what_is_frozen_stands_still_with_all_its_processes(project: Project) -> None:
    started(project)
    weft(project, "pause", "--freeze")
    assert all(stands_still(pid) for pid in project.step_processes())
    assert status(project)["state"] == "paused"
    weft(project, "resume")
    project.let_through()
    until(project, "completed")


def test_without_a_coordinator_there_is_nothing_to_pause(project: Project) -> None:
    started(project)
    weft(project, "stop")
    assert project.told(weft(project, "pause")) == ["run RUN is stopped; there is nothing to do"]
    assert json.loads(weft(project, "pause", "--json"))["data"]["changed"] is False


@pytest.mark.parametrize("command", ["pause", "resume", "stop"])
def test_there_is_nothing_to_steer_in_a_run_that_is_completed(project: Project, command: str) -> None:
    project.plan("subplans: [{id: a, steps: [{id: x, run: 'true'}]}]")
    assert project.weft("run", "-q").exit_code == 0
    done = project.process(command)
    assert project.told(done.stdout + done.stderr) == [f"run RUN is completed; there is nothing to {command}"]


def test_a_failed_run_is_not_resumed_but_retried(project: Project) -> None:
    project.plan("subplans: [{id: a, steps: [{id: x, run: 'exit 3'}]}]")
    assert project.weft("run", "-q").exit_code == 1
    done = project.process("resume")
    assert project.told(done.stdout + done.stderr) == [
        "run RUN is failed; there is nothing to resume",
        "to retry what failed, type: weft retry",
    ]


def test_an_unknown_subplan_is_an_error_that_names_the_nearest(project: Project) -> None:
    started(project, TWO_SLICES)
    for command in ("pause", "resume", "stop"):
        done = project.process(command, "g/c")
        assert (done.returncode, done.stdout) == (2, "")
        assert "has no subplan 'g/c'; did you mean" in done.stderr


# Stop


def test_after_a_stop_nothing_is_alive_and_the_next_start_continues(project: Project) -> None:
    started(project)
    weft(project, "stop")
    assert [project.coordinators(), project.step_processes()] == [[], []]
    assert status(project)["state"] == "stopped"
    assert "run RUN resumes in the background" in project.told(weft(project, "start"))[0]
    project.reached()
    project.let_through()
    until(project, "completed")
    assert project.marks() == ["a:y"]


def test_a_second_stop_has_nothing_to_do(project: Project) -> None:
    started(project)
    weft(project, "stop")
    assert project.told(weft(project, "stop")) == ["run RUN is stopped; there is nothing to do"]


def test_what_a_dead_coordinator_left_is_ended(project: Project) -> None:
    started(project)
    os.kill(project.coordinators()[0], signal.SIGKILL)
    done = project.process("stop")
    assert done.returncode == 0
    assert "ended what the dead coordinator had left running: 1 step" in done.stderr
    assert project.step_processes() == []
    weft(project, "start")
    project.reached()
    project.let_through()
    until(project, "completed")


def test_one_subplan_is_stopped_and_continues_later(project: Project) -> None:
    started(project, TWO_SLICES)
    project.reached("y")
    assert weft(project, "stop", "g", "--now") == "g is stopping\n"
    project.let_through("x")
    until(project, "stopped")
    assert project.marks() == ["a:y"]
    weft(project, "start")
    project.reached("y")
    project.let_through("y")
    until(project, "completed")


def test_twenty_commands_at_once_leave_the_run_as_the_last_one_wants_it(project: Project) -> None:
    started(project)
    codes: list[int] = []

    def command(number: int) -> None:
        codes.append(project.process("pause" if number % 2 else "resume").returncode)

    threads = [threading.Thread(target=command, args=[number]) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert codes == [0] * 20
    weft(project, "resume")
    project.let_through()
    until(project, "completed")


def test_a_coordinator_that_hangs_is_named(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weft.app.control.control.PATIENCE", 0.0)
    started(project)
    (pid,) = project.coordinators()
    os.kill(pid, signal.SIGSTOP)
    done = project.weft("pause")
    assert done.exit_code == 1
    assert f"the coordinator (process {pid}) is alive and has not handled this" in done.stderr
    os.kill(pid, signal.SIGCONT)
    weft(project, "pause")
    project.let_through()
    until(project, "paused")


# Retry


def test_what_failed_gets_another_go(project: Project) -> None:
    project.plan(
        "failure_mode: continue_on_error\nsubplans:\n"
        "  - {id: a, steps: [{id: x, run: 'MARK'}]}\n"
        f"  - {{id: b, steps: [{{id: x, run: 'test -e {project.outside}/fixed'}}]}}\n"
    )
    assert project.process("run", "-q").returncode == 1
    done = project.process("retry", "a")
    assert (done.returncode, "a has not failed: it is completed" in done.stderr) == (2, True)
    (project.outside / "fixed").touch()
    assert "retries b" in weft(project, "retry", "b")
    until(project, "completed")
    assert project.marks() == ["a:x"]


def test_the_agent_of_a_retried_slice_reads_the_feedback(project: Project) -> None:
    agent = f"cat > {project.outside}/prompt; test -e {project.outside}/fixed"
    project.plan(
        f"""
agents: {{x: {{use: command, command: '{agent}'}}}}
subplans:
  - {{id: a, prompt: Do it, agent: x, steps: [{{id: code, prompt: "{{{{ slice.prompt }}}}", on_error: abort}}]}}
"""
    )
    assert project.process("run", "-q").returncode == 1
    (project.outside / "fixed").touch()
    (project.outside / "review.txt").write_text("src/a.py:12: shorter\n")
    assert "retries a" in weft(project, "retry", "a", "--file", str(project.outside / "review.txt"))
    until(project, "completed")
    assert "src/a.py:12: shorter" in (project.outside / "prompt").read_text()
    assert "a  feedback: src/a.py:12: shorter" in weft(project, "events")


def test_a_retry_waits_for_the_end_of_the_run(project: Project) -> None:
    started(project)
    done = project.process("retry", "a")
    assert done.returncode == 1
    assert "is running (process" in done.stderr
    assert "or add --stop" in done.stderr


RETRIED_WHILE_IT_RUNS = """
agents: {x: {use: command, command: 'cat >> OUTSIDE/prompt; test -e OUTSIDE/fixed'}}
failure_mode: continue_on_error
subplans:
  - {id: a, prompt: Do it, agent: x, steps: [{id: code, prompt: "{{ slice.prompt }}", on_error: abort}]}
  - {id: b, steps: [{id: x, run: "test -e OUTSIDE/fixed || sleep 600"}]}
"""


def failed_while_another_runs(project: Project) -> str:
    """Starts a run in which `a` has failed and `b` runs; returns the id of the run."""
    project.plan(RETRIED_WHILE_IT_RUNS.replace("OUTSIDE", str(project.outside)))
    weft(project, "start")
    while status(project)["counts"]["failed"] == 0 or not project.step_processes():
        os.sched_yield()
    (project.outside / "fixed").touch()
    return project.runs()[-1]


def test_an_active_run_is_stopped_for_feedback_and_continues_with_it(project: Project) -> None:
    first = failed_while_another_runs(project)
    data = json.loads(weft(project, "retry", "a", "--text", "shorter", "--stop", "--json"))["data"]
    assert (data["run"] != first, data["subplans"]) == (True, ["a"])
    until(project, "completed")
    assert "shorter" in (project.outside / "prompt").read_text()
    assert status(project)["counts"]["completed"] == 2


def test_an_active_run_is_stopped_for_a_retry_and_continues_as_a_whole(project: Project) -> None:
    first = failed_while_another_runs(project)
    refused = project.process("retry", "a")
    assert (refused.returncode, "add --stop" in refused.stderr) == (1, True)
    assert f"continues {first} and retries what failed" in weft(project, "retry", "a", "--stop")
    assert project.runs()[-1] != first
    until(project, "completed")
    assert status(project)["counts"]["completed"] == 2


def test_a_retry_that_is_refused_stops_nothing(project: Project) -> None:
    first = failed_while_another_runs(project)
    refused = {
        ("b", "--text", "shorter", "--stop"): 2,
        ("b", "--stop"): 2,
        ("a",): 1,
        ("a", "--text", "shorter"): 1,
    }
    for arguments, code in refused.items():
        assert project.process("retry", *arguments).returncode == code
    assert (status(project)["run"], status(project)["state"]) == (first, "running")


def test_where_nothing_failed_there_is_nothing_to_retry(project: Project) -> None:
    project.plan("subplans: [{id: a, steps: [{id: x, run: 'true'}]}]")
    assert project.process("run", "-q").returncode == 0
    done = project.process("retry")
    assert (done.returncode, "nothing has failed" in done.stderr) == (2, True)


def test_for_programs_a_retry_says_what_it_does_and_a_plan_that_broke_meanwhile_is_an_error(
    project: Project,
) -> None:
    project.plan(f"subplans: [{{id: a, steps: [{{id: x, run: 'test -e {project.outside}/fixed'}}]}}]")
    assert project.process("run", "-q").returncode == 1
    text = (project.root / "weft.yaml").read_text()
    (project.root / "weft.yaml").write_text(text.replace("run:", "rum:"))
    broken = project.process("retry", "a")
    assert (broken.returncode, "rum" in broken.stderr) == (2, True)
    (project.root / "weft.yaml").write_text(text)
    (project.outside / "fixed").touch()
    messages = json.loads(weft(project, "retry", "a", "--json"))["data"]
    assert (messages["subplans"], messages["run"]) == (["a"], project.runs()[-1])
    until(project, "completed")


def test_a_stop_for_programs_says_nothing_else(project: Project) -> None:
    started(project)
    os.kill(project.coordinators()[0], signal.SIGKILL)
    done = project.process("stop", "--json")
    assert (json.loads(done.stdout)["data"]["alive"], done.stderr) == (False, "")
    assert project.step_processes() == []


def test_a_stop_need_not_be_waited_for(project: Project) -> None:
    started(project)
    assert project.told(weft(project, "stop", "--no-wait")) == ["run RUN is stopping"]
    until(project, "stopped")


def test_a_watching_terminal_shows_the_change(project: Project) -> None:
    started(project)
    terminal = Terminal.of(project, "status", "--watch")
    try:
        assert terminal.sees("▶ a  running  x")
        weft(project, "pause")
        assert terminal.sees("▶ a  paused")
        weft(project, "resume")
        project.let_through()
        assert terminal.rest().endswith("1 completed\n[0]")
    finally:
        terminal.close()


def test_what_a_supervisor_has_nothing_of_is_ended_already(project: Project) -> None:
    """The steps have ended meanwhile; the run is stopped all the same."""
    started(project)
    os.kill(project.coordinators()[0], signal.SIGKILL)
    for pid in project.step_processes():
        os.kill(pid, signal.SIGKILL)
    (log,) = project.root.glob(".weft/runs/*/host/log")
    while b'"ended"' not in log.read_bytes():
        os.sched_yield()
    done = project.process("stop")
    assert (done.returncode, "ended what" in done.stderr) == (0, False)
    assert status(project)["state"] == "stopped"


def test_at_a_terminal_start_asks_about_commands_of_the_project(
    project: Project,
) -> None:
    project.plan("subplans: [{id: a, steps: [{id: x, run: 'MARK'}]}]")
    (project.root / ".weft").mkdir()
    (project.root / ".weft" / "config.yaml").write_text("setup: 'true'\n")
    for answer, ends in ((b"n\n", "not approved, and nothing has been run\n[2]"), (b"y\n", "weft stop\n[0]")):
        terminal = Terminal.of(project, "start")
        try:
            assert terminal.sees("Approve these commands? [y/N] ")
            terminal.type(answer)
            assert terminal.rest().endswith(ends)
        finally:
            terminal.close()
    until(project, "completed")
    assert project.marks() == ["a:x"]
