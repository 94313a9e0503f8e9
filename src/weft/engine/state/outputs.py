"""The outputs of steps: as templates read them, as joins combine them, and checked against a schema."""

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
"""The longest result, in characters, that is checked against a schema."""
MOST_FAULTS = 100
"""The number of schema errors among which the most helpful one is chosen."""
JOIN_LINES, JOIN_CHARACTERS = 20, 2_000
"""The limits for the error output of a failed command in a join."""
LONGEST_MESSAGE = 500
"""In characters."""


class StepError(Struct, frozen=True, kw_only=True):
    kind: str
    """A `FailureReason`: `error`, `timeout`, `cancelled`, …"""
    message: str


class StepOutput(Struct, frozen=True, kw_only=True):
    """The status and the output of a step that has ended."""

    status: Status
    result: str = ""
    """The final text of an agent, the standard output of a command, or the result of a join."""
    stdout: str = ""
    stderr: str = ""
    exit_code: int | None = None
    json: object = UNSET
    """The parsed result, if the step has a schema; otherwise a template that reads it parses `result`."""
    error: StepError | None = None
    tolerated: bool = False
    """Whether the step failed and has `on_error: continue`."""

    @property
    def is_in_order(self) -> bool:
        """Whether dependents may start."""
        return self.status in {"done", "skipped"} or self.tolerated


SKIPPED = StepOutput(status="skipped")


class NotJsonError(ValueError):
    """A result is not JSON."""


# Templates


def step_values(
    steps: Sequence[Step],
    outputs: Mapping[str, StepOutput],
    pipelines: Mapping[str, Pipeline],
    *,
    within: str = "",
) -> dict[str, "StepOutputs"]:
    """Returns the steps that have ended, by id, for templates of the same pipeline.

    The keys of `outputs` are addresses, as `outer.inner`. `within` is the address of the step that contains these.
    """
    addresses = [(step, f"{within}.{step.id}" if within else step.id) for step in steps]
    return {
        step.id: _view(step, address, outputs, pipelines) for step, address in addresses if address in outputs
    }


def _view(
    step: Step, address: str, outputs: Mapping[str, StepOutput], pipelines: Mapping[str, Pipeline]
) -> "StepOutputs":
    """Returns a step as templates read it, nested steps included."""
    # The nested pipeline has ended, so a step of it without an output did not run: it counts as skipped.
    inner: dict[str, StepOutputs] = {}
    if isinstance(step.body, Nested):
        for nested in pipelines[step.body.pipeline].steps:
            inner[nested.id] = _view(nested, f"{address}.{nested.id}", outputs, pipelines)
    return StepOutputs(step, outputs.get(address, SKIPPED), inner)


class StepOutputs(Mapping[str, object]):
    """A step as templates read it: `step.ID`. `weft.plan.templates.names` checks which names a plan may use."""

    def __init__(self, step: Step, output: StepOutput, inner: dict[str, "StepOutputs"]) -> None:
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
        subject = f"step '{self.step.id}' {how}, and" if how else f"step '{self.step.id}'"
        return f"{subject} has no '{key}'; {known_keys(self, key)}"

    @property
    def _last(self) -> "StepOutputs | None":
        """The last step of a nested pipeline; its result is the result of the pipeline."""
        return next(reversed(self._inner.values()), None)

    @property
    def _fields(self) -> object:
        """The JSON from which fields are read; None if the result is plain text."""
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
    """Returns the output of a nested pipeline: that of the step that failed, or else that of its last step."""
    ends = [outputs.get(f"{within}.{step.id}", SKIPPED) for step in steps]
    broken = [output for output in ends if not output.is_in_order]
    # Cancelled steps are a consequence of the failed one, which explains more.
    return min(broken, key=lambda output: output.status != "failed", default=ends[-1])


# JSON in results


def json_in(step: Step, text: str) -> object:
    """Returns the JSON in the result of a step; raises `NotJsonError` if there is none."""
    return json_of(text, of_agent=isinstance(step.body, AgentWork | Nested))


def json_of(text: str, *, of_agent: bool) -> object:
    """Returns the JSON in a text. An agent may surround it with prose and put it into a ```json block."""
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
    """Returns the contents of the last complete ```json block."""
    last: list[str] | None = None
    block: list[str] | None = None
    for line in text.split("\n"):
        mark = line.strip()
        if block is None:
            block = [] if mark.lower() == "```json" else None
        elif mark == "```":
            last, block = block, None
        else:
            block.append(line)
    return None if last is None else "\n".join(last)


def check_result(step: Step, output: StepOutput) -> StepOutput:
    """Returns the output with its JSON, or as failed if the result does not fit the schema of the step."""
    schema = step.output_schema
    if schema is None or output.status != "done":
        return output
    if len(output.result) > MOST_CHECKED:
        limit = f"at most {MOST_CHECKED:,} characters are checked against output_schema"
        return _failed(output, f"the result has {len(output.result):,} characters; {limit}")
    try:
        value = json_in(step, output.result) if output.json is UNSET else output.json
    except NotJsonError as error:
        return _failed(output, f"{error}; its output_schema asks for it")
    fault = _misfit(value, schema)
    checked = replace(output, json=value)
    return checked if fault is None else _failed(checked, f"the result does not fit output_schema: {fault}")


def _misfit(value: object, schema: Schema) -> str | None:
    """Returns where and why the value does not fit the schema; None if it fits."""
    from jsonschema import exceptions  # noqa: PLC0415 - slow to import

    # Any: the declared types are recursive and partly unknown, which strict checking rejects.
    untyped: Any = exceptions
    try:
        fault: Any = untyped.best_match(islice(validator(schema).iter_errors(value), MOST_FAULTS))
    except RecursionError:
        return "it is nested too deeply"
    except TooManyStepsError:
        return f"it takes more than {MOST_STEPS:,} steps to check it"
    return None if fault is None else f"at {fault.json_path}: {fault.message}"


def _failed(output: StepOutput, message: str) -> StepOutput:
    shortened = message if len(message) <= LONGEST_MESSAGE else f"{message[: LONGEST_MESSAGE - 1]}…"
    return replace(output, status="failed", error=StepError(kind="error", message=shortened))


# Joins


def join(step: Step, members: Mapping[str, StepOutput], schemas: Mapping[str, Schema | None]) -> StepOutput:
    """Returns the output of a join whose dependencies have all ended.

    `schemas` holds the schemas of their results (see `weft.plan.results.result_types`); None for text.
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
    """Returns a message about the dependency that fails the join: a failed one before a cancelled one."""
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
    """Returns the results by step id; raises `NotJsonError` if a result is not JSON."""
    return {name: _as_json(name, outputs[name]) for name in depends_on}


def _as_json(name: str, output: StepOutput) -> object:
    if output.status == "skipped":
        return None
    if not output.is_in_order:
        return _envelope(output)
    try:
        return _parsed(output.result) if output.json is UNSET else output.json
    except NotJsonError as error:
        if output.tolerated:  # a failed command has no result to parse
            return _envelope(output)
        raise NotJsonError(f"the result of step '{name}' is not JSON: {error}") from None


def _envelope(output: StepOutput) -> dict[str, object]:
    error, tail = _error(output), tail_of(output.stderr, JOIN_LINES, JOIN_CHARACTERS)
    return {"error": {"kind": error.kind, "message": error.message} | ({"stderr": tail} if tail else {})}


def _error(output: StepOutput) -> StepError:
    return output.error or StepError(kind="error", message=output.status)
