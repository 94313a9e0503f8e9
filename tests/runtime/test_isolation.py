"""Which steps have a home and a sandbox of their own, and what their jobs are like then."""

from pathlib import Path

import pytest

from weft.agents.adapters import adapter_of
from weft.engine.messages.facts import StepOutcome
from weft.engine.messages.orders import AgentTask, Launch
from weft.errors import WeftError
from weft.hosts.records import LocalRecords
from weft.plan.loader.load import load_plan
from weft.plan.sandbox import Sandbox
from weft.ports.host import EndReason, Job, JobEnded
from weft.runtime.homes import Homes
from weft.runtime.isolation import Isolation
from weft.runtime.jobs import JobFactory
from weft.runtime.sandbox.boxes import Boxes
from weft.runtime.sandbox.view import SandboxContext

PLAN = """
weft: 1
plan: p
isolation: dir
agents:
  plain: {use: command, command: [agent]}
  homed: {use: command, command: [agent], isolated_home: true}
  boxed: {use: command, command: [agent], sandbox: {network: false}}
  loose: {use: command, command: [agent], sandbox: none, isolated_home: false}
subplans:
  - {id: bare, steps: [{id: x, run: x}]}
  - {id: boxed, sandbox: {hide: [.env]}, isolated_home: true, steps: [{id: x, run: x}]}
"""
BARE, BOXED = 1, 2
P = load_plan(PLAN)


class Stage:
    def __init__(self, root: Path) -> None:
        self.root = root
        self.work = root / "work"
        self.work.mkdir()
        context = SandboxContext(homes=(), project=root, weft=root / ".weft", plan_dir=root)
        self.isolation = Isolation(P, Homes(root / "homes"), Boxes(program="/bin/bwrap", context=context))
        self.jobs = JobFactory(
            run="r",
            plan=P,
            plan_dir=root,
            logs=root / "logs",
            records=LocalRecords(root / "host", root / "logs"),
            adapter_of=adapter_of,
            environ={"PATH": "/bin", "HOME": "/homes/me"},
            isolation=self.isolation,
        )

    def job(self, row: int = BARE, agent: str | None = None, **more) -> Job:
        return self.jobs.job(launch(row, agent, **more), self.work)


def launch(row: int = BARE, agent: str | None = None, **more) -> Launch:
    work = AgentTask(agent=P.agents[agent]) if agent else ("x",)
    return Launch(
        **{
            "firing": 7, "execution": 2, "row": row, "path": P.outline.paths[row], "step": "x", "attempt": 3,
            "timeout": 9.0, "grace": 1.0, "work": work, **more,
        }
    )  # fmt: skip


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


def test_without_a_word_a_step_has_neither(stage: Stage) -> None:
    job = stage.job()
    assert (job.sandboxed, job.commands, "HOME" in job.env) == (False, (("/bin/sh", "-c", "x"),), False)
    assert not (stage.root / "homes").exists()


def test_an_agent_with_a_home_has_its_variables_and_the_plan_s_go_before_them(stage: Stage) -> None:
    job = stage.job(agent="homed", env={"CODEX_HOME": "/mine"})
    home = stage.root / "homes" / "bare"
    assert (job.env["HOME"], job.env["CODEX_HOME"]) == (str(home), "/mine")
    assert (job.sandboxed, "TMPDIR" in job.env, home.is_dir()) == (False, False, True)


def test_a_setting_holds_for_commands_and_an_agent_may_say_otherwise(stage: Stage) -> None:
    assert stage.job(BOXED).env["HOME"] == str(stage.root / "homes" / "boxed")
    assert "HOME" not in stage.job(BOXED, "loose").env


def test_step_agent_and_settings_say_each_what_the_one_before_does_not(stage: Stage) -> None:
    sandbox_view = stage.isolation.sandbox(launch(BOXED, "boxed", sandbox={"use": "bwrap", "read": ("t",)}))
    assert sandbox_view == Sandbox(use="bwrap", network=False, hide=(".env",), read=("t",))
    assert not stage.isolation.sandbox(launch(BOXED, sandbox={"use": "none"})).is_on


def test_a_sandbox_has_a_home_a_tmp_and_a_directory_for_its_report(stage: Stage) -> None:
    job = stage.job(agent="boxed")
    (argv,) = job.commands
    result = stage.root / "logs" / "bare@sandbox" / "x.3.7-2.result.json"
    assert (argv[0], argv[-2:], job.sandboxed) == ("/bin/bwrap", ("--", "agent"), True)
    assert (job.env["WEFT_RESULT"], job.env["TMPDIR"]) == (str(result), "/tmp")
    assert job.env["HOME"] == str(stage.root / "homes" / "bare")
    assert job.output == "bare/x.3.7-2"
    assert result.parent.is_dir()


def test_a_report_that_was_there_before_is_not_the_step_s(stage: Stage) -> None:
    result = Path(stage.job(agent="boxed").env["WEFT_RESULT"])
    result.write_text('{"result": "of another"}')
    stage.job(agent="boxed")
    assert not result.exists()


def ended(**more) -> JobEnded:
    return JobEnded(
        **{"id": "r.7.2", "why": EndReason.EXITED, "exit_code": 0, "stdout": "", "stderr": "", **more}
    )


def test_the_report_of_an_agent_in_a_sandbox_counts(stage: Stage) -> None:
    Path(stage.job(agent="boxed").env["WEFT_RESULT"]).write_text('{"result": "r", "cost_usd": 0.5}')
    fact = stage.jobs.fact(launch(agent="boxed"), ended(), stage.work, at=1.0, halted=None)
    assert (fact.how, fact.result, fact.cost) == (StepOutcome.DONE, "r", 500_000)
    gauge = stage.jobs.gauge(launch(agent="boxed"), stage.work)
    assert gauge is not None
    progress = gauge.read(1000)
    assert progress is not None
    assert progress.cost == 500_000


def test_a_program_that_is_not_in_the_sandbox_is_no_failure_of_the_work(stage: Stage) -> None:
    end = ended(exit_code=1, stderr="bwrap: execvp agent: No such file or directory\n")
    in_it = stage.jobs.fact(launch(agent="boxed"), end, stage.work, at=1.0, halted=None)
    without = stage.jobs.fact(launch(agent="plain"), end, stage.work, at=1.0, halted=None)
    assert (in_it.how, without.how) == (StepOutcome.INFRA, StepOutcome.FAILED)


def test_where_there_can_be_no_sandbox_nothing_starts_without(tmp_path: Path) -> None:
    isolation = Isolation(P, Homes(tmp_path))
    with pytest.raises(WeftError, match="sandboxes do not work here; type: weft doctor"):
        isolation.of(launch(BOXED))
