"""Translates the engine's orders into jobs for the host, and the ends of jobs into facts."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from weft.engine.messages.facts import Ended, StepOutcome
from weft.engine.messages.internal_steps import InternalStep
from weft.engine.messages.orders import Freeze, Halt, Launch, LaunchKind, Merge, Order, Prepare
from weft.errors import WeftError
from weft.ids import file_name
from weft.plan.model import Command, Plan
from weft.plan.prices import cost_of_tokens
from weft.plan.settings import Settings
from weft.ports.agent import AgentAdapter, AgentCall, Invocation, Progress, ProgressSource, Verdict
from weft.ports.host import Job, JobEnded, JobRecords, OutputPart, PartState
from weft.runtime.environment import StepEnvironment, StepIdentity
from weft.runtime.homes import Homes
from weft.runtime.isolation import Isolation, StepIsolation, boxed_prefix
from weft.runtime.job_ids import JobId, output_name
from weft.runtime.results import LIMIT, agent_ended, cut_off, fact_of, last_lines, read_output
from weft.system_errors import describe

SHELL = "/bin/sh"
_PATH = "PYTHONPATH"
_INTERNAL = {LaunchKind.WORKSPACE: InternalStep.WORKSPACE, LaunchKind.MERGE: InternalStep.MERGE}

_Report = TypeVar("_Report", Verdict, Progress)


class SpendingGauge(Struct, frozen=True, kw_only=True):
    """The part of its output in which a running agent reports its spending, and how to read it."""

    records: JobRecords
    output: str
    part: OutputPart
    parse: Callable[[str], Progress | None]

    def state(self) -> PartState | None:
        return self.records.state(self.output, self.part)

    def read(self, most: int) -> Progress | None:
        """Reads the spending from the last lines, in so many bytes."""
        return self.parse(last_lines(self.records, self.output, self.part, most))


class JobFactory:
    def __init__(  # noqa: PLR0913 - by name, all of them
        self,
        *,
        run: str,
        plan: Plan,
        plan_dir: Path,
        logs: Path,
        records: JobRecords,
        adapter_of: Callable[[str], AgentAdapter],
        environ: Mapping[str, str],
        isolation: Isolation | None = None,
        import_roots: Sequence[Path] = (),
    ) -> None:
        """`logs`: the directory for reports. `records`: those of the host.

        `isolation`: None if there are no sandboxes.
        `import_roots`: directories, from the plan's own, from which Python is to import in each worktree first.
        """
        self._run = run
        self._plan = plan
        self.plan_dir = plan_dir
        self._logs = logs
        self._records = records
        self._adapter_of = adapter_of
        self._environment = StepEnvironment(environ, allow=plan.env_allow)
        self._isolation = isolation or Isolation(plan, Homes(logs.parent / "homes"))
        self._import_roots = import_roots
        self._folders: set[str] = set()

    def id(self, order: Order | Halt | Freeze) -> str:
        if isinstance(order, Launch) and order.name:
            return self.named(order.name)
        number = order.round if isinstance(order, Launch) else 0
        return str(JobId(self._run, order.firing, order.execution, number))

    def named(self, name: str) -> str:
        """Returns the id of a job that has a name within the run."""
        return f"{self._run}.{name}"

    def job(self, launch: Launch, cwd: Path) -> Job:
        """Raises `WeftError` if it cannot be made, and `OSError` if there is no room for its output."""
        name, output = self.id(launch), self._output(launch)
        apart = self._isolation.of(launch)
        commands = tuple(_argv(command) for command in launch.commands)
        called = None
        if launch.agent is not None:
            self._make_folder(f"{self._logs}/{output}")  # for the report; the host stores the output
            called = self._adapter(launch).invoke(self._call(launch, cwd))
            commands = (called.argv,)
        # Kept apart from the job's own variables: the host sends the inherited ones only once.
        environment, is_agent = self._environment, called is not None
        shared = environment.passed_on if launch.host else environment.inherited(agent=is_agent)
        env = {**self._imports(launch, cwd, shared), **self._env(launch, called, name, apart)}
        search = env.get("PATH") or shared.get("PATH", os.defpath)
        return Job(
            id=name,
            commands=self._isolation.boxed(apart, commands, cwd, Path(self._result_file(launch)), search),
            cwd=str(cwd),
            env=env,
            shared=shared,
            stdin=None if called is None else called.stdin,
            output=output,
            timeout=launch.timeout,
            idle_timeout=launch.idle_timeout,
            grace=launch.grace,
            sandboxed=apart.sandbox.is_on,
            host=launch.host,
            subplan=launch.path,
            inherits=environment.names(agent=is_agent) if launch.host else (),
        )

    def setup(self, order: Prepare) -> Launch | None:
        """Returns the launch of the setup commands in a new workspace; None if there are none."""
        commands = self._settings(order).setup_commands
        return self._own(order, LaunchKind.WORKSPACE, commands) if commands else None

    def far_setup(self, step: Launch) -> Launch | None:
        """Returns the launch of the setup commands on the machine of a step; None if there are none."""
        commands = self._settings(step).setup_commands
        if not commands:
            return None
        launch = self._own(step, LaunchKind.WORKSPACE, commands)
        return replace(launch, name=_far_setup_name(step), host=step.host, token=step.token)

    def far_setup_id(self, step: Launch) -> str:
        """Returns the id of the job that `far_setup` describes."""
        return self.named(_far_setup_name(step))

    def verify(self, order: Merge, commands: Sequence[Command], number: int) -> Launch:
        """Returns the launch of the verify of a merged result. Each repetition has another number."""
        launch = self._own(order, LaunchKind.MERGE, (*self._settings(order).setup_commands, *commands))
        return replace(launch, round=number)

    def _own(self, order: Order, kind: LaunchKind, commands: tuple[Command, ...]) -> Launch:
        settings = self._settings(order)
        return Launch(
            firing=order.firing,
            execution=order.execution,
            row=order.row,
            path=order.path,
            step=_INTERNAL[kind],
            kind=kind,
            attempt=1,
            work=commands,
            timeout=settings.timeout,
            grace=settings.grace,
        )

    def _settings(self, order: Order) -> Settings:
        return self._plan.scopes[order.row].settings

    def fact(
        self, launch: Launch, ended: JobEnded, cwd: Path, *, at: float, halted: StepOutcome | None
    ) -> Ended:
        if self._isolation.sandbox(launch).is_on:
            from weft.runtime.sandbox.boxes import with_sandbox_failure  # noqa: PLC0415 - most plans have none

            ended = with_sandbox_failure(ended)
        output = read_output(ended, self._records, self._output(launch))
        verdict = None
        if launch.agent is not None:
            # The report is a file that the agent writes itself, so only its end is read, however long it is.
            report = last_lines(self._records, self._report(launch), OutputPart.REPORT, LIMIT)
            judged = agent_ended(ended, output, report)
            verdict = self._add_price(launch, self._adapter(launch).judge(self._call(launch, cwd), judged))
        return cut_off(launch, fact_of(launch, ended, output, at=at, halted=halted, verdict=verdict))

    def gauge(self, launch: Launch, cwd: Path) -> SpendingGauge | None:
        """Returns how to read the spending of a running agent; None if it reports only at its end."""
        adapter = self._adapter(launch)
        if adapter.progress is None:
            return None
        call, progress_of = self._call(launch, cwd), adapter.progress

        def parse(text: str) -> Progress | None:
            progress = progress_of(call, text)
            return None if progress is None else self._add_price(launch, progress)

        if adapter.progress_in is ProgressSource.STDOUT:
            output, part = self._output(launch), OutputPart.OUT
        else:
            output, part = self._report(launch), OutputPart.REPORT
        return SpendingGauge(records=self._records, output=output, part=part, parse=parse)

    def _add_price(self, launch: Launch, report: _Report) -> _Report:
        """Returns the report with a cost computed from its tokens, if it has none and there is a price."""
        assert launch.task is not None
        if report.cost is not None or report.tokens is None or not self._plan.prices:
            return report
        task = launch.task
        names = (task.model, task.agent.model, task.agent.name)
        return replace(report, cost=cost_of_tokens(self._plan.prices, names, report.tokens, report.usage))

    def _adapter(self, launch: Launch) -> AgentAdapter:
        assert launch.agent is not None
        return self._adapter_of(launch.agent.use)

    def _call(self, launch: Launch, cwd: Path) -> AgentCall:
        task = launch.task
        assert task is not None
        return AgentCall(
            agent=task.agent,
            prompt="\n\n".join(filter(None, (task.interruption, task.prompt))),
            model=task.model,
            session=task.session,
            fork=task.fork,
            read_only=task.read_only,
            plan_dir=str(self.plan_dir),
            cwd=str(cwd),
            result_file=self._result_file(launch),
        )

    def _env(
        self, launch: Launch, called: Invocation | None, job: str, apart: StepIsolation
    ) -> dict[str, str]:
        identity = StepIdentity(
            run=self._run,
            subplan=launch.path,
            step=launch.step,
            attempt=launch.attempt,
            job=job,
            result_file=self._result_file(launch),
            plan_dir=str(self.plan_dir),
        )
        extra = launch.env
        if launch.agent is not None and launch.agent.env:
            extra = {**launch.agent.env, **extra}
        extra = {**apart.variables, **extra} if apart.variables else extra
        return self._environment.of(identity, extra=extra, agent=None if called is None else called.env)

    def _imports(self, launch: Launch, cwd: Path, shared: Mapping[str, str]) -> dict[str, str]:
        """Returns the variable that makes Python import from the worktree first.

        Agents do not get it: an agent in Python would import the project's modules instead of its own.
        """
        has_worktree = self._plan.scopes[launch.row].settings.has_branch
        if not self._import_roots or launch.agent is not None or not has_worktree or _PATH in shared:
            return {}
        return {_PATH: os.pathsep.join(os.path.normpath(cwd / root) for root in self._import_roots)}

    def _output(self, launch: Launch) -> str:
        """The name of its output."""
        if launch.name:
            return self.log_name(launch)
        name = output_name(launch.ref)
        return f"{name}.{launch.round}" if launch.round else name

    def log_name(self, launch: Launch) -> str:
        """The name of the output of a named job."""
        return f"{file_name(launch.path)}/{launch.step}.{launch.name}"

    def _report(self, launch: Launch) -> str:
        """The name of the output with its report."""
        name = self._output(launch)
        return boxed_prefix(name) if self._isolation.sandbox(launch).is_on else name

    def _result_file(self, launch: Launch) -> str:
        return f"{self._logs}/{self._report(launch)}.{OutputPart.REPORT}"

    def _make_folder(self, prefix: str) -> None:
        folder = os.path.dirname(prefix)  # noqa: PTH120 - as text, like all here
        if folder not in self._folders:
            os.makedirs(folder, exist_ok=True)  # noqa: PTH103
            self._folders.add(folder)


def _far_setup_name(step: Launch) -> str:
    return f"setup.{step.firing}-{step.execution}"


def _argv(command: Command) -> tuple[str, ...]:
    return (SHELL, "-c", command) if isinstance(command, str) else command


def not_started(order: Order, error: WeftError | OSError, *, at: float) -> Ended:
    """Returns the end of an order that could not be started."""
    return Ended(
        at=at, firing=order.firing, execution=order.execution, how=StepOutcome.INFRA, message=reason(error)
    )


def with_error(fact: Ended, trouble: str, error: WeftError | OSError) -> Ended:
    """Returns the end with a message about an error that occurred after it."""
    return replace(fact, message="; ".join(filter(None, (fact.message, f"{trouble}: {reason(error)}"))))


def as_failure(fact: Ended) -> Ended:
    """Returns the end as a failure, unless it is no success anyway."""
    return replace(fact, how=StepOutcome.FAILED) if fact.how is StepOutcome.DONE else fact


def reason(error: WeftError | OSError) -> str:
    """Returns the message of an error for people."""
    return describe(error) if isinstance(error, OSError) else str(error)
