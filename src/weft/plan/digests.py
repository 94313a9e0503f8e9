"""Digests: whether two plans, or two subplans, are equal in everything that matters.

The digest of a *plan* covers everything that decides how a run goes: with an equal digest, an unfinished run can
be resumed. The digest of a *subplan* covers everything that leads to its result, so that a later run of an edited
plan can reuse the result: what it does, with which agents, and the digests of everything it starts from. What
only decides when something is done, or how often it is tried, does not count there. Comments, layout and
positions never count.

Digests are the same in every process: they are computed from encoded values, in a fixed order.
"""

from collections.abc import Iterator, Sequence
from hashlib import blake2b

import msgspec
from msgspec import Struct, field

from weft.plan.loader.slices_check import agent_of
from weft.plan.model import Agent, AgentWork, Ask, Nested, Pipeline, Plan, RunCommand, Step
from weft.plan.order.points import Points
from weft.plan.pipelines.hierarchy import inner_first
from weft.plan.placement import used_hosts
from weft.plan.settings import Scope, Settings
from weft.plan.text.document import Table

FORMAT = 1
"""Raise this when the meaning of digests changes."""
NET = 3
"""Raise this when the net of a plan changes, or how the engine interprets a fact. Runs of an older version can
then not be resumed; a new run carries their completed work over."""
SIZE = 16

_WORDS = ("prompt", "title", "goal")
"""Texts of a slice and of the plan that count if a template reads them."""


def _without_positions(value: object) -> None:
    if not isinstance(value, Table):
        raise TypeError(f"{type(value).__name__} has no place in a digest")


_ENCODER = msgspec.json.Encoder(enc_hook=_without_positions, order="sorted")


def _digest(*parts: object) -> bytes:
    return blake2b(_ENCODER.encode(parts), digest_size=SIZE).digest()


# Plans


def plan_digest(plan: Plan) -> str:
    """Returns the digest of everything that decides how a run goes."""
    head = (FORMAT, NET, plan.id, plan.goal, plan.base, plan.target, sorted(plan.env_allow))
    # The order of agents and pools numbers the places of the net, so it is part of the digest.
    shared: tuple[object, ...] = (list(plan.agents.items()), list(plan.pools.items()))
    if used := used_hosts(plan):
        shared = (*shared, used)
    numbers: dict[int, int] = {}
    settings: list[Settings] = []
    for scope in plan.scopes:
        # Scopes are shared by many rows, so each is encoded once.
        if numbers.setdefault(id(scope), len(settings)) == len(settings):
            settings.append(scope.settings)
    rows = [(*_row(plan, row), numbers[id(scope)]) for row, scope in enumerate(plan.scopes)]
    return _digest(head, shared, _used_pipelines(plan), settings, rows).hex()


def _row(plan: Plan, row: int) -> tuple[object, ...]:
    subplan, outline = plan.subplans[row], plan.outline
    return (
        outline.paths[row],
        outline.leaves[row],
        outline.depends_on[row],
        subplan.title,
        subplan.prompt,
        subplan.files,
        subplan.verify,
        subplan.pipeline,
        None if subplan.steps is None else subplan.steps.steps,
        subplan.estimate,
    )


def _used_pipelines(plan: Plan) -> list[tuple[str, tuple[Step, ...]]]:
    names = {subplan.pipeline for subplan in plan.subplans if subplan.pipeline is not None}
    own = [subplan.steps for subplan in plan.subplans if subplan.steps is not None]
    for pipeline in (*(plan.pipelines[name] for name in sorted(names)), *own):
        names.update(inner_first(pipeline.steps, plan.pipelines))
    return [(name, plan.pipelines[name].steps) for name in sorted(names)]


# Subplans


def subplan_digests(plan: Plan) -> list[str]:
    """Returns, for each row, the digest of everything that leads to its result."""
    outline = plan.outline
    parts = _Parts(plan)
    digests = [b""] * len(outline.paths)
    before = [b""] * len(outline.paths)
    """The digest of what each row starts from."""
    for point in Points(outline).topological_order():
        row, closes = divmod(point, 2)
        if not closes:
            outer = before[outline.parents[row]] if row else b""
            targets = outline.depends_on[row]
            # Sorted, since the order in which dependencies are listed does not change what a slice starts from.
            before[row] = _digest(outer, sorted(digests[target] for target in targets)) if targets else outer
        if closes:
            inside = sorted(digests[child] for child in outline.children(row))
            digests[row] = _digest(parts.group(row), before[row], inside)
        elif outline.leaves[row]:
            digests[row] = _digest(parts.slice(row), before[row])
    return [digest.hex() for digest in digests]


class _Work(Struct, frozen=True):
    """The digest of some steps."""

    digest: bytes
    reads: frozenset[str]
    """Which of `_WORDS` occur in their templates; agent steps always read the goal."""


class _Parts(Struct):
    """The own part of each row's digest. Many rows share parts, which are computed once."""

    plan: Plan
    _settings: dict[int, bytes] = field(default_factory=dict[int, bytes])
    _works: dict[tuple[int, str | None, str | None], _Work] = field(
        default_factory=dict[tuple[int, str | None, str | None], _Work]
    )

    def group(self, row: int) -> tuple[object, ...]:
        return (*self._common(row), "group")

    def slice(self, row: int) -> tuple[object, ...]:
        subplan = self.plan.subplans[row]
        settings = self.plan.scopes[row].settings
        work = self._work(self.plan.pipeline_of(row), settings)
        texts = {"prompt": subplan.prompt, "title": subplan.title, "goal": self.plan.goal}
        read = [texts[word] for word in _WORDS if word in work.reads]
        # Without `strict_files` the list is only a hint for the agent, and editing it repeats no work.
        return (*self._common(row), work.digest, read, subplan.files if settings.strict_files else None)

    def _common(self, row: int) -> tuple[object, ...]:
        plan = self.plan
        own = (plan.outline.paths[row], plan.subplans[row].verify)
        return (FORMAT, plan.id, plan.base, *own, self._of_settings(plan.scopes[row]))

    def _of_settings(self, scope: Scope) -> bytes:
        if id(scope) not in self._settings:
            self._settings[id(scope)] = _digest(_relevant(scope.settings))
        return self._settings[id(scope)]

    def _work(self, pipeline: Pipeline, settings: Settings) -> _Work:
        # Of the settings, only these two change what the steps do.
        key = (id(pipeline), settings.agent, settings.model)
        if key not in self._works:
            self._works[key] = self._work_of(pipeline.steps, settings)
        return self._works[key]

    def _work_of(self, steps: Sequence[Step], settings: Settings) -> _Work:
        """Returns the work of some steps. The recursion is bounded by the nesting of pipelines."""
        inner = {
            step.id: self._work(self.plan.pipelines[step.body.pipeline], settings)
            for step in steps
            if isinstance(step.body, Nested)
        }
        forms = [(self._body(step, inner, settings), *self._conditions(step)) for step in steps]
        texts = [text for step in steps for text in _texts(step)]
        # A word anywhere in a template counts: it is better to redo work than to reuse a wrong result.
        reads = {word for word in _WORDS if any(word in text for text in texts)}
        if any(isinstance(step.body, AgentWork) for step in steps):
            reads.add("goal")
        return _Work(_digest(forms), frozenset(reads).union(*(work.reads for work in inner.values())))

    def _body(self, step: Step, inner: dict[str, _Work], settings: Settings) -> tuple[object, ...]:
        match step.body:
            case AgentWork() as work:
                agent = agent_of(work, settings, self.plan.agents)
                model = work.model or settings.model
                return ("agent", work.prompt, _identity(agent), model, work.resume, work.read_only)
            case Nested():
                return ("pipeline", inner[step.id].digest)
            case body:
                # With the kind of step, since different kinds could have equal fields.
                return (type(body).__name__, body)

    def _conditions(self, step: Step) -> tuple[object, ...]:
        variables = [self.plan.pools[name].variable for name, _ in step.pools if self.plan.pools[name].values]
        return (
            step.id,
            step.is_async,
            step.depends_on,
            step.condition or "always",
            step.output_schema,
            step.on_error == "continue",
            None if step.on_fail is None else step.on_fail.retry_from,
            step.on_result,
            sorted(variables),
            step.env,
            *(() if step.sandbox is None else (step.sandbox,)),
        )


def _relevant(settings: Settings) -> tuple[object, ...]:
    """Returns the settings that affect the result, or where it is found."""
    return (
        settings.isolation,
        settings.worktrees,
        settings.branch_prefix,
        settings.merge_take_branch,
        settings.strict_files,
        settings.setup,
        settings.copy,
        settings.link,
        settings.sparse,
        # Added only if it is set, like the next ones: a setting that a new version introduces must not change old
        # digests.
        *(("resolve",) if settings.resolves else ()),
        *(("isolated_home",) if settings.isolated_home else ()),
        *((settings.sandbox,) if settings.sandbox.is_on else ()),
    )


def _identity(agent: Agent | None) -> tuple[object, ...]:
    """Returns an agent without its pool size and limits on cost."""
    assert agent is not None, "a loaded plan has an agent for each step"
    isolation = (agent.isolated_home, agent.sandbox)
    own = (agent.use, agent.model, agent.command, agent.script, agent.args, agent.env)
    return own if isolation == (None, None) else (*own, *isolation)


def _texts(step: Step) -> Iterator[str]:
    match step.body:
        case AgentWork(prompt=text) | Ask(question=text) | RunCommand(command=str() as text):
            yield text
        case RunCommand(command=arguments):
            yield from arguments
        case _:
            pass
    yield step.condition or ""
    yield from step.env.values()
    for rule in step.on_result:
        yield rule.when
        yield rule.question or ""
