"""Starts the server: a socket, a token, and uvicorn."""

import errno
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import uvicorn
from msgspec import Struct

from weft.errors import InputError, WeftError
from weft.system_errors import describe
from weft.threads import start_thread
from weft.web.server.access import Access, is_loopback
from weft.web.server.application import Site, application

PORT = 7717
"""The first port that is tried."""
_TRIES = 50
LEAST_PASSPHRASE = 12
_ELSEWHERE = {"0.0.0.0": (socket.AF_INET, "192.0.2.1"), "::": (socket.AF_INET6, "2001:db8::1")}  # noqa: S104
"""Addresses for documentation, which no machine has."""


class ServerAddress(Struct, frozen=True, kw_only=True):
    """Where a server listens."""

    url: str
    """With the token."""
    port: int
    is_other_port: bool
    """Whether the port that was asked for is in use."""


class _Server(uvicorn.Server):
    """Ends open streams first: they would keep the server until they time out."""

    def __init__(self, config: uvicorn.Config, site: Site) -> None:
        super().__init__(config)
        self._site = site

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._site.feeds.close()
        super().handle_exit(sig, frame)


def serve(  # noqa: PLR0913 - one for each option
    directory: Path,
    announce: Callable[[ServerAddress], None],
    *,
    port: int | None = None,
    host: str = "127.0.0.1",
    passphrase: str = "",
    read_only: bool = False,
    is_exact: bool = False,
    shown_port: int | None = None,
) -> None:
    """Serves until a signal arrives. `announce` is called as soon as the server takes connections.

    With `is_exact`, another port than the one that was asked for is refused. `shown_port` is the port that
    browsers connect to, if something forwards it.
    """
    if not is_loopback(host) and len(passphrase) < LEAST_PASSPHRASE:
        raise InputError(
            f"--host {host} can be reached from other machines; set a passphrase of at least {LEAST_PASSPHRASE} "
            "characters in the environment variable WEFT_UI_PASSPHRASE"
        )
    first = PORT if port is None else port
    sock = _listen(host, first, tries=1 if is_exact else _TRIES)
    number = int(sock.getsockname()[1])
    shown_port = shown_port or number
    access = Access(port=shown_port, host=host, passphrase=passphrase)
    site = Site(directory, read_only=read_only)
    config = uvicorn.Config(
        application(site, access),
        log_level="critical",
        access_log=False,
        server_header=False,
        ws="none",
        timeout_graceful_shutdown=2,
        limit_concurrency=256,
        # A proxy could say that a request comes from elsewhere; there is none.
        proxy_headers=False,
    )
    server = _Server(config, site)
    address_here = _reachable_address(host)
    shown = f"[{address_here}]" if ":" in address_here else address_here
    address = ServerAddress(
        url=f"http://{shown}:{shown_port}/?token={access.token}",
        port=number,
        is_other_port=port not in {None, 0, number},
    )
    # The socket listens already, so a connection that is faster than the server waits for it.
    announce(address)
    server.run(sockets=[sock])


def _reachable_address(host: str) -> str:
    """Returns the address to open: that of this machine if the server listens on all of them."""
    if host not in {"0.0.0.0", "::"}:  # noqa: S104 - compared
        return host
    family, elsewhere = _ELSEWHERE[host]
    with socket.socket(family, socket.SOCK_DGRAM) as sock:
        try:
            # A datagram socket connects without sending anything; it then has the address of the way there.
            sock.connect((elsewhere, 9))
            return str(sock.getsockname()[0])
        except OSError:  # no network
            return "127.0.0.1" if family is socket.AF_INET else "::1"


def _listen(host: str, first: int, *, tries: int) -> socket.socket:
    """Returns a socket on the first free port."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for port in range(first, min(first + tries, 65_536)) if first else (0,):
        sock = socket.socket(family, socket.SOCK_STREAM)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            sock.bind((host, port))
            sock.listen(128)
        except OSError as error:
            sock.close()
            if error.errno not in {errno.EADDRINUSE, errno.EACCES}:
                raise InputError(f"cannot listen on {host}:{port}: {describe(error)}") from None
        else:
            sock.setblocking(False)
            return sock
    last = f" to {first + tries - 1}" if tries > 1 else ""
    raise WeftError(f"port {first}{last} of {host} is in use; name another with --port")


def stop_with_input(stop: Callable[[], None], read: Callable[[], bytes]) -> None:
    """Calls `stop` when standard input ends: the session that started the server has gone."""

    def wait() -> None:
        while read():
            pass
        stop()

    start_thread(threading.Thread(target=wait, daemon=True))
