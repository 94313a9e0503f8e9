"""Translates the engine's orders into jobs for the host, and the ends of jobs into facts."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from weft.engine.messages.facts import Ended, StepOutcome
from weft.engine.messages.orders import Freeze, Halt, Launch, Merge, Order, Prepare
from weft.errors import WeftError
from weft.ids import file_name
from weft.plan.model import Command, Plan
from weft.plan.prices import priced
from weft.plan.settings import Settings
from weft.ports.agent import AgentAdapter, AgentCall, Invocation, Progress, Verdict, is_metered
from weft.ports.host import Job, JobEnded
from weft.runtime.environment import StepEnvironment, StepIdentity
from weft.runtime.homes import Homes
from weft.runtime.isolation import Isolation, StepIsolation, boxed_prefix
from weft.runtime.results import agent_ended, cut_off, fact_of, read_output
from weft.runtime.sandbox.boxes import with_sandbox_failure
from weft.system_errors import describe

SHELL = "/bin/sh"
_PATH = "PYTHONPATH"
SETUP, MERGE, LAND, VERIFY = "@workspace", "@merge", "@land", "@verify"
"""Weft's own steps with processes; no plan contains them."""


_Report = TypeVar("_Report", Verdict, Progress)


class SpendingGauge(Struct, frozen=True, kw_only=True):
    """The file in which a running agent reports its spending, and how to read it."""

    file: str
    read: Callable[[str], Progress | None]


class JobFactory:
    def __init__(  # noqa: PLR0913 - by name, all of them
        self,
        *,
        run: str,
        plan: Plan,
        plan_dir: Path,
        logs: Path,
        adapter_of: Callable[[str], AgentAdapter],
        environ: Mapping[str, str],
        isolation: Isolation | None = None,
        import_roots: Sequence[Path] = (),
    ) -> None:
        """`isolation`: None if there are no sandboxes.

        `import_roots`: directories, from the plan's own, from which Python is to import in each worktree first.
        """
        self._run = run
        self._plan = plan
        self._plan_dir = plan_dir
        self._logs = logs
        self._adapter_of = adapter_of
        self._environment = StepEnvironment(environ, allow=plan.env_allow)
        self._isolation = isolation or Isolation(plan, Homes(logs.parent / "homes"))
        self._import_roots = import_roots
        self._folders: set[str] = set()

    def id(self, order: Order | Halt | Freeze) -> str:
        if isinstance(order, Launch) and order.name:
            return self.named(order.name)
        again = f".{order.round}" if isinstance(order, Launch) and order.round else ""
        return f"{self._run}.{order.firing}.{order.execution}{again}"

    def named(self, name: str) -> str:
        """Returns the id of a job that has a name within the run."""
        return f"{self._run}.{name}"

    def job(self, launch: Launch, cwd: Path) -> Job:
        """Returns the job of a launch. Raises `WeftError` or, if it cannot create the directory, `OSError`."""
        name, output = self.id(launch), self._prefix(launch)
        apart = self._isolation.of(launch)
        commands = tuple(_argv(command) for command in launch.commands)
        called = None
        if launch.agent is not None:
            self._make_folder(output)  # for the report; the supervisor creates the files of the output
            called = self._adapter(launch).invoke(self._call(launch, cwd))
            commands = (called.argv,)
        shared = self._environment.inherited(agent=called is not None)
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
            grace=launch.grace,
            sandboxed=apart.sandbox.is_on,
        )

    def setup(self, order: Prepare) -> Launch | None:
        """Returns the launch of the setup commands in a new workspace; None if there are none."""
        commands = self._settings(order).setup_commands
        return self._own(order, SETUP, commands) if commands else None

    def verify(self, order: Merge, commands: Sequence[Command], number: int) -> Launch:
        """Returns the launch of a round of the verify on a merged result, before the branch moves."""
        return replace(
            self._own(order, MERGE, (*self._settings(order).setup_commands, *commands)), round=number
        )

    def _own(self, order: Order, step: str, commands: tuple[Command, ...]) -> Launch:
        settings = self._settings(order)
        return Launch(
            firing=order.firing,
            execution=order.execution,
            row=order.row,
            path=order.path,
            step=step,
            attempt=1,
            commands=commands,
            timeout=settings.timeout,
            grace=settings.grace,
        )

    def _settings(self, order: Order) -> Settings:
        return self._plan.scopes[order.row].settings

    def fact(
        self, launch: Launch, ended: JobEnded, cwd: Path, *, at: float, halted: StepOutcome | None
    ) -> Ended:
        prefix = self._prefix(launch)
        ended = with_sandbox_failure(ended) if self._isolation.sandbox(launch).is_on else ended
        output = read_output(ended, prefix)
        verdict = None
        if launch.agent is not None:
            judged = agent_ended(ended, output, self._result_file(launch))
            verdict = self._priced(launch, self._adapter(launch).judge(self._call(launch, cwd), judged))
        return cut_off(launch, fact_of(launch, ended, output, at=at, halted=halted, verdict=verdict))

    def gauge(self, launch: Launch, cwd: Path) -> SpendingGauge | None:
        """Returns how to read the spending of a running agent; None if it reports only at its end."""
        adapter, prefix = self._adapter(launch), self._prefix(launch)
        if not is_metered(adapter):
            return None
        call, parse = self._call(launch, cwd), adapter.progress

        def read(text: str) -> Progress | None:
            progress = parse(call, text)
            return None if progress is None else self._priced(launch, progress)

        file = f"{prefix}.out" if adapter.PROGRESS_IN == "stdout" else self._result_file(launch)
        return SpendingGauge(file=file, read=read)

    def _priced(self, launch: Launch, report: _Report) -> _Report:
        """Returns the report with a cost computed from its tokens, if it has none and there is a price."""
        assert launch.agent is not None
        if report.cost is not None or report.tokens is None or not self._plan.prices:
            return report
        names = (launch.model, launch.agent.model, launch.agent.name)
        return replace(report, cost=priced(self._plan.prices, names, report.tokens, report.usage))

    def _adapter(self, launch: Launch) -> AgentAdapter:
        assert launch.agent is not None
        return self._adapter_of(launch.agent.use)

    def _call(self, launch: Launch, cwd: Path) -> AgentCall:
        assert launch.agent is not None
        return AgentCall(
            agent=launch.agent,
            prompt="\n\n".join(filter(None, (launch.interruption, launch.prompt))),
            model=launch.model,
            session=launch.session,
            fork=launch.fork,
            read_only=launch.read_only,
            plan_dir=str(self._plan_dir),
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
            plan_dir=str(self._plan_dir),
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

    def _prefix(self, launch: Launch) -> str:
        if launch.name:
            return f"{self._logs}/{self.log_name(launch)}"
        which = (launch.attempt, launch.firing, launch.execution)
        prefix = output_prefix(self._logs, launch.path, launch.step, which)
        return f"{prefix}.{launch.round}" if launch.round else prefix

    def log_name(self, launch: Launch) -> str:
        """Returns the prefix of the log files of a named job, relative to the run's logs."""
        return f"{file_name(launch.path)}/{launch.step}.{launch.name}"

    def _result_file(self, launch: Launch) -> str:
        prefix = self._prefix(launch)
        return f"{boxed_prefix(prefix) if self._isolation.sandbox(launch).is_on else prefix}.result.json"

    def _make_folder(self, prefix: str) -> None:
        folder = os.path.dirname(prefix)  # noqa: PTH120 - as text, like all here
        if folder not in self._folders:
            os.makedirs(folder, exist_ok=True)  # noqa: PTH103
            self._folders.add(folder)


def output_prefix(logs: Path, path: str, step: str, which: tuple[int, int, int]) -> str:
    """Returns the prefix of a step's output files; `which` is attempt, firing, execution."""
    attempt, firing, execution = which
    return f"{logs}/{file_name(path)}/{step}.{attempt}.{firing}-{execution}"


def _argv(command: Command) -> tuple[str, ...]:
    return (SHELL, "-c", command) if isinstance(command, str) else command


def could_not(order: Order, error: WeftError | OSError, *, at: float) -> Ended:
    """Returns the end of an order that could not be started."""
    return Ended(
        at=at, firing=order.firing, execution=order.execution, how=StepOutcome.INFRA, message=reason(error)
    )


def but(fact: Ended, trouble: str, error: WeftError | OSError) -> Ended:
    """Returns the end with a message about an error that occurred after it."""
    return replace(fact, message="; ".join(filter(None, (fact.message, f"{trouble}: {reason(error)}"))))


def reason(error: WeftError | OSError) -> str:
    """Returns the message of an error for people."""
    return describe(error) if isinstance(error, OSError) else str(error)
