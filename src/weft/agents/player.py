"""The process of the scripted agent: `python -m weft.agents.player SCRIPT`, with the prompt on standard input.

The environment names the step: WEFT_SUBPLAN, WEFT_STEP, WEFT_ATTEMPT. Exit code 2 means an invalid script, 1 a
failed performance. Each reported value is written at once, so that a process that is killed has reported its
cost.
"""

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, BinaryIO, NoReturn

from weft.agents.script import Action, Rule, ScriptedStep, read_script
from weft.errors import WeftError

_POLL_SECONDS = 0.01
_EXIT_FAILED, _EXIT_BAD_SCRIPT = 1, 2


def main(argv: Sequence[str], environ: Mapping[str, str], stdin: BinaryIO) -> int:
    if len(argv) != 1:
        return _print_error(
            f"error: the player takes one argument, the script, not {len(argv)}", _EXIT_BAD_SCRIPT
        )
    try:
        rules = read_script(argv[0])
    except WeftError as error:
        return _print_error("\n".join(error.lines()), _EXIT_BAD_SCRIPT)
    step = _read_step(environ, stdin.read().decode(errors="replace"))
    rule = next((rule for rule in rules if rule.fits(step, os.path.exists)), None)
    if rule is None:
        step_description = f"subplan {step.subplan!r}, step {step.step!r}, attempt {step.attempt}"
        return _print_error(
            f"error: {argv[0]}: none of the {len(rules)} rules fits {step_description}", _EXIT_FAILED
        )
    return Performance(step.prompt, environ.get("WEFT_RESULT")).perform(rule, argv[0])


def _read_step(environ: Mapping[str, str], prompt: str) -> ScriptedStep:
    attempt = environ.get("WEFT_ATTEMPT", "1")
    return ScriptedStep(
        subplan=environ.get("WEFT_SUBPLAN", ""),
        step=environ.get("WEFT_STEP", ""),
        attempt=int(attempt) if attempt.isdecimal() else 0,
        prompt=prompt,
    )


def _print_error(text: str, code: int) -> int:
    _write(sys.stderr.buffer, text)
    return code


def _write(stream: BinaryIO, line: str) -> None:
    """Writes the line in UTF-8, whatever the locale."""
    stream.write(_encode(f"{line}\n"))
    stream.flush()


def _encode(text: str) -> bytes:
    return text.encode(errors="replace")


class _FinishedError(Exception):
    def __init__(self, code: int) -> None:
        super().__init__()
        self.code = code


class Performance:
    def __init__(self, prompt: str, result_file: str | None) -> None:
        self._prompt = prompt
        self._result_file = result_file
        self._report: dict[str, Any] = {}

    def perform(self, rule: Rule, script: str) -> int:
        for action in rule.actions:
            try:
                self._perform_action(action)
            except _FinishedError as end:
                return end.code
            except (OSError, ValueError) as error:
                return _print_error(
                    f"error: {script}: {action.where}, `{action.name}`: {error}", _EXIT_FAILED
                )
        return 0

    def _perform_action(self, action: Action) -> None:
        name, value = action.name, action.value
        # Reported values go to the result file, and final actions end the process; all others act on the
        # worktree.
        if name in _REPORTED:
            self._report_key(name, value)
        elif name in _ENDINGS:
            _ENDINGS[name](self, value)
        elif name == "echo_prompt":
            _write_files("wb", {value: self._prompt})
        else:
            _ACTIONS[name](value)

    def _report_key(self, name: str, value: Any) -> None:  # noqa: ANN401
        """Replaces the result file atomically with one that has this key."""
        self._report[name] = value
        if self._result_file is not None:
            fresh = f"{self._result_file}.new"
            with open(fresh, "w", encoding="utf-8") as stream:  # noqa: PTH123
                json.dump(self._report, stream)
            # A reader must never see half a report, and the script may kill this very process in its next action.
            os.replace(fresh, self._result_file)  # noqa: PTH105

    def fail(self, message: str) -> NoReturn:
        self._report_key("error", message)
        raise _FinishedError(_print_error(message, _EXIT_FAILED))

    def limit(self, seconds: float) -> NoReturn:
        self._report_key("limited_for", seconds)
        raise _FinishedError(_EXIT_FAILED)

    def exit(self, code: int) -> NoReturn:
        raise _FinishedError(code)


# --- actions ---


def _print(text: str) -> None:
    _write(sys.stdout.buffer, text)


def _write_files(mode: str, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        os.makedirs(os.path.dirname(name) or ".", exist_ok=True)  # noqa: PTH103, PTH120
        with open(name, mode) as stream:  # noqa: PTH123
            stream.write(_encode(text))


def _touch(names: str | list[str]) -> None:
    _write_files("ab", dict.fromkeys(_as_list(names), ""))


def _delete(names: str | list[str]) -> None:
    for name in _as_list(names):
        os.remove(name)  # noqa: PTH107


def _as_list(names: str | list[str]) -> list[str]:
    return [names] if isinstance(names, str) else names


def _run(command: str | list[str]) -> None:
    import subprocess  # noqa: PLC0415 - slow to import, and most scripts run no command

    process = subprocess.run(_build_argv(command), stdin=subprocess.DEVNULL, check=False)  # noqa: S603 - the user's own command
    if process.returncode:
        raise ValueError(f"{command!r} ended with exit code {process.returncode}")


def _spawn_child(command: str | list[str]) -> None:
    """Starts a process in a session of its own, which survives signals to the group of this process."""
    argv = _build_argv(command)
    no_input = (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)
    os.posix_spawnp(argv[0], argv, os.environ, file_actions=[no_input], setsid=True)


def _build_argv(command: str | list[str]) -> list[str]:
    return ["/bin/sh", "-c", command] if isinstance(command, str) else command


def _wait_for(name: str) -> None:
    while not os.path.exists(name):  # noqa: PTH110
        time.sleep(_POLL_SECONDS)


def _ignore_sigterm(ignored: bool) -> None:  # noqa: FBT001
    signal.signal(signal.SIGTERM, signal.SIG_IGN if ignored else signal.SIG_DFL)


_REPORTED = ("result", "cost_usd", "tokens", "session")
_ENDINGS: dict[str, Callable[[Performance, Any], NoReturn]] = {
    "fail": Performance.fail,
    "limit_for": Performance.limit,
    "exit": Performance.exit,
}
_ACTIONS: dict[str, Callable[[Any], None]] = {
    "say": _print,
    "write": lambda files: _write_files("wb", files),
    "append": lambda files: _write_files("ab", files),
    "delete": _delete,
    "touch": _touch,
    "run": _run,
    "spawn_child": _spawn_child,
    "wait_for": _wait_for,
    "sleep": time.sleep,
    "ignore_sigterm": _ignore_sigterm,
}

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], os.environ, sys.stdin.buffer))
