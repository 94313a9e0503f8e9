"""`weft run` after a run: one that was stopped, killed, left, failed, completed, or begun with another plan."""

import os
import signal
import subprocess

import pytest

from cli.running import Project

GATED = """
subplans:
  - {id: a, steps: [{id: first, run: MARK}, {id: work, run: "MARK; GATE x"}]}
  - {id: b, depends_on: [a], steps: [{id: work, run: MARK}]}
"""
TWO = """
subplans:
  - {id: a, steps: [{id: work, run: "MARK; echo one > a.txt"}]}
  - {id: b, depends_on: [a], steps: [{id: work, run: "MARK; cat a.txt > b.txt"}]}
"""


def interrupted(run: "subprocess.Popen[str]") -> str:
    """What it says about the signal."""
    run.send_signal(signal.SIGINT)
    assert run.stderr is not None
    return next(line for line in run.stderr if line.startswith(("stopping", "leaving")))


# --- stopping ---


def test_once_ctrl_c_ends_what_runs_gracefully_and_it_can_continue(project: Project) -> None:
    project.plan("""
subplans:
  - id: a
    steps: [{id: first, run: MARK}, {id: work, run: "trap 'MARK.term; exit 1' TERM; MARK; GATE x"}]
""")
    run = project.start("run")
    project.reached()
    text = interrupted(run)
    assert text == "stopping: running steps are ended gracefully; Ctrl-C again ends them at once\n"
    end = project.told(run.communicate()[1])
    assert run.returncode == 130
    assert "Stopped after N s: 0 of 1 slice completed, 1 under way." in end
    assert end[-1] == "Next       weft run  resumes; completed work is kept"
    assert project.step_processes() == []
    again = project.start("run")
    project.reached()
    project.let_through()
    assert project.told(again.communicate()[1])[:2] == [
        "run RUN resumes",
        "tried  resumes after an interruption",
    ]
    assert again.returncode == 0
    assert len(project.runs()) == 1
    assert project.marks() == ["a:first", "a:work", "a:work"]


def test_twice_ctrl_c_ends_at_once_what_is_deaf(project: Project) -> None:
    project.plan("grace: 1h\nsubplans: [{id: a, steps: [{id: work, run: \"trap '' TERM; GATE x\"}]}]\n")
    run = project.start("run")
    project.reached()
    interrupted(run)
    assert interrupted(run) == "stopping at once; Ctrl-C again leaves without waiting\n"
    run.communicate()
    assert run.returncode == 130
    assert project.step_processes() == []


def test_three_times_ctrl_c_leaves_and_what_is_being_ended_ends_by_itself(project: Project) -> None:
    project.plan("grace: 1h\nsubplans: [{id: a, steps: [{id: work, run: \"trap '' TERM; GATE x\"}]}]\n")
    run = project.start("run")
    project.reached()
    (supervisor,) = project.supervisors()
    os.kill(supervisor, signal.SIGSTOP)  # so that nothing can end
    interrupted(run)
    interrupted(run)
    assert interrupted(run) == "leaving; the supervisor ends the remaining steps\n"
    assert run.communicate()[1] == ""
    assert run.returncode == 130
    os.kill(supervisor, signal.SIGCONT)
    again = project.start("run")
    project.reached()
    project.let_through()
    again.communicate()
    assert again.returncode == 0


def test_a_termination_is_as_good_as_ctrl_c(project: Project) -> None:
    run = project.plan(GATED).start("run", "--json")
    project.reached()
    run.terminate()
    run.communicate()
    assert run.returncode == 130
    assert project.events()[-1].outcome == "stopped"


# --- dying ---


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGHUP])
def test_when_it_dies_its_steps_continue_and_the_next_takes_over(
    project: Project, number: signal.Signals
) -> None:
    run = project.plan(GATED).start("run")
    project.reached()
    working = project.step_processes()
    run.send_signal(number)
    run.communicate()
    assert run.returncode == -number
    assert project.step_processes() == working
    again = project.start("run")
    assert again.stderr is not None
    events = project.told("".join(next(again.stderr) for _ in range(2)))
    assert events == [
        "run RUN resumes",
        "tried  resumes after an interruption; 1 step was under way",
    ]
    project.let_through()
    again.communicate()
    assert again.returncode == 0
    assert len(project.runs()) == 1
    assert project.marks() == ["a:first", "a:work", "b:work"]


def test_steps_that_ended_without_a_coordinator_are_not_repeated(project: Project) -> None:
    run = project.plan(GATED).start("run")
    project.reached()
    run.kill()
    run.communicate()
    project.let_through()
    again = project.weft("run")
    assert again.exit_code == 0
    assert project.marks() == ["a:first", "a:work", "b:work"]


def test_when_the_supervisor_dies_as_well_what_was_lost_is_done_again(project: Project) -> None:
    run = project.plan(GATED).start("run")
    project.reached()
    (supervisor,) = project.supervisors()
    os.kill(supervisor, signal.SIGKILL)
    run.kill()
    run.communicate()
    again = project.start("run")
    project.reached()
    assert len([pid for pid in project.step_processes() if pid not in project.supervisors()]) == 1
    project.let_through()
    again.communicate()
    assert again.returncode == 0
    assert project.marks() == ["a:first", "a:work", "a:work", "b:work"]


def test_garbage_in_files_beside_the_journal_does_no_harm(project: Project) -> None:
    run = project.plan(GATED).start("run")
    project.reached()
    run.kill()
    run.communicate()
    (host,) = project.root.glob(".weft/runs/*/host")
    (project.root / ".weft" / "run").mkdir(exist_ok=True)
    for file in (host / "heartbeat.json", host / "supervisor.log", project.root / ".weft/run/a.status.json"):
        file.write_bytes(b'{"half": \xff')
    with (host / "log").open("ab") as log:
        log.write(b'{"ended": {"id": ')
    project.let_through()
    assert project.weft("run", "-q").exit_code == 0
    assert project.marks() == ["a:first", "a:work", "b:work"]
    assert [
        project.weft(*command).exit_code for command in (["events"], ["logs", "/"], ["answer"], ["replay"])
    ] == [0] * 4


def test_a_run_that_died_before_anything_happened_never_was(project: Project) -> None:
    project.plan(TWO).weft("run", "-q")
    (run,) = project.runs()
    project.die_before_anything_happens()
    again = project.weft("run", "-q")
    assert again.exit_code == 0
    assert again.stderr.startswith(f"nothing to do: all 2 subplans were completed by run {run}; ")
    assert project.marks() == ["a:work", "b:work"]


# --- ending ---


def test_after_a_failure_only_what_failed_is_done_again(project: Project) -> None:
    project.plan(f"""
failure_mode: continue_on_error
subplans:
  - {{id: good, steps: [{{id: work, run: MARK}}]}}
  - {{id: bad, steps: [{{id: work, run: "MARK; [ -e {project.outside}/fixed ]"}}]}}
  - {{id: after, depends_on: [bad], steps: [{{id: work, run: MARK}}]}}
""")
    assert project.weft("run", "-q").exit_code == 1
    (project.outside / "fixed").touch()
    again = project.weft("run", "-q")
    assert again.exit_code == 0
    assert project.told(again.stderr)[0] == "All 3 slices completed in N s (1 by an earlier run)."
    assert sorted(project.marks()) == ["after:work", "bad:work", "bad:work", "good:work"]


def test_when_all_is_completed_there_is_nothing_to_do(project: Project) -> None:
    project.plan(TWO).weft("run", "-q")
    again = project.weft("run")
    (run,) = project.runs()
    assert again.exit_code == 0
    assert again.stderr.splitlines() == [
        f"nothing to do: all 2 subplans were completed by run {run}; --fresh repeats everything",
        f"results: {project.root}/.weft/workspaces/tried/_plan",
    ]
    assert project.weft("run", "--json", "--max-parallel", "7").stdout == ""
    fresh = project.weft("run", "--fresh", "-q")
    assert project.told(fresh.stderr)[0] == "All 2 slices completed in N s."
    assert project.marks() == ["a:work", "b:work"] * 2


def test_results_that_were_deleted_are_brought_together_again(project: Project) -> None:
    project.plan(TWO).weft("run", "-q")
    for file in (project.root / ".weft/workspaces/tried/_plan").iterdir():
        file.unlink()
    (project.root / ".weft/workspaces/tried/_plan").rmdir()
    again = project.weft("run", "-q")
    assert project.told(again.stderr)[0] == "All 2 slices completed in N s (2 by an earlier run)."
    assert project.result("b.txt") == "one\n"
    assert project.marks() == ["a:work", "b:work"]


def test_with_another_plan_an_unfinished_run_is_given_up_and_what_is_the_same_is_kept(
    project: Project,
) -> None:
    run = project.plan(
        """
subplans:
  - {id: a, steps: [{id: work, run: MARK}]}
  - {id: b, depends_on: [a], steps: [{id: work, run: "GATE x"}]}
"""
    ).start("run")
    project.reached()
    run.kill()
    run.communicate()
    project.plan(
        """
subplans:
  - {id: a, steps: [{id: work, run: MARK}]}
  - {id: b, depends_on: [a], steps: [{id: work, run: MARK}]}
"""
    )
    again = project.weft("run", "-q")
    assert again.exit_code == 0
    first, _ = project.runs()
    assert again.stderr.splitlines()[0] == (
        f"the plan has changed since run {first}, which was unfinished; a new run starts"
    )
    assert project.marks() == ["a:work", "b:work"]
    assert project.step_processes() == []


def test_afresh_an_unfinished_run_is_given_up(project: Project) -> None:
    run = project.plan(GATED).start("run")
    project.reached()
    run.kill()
    run.communicate()
    again = project.start("run", "--fresh", "-q")
    project.reached()
    project.let_through()
    first, _ = project.runs()
    assert again.communicate()[1].splitlines()[0] == (
        f"run {first} was unfinished, and is abandoned; a new run starts"
    )
    assert project.marks() == ["a:first", "a:work", "a:first", "a:work", "b:work"]


# --- questions ---

ASKS = """
subplans:
  - id: release
    steps: [{id: sure, action: ask, question: Really?}, {id: work, run: MARK}]
"""


def test_an_answer_without_a_coordinator_counts_when_the_run_continues(project: Project) -> None:
    assert project.plan(ASKS).process("run").returncode == 4
    value = project.process("answer", "release:sure", "yes")
    assert value.stderr == (
        "answered release:sure: yes; the run is not active; to resume it, type: weft run\n"
    )
    assert project.weft("run", "-q").exit_code == 0
    assert project.marks() == ["release:work"]


def test_with_no_the_step_has_failed(project: Project) -> None:
    project.plan(ASKS).process("run")
    project.weft("answer", "release", "no", "--text", "not on a Friday")
    again = project.weft("run", "-q")
    assert again.exit_code == 1
    assert project.told(again.stderr)[1] == "release  failed in step sure: a person said no: not on a Friday"
    assert project.marks() == []
