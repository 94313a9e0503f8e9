"""The orders for steps, merges, landings and workspaces, with rendered templates."""

from typing import TypedDict

from msgspec.structs import replace

from weft.engine.messages.internal_steps import InternalStep
from weft.engine.messages.orders import AgentTask, Land, Launch, LaunchKind, Merge, Ordered, Prepare
from weft.engine.rules.prompt_context import with_context, with_goal
from weft.engine.rules.step_result import part_name
from weft.engine.rules.template_values import Texts
from weft.engine.state.change_requests import is_request_added, request_text
from weft.engine.state.conversations import resumed
from weft.engine.state.cut_off_notice import text_of
from weft.engine.state.engine_state import EngineState
from weft.engine.state.pipelines import PlacedStep
from weft.engine.state.slice_state import StepFiring, SubplanState
from weft.plan.compile.actions import ActionKind
from weft.plan.hosts import LOCAL
from weft.plan.loader.slices_check import agent_of, resolver_of
from weft.plan.model import Agent, AgentWork, Command, RunCommand, Step


class _Far(TypedDict, total=False):
    """The fields of an order that runs on another machine."""

    host: str
    token: str


class Launcher:
    """Builds orders from firings."""

    def __init__(self, state: EngineState) -> None:
        self._state = state

    # The actions of Weft itself

    def part(self, firing: StepFiring) -> Ordered:
        subplan, kind = firing.subplan, firing.move.act.kind
        if kind is ActionKind.VERIFY:
            return self._verify(firing)
        if kind is ActionKind.LAND:
            return self._land(firing)
        if kind is ActionKind.MERGE:
            return Merge(
                firing=firing.serial,
                execution=1,
                row=subplan.row,
                path=subplan.path,
                without=self._state.left_out.get(subplan.row, ()),
                resolved=InternalStep.RESOLVE in subplan.attempts,
            )
        earlier = None if subplan.continuation is None else subplan.continuation.slice
        return Prepare(
            firing=firing.serial,
            execution=1,
            row=subplan.row,
            path=subplan.path,
            continues=earlier,
            without=self._state.results_in_trouble(),
            **self._far(subplan, subplan.host),
        )

    def _far(self, subplan: SubplanState, host: str | None) -> _Far:
        """Returns where an order runs and for which placement; nothing for this machine."""
        if host is None or host == LOCAL:
            return {}
        return {"host": host, "token": self._state.token(subplan)}

    def _place(self, firing: StepFiring) -> _Far:
        hosts = firing.subplan.step_hosts
        return self._far(firing.subplan, hosts.get(firing.step) if firing.move.host else None)

    def _land(self, firing: StepFiring) -> Land:
        state, row = self._state, firing.subplan.row
        settings = state.settings(row)
        preview, firing.preview = firing.preview, False
        return Land(
            firing=firing.serial,
            execution=1,
            row=row,
            path=firing.subplan.path,
            agreed=not settings.has_branch or settings.merge_mode == "auto" or row in state.agreed,
            preview=preview,
        )

    def _verify(self, firing: StepFiring) -> Launch:
        """Returns the order for the verify of a group."""
        subplan = firing.subplan
        settings = self._state.settings(subplan.row)
        verify = self._state.plan.subplans[subplan.row].verify
        if settings.has_branch:  # verify runs in a fresh directory, as a slice does
            verify = (*settings.setup_commands, *verify)
        return Launch(
            firing=firing.serial,
            execution=1,
            row=subplan.row,
            path=subplan.path,
            step=part_name(firing.move),
            kind=LaunchKind.VERIFY,
            attempt=firing.attempt,
            work=verify,
            timeout=settings.timeout,
            grace=settings.grace,
        )

    # Conflicts

    def resolver(self, subplan: SubplanState) -> Agent:
        agent = resolver_of(self._state.settings(subplan.row), self._state.plan.agents)
        assert agent is not None, "a loaded plan has an agent where one resolves conflicts"
        return agent

    def resolve(self, firing: StepFiring, agent: Agent) -> Launch:
        """Returns the order to resolve a conflict. The runtime adds the conflict itself to the prompt."""
        subplan = firing.subplan
        definition, settings = self._state.plan.subplans[subplan.row], self._state.settings(subplan.row)
        return Launch(
            firing=firing.serial,
            execution=1,
            row=subplan.row,
            path=subplan.path,
            step=InternalStep.RESOLVE,
            kind=LaunchKind.RESOLVE,
            attempt=firing.attempt,
            work=AgentTask(
                agent=agent,
                model=agent.model or settings.model,
                prompt=with_goal(definition.prompt or definition.title, self._state.plan),
            ),
            idle_timeout=settings.idle_timeout,
            timeout=settings.timeout,
            grace=settings.grace,
        )

    # Steps

    def agent(self, subplan: SubplanState, work: AgentWork) -> Agent:
        agent = agent_of(work, self._state.settings(subplan.row), self._state.plan.agents)
        assert agent is not None, "a loaded plan has an agent for each step"
        return agent

    def command(self, firing: StepFiring, placed: PlacedStep) -> Launch:
        """Returns the order for a command; raises `RenderError`, as `agent_work` does."""
        step, texts = placed.step, self._texts(firing, placed)
        settings = self._state.settings(firing.subplan.row)
        return Launch(
            firing=firing.serial,
            execution=1,
            row=firing.subplan.row,
            path=firing.subplan.path,
            step=placed.address,
            attempt=firing.attempt,
            work=self._commands(firing.subplan, step, texts),
            env=self._env(firing, step, texts) if step.env or firing.leases else {},
            inputs=texts.digest,
            sandbox=step.sandbox,
            timeout=step.timeout if step.timeout is not None else settings.timeout,
            grace=step.grace if step.grace is not None else settings.grace,
            **self._place(firing),
        )

    def agent_work(self, firing: StepFiring, placed: PlacedStep, agent: Agent) -> Launch:
        step, subplan, texts = placed.step, firing.subplan, self._texts(firing, placed)
        work, settings = step.body, self._state.settings(subplan.row)
        assert isinstance(work, AgentWork)
        session, fork = self._resumed(firing, agent)
        task = AgentTask(
            agent=agent,
            model=work.model or agent.model or settings.model,
            prompt=self._prompt(texts.filled(work.prompt), subplan, placed, continues=session is not None),
            interruption=text_of(subplan, placed.address, session),
            session=session,
            fork=fork,
            read_only=work.read_only,
            is_to_change=not work.read_only and step.output_schema is None,
        )
        return Launch(
            firing=firing.serial,
            execution=1,
            row=subplan.row,
            path=subplan.path,
            step=placed.address,
            attempt=firing.attempt,
            work=task,
            env=self._env(firing, step, texts),
            inputs=texts.digest,
            sandbox=step.sandbox,
            idle_timeout=step.idle_timeout if step.idle_timeout is not None else settings.idle_timeout,
            timeout=step.timeout if step.timeout is not None else settings.timeout,
            grace=step.grace if step.grace is not None else settings.grace,
            **self._place(firing),
        )

    def _prompt(self, filled: str, subplan: SubplanState, placed: PlacedStep, *, continues: bool) -> str:
        """Returns the complete prompt. A continued conversation already contains the context.

        A crash of the last attempt, and what a person wants changed, are mentioned even if the template does not
        read `feedback`.
        """
        work = placed.step.body
        assert isinstance(work, AgentWork)
        if placed.address in subplan.crashes and "feedback" not in work.prompt:
            filled = f"{filled.rstrip()}\n\n{subplan.crashes[placed.address]}"
        if subplan.request and is_request_added(placed.address, subplan.steps):
            filled = f"{filled.rstrip()}\n\n{request_text(subplan.request)}"
        return (
            filled if continues else with_context(filled, self._state.plan, subplan.row, template=work.prompt)
        )

    def _resumed(self, firing: StepFiring, agent: Agent) -> tuple[str | None, bool]:
        """Returns the session to continue, if any, and whether to fork it."""
        subplan = firing.subplan
        place = self._place(firing).get("token", "")
        firing.resumes, fork = resumed(subplan, subplan.steps[firing.step], agent, place)
        return None if firing.resumes is None else firing.resumes.session, fork

    def question(self, firing: StepFiring, placed: PlacedStep, text: str) -> str:
        return self._texts(firing, placed).filled(text)

    def _texts(self, firing: StepFiring, placed: PlacedStep) -> Texts:
        return Texts(self._state, firing.subplan, placed, firing.attempt)

    def _env(self, firing: StepFiring, step: Step, texts: Texts) -> dict[str, str]:
        return {name: texts.filled(value) for name, value in step.env.items()} | self._leased(firing)

    def _leased(self, firing: StepFiring) -> dict[str, str]:
        pools = self._state.plan.pools
        leased = [(pools[name].variable, values) for name, values in firing.leases]
        each = {
            f"{name}_{number}": value for name, values in leased for number, value in enumerate(values, 1)
        }
        # PORT_1 may also be the variable of a pool named port_1; that one takes precedence.
        return each | {name: "\n".join(values) for name, values in leased}

    def _commands(self, subplan: SubplanState, step: Step, texts: Texts) -> tuple[Command, ...]:
        if not isinstance(step.body, RunCommand):
            return self._state.plan.subplans[subplan.row].verify
        command = step.body.command
        if isinstance(command, str):
            return (texts.filled(command, quote=True),)
        return (tuple(texts.filled(argument) for argument in command),)

    # Leases and further executions

    def lease(self, firing: StepFiring, step: Step) -> None:
        """Leases values for a step from the pools that have values."""
        state = self._state
        firing.leases = tuple(
            (name, state.leases.take(name, count))
            for name, count in step.pools
            if state.plan.pools[name].values is not None
        )

    def again(self, firing: StepFiring) -> Ordered:
        """Returns the order for another execution, with the present leases.

        An agent with `resume` continues the session that the last execution reported.
        """
        order = firing.order
        assert order is not None
        if isinstance(order, Land):
            order = self._land(firing)
        if isinstance(order, Launch) and firing.leases:
            order = replace(order, env={**order.env, **self._leased(firing)})
        if isinstance(order, Launch) and firing.move.host:
            order = replace(order, **{"host": "", "token": "", **self._place(firing)})
        if isinstance(order, Launch) and order.task is not None and firing.step:
            session, fork = self._resumed(firing, order.task.agent)
            interruption = text_of(firing.subplan, firing.step, session)
            order = replace(
                order, work=replace(order.task, session=session, fork=fork, interruption=interruption)
            )
        return replace(order, execution=firing.execution)
