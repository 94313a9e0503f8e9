"""The net of a pipeline: steps in their order, attempts unrolled.

A cursor moves from step to step, each in a copy for every attempt that can come to it. Before a step stands a
place, and what can happen there is a free choice of the engine: the step runs, or it is stopped because the slice
has failed or is cancelled, or it is skipped because of its condition. *However a step ends, the token moves on*: a
failure is told by what the engine knows of the slice, not by another place, so that success, failure, skipping and
cancellation take the same way. Only where the plan says that something is done again does a failure go elsewhere:

    (code#1) ─▶ code ─▶ (check#1) ─▶ check ─┬ done, cancelled, stop ──▶ (judge#1) …
                                            └ failed ──▶ (code#2) ─▶ …, and at the last attempt ──▶ (judge#1)

An agent that crashed is tried again in the same way: `code` has an outcome of its own that leads to (code#2).

An async step is launched: the cursor goes on, and a token of its own goes through the step and then to each step
that waits for it. No transition takes a cursor and something else but where a step waits; so the net is
free-choice and, as attempts only go up, acyclic.
"""

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from weft.plan.compile.copies import Copies, Counts
from weft.plan.compile.parts import SLOT, Act, OutcomeArcs, Places, Role, ShapeBuilder
from weft.plan.model import AgentWork, Ask, Join, Nested, Pipeline, RunCommand, Step, Verify
from weft.plan.pipelines.flow import Flow, effective, flow
from weft.plan.pipelines.unroll import tries_again

Claims = tuple[tuple[int, int], ...]


class Way(Struct, frozen=True, kw_only=True):
    """What the steps of one shape have in common."""

    pipelines: Mapping[str, Pipeline]
    verifies: bool
    """Whether the slice has something to verify."""
    retries: int
    infra_retries: int
    claims: Mapping[int, Claims]
    """What each step takes for as long as it runs, by its `id()`."""
    async_claims: Claims
    """What each async step takes besides."""
    over: int
    """Where a slice goes on that was cancelled while it held no slots."""


class Around(Struct, frozen=True, kw_only=True):
    """Where a pipeline stands: it is the slice's own, or nested in another."""

    prefix: str = ""
    """The name of the copy that it is in."""
    runs: int = 0
    """How many copies of what it is in come before that one."""
    spine: bool = True
    """Whether its cursor is the one that holds the slice's slots."""
    quiet: bool = True
    """Whether nothing around these steps can be under way beside them."""


class Track:
    """The net of some steps, from a place before the first to a place behind the last."""

    def __init__(
        self,
        shape: ShapeBuilder,
        way: Way,
        steps: Sequence[Step],
        around: Around,
    ) -> None:
        self.shape = shape
        self.way = way
        self.steps = steps = effective(steps, verifies=way.verifies)
        self.around = around
        self.flow: Flow = flow(steps)
        self.copies = Copies(steps, way.retries)
        self.cursors: dict[tuple[int, Counts], int] = {}
        self.ready: dict[tuple[int, Counts], int] = {}
        self.signals: dict[tuple[int, int, Counts], int] = {}

    def lay(self, entry: int, end: int) -> None:
        count = len(self.steps)
        self.cursors[0, self.copies.start] = entry
        self.cursors[count, self.copies.start] = end
        at = 0
        while at < count:
            following = at
            while following < count and self.steps[following].is_async:
                following += 1
            for counts in self.copies.of[at]:
                if following > at:
                    self.launch(at, following, counts)
                else:
                    self.in_turn(at, counts)
            at = max(following, at + 1)

    # Where the copies of the steps have their places.

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

    def name(self, step: int, counts: Counts, tries: int = 0) -> str:
        one = self.steps[step]
        number = self.copies.attempt(step, counts) * (self.tries_again(step) + 1) + tries
        return f"{self.around.prefix}{one.id}#{number + 1}"

    def tries_again(self, step: int) -> int:
        return tries_again(self.steps, step, self.way.retries)

    def place(self, name: str, *, branch: bool = False) -> int:
        return self.shape.place(name, carries=self.around.spine and not branch)

    # The cursor.

    def in_turn(self, step: int, counts: Counts) -> None:
        ready = self.waited(step, counts, self.cursor(step, counts))
        ends = [self.cursor(step + 1, self.copies.onward(step, counts))]
        _Copy(self, step, counts, ends).lay(ready)

    def launch(self, first: int, following: int, counts: Counts) -> None:
        branches = range(first, following)
        starts = [self.place(f"{self.name(step, counts)} launched", branch=True) for step in branches]
        onward = self.cursor(following, counts)
        name = f"launch {self.name(first, counts)}"
        act = Act(Role.LAUNCH, step=self.address(first), frame=self.around.prefix)
        self.shape.move(name, act, [self.cursor(first, counts)], [*starts, onward])
        for step, start in zip(branches, starts, strict=True):
            ready = self.waited(step, counts, start)
            ends = [self.signal(step, later, counts) for later in self.flow.heard_by[step]]
            _Copy(self, step, counts, ends).lay(ready)

    def ready_at(self, step: int, counts: Counts) -> int:
        """Where a step that waited for others is ready, and one that is done again without waiting."""
        key = (step, counts)
        if key not in self.ready:
            name = f"{self.name(step, counts)} ready"
            self.ready[key] = self.place(name, branch=self.steps[step].is_async)
        return self.ready[key]

    def waited(self, step: int, counts: Counts, place: int) -> int:
        """Where the step is ready, once those it waits for have told that they ended."""
        if not self.flow.signals[step]:
            return place
        name, ready = self.name(step, counts), self.ready_at(step, counts)
        told = [self.signal(earlier, step, counts) for earlier in self.flow.signals[step]]
        act = Act(Role.WAIT, step=self.address(step), frame=self.around.prefix)
        self.shape.move(f"wait {name}", act, [place, *told], [ready])
        return ready

    def address(self, step: int) -> str:
        parts = [part.partition("#")[0] for part in f"{self.around.prefix}{self.steps[step].id}".split(".")]
        return ".".join(parts)

    def alone(self, step: int) -> bool:
        """Whether nothing else of the slice can be under way beside this step."""
        around = self.around
        return around.spine and around.quiet and self.flow.ended[step] == (1 << step) - 1


class _Copy:
    """One copy of a step: all its tries, from a place where it is ready to the places that hear of its end."""

    def __init__(self, track: Track, step: int, counts: Counts, ends: Places) -> None:
        self.track = track
        self.number = step
        self.counts = counts
        self.ends = ends
        self.step = track.steps[step]
        self.branch = self.step.is_async
        self.shape = track.shape

    def lay(self, ready: int) -> None:
        name = self.name(0)
        if self.step.condition == "never":
            self.shape.move(f"skip {name}", self.act(Role.SKIP), [ready], self.ends)
            return
        if self.step.condition not in {None, "always"}:
            self.shape.move(f"skip {name}", self.act(Role.SKIP), [ready], self.ends)
        most = self.track.tries_again(self.number)
        for tries in range(most + 1):
            following = None if tries == most else self.place(self.name(tries + 1))
            again = None if following is None else [following]
            failed = again if again is not None and self.step.max_retries else self.after_failure()
            self.one_try(tries, ready, failed, again or self.after_crash())
            ready = ready if following is None else following

    def one_try(self, tries: int, ready: int, failed: Places, crashed: Places | None) -> None:
        match self.step.body:
            case Ask():
                self.gate(self.name(tries), tries, ready, list(self.judged(tries, failed)))
            case Join():
                self.stop(self.name(tries), tries, ready)
                act = self.act(Role.RUN, "", tries)
                self.shape.choice(f"join {self.name(tries)}", act, [ready], list(self.judged(tries, failed)))
            case Nested(pipeline):
                self.nested(self.track.way.pipelines[pipeline].steps, tries, ready, failed)
            case AgentWork() | RunCommand() | Verify():
                self.work(tries, ready, failed, crashed if self.step.retries_crashes else None)

    def after_failure(self) -> Places:
        """Where the last try leads when it fails: back to an earlier step, or on."""
        again = self.track.copies.back(self.number, self.counts)
        return self.ends if again is None else [self.track.cursor(*again)]

    def after_crash(self) -> Places | None:
        """Where a crash of the agent leads that counts as an attempt of a loop; None: where a failure leads.

        What the step waits for has ended, and does not end again.
        """
        track = self.track
        again = track.copies.after_crash(self.number, self.counts)
        if again is None:
            return None
        return [track.ready_at(*again) if track.flow.signals[self.number] else track.cursor(*again)]

    def judged(self, tries: int, failed: Places) -> Iterator[OutcomeArcs]:
        """The outcomes of something that has a result, with what `on_result` adds."""
        yield "done", self.ends
        yield "failed", failed
        actions = {rule.action for rule in self.step.on_result}
        if "abort" in actions:
            yield "aborted", self.ends
        if "ask" in actions:
            name = f"{self.name(tries)} question"
            asked = self.place(name)
            yield "asked", [asked]
            self.gate(name, tries, asked, [("done", self.ends), ("failed", failed)])

    def work(self, tries: int, ready: int, failed: Places, crashed: Places | None) -> None:
        """A process is started; if it is lost or cannot be started, it is tried again, within its own bound."""
        way = self.track.way
        claims = way.claims[id(self.step)]
        if self.branch or not self.track.around.spine:
            claims += way.async_claims
        judged = list(self.judged(tries, failed))
        if crashed is not None:
            judged.append(("crashed", crashed))
        bound = way.infra_retries
        for again in range(bound + 1):
            name = self.name(tries) + (f"~{again}" if again else "")
            following = self.place(f"{self.name(tries)}~{again + 1}") if again < bound else None
            lost = self.ends if following is None else [following]
            self.stop(name, tries, ready)
            outcomes = [*judged, ("cancelled", self.ends), ("lost", lost), ("infra", lost)]
            act = self.act(Role.RUN, self.kind(), tries)
            self.shape.choice(f"run {name}", act, [ready], outcomes, claims)
            ready = ready if following is None else following

    def kind(self) -> str:
        match self.step.body:
            case AgentWork():
                return "agent"
            case RunCommand():
                return "run"
            case _:
                return "verify"

    def nested(self, steps: Sequence[Step], tries: int, ready: int, failed: Places) -> None:
        name = self.name(tries)
        entry, settled = self.place(f"{name} entered"), self.place(f"{name} ended")
        self.stop(name, tries, ready)
        self.shape.move(f"enter {name}", self.act(Role.ENTER, "", tries), [ready], [entry])
        around = Around(
            prefix=f"{name}.",
            runs=self.attempt(tries),
            spine=self.track.around.spine and not self.branch,
            quiet=self.track.alone(self.number),
        )
        Track(self.shape, self.track.way, steps, around).lay(entry, settled)
        outcomes = list(self.judged(tries, failed))
        self.shape.choice(f"settle {name}", self.act(Role.SETTLE, "", tries), [settled], outcomes)

    def gate(self, name: str, tries: int, ready: int, outcomes: Sequence[OutcomeArcs]) -> None:
        """A person is asked. Meanwhile the slice gives back its slots, if nothing else of it is under way."""
        self.stop(name, tries, ready)
        act = self.act(Role.RUN, "ask", tries)
        if self.branch or not self.track.alone(self.number):
            self.shape.choice(f"ask {name}", act, [ready], [*outcomes, ("cancelled", self.ends)])
            return
        waiting = self.shape.place(f"{name} waiting", carries=False)
        self.shape.move(f"leave {name}", self.act(Role.LEAVE, "", tries), [ready], [waiting, SLOT])
        ways: dict[tuple[int, ...], int] = {}  # outcomes that lead to the same place come back together
        for outcome, places in outcomes:
            if tuple(places) not in ways:
                ways[tuple(places)] = self.back(f"{name} {outcome}", tries, places)
        answers: list[OutcomeArcs] = [(outcome, [ways[tuple(places)]]) for outcome, places in outcomes]
        self.shape.choice(f"ask {name}", act, [waiting], [*answers, ("cancelled", [self.track.way.over])])

    def back(self, name: str, tries: int, places: Places) -> int:
        """The way from an answer back to work: the slots are taken again, unless the slice is cancelled."""
        answered = self.shape.place(name, carries=False)
        self.shape.move(f"return {name}", self.act(Role.RETURN, "", tries), [answered, SLOT], places)
        self.shape.move(f"stop {name}", self.act(Role.STOP, "", tries), [answered], [self.track.way.over])
        return answered

    def stop(self, name: str, tries: int, ready: int) -> None:
        self.shape.move(f"stop {name}", self.act(Role.STOP, "", tries), [ready], self.ends)

    def name(self, tries: int) -> str:
        return self.track.name(self.number, self.counts, tries)

    def place(self, name: str) -> int:
        return self.track.place(name, branch=self.branch)

    def act(self, role: Role, kind: str = "", tries: int = 0) -> Act:
        return Act(
            role, kind, self.track.address(self.number), self.attempt(tries) + 1, self.track.around.prefix
        )

    def attempt(self, tries: int) -> int:
        """How many attempts at this step there can be before this one, in all of the slice."""
        copies, before = self.track.copies, self.track.around.runs
        copy = before * len(copies.of[self.number]) + copies.attempt(self.number, self.counts)
        return copy * (self.track.tries_again(self.number) + 1) + tries
