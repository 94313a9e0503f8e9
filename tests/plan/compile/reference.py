"""Pipelines read once more, the naive way: a cursor, counters, and a set of what has ended.

A state is what a person would keep on paper while walking through the steps by hand. It knows nothing of nets,
copies or signals. Two readings are made of it: a *strict* one, in which a step that failed for good ends its
pipeline, as an engine would have it; and a *loose* one, in which each step may also be left out at any time and
failures only matter where something is done again, which is all that a net says.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from weft.plan.model import AgentWork, Ask, Join, Nested, Pipeline, RunCommand, Step, Verify

Label = str | None
"""What is begun: the kind of work and the address of the step; None for what nobody sees."""


@dataclass(frozen=True, slots=True)
class At:
    """Where one step is."""

    phase: str
    """waiting, ready, busy, question, asking, inside, crashed; or how it ended: ok, bad, off."""
    tries: int = 0
    inner: "Walk | None" = None


@dataclass(frozen=True, slots=True)
class Walk:
    """Where a pipeline is."""

    cursor: int = 0
    at: At | None = None
    """The step at the cursor."""
    branches: frozenset[tuple[int, At]] = frozenset()
    ended: frozenset[int] = frozenset()
    sent_back: tuple[tuple[int, int], ...] = ()
    """How often a step has sent the work back."""
    failed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    pipelines: Mapping[str, Pipeline]
    verifies: bool
    retries: int
    strict: bool

    def moves(self, steps: Sequence[Step], walk: Walk, prefix: str = "") -> Iterator[tuple[Label, Walk]]:
        """All that can happen next; nothing once the cursor is behind the last step."""
        for branch in walk.branches:
            number, at = branch
            rest = replace(walk, branches=walk.branches - {branch})
            for label, after in self.step_moves(steps, rest, number, at, prefix):
                yield label, self.branch_moved(rest, number, after, steps[number])
        if walk.cursor == len(steps):
            return
        step = steps[walk.cursor]
        if step.is_async:
            launched = walk.branches | {(walk.cursor, At("waiting"))}
            yield None, replace(walk, branches=launched, cursor=walk.cursor + 1)
            return
        for label, after in self.step_moves(steps, walk, walk.cursor, walk.at or At("waiting"), prefix):
            yield label, self.cursor_moved(steps, walk, after)

    def branch_moved(self, walk: Walk, number: int, after: At, step: Step) -> Walk:
        if after.phase in {"ok", "bad", "off"}:
            return replace(walk, ended=walk.ended | {number}, failed=walk.failed or is_fatal(step, after))
        return replace(walk, branches=walk.branches | {(number, after)})

    def cursor_moved(self, steps: Sequence[Step], walk: Walk, after: At) -> Walk:
        number = walk.cursor
        step = steps[number]
        counts = dict(walk.sent_back)
        if after.phase == "crashed":
            loop = self.crash_loop(steps, number)
            assert loop is not None
            counts[loop] = counts.get(loop, 0) + 1
            return replace(walk, at=At("ready"), sent_back=tuple(sorted(counts.items())))
        if after.phase not in {"ok", "bad", "off"}:
            return replace(walk, at=after)
        if after.phase == "bad" and counts.get(number, 0) < self.limit(step):
            first = next(
                n
                for n, candidate in enumerate(steps)
                if candidate.id == (step.on_fail and step.on_fail.retry_from)
            )
            counts = {n: c for n, c in counts.items() if n >= number} | {number: counts.get(number, 0) + 1}
            still_ended = frozenset(n for n in walk.ended if n < first)
            return replace(
                walk, cursor=first, at=None, ended=still_ended, sent_back=tuple(sorted(counts.items()))
            )
        counts.pop(number, None)
        return replace(
            walk,
            cursor=number + 1,
            at=None,
            ended=walk.ended | {number},
            sent_back=tuple(sorted(counts.items())),
            failed=walk.failed or is_fatal(step, after),
        )

    def limit(self, step: Step) -> int:
        if step.on_fail is None:
            return 0
        return self.retries if step.on_fail.max is None else step.on_fail.max

    # One step.

    def step_moves(
        self, steps: Sequence[Step], walk: Walk, number: int, at: At, prefix: str
    ) -> Iterator[tuple[Label, At]]:
        step = steps[number]
        match at.phase:
            case "waiting":
                yield from self.waits(steps, walk, step)
            case "ready":
                yield from self.beginnings(step, walk, at, prefix)
            case "busy":
                yield from self.endings(step, at)
                yield from self.crashes(steps, walk, number, at)
            case "question":
                yield from self.question(step, walk, at, prefix)
            case "asking":
                yield from ((None, At("ok")), (None, self.again(step, at)), (None, At("off")))
            case _:
                yield from self.inside(step, at, prefix)

    def waits(self, steps: Sequence[Step], walk: Walk, step: Step) -> Iterator[tuple[Label, At]]:
        if all(n in walk.ended for n, candidate in enumerate(steps) if candidate.id in step.depends_on):
            yield None, At("ready")

    def question(self, step: Step, walk: Walk, at: At, prefix: str) -> Iterator[tuple[Label, At]]:
        if not (self.strict and walk.failed):
            yield f"ask {prefix}{step.id}", replace(at, phase="asking")
        yield None, At("off")

    def beginnings(self, step: Step, walk: Walk, at: At, prefix: str) -> Iterator[tuple[Label, At]]:
        idle = self.idle(step)
        conditional = step.condition not in {None, "always"}
        if idle or (conditional and not at.tries):
            yield None, At("ok")
        if idle:
            return
        stopped = self.strict and walk.failed
        if not self.strict or stopped:
            yield None, At("off")
        if isinstance(step.body, Nested) and not stopped:
            yield None, replace(at, phase="inside", inner=Walk())
        elif not stopped:
            yield f"{kind(step)} {prefix}{step.id}", replace(at, phase="busy")

    def endings(self, step: Step, at: At) -> Iterator[tuple[Label, At]]:
        yield from self.judgements(step, at)
        if not isinstance(step.body, Join):
            yield None, At("off")  # cancelled, lost, or could not be started

    def crashes(self, steps: Sequence[Step], walk: Walk, number: int, at: At) -> Iterator[tuple[Label, At]]:
        """An agent that crashed has made an attempt: of the loop that its step is in, or of the step itself."""
        if not steps[number].retries_crashes:
            return
        loop = self.crash_loop(steps, number)
        if loop is None:
            if at.tries < self.retries:
                yield None, At("ready", at.tries + 1)
        elif dict(walk.sent_back).get(loop, 0) < self.limit(steps[loop]):
            yield None, At("crashed")

    def crash_loop(self, steps: Sequence[Step], number: int) -> int | None:
        for later in range(number, len(steps)):
            on_fail = None if self.idle(steps[later]) else steps[later].on_fail
            if on_fail is not None and (later == number or on_fail.retry_from == steps[number].id):
                return later
        return None

    def idle(self, step: Step) -> bool:
        return step.condition == "never" or (isinstance(step.body, Verify) and not self.verifies)

    def judgements(self, step: Step, at: At) -> Iterator[tuple[Label, At]]:
        """It has a result, or none because it failed."""
        yield None, At("ok")
        yield None, self.again(step, at)
        actions = {rule.action for rule in step.on_result}
        if "abort" in actions:
            yield None, At("off")
        if "ask" in actions:
            yield None, replace(at, phase="question", inner=None)

    def again(self, step: Step, at: At) -> At:
        return At("ready", at.tries + 1) if at.tries < step.max_retries else At("bad")

    def inside(self, step: Step, at: At, prefix: str) -> Iterator[tuple[Label, At]]:
        assert isinstance(step.body, Nested)
        assert at.inner is not None
        steps = self.pipelines[step.body.pipeline].steps
        if at.inner.cursor == len(steps):
            if self.strict and at.inner.failed:
                yield None, self.again(step, at)
            else:
                yield from self.judgements(step, at)
            return
        for label, inner in self.moves(steps, at.inner, f"{prefix}{step.id}."):
            yield label, replace(at, inner=inner)


def is_fatal(step: Step, after: At) -> bool:
    return after.phase == "off" or (after.phase == "bad" and step.on_error != "continue")


def kind(step: Step) -> str:
    match step.body:
        case AgentWork():
            return "agent"
        case RunCommand():
            return "run"
        case Verify():
            return "verify"
        case Ask():
            return "ask"
        case Join():
            return "join"
        case Nested():
            raise AssertionError
