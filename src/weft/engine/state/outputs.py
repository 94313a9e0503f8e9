"""What a step of a slice gave, and what is made of it: by templates, by joins, by the schema that it must fit."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from typing import Any, Literal, cast

import msgspec
from msgspec import UNSET, Struct
from msgspec.structs import replace

from weft.engine.state.feedback import tail_of
from weft.plan.model import AgentWork, Join, Nested, Pipeline, RunCommand, Step, Verify
from weft.plan.results.validation import MOST_STEPS, TooManyStepsError, validator
from weft.plan.templates.values import NotThereError, json_text, known_keys

Schema = Mapping[str, Any]
Status = Literal["done", "failed", "skipped", "cancelled"]

MOST_CHECKED = 1 << 20
"""Characters of a result that is held against a schema."""
MOST_FAULTS = 100
"""So many ways in which a result does not fit are looked at, to tell the one that says most."""
JOIN_LINES, JOIN_CHARACTERS = 20, 2_000
"""Of the end of the error output of a failed command, in a join."""
MOST_TOLD = 500
"""Characters of a message about a result."""


class StepError(Struct, frozen=True, kw_only=True):
    kind: str
    """One of the reasons that a subplan fails for: `error`, `timeout`, `cancelled`, …"""
    message: str


class StepOutput(Struct, frozen=True, kw_only=True):
    """How a step of a slice ended."""

    status: Status
    result: str = ""
    """The final text of an agent, the standard output of a command, what a join made."""
    stdout: str = ""
    stderr: str = ""
    exit_code: int | None = None
    json: object = UNSET
    """The result as JSON, where there is a schema for it; else it is looked for when somebody asks."""
    error: StepError | None = None
    tolerated: bool = False
    """Whether it failed and that is to be taken as it is: `on_error: continue`."""

    @property
    def is_in_order(self) -> bool:
        """Whether what depends on it can go on."""
        return self.status in {"done", "skipped"} or self.tolerated


SKIPPED = StepOutput(status="skipped")


class NotJsonError(ValueError):
    """A result is not JSON."""


# As templates see it


def step_values(
    steps: Sequence[Step],
    outputs: Mapping[str, StepOutput],
    pipelines: Mapping[str, Pipeline],
    *,
    within: str = "",
) -> dict[str, "TemplateStep"]:
    """The steps that have ended, for templates of the same pipeline.

    Outputs are by address, as `outer.inner`. `within` is the address of the step that these steps stand in.
    """
    addresses = [(step, f"{within}.{step.id}" if within else step.id) for step in steps]
    return {
        step.id: _view(step, address, outputs, pipelines) for step, address in addresses if address in outputs
    }


def _view(
    step: Step, address: str, outputs: Mapping[str, StepOutput], pipelines: Mapping[str, Pipeline]
) -> "TemplateStep":
    """Where a nested pipeline has ended, a step of it without an output has not run."""
    inner: dict[str, TemplateStep] = {}
    if isinstance(step.body, Nested):
        for one in pipelines[step.body.pipeline].steps:
            inner[one.id] = _view(one, f"{address}.{one.id}", outputs, pipelines)
    return TemplateStep(step, outputs.get(address, SKIPPED), inner)


class TemplateStep(Mapping[str, object]):
    """A step as `step.ID`; what can be read from it is what `weft.plan.templates.names` lets pass."""

    def __init__(self, step: Step, output: StepOutput, inner: dict[str, "TemplateStep"]) -> None:
        self.step = step
        self.output = output
        self._inner = inner
        self._fixed: dict[str, object] = {**inner, "result": output.result}
        if isinstance(step.body, RunCommand | Verify):
            self._fixed |= {"stdout": output.stdout, "stderr": output.stderr, "exit_code": output.exit_code}

    def __getitem__(self, key: str) -> object:
        if key == "json":
            return self._json
        if key in self._fixed:
            return self._fixed[key]
        try:
            return cast("Mapping[str, object]", self._fields)[key]
        except (LookupError, TypeError):
            raise NotThereError(self._without(key)) from None

    def __iter__(self) -> Iterator[str]:
        fields = cast("Mapping[str, object]", self._fields) if isinstance(self._fields, Mapping) else ()
        return iter(dict.fromkeys((*self._fixed, "json", *fields)))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _without(self, key: object) -> str:
        ended = {"skipped": "was skipped", "failed": "failed", "cancelled": "was cancelled"}
        how = ended.get(self.output.status)
        who = f"step '{self.step.id}' {how}, and" if how else f"step '{self.step.id}'"
        return f"{who} has no '{key}'; {known_keys(self, key)}"

    @property
    def _last(self) -> "TemplateStep | None":
        """Of a nested pipeline, the step whose result is that of the whole."""
        return next(reversed(self._inner.values()), None)

    @property
    def _fields(self) -> object:
        """The JSON that fields are read from; None if the result is only a text."""
        if self.output.json is not UNSET:
            return self.output.json
        return self._last._fields if self._last is not None else None

    @cached_property
    def _json(self) -> object:
        if self.output.json is not UNSET:
            return self.output.json
        if self._last is not None:
            return self._last["json"]
        try:
            return json_in(self.step, self.output.result)
        except NotJsonError as error:
            if self.output.status == "done":
                raise NotThereError(f"step '{self.step.id}' has no json: {error}") from None
            return None


def nested_output(steps: Sequence[Step], outputs: Mapping[str, StepOutput], *, within: str) -> StepOutput:
    """What a nested pipeline gave: what its last step did, or the failure that ended it."""
    found = [outputs.get(f"{within}.{step.id}", SKIPPED) for step in steps]
    broken = [one for one in found if not one.is_in_order]
    return min(broken, key=lambda one: one.status != "failed", default=found[-1])


# JSON in results


def json_in(step: Step, text: str) -> object:
    return json_of(text, of_agent=isinstance(step.body, AgentWork | Nested))


def json_of(text: str, *, of_agent: bool) -> object:
    """The JSON that a result is; an agent may have put it into a block of its own, with words around it."""
    if not text.strip():
        raise NotJsonError("the result is empty, not JSON")
    try:
        return _parsed(text)
    except NotJsonError as error:
        block = _last_block(text) if of_agent else None
        if block is None:
            raise NotJsonError(f"the result is not JSON: {error}") from None
    try:
        return _parsed(block)
    except NotJsonError as error:
        raise NotJsonError(f"the last ```json block of the result is not JSON: {error}") from None


def _parsed(text: str) -> object:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise NotJsonError(str(error)) from None


def _last_block(text: str) -> str | None:
    """What stands between the last lines ```json and ```."""
    found: list[str] | None = None
    block: list[str] | None = None
    for line in text.split("\n"):
        mark = line.strip()
        if block is None:
            block = [] if mark.lower() == "```json" else None
        elif mark == "```":
            found, block = block, None
        else:
            block.append(line)
    return None if found is None else "\n".join(found)


def check_result(step: Step, output: StepOutput) -> StepOutput:
    """The output with its JSON, or as failed, if the step has a schema that the result does not fit."""
    schema = step.output_schema
    if schema is None or output.status != "done":
        return output
    if len(output.result) > MOST_CHECKED:
        limit = f"at most {MOST_CHECKED:,} characters are held against output_schema"
        return _failed(output, f"the result has {len(output.result):,} characters; {limit}")
    try:
        value = json_in(step, output.result) if output.json is UNSET else output.json
    except NotJsonError as error:
        return _failed(output, f"{error}; its output_schema asks for it")
    fault = _misfit(value, schema)
    checked = replace(output, json=value)
    return checked if fault is None else _failed(checked, f"the result does not fit output_schema: {fault}")


def _misfit(value: object, schema: Schema) -> str | None:
    """Where and why the value does not fit."""
    from jsonschema import exceptions  # noqa: PLC0415 - slow to import

    # Any: the types told for them go on without end.
    told: Any = exceptions
    try:
        fault: Any = told.best_match(islice(validator(schema).iter_errors(value), MOST_FAULTS))
    except RecursionError:
        return "it is nested too deeply"
    except TooManyStepsError:
        return f"it takes more than {MOST_STEPS:,} steps to check it"
    return None if fault is None else f"at {fault.json_path}: {fault.message}"


def _failed(output: StepOutput, message: str) -> StepOutput:
    told = message if len(message) <= MOST_TOLD else f"{message[: MOST_TOLD - 1]}…"
    return replace(output, status="failed", error=StepError(kind="error", message=told))


# Joins


def join(step: Step, members: Mapping[str, StepOutput], schemas: Mapping[str, Schema | None]) -> StepOutput:
    """What a join makes of the steps that it depends on, all of which have ended.

    `schemas` are those of their results, as `weft.plan.results.result_types` tells them: None for text.
    """
    assert isinstance(step.body, Join)
    broken = None if step.body.wait_for_all else _broken(step.depends_on, members)
    if broken is not None:
        return _failed(StepOutput(status="failed"), broken)
    if step.output_schema is None and any(schemas[name] is None for name in step.depends_on):
        return StepOutput(status="done", result=join_text(step.depends_on, members))
    try:
        value = join_object(step.depends_on, members)
    except NotJsonError as error:
        return _failed(StepOutput(status="failed"), str(error))
    return check_result(step, StepOutput(status="done", result=json_text(value), json=value))


def _broken(depends_on: Iterable[str], members: Mapping[str, StepOutput]) -> str | None:
    """Which dependency keeps the join from being done: one that failed, rather than one cancelled for that."""
    broken = [name for name in depends_on if not members[name].is_in_order]
    if not broken:
        return None
    name = min(broken, key=lambda name: members[name].status != "failed")
    how = "failed" if members[name].status == "failed" else "was cancelled"
    return f"step '{name}', which it depends on, {how}: {_error(members[name]).message}"


def join_text(depends_on: Iterable[str], outputs: Mapping[str, StepOutput]) -> str:
    return "\n\n".join(f"[{name}]:\n{_as_text(outputs[name])}" for name in depends_on)


def _as_text(output: StepOutput) -> str:
    if output.status == "skipped":
        return "<skipped>"
    if not output.is_in_order:
        tail = tail_of(output.stderr, JOIN_LINES, JOIN_CHARACTERS)
        return "\n".join(filter(None, (f"<error: {_error(output).message}>", tail)))
    return output.result.rstrip("\n")


def join_object(depends_on: Iterable[str], outputs: Mapping[str, StepOutput]) -> dict[str, object]:
    """Raises `NotJsonError` if one of the results is not JSON."""
    return {name: _as_json(name, outputs[name]) for name in depends_on}


def _as_json(name: str, output: StepOutput) -> object:
    if output.status == "skipped":
        return None
    if not output.is_in_order:
        return _envelope(output)
    try:
        return _parsed(output.result) if output.json is UNSET else output.json
    except NotJsonError as error:
        if output.tolerated:  # there is nothing else to tell of it
            return _envelope(output)
        raise NotJsonError(f"the result of step '{name}' is not JSON: {error}") from None


def _envelope(output: StepOutput) -> dict[str, object]:
    error, tail = _error(output), tail_of(output.stderr, JOIN_LINES, JOIN_CHARACTERS)
    return {"error": {"kind": error.kind, "message": error.message} | ({"stderr": tail} if tail else {})}


def _error(output: StepOutput) -> StepError:
    return output.error or StepError(kind="error", message=output.status)
