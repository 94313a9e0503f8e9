"""The steps of a slice by address, each with what is known of its place among the others."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile

from msgspec import Struct

from weft.plan.model import Join, Nested, Pipeline, Step
from weft.plan.pipelines.flow import effective, flow
from weft.plan.results.result_types import Results, Schema


class PlacedStep(Struct, frozen=True, eq=False, kw_only=True):
    address: str
    step: Step
    prefix: str
    """What the addresses of the steps beside it begin with, as `outer.`; empty in the slice's own pipeline."""
    beside: Sequence[Step]
    """All steps of the same pipeline."""
    waiters: tuple[Step, ...]
    """Of an async step: the steps that wait for it."""
    launched: tuple[str, ...]
    """The addresses of the async steps from this one up to the next that is not async."""
    inner: Sequence[Step]
    """Of a nested pipeline: its steps."""
    schemas: Mapping[str, Schema | None]
    """Of a join: the schemas of what it joins, None for text."""

    @property
    def within(self) -> str:
        """The address of the step that its pipeline stands for."""
        return self.prefix.removesuffix(".")

    @property
    def is_judged(self) -> bool:
        """Whether its result has to be looked at."""
        return self.step.output_schema is not None or bool(self.step.on_result)

    @property
    def waits_for_all(self) -> bool:
        body = self.step.body
        return isinstance(body, Join) and body.wait_for_all


def placed_steps(
    steps: Sequence[Step], pipelines: Mapping[str, Pipeline], *, verifies: bool
) -> Mapping[str, PlacedStep]:
    places = _Places(pipelines, Results(pipelines), verifies)
    return {one.address: one for one in places.of(steps, "")}


class _Places(Struct, frozen=True):
    pipelines: Mapping[str, Pipeline]
    results: Results
    verifies: bool

    def of(self, given: Sequence[Step], prefix: str) -> Iterator[PlacedStep]:
        steps = effective(given, verifies=self.verifies)
        waiters, schemas = _waiters(steps), self._schemas(steps)
        for number, step in enumerate(steps):
            address = f"{prefix}{step.id}"
            inner = self.pipelines[step.body.pipeline].steps if isinstance(step.body, Nested) else ()
            yield PlacedStep(
                address=address,
                step=step,
                prefix=prefix,
                beside=steps,
                waiters=waiters.get(number, ()),
                launched=_launched(steps, number, prefix),
                inner=inner,
                schemas={name: schemas[name] for name in step.depends_on} if schemas else {},
            )
            if inner:
                yield from self.of(inner, f"{address}.")

    def _schemas(self, steps: Sequence[Step]) -> Mapping[str, Schema | None]:
        if not any(isinstance(step.body, Join) for step in steps):
            return {}
        return {step.id: schema for step, schema in zip(steps, self.results.of(steps), strict=True)}


def _waiters(steps: Sequence[Step]) -> Mapping[int, tuple[Step, ...]]:
    if not any(step.is_async for step in steps):
        return {}
    heard_by = flow(steps).waiters
    return {number: tuple(steps[other] for other in others) for number, others in enumerate(heard_by)}


def _launched(steps: Sequence[Step], number: int, prefix: str) -> tuple[str, ...]:
    if not steps[number].is_async:
        return ()
    together = takewhile(lambda one: one.is_async, steps[number:])
    return tuple(f"{prefix}{one.id}" for one in together)
