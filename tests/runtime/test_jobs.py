"""Jobs are made of orders, and facts of the ends of jobs."""

from pathlib import Path
from typing import Any

from weft.agents.adapters import adapter_of
from weft.engine.messages.facts import StepOutcome
from weft.engine.messages.orders import AgentTask, Halt, Launch, Merge, Prepare
from weft.engine.messages.step_refs import ExecutionKey, StepRef
from weft.errors import WeftError
from weft.hosts.records import LocalRecords
from weft.plan.loader.load import load_plan
from weft.plan.model import Agent
from weft.ports.host import EndReason, JobEnded
from weft.runtime.job_ids import output_name
from weft.runtime.jobs import JobFactory, not_started, reason

PLAN = """
weft: 1
plan: p
isolation: dir
timeout: 5m
grace: 7s
env_allow: [TOKEN]
subplans:
  - {id: plain, steps: [{id: x, run: x}]}
  - {id: set-up, setup: [make deps, [cp, a b, c]], steps: [{id: x, run: x}]}
"""
ENVIRON = {"PATH": "/bin", "TOKEN": "t", "OTHER": "o", "THE_API_KEY": "k"}


def jobs(tmp_path: Path) -> JobFactory:
    return JobFactory(
        run="r1",
        plan=load_plan(PLAN),
        plan_dir=Path("/plan"),
        logs=tmp_path / "logs",
        records=LocalRecords(tmp_path / "host", tmp_path / "logs"),
        adapter_of=adapter_of,
        environ=ENVIRON,
    )


def launch(*, commands=(), agent=None, prompt="", model=None, **more) -> Launch:
    work = commands if agent is None else AgentTask(agent=agent, prompt=prompt, model=model)
    return Launch(
        **{
            "firing": 7, "execution": 2, "row": 1, "path": "g/plain", "step": "x", "attempt": 3, "timeout": 9.0,
            "grace": 1.0, "work": work, **more,
        }
    )  # fmt: skip


def coder(**more) -> Agent:
    (agent,) = load_plan(
        "weft: 1\nplan: p\nisolation: dir\nagents: {c: {use: command, command: [./agent, go]}}\n"
        "subplans: [{id: a, prompt: p}]"
    ).agents.values()
    return agent


def test_a_job_is_named_by_run_firing_and_execution(tmp_path: Path) -> None:
    assert jobs(tmp_path).id(launch()) == "r1.7.2"
    assert jobs(tmp_path).id(Halt(firing=7, execution=2, how="stopped")) == "r1.7.2"


def test_all_rounds_of_an_order_have_names_of_their_own_and_the_first_has_the_order_s(tmp_path: Path) -> None:
    made = jobs(tmp_path)
    merge = Merge(firing=7, execution=2, row=2, path="set-up")
    assert [made.id(made.verify(merge, (), number)) for number in (0, 1, 12)] == [
        "r1.7.2",
        "r1.7.2.1",
        "r1.7.2.12",
    ]
    assert made.id(merge) == "r1.7.2"


def test_all_rounds_of_an_order_have_output_and_reports_of_their_own(tmp_path: Path) -> None:
    made = jobs(tmp_path)
    merge = Merge(firing=7, execution=2, row=2, path="set-up")
    values = [made.job(made.verify(merge, ("x",), number), Path("/work")) for number in (0, 1)]
    name = "set-up/@merge.1.7-2"
    assert [job.output for job in values] == [name, f"{name}.1"]
    prefix = f"{tmp_path}/logs/{name}"
    assert [job.env["WEFT_RESULT"] for job in values] == [f"{prefix}.result.json", f"{prefix}.1.result.json"]
    assert [job.env["WEFT_JOB"] for job in values] == ["r1.7.2", "r1.7.2.1"]


def test_the_output_of_a_round_is_not_that_of_another(tmp_path: Path) -> None:
    made = jobs(tmp_path)
    again = made.verify(Merge(firing=7, execution=2, row=2, path="set-up"), ("x",), 1)
    prefix = f"{tmp_path}/logs/{made.job(again, Path('/work')).output}"
    Path(prefix).parent.mkdir(parents=True)
    Path(f"{prefix.removesuffix('.1')}.out").write_text("first")
    Path(f"{prefix}.out").write_text("second")
    end = ended(id="r1.7.2.1", stdout=None, stdout_bytes=6)
    assert made.fact(again, end, Path("/work"), at=5.0, halted=None).result == "second"


def test_text_goes_to_a_shell_and_a_list_does_not(tmp_path: Path) -> None:
    job = jobs(tmp_path).job(launch(commands=("a | b", ("c", "d e"))), Path("/work"))
    assert job.commands == (("/bin/sh", "-c", "a | b"), ("c", "d e"))
    assert (job.cwd, job.timeout, job.grace, job.stdin) == ("/work", 9.0, 1.0, None)


def test_a_command_finds_what_it_is_and_no_keys(tmp_path: Path) -> None:
    job = jobs(tmp_path).job(launch(commands=("x",), env={"MINE": "m"}), Path("/work"))
    prefix = f"{tmp_path}/logs/g.plain/x.3.7-2"
    assert job.shared == {"PATH": "/bin", "TOKEN": "t"}
    assert job.env == {
        "MINE": "m",
        "WEFT_RUN": "r1",
        "WEFT_SUBPLAN": "g/plain",
        "WEFT_STEP": "x",
        "WEFT_ATTEMPT": "3",
        "WEFT_JOB": "r1.7.2",
        "WEFT_RESULT": f"{prefix}.result.json",
        "WEFT_PLAN_DIR": "/plan",
    }
    assert not (tmp_path / "logs").exists()


def test_an_agent_gets_its_prompt_and_its_keys_and_a_place_for_its_report(tmp_path: Path) -> None:
    job = jobs(tmp_path).job(launch(agent=coder(), prompt="do it"), Path("/work"))
    assert (job.commands, job.stdin) == ((("./agent", "go"),), "do it")
    assert job.shared["THE_API_KEY"] == "k"
    assert Path(job.env["WEFT_RESULT"]).parent.is_dir()


def test_the_plan_s_environment_outranks_the_agent_s(tmp_path: Path) -> None:
    from msgspec.structs import replace  # noqa: PLC0415

    agent = replace(coder(), env={"A": "agent", "B": "agent"})
    env = jobs(tmp_path).job(launch(agent=agent, env={"B": "step"}), Path("/work")).env
    assert (env["A"], env["B"]) == ("agent", "step")


def test_a_workspace_is_set_up_if_the_plan_says_how(tmp_path: Path) -> None:
    assert jobs(tmp_path).setup(Prepare(firing=1, execution=1, row=1, path="plain")) is None
    run_setup = jobs(tmp_path).setup(Prepare(firing=1, execution=1, row=2, path="set-up"))
    assert run_setup is not None
    assert run_setup.commands == ("make deps", ("cp", "a b", "c"))
    assert (run_setup.step, run_setup.timeout, run_setup.grace) == ("@workspace", 300.0, 7.0)


def test_what_came_together_is_set_up_and_then_verified(tmp_path: Path) -> None:
    made = jobs(tmp_path)
    merge = made.verify(Merge(firing=7, execution=2, row=2, path="set-up"), ("check", ("a", "b")), 0)
    assert merge.commands == ("make deps", ("cp", "a b", "c"), "check", ("a", "b"))
    assert (merge.step, merge.path, merge.row, merge.attempt) == ("@merge", "set-up", 2, 1)
    assert (merge.timeout, merge.grace, merge.round) == (300.0, 7.0, 0)


def ended(**more) -> JobEnded:
    return JobEnded(
        **{"id": "r1.7.2", "why": EndReason.EXITED, "exit_code": 0, "stdout": "hello\n", "stderr": "", **more}
    )


def test_the_output_of_a_command_is_its_result(tmp_path: Path) -> None:
    fact = jobs(tmp_path).fact(launch(commands=("x",)), ended(), Path("/work"), at=5.0, halted=None)
    assert (fact.how, fact.result, fact.firing, fact.execution, fact.at) == (
        StepOutcome.DONE,
        "hello\n",
        7,
        2,
        5.0,
    )


def test_what_an_agent_reports_counts(tmp_path: Path) -> None:
    made = jobs(tmp_path)
    job = made.job(launch(agent=coder()), Path("/work"))
    Path(job.env["WEFT_RESULT"]).write_text('{"result": "done", "cost_usd": 0.5}')
    fact = made.fact(launch(agent=coder()), ended(), Path("/work"), at=5.0, halted=None)
    assert (fact.how, fact.result, fact.cost) == (StepOutcome.DONE, "done", 500_000)


FREE = "; free some space (df -h, df -i), then type the command again"


def test_an_order_that_could_not_be_started_says_why() -> None:
    named = not_started(launch(), OSError(28, "No space left on device", "/x"), at=1.0)
    assert (named.how, named.message) == (StepOutcome.INFRA, f"/x: No space left on device{FREE}")
    assert (
        not_started(launch(), OSError(28, "No space left on device"), at=1.0).message
        == f"No space left on device{FREE}"
    )
    assert not_started(launch(), WeftError("no such agent"), at=1.0).message == "no such agent"


def test_a_reason_names_the_file_if_there_is_one() -> None:
    assert reason(OSError(28, "No space left on device", "/x")) == f"/x: No space left on device{FREE}"
    assert reason(OSError("odd")) == "odd"
    assert reason(WeftError("no such agent")) == "no such agent"


def test_output_is_kept_by_subplan_step_attempt_and_execution() -> None:
    assert output_name(StepRef("a/b", "x", 1, ExecutionKey(2, 3))) == "a.b/x.1.2-3"


# --- prices ---


def fact_of_report(tmp_path: Path, report: str, prices: str):
    plan = load_plan(PLAN + f"\nprices: {prices}\n")
    made = JobFactory(
        run="r1",
        plan=plan,
        plan_dir=tmp_path,
        logs=tmp_path,
        records=LocalRecords(tmp_path / "host", tmp_path),
        adapter_of=adapter_of,
        environ={},
    )
    order = launch(agent=coder(), model="large")
    made.job(order, tmp_path)
    (tmp_path / f"{output_name(launch().ref)}.result.json").write_text(report, encoding="utf-8")
    ended = JobEnded(id="r1.7.2", why=EndReason.EXITED, exit_code=0, stdout="", stderr="")
    return made.fact(order, ended, tmp_path, at=1.0, halted=None)


PRICES = "{small: {input: 1, output: 1}, large: {input: 3, output: 15}}"


def test_an_agent_that_reports_only_tokens_has_the_cost_of_its_price(tmp_path: Path) -> None:
    fact = fact_of_report(tmp_path, '{"tokens": {"input": 1000, "output": 100}}', PRICES)
    assert (fact.cost, fact.tokens) == (4_500, 1_100)


def test_what_an_agent_says_it_cost_counts_more_than_a_price(tmp_path: Path) -> None:
    assert fact_of_report(tmp_path, '{"tokens": 1000, "cost_usd": 0.1}', PRICES).cost == 100_000


def test_without_a_price_or_without_tokens_the_cost_is_unknown(tmp_path: Path) -> None:
    assert fact_of_report(tmp_path, '{"tokens": 1000}', "{other: {input: 1, output: 1}}").cost is None
    assert fact_of_report(tmp_path, '{"tokens": 1000}', "{}").cost is None
    assert fact_of_report(tmp_path, "{}", PRICES).cost is None


def test_commands_in_worktrees_import_from_there_first_unless_the_plan_says_otherwise(tmp_path: Path) -> None:
    def imported(
        *roots: str, isolation: str = "worktree", environ: dict[str, str] = ENVIRON, **more: Any
    ) -> str:
        made = JobFactory(
            run="r1",
            plan=load_plan(
                PLAN.replace("isolation: dir", f"isolation: {isolation}").replace("TOKEN", "PYTHONPATH")
            ),
            plan_dir=Path("/plan"),
            logs=tmp_path / "logs",
            records=LocalRecords(tmp_path / "host", tmp_path / "logs"),
            adapter_of=adapter_of,
            environ=environ,
            import_roots=[Path(root) for root in roots],
        )
        job = made.job(launch(commands=("x",), **more), Path("/tree/plans"))
        return job.env.get("PYTHONPATH", "")

    assert imported("../src", "lib") == "/tree/src:/tree/plans/lib"
    assert imported() == imported("src", isolation="dir") == imported("src", agent=coder(), prompt="p") == ""
    assert imported("src", env={"PYTHONPATH": "mine"}) == "mine"
    assert imported("src", environ={**ENVIRON, "PYTHONPATH": "allowed"}) == ""
