"""Whether what the templates of a pipeline read is there when they are evaluated."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

from msgspec import Struct

from weft.plan.language.reader import Reader
from weft.plan.loading.steps_check import Catalog, in_doubt, listed, place
from weft.plan.model import AgentWork, Ask, Join, Nested, Pipeline, RunCommand, Step, Verify
from weft.plan.pipelines.flow import Flow, flow
from weft.plan.results.known import ANYTHING, is_unknown
from weft.plan.templates.names import ROOTS, Scope, StepKind, StepSeen, unknown_names
from weft.plan.templates.parse import Name, Path, Template, TemplateError, parse_expression, parse_template
from weft.plan.templates.render import check_arguments, check_command
from weft.plan.templates.values import RenderError
from weft.plan.text.document import Node, Scalar, Table
from weft.plan.text.inside import inside

CONSTANT_CONDITIONS = ("always", "never")
OF_A_STEP = frozenset({"feedback", "attempt", "step"})
"""Names that have a value only while a slice is done."""
OF_A_PLACE = frozenset({("plan", "id"), ("slice", "path")})
"""Those that have one before there is a run."""
_WRITTEN_NAME = re.compile(r"[A-Za-z_]\w*(?:\s*\.\s*\w+|\[[^\]\n]*\])*")


class _Text(Struct, frozen=True):
    node: Node
    text: str
    expression: bool = False
    command: bool = False
    """Whether it is a command for a shell."""
    after: bool = False
    """Whether it is evaluated when the step has ended, and can read its result."""


class TemplatesCheck:
    """Checks templates: those of pipelines, and those that name places."""

    def __init__(self, catalog: Catalog, reader: Reader) -> None:
        self.catalog = catalog
        self.reader = reader
        self._inner: dict[tuple[str, bool], dict[str, StepSeen]] = {}

    def pipeline(self, pipeline: Pipeline) -> frozenset[Path]:
        """Checks its own templates, and tells all names that they read."""
        check = _StepsCheck(self, pipeline.steps)
        for number in range(len(pipeline.steps)):
            check.step(number)
        return frozenset(check.read)

    def of_a_place(self, node: Node, text: str) -> None:
        """Checks a template that says where something is made, before any step runs."""
        written = _Text(node, text)
        told = len(self.reader.problems)
        names = self.names(written)
        for name in names:
            if name.path[0] in OF_A_STEP:
                self.wrong(written, name.offset, f"{name.path[0]!r} has a value only in the steps of a slice")
        self.unknown(written, [name for name in names if name.path[0] not in OF_A_STEP], {})
        if len(self.reader.problems) > told:
            return
        if ("slice", "path") not in {name.path for name in names}:
            self.wrong(written, 0, "without {{ slice.path }} in it all slices would be given the same place")
            return
        for name in names:
            if name.path not in OF_A_PLACE:
                shown = ".".join(map(str, name.path))
                self.wrong(
                    written, name.offset, f"{shown!r} has no value here; there are plan.id and slice.path"
                )

    def names(self, written: _Text) -> tuple[Name, ...]:
        try:
            template = parse_expression(written.text) if written.expression else parse_template(written.text)
        except TemplateError as error:
            self.wrong(written, error.offset, error.message)
            return ()
        if written.command and template.names:
            self.in_shell(written)
        return template.names

    def in_shell(self, written: _Text) -> None:
        try:
            check_command(written.text)
        except RenderError as error:
            self.wrong(written, error.offset, error.message)

    def arguments(self, step: Step) -> None:
        """Checks a command that is a list: no value may stand in an argument that is read as code."""
        match step.body:
            case RunCommand(tuple() as arguments):
                wrong = check_arguments(arguments)
                nodes = list(listed(step.source, "run"))
                if wrong is not None and wrong[0] < len(nodes):
                    written = _Text(nodes[wrong[0]], arguments[wrong[0]])
                    self.wrong(written, wrong[1].offset, wrong[1].message)
            case _:
                pass

    def unknown(
        self,
        written: _Text,
        names: Sequence[Name],
        steps: Mapping[str, StepSeen],
        later: frozenset[str] = frozenset(),
    ) -> None:
        if "env_allow" in self.catalog.unread:
            names = [name for name in names if name.path[0] != "env"]
        scope = Scope(steps=steps, env_allow=self.catalog.env_allow, later=later)
        for wrong in unknown_names(Template(names=tuple(names)), scope):
            self.wrong(written, wrong.offset, wrong.message)

    def wrong(self, written: _Text, offset: int, message: str) -> None:
        node = written.node
        if isinstance(node, Scalar) and not self.reader.full:
            name = _WRITTEN_NAME.match(written.text, offset)
            node = inside(self.reader.document, node, offset, len(name[0]) if name else 1)
        self.reader.wrong(node, message)

    def views(self, steps: Sequence[Step], *, ended: bool) -> dict[str, StepSeen]:
        """The steps as templates see them; of two with one id the first."""
        found: dict[str, StepSeen] = {}
        for step, result in zip(steps, self.catalog.results.of(steps), strict=True):
            found.setdefault(step.id, self._view(step, found, structured=result is not None, ended=ended))
        return found

    def _view(
        self, step: Step, earlier: Mapping[str, StepSeen], *, structured: bool, ended: bool
    ) -> StepSeen:
        members: Mapping[str, StepSeen] = {}
        inner: Mapping[str, StepSeen] = {}
        schema = step.output_schema
        if isinstance(step.body, Join) and structured:
            # With some schema, and a join of texts without members: so nobody has to look into them to tell.
            members = {name: earlier[name] for name in step.depends_on if name in earlier}
            schema = ANYTHING if schema is None else schema
        elif isinstance(step.body, Nested):
            inner = self._views_in(step.body.pipeline, ended=ended)
        return StepSeen(
            id=step.id, kind=_kind(step), ended=ended, schema=schema, members=members, inner=inner
        )

    def _views_in(self, name: str, *, ended: bool) -> Mapping[str, StepSeen]:
        """Those of a nested pipeline; made once, wherever it stands."""
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

    # Only templates that read the results of other steps take what follows.

    @cached_property
    def flow(self) -> Flow:
        return flow(in_doubt(self.steps))

    @cached_property
    def ended(self) -> dict[str, StepSeen]:
        return self.check.views(self.steps, ended=True)

    @cached_property
    def running(self) -> dict[str, StepSeen]:
        return self.check.views(self.steps, ended=False)

    def step(self, number: int) -> None:
        self.check.arguments(self.steps[number])
        for written in _texts(self.steps[number]):
            names = self.check.names(written)
            self.read.update(name.path for name in names)
            certain = [name for name in names if not self.is_in_doubt(name.path)]
            if any(name.path[0] == "step" or name.path[0] not in ROOTS for name in certain):
                there = number + written.after
                steps = self.steps_before(number, there)
                later = frozenset(step.id for step in self.steps[there:]) - steps.keys()
                self.check.unknown(written, certain, steps, later)
            elif certain:
                self.check.unknown(written, certain, {})

    def steps_before(self, number: int, there: int) -> dict[str, StepSeen]:
        """What can be read at a step, `there` being itself or, when it has ended, the next."""
        seen: dict[str, StepSeen] = {}
        for earlier in range(there):
            id_ = self.steps[earlier].id
            ended = earlier == number or self.flow.has_ended(earlier, number)
            seen.setdefault(id_, self.ended[id_] if ended else self.running[id_])
        return seen

    def is_in_doubt(self, path: Path) -> bool:
        """Whether it leads to a step that could not be read, which has been told."""
        pipelines = self.check.catalog.pipelines
        steps = self.steps
        for key in path[1:] if path[0] == "step" else ():
            found = next((step for step in steps if step.id == key), None)
            if found is None:
                return any(not step.id for step in steps)
            if is_unknown(found, pipelines):
                return True
            if not isinstance(found.body, Nested):
                return False
            steps = pipelines[found.body.pipeline].steps
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
    for node, rule in zip(listed(source, "on_result"), step.on_result, strict=False):
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
            for node, argument in zip(listed(step.source, "run"), arguments, strict=False):
                yield _Text(node, argument)
        case Ask():
            yield _Text(place(step.source, "question"), step.body.question)
        case Verify() | Join() | Nested():
            pass
