"""`weft run`: what it says, how it ends, what it refuses, and what does not stop it."""

import gc
import json
import os
import resource
import subprocess
import sys
from collections.abc import Sequence

import pytest

from cli.running import WEFT, Project
from weft.app.project.files import InputSource
from weft.app.run.run import run_plan
from weft.app.run.session import RunSetup
from weft.app.run.setup import RunRequest
from weft.engine.messages.events import Recorded

TWO = """
subplans:
  - {id: a, steps: [{id: work, run: "MARK; echo one > a.txt"}]}
  - {id: b, depends_on: [a], steps: [{id: work, run: "MARK; cat a.txt > b.txt"}]}
"""
ONE_FAILS = """
failure_mode: continue_on_error
subplans:
  - {id: good, steps: [{id: work, run: MARK}]}
  - {id: bad, steps: [{id: work, run: "MARK; echo oh no >&2; exit 3"}]}
  - {id: after, depends_on: [bad], steps: [{id: work, run: MARK}]}
"""
ASKS = """
subplans:
  - id: release
    steps: [{id: sure, action: ask, question: Really?}, {id: work, run: MARK}]
"""
GATED = """
subplans:
  - {id: a, steps: [{id: work, run: "MARK; GATE x"}]}
  - {id: b, depends_on: [a], steps: [{id: work, run: MARK}]}
"""


# --- what it says, and how it ends ---


def test_what_happens_is_reported_in_lines_on_standard_error(project: Project) -> None:
    done = project.plan(TWO).process("run")
    assert (done.returncode, done.stdout) == (0, "")
    lines = [line for line in project.told(done.stderr) if "merge" not in line and "land" not in line]
    assert lines == [
        "tried  run RUN started",
        "a  started",
        "a  work started",
        "a  work done in N s",
        "a  completed",
        "b  started",
        "b  work started",
        "b  work done in N s",
        "b  completed",
        "tried  completed after N s",
        "All 2 slices completed in N s.",
        "",
        "  slice  result     attempts  time",
        "✓ a      completed         1  TIME",
        "✓ b      completed         1  TIME",
        "",
        "Results    PROJECT/.weft/workspaces/tried/_plan",
    ]
    assert project.result("b.txt") == "one\n"
    assert (project.root / ".weft" / ".gitignore").read_text().endswith("*\n!config.yaml\n!schema.json\n")


def test_quietly_only_what_went_wrong_is_reported_and_the_end(project: Project) -> None:
    done = project.plan(ONE_FAILS).weft("run", "-q")
    assert (done.exit_code, done.stdout) == (1, "")
    assert project.told(done.stderr) == [
        "bad  failed in step work: exit code 3 (MARK; echo oh no >&2; exit 3)",
        "Failed after N s: 1 of 3 slices completed, 1 failed, 1 cancelled or blocked.",
        "",
        "  slice  result     attempts  time",
        "✗ bad    failed            1  TIME",
        "✓ good   completed         1  TIME",
        "✗ after  blocked",
        "",
        "Failed     bad: step work: exit code 3 (MARK; echo oh no >&2; exit 3)",
        "             | oh no",
        "Blocked    1 by bad: after",
        "Results    PROJECT/.weft/workspaces/tried/_plan",
        "Next       weft logs bad  shows all output of its steps",
        "           weft run       resumes; completed work is kept",
    ]


def test_each_event_is_a_line_of_json_and_the_summary_goes_to_standard_error(project: Project) -> None:
    done = project.plan(TWO).process("run", "--json")
    assert done.returncode == 0
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert [events[0]["event"], events[-1]["event"], events[-1]["outcome"]] == [
        "run_started",
        "run_finished",
        "completed",
    ]
    assert project.weft("events", "--json").stdout == done.stdout
    assert project.told(done.stderr)[0] == "All 2 slices completed in N s."


def test_what_is_wrong_with_a_plan_is_data_for_a_program(project: Project) -> None:
    done = project.plan("subplans: [{id: a, steps: []}]\n").weft("run", "--json")
    assert done.exit_code == 2
    assert json.loads(done.stdout)["data"]["valid"] is False
    assert done.stderr == ""


def test_a_missing_program_is_distinguished_from_failed_work(project: Project) -> None:
    # With a PATH of its own the preflight does not judge it.
    project.plan("""
infra_retries: 0
subplans: [{id: a, steps: [{id: work, run: [nosuchprogram, x], env: {PATH: /dev/null}}]}]
""")
    done = project.weft("run", "-q")
    assert done.exit_code == 1
    assert project.told(done.stderr)[0] == (
        "a  failed in step work: it could not be started: cannot run nosuchprogram: there is no such program in "
        "the directories of its PATH (nosuchprogram x)"
    )


def test_a_run_that_fails_for_want_of_money_has_an_exit_code_of_its_own(project: Project) -> None:
    project.plan("""
budget: 0.05
agents: {coder: {use: scripted, script: script.json, max_cost: 0.04}}
subplans:
  - {id: a, prompt: One, steps: [{id: work, prompt: Do it}]}
  - {id: b, prompt: Two, depends_on: [a], steps: [{id: work, prompt: Do it}]}
""")
    (project.root / "script.json").write_text('[{"do": [{"cost_usd": 0.04, "result": "done"}]}]')
    done = project.weft("run", "-q")
    assert done.exit_code == 3, done.stderr
    assert "the budget of the plan is used up" in done.stderr


def test_a_ceiling_outlives_a_run_until_a_person_resets_it(project: Project) -> None:
    project.plan("""
budget: 2
agents: {coder: {use: scripted, script: script.json, max_cost: 0.45}}
subplans:
  - {id: a, prompt: One, steps: [{id: work, prompt: Do it}]}
  - {id: b, prompt: Two, depends_on: [a], steps: [{id: work, prompt: Do it}]}
""")
    script = project.root / "script.json"
    script.write_text('[{"do": [{"cost_usd": 1.90, "result": "done"}]}]')
    assert project.weft("run", "-q").exit_code == 3
    script.write_text('[{"do": [{"cost_usd": 0.45, "result": "done"}]}]')
    again = project.weft("run", "-q")
    assert again.exit_code == 3
    assert "$1.90 of $2.00 spent ($1.90 by earlier runs), and this may cost $0.45" in again.stderr
    assert "$1.90 of $2.00 ($1.90 by earlier runs)" in project.weft("status").stdout
    cost = json.loads(project.weft("status", "--json").stdout)["data"]["cost"]
    assert (cost["usd"], cost["earlier_usd"], cost["counted_usd"]) == (0.0, 1.9, 1.9)
    assert "That leaves $0.10 of $2.00, the budget of the plan." in project.weft("check").stdout
    checked = json.loads(project.weft("check", "--json").stdout)["data"]
    assert checked["earlier_runs"]["usd"] == 1.9
    assert project.weft("run", "-q", "--fresh-budget").exit_code == 0
    assert "Earlier runs spent $0.45." in project.weft("check").stdout


def test_a_budget_can_be_reset_when_nothing_is_left_to_do(project: Project) -> None:
    project.plan("""
budget: 2
agents: {coder: {use: scripted, script: script.json}}
subplans: [{id: a, prompt: One, steps: [{id: work, prompt: Do it}]}]
""")
    (project.root / "script.json").write_text('[{"do": [{"cost_usd": 1.90, "result": "done"}]}]')
    assert project.weft("run", "-q").exit_code == 0
    assert "Earlier runs spent $1.90." in project.weft("check").stdout
    assert project.weft("run", "--fresh-budget").exit_code == 0
    assert "Earlier runs" not in project.weft("check").stdout
    assert project.weft("replay").exit_code == 0


def test_without_a_terminal_it_ends_when_only_questions_are_left(project: Project) -> None:
    done = project.plan(ASKS).weft("run")
    assert done.exit_code == 4
    lines = project.told(done.stderr)
    assert "release  sure asks: Really?  Answer with: weft answer release:sure yes (or no)" in lines
    assert lines[-4:] == [
        "",
        "Question   release: Really?",
        "Next       weft answer release:sure yes  or no",
        "           weft run                      resumes; completed work is kept",
    ]


def test_with_wait_it_continues_after_the_answer(project: Project) -> None:
    run = project.plan(ASKS).start("run", "--wait")
    assert run.stderr is not None
    asked = next(line for line in run.stderr if "asks" in line)
    assert "weft answer release:sure yes" in asked
    assert project.weft("answer", "release", "yes").stderr == "answered release:sure: yes\n"
    assert "release  completed" in project.told(run.communicate()[1])
    assert run.returncode == 0
    assert project.marks() == ["release:work"]


# --- which plan, and where ---


def test_a_plan_may_come_through_a_pipe_and_then_lies_in_the_current_directory(project: Project) -> None:
    text = project.filled("subplans: [{id: a, steps: [{id: work, run: 'echo $WEFT_PLAN_DIR > a.txt'}]}]\n")
    done = project.process("run", "-", "-q", input=text)
    assert done.returncode == 0
    assert project.result("a.txt") == f"{project.root}\n"
    assert project.process("run", "-", "-q", input=text).stderr.startswith(
        "nothing to do: the one subplan was"
    )


def test_the_next_command_is_one_that_can_be_typed(project: Project) -> None:
    project.plan("subplans: [{id: a, steps: [{id: work, run: 'false'}]}]\n", name="my plan.yaml")
    done = project.process("run", "my plan.yaml", "-q")
    assert project.told(done.stderr)[-1].split("  ")[-2].strip() == "weft run 'my plan.yaml'"


NO_PLAN = (
    "there is no weft.yaml and no weft.yml in this directory; to write one, type: weft init; "
    "to name another file: weft run FILE"
)
TOO_MANY = "--max-parallel is 40 (a number); it must be a whole number from 1 to 32"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run"], NO_PLAN),
        (["run", "gone.yaml"], "cannot read gone.yaml: no such file or directory"),
        (["run", "."], "cannot read .: is a directory"),
        (["run", "-", "--max-parallel", "40"], TOO_MANY),
    ],
)
def test_what_cannot_be_run_is_refused(project: Project, arguments: Sequence[str], said: str) -> None:
    done = project.process(*arguments, input="")
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"error: {said}\n")
    assert not (project.root / ".weft").exists()


def test_within_a_step_no_run_is_started(project: Project) -> None:
    project.plan(TWO, name="inner.yaml")
    project.plan(f"""
subplans: [{{id: a, steps: [{{id: work, run: '{WEFT} run "$WEFT_PLAN_DIR/inner.yaml" 2> said; echo $? > code'}}]}}]
""")
    assert project.process("run", "-q").returncode == 0
    assert project.result("code") == "2\n"
    assert project.result("said").startswith("error: `weft run` is refused inside a step of a (run ")


def test_a_file_where_the_directory_should_be_is_refused(project: Project) -> None:
    (project.root / ".weft").write_text("mine")
    done = project.plan(TWO).weft("run")
    assert done.exit_code == 2
    assert project.told(done.stderr) == [
        "error: PROJECT/.weft is not a directory, but Weft needs a directory of that name; move it away"
    ]
    assert (project.root / ".weft").read_text() == "mine"


def test_a_directory_that_has_been_deleted_is_reported(project: Project) -> None:
    gone = project.root / "gone"
    gone.mkdir()
    script = f"rmdir {gone}; exec {WEFT} run -"
    done = subprocess.run(
        ["/bin/sh", "-c", script], cwd=gone, env=project.env, input=project.filled(TWO), capture_output=True,
        text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (
        2,
        "error: the current directory has been deleted; change to another one\n",
    )


# --- what does not stop it, and what does ---


def test_a_second_one_in_the_same_project_is_refused(project: Project) -> None:
    first = project.plan(GATED).start("run")
    project.reached()
    second = project.weft("run")
    assert second.exit_code == 1
    assert (
        f"error: another Weft runs in {project.root}/.weft: process {first.pid} (weft run), since "
        in second.stderr
    )
    assert second.stderr.endswith("or stop it with: weft stop\n")
    assert project.process("stop").returncode == 0
    first.communicate()
    assert first.returncode == 130


@pytest.mark.parametrize("arguments", [["run"], ["run", "--json"], ["run", "-q"]])
def test_it_continues_without_a_reader(project: Project, arguments: Sequence[str]) -> None:
    run = project.plan(GATED).start(*arguments)
    project.reached()
    assert run.stdout is not None
    assert run.stderr is not None
    run.stdout.close()
    run.stderr.close()
    project.let_through()
    assert run.wait() == 0
    assert project.marks() == ["a:work", "b:work"]


def test_it_runs_with_its_outputs_closed(project: Project) -> None:
    project.plan(TWO)
    done = subprocess.run(
        f"exec {WEFT} run >&- 2>&-", shell=True, cwd=project.root, env=project.env, check=False
    )
    assert done.returncode == 0


def test_a_full_disk_ends_it_and_nothing_is_lost(project: Project) -> None:
    unmeasured = {
        "PATH": project.env["PATH"],
        "HOME": project.env["HOME"],
    }  # else that could not be written either
    run = project.plan(GATED).start("run", env=unmeasured)
    project.reached()
    size = (project.root / ".weft" / "weft.db-wal").stat().st_size
    resource.prlimit(run.pid, resource.RLIMIT_FSIZE, (size, size))
    project.let_through()
    (text,) = [line for line in run.communicate()[1].splitlines() if line.startswith("error: ")]
    assert run.returncode == 1
    assert text.startswith(f"error: the journal {project.root}/.weft/weft.db: ")
    assert "type the command again" in text
    again = project.weft("run")
    assert again.exit_code == 0
    assert project.marks() == ["a:work", "b:work"]


def test_a_project_that_vanishes_ends_it(project: Project) -> None:
    run = project.plan(GATED).start("run")
    project.reached()
    moved = project.root.with_name("moved")
    project.root.rename(moved)
    project.let_through()
    (text,) = [line for line in run.communicate()[1].splitlines() if line.startswith("error: ")]
    moved.rename(project.root)
    assert run.returncode == 1
    assert text.startswith(f"error: the journal {project.root}/.weft/weft.db was deleted, moved or replaced")


class Watching:
    """Notes whether garbage is being looked for while a run is under way."""

    def __init__(self) -> None:
        self.seen: set[bool] = set()

    def start(self, begun: RunSetup) -> None:
        pass

    def receive(self, events: Sequence[Recorded]) -> None:
        self.seen.add(gc.isenabled())

    def refresh(self) -> None:
        pass

    def show_stop(self, times: int) -> None:
        pass


def test_a_run_loads_nothing_that_it_does_not_need(project: Project) -> None:
    script = """
import sys
from weft.cli import main
try:
    main(["run", "-q"])
finally:
    print(*sys.modules)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=project.plan(TWO).root, env=project.env, capture_output=True,
        text=True, check=True,
    )  # fmt: skip
    loaded = set(done.stdout.split())
    assert "weft.app.run.run" in loaded
    assert not loaded & {
        "jinja2",
        "jsonschema",
        "numpy",
        "rich",
        "weft.plan.report.check",
        "weft.plan.pictures",
    }


def test_while_it_runs_garbage_is_looked_for_as_always(project: Project) -> None:
    watching = Watching()
    source = InputSource(name="weft.yaml", directory=project.plan(TWO).root, holds="plan")
    assert run_plan(RunRequest(source=source), watching, environ={"PATH": os.environ["PATH"]}) == "completed"
    assert watching.seen == {True}
