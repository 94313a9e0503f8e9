"""The meaning of a job's end: its output, and the fact for the engine.

The host reports how the process ended. An agent's adapter judges only a process that ended by itself, but the cost
that it reads counts for every end.
"""

import signal

from msgspec import Struct
from msgspec.structs import replace

from weft.engine.messages.facts import Ended, StepOutcome
from weft.engine.messages.orders import Launch
from weft.engine.state.cut_off_notice import CUT_OFF
from weft.plan.language.agent_programs import AGENT_PROGRAMS
from weft.ports.agent import AgentEnded, Verdict
from weft.ports.host import EndReason, JobEnded, JobRecords, OutputPart

LIMIT = 2**20
"""The most bytes of standard output that are kept as a result, and of a result file."""
TAIL = 2**14
"""The most bytes of standard error that are kept."""
_CANNOT_RUN = {126: "cannot be executed", 127: "was not found"}
"""Exit codes by which a shell reports that it could not start a program. They do not come from the work."""


# --- output ---


def read_output(ended: JobEnded, records: JobRecords, output: str, *, limit: int = LIMIT) -> tuple[str, str]:
    """Returns the standard output of a job, and the end of its standard error.

    The middle of a long output is left out. Missing or incomplete records give as much as there is.
    """
    stdout, stderr = ended.stdout, ended.stderr
    if stdout is None:
        reader = _StreamReader(records, output, OutputPart.OUT, OutputPart.OUT_TAIL)
        stdout = reader.ends(ended.stdout_bytes, head=limit // 2, tail=limit // 2)
    if stderr is None:
        reader = _StreamReader(records, output, OutputPart.ERR, OutputPart.ERR_TAIL)
        stderr = reader.ends(ended.stderr_bytes, head=0, tail=TAIL)
    return stdout, stderr


class _StreamReader(Struct, frozen=True):
    """Reads one stream of a job, which the host stores as its beginning and its tail."""

    records: JobRecords
    output: str
    beginning: OutputPart
    tail: OutputPart

    def ends(self, written: int, *, head: int, tail: int) -> str:
        """Returns the text of both parts; or the first bytes and the last, if that is too much."""
        first, last = self._size(self.beginning), self._size(self.tail)
        # A lost job has no count of its bytes; the files are all that is known then.
        written = max(written, first + last)
        if first + last <= head + tail:
            begin, end = self._slice(self.beginning, 0, first), self._slice(self.tail, 0, last)
        else:
            begin, end = self._slice(self.beginning, 0, head), self._slice(self.tail, last - tail, tail)
            # Without a gap between the two files, the last bytes of the beginning are those before the tail.
            if not last or written == first + last:
                missing = tail - len(end)
                end = self._slice(self.beginning, first - missing, missing) + end
        left_out = written - len(begin) - len(end)
        if not left_out:
            return (begin + end).decode(errors="replace")
        gap = f"\n[… {left_out:,} bytes left out …]\n"
        return begin.decode(errors="replace") + gap + end.decode(errors="replace")

    def _size(self, part: OutputPart) -> int:
        state = self.records.state(self.output, part)
        return 0 if state is None else state.size

    def _slice(self, part: OutputPart, start: int, length: int) -> bytes:
        return self.records.read(self.output, part, start, length)


def last_lines(records: JobRecords, output: str, part: OutputPart, most: int) -> str:
    """Returns the text of a part; if it has more than `most` bytes, its last lines."""
    state = records.state(output, part)
    if state is None:
        return ""
    text = records.read(output, part, state.size - most, most)
    if state.size > most and b"\n" in text:
        text = text.partition(b"\n")[2]
    return text.decode(errors="replace")


def agent_ended(ended: JobEnded, output: tuple[str, str], report: str) -> AgentEnded:
    """Returns the end of an agent as its adapter judges it; `report` is the text of its result file."""
    return AgentEnded(
        exit_code=ended.exit_code,
        signal=ended.signal,
        stdout=output[0],
        stderr=output[1],
        result_file=report or None,
        at=ended.ended_at,
    )


# --- the fact ---


def cut_off(launch: Launch, fact: Ended) -> Ended:
    """Marks the end of an agent's execution that another one follows in the same directory."""
    may_leave = launch.task is not None and not launch.task.read_only
    return replace(fact, left="") if may_leave and fact.how in CUT_OFF else fact


def fact_of(
    launch: Launch,
    ended: JobEnded,
    output: tuple[str, str],
    *,
    at: float,
    halted: StepOutcome | None = None,
    verdict: Verdict | None = None,
) -> Ended:
    """Returns the fact for the engine.

    `halted` is the outcome to report if the job was ended on request. `verdict` is the judgement of an agent's
    adapter; every agent has one, whatever its end, because it holds the spending.
    """
    how, message = _judge_end(launch, ended, halted, verdict)
    report = verdict or Verdict(how=how, result=output[0])
    if verdict is not None and how is StepOutcome.INFRA and _never_started(ended, output, verdict):
        report = replace(report, cost=0, tokens=0)
    return Ended(
        at=at,
        firing=launch.firing,
        execution=launch.execution,
        how=how,
        exit_code=ended.exit_code,
        signal=ended.signal,
        command=ended.command,
        result=report.result,
        errors=output[1],
        message="; ".join(filter(None, (message, _left_behind(ended.leftovers)))),
        lasting=report.lasting and how is StepOutcome.FAILED,
        cost=report.cost,
        tokens=report.tokens,
        session=report.session,
        until=report.until if how is StepOutcome.LIMITED else None,
        seconds=max(ended.ended_at - ended.started_at, 0.0),
        idle=ended.why is EndReason.IDLE,
        stdout_bytes=ended.stdout_bytes if ended.stdout is None else 0,
        stderr_bytes=ended.stderr_bytes if ended.stderr is None else 0,
    )


def _never_started(ended: JobEnded, output: tuple[str, str], verdict: Verdict) -> bool:
    """Returns whether the shell could not start the agent's program, so that nothing was spent."""
    is_silent = not output[0] and verdict.cost is None and verdict.tokens is None
    return ended.exit_code in _CANNOT_RUN and is_silent


def _describe_limit(launch: Launch, why: EndReason) -> str:
    """Returns which of its two time limits the step exceeded."""
    if why is EndReason.IDLE:
        return f"it wrote nothing for {launch.idle_timeout:g} s and was ended (idle_timeout)"
    return f"it exceeded its time limit of {launch.timeout:g} s"


def _judge_end(
    launch: Launch, ended: JobEnded, halted: StepOutcome | None, verdict: Verdict | None
) -> tuple[StepOutcome, str]:
    match ended.why:
        case EndReason.EXITED if verdict is not None:
            return verdict.how, verdict.message
        case EndReason.EXITED:
            return _judge_exit(ended)
        case EndReason.TIMEOUT | EndReason.IDLE:
            return StepOutcome.TIMEOUT, _describe_limit(launch, ended.why)
        # Only a stop that this run requested has the outcome of that request. A stop by any other program says
        # nothing about the work, so the step runs again.
        case EndReason.STOPPED if halted is not None:
            return halted, ""
        case EndReason.STOPPED:
            return StepOutcome.LOST, "it was ended from outside this run"
        case EndReason.NOT_STARTED:
            message = f"it could not be started: {ended.message or 'the system did not say why'}"
            return StepOutcome.INFRA, message + _how_to_install(launch, ended)
        case EndReason.LOST:
            return StepOutcome.LOST, "its supervisor died, so its end is unknown"


def _how_to_install(launch: Launch, ended: JobEnded) -> str:
    """Returns the install command for the missing program of an agent."""
    adapter = None if launch.agent is None else AGENT_PROGRAMS.get(launch.agent.use)
    if adapter is None or adapter.install is None or f"cannot run {adapter.program}:" not in ended.message:
        return ""
    return f"; to install it, type: {adapter.install}"


def _judge_exit(ended: JobEnded) -> tuple[StepOutcome, str]:
    code = ended.exit_code
    if ended.signal is not None:
        return StepOutcome.FAILED, f"killed by {_signal_name(ended.signal)}"
    if code == 0:
        return StepOutcome.DONE, ""
    if code in _CANNOT_RUN:
        return StepOutcome.INFRA, f"a program {_CANNOT_RUN[code]}: exit code {code}"
    return StepOutcome.FAILED, f"exit code {code}"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # real-time signals have no names
        return f"signal {number}"


def _left_behind(processes: int) -> str:
    if not processes:
        return ""
    counted = "1 process" if processes == 1 else f"{processes:,} processes"
    return f"it left {counted} running, which Weft ended"
