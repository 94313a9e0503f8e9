"""`weft ui --ssh`: the server runs on another machine, and ssh forwards its port.

The port there is chosen at random, as ssh has to know it before the server starts. The server is given the port
here as well: browsers send it, so the server checks it and prints it. It ends when its standard input does, that
is, when ssh ends for any reason.
"""

import random
import shlex
import socket
import subprocess
from collections.abc import Callable

import msgspec

from weft.errors import InputError, WeftError


class _Data(msgspec.Struct):
    url: str


class _Envelope(msgspec.Struct):
    data: _Data


_PORTS_THERE = range(20_000, 32_768)
"""Ports that programs seldom have, and that Linux does not give to connections."""


def ssh_command(remote: str, port: int, port_there: int, *, read_only: bool) -> list[str]:
    """Returns the command that starts the server on another machine."""
    host, _, folder = remote.partition(":")
    if not host or host.startswith("-"):
        raise InputError(
            f"--ssh is {remote!r}; it must be a host and perhaps a directory, such as box:src/app"
        )
    # ssh starts in the home directory, and no shell there expands a quoted `~`.
    folder = folder.removeprefix("~").removeprefix("/") if folder.split("/")[0] == "~" else folder
    words = [
        "weft",
        *(["-C", folder] if folder else []),
        "ui",
        "--child",
        "--json",
        "--no-open",
        "--port",
        str(port_there),
        "--shown-port",
        str(port),
    ]
    words += ["--read-only"] if read_only else []
    forward = f"127.0.0.1:{port}:127.0.0.1:{port_there}"
    return ["ssh", "-o", "ExitOnForwardFailure=yes", "-o", "ServerAliveInterval=15", "-L", forward, "--", host,
            shlex.join(words)]  # fmt: skip


def show_remote(
    remote: str, announce: Callable[[str], None], *, port: int | None = None, read_only: bool = False
) -> int:
    """Runs the server on another machine until Ctrl-C; returns the exit code of ssh."""
    port_there = random.choice(_PORTS_THERE)  # noqa: S311 - no secret
    command = ssh_command(remote, port or _free_port(), port_there, read_only=read_only)
    try:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)  # noqa: S603 - as typed
    except FileNotFoundError:
        raise WeftError("there is no ssh on this machine") from None
    assert process.stdout is not None
    with process:
        try:
            line = process.stdout.readline()
            if not line:
                return process.wait() or 1
            announce(msgspec.json.decode(line, type=_Envelope).data.url)
            return process.wait()
        except KeyboardInterrupt:
            process.terminate()
            return 0


def _free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])
