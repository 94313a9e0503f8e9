"""The process of the scripted agent: `python -m weft.agents.player SCRIPT`, the prompt on standard input.

Which step it is, the environment says: WEFT_SUBPLAN, WEFT_STEP, WEFT_ATTEMPT. Exit code 2 is a script that is
wrong, 1 a play that failed. What is to be reported is saved at once, so that a player that is killed has told what
it cost.
"""

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, BinaryIO, NoReturn

from weft.agents.script import Action, Rule, Step, read_script
from weft.errors import WeftError

_POLL_SECONDS = 0.01
_FAILED, _WRONG = 1, 2


def main(argv: Sequence[str], environ: Mapping[str, str], stdin: BinaryIO) -> int:
    if len(argv) != 1:
        return _complain(f"error: the player takes one argument, the script, not {len(argv)}", _WRONG)
    try:
        rules = read_script(argv[0])
    except WeftError as error:
        return _complain("\n".join(error.lines()), _WRONG)
    step = _step(environ, stdin.read().decode(errors="replace"))
    rule = next((rule for rule in rules if rule.fits(step, os.path.exists)), None)
    if rule is None:
        about = f"subplan {step.subplan!r}, step {step.step!r}, attempt {step.attempt}"
        return _complain(f"error: {argv[0]}: none of the {len(rules)} rules fits {about}", _FAILED)
    return Play(step.prompt, environ.get("WEFT_RESULT")).perform(rule, argv[0])


def _step(environ: Mapping[str, str], prompt: str) -> Step:
    attempt = environ.get("WEFT_ATTEMPT", "1")
    return Step(
        subplan=environ.get("WEFT_SUBPLAN", ""),
        step=environ.get("WEFT_STEP", ""),
        attempt=int(attempt) if attempt.isdecimal() else 0,
        prompt=prompt,
    )


def _complain(text: str, code: int) -> int:
    _write(sys.stderr.buffer, text)
    return code


def _write(stream: BinaryIO, line: str) -> None:
    """In UTF-8, whatever the locale."""
    stream.write(_encoded(f"{line}\n"))
    stream.flush()


def _encoded(text: str) -> bytes:
    return text.encode(errors="replace")


class _EndedError(Exception):
    def __init__(self, code: int) -> None:
        super().__init__()
        self.code = code


class Play:
    def __init__(self, prompt: str, result_file: str | None) -> None:
        self._prompt = prompt
        self._result_file = result_file
        self._report: dict[str, Any] = {}

    def perform(self, rule: Rule, script: str) -> int:
        for action in rule.actions:
            try:
                self._do(action)
            except _EndedError as end:
                return end.code
            except (OSError, ValueError) as error:
                return _complain(f"error: {script}: {action.where}, `{action.name}`: {error}", _FAILED)
        return 0

    def _do(self, action: Action) -> None:
        name, value = action.name, action.value
        if name in _REPORTED:
            self._tell(name, value)
        elif name in _ENDINGS:
            _ENDINGS[name](self, value)
        elif name == "echo_prompt":
            _put("wb", {value: self._prompt})
        else:
            _DEEDS[name](value)

    def _tell(self, name: str, value: Any) -> None:  # noqa: ANN401
        """Write the report anew, as a whole: whoever reads finds this one or the last one."""
        self._report[name] = value
        if self._result_file is not None:
            fresh = f"{self._result_file}.new"
            with open(fresh, "w", encoding="utf-8") as stream:  # noqa: PTH123
                json.dump(self._report, stream)
            os.replace(fresh, self._result_file)  # noqa: PTH105

    def fail(self, message: str) -> NoReturn:
        self._tell("error", message)
        raise _EndedError(_complain(message, _FAILED))

    def limit(self, seconds: float) -> NoReturn:
        self._tell("limited_for", seconds)
        raise _EndedError(_FAILED)

    def exit(self, code: int) -> NoReturn:
        raise _EndedError(code)


# --- deeds ---


def _say(text: str) -> None:
    _write(sys.stdout.buffer, text)


def _put(mode: str, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        os.makedirs(os.path.dirname(name) or ".", exist_ok=True)  # noqa: PTH103, PTH120
        with open(name, mode) as stream:  # noqa: PTH123
            stream.write(_encoded(text))


def _touch(names: str | list[str]) -> None:
    _put("ab", dict.fromkeys(_listed(names), ""))


def _delete(names: str | list[str]) -> None:
    for name in _listed(names):
        os.remove(name)  # noqa: PTH107


def _listed(names: str | list[str]) -> list[str]:
    return [names] if isinstance(names, str) else names


def _run(command: str | list[str]) -> None:
    import subprocess  # noqa: PLC0415 - slow to load, and most plays run nothing

    done = subprocess.run(_argv(command), stdin=subprocess.DEVNULL, check=False)  # noqa: S603 - what the user says
    if done.returncode:
        raise ValueError(f"{command!r} ended with exit code {done.returncode}")


def _spawn_child(command: str | list[str]) -> None:
    """In a session of its own, as those do that get away."""
    argv = _argv(command)
    no_input = (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)
    os.posix_spawnp(argv[0], argv, os.environ, file_actions=[no_input], setsid=True)


def _argv(command: str | list[str]) -> list[str]:
    return ["/bin/sh", "-c", command] if isinstance(command, str) else command


def _wait_for(name: str) -> None:
    while not os.path.exists(name):  # noqa: PTH110
        time.sleep(_POLL_SECONDS)


def _ignore_sigterm(ignored: bool) -> None:  # noqa: FBT001
    signal.signal(signal.SIGTERM, signal.SIG_IGN if ignored else signal.SIG_DFL)


_REPORTED = ("result", "cost_usd", "tokens", "session")
_ENDINGS: dict[str, Callable[[Play, Any], NoReturn]] = {
    "fail": Play.fail,
    "limit_for": Play.limit,
    "exit": Play.exit,
}
_DEEDS: dict[str, Callable[[Any], None]] = {
    "say": _say,
    "write": lambda files: _put("wb", files),
    "append": lambda files: _put("ab", files),
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
