"""The progress of a slice that a run did not complete, from which the next run continues.

A slice continues if nothing is wrong with its work: it was cancelled, the budget was used up, a process was lost,
it never started, or its run was stopped and the plan changed elsewhere. A slice that failed by itself starts again
from its first step.
"""

from collections.abc import Iterable

from msgspec import Struct, field
from msgspec.structs import replace

from weft.engine.messages import events as kinds
from weft.engine.messages.events import AnyEvent
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

    def apply(self, event: AnyEvent) -> None:  # noqa: C901 - one case for each class
        match event:
            case kinds.SubplanStateEvent():
                self._is_cut_off = event.outcome != "failed" or event.reason in _CUT_OFF
            case kinds.StepStartedEvent():
                if event.step == InternalStep.MERGE:
                    self.slice = replace(self.slice, merging=True)
                elif _is_planned(event.step):
                    self._launch((event.step, event.attempt, False), event.inputs)
            case kinds.StepFinishedEvent():
                self._step_finished(event)
            case kinds.AskEvent():
                if _is_planned(event.step):
                    self._launch((event.step, event.attempt, True), event.question)
            case kinds.AnsweredEvent():
                if _is_planned(event.step):
                    self._apply_answer(event)
            case _:
                kinds.overlook(event)

    def _begin(self, fact: object) -> None:
        """Records that the workspace is ready: an earlier run's, or a new one."""
        self._has_workspace = True
        # `kept` means that the old worktree is still there with the commits of the recorded steps. A new workspace
        # has none of that work, so everything recorded before is void.
        if isinstance(fact, Ended) and fact.kept:
            self._waiting, self._open = self._recorded_steps(), dict.fromkeys(self.slice.open, "")
        elif self.slice.completed:  # it was merged, and the new workspace has the work of its steps
            self._waiting, self._open = self._recorded_steps(), {}
            self._move(fact)
        else:
            run = self.slice.run
            self.slice = EarlierSlice(subplan=self.slice.subplan, run=run)
            self._waiting, self._open = {}, {}
            self._move(fact)
        self._steps = {}

    def _recorded_steps(self) -> dict[Key, EarlierStep]:
        return {_key(step): step for step in self.slice.steps}

    def _step_finished(self, event: kinds.StepFinishedEvent) -> None:
        key = (event.step, event.attempt, False)
        ended = isinstance(event.fact, Ended) and event.fact.how in _ENDS
        if event.step == InternalStep.WORKSPACE:
            if event.outcome is kinds.StepEnd.DONE:
                self._begin(event.fact)
        elif event.step == InternalStep.RESOLVE:
            if ended:
                self.slice = replace(self.slice, resolved=True)
        elif _is_planned(event.step):
            if event.earlier_run:
                self._take_over(key)
            elif ended and isinstance(event.fact, Ended):
                self._end(key, event.fact)

    def _apply_answer(self, event: kinds.AnsweredEvent) -> None:
        key = (event.step, event.attempt, True)
        if event.earlier_run:
            self._take_over(key)
        elif isinstance(event.fact, Answered):
            self._end(key, event.fact)

    def _take_over(self, key: Key) -> None:
        """Records that this run has taken over the end of a step from an earlier run."""
        self._waiting.pop(key, None)
        self._steps[key] = self._recorded_steps()[key]

    def _launch(self, key: Key, inputs: str) -> None:
        """Follows the engine's rule, except for steps that wait for room: `weft.engine.state.continuation`."""
        # A step that was not recorded as open means that this run has left the recorded course, for example
        # because a prompt was edited. The engine then runs all later steps itself; the recorded ones must not be
        # offered again.
        if key not in self._open:
            self._waiting.clear()
        self._open[key] = inputs

    def _end(self, key: Key, end: Ended | Answered) -> None:
        inputs = self._open.pop(key, "")
        # Removed first, so that the step moves to the end: the order of the steps is the order in which they
        # ended.
        self._steps.pop(key, None)
        self._steps[key] = EarlierStep(step=key[0], attempt=key[1], inputs=inputs, end=end)
        self._move(end)

    def _move(self, fact: object) -> None:
        moves: Iterable[RefMove] = fact.moves if isinstance(fact, Ended) else ()
        # A step can also move other refs, such as those of kept work. Only the slice's own branch says where it
        # continues.
        end = f"/{dotted(self.slice.subplan)}"
        for move in moves:
            if move.ref.startswith("refs/heads/") and move.ref.endswith(end):
                self.slice = replace(self.slice, commit=move.after, completed=False)

    def earlier(self) -> EarlierSlice | None:
        """Returns the steps that the next run continues after; None without any, or if the slice itself failed."""
        steps = {**self._waiting, **self._steps}
        # A slice that failed by itself would fail again in the same way, so it starts from its first step.
        if not self._is_cut_off or not self._has_workspace or not (steps or self.slice.completed):
            return None
        return replace(self.slice, steps=tuple(steps.values()), open=tuple(self._open))

    def completed(self) -> EarlierSlice:
        """Returns all steps of a slice that the run has completed."""
        steps = tuple(self._steps.values())
        return replace(self.slice, steps=steps, open=(), merging=False, resolved=False, completed=True)


def _is_planned(step: str) -> bool:
    """Returns whether a step is part of the plan."""
    return bool(step) and not is_internal(step)


def progress_of(run: str, subplan: str, earlier: EarlierSlice | None) -> SliceProgress:
    """Returns the progress of a slice at the start of a run, which may continue after an `earlier` run."""
    if earlier is None:
        return SliceProgress(EarlierSlice(subplan=subplan, run=run))
    steps = {_key(step): step for step in earlier.steps}
    return SliceProgress(earlier, _steps=steps, _open=dict.fromkeys(earlier.open, ""), _has_workspace=True)


def _key(step: EarlierStep) -> Key:
    return step.step, step.attempt, isinstance(step.end, Answered)
