"""The commands that a run of a plan starts, in the order of the plan, with the facts known before the run.

Whether a program exists when its step starts depends on the commands before it. A command can be judged with
certainty only if no command before it can install programs; a path in the workspace only if the workspace still
has the files that it started with.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence

from msgspec import Struct

from weft.app.project.shell_words import may_install
from weft.plan.loader.slices_check import agent_of
from weft.plan.model import AgentWork, Command, Nested, Pipeline, Plan, RunCommand, Step, Verify
from weft.plan.order.outline import ROOT


class PlannedCommand(Struct, frozen=True, kw_only=True):
    command: Command
    purpose: str
    """The user of the command, for messages, such as `verify of store/model`."""
    row: int
    """The subplan that provides the workspace."""
    is_first: bool = False
    """Whether it is the first process of a slice without dependencies, so no process has created files there."""
    may_be_installed: bool = False
    """Whether a command before it can install its program."""
    may_be_skipped: bool = False
    """Whether the plan allows it to be skipped or to fail."""
    has_own_path: bool = False
    """Whether the plan sets the variable PATH for it."""


class _Part(Struct, frozen=True):
    """The commands of one step."""

    commands: Sequence[Command]
    purpose: str
    may_be_skipped: bool
    has_own_path: bool


def planned_commands(plan: Plan, done: Collection[str] = ()) -> Iterator[PlannedCommand]:
    """Yields the commands of the subplans that are not done; none if no slice is left."""
    outline = plan.outline
    rows = [row for row in range(len(plan.subplans)) if outline.paths[row] not in done]
    slices = [row for row in rows if outline.is_leaf(row)]
    steps = _Steps(plan)
    # Slices run in parallel in any order, so a command in one of them can install the program for another.
    installs = any(
        may_install(command) for row in slices for command in (*_setup(plan, row), *steps.own_commands(row))
    )
    for row in slices:
        yield from _of_slice(plan, row, steps.of(row), installs=installs)
    if slices:
        for row in rows:
            if not outline.is_leaf(row):
                yield from _of_group(plan, row, installs=installs)


def is_initial(plan: Plan, row: int) -> bool:
    """Returns whether neither the subplan nor a group around it has dependencies."""
    while row != ROOT:
        if plan.outline.depends_on[row]:
            return False
        row = plan.outline.parents[row]
    return True


def _of_slice(plan: Plan, row: int, parts: Sequence[_Part], *, installs: bool) -> Iterator[PlannedCommand]:
    path, settings, initial = plan.outline.paths[row], plan.scopes[row].settings, is_initial(plan, row)
    setup = _Part(settings.setup_commands, f"setup of {path}", may_be_skipped=False, has_own_path=False)
    is_first = initial
    # A slice without dependencies may be the very first to run; nothing is certain to have run before it.
    installed = installs and not initial
    for part in (setup, *parts):
        for command in part.commands:
            yield PlannedCommand(
                command=command,
                purpose=part.purpose,
                row=row,
                is_first=is_first,
                may_be_installed=installed,
                may_be_skipped=part.may_be_skipped,
                has_own_path=part.has_own_path,
            )
            is_first = False
            # An agent works in its worktree, so it installs no program on the PATH.
            installed = installed or (not part.purpose.startswith(_AGENT) and may_install(command))
        # Even a step without a command (a question, a nested pipeline) may have changed the workspace before the
        # next command.
        is_first = is_first and part is setup


def _of_group(plan: Plan, row: int, *, installs: bool) -> Iterator[PlannedCommand]:
    """Yields the commands of a group's verify, which runs after the same setup as its slices."""
    settings = plan.scopes[row].settings
    installed = installs or any(map(may_install, settings.setup_commands))
    purpose = f"verify of {plan.outline.paths[row] or 'the plan'}"
    for command in plan.subplans[row].verify:
        yield PlannedCommand(command=command, purpose=purpose, row=row, may_be_installed=installed)
        installed = installed or may_install(command)


def _setup(plan: Plan, row: int) -> tuple[Command, ...]:
    return plan.scopes[row].settings.setup_commands


_AGENT = "agent "


class _Steps:
    """The steps of slices with their commands; slices with the same pipeline share them."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._flat: dict[int, tuple[Step, ...]] = {}

    def of(self, row: int) -> list[_Part]:
        parts = [part for step in self._steps(row) for part in self._part(row, step)]
        purpose = f"verify of {self._plan.outline.paths[row]}"
        if all(part.purpose != purpose for part in parts):
            # No step runs the verify, but a merge may.
            verify = self._plan.subplans[row].verify
            parts.append(_Part(verify, purpose, may_be_skipped=True, has_own_path=False))
        return parts

    def own_commands(self, row: int) -> Iterator[Command]:
        """Yields the commands of `run` steps."""
        return (step.body.command for step in self._steps(row) if isinstance(step.body, RunCommand))

    def _steps(self, row: int) -> tuple[Step, ...]:
        pipeline = self._plan.pipeline_of(row)
        key = id(pipeline)
        if key not in self._flat:
            self._flat[key] = tuple(_flatten(pipeline.steps, self._plan.pipelines))
        return self._flat[key]

    def _part(self, row: int, step: Step) -> Iterator[_Part]:
        path = self._plan.outline.paths[row]
        is_optional = step.condition not in {None, "always"} or step.on_error == "continue"
        has_own_path = "PATH" in step.env
        match step.body:
            case AgentWork() as body:
                agent = agent_of(body, self._plan.scopes[row].settings, self._plan.agents)
                assert agent is not None
                commands = () if agent.command is None else (agent.command,)
                own = has_own_path or "PATH" in agent.env
                yield _Part(commands, f"{_AGENT}{agent.name}", is_optional, own)
            case RunCommand() as body:
                yield _Part((body.command,), f"step {path}:{step.id}", is_optional, has_own_path)
            case Verify():
                verify = self._plan.subplans[row].verify
                yield _Part(verify, f"verify of {path}", is_optional, has_own_path)
            case _:
                pass


def _flatten(steps: Sequence[Step], pipelines: Mapping[str, Pipeline]) -> Iterator[Step]:
    for step in steps:
        yield step
        if isinstance(step.body, Nested):
            yield from _flatten(pipelines[step.body.pipeline].steps, pipelines)
