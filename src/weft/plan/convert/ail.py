"""Pipelines of `ail`: the file becomes a plan with one subplan, `main`, whose steps are the file's pipeline.

What is read: `defaults`, `pipeline` and `pipelines`; in a step its kind and `async`, `depends_on`, `condition`,
`on_result`, `on_error`, `max_retries`, `output_schema`, `resume`, `model`, `runner`, `message`; any other key
gives a note. What cannot be said in Weft is decided by a person, see `ail_steps`. Two differences are made up for:

- A command that fails is a result in ail and a failure in Weft, so commands have `on_error: continue`.
- ail runs the prompt of its command line first, as a step called `invocation`. Weft has no such prompt: it is the
  prompt of `main`, and the step is written only if some template reads its answer.
"""

from weft.plan.convert.ail_file import Step, check_calls, read_steps
from weft.plan.convert.ail_steps import Agents, Context, PipelineWriter
from weft.plan.convert.ail_templates import Findings
from weft.plan.convert.fields import NOT_CARRIED_OVER, Fields
from weft.plan.convert.names import fitting_ids
from weft.plan.convert.notes import Source
from weft.plan.convert.writing import ASSUMED, ID_RULE, without_empty
from weft.plan.text.document import Table
from weft.plan.text.emit import Plain

MAIN = "main"
PLACEHOLDER = "Write here what ail was given on its command line."
_PROVIDER = "how an agent reaches its model is set up with the agent"
_TOOLS = {"tools": "what an agent may do is set up with the agent"}


def convert_ail(source: Source) -> dict[str, Plain]:
    """The plan, but for its first keys."""
    top = Fields(source.table(), source)
    top.take("version")
    if top.take("FROM") is not None:
        top.wrong("FROM", "continues another file; convert what `ail materialize` makes of it")
    model, settings = _defaults(top)
    named = _named(top)
    steps = read_steps(top.each("pipeline"), top, "pipeline")
    top.rest()
    check_calls(named, source)
    source.ledger.settle()
    return _Plan(source, named, steps, model).written(settings)


def _defaults(top: Fields) -> tuple[str | None, dict[str, Plain]]:
    defaults = top.fields("defaults")
    if defaults is None:
        return None, {}
    defaults.named("defaults")
    model = defaults.text("model") or _provider_model(defaults)
    settings: dict[str, Plain] = {"max_concurrency": _concurrency(defaults), "timeout": _timeout(defaults)}
    defaults.rest(_TOOLS)
    return model, settings


def _provider_model(defaults: Fields) -> str | None:
    if not isinstance(defaults.take("provider"), Table):
        defaults.leave("provider", _PROVIDER)
        return None
    provider = defaults.fields("provider")
    assert provider is not None
    model = provider.named("defaults: provider").text("model")
    provider.rest(dict.fromkeys(provider.table.entries, _PROVIDER))
    return model


def _concurrency(defaults: Fields) -> int | None:
    found = defaults.number("max_concurrency", least=0)
    if found == 0:
        defaults.note(
            "max_concurrency",
            f"max_concurrency: 0 {NOT_CARRIED_OVER}",
            "no limit is what Weft has without it",
        )
    return found or None


def _timeout(defaults: Fields) -> str | None:
    found = defaults.number("timeout_seconds", least=1)
    if found is not None:
        defaults.note(
            "timeout_seconds",
            f"timeout_seconds becomes {found}s",
            "ail does not end a step by it, Weft does",
        )
    return None if found is None else f"{found}s"


def _named(top: Fields) -> dict[str, list[Step]]:
    pipelines = top.fields("pipelines")
    if pipelines is None:
        return {}
    return {name: read_steps(pipelines.each(name), pipelines, name) for name in pipelines.table.entries}


class _Plan:
    def __init__(
        self, source: Source, named: dict[str, list[Step]], steps: list[Step], model: str | None
    ) -> None:
        self._source = source
        self._named = named
        self._steps = steps
        pipelines = {**named, "": steps}  # no name is empty that a step could call
        self._context = Context(
            agents=Agents(model),
            findings=Findings(),
            pipelines=pipelines,
            ids={
                name: fitting_ids((step.id for step in inner), otherwise="step")
                for name, inner in pipelines.items()
            },
            names=fitting_ids(named, otherwise="pipeline"),
        )

    def written(self, settings: dict[str, Plain]) -> dict[str, Plain]:
        context = self._context
        main = PipelineWriter("", context, is_main=True).written()
        pipelines: dict[str, Plain] = {
            context.names[name]: PipelineWriter(name, context, is_main=False).written()
            for name in self._named
        }
        main = self._with_invocation(main)
        self._tell()
        return without_empty(
            {
                **settings,
                "env_allow": list(context.findings.env),
                "agents": context.agents.used or None,
                "pipelines": pipelines or None,
                "subplans": [self._main(main)],
            }
        )

    def _with_invocation(self, steps: list[Plain]) -> list[Plain]:
        findings = self._context.findings
        if not findings.invocation:
            return steps
        findings.prompt = True
        agent = self._context.agents.called(ASSUMED)
        return [{"id": "invocation", "agent": agent, "prompt": "{{ slice.prompt }}"}, *steps]

    def _main(self, steps: list[Plain]) -> Plain:
        prompt = PLACEHOLDER if self._context.findings.prompt else None
        return without_empty({"id": MAIN, "prompt": prompt, "steps": steps})

    def _tell(self) -> None:
        if self._context.agents.used:
            why = "change `use` under `agents` in the plan"
            self._source.note(1, f"where no runner is named, the agent is {ASSUMED!r}", why)
        self._tell_of_the_prompt()
        self._tell_of_commands()
        for name, steps in self._context.pipelines.items():
            for step in steps:
                self._tell_of_id(step, self._context.ids[name][step.id])
        for name, new in self._context.names.items():
            if new != name:
                self._source.note(1, f"pipeline {name!r} is now {new!r}", ID_RULE)

    def _tell_of_the_prompt(self) -> None:
        if self._context.findings.prompt:
            self._source.note(1, "the prompt of ail's command line is the prompt of 'main'", "write it there")
        elif not any(step.id == "invocation" for step in self._steps):
            what = "the prompt of ail's command line is not run first"
            self._source.note(1, what, "no step reads its answer; add a step if they build upon its work")

    def _tell_of_commands(self) -> None:
        commands = [
            step for steps in self._context.pipelines.values() for step in steps if step.kind == "context"
        ]
        if commands:
            first = min(commands, key=lambda step: step.fields.table.line)
            first.fields.note(
                "context", "commands have on_error: continue", "a failing command is no error in ail"
            )

    def _tell_of_id(self, step: Step, new: str) -> None:
        if new != step.id:
            step.fields.note("id", f"its id is now {new!r}", ID_RULE)
