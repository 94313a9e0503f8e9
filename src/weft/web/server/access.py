"""Who may use the server.

The address that `weft ui` prints has a random token. The browser that opens it gets a cookie in exchange, which
scripts cannot read and other sites cannot send, and an address without the token. Programs may send the token as
`Authorization: Bearer TOKEN`. On other addresses than loopback a person may enter a passphrase instead.

Pages of other sites can send requests to a local server as well. So the `Host` must be one of ours (otherwise a
name of theirs could point here), the `Origin` must be ours, and nothing changes by `GET`.
"""

import secrets
import time
from collections import deque
from collections.abc import Callable, Mapping
from hashlib import sha256
from http.cookies import CookieError, SimpleCookie
from ipaddress import ip_address

_WRONG = 10
"""So many wrong tokens within a minute, and no other is looked at for the rest of it."""
_MINUTE = 60.0
LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


def is_loopback(host: str) -> bool:
    """Returns whether an address is reachable from this machine only."""
    if host in LOOPBACK:
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


class Access:
    """The secrets of one server, and the rules for requests."""

    def __init__(
        self,
        *,
        port: int,
        host: str = "127.0.0.1",
        passphrase: str = "",
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self.token = secrets.token_urlsafe(32)
        # The cookie is not the token: one that appears in a log does not reveal the other.
        self._session = secrets.token_urlsafe(32)
        self._passphrase = passphrase
        self.cookie_name = f"weft-{port}"  # cookies do not distinguish ports, so two servers need two names
        self._port = port
        self._host = host
        self._now = now
        self._wrong: deque[float] = deque(maxlen=_WRONG)

    @property
    def has_passphrase(self) -> bool:
        return bool(self._passphrase)

    # Tokens

    def is_limited(self) -> bool:
        """Returns whether so many tokens were wrong that no other is looked at now."""
        return len(self._wrong) == _WRONG and self._now() - self._wrong[0] < _MINUTE

    def accepts_token(self, token: str) -> bool:
        return self._accepts(token, self.token)

    def accepts_passphrase(self, passphrase: str) -> bool:
        return self.has_passphrase and self._accepts(passphrase, self._passphrase)

    def _accepts(self, text: str, secret: str) -> bool:
        if self.is_limited():
            return False
        if _is_equal(text, secret):
            return True
        self._wrong.append(self._now())
        return False

    def cookie(self) -> str:
        """Returns the header that gives a browser its session."""
        return f"{self.cookie_name}={self._session}; Path=/; HttpOnly; SameSite=Strict"

    def has_session(self, headers: Mapping[str, str]) -> bool:
        """Returns whether a request has the cookie of this server."""
        try:
            morsel = SimpleCookie(headers.get("cookie", "")).get(self.cookie_name)
        except CookieError:
            return False
        return morsel is not None and _is_equal(morsel.value, self._session)

    def has_bearer(self, headers: Mapping[str, str]) -> bool:
        """Returns whether a request has the token in its header."""
        scheme, _, token = headers.get("authorization", "").partition(" ")
        return scheme.lower() == "bearer" and self.accepts_token(token.strip())

    # Origins

    def knows_host(self, headers: Mapping[str, str]) -> bool:
        """Returns whether the request was sent to a name of this server."""
        name = _name_of(headers.get("host", ""), self._port)
        if name is None:
            return False
        if is_loopback(self._host):
            return name in LOOPBACK
        # A name of another site that points here is no address; an address cannot be made to point elsewhere.
        return name in {self._host, *LOOPBACK} or _is_address(name)

    def knows_origin(self, headers: Mapping[str, str]) -> bool:
        """Returns whether the request comes from a page of this server, or from no page."""
        origin = headers.get("origin")
        if origin is not None and origin != f"http://{headers.get('host', '')}":
            return False
        return headers.get("sec-fetch-site", "none") in {"same-origin", "none"}


def _is_equal(text: str, secret: str) -> bool:
    """Compares in constant time; also texts of different lengths."""
    return secrets.compare_digest(
        sha256(text.encode("utf-8", "surrogatepass")).digest(), sha256(secret.encode("utf-8")).digest()
    )


def _name_of(host: str, port: int) -> str | None:
    """Returns the name of a `Host` with this port; None for another one."""
    name, colon, number = host.rpartition(":")
    if not colon or number != str(port):
        return None
    return name.removeprefix("[").removesuffix("]").lower()


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True
