"""Checks that the names in the templates of a pipeline have values when the templates are evaluated."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

from msgspec import Struct

from weft.plan.language.reader import Reader
from weft.plan.loader.steps_check import Catalog, nodes_of, place, with_assumed_order
from weft.plan.model import AgentWork, Ask, Join, Nested, Pipeline, RunCommand, Step, Verify
from weft.plan.pipelines.flow import Flow, flow
from weft.plan.results.result_types import ANYTHING, is_unknown
from weft.plan.templates.names import ROOTS, StepKind, TemplateScope, TemplateStep, unknown_names
from weft.plan.templates.parse import Name, Path, Template, TemplateError, parse_expression, parse_template
from weft.plan.templates.render import check_arguments, check_command
from weft.plan.templates.values import RenderError
from weft.plan.text.document import Node, Scalar, Table
from weft.plan.text.inside import inside

CONSTANT_CONDITIONS = ("always", "never")
STEP_ROOTS = frozenset({"feedback", "attempt", "step"})
"""Names that have a value only while a slice runs."""
PLACE_NAMES = frozenset({("plan", "id"), ("slice", "path")})
"""Names that have a value before a run starts."""
_WRITTEN_NAME = re.compile(r"[A-Za-z_]\w*(?:\s*\.\s*\w+|\[[^\]\n]*\])*")


class _Text(Struct, frozen=True):
    """A template or an expression, with its node."""

    node: Node
    text: str
    expression: bool = False
    command: bool = False
    """Whether the text is a shell command."""
    after: bool = False
    """Whether the text is evaluated after the step has ended, and can read its result."""


class TemplatesCheck:
    """Checks the templates of pipelines, and those that name a directory."""

    def __init__(self, catalog: Catalog, reader: Reader) -> None:
        self.catalog = catalog
        self.reader = reader
        self._inner: dict[tuple[str, bool], dict[str, TemplateStep]] = {}

    def pipeline(self, pipeline: Pipeline) -> frozenset[Path]:
        """Checks the templates of a pipeline, and returns all names that they read."""
        check = _StepsCheck(self, pipeline.steps)
        for number in range(len(pipeline.steps)):
            check.step(number)
        return frozenset(check.read)

    def check_place(self, node: Node, text: str) -> None:
        """Checks a template that names a directory, which Weft evaluates before any step runs."""
        written = _Text(node, text)
        problems_before = len(self.reader.problems)
        names = self.names(written)
        for name in names:
            if name.path[0] in STEP_ROOTS:
                self.wrong(written, name.offset, f"{name.path[0]!r} has a value only in the steps of a slice")
        self.unknown(written, [name for name in names if name.path[0] not in STEP_ROOTS], {})
        if len(self.reader.problems) > problems_before:
            return
        if ("slice", "path") not in {name.path for name in names}:
            self.wrong(written, 0, "all slices would share one directory; add {{ slice.path }}")
            return
        for name in names:
            if name.path not in PLACE_NAMES:
                shown = ".".join(map(str, name.path))
                self.wrong(written, name.offset, f"{shown!r} has no value here; use plan.id or slice.path")

    def names(self, written: _Text) -> tuple[Name, ...]:
        """Returns the names that a template reads; none if it has a syntax error, which is reported."""
        try:
            template = parse_expression(written.text) if written.expression else parse_template(written.text)
        except TemplateError as error:
            self.wrong(written, error.offset, error.message)
            return ()
        if written.command and template.names:
            self.in_shell(written)
        return template.names

    def in_shell(self, written: _Text) -> None:
        """Reports a value that a shell would not read as one word."""
        try:
            check_command(written.text)
        except RenderError as error:
            self.wrong(written, error.offset, error.message)

    def arguments(self, step: Step) -> None:
        """Reports a value in an argument that a program reads as code."""
        match step.body:
            case RunCommand(tuple() as arguments):
                fault = check_arguments(arguments)
                nodes = list(nodes_of(step.source, "run"))
                if fault is not None and fault[0] < len(nodes):
                    written = _Text(nodes[fault[0]], arguments[fault[0]])
                    self.wrong(written, fault[1].offset, fault[1].message)
            case _:
                pass

    def unknown(
        self,
        written: _Text,
        names: Sequence[Name],
        steps: Mapping[str, TemplateStep],
        later: frozenset[str] = frozenset(),
    ) -> None:
        """Reports the names that have no value at this point."""
        # The list could not be read, so no variable can be called unknown.
        if "env_allow" in self.catalog.unread:
            names = [name for name in names if name.path[0] != "env"]
        scope = TemplateScope(steps=steps, env_allow=self.catalog.env_allow, later=later)
        for fault in unknown_names(Template(names=tuple(names)), scope):
            self.wrong(written, fault.offset, fault.message)

    def wrong(self, written: _Text, offset: int, message: str) -> None:
        """Reports an error at this offset of the text."""
        node = written.node
        if isinstance(node, Scalar) and not self.reader.full:
            name = _WRITTEN_NAME.match(written.text, offset)
            # Finding the exact position costs a pass over the value, which a full reader would not use.
            node = inside(self.reader.document, node, offset, len(name[0]) if name else 1)
        self.reader.wrong(node, message)

    def views(self, steps: Sequence[Step], *, ended: bool) -> dict[str, TemplateStep]:
        """Returns the steps as templates see them, by id; the first, if two share an id."""
        views: dict[str, TemplateStep] = {}
        for step, result in zip(steps, self.catalog.results.of(steps), strict=True):
            views.setdefault(step.id, self._view(step, views, structured=result is not None, ended=ended))
        return views

    def _view(
        self, step: Step, earlier: Mapping[str, TemplateStep], *, structured: bool, ended: bool
    ) -> TemplateStep:
        members: Mapping[str, TemplateStep] = {}
        inner: Mapping[str, TemplateStep] = {}
        schema = step.output_schema
        if isinstance(step.body, Join) and structured:
            # A join has a structured result exactly if it has a schema here, so readers of the view need not
            # look at its members.
            members = {name: earlier[name] for name in step.depends_on if name in earlier}
            schema = ANYTHING if schema is None else schema
        elif isinstance(step.body, Nested):
            inner = self._views_in(step.body.pipeline, ended=ended)
        return TemplateStep(
            id=step.id, kind=_kind(step), ended=ended, schema=schema, members=members, inner=inner
        )

    def _views_in(self, name: str, *, ended: bool) -> Mapping[str, TemplateStep]:
        """Returns the steps of a nested pipeline; computed once, wherever it is used."""
        if (name, ended) not in self._inner:
            pipeline = self.catalog.pipelines.get(name)
            self._inner[name, ended] = self.views(pipeline.steps if pipeline else (), ended=ended)
        return self._inner[name, ended]


class _StepsCheck:
    """Checks the templates of one pipeline."""

    def __init__(self, check: TemplatesCheck, steps: tuple[Step, ...]) -> None:
        self.check = check
        self.steps = steps
        self.read: set[Path] = set()

    # Only templates that read the results of other steps need these.

    @cached_property
    def flow(self) -> Flow:
        return flow(with_assumed_order(self.steps))

    @cached_property
    def ended(self) -> dict[str, TemplateStep]:
        return self.check.views(self.steps, ended=True)

    @cached_property
    def running(self) -> dict[str, TemplateStep]:
        return self.check.views(self.steps, ended=False)

    def step(self, number: int) -> None:
        self.check.arguments(self.steps[number])
        for written in _texts(self.steps[number]):
            names = self.check.names(written)
            self.read.update(name.path for name in names)
            # A template that reads a step with an error is not to blame.
            certain = [name for name in names if not self.is_in_doubt(name.path)]
            if any(name.path[0] == "step" or name.path[0] not in ROOTS for name in certain):
                end = number + written.after
                steps = self.steps_before(number, end)
                later = frozenset(step.id for step in self.steps[end:]) - steps.keys()
                self.check.unknown(written, certain, steps, later)
            elif certain:
                self.check.unknown(written, certain, {})

    def steps_before(self, number: int, end: int) -> dict[str, TemplateStep]:
        """Returns the steps that can be read at a step.

        `end` is the step itself, or the next one after its end.
        """
        views: dict[str, TemplateStep] = {}
        for earlier in range(end):
            id_ = self.steps[earlier].id
            ended = earlier == number or self.flow.has_ended(earlier, number)
            # A step that is still running has no result yet, but its id is known: the message can say so.
            views.setdefault(id_, self.ended[id_] if ended else self.running[id_])
        return views

    def is_in_doubt(self, path: Path) -> bool:
        """Returns whether a name leads to a step that could not be read, which is reported already."""
        pipelines = self.check.catalog.pipelines
        steps = self.steps
        for key in path[1:] if path[0] == "step" else ():
            # A missing step is in doubt only if some step has no readable id.
            target = next((step for step in steps if step.id == key), None)
            if target is None:
                return any(not step.id for step in steps)
            if is_unknown(target, pipelines):
                return True
            if not isinstance(target.body, Nested):
                return False
            steps = pipelines[target.body.pipeline].steps
        return False


def _kind(step: Step) -> StepKind:
    match step.body:
        case AgentWork():
            return "agent"
        case RunCommand():
            return "run"
        case Verify():
            return "verify"
        case Join():
            return "join"
        case Ask():
            return "ask"
        case Nested():
            return "pipeline"


def _texts(step: Step) -> Iterator[_Text]:
    source = step.source
    yield from _body_texts(step)
    if step.condition is not None and step.condition not in CONSTANT_CONDITIONS:
        yield _Text(place(source, "condition"), step.condition, expression=True)
    for name, value in step.env.items():
        yield _Text(place(source, "env", name), value)
    for node, rule in zip(nodes_of(source, "on_result"), step.on_result, strict=False):
        if rule.when not in CONSTANT_CONDITIONS and isinstance(node, Table):
            yield _Text(place(node, "when"), rule.when, expression=True, after=True)
        if rule.question is not None and isinstance(node, Table):
            yield _Text(place(node, "question"), rule.question, after=True)


def _body_texts(step: Step) -> Iterator[_Text]:
    match step.body:
        case AgentWork():
            yield _Text(place(step.source, "prompt"), step.body.prompt)
        case RunCommand(str() as command):
            yield _Text(place(step.source, "run"), command, command=True)
        case RunCommand(arguments):
            for node, argument in zip(nodes_of(step.source, "run"), arguments, strict=False):
                yield _Text(node, argument)
        case Ask():
            yield _Text(place(step.source, "question"), step.body.question)
        case Verify() | Join() | Nested():
            pass
