"""What is known of the results of steps before any of them has run: which are JSON, and of what kind."""

from collections.abc import Mapping, Sequence
from typing import Any

from weft.plan.model import Join, Nested, Pipeline, RunCommand, Step

Schema = Mapping[str, Any]

ANYTHING: Schema = {}
"""Of what has been told to be wrong, so that nobody can tell what it would give."""
OBJECT: Schema = {"type": "object"}


def is_unknown(step: Step, pipelines: Mapping[str, Pipeline]) -> bool:
    """Whether it could not be read what the step does, which has been told."""
    match step.body:
        case RunCommand(command):
            return not command
        case Nested(name):
            return name not in pipelines or not pipelines[name].steps
        case _:
            return False


class Results:
    def __init__(self, pipelines: Mapping[str, Pipeline]) -> None:
        self.pipelines = pipelines
        self._of_pipelines: dict[str, Schema | None] = {}

    def of(self, steps: Sequence[Step]) -> list[Schema | None]:
        """The schema of each step's result; None if it is text."""
        found: list[Schema | None] = []
        known: dict[str, Schema | None] = {}
        for step in steps:
            found.append(self._of_step(step, known))
            known.setdefault(step.id, found[-1])
        return found

    def _of_step(self, step: Step, known: Mapping[str, Schema | None]) -> Schema | None:
        if step.output_schema is not None:
            return step.output_schema
        if is_unknown(step, self.pipelines):
            return ANYTHING
        match step.body:
            case Join():
                members = [known.get(name, ANYTHING) for name in step.depends_on]
                return None if None in members else OBJECT
            case Nested(name):
                return self._of_pipeline(name)
            case _:
                return None

    def _of_pipeline(self, name: str) -> Schema | None:
        """That of its last step."""
        if name not in self._of_pipelines:
            self._of_pipelines[name] = self.of(self.pipelines[name].steps)[-1]
        return self._of_pipelines[name]
