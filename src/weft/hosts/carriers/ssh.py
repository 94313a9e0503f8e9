"""The carrier `ssh`: a machine that the system's ssh reaches, with the user's own configuration, keys and agent.

Host keys are always checked, and nothing is ever asked (BatchMode): a prompt would wait for a person who is not
there. There is no terminal on the other side, so nothing dies with the connection. The connections to a machine
share one, in a private directory: sshd limits how many are opened at once.
"""

import asyncio
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from shlex import quote

from weft.hosts.carriers.bootstrap import FarPlace, await_start, start_command
from weft.hosts.carriers.process_stream import ProcessStream
from weft.ports.machines import ByteStream, FarError, FarProgram, UnreachableError
from weft.search_path import find_program
from weft.threads import run_sync

_OPTIONS = (
    "BatchMode=yes",
    "ServerAliveInterval=5",
    "ServerAliveCountMax=3",
    "ConnectTimeout=15",
    "ControlMaster=auto",
    "ControlPersist=60",
    "RequestTTY=no",
    "ForwardAgent=no",
    "ForwardX11=no",
    "ClearAllForwardings=yes",
    "EscapeChar=none",
    "LogLevel=ERROR",
)
_FAILED = 255
"""The exit code of ssh if it has not reached the machine."""


class SshCarrier:
    """Reaches one machine by ssh."""

    def __init__(
        self, machine: str, place: FarPlace, environ: Mapping[str, str], *, options: Sequence[str] = ()
    ) -> None:
        """`machine`: as the user types it after `ssh`. `options` come first, as in `-F FILE`."""
        self._machine = machine
        self._place = place
        self._environ = environ
        self._options = tuple(options)
        self._ssh = find_program("ssh", environ)
        self._sockets: str | None = None

    async def machines(self) -> Sequence[str]:
        return (self._machine,)

    async def connect(self, machine: str, program: FarProgram, arguments: Sequence[str]) -> ByteStream:
        if self._ssh is None:
            raise FarError("there is no ssh here; install OpenSSH's client (apt install openssh-client)")
        if self._sockets is None:
            # With mode 0700, and short: the path of a socket has at most 107 bytes.
            self._sockets = await run_sync(tempfile.mkdtemp, None, "weft-ssh-")
        command = start_command(self._place, program, arguments)
        # The user's shell, whatever it is, gets one word to run.
        argv = (self._ssh, *self._arguments(), "--", machine, f"exec sh -c {quote(command)}")
        stream = await ProcessStream.start(argv, self._environ)
        try:
            return await await_start(stream, self._place, machine, program)
        except UnreachableError as error:
            if stream.exit_code != _FAILED:
                raise
            raise _explain(str(error), machine) from None

    def _arguments(self) -> tuple[str, ...]:
        options = (*_OPTIONS, f"ControlPath={self._sockets}/%C")
        return (*self._options, "-T", *(word for option in options for word in ("-o", option)))

    async def has_gone(self, machine: str) -> bool:  # noqa: ARG002 - ssh cannot tell
        return False

    async def close(self) -> None:
        if self._sockets is None or self._ssh is None:
            return
        argv = (self._ssh, *self._arguments(), "-O", "exit", "--", self._machine)
        nothing = asyncio.subprocess.DEVNULL
        process = await asyncio.create_subprocess_exec(
            *argv, stdin=nothing, stdout=nothing, stderr=nothing, env=dict(self._environ)
        )
        await process.wait()
        await run_sync(shutil.rmtree, self._sockets, True)
        self._sockets = None


def _explain(message: str, machine: str) -> UnreachableError | FarError:
    """Returns the error of ssh with what to type; a `FarError` if waiting does not help."""
    shown = quote(machine)
    if "Host key verification failed" in message or "REMOTE HOST IDENTIFICATION" in message:
        if "has changed" in message or "HAS CHANGED" in message:
            return FarError(
                f"the host key of {machine} has changed; if that is right, type: ssh-keygen -R {shown}, "
                f"then: ssh {shown} true"
            )
        return FarError(f"the host key of {machine} is unknown; to accept it, type: ssh {shown} true")
    if "Permission denied" in message:
        return FarError(
            f"{machine} refuses the login ({message.splitlines()[-1]}); Weft types no password: "
            f"load a key (ssh-add), and try: ssh -o BatchMode=yes {shown} true"
        )
    if "Bad configuration" in message or "Bad owner" in message:
        return FarError(f"ssh cannot use its configuration: {message}")
    return UnreachableError(message)
