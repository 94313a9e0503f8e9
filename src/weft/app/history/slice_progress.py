"""The progress of a slice that a run did not complete, from which the next run continues.

A slice continues if nothing is wrong with its work: it was cancelled, the budget was used up, a process was lost,
it never started, or its run was stopped and the plan changed elsewhere. A slice that failed by itself starts again
from its first step.
"""

from collections.abc import Iterable

from msgspec import Struct, field
from msgspec.structs import replace

from weft.engine.messages.events import Event
from weft.engine.messages.facts import Answered, EarlierSlice, EarlierStep, Ended, RefMove, StepOutcome
from weft.engine.messages.internal_steps import InternalStep, is_internal
from weft.workspaces.git.base.names import dotted

_CUT_OFF = frozenset({"cancelled", "budget", "lost", "infra", "blocked"})
"""Reasons of failures that do not blame the work."""
_ENDS = frozenset({StepOutcome.DONE, StepOutcome.FAILED, StepOutcome.TIMEOUT})
"""Outcomes after which an execution is not repeated."""

Key = tuple[str, int, bool]
"""The address of a step, its attempt, and whether it is a question."""


class SliceProgress(Struct):
    """The progress of one slice, folded from its events."""

    slice: EarlierSlice
    _waiting: dict[Key, EarlierStep] = field(default_factory=dict[Key, EarlierStep])
    """Steps that an earlier run recorded and that this run has not reached; only for a slice that continues."""
    _steps: dict[Key, EarlierStep] = field(default_factory=dict[Key, EarlierStep])
    _open: dict[Key, str] = field(default_factory=dict[Key, str])
    """Steps that were launched and have not ended, with their inputs."""
    _is_cut_off: bool = True
    _has_workspace: bool = False
    """Whether the slice got a workspace; without one, the state of its work is unknown."""

    def hear(self, event: Event) -> None:
        match event.kind, event.step:
            case "subplan_state", _:
                self._is_cut_off = event.outcome != "failed" or event.data.get("reason") in _CUT_OFF
            case "step_finished", InternalStep.WORKSPACE if event.outcome == "done":
                self._begin(event.fact)
            case "step_started", InternalStep.MERGE:
                self.slice = replace(self.slice, merging=True)
            case "step_finished", step if step == InternalStep.RESOLVE and isinstance(event.fact, Ended):
                if event.fact.how in _ENDS:
                    self.slice = replace(self.slice, resolved=True)
            case _, step if step and not is_internal(step):
                self._hear_of_step(event)
            case _:
                pass

    def _begin(self, fact: object) -> None:
        """Records that the workspace is ready: an earlier run's, or a new one."""
        self._has_workspace = True
        if isinstance(fact, Ended) and fact.kept:
            self._waiting, self._open = self._recorded(), dict.fromkeys(self.slice.open, "")
        else:
            run = self.slice.run
            self.slice = EarlierSlice(subplan=self.slice.subplan, run=run)
            self._waiting, self._open = {}, {}
            self._move(fact)
        self._steps = {}

    def _recorded(self) -> dict[Key, EarlierStep]:
        return {_key(step): step for step in self.slice.steps}

    def _hear_of_step(self, event: Event) -> None:
        key = (event.step, event.attempt, event.kind in {"ask", "answered"})
        match event.kind:
            case "step_started":
                self._launch(key, event.data.get("inputs", ""))
            case "ask":
                self._launch(key, event.data.get("question", ""))
            case "step_finished" | "answered" if "earlier_run" in event.data:
                self._waiting.pop(key, None)
                self._steps[key] = self._recorded()[key]
            case "step_finished" if isinstance(event.fact, Ended) and event.fact.how in _ENDS:
                self._end(key, event.fact)
            case "answered" if isinstance(event.fact, Answered):
                self._end(key, event.fact)
            case _:
                pass

    def _launch(self, key: Key, inputs: str) -> None:
        """Follows the engine's rule, except for steps that wait for room: `weft.engine.state.continuation`."""
        if key not in self._open:
            self._waiting.clear()
        self._open[key] = inputs

    def _end(self, key: Key, end: Ended | Answered) -> None:
        inputs = self._open.pop(key, "")
        self._steps.pop(key, None)
        self._steps[key] = EarlierStep(step=key[0], attempt=key[1], inputs=inputs, end=end)
        self._move(end)

    def _move(self, fact: object) -> None:
        moves: Iterable[RefMove] = fact.moves if isinstance(fact, Ended) else ()
        end = f"/{dotted(self.slice.subplan)}"
        for move in moves:
            if move.ref.startswith("refs/heads/") and move.ref.endswith(end):
                self.slice = replace(self.slice, commit=move.after)

    def earlier(self) -> EarlierSlice | None:
        """Returns the steps that the next run continues after; None without any, or if the slice itself failed."""
        steps = {**self._waiting, **self._steps}
        if not self._is_cut_off or not self._has_workspace or not steps:
            return None
        return replace(self.slice, steps=tuple(steps.values()), open=tuple(self._open))


def progress_of(run: str, subplan: str, earlier: EarlierSlice | None) -> SliceProgress:
    """Returns the progress of a slice at the start of a run, which may continue after an `earlier` run."""
    if earlier is None:
        return SliceProgress(EarlierSlice(subplan=subplan, run=run))
    steps = {_key(step): step for step in earlier.steps}
    return SliceProgress(earlier, _steps=steps, _open=dict.fromkeys(earlier.open, ""), _has_workspace=True)


def _key(step: EarlierStep) -> Key:
    return step.step, step.attempt, isinstance(step.end, Answered)
