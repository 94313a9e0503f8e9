"""Feedback: a text of limited length that describes a failure to the next attempt."""

from collections.abc import Iterator, Mapping
from signal import Signals
from typing import cast

from msgspec import UNSET, Struct

from weft.plan.model import Command
from weft.plan.templates.values import json_text, text_of

MOST_LINES = 60
MOST_CHARACTERS = 4_000
LONGEST_COMMAND = 500
LONGEST_LINE = 200

_REASONS = ("reasons", "reason", "message")


class FailureReport(Struct, frozen=True, kw_only=True):
    """The details of a failure from which feedback is written."""

    step: str
    """The address of the step."""
    command: Command | None = None
    """The rendered command that failed; None for an agent and for steps without a process."""
    agent: str | None = None
    """The name of the agent."""
    exit_code: int | None = None
    signal: int | None = None
    timeout: float | None = None
    """The limit in seconds, if the step exceeded it."""
    message: str = ""
    is_rejected: bool = False
    """Whether the step succeeded but its result was rejected; the message says why."""
    stdout: str = ""
    stderr: str = ""
    verdict: object = UNSET
    """The JSON result with which a reviewing step rejected the work."""
    idle: tuple[str, ...] = ()
    """The addresses of steps that should have changed files and did not."""


def feedback(failure: FailureReport) -> str:
    """Returns the text that templates read as `feedback`."""
    if failure.verdict is not UNSET:
        by = f" ({_cut(failure.message, LONGEST_COMMAND)})" if failure.message else ""
        head = f"Step '{failure.step}' reviewed the work and rejected it{by}. Its reasons:"
        parts = [f"{head}\n{_beginning(_reasons(failure.verdict))}"]
    else:
        parts = [_head(failure), *_tails(failure)]
    return "\n\n".join(
        [*parts, *(f"The last attempt at step '{step}' changed no file." for step in failure.idle)]
    )


def _head(failure: FailureReport) -> str:
    message = _beginning(failure.message.strip())
    if failure.is_rejected:
        return f"The result of step '{failure.step}' was rejected: {message}"
    # The message of an agent's failure may begin with its exit code, which is part of the phrase before it.
    message = message.removeprefix(f"exit code {failure.exit_code}").removeprefix(": ")
    return f"{_subject(failure)} {_how(failure)}{f': {message}' if message else '.'}"


def _subject(failure: FailureReport) -> str:
    if failure.command is not None:
        command = failure.command if isinstance(failure.command, str) else " ".join(failure.command)
        return f"The command `{_cut(command.strip(), LONGEST_COMMAND)}` of step '{failure.step}'"
    if failure.agent is not None:
        return f"The agent '{failure.agent}' of step '{failure.step}'"
    return f"Step '{failure.step}'"


def _how(failure: FailureReport) -> str:
    if failure.timeout is not None:
        return f"took longer than {failure.timeout:g} seconds and was ended"
    if failure.signal is not None:
        return f"was ended by {_signal_name(failure.signal)}"
    if failure.exit_code:
        return f"failed with exit code {failure.exit_code}"
    return "failed"


def _signal_name(number: int) -> str:
    names = {signal.value: signal.name for signal in Signals}
    return f"signal {number} ({names[number]})" if number in names else f"signal {number}"


def _tails(failure: FailureReport) -> Iterator[str]:
    for name, text in (("output", failure.stdout), ("error output", failure.stderr)):
        if text.strip():
            tail = tail_of(text)
            yield f"{'Its' if tail == text.rstrip() else 'The end of its'} {name}:\n{tail}"


def _reasons(verdict: object) -> str:
    reasons = next(filter(None, map(_fields(verdict).get, _REASONS)), None)
    if isinstance(reasons, list):
        return "\n".join(f"- {text_of(reason)}" for reason in cast("list[object]", reasons))
    return reasons if isinstance(reasons, str) else json_text(verdict)


def _fields(value: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value) if isinstance(value, Mapping) else dict[str, object]()


def _beginning(text: str) -> str:
    lines = text.split("\n", MOST_LINES)
    beginning = "\n".join(lines[:MOST_LINES])
    return _cut(beginning if len(lines) <= MOST_LINES else f"{beginning}\n…", MOST_CHARACTERS)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def tail_of(text: str, lines: int = MOST_LINES, characters: int = MOST_CHARACTERS) -> str:
    """Returns as many of the last lines as fit, or the end of one long line, and says how much was left out."""
    text = text.rstrip()
    start = max(0, len(text) - characters)
    if start and text[start - 1] != "\n":
        end_of_line = text.find("\n", start)
        start = end_of_line + 1 if end_of_line >= 0 else start
    for _ in range(max(0, text.count("\n", start) + 1 - lines)):
        start = text.index("\n", start) + 1
    if not start:
        return text
    if text[start - 1] != "\n":
        return f"({start:,} characters before this are left out)\n{text[start:]}"
    return f"({text.count(chr(10), 0, start):,} lines before this are left out)\n{text[start:]}"


def last_line(text: str) -> str:
    """Returns the last line that is not blank, shortened from the front if it is long."""
    line = text[-10 * LONGEST_LINE :].rstrip().rpartition("\n")[2].rpartition("\r")[2].strip()
    return line if len(line) <= LONGEST_LINE else f"…{line[1 - LONGEST_LINE :]}"
