"""Whether what the templates of a pipeline read is there when they are evaluated."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from weft.plan.document import Node, Scalar, Table
from weft.plan.flow import Flow, flow
from weft.plan.inside import inside
from weft.plan.model import AgentWork, Ask, Join, Nested, Pipeline, RunCommand, Step, Verify
from weft.plan.reader import Reader
from weft.plan.steps_check import Catalog, listed, place
from weft.plan.template_names import Scope, StepKind, StepSeen, unknown_names
from weft.plan.templates import Template, TemplateError, parse_expression, parse_template

CONSTANT_CONDITIONS = ("always", "never")


def check_templates(pipeline: Pipeline, catalog: Catalog, reader: Reader) -> frozenset[tuple[str | int, ...]]:
    """All names that the pipeline's own templates read."""
    check = _Check(pipeline.steps, catalog, reader)
    for number in range(len(pipeline.steps)):
        check.step(number)
    return frozenset(check.read)


@dataclass(frozen=True, slots=True)
class _Text:
    node: Node
    text: str
    expression: bool = False
    after: bool = False
    """Whether it is evaluated when the step has ended, and can read its result."""


class _Check:
    def __init__(self, steps: tuple[Step, ...], catalog: Catalog, reader: Reader) -> None:
        self.steps = steps
        self.catalog = catalog
        self.reader = reader
        self.flow: Flow = flow(steps)
        self.read: set[tuple[str | int, ...]] = set()

    def step(self, number: int) -> None:
        for written in _texts(self.steps[number]):
            template = self.parsed(written)
            if template is not None and template.names:
                self.read.update(name.path for name in template.names)
                scope = self.scope(number, itself=written.after)
                for wrong in unknown_names(template, scope):
                    self.reader.wrong(self.at(written.node, wrong.offset), wrong.message)

    def parsed(self, written: _Text) -> Template | None:
        try:
            return parse_expression(written.text) if written.expression else parse_template(written.text)
        except TemplateError as error:
            self.reader.wrong(self.at(written.node, error.offset), error.message)
            return None

    def at(self, node: Node, offset: int) -> Node:
        return inside(self.reader.document, node, offset) if isinstance(node, Scalar) else node

    def scope(self, number: int, *, itself: bool) -> Scope:
        """What the step can read; its own result only after it has ended."""
        seen: dict[str, StepSeen] = {}
        for earlier in range(number + itself):
            ended = earlier == number or self.flow.has_ended(earlier, number)
            seen[self.steps[earlier].id] = self.seen(self.steps[earlier], seen, ended=ended)
        later = frozenset(step.id for step in self.steps[number + itself :]) - seen.keys()
        return Scope(steps=seen, env_allow=self.catalog.env_allow, later=later)

    def seen(self, step: Step, earlier: Mapping[str, StepSeen], *, ended: bool, depth: int = 0) -> StepSeen:
        members: dict[str, StepSeen] = {}
        inner: dict[str, StepSeen] = {}
        if isinstance(step.body, Join):
            members = {name: earlier[name] for name in step.depends_on if name in earlier}
        elif isinstance(step.body, Nested) and depth <= len(self.catalog.pipelines):
            pipeline = self.catalog.pipelines.get(step.body.pipeline)
            for one in pipeline.steps if pipeline else ():
                inner[one.id] = self.seen(one, inner, ended=ended, depth=depth + 1)
        kind = _kind(step)
        return StepSeen(
            id=step.id, kind=kind, ended=ended, schema=step.output_schema, members=members, inner=inner
        )


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
    for node, rule in zip(listed(source, "on_result"), step.on_result, strict=False):
        at = place(node, "when") if isinstance(node, Table) else node
        yield _Text(at, rule.when, expression=True, after=True)


def _body_texts(step: Step) -> Iterator[_Text]:
    match step.body:
        case AgentWork():
            yield _Text(place(step.source, "prompt"), step.body.prompt)
        case RunCommand(str() as command):
            yield _Text(place(step.source, "run"), command)
        case RunCommand(arguments):
            for node, argument in zip(listed(step.source, "run"), arguments, strict=False):
                yield _Text(node, argument)
        case Ask():
            yield _Text(place(step.source, "question"), step.body.question)
        case Verify() | Join() | Nested():
            pass
