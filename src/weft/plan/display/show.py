"""Writes a plan with everything resolved, as a plan that needs no configuration or flags.

Each setting in force at the root is written there, and each setting of a subplan is written on the subplan, with
the value that counts: that of a flag, if there is one. A comment gives the origin of each value. Built-in
pipelines are written in full if they are used; dependencies are paths from the root. So the text gives the same
net wherever it is loaded, also by a later version with other defaults.
"""

from collections.abc import Iterator, Sequence
from typing import assert_never

from msgspec import Struct, field

from weft.plan.display import notation
from weft.plan.display.origins import agent_origin, host_origin, notify_origin, origin
from weft.plan.language.tables import VERSION
from weft.plan.model import (
    Agent,
    AgentWork,
    Ask,
    Body,
    Join,
    Nested,
    OnFail,
    OnResult,
    Pipeline,
    Plan,
    Pool,
    RunCommand,
    Step,
    Subplan,
    Verify,
    named_agents,
)
from weft.plan.order.outline import ROOT
from weft.plan.pipelines.hierarchy import used_pipelines
from weft.plan.settings import SETTING_NAMES, Scope
from weft.plan.text.emit import Path, Plain, to_dense_yaml, to_yaml

Entries = dict[str, Plain]


def show_plan(plan: Plan) -> str:
    """Returns the text. Loaded without configuration and flags, it gives the same net."""
    return _PlanWriter(plan).text()


def record_plan(plan: Plan) -> str:
    """Returns the same for programs, without comments."""
    return to_dense_yaml(plan_entries(plan))


def plan_entries(plan: Plan) -> Entries:
    """Returns the same as data."""
    return _PlanWriter(plan).entries()


class _PlanWriter(Struct):
    """Collects the entries of a plan, and comments about their origins."""

    plan: Plan
    comments: dict[Path, str] = field(default_factory=dict[Path, str])

    def text(self) -> str:
        entries = self.entries()
        self.comments[()] = self.heading(entries)
        return to_yaml(entries, comments=self.comments)

    def entries(self) -> Entries:
        plan = self.plan
        settings = self.settings(ROOT, SETTING_NAMES, ())
        head: dict[str, Plain] = {
            "weft": VERSION,
            "plan": plan.id,
            "goal": plan.goal,
            "base": plan.base,
            "target": plan.target,
        }
        return {
            **{key: value for key, value in head.items() if value is not None},
            **settings,
            **notation.without_empty(
                {
                    "verify": notation.commands(plan.subplans[ROOT].verify),
                    "agents": self.agents(),
                    "pools": {name: _pool(pool) for name, pool in plan.pools.items()},
                    "pipelines": self.pipelines(),
                    "env_allow": sorted(plan.env_allow),
                    "prices": {name: notation.price(price) for name, price in plan.prices.items()},
                    "notify": self.notify(),
                    "hosts": self.hosts(),
                }
            ),
            "subplans": self.subplans(ROOT, ("subplans",)),
        }

    def heading(self, entries: Entries) -> str:
        unset = [name for name in SETTING_NAMES if "." not in name and name not in entries]
        heading = f"{self.plan.document.file} with everything resolved."
        return f"{heading}\nNot set: {', '.join(unset)}." if unset else heading

    def settings(self, row: int, names: Sequence[str], path: Path) -> Entries:
        """Returns the settings with these names in force at a row; names with a dot are parts of an entry."""
        entries: Entries = {}
        scope = self.plan.scopes[row]
        for name in names:
            value = notation.setting(name, scope.find(name)[0])
            if value is None:
                continue
            key, _, part = name.partition(".")
            if not part:
                entries[key] = value
            elif isinstance(inside := entries.setdefault(key, {}), dict):
                inside[part] = value
            else:  # a plain amount of dollars becomes a mapping if there are tokens, too
                entries[key] = {"usd": inside, part: value}
                self.comments[(*path, key, "usd")] = self.comments.pop((*path, key))
            self.comments[(*path, *name.split("."))] = _origin(scope, name)
        return entries

    def agents(self) -> Entries:
        for name, agent in self.plan.agents.items():
            self.comments["agents", name] = str(agent_origin(self.plan, agent))
        return {name: _agent(agent) for name, agent in self.plan.agents.items()}

    def hosts(self) -> Entries:
        for name in self.plan.hosts:
            self.comments["hosts", name] = str(host_origin(self.plan, name))
        return {name: notation.host(host) for name, host in self.plan.hosts.items()}

    def notify(self) -> list[Plain]:
        if self.plan.notify:
            self.comments["notify",] = str(notify_origin(self.plan))
        return [notation.notify(entry) for entry in self.plan.notify]

    def pipelines(self) -> Entries:
        shown: Entries = {}
        used = used_pipelines(self.plan)
        for name, pipeline in self.plan.pipelines.items():
            # Unused built-in pipelines would only be noise.
            if pipeline.built_in and name not in used:
                continue
            shown[name] = _steps(pipeline)
            if pipeline.built_in:
                self.comments["pipelines", name] = _built_in(pipeline)
        return shown

    def subplans(self, group: int, path: Path) -> list[Plain]:
        rows = self.plan.outline.children(group)
        return [self.subplan(row, (*path, number)) for number, row in enumerate(rows)]

    def subplan(self, row: int, path: Path) -> Entries:
        subplan, outline = self.plan.subplans[row], self.plan.outline
        own = [name for name in SETTING_NAMES if name in subplan.settings]
        entries: Entries = {"id": subplan.id} | notation.without_empty(
            {
                # The loader uses the id as the title if there is none.
                "title": None if subplan.title == subplan.id else subplan.title,
                "prompt": subplan.prompt,
                # Paths from the root mean the same wherever the subplan is moved by hand later.
                "depends_on": [f"/{outline.paths[target]}" for target in outline.depends_on[row]],
                "files": list(subplan.files),
                "verify": notation.commands(subplan.verify),
            }
        )
        entries |= self.settings(row, own, path)
        if subplan.estimate is not None:
            entries["estimate"] = notation.estimate(subplan.estimate)
        return entries | self.inside(row, subplan, path)

    def inside(self, row: int, subplan: Subplan, path: Path) -> Entries:
        if not self.plan.outline.is_leaf(row):
            return {"subplans": self.subplans(row, (*path, "subplans"))}
        if subplan.steps is not None:
            return {"steps": _steps(subplan.steps)}
        return {"pipeline": subplan.pipeline}


def _origin(scope: Scope, name: str) -> str:
    return str(origin(scope, name))


def _built_in(pipeline: Pipeline) -> str:
    """Returns the comment for a built-in pipeline, with the agents that do a step because of their names."""
    agents = [f"step {step} by the agent {agent}" for step, agent in named_agents(pipeline)]
    return f"built in; {' and '.join(agents)}" if agents else "built in"


def _agent(agent: Agent) -> Plain:
    return notation.without_empty(
        {
            "use": agent.use,
            "model": agent.model,
            "pool": agent.pool,
            "command": None if agent.command is None else notation.command(agent.command),
            "script": agent.script,
            "args": list(agent.args),
            "env": dict(agent.env),
            "max_cost": None if agent.max_cost is None else notation.dollars(agent.max_cost),
            "max_tokens": None if agent.max_tokens is None else notation.tokens(agent.max_tokens),
            "sandbox": None if agent.sandbox is None else notation.sandbox(agent.sandbox),
        }
    ) | ({} if agent.isolated_home is None else {"isolated_home": agent.isolated_home})


def _pool(pool: Pool) -> Plain:
    return pool.size if pool.values is None else {"values": list(pool.values)}


def _steps(pipeline: Pipeline) -> list[Plain]:
    return [dict(step_entries(step)) for step in pipeline.steps]


def step_entries(step: Step) -> Iterator[tuple[str, Plain]]:
    """Yields the keys and values of a step."""
    yield "id", step.id
    yield from notation.without_empty(_body(step.body)).items()
    yield from notation.without_empty(
        {
            "async": step.is_async,
            "depends_on": list(step.depends_on),
            "condition": step.condition,
            "on_error": step.on_error if step.on_error != "abort" or _aborts_on_crash(step) else None,
            "max_retries": step.max_retries or None,
            "pools": dict(step.pools),
            "timeout": None if step.timeout is None else notation.duration(step.timeout),
            "idle_timeout": None if step.idle_timeout is None else notation.duration(step.idle_timeout),
            "grace": None if step.grace is None else notation.duration(step.grace),
            "env": dict(step.env),
            "host": None if step.host is None else notation.host_choice(step.host),
            "sandbox": None if step.sandbox is None else notation.sandbox(step.sandbox),
            "on_result": [dict(_rule(rule)) for rule in step.on_result],
        }
    ).items()
    if step.on_fail is not None:
        yield "on_fail", _on_fail(step.on_fail)
    if step.output_schema is not None:
        yield "output_schema", dict(step.output_schema)
    if step.estimate is not None:
        yield "estimate", notation.estimate(step.estimate)


def _rule(rule: OnResult) -> Entries:
    own: Entries = {} if rule.question is None else {"question": rule.question}
    return {"when": rule.when, "action": rule.action, **own}


def _body(body: Body) -> Entries:
    match body:
        case AgentWork():
            return {
                "prompt": body.prompt,
                "agent": body.agent,
                "model": body.model,
                "resume": body.resume,
                "max_cost": None if body.max_cost is None else notation.dollars(body.max_cost),
                "max_tokens": None if body.max_tokens is None else notation.tokens(body.max_tokens),
                "read_only": body.read_only,
            }
        case RunCommand(command):
            return {"run": notation.command(command)}
        case Verify():
            return {"action": "verify"}
        case Join():
            return {"action": "join"}
        case Ask(question):
            return {"action": "ask", "question": question}
        case Nested(pipeline):
            return {"pipeline": pipeline}
        case _:
            assert_never(body)


def _on_fail(on_fail: OnFail) -> Entries:
    limit: Entries = {} if on_fail.max is None else {"max": on_fail.max}
    return {"retry_from": on_fail.retry_from, **limit}


def _aborts_on_crash(step: Step) -> bool:
    """Returns whether `on_error: abort` must be written: without it, a crashed agent is retried."""
    return isinstance(step.body, AgentWork) and not step.retries_crashes
