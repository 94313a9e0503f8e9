"""Starting the far program through a shell command, after copying it there if it is missing.

The shell command finds Python and runs a loader (`loader.py`) in it. The loader checks the version, and whether
the program is there. If not, it requests the bytes on its standard input and stores them. Then it becomes the
program. All of that is one command, so a connection that is slow to make is made once.

Shells of users print greetings. Each line of the loader therefore begins with a marker; all others are ignored.
"""

import base64
import json
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from msgspec import Struct

from weft.hosts.far import MARKER, PROTOCOL
from weft.ports.machines import ByteStream, FarError, FarProgram, UnreachableError

_LOADER = base64.b64encode(Path(__file__).with_name("loader.py").read_bytes()).decode()
_MOST_NOISE = 1 << 18
_PIECE = 1 << 16
DIRECTORY = "~/.cache/weft"
_ADVICE = {"ENOSPC": "free some space there (df -h, df -i)", "EDQUOT": "free some space there (quota)"}


class FarPlace(Struct, frozen=True, kw_only=True):
    """Where the far program is on a machine, and what runs it."""

    host: str
    """The name of the host in the plan, for messages."""
    directory: str = DIRECTORY
    python: str = "python3"
    login: bool = False
    """Whether the user's login shell sets the environment, as sshd does not."""


def start_command(place: FarPlace, program: FarProgram, arguments: Sequence[str]) -> str:
    """Returns a shell command on one line, so that every shell reads it alike."""
    loader = f'import base64;exec(base64.b64decode("{_LOADER}"))'
    words = [place.directory, program.digest, str(len(program.content)), *arguments]
    python = shlex.quote(place.python)
    missing = json.dumps({"error": "missing"})
    command = (
        f"command -v {python} >/dev/null 2>&1 || {{ echo; echo '{MARKER}{missing}'; exit 0; }}; "
        f"exec {python} -I -S -X utf8 -c '{loader}' {shlex.join(words)}"
    )
    if not place.login:
        return command
    # A login shell reads the profile, in which users add the directories of their programs to PATH.
    shells = "*/bash|*/zsh|*/dash|*/ksh|*/sh"
    quoted = shlex.quote(command)
    return f'case "$SHELL" in {shells}) exec "$SHELL" -l -c {quoted};; *) exec sh -l -c {quoted};; esac'


class StartedStream:
    """A stream to a far program that has started."""

    def __init__(self, stream: ByteStream, rest: bytes) -> None:
        self._stream = stream
        self._rest = rest
        """What came together with the greeting."""

    async def send(self, data: bytes) -> None:
        await self._stream.send(data)

    async def receive(self) -> bytes:
        if self._rest:
            rest, self._rest = self._rest, b""
            return rest
        return await self._stream.receive()

    async def close(self) -> None:
        await self._stream.close()


async def await_start(
    stream: ByteStream, place: FarPlace, machine: str, program: FarProgram
) -> StartedStream:
    """Talks to the loader until the program runs. Closes the stream and raises if it cannot run."""
    try:
        return await _talk(stream, place, machine, program)
    except BaseException:
        await stream.close()
        raise


async def _talk(stream: ByteStream, place: FarPlace, machine: str, program: FarProgram) -> StartedStream:
    lines = _MarkedLines(stream)
    while True:
        message = await lines.next()
        match message:
            case {"need": _}:
                for start in range(0, len(program.content), _PIECE):
                    await stream.send(program.content[start : start + _PIECE])
            case {"serve": protocol, "digest": digest}:
                if protocol != PROTOCOL or digest != program.digest:
                    raise FarError(
                        f"{machine} runs another far program (protocol {protocol}, {digest}); "
                        f"this Weft needs protocol {PROTOCOL}, {program.digest}"
                    )
                return StartedStream(stream, lines.rest)
            case {"error": error}:
                raise FarError(_failure(error, message, place, machine))
            case _:
                raise FarError(f"{machine} answers with {message!r}, which Weft does not understand")


def _failure(error: str, message: Mapping[str, Any], place: FarPlace, machine: str) -> str:
    setting = f"hosts.{place.host}.python"
    if error == "missing":
        return (
            f"there is no {place.python} on {machine}; install Python 3.11 or later, or name one in {setting}"
        )
    if error == "python":
        version = message["version"]
        return f"{place.python} on {machine} is {version}; Weft needs 3.11 or later: name one in {setting}"
    advice = _ADVICE.get(
        str(message.get("code")), f"or name another directory in hosts.{place.host}.directory"
    )
    return f"cannot store the far program on {machine}: {message['message']}; {advice}"


class _MarkedLines:
    """The lines with a marker, as JSON."""

    def __init__(self, stream: ByteStream) -> None:
        self._stream = stream
        self._noise = 0
        self.rest = b""

    async def next(self) -> Mapping[str, Any]:
        while True:
            while b"\n" not in self.rest:
                self.rest += await self._stream.receive()
                if len(self.rest) + self._noise > _MOST_NOISE:
                    raise FarError(
                        "what comes from there is not the far program; does its shell print that much?"
                    )
            line, _, self.rest = self.rest.partition(b"\n")
            self._noise += len(line)
            if line.startswith(MARKER.encode()):
                return _decode(line)


def _decode(line: bytes) -> Mapping[str, Any]:
    try:
        return cast("Mapping[str, Any]", json.loads(line.removeprefix(MARKER.encode())))
    except ValueError:
        raise UnreachableError(f"the far side answers with {line[:80]!r}") from None
