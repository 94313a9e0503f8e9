"""The end of the log of one subplan, followed by byte offsets through the records of the host.

A log of a gigabyte costs as much as one of a few hundred kilobytes: of each output only the end is read, and then
what was added. Only the last executions are kept, and of these the last lines. What an
agent does is shown in words.
"""

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from weft.app.inspect.output_tail import Entry, EntryKey, part_tail
from weft.app.record.activity import AgentOutputs
from weft.engine.messages.event_codec import kinds_of
from weft.engine.messages.events import StepFinishedEvent, StepStartedEvent, execution_of
from weft.engine.messages.internal_steps import is_internal
from weft.engine.messages.step_refs import ExecutionKey, StepRef
from weft.ports.host import JobRecords, OutputPart, PartState
from weft.ports.journal import JournalReader
from weft.runtime.job_ids import output_name

MOST_LINES = 1_000
"""How many lines of an execution are kept; of an agent, how many activities."""
MOST_EXECUTIONS = 8
"""How many executions are shown; `weft logs` prints all."""
_STEP_KINDS = kinds_of(StepStartedEvent, StepFinishedEvent)
_OUTCOMES: Mapping[str, str] = {"infra": "failed"}
_TAILS = {OutputPart.OUT: OutputPart.OUT_TAIL, OutputPart.ERR: OutputPart.ERR_TAIL}


class LogLine(Struct, frozen=True):
    text: str
    kind: str = ""
    """Empty for output; `head` where a step starts or ends, `gap` where output was left out, `failed`."""


class LogTail:
    """The log of one subplan. Each call of `update` reads what was added."""

    def __init__(self, journal: JournalReader, agents: AgentOutputs, run: str, path: str) -> None:
        self.path = path
        self._journal = journal
        self._agents = agents
        self._records = agents.records
        self._run = run
        self._seq = 0
        self._executions: dict[ExecutionKey, _ExecutionTail] = {}
        self._earlier = 0
        """Executions that are not shown any more."""

    def update(self, *, has_news: bool = True) -> bool:
        """Reads what was added, and returns whether anything was. Without news, the journal is not read."""
        changed = self._read_journal() if has_news else False
        for execution in self._executions.values():
            changed |= execution.update(self._records)
        return changed

    def lines(self) -> list[LogLine]:
        found: list[LogLine] = []
        if self._earlier:
            text = f"{self._earlier:,} earlier; all of them: weft logs {self.path or '/'}"
            found.append(LogLine(text, "gap"))
        for execution in self._executions.values():
            found += execution.lines()
        return found

    def _read_journal(self) -> bool:
        before = self._seq
        for raw in self._journal.step_events(self._run, [self.path], after=self._seq):
            self._seq = max(self._seq, raw.seq)
            if raw.kind not in _STEP_KINDS:
                continue
            event = raw.event()
            if isinstance(event, StepStartedEvent):
                self._start(event)
            elif isinstance(event, StepFinishedEvent) and execution_of(event) in self._executions:
                self._executions[execution_of(event)].end = event
        return self._seq != before

    def _start(self, event: StepStartedEvent) -> None:
        has_process = bool(event.command or event.agent)
        if not has_process and not is_internal(event.step):
            return
        self._executions[execution_of(event)] = _ExecutionTail(event, self._agents)
        while len(self._executions) > MOST_EXECUTIONS:
            del self._executions[next(iter(self._executions))]
            self._earlier += 1


class _ExecutionTail:
    """The end of the output of one execution, of both streams in the order in which they were read."""

    def __init__(self, start: StepStartedEvent, agents: AgentOutputs) -> None:
        self._start = start
        # Weft's own steps are not retried as attempts, and the name of their output says 1.
        attempt = 1 if is_internal(start.step) else start.attempt
        self._output = output_name(StepRef(start.subplan, start.step, attempt, execution_of(start)))
        self._agent = agents.of(start.subplan, start.agent, self._output) if start.agent else None
        self.end: StepFinishedEvent | None = None
        self._is_read = False
        # An agent writes its answer to standard output when it has done what it reports on standard error.
        parts = list(_TAILS) if self._agent is None else [*reversed(_TAILS)]
        self._parts = {part: part_tail(part, self._agent) for part in parts}
        self._entries: dict[EntryKey, Sequence[str]] = {}
        """Lines of text, and activities of agents. A later state of an activity keeps its place."""
        self._dropped = False
        self._tails: dict[OutputPart, tuple[PartState, Sequence[str]]] = {}

    def update(self, records: JobRecords) -> bool:
        if self._is_read:
            return False
        ended = self.end is not None
        changed = False
        for part in self._parts.values():
            before = part.unfinished()
            changed |= self._add(part.read(records, self._output)) or part.unfinished() != before
            self._dropped |= part.is_cut
        changed |= self._read_tails(records)
        if ended and not changed:
            self._is_read = True
            for part in self._parts.values():
                self._add(part.rest())
            return True
        return changed

    def _add(self, entries: Sequence[Entry]) -> bool:
        self._entries.update(entries)
        while len(self._entries) > MOST_LINES:
            del self._entries[next(iter(self._entries))]
            self._dropped = True
        return bool(entries)

    def _read_tails(self, records: JobRecords) -> bool:
        """Reads the ends of outputs that are too long to be kept; the host replaces them."""
        changed = False
        for part in _TAILS.values():
            state = records.state(self._output, part)
            if state is None or (part in self._tails and self._tails[part][0] == state):
                continue
            end = part_tail(part, self._agent)
            entries = [*end.read(records, self._output), *end.rest()]
            # An activity whose result has arrived is there twice; the dict keeps the later one.
            self._tails[part] = (state, [line for lines in dict(entries).values() for line in lines])
            changed = True
        return changed

    def lines(self) -> Iterator[LogLine]:
        is_quiet = is_internal(self._start.step) and not self._entries and not self._tails
        # Most merges and landings run no process; a heading over nothing would only be noise.
        if is_quiet and (self.end is None or self.end.outcome == "done"):
            return
        yield LogLine(_heading(self._start), "head")
        if self._dropped:
            yield LogLine(f"earlier output: weft logs {_name(self._start)}", "gap")
        for lines in self._entries.values():
            yield from (LogLine(line) for line in lines)
        for part_end in self._parts.values():
            yield from (LogLine(line) for line in part_end.unfinished())
        for part, (_, lines) in self._tails.items():
            yield LogLine(f"output in between was not kept ({part})", "gap")
            yield from (LogLine(line) for line in lines)
        if self.end is not None:
            yield _ending(self.end)


def _name(start: StepStartedEvent) -> str:
    return f"{start.subplan or '/'}:{start.step}"


def _heading(start: StepStartedEvent) -> str:
    attempt = f" (attempt {start.attempt})" if start.attempt > 1 and not is_internal(start.step) else ""
    does = start.command or (f"agent {start.agent}" if start.agent else "")
    return f"{start.step.removeprefix('@')}{attempt}" + (f": {does}" if does else "")


def _ending(end: StepFinishedEvent) -> LogLine:
    step = end.step.removeprefix("@")
    message = end.message.partition("\n")[0].removeprefix(f"{end.step}: ")
    text = f"{step} {_OUTCOMES.get(end.outcome, str(end.outcome))}" + (f": {message}" if message else "")
    return LogLine(text, "head" if end.outcome == "done" else "failed")
