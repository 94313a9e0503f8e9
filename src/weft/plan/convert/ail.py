"""Converts pipelines of `ail`: a file becomes a plan with one subplan, `main`, with the steps of its pipeline.

These keys are read: `defaults`, `pipeline` and `pipelines`; of a step its kind and `async`, `depends_on`,
`condition`, `on_result`, `on_error`, `max_retries`, `output_schema`, `resume`, `model`, `runner`, `message`,
`before`, `then`. Any other key gives a note. A pipeline in another file, named by its path from the calling file,
becomes a named pipeline if that file is available. A person decides what cannot be expressed in Weft, see
`ail_steps`. Two differences are compensated:

- A command that fails is a result in ail and a failure in Weft, so commands get `on_error: continue`.
- ail runs the prompt of its command line first, as a step called `invocation`. Weft has no such prompt: it becomes
  the prompt of `main`, and the step is written only if some template reads its answer.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from posixpath import basename, dirname, join, normpath

from weft.plan.convert.ail_chains import flatten_steps
from weft.plan.convert.ail_file import AilStep, check_calls, read_steps
from weft.plan.convert.ail_steps import Agents, Context, PipelineWriter
from weft.plan.convert.ail_templates import Findings
from weft.plan.convert.fields import NOT_CARRIED_OVER, Fields
from weft.plan.convert.names import free_id, valid_id, valid_ids
from weft.plan.convert.notes import ConversionSource
from weft.plan.convert.plan_parts import ASSUMED, ID_RULE, without_empty
from weft.plan.text.document import Items, Node, Scalar, Table, read_document
from weft.plan.text.emit import Plain
from weft.plan.text.problems import PlanError

MAIN = "main"
PLACEHOLDER = "Write here what ail was given on its command line."
_SUFFIXES = (".yaml", ".yml", ".ail")
_PART = "::"
_PROVIDER = "how an agent reaches its model is set up with the agent"
_FIRST_FILE_ONLY = dict.fromkeys(
    ("max_concurrency", "timeout_seconds"), "the plan has what the first file says"
)
_TOOLS = {"tools": "what an agent may do is set up with the agent"}


def convert_ail(sources: Sequence[ConversionSource]) -> dict[str, Plain]:
    """Returns the plan without its first keys.

    The first file is converted, the others are files that it calls.
    """
    files = [_read_file(source, is_main=not number) for number, source in enumerate(sources)]
    main = files[0]
    named = {name: steps for file in files for name, steps in file.pipelines.items() if name}
    # Recursive lookups below need pipelines without cycles.
    check_calls(named, main.source)
    # From here on, ids and references are looked up without further checks.
    main.source.ledger.settle()
    models = {
        name: file.model
        for file in files[1:]
        for name in file.pipelines
        if file.model not in {None, main.model}
    }
    return _Plan(main, named, models).written(main.settings)


def called_files(file: str, text: str) -> list[str]:
    """Returns the names of the files that a file of ail calls; none if it cannot be read."""
    try:
        root = read_document(text, file).root
    except PlanError:
        return []
    return list(dict.fromkeys(name for word in _words(root) if (name := _beside(file, word))))


def _words(node: Node) -> Iterator[str]:
    """Yields the values of all keys `pipeline` that are text."""
    match node:
        case Items():
            yield from (word for item in node.nodes for word in _words(item))
        case Table():
            for key, (_, value) in node.entries.items():
                if key == "pipeline" and isinstance(value, Scalar):
                    yield value.text
                yield from _words(value)
        case Scalar():
            return


def _beside(file: str, word: str) -> str:
    """Returns the name of the file that a step of another file calls; empty if the word names none."""
    if not word.endswith(_SUFFIXES) or word.startswith(("/", "~")) or "{{" in word:
        return ""
    return normpath(join(dirname(file), word))


@dataclass(frozen=True, slots=True, kw_only=True)
class _File:
    """One file of ail, as read."""

    source: ConversionSource
    model: str | None
    settings: dict[str, Plain]
    pipelines: dict[str, list[AilStep]]
    """By a name that is unique among all files; the first file's own pipeline has the name ''."""


def _read_file(source: ConversionSource, *, is_main: bool) -> _File:
    top = Fields(source.table(), source)
    top.take("version")
    if top.take("FROM") is not None:
        top.wrong("FROM", "continues another file; convert what `ail materialize` makes of it")
    model, settings = _defaults(top, is_main=is_main)
    own = "" if is_main else normpath(source.file)
    pipelines = _named(top)
    pipelines = {name if is_main else f"{own}#{name}": steps for name, steps in pipelines.items()}
    # A file's own pipeline is called by the name of the file.
    pipelines[own] = read_steps(top.each("pipeline"), top, "pipeline")
    top.rest()

    def resolve(word: str) -> str:
        """Returns the name of the pipeline among those of all files."""
        local = word if is_main else f"{own}#{word}"
        return local if local in pipelines else _beside(source.file, word) or word

    linked = {
        name: [_link_step(step, resolve) for step in flatten_steps(steps)]
        for name, steps in pipelines.items()
    }
    return _File(source=source, model=model, settings=settings, pipelines=linked)


def _link_step(step: AilStep, resolve: Callable[[str], str]) -> AilStep:
    return replace(step, word=resolve(step.word)) if step.kind == "pipeline" else step


def _defaults(top: Fields, *, is_main: bool) -> tuple[str | None, dict[str, Plain]]:
    defaults = top.fields("defaults")
    if defaults is None:
        return None, {}
    defaults.named("defaults")
    model = defaults.text("model") or _provider_model(defaults)
    settings: dict[str, Plain] = {}
    if is_main:
        settings = {"max_concurrency": _concurrency(defaults), "timeout": _timeout(defaults)}
    defaults.rest({**_TOOLS, **_FIRST_FILE_ONLY})
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
    limit = defaults.number("max_concurrency", least=0)
    if limit == 0:
        defaults.note(
            "max_concurrency",
            f"max_concurrency: 0 {NOT_CARRIED_OVER}",
            "no limit is what Weft has without it",
        )
    return limit or None


def _timeout(defaults: Fields) -> str | None:
    seconds = defaults.number("timeout_seconds", least=1)
    if seconds is not None:
        defaults.note(
            "timeout_seconds",
            f"timeout_seconds becomes {seconds}s",
            "ail does not end a step by it, Weft does",
        )
    return None if seconds is None else f"{seconds}s"


def _named(top: Fields) -> dict[str, list[AilStep]]:
    pipelines = top.fields("pipelines")
    if pipelines is None:
        return {}
    return {name: read_steps(pipelines.each(name), pipelines, name) for name in pipelines.table.entries}


class _Plan:
    """Writes the plan of a file."""

    def __init__(
        self, main: _File, named: dict[str, list[AilStep]], models: Mapping[str, str | None]
    ) -> None:
        self._source = main.source
        self._named = named
        self._steps = main.pipelines[""]
        pipelines = {**named, "": self._steps}  # a step cannot call an empty name
        self._context = Context(
            agents=Agents(main.model),
            findings=Findings(),
            pipelines=pipelines,
            ids={name: _step_ids(inner) for name, inner in pipelines.items()},
            names=_pipeline_names(named),
            models=models,
        )

    def written(self, settings: dict[str, Plain]) -> dict[str, Plain]:
        context = self._context
        # The pipelines are written before the notes: writing them finds out which variables and prompts they read.
        main = PipelineWriter("", context, is_main=True).written()
        pipelines: dict[str, Plain] = {
            context.names[name]: PipelineWriter(name, context, is_main=False).written()
            for name in self._named
        }
        main = self._with_invocation(main)
        self._add_notes()
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
        # The added step reads the prompt, so `main` needs one.
        findings.prompt = True
        agent = self._context.agents.agent_for(ASSUMED)
        return [{"id": "invocation", "agent": agent, "prompt": "{{ slice.prompt }}"}, *steps]

    def _main(self, steps: list[Plain]) -> Plain:
        prompt = PLACEHOLDER if self._context.findings.prompt else None
        return without_empty({"id": MAIN, "prompt": prompt, "steps": steps})

    def _add_notes(self) -> None:
        if self._context.agents.used:
            why = "change `use` under `agents` in the plan"
            self._source.note(1, f"where no runner is named, the agent is {ASSUMED!r}", why)
        self._note_prompt()
        self._note_commands()
        for name, steps in self._context.pipelines.items():
            for step in steps:
                self._note_id(step, self._context.ids[name][step.id])
        for name, new in self._context.names.items():
            if new != name and not _belongs_to_file(name):
                self._source.note(1, f"pipeline {name!r} is now {new!r}", ID_RULE)

    def _note_prompt(self) -> None:
        if self._context.findings.prompt:
            self._source.note(1, "the prompt of ail's command line is the prompt of 'main'", "write it there")
        elif not any(step.id == "invocation" for step in self._steps):
            message = "the prompt of ail's command line is not run first"
            self._source.note(1, message, "no step reads its answer; add a step if they build upon its work")

    def _note_commands(self) -> None:
        commands = [
            step for steps in self._context.pipelines.values() for step in steps if step.kind == "context"
        ]
        if commands:
            first = min(commands, key=lambda step: step.fields.table.line)
            first.fields.note(
                "context", "commands have on_error: continue", "a failing command is no error in ail"
            )

    def _note_id(self, step: AilStep, new: str) -> None:
        if new != step.id and _PART not in step.id:
            step.fields.note("id", f"its id is now {new!r}", ID_RULE)


def _step_ids(steps: Sequence[AilStep]) -> dict[str, str]:
    """Returns an id for each step; that of a part, such as `loop::inner`, is made of both words."""
    ids = valid_ids((step.id for step in steps if _PART not in step.id), otherwise="step")
    for step in steps:
        if _PART in step.id:
            proposed = valid_id(step.id.replace(_PART, "_"), otherwise="step")
            ids[step.id] = free_id(proposed, ids.values())
    return {step.id: ids[step.id] for step in steps}


def _pipeline_names(pipelines: Iterable[str]) -> dict[str, str]:
    """Returns a name for each pipeline; that of a file follows the name of the file."""
    names = valid_ids((name for name in pipelines if not _belongs_to_file(name)), otherwise="pipeline")
    for name in pipelines:
        if _belongs_to_file(name):
            file, _, inner = name.partition("#")
            stem = basename(file).partition(".")[0]
            proposed = valid_id(f"{stem}_{inner}" if inner else stem, otherwise="pipeline")
            names[name] = free_id(proposed, names.values())
    return names


def _belongs_to_file(name: str) -> bool:
    return name.partition("#")[0].endswith(_SUFFIXES)
