"""Any command as an agent: it reads the prompt from standard input and writes the result to standard output.

A command can report more, such as its cost, as JSON in the file that WEFT_RESULT names; see `result_file`.
"""

import signal
from pathlib import PurePath

from weft.agents.shared.failures import is_lasting
from weft.agents.shared.result_file import Report, read_report
from weft.agents.shared.text import last_line, one_line
from weft.agents.shared.usage_limits import clamp_reset_time, find_limit_line
from weft.engine.messages.facts import StepOutcome
from weft.errors import InputError
from weft.plan.agent_program import AgentProgram
from weft.plan.model import Command
from weft.ports.agent import AgentAdapter, AgentCall, AgentEnded, Invocation, Progress, Verdict

AGENT = AgentProgram(
    name="command",
    doc="any command, named by `command`; it gets the prompt on stdin",
    requires="command",
)
CANNOT_RUN = {126: "cannot be executed", 127: "was not found"}
"""Exit codes by which a shell reports that it could not run the program."""


def invoke(call: AgentCall) -> Invocation:
    agent = call.agent
    if agent.command is None:
        raise InputError(f"the agent {agent.name!r} has no `command`; `use: command` needs one")
    # The prompt goes to standard input: arguments are visible to all users of the machine and limited in size.
    return Invocation(argv=_build_argv(agent.command, agent.args), stdin=call.prompt, env=environment(call))


def environment(call: AgentCall) -> dict[str, str]:
    """Returns the variables that describe the call to the process."""
    variables = {
        "WEFT_MODEL": call.model or call.agent.model,
        "WEFT_SESSION": call.session,
        "WEFT_FORK": "1" if call.fork else None,
        "WEFT_READ_ONLY": "1" if call.read_only else None,
    }
    return {name: value for name, value in variables.items() if value}


def _build_argv(command: Command, args: tuple[str, ...]) -> tuple[str, ...]:
    if not isinstance(command, str):
        return (*command, *args)
    text = command.rstrip()
    if args and "$@" not in text:
        # Positional parameters are not parsed by the shell, so the arguments need no quoting.
        text += ' "$@"'
    return ("/bin/sh", "-c", text, "sh", *args)


# --- spending ---


def progress(_call: AgentCall, text: str) -> Progress | None:
    """Returns the spending so far; None while the file is incomplete."""
    report = read_report(text, at=0.0)
    if report.cost is None and report.tokens is None:
        return None
    return Progress(cost=report.cost, tokens=report.tokens, usage=report.usage)


# --- verdict ---


def judge(call: AgentCall, ended: AgentEnded) -> Verdict:
    report = read_report(ended.result_file, at=ended.at)
    how, message = _judge_end(call, ended, report)
    until = (report.until or clamp_reset_time(None, at=ended.at)) if how is StepOutcome.LIMITED else None
    return Verdict(
        how=how,
        result=ended.stdout.removesuffix("\n") if report.result is None else report.result,
        message="; ".join(filter(None, (message, *map(_mention_file, report.problems)))),
        lasting=how is StepOutcome.FAILED and is_lasting(report.error or ""),
        cost=report.cost,
        tokens=report.tokens,
        usage=report.usage,
        session=report.session,
        until=until,
    )


def _judge_end(call: AgentCall, ended: AgentEnded, report: Report) -> tuple[StepOutcome, str]:
    code, error = ended.exit_code, report.error
    # The result file is explicit, so it comes before the exit code and all guesses from texts.
    if report.until is not None:
        return StepOutcome.LIMITED, error or "it met a usage limit"
    if code in CANNOT_RUN:
        return (
            StepOutcome.INFRA,
            f"{_command_name(call)} or a program it calls {CANNOT_RUN[code]} (exit code {code})",
        )
    if code == 0 and error is None:
        return StepOutcome.DONE, ""
    # The output of a successful process is about the work, which may mention limits: only its error is searched.
    texts = (error or "",) if code == 0 else (error or "", ended.stderr, ended.stdout)
    limit_line = next(filter(None, map(find_limit_line, texts)), None)
    if limit_line is not None:
        return StepOutcome.LIMITED, f"it met a usage limit: {one_line(limit_line)}"
    return StepOutcome.FAILED, error or _reason(ended)


def _reason(ended: AgentEnded) -> str:
    if ended.signal is not None:
        return f"killed by {signal_name(ended.signal)}"
    last = last_line(ended.stderr)
    code = "no exit code" if ended.exit_code is None else f"exit code {ended.exit_code}"
    return f"{code}: {last}" if last else code


def signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # real-time signals have no names
        return f"signal {number}"


def _command_name(call: AgentCall) -> str:
    """Returns the name of the program for messages."""
    command = call.agent.command or "the command"
    return f"`{one_line(command) if isinstance(command, str) else PurePath(command[0]).name}`"


def _mention_file(problem: str) -> str:
    return f"in its result file, {problem}"


ADAPTER = AgentAdapter(program=AGENT, invoke=invoke, judge=judge, progress=progress)
