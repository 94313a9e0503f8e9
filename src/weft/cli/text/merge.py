"""Output of `weft merge`: merged results, and held results with the reason."""

from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct, to_builtins

from weft.app.run.session import RunSetup
from weft.app.views.landing import move_of
from weft.app.views.rows import HeldWork
from weft.app.views.wording.words import arrival, few
from weft.engine.messages import events as kinds
from weft.engine.messages.events import (
    AnyEvent,
    PartsEvent,
    PartsOutcome,
    Recorded,
    RunEnd,
    StepEnd,
    StepFinishedEvent,
)
from weft.engine.messages.internal_steps import InternalStep

_MERGES = frozenset({InternalStep.MERGE, InternalStep.LAND})
_PARTS = _MERGES | {InternalStep.WORKSPACE, InternalStep.VERIFY}
_SILENT_OUTCOMES = frozenset({"done", "held", "lost", "infra", "stopped", "cancelled"})


class MergedResult(Struct, frozen=True, kw_only=True):
    """A result that was merged or landed."""

    subplan: str
    branch: str | None
    """Where it is now; None if it had changed nothing, or was there before."""
    commit: str | None


class MergeObserver:
    """Prints the results of merges and landings as they happen."""

    def __init__(self, say: Callable[[str], None] | None) -> None:
        self._write = say
        self.merged: list[MergedResult] = []
        self.failed = False
        self.refused = False
        """Whether completed parts could not land."""
        self.is_over = False
        """Whether there is nothing more to do in the run."""
        self.interrupted = False

    def start(self, begun: RunSetup) -> None:
        """Prints nothing."""

    def receive(self, events: Sequence[Recorded]) -> None:
        for recorded in events:
            self._handle(recorded.event)

    def _handle(self, event: AnyEvent) -> None:
        match event:
            case kinds.RunFinishedEvent():
                self.is_over = self.is_over or event.outcome is RunEnd.COMPLETED
            case kinds.PartsEvent():
                if event.outcome is not PartsOutcome.STARTED:
                    self._parts(event)
            case kinds.StepFinishedEvent():
                self._step_finished(event)
            case _:
                kinds.overlook(event)

    def _step_finished(self, event: StepFinishedEvent) -> None:
        if event.step in _MERGES and event.outcome is StepEnd.DONE:
            self._arrived(event)
        elif event.step in _PARTS and event.outcome not in _SILENT_OUTCOMES:
            # The command prints held work at the end, with its commands; a failure is printed only here.
            self.failed = True
            self._say(f"{event.subplan}: {event.message or event.outcome}")
            for line in (event.tail or "").splitlines():
                self._say(f"  | {line}")

    def _parts(self, event: PartsEvent) -> None:
        """Records whether completed parts of a group landed or were refused."""
        if event.outcome is PartsOutcome.LANDED:
            move = move_of(event.moves)
            if event.parts and move is not None:
                self.merged.append(
                    MergedResult(subplan=event.subplan, branch=move.branch, commit=move.commit)
                )
                self._say(f"{event.subplan}: {arrival(InternalStep.LAND, move)}, in part: {few(event.parts)}")
            return
        self.refused = event.outcome in {PartsOutcome.HELD, PartsOutcome.STOPPED}
        self.failed = self.failed or not self.refused
        self._say(f"{event.subplan}: {event.message or event.outcome}")

    def _arrived(self, event: StepFinishedEvent) -> None:
        move = move_of(event.moves)
        branch, commit = (move.branch, move.commit) if move is not None else (None, None)
        self.merged.append(MergedResult(subplan=event.subplan, branch=branch, commit=commit))
        nothing = f"there was nothing to {'land' if event.step == InternalStep.LAND else 'merge'}"
        note = f", {event.message}" if event.message else ""
        self._say(f"{event.subplan}: {nothing if move is None else arrival(event.step, move)}{note}")

    def _say(self, line: str) -> None:
        """Prints the line. When the reader has gone, the merge continues without output."""
        try:
            if self._write is not None:
                self._write(line)
        except OSError:
            self._write = None

    def refresh(self) -> None:
        """Draws nothing, since merges take little time."""

    def show_stop(self, times: int) -> None:  # noqa: ARG002 - what is under way ends by itself
        self.interrupted = True


def held_lines(held: Sequence[HeldWork]) -> Iterator[str]:
    for work in held:
        first, *more = work.message.splitlines() or [""]
        yield first if first.startswith(f"{work.subplan} ") else f"{work.subplan}: {first}"
        yield from (f"  {line}".rstrip() for line in more)


def paused_lines(paused: Sequence[str]) -> Iterator[str]:
    for path in paused:
        yield f"{path} is paused and was not tried; to resume it, type: weft resume {path}"


def data(
    run: str, merged: Sequence[MergedResult], held: Sequence[HeldWork], paused: Sequence[str]
) -> dict[str, object]:
    return {"run": run, "merged": to_builtins(merged), "held": to_builtins(held), "paused": list(paused)}
