"""The output of the steps of a subplan, in the order in which the steps started.

A merge or a landing starts a process only if its result must be verified. It may start several in turn, if the
branch moves meanwhile. The journal has one start and one end for all of them. Each process has an output of its
own. Whether there was a process follows from these outputs, or from the end of the step.
"""

import re
from collections.abc import Iterator
from enum import Enum, auto

from msgspec import Struct, field
from msgspec.structs import replace

from weft.app.project.hosts import records_of
from weft.app.record.activity import workspace_roots
from weft.app.record.journal import Alone, RecordedRun, ignore_absence
from weft.app.record.output import chunks, size
from weft.app.record.run_plan import plan_of
from weft.app.record.step_selection import VERIFIED, WHOLE, StepSelection, chosen
from weft.engine.messages import events as kinds
from weft.engine.messages.events import (
    AnyEvent,
    Recorded,
    StepEnd,
    StepFinishedEvent,
    StepStartedEvent,
    VerifyEvent,
    VerifyOutcome,
    execution_of,
)
from weft.engine.messages.facts import Ended
from weft.engine.messages.internal_steps import InternalStep
from weft.engine.messages.step_refs import ExecutionKey, StepRef
from weft.errors import InputError
from weft.ports.host import JobRecords, OutputPart
from weft.runtime.job_ids import output_name

STREAMS = ("out", "err")
_TAILS = {"out": OutputPart.OUT_TAIL, "err": OutputPart.ERR_TAIL}
_ROUND = re.compile(r"(?:\.(\d+))?")
"""The rest of the name of an output after the name of the execution."""
_AGAIN = StepFinishedEvent(
    outcome=StepEnd.DONE, message="the branch had moved meanwhile, so it was merged and verified again"
)
_NO_FAILURE = frozenset({StepEnd.DONE, StepEnd.CANCELLED, StepEnd.STOPPED})

EndEvent = StepFinishedEvent | VerifyEvent


class StepLog(Struct, kw_only=True, eq=False):
    """One execution of a step."""

    subplan: str
    step: str
    attempt: int
    command: str
    records: JobRecords
    output: str
    """The name of its output in the records."""
    is_announced: bool = False
    """Whether its start has been reported."""
    use: str = ""
    """The adapter of its agent; empty if the step has none."""
    roots: tuple[str, ...] = ()
    """Directories to which the paths of an agent's activities are shown relative."""
    round: int = 0
    """The number of this verify among those of the same merge; 0 for other steps."""
    read: dict[str, int] = field(default_factory=lambda: dict.fromkeys(STREAMS, 0))
    """How many bytes of each stream have been reported."""
    end: EndEvent | None = None

    @property
    def name(self) -> str:
        """The name that `weft logs` accepts."""
        return f"{self.subplan or WHOLE}:{self.step}"


class LogStreams(Enum):
    """The kinds of pieces in a log."""

    STARTED = auto()
    OUTPUT = auto()
    LEFT_OUT = auto()
    """A gap: bytes that were not kept."""
    ENDED = auto()


class Piece(Struct, frozen=True, kw_only=True):
    """A part of the log of a step."""

    what: LogStreams
    log: StepLog
    stream: str = ""
    """`out` or `err`."""
    data: bytes = b""
    offset: int = 0
    """The offset of `data` in its part of the output."""
    left_out: int = 0
    """Bytes of the stream at this point that were not kept."""


def pieces(
    recorded_run: RecordedRun, name: str | None, *, follow: bool = False, alone: Alone = ignore_absence
) -> Iterator[Piece]:
    """Yields the output of a subplan, such as `store/model`, or of one of its steps, such as `store/model:code`.

    Without a name, yields the output of the steps that failed or run. With `follow`, continues until the run is
    over, and yields the output of parallel steps as it is written.
    """
    steps = _choose(recorded_run, WHOLE if name is None else name)
    recorded_run.require_sight(steps.rows, steps.typed)
    selection = _Selection(everything=True) if name is not None else _failed_or_running(recorded_run)
    under_way: dict[ExecutionKey, _Execution] = {}
    after, is_empty = 0, True
    for is_news in recorded_run.poll(follow=follow, alone=alone):
        for recorded in recorded_run.journal.events(recorded_run.run.run, after=after) if is_news else ():
            after = recorded.seq
            if steps.has(recorded.event) and selection.has(recorded):
                _apply(recorded.event, under_way, steps, recorded_run)
        # Output is read after the events: when the end of a step is in the journal, all of its output is on disk.
        for key, execution in [*under_way.items()]:
            for piece in execution.new_pieces():
                is_empty = False
                yield piece
            if execution.end is not None:
                del under_way[key]
    if is_empty and name is not None:
        raise _nothing(recorded_run, steps)


def _choose(recorded_run: RecordedRun, name: str) -> StepSelection:
    try:
        return chosen(plan_of(recorded_run), name)
    except InputError as error:
        only = recorded_run.chosen()
        if not only:
            raise
        raise InputError(f"{error} (run {recorded_run.run.run} was for {', '.join(only)} only)") from None


def _apply(
    event: AnyEvent,
    under_way: "dict[ExecutionKey, _Execution]",
    steps: StepSelection,
    recorded_run: RecordedRun,
) -> None:
    """Updates the executions under way with an event."""
    match event:
        case kinds.VerifyEvent():
            _apply_verify(event, under_way, steps, recorded_run)
        case kinds.StepStartedEvent():
            command = steps.command(event)
            if command:
                log = _new_log(event, command, steps, recorded_run)
                under_way[execution_of(event)] = _Rounds(log) if event.step in VERIFIED else _Execution(log)
        case kinds.StepFinishedEvent():
            key = execution_of(event)
            if key in under_way:
                under_way[key].end = event
        case _:
            kinds.overlook(event)


def _new_log(
    event: StepStartedEvent, command: str, steps: StepSelection, recorded_run: RecordedRun
) -> StepLog:
    is_internal = event.step == InternalStep.WORKSPACE or event.step in VERIFIED
    # Weft's own steps are not retried as attempts, and the name of their output says 1.
    attempt = 1 if is_internal else event.attempt
    run, agent = recorded_run.run, steps.plan.agents.get(event.agent or "")
    settings = steps.plan.scopes[steps.rows[event.subplan]].settings
    return StepLog(
        subplan=event.subplan,
        step=event.step,
        attempt=attempt,
        command=command,
        use="" if agent is None else agent.use,
        roots=workspace_roots(recorded_run.places, run.plan, event.subplan, settings.worktrees),
        records=records_of(recorded_run.places, recorded_run.run.run),
        output=output_name(StepRef(event.subplan, event.step, attempt, execution_of(event))),
    )


_QUEUE = -1
"""Takes the place of a firing in the keys of the landing queue's verifies."""


def _apply_verify(
    event: VerifyEvent,
    under_way: "dict[ExecutionKey, _Execution]",
    steps: StepSelection,
    recorded_run: RecordedRun,
) -> None:
    """Updates the verifies of the landing queue. One verify can be for several subplans."""
    verifies = {key: verify for key, verify in under_way.items() if key.firing == _QUEUE}
    if event.outcome is not VerifyOutcome.STARTED:
        for verify in verifies.values():  # the queue runs one verify at a time
            verify.end = verify.end or event
        return
    log = StepLog(
        subplan=steps.entry_of(event) or "",
        step=event.step,
        attempt=1,
        command=" && ".join(event.commands),
        records=records_of(recorded_run.places, recorded_run.run.run),
        output=event.log,
    )
    # A verify has no firing of its own, so it gets a key that no step can have.
    number = max((number for _, number in verifies), default=0) + 1
    under_way[ExecutionKey(_QUEUE, number)] = _Execution(log)


def _key(event: AnyEvent) -> ExecutionKey | None:
    """Returns the execution that an event starts or ends; None for other events."""
    return execution_of(event) if isinstance(event, StepStartedEvent | StepFinishedEvent) else None


# --- failed and running executions ---


class _Selection(Struct, frozen=True, kw_only=True):
    """The executions to show."""

    everything: bool = False
    keys: frozenset[ExecutionKey] = frozenset()
    last_seq: int = 0
    """The last event that was examined; every execution that starts later is shown."""

    def has(self, recorded: Recorded) -> bool:
        return self.everything or recorded.seq > self.last_seq or _key(recorded.event) in self.keys


def _failed_or_running(recorded_run: RecordedRun) -> _Selection:
    """Selects executions that have not ended, and the last failed ones of subplans that did not succeed."""
    running: dict[ExecutionKey, StepStartedEvent] = {}
    last: dict[tuple[str, str], tuple[ExecutionKey, str]] = {}
    last_seq = 0
    for recorded in recorded_run.journal.events(recorded_run.run.run):
        event, last_seq = recorded.event, recorded.seq
        if isinstance(event, StepStartedEvent):
            running[execution_of(event)] = event
        elif isinstance(event, StepFinishedEvent) and running.pop(execution_of(event), None) is not None:
            last[event.subplan, event.step] = (execution_of(event), event.outcome)
    states = recorded_run.journal.states(recorded_run.run.run)
    failed = {
        key
        for (subplan, step), (key, outcome) in last.items()
        if outcome not in _NO_FAILURE and (states.get(subplan) == "failed" or step in VERIFIED)
    }
    return _Selection(keys=frozenset(failed | running.keys()), last_seq=last_seq)


class _Execution:
    """An execution of a step: one process."""

    def __init__(self, log: StepLog) -> None:
        self._log = log
        self.end: EndEvent | None = None

    def new_pieces(self) -> Iterator[Piece]:
        """Yields the pieces since the last call."""
        self._log.end = self.end
        yield from _new_pieces(self._log)


class _Rounds(_Execution):
    """An execution of a merge or a landing: no process, or several in turn."""

    def __init__(self, log: StepLog) -> None:
        super().__init__(log)
        self._rounds: dict[int, StepLog] = {}

    def new_pieces(self) -> Iterator[Piece]:
        self._find_rounds()
        last = max(self._rounds, default=0)
        for number in sorted(self._rounds):
            log = self._rounds[number]
            if log.end is None:
                # Only the last round can have the end of the step; an earlier one was repeated because the branch
                # had moved.
                log.end = self.end if number == last else _AGAIN
                yield from _new_pieces(log)

    def _find_rounds(self) -> None:
        for number in _numbers(self._log):
            self._add_round(number)
        end = self.end
        if end is not None and not self._rounds and (end.exit_code is not None or end.signal is not None):
            self._add_round(0)  # a process without output leaves no files

    def _add_round(self, number: int) -> None:
        output = f"{self._log.output}.{number}" if number else self._log.output
        log = replace(self._log, output=output, round=number + 1, read=dict.fromkeys(STREAMS, 0))
        self._rounds.setdefault(number, log)


def _numbers(log: StepLog) -> set[int]:
    """Returns the rounds that have an output."""
    endings = (output.removeprefix(log.output) for output in log.records.outputs(log.output))
    return {int(match[1] or 0) for ending in endings if (match := _ROUND.fullmatch(ending))}


# --- the output of one step ---


def _new_pieces(log: StepLog) -> Iterator[Piece]:
    """Yields the output that has not been reported yet."""
    if not log.is_announced:
        log.is_announced = True
        yield Piece(what=LogStreams.STARTED, log=log)
    for stream in STREAMS:
        for data in chunks(log.records, log.output, OutputPart(stream), log.read[stream]):
            offset = log.read[stream]
            log.read[stream] += len(data)
            yield Piece(what=LogStreams.OUTPUT, log=log, stream=stream, data=data, offset=offset)
        if log.end is not None:
            yield from _rest(log, stream)
    if log.end is not None:
        yield Piece(what=LogStreams.ENDED, log=log)


def _rest(log: StepLog, stream: str) -> Iterator[Piece]:
    """Yields the end of the stream.

    Long output is kept in two parts, its beginning and its tail, with a gap between.
    """
    tail = _TAILS[stream]
    # The supervisor counts all bytes, so the size of the gap follows from what was kept.
    left_out = _written_bytes(log, stream) - log.read[stream] - size(log.records, log.output, tail)
    if left_out > 0:
        yield Piece(what=LogStreams.LEFT_OUT, log=log, stream=stream, left_out=left_out)
    for data in chunks(log.records, log.output, tail, 0):
        yield Piece(what=LogStreams.OUTPUT, log=log, stream=stream, data=data)


def _written_bytes(log: StepLog, stream: str) -> int:
    """Returns how many bytes the step wrote; 0 if that is unknown."""
    fact = log.end.fact if log.end is not None else None
    if not isinstance(fact, Ended):
        return 0
    return fact.stdout_bytes if stream == "out" else fact.stderr_bytes


# --- no output ---


def _nothing(recorded_run: RecordedRun, steps: StepSelection) -> InputError:
    problem = f"no process of {steps.typed} has been started in run {recorded_run.run.run}"
    earlier = _earlier(recorded_run, steps)
    return InputError(
        f"{problem}; for an earlier one, type: weft logs {steps.typed} --run {earlier}"
        if earlier
        else problem
    )


def _earlier(recorded_run: RecordedRun, steps: StepSelection) -> str | None:
    """Returns the latest earlier run with such steps, because this run may have taken their results over."""
    runs = [record.run for record in recorded_run.journal.runs(recorded_run.run.plan)]
    for run in runs[runs.index(recorded_run.run.run) + 1 :]:
        events = (recorded.event for recorded in recorded_run.journal.events(run))
        if any(isinstance(event, StepStartedEvent) and steps.has(event) for event in events):
            return run
    return None
