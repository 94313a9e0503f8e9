"""`weft ui --ssh`: the server runs on another machine, and ssh forwards its port.

The same port is used on both sides, so that the address that the server prints is the one to open here. The server
there ends when its standard input does, that is, when ssh ends for any reason.
"""

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


def ssh_command(remote: str, port: int, *, read_only: bool) -> list[str]:
    """Returns the command that starts the server on another machine."""
    host, _, folder = remote.partition(":")
    if not host or host.startswith("-"):
        raise InputError(
            f"--ssh is {remote!r}; it must be a host and perhaps a directory, such as box:src/app"
        )
    words = [
        "weft",
        *(["-C", folder] if folder else []),
        "ui",
        "--child",
        "--json",
        "--no-open",
        "--port",
        str(port),
    ]
    words += ["--read-only"] if read_only else []
    forward = f"127.0.0.1:{port}:127.0.0.1:{port}"
    return ["ssh", "-o", "ExitOnForwardFailure=yes", "-o", "ServerAliveInterval=15", "-L", forward, "--", host,
            shlex.join(words)]  # fmt: skip


def show_remote(remote: str, announce: Callable[[str], None], *, read_only: bool = False) -> int:
    """Runs the server on another machine until Ctrl-C; returns the exit code of ssh."""
    command = ssh_command(remote, _free_port(), read_only=read_only)
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
