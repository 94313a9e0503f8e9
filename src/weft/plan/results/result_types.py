"""What is known about the results of steps before they run: which are JSON, and with which schema."""

from collections.abc import Mapping, Sequence
from typing import Any

from weft.plan.model import Join, Nested, Pipeline, RunCommand, Step

Schema = Mapping[str, Any]

ANYTHING: Schema = {}
"""The schema of a result that is unknown because of an error that is already reported."""
OBJECT: Schema = {"type": "object"}


def is_unknown(step: Step, pipelines: Mapping[str, Pipeline]) -> bool:
    """Returns whether the step's action could not be read, which is already reported."""
    match step.body:
        case RunCommand(command):
            return not command
        case Nested(name):
            return name not in pipelines or not pipelines[name].steps
        case _:
            return False


class Results:
    """The schemas of the results of steps."""

    def __init__(self, pipelines: Mapping[str, Pipeline]) -> None:
        self.pipelines = pipelines
        self._of_pipelines: dict[str, Schema | None] = {}

    def of(self, steps: Sequence[Step]) -> list[Schema | None]:
        """Returns the schema of each step's result; None if the result is text."""
        schemas: list[Schema | None] = []
        schema_by_id: dict[str, Schema | None] = {}
        for step in steps:
            schemas.append(self._of_step(step, schema_by_id))
            schema_by_id.setdefault(step.id, schemas[-1])
        return schemas

    def _of_step(self, step: Step, schema_by_id: Mapping[str, Schema | None]) -> Schema | None:
        if step.output_schema is not None:
            return step.output_schema
        if is_unknown(step, self.pipelines):
            return ANYTHING
        match step.body:
            case Join():
                members = [schema_by_id.get(name, ANYTHING) for name in step.depends_on]
                # A join of texts is a text; it is an object only if every member is JSON.
                return None if None in members else OBJECT
            case Nested(name):
                return self._of_pipeline(name)
            case _:
                return None

    def _of_pipeline(self, name: str) -> Schema | None:
        """Returns the schema of the last step's result."""
        if name not in self._of_pipelines:
            self._of_pipelines[name] = self.of(self.pipelines[name].steps)[-1]
        return self._of_pipelines[name]
