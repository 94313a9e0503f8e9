"""The steps of a slice by address, each with its position in its pipeline."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile

from msgspec import Struct

from weft.plan.model import Join, Nested, Pipeline, Step
from weft.plan.pipelines.flow import effective, flow
from weft.plan.results.result_types import Results, Schema


class PlacedStep(Struct, frozen=True, eq=False, kw_only=True):
    """A step with its address and its relations to the other steps of its pipeline."""

    address: str
    step: Step
    prefix: str
    """The common prefix of the addresses in its pipeline, as `outer.`; empty in the slice's own pipeline."""
    beside: Sequence[Step]
    """All steps of the same pipeline."""
    waiters: tuple[Step, ...]
    """The steps that wait for this one, if it is async."""
    launched: tuple[str, ...]
    """The addresses of the async steps from this one up to the next that is not async."""
    inner: Sequence[Step]
    """The steps of its nested pipeline, if it has one."""
    schemas: Mapping[str, Schema | None]
    """The schemas of the results that a join combines; None for text."""

    @property
    def within(self) -> str:
        """The address of the step that contains its pipeline."""
        return self.prefix.removesuffix(".")

    @property
    def is_judged(self) -> bool:
        """Whether its result is checked by a schema or by `on_result`."""
        return self.step.output_schema is not None or bool(self.step.on_result)

    @property
    def waits_for_all(self) -> bool:
        body = self.step.body
        return isinstance(body, Join) and body.wait_for_all


def placed_steps(
    steps: Sequence[Step], pipelines: Mapping[str, Pipeline], *, verifies: bool
) -> Mapping[str, PlacedStep]:
    """Returns the steps of a slice, nested ones included, by address."""
    places = _Places(pipelines, Results(pipelines), verifies)
    return {placed.address: placed for placed in places.of(steps, "")}


class _Places(Struct, frozen=True):
    pipelines: Mapping[str, Pipeline]
    results: Results
    verifies: bool

    def of(self, declared: Sequence[Step], prefix: str) -> Iterator[PlacedStep]:
        steps = effective(declared, verifies=self.verifies)
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
    waiters = flow(steps).waiters
    return {number: tuple(steps[waiter] for waiter in numbers) for number, numbers in enumerate(waiters)}


def _launched(steps: Sequence[Step], number: int, prefix: str) -> tuple[str, ...]:
    if not steps[number].is_async:
        return ()
    together = takewhile(lambda step: step.is_async, steps[number:])
    return tuple(f"{prefix}{step.id}" for step in together)
