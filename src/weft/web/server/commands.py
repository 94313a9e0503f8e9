"""Requests that change something, carried out by the command of the same name.

The server runs the command line that a person would type, in a process of its own. So a request does exactly what
the command does, with all its checks; and a merge, which may run for minutes, does not run inside the server.
"""

import asyncio
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import assert_never

import msgspec

from weft.interpreter import isolated_python
from weft.web.api.envelope import (
    AnswerRequest,
    CommandResult,
    ControlBody,
    MergeBody,
    RefusedError,
    RetryRequest,
)

PATIENCE = 20.0
"""Seconds after which the answer says that the command is still under way."""
_WRONG_INPUT = 2
_MOST_OUTPUT = 1 << 20
Body = AnswerRequest | MergeBody | ControlBody | RetryRequest

BODIES: dict[str, type[Body]] = {
    "answer": AnswerRequest,
    "merge": MergeBody,
    "pause": ControlBody,
    "resume": ControlBody,
    "stop": ControlBody,
    "retry": RetryRequest,
}
_OF_ANY_RUN = frozenset({"answer", "merge"})
"""Commands that take `--run`; the others are about the last run."""


def words_of(verb: str, body: Body, *, run: str, is_last: bool) -> list[str]:
    """Returns the words of the command after `weft`. Raises `RefusedError` if the request cannot be a command."""
    if not is_last and verb not in _OF_ANY_RUN:
        raise RefusedError(409, f"run {run} is not the last one, and `weft {verb}` is about the last one")
    options = [] if is_last else ["--run", run]
    names: Sequence[str]
    match body:
        case AnswerRequest(name=name, reply=reply, text=text):
            names = [name, reply]
            options += [f"--text={text}"] if text else []
        case MergeBody(names=names, now=now):
            options += ["--now"] if now else []
        case ControlBody(names=names, now=now, limits=limits):
            options += _control_options(verb, now=now, limits=limits)
        case RetryRequest(names=names, text=text, stop=stop, fresh_budget=fresh_budget):
            options += [f"--text={text}"] if text else []
            options += ["--stop"] if stop else []
            options += ["--fresh-budget"] if fresh_budget else []
        case _:
            assert_never(body)
    # A name that begins with a dash is no option.
    separator = ["--"] if any(name.startswith("-") for name in names) else []
    return [verb, *options, *separator, *names]


def _control_options(verb: str, *, now: bool, limits: bool) -> list[str]:
    match verb:
        case "stop":
            # The command waits until all steps have ended; the page sees that by itself.
            return ["--no-wait", *(["--now"] if now else [])]
        case "pause":
            return ["--freeze"] if now else []
        case _:
            return ["--limits"] if limits else []


class Commands:
    """Runs commands in the project of the server."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._under_way: set[asyncio.Task[CommandResult]] = set()

    async def run(self, words: Sequence[str]) -> CommandResult:
        """Runs a command; raises `RefusedError` if it refuses its input."""
        task = asyncio.create_task(self._run(words))
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)
        done, _ = await asyncio.wait({task}, timeout=PATIENCE)
        if not done:
            return CommandResult(command=_shown(words), exit_code=None, data=None, messages=())
        result = task.result()
        if result.exit_code == _WRONG_INPUT:
            message = (
                " ".join(line.removeprefix("error: ") for line in result.messages) or "the command refused"
            )
            raise RefusedError(409, message, hint=f"the command was: {result.command}")
        return result

    async def _run(self, words: Sequence[str]) -> CommandResult:
        verb, *rest = words
        process = await asyncio.create_subprocess_exec(
            *isolated_python("weft"),
            "-C",
            str(self._directory),
            verb,
            "--json",
            *rest,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            # Ctrl-C in the terminal of the server does not end what a person has asked for.
            start_new_session=True,
        )
        output, errors = await process.communicate()
        return CommandResult(
            command=_shown(words),
            exit_code=process.returncode,
            data=_data(output[:_MOST_OUTPUT]),
            messages=errors[:_MOST_OUTPUT].decode("utf-8", "replace").splitlines(),
        )


def _shown(words: Sequence[str]) -> str:
    return shlex.join(["weft", *words])


class _Envelope(msgspec.Struct):
    data: dict[str, object] | None = None


def _data(output: bytes) -> dict[str, object] | None:
    try:
        return msgspec.json.decode(output, type=_Envelope).data
    except msgspec.DecodeError:
        return None
