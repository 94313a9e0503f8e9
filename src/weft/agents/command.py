"""Any command as an agent: the prompt on its standard input, the result on its standard output.

What exit code and output cannot say, it may leave as JSON in the file that WEFT_RESULT names, see `report`.
"""

import signal
from pathlib import PurePath

from weft.agents.failures import is_lasting
from weft.agents.limits import limit_met, reset_time
from weft.agents.report import Report, read_report
from weft.agents.words import last_line, one_line
from weft.engine.run.facts import How
from weft.errors import InputError
from weft.plan.model import Command
from weft.ports.agent import AgentCall, AgentEnded, Invocation, Progress, Verdict

CANNOT_RUN = {126: "cannot be executed", 127: "was not found"}
"""What a shell says by these exit codes; it has nothing to do with the work."""


def invoke(call: AgentCall) -> Invocation:
    agent = call.agent
    if agent.command is None:
        raise InputError(f"the agent {agent.name!r} has no `command`; `use: command` needs one")
    return Invocation(argv=_argv(agent.command, agent.args), stdin=call.prompt, env=environment(call))


def environment(call: AgentCall) -> dict[str, str]:
    """What the process is told of the call, besides the prompt."""
    told = {
        "WEFT_MODEL": call.model or call.agent.model,
        "WEFT_SESSION": call.session,
        "WEFT_FORK": "1" if call.fork else None,
        "WEFT_READ_ONLY": "1" if call.read_only else None,
    }
    return {name: value for name, value in told.items() if value}


def _argv(command: Command, args: tuple[str, ...]) -> tuple[str, ...]:
    if not isinstance(command, str):
        return (*command, *args)
    text = command.rstrip()
    if args and "$@" not in text:
        # As positional parameters they never meet the shell's parser, whatever they hold.
        text += ' "$@"'
    return ("/bin/sh", "-c", text, "sh", *args)


# --- what it spends ---

PROGRESS_IN = "result_file"


def progress(_call: AgentCall, text: str) -> Progress | None:
    """A file that is just being written is no report yet; the next look finds it."""
    report = read_report(text, at=0.0)
    if report.cost is None and report.tokens is None:
        return None
    return Progress(cost=report.cost, tokens=report.tokens, usage=report.usage)


# --- what became of it ---


def judge(call: AgentCall, ended: AgentEnded) -> Verdict:
    report = read_report(ended.result_file, at=ended.at)
    how, message = _judged(call, ended, report)
    until = (report.until or reset_time(None, at=ended.at)) if how is How.LIMITED else None
    return Verdict(
        how=how,
        result=ended.stdout.removesuffix("\n") if report.result is None else report.result,
        message="; ".join(filter(None, (message, *map(_in_file, report.problems)))),
        lasting=how is How.FAILED and is_lasting(report.error or ""),
        cost=report.cost,
        tokens=report.tokens,
        usage=report.usage,
        session=report.session,
        until=until,
    )


def _judged(call: AgentCall, ended: AgentEnded, report: Report) -> tuple[How, str]:
    code, error = ended.exit_code, report.error
    if report.until is not None:
        return How.LIMITED, error or "it met a usage limit"
    if code in CANNOT_RUN:
        return How.INFRA, f"{_shown(call)} or a program it calls {CANNOT_RUN[code]} (exit code {code})"
    if code == 0 and error is None:
        return How.DONE, ""
    spoken = (error or "",) if code == 0 else (error or "", ended.stderr, ended.stdout)
    met = next(filter(None, map(limit_met, spoken)), None)
    if met is not None:
        return How.LIMITED, f"it met a usage limit: {one_line(met)}"
    return How.FAILED, error or _reason(ended)


def _reason(ended: AgentEnded) -> str:
    if ended.signal is not None:
        return f"killed by {signal_name(ended.signal)}"
    last = last_line(ended.stderr)
    code = "no exit code" if ended.exit_code is None else f"exit code {ended.exit_code}"
    return f"{code}: {last}" if last else code


def signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # those for real time have no names
        return f"signal {number}"


def _shown(call: AgentCall) -> str:
    """The program, as a name for people."""
    command = call.agent.command or "the command"
    return f"`{one_line(command) if isinstance(command, str) else PurePath(command[0]).name}`"


def _in_file(problem: str) -> str:
    return f"in its result file, {problem}"
