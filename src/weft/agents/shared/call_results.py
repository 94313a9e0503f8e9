"""Describe the results of tool calls in a few words: `2 failed, 3 passed`, `exit code 1: no such file`."""

import re

from weft.agents.shared.text import last_line, strip_control_codes
from weft.ports.activity import CallResult

_LOOKED_AT = 4_000
"""Characters at the end of an output in which a summary is searched."""
_COUNT = r"\d{1,9} (?:failed|passed|skipped|errors?|warnings?|deselected|xfailed|xpassed|todo)"
_SUMMARIES = tuple(
    re.compile(pattern, re.MULTILINE)
    for pattern in (
        rf"^(?:=+ )?((?:{_COUNT}, )*{_COUNT}) in [\d.:]+s",  # pytest, with or without the rules around it
        rf"^Tests: {{1,9}}((?:{_COUNT}, )*\d{{1,9}} total)$",  # jest
        rf"^ {{1,9}}Tests {{1,9}}((?:{_COUNT} \| )*{_COUNT})",  # vitest
        r"^test result: (?:ok|FAILED)\. (\d{1,9} passed; \d{1,9} failed)",  # cargo
        r"^FAILED \(((?:failures|errors)=\d{1,9}(?:, errors=\d{1,9})?)\)$",  # unittest
    )
)
_EXIT_CODES = (
    re.compile(r"\A(?:Error: )?Exit code:? (\d{1,3})$", re.MULTILINE),  # Claude Code
    re.compile(
        r"^\[?exit code:? (\d{1,3})\]?\Z", re.MULTILINE | re.IGNORECASE
    ),  # Weft's own agent, Gemini CLI
)


def summarize(output: str, *, exit_code: int | None = None, is_bad: bool = False) -> tuple[str, bool]:
    """Returns how a command ended, and whether it failed.

    The summary of a test runner says more than an exit code.
    """
    text = strip_control_codes(output[-_LOOKED_AT:])
    if exit_code is None:
        exit_code = _read_exit_code(output)
    has_failed = is_bad if exit_code is None else exit_code != 0
    for pattern in _SUMMARIES:
        matches = pattern.findall(text)
        if matches:
            return matches[-1], has_failed
    if not has_failed:
        return "ok", False
    code = "failed" if exit_code is None else f"exit code {exit_code}"
    last = last_line(text)
    return (f"{code}: {last}" if last and not last.lower().startswith("exit code") else code), True


def _read_exit_code(output: str) -> int | None:
    """Returns the exit code from the first or the last line of an output, where some agents write it."""
    text = f"{output[:100]}\n{output[-100:].rstrip()}"
    matches = (pattern.search(text) for pattern in _EXIT_CODES)
    return next((int(match[1]) for match in matches if match is not None), None)


def command_result(
    call: str, output: str, *, exit_code: int | None = None, is_bad: bool = False
) -> CallResult:
    """Returns the result of a command."""
    outcome, has_failed = summarize(output, exit_code=exit_code, is_bad=is_bad)
    return CallResult(call=call, outcome=outcome, is_bad=has_failed)
