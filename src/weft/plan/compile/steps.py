"""The net of a pipeline: steps in their order, attempts unrolled.

A cursor moves from step to step; each step has a copy for every attempt that can reach it. Before a step there is
a place, and the engine chooses freely what happens there: the step runs, it is stopped because the slice has
failed or is cancelled, or it is skipped because of its condition. *However a step ends, the token moves on*: the
engine's state of the slice records a failure, not another place, so success, failure, skipping and cancellation
take the same way. Only where the plan says that something is repeated does a failure go elsewhere:

(code#1) ─▶ code ─▶ (check#1) ─▶ check ─┬ done, cancelled, stop ──▶ (judge#1) …
                                        └ failed ──▶ (code#2) ─▶ …, and at the last attempt ──▶ (judge#1)

An agent that crashed is retried in the same way: `code` has an outcome of its own that leads to (code#2).

An async step is launched: the cursor moves on, and a separate token goes through the step and then to each step
that waits for it. Only a step that waits has a transition that takes a cursor and something else. So the net is
free-choice and, as attempts only increase, acyclic.
"""

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from weft.plan.compile.actions import ActionKind
from weft.plan.compile.copies import Copies, Counts
from weft.plan.compile.parts import SLOT, Act, OutcomeArcs, Places, Role, ShapeBuilder
from weft.plan.model import AgentWork, Ask, Join, Nested, Pipeline, RunCommand, Step, Verify
from weft.plan.pipelines.flow import Flow, effective, flow
from weft.plan.pipelines.unroll import retries_in_place

Claims = tuple[tuple[int, int], ...]


class ShapeContext(Struct, frozen=True, kw_only=True):
    """What the steps of one shape have in common."""

    pipelines: Mapping[str, Pipeline]
    verifies: bool
    """Whether the slice has verify commands."""
    retries: int
    infra_retries: int
    claims: Mapping[int, Claims]
    """What each step claims while it runs, by its `id()`."""
    async_claims: Claims
    """What each async step claims in addition."""
    over: int
    """Where a slice continues that was cancelled while it held no slots."""


class PipelineContext(Struct, frozen=True, kw_only=True):
    """Where a pipeline is: it is the slice's own, or nested in another."""

    prefix: str = ""
    """The name of the copy of the step that contains it."""
    runs: int = 0
    """The number of earlier copies of the step that contains it."""
    spine: bool = True
    """Whether its cursor is the one that holds the slice's slots."""
    quiet: bool = True
    """Whether nothing outside the pipeline can run at the same time as its steps."""


class PipelineNet:
    """The net of some steps, from a place before the first to a place behind the last."""

    def __init__(
        self,
        shape: ShapeBuilder,
        context: ShapeContext,
        steps: Sequence[Step],
        outer: PipelineContext,
    ) -> None:
        self.shape = shape
        self.context = context
        self.steps = steps = effective(steps, verifies=context.verifies)
        self.outer = outer
        self.flow: Flow = flow(steps)
        self.copies = Copies(steps, context.retries)
        self.cursors: dict[tuple[int, Counts], int] = {}
        self.ready: dict[tuple[int, Counts], int] = {}
        self.signals: dict[tuple[int, int, Counts], int] = {}

    def build(self, entry: int, end: int) -> None:
        count = len(self.steps)
        # The entry and the exit belong to the frame, or to the pipeline around; all other cursors are created on
        # demand.
        self.cursors[0, self.copies.start] = entry
        self.cursors[count, self.copies.start] = end
        first = 0
        while first < count:
            following = first
            while following < count and self.steps[following].is_async:
                following += 1
            # Consecutive async steps are launched together, by one transition.
            for counts in self.copies.of[first]:
                if following > first:
                    self.launch(first, following, counts)
                else:
                    self.in_turn(first, counts)
            first = max(following, first + 1)

    # The places of the copies.

    def cursor(self, step: int, counts: Counts) -> int:
        key = (step, counts)
        if key not in self.cursors:
            self.cursors[key] = self.place(self.name(step, counts))
        return self.cursors[key]

    def signal(self, earlier: int, later: int, counts: Counts) -> int:
        key = (earlier, later, counts)
        if key not in self.signals:
            name = f"{self.name(earlier, counts)} ended for {self.steps[later].id}"
            self.signals[key] = self.shape.place(name, carries=False)
        return self.signals[key]

    def name(self, step: int, counts: Counts, retry: int = 0) -> str:
        # Attempts are numbered through: those of a loop, and within each of them the retries in place.
        number = self.copies.attempt(step, counts) * (self.retries_in_place(step) + 1) + retry
        return f"{self.outer.prefix}{self.steps[step].id}#{number + 1}"

    def retries_in_place(self, step: int) -> int:
        return retries_in_place(self.steps, step, self.context.retries)

    def place(self, name: str, *, branch: bool = False) -> int:
        return self.shape.place(name, carries=self.outer.spine and not branch)

    # The cursor.

    def in_turn(self, step: int, counts: Counts) -> None:
        """Adds a copy of a sequential step."""
        ready = self.add_wait(step, counts, self.cursor(step, counts))
        ends = [self.cursor(step + 1, self.copies.onward(step, counts))]
        _Copy(self, step, counts, ends).build(ready)

    def launch(self, first: int, following: int, counts: Counts) -> None:
        """Adds copies of async steps, and the transition that starts them."""
        branches = range(first, following)
        starts = [self.place(f"{self.name(step, counts)} launched", branch=True) for step in branches]
        onward = self.cursor(following, counts)
        name = f"launch {self.name(first, counts)}"
        act = Act(Role.LAUNCH, step=self.address(first), frame=self.outer.prefix)
        self.shape.move(name, act, [self.cursor(first, counts)], [*starts, onward])
        for step, start in zip(branches, starts, strict=True):
            ready = self.add_wait(step, counts, start)
            ends = [self.signal(step, later, counts) for later in self.flow.waiters[step]]
            _Copy(self, step, counts, ends).build(ready)

    def ready_at(self, step: int, counts: Counts) -> int:
        """Returns the place where a copy is ready after waiting, or when it is repeated without waiting."""
        key = (step, counts)
        if key not in self.ready:
            name = f"{self.name(step, counts)} ready"
            self.ready[key] = self.place(name, branch=self.steps[step].is_async)
        return self.ready[key]

    def add_wait(self, step: int, counts: Counts, place: int) -> int:
        """Returns the place where the step is ready after the steps it waits for have signalled their end."""
        if not self.flow.signals[step]:
            return place
        name, ready = self.name(step, counts), self.ready_at(step, counts)
        signals = [self.signal(earlier, step, counts) for earlier in self.flow.signals[step]]
        act = Act(Role.WAIT, step=self.address(step), frame=self.outer.prefix)
        self.shape.move(f"wait {name}", act, [place, *signals], [ready])
        return ready

    def address(self, step: int) -> str:
        """Returns the address of a step, as `outer.inner`."""
        parts = [part.partition("#")[0] for part in f"{self.outer.prefix}{self.steps[step].id}".split(".")]
        return ".".join(parts)

    def alone(self, step: int) -> bool:
        """Returns whether nothing else of the slice can run at the same time as this step."""
        outer = self.outer
        return outer.spine and outer.quiet and self.flow.ended[step] == (1 << step) - 1


class _Copy:
    """One copy of a step with all its retries, from the place where it is ready to the places of its end."""

    def __init__(self, pipeline: PipelineNet, step: int, counts: Counts, ends: Places) -> None:
        self.pipeline = pipeline
        self.number = step
        self.counts = counts
        self.ends = ends
        self.step = pipeline.steps[step]
        self.branch = self.step.is_async
        self.shape = pipeline.shape

    def build(self, ready: int) -> None:
        name = self.name(0)
        if self.step.condition == "never":
            self.shape.move(f"skip {name}", self.act(Role.SKIP), [ready], self.ends)
            return
        # Whether the condition holds is known only at run time, so the net allows both: to skip the step and to
        # run it.
        if self.step.condition not in {None, "always"}:
            self.shape.move(f"skip {name}", self.act(Role.SKIP), [ready], self.ends)
        most = self.pipeline.retries_in_place(self.number)
        for retry in range(most + 1):
            following = None if retry == most else self.place(self.name(retry + 1))
            again = None if following is None else [following]
            # `retries_in_place` also covers crashes. A plain failure uses a retry only if the step asks for it.
            failed = again if again is not None and self.step.max_retries else self.after_failure()
            self.add_try(retry, ready, failed, again or self.after_crash())
            ready = ready if following is None else following

    def add_try(self, retry: int, ready: int, failed: Places, crashed: Places | None) -> None:
        match self.step.body:
            case Ask():
                self.gate(self.name(retry), retry, ready, list(self.outcomes(retry, failed)))
            case Join():
                self.stop(self.name(retry), retry, ready)
                act = self.act(Role.RUN, retry=retry)
                self.shape.choice(
                    f"join {self.name(retry)}", act, [ready], list(self.outcomes(retry, failed))
                )
            case Nested(pipeline):
                self.add_nested(self.pipeline.context.pipelines[pipeline].steps, retry, ready, failed)
            case AgentWork() | RunCommand() | Verify():
                self.work(retry, ready, failed, crashed if self.step.retries_crashes else None)

    def after_failure(self) -> Places:
        """Returns where the last retry leads when it fails: back to an earlier step, or onward."""
        again = self.pipeline.copies.back(self.number, self.counts)
        return self.ends if again is None else [self.pipeline.cursor(*again)]

    def after_crash(self) -> Places | None:
        """Returns where a crash leads that a loop counts as an attempt; None if a crash is like a failure."""
        pipeline = self.pipeline
        again = pipeline.copies.after_crash(self.number, self.counts)
        if again is None:
            return None
        # The steps that this one waits for have ended and do not signal again, so the next copy must not
        # wait.
        return [pipeline.ready_at(*again) if pipeline.flow.signals[self.number] else pipeline.cursor(*again)]

    def outcomes(self, retry: int, failed: Places) -> Iterator[OutcomeArcs]:
        """Yields the outcomes of something with a result, including those of `on_result`."""
        yield "done", self.ends
        yield "failed", failed
        # An outcome exists only if a rule can lead to it; an unused one would be a dead transition, and the net
        # unsound.
        actions = {rule.action for rule in self.step.on_result}
        if "abort" in actions:
            yield "aborted", self.ends
        if "ask" in actions:
            name = f"{self.name(retry)} question"
            question = self.place(name)
            yield "asked", [question]
            self.gate(name, retry, question, [("done", self.ends), ("failed", failed)])

    def work(self, retry: int, ready: int, failed: Places, crashed: Places | None) -> None:
        """Adds a process. If it is lost or cannot be started, it is retried, within a limit of its own."""
        context = self.pipeline.context
        claims = context.claims[id(self.step)]
        # Steps on async branches share the limit `max_concurrency` of the slice.
        if self.branch or not self.pipeline.outer.spine:
            claims += context.async_claims
        results = list(self.outcomes(retry, failed))
        if crashed is not None:
            results.append(("crashed", crashed))
        bound = context.infra_retries
        for again in range(bound + 1):
            name = self.name(retry) + (f"~{again}" if again else "")
            following = self.place(f"{self.name(retry)}~{again + 1}") if again < bound else None
            lost = self.ends if following is None else [following]
            self.stop(name, retry, ready)
            outcomes = [*results, ("cancelled", self.ends), ("lost", lost), ("infra", lost)]
            act = self.act(Role.RUN, self.kind(), retry, rerun=again)
            self.shape.choice(f"run {name}", act, [ready], outcomes, claims)
            ready = ready if following is None else following

    def kind(self) -> ActionKind:
        match self.step.body:
            case AgentWork():
                return ActionKind.AGENT
            case RunCommand():
                return ActionKind.RUN
            case _:
                return ActionKind.VERIFY

    def add_nested(self, steps: Sequence[Step], retry: int, ready: int, failed: Places) -> None:
        name = self.name(retry)
        entry, settled = self.place(f"{name} entered"), self.place(f"{name} ended")
        self.stop(name, retry, ready)
        self.shape.move(f"enter {name}", self.act(Role.ENTER, retry=retry), [ready], [entry])
        outer = PipelineContext(
            prefix=f"{name}.",
            runs=self.attempt(retry),
            spine=self.pipeline.outer.spine and not self.branch,
            quiet=self.pipeline.alone(self.number),
        )
        PipelineNet(self.shape, self.pipeline.context, steps, outer).build(entry, settled)
        outcomes = list(self.outcomes(retry, failed))
        # The inner pipeline always reaches its end, also after a failure; only here is it decided what the step
        # came to.
        act = self.act(Role.SETTLE, retry=retry, inner=outer.prefix)
        self.shape.choice(f"settle {name}", act, [settled], outcomes)

    def gate(self, name: str, retry: int, ready: int, outcomes: Sequence[OutcomeArcs]) -> None:
        """Adds a question to a person. Meanwhile the slice releases its slots, if nothing else of it runs."""
        self.stop(name, retry, ready)
        act = self.act(Role.RUN, ActionKind.ASK, retry)
        # Slots can be released only if no other step of the slice needs them meanwhile.
        if self.branch or not self.pipeline.alone(self.number):
            self.shape.choice(f"ask {name}", act, [ready], [*outcomes, ("cancelled", self.ends)])
            return
        waiting = self.shape.place(f"{name} waiting", carries=False)
        self.shape.move(f"leave {name}", self.act(Role.LEAVE, retry=retry), [ready], [waiting, SLOT])
        ways: dict[tuple[int, ...], int] = {}  # outcomes with the same target share one way back
        for outcome, places in outcomes:
            if tuple(places) not in ways:
                ways[tuple(places)] = self.back(f"{name} {outcome}", retry, places)
        answers: list[OutcomeArcs] = [(outcome, [ways[tuple(places)]]) for outcome, places in outcomes]
        self.shape.choice(
            f"ask {name}", act, [waiting], [*answers, ("cancelled", [self.pipeline.context.over])]
        )

    def back(self, name: str, retry: int, places: Places) -> int:
        """Adds the way from an answer back to work: the slots are taken again, unless the slice is cancelled."""
        answered = self.shape.place(name, carries=False)
        self.shape.move(f"return {name}", self.act(Role.RETURN, retry=retry), [answered, SLOT], places)
        self.shape.move(
            f"stop {name}", self.act(Role.STOP, retry=retry), [answered], [self.pipeline.context.over]
        )
        return answered

    def stop(self, name: str, retry: int, ready: int) -> None:
        self.shape.move(f"stop {name}", self.act(Role.STOP, retry=retry), [ready], self.ends)

    def name(self, retry: int) -> str:
        return self.pipeline.name(self.number, self.counts, retry)

    def place(self, name: str) -> int:
        return self.pipeline.place(name, branch=self.branch)

    def act(
        self,
        role: Role,
        kind: ActionKind = ActionKind.NONE,
        retry: int = 0,
        *,
        inner: str = "",
        rerun: int = 0,
    ) -> Act:
        return Act(
            role,
            kind,
            self.pipeline.address(self.number),
            self.attempt(retry) + 1,
            self.pipeline.outer.prefix,
            inner,
            rerun,
        )

    def attempt(self, retry: int) -> int:
        """Returns how many attempts at this step can come before this one, in the whole slice."""
        copies, before = self.pipeline.copies, self.pipeline.outer.runs
        copy = before * len(copies.of[self.number]) + copies.attempt(self.number, self.counts)
        return copy * (self.pipeline.retries_in_place(self.number) + 1) + retry
