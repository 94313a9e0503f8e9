"""One request over HTTP, by a proxy if the environment names one, and within bounds."""

import http.client
from base64 import b64encode
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import SplitResult, unquote, urlsplit

from weft.errors import InputError

MOST_BYTES = 20_000_000
_PORTS = {"http": 80, "https": 443}


class Answered(NamedTuple):
    status: int
    headers: dict[str, str]
    """Their names in small letters."""
    body: bytes


class LineError(Exception):
    """Nobody answered, or not to the end."""


def post(
    url: str, body: bytes, headers: Mapping[str, str], *, environ: Mapping[str, str], timeout: float
) -> Answered:
    """Raises `LineError`, and `InputError` for an address that is none."""
    parts = address(url)
    proxy = proxy_for(parts, environ)
    connection, target, more = _connection(parts, proxy, timeout)
    try:
        connection.request("POST", target, body, {"content-type": "application/json", **headers, **more})
        with connection.getresponse() as response:
            read = response.read(MOST_BYTES + 1)
            _check(response, len(read))
            found = {name.lower(): value for name, value in response.getheaders()}
            return Answered(response.status, found, read)
    except TimeoutError:
        raise LineError(f"nothing came for {timeout:g} seconds") from None
    except OSError as error:
        raise LineError(error.strerror or str(error)) from error
    except http.client.HTTPException as error:
        raise LineError(_words(error)) from error
    finally:
        connection.close()


def _check(response: http.client.HTTPResponse, read: int) -> None:
    if read > MOST_BYTES:
        raise LineError(f"the answer is longer than {MOST_BYTES:,} bytes")
    if response.length:
        raise LineError("the answer was cut off")


def _words(error: http.client.HTTPException) -> str:
    if isinstance(error, http.client.IncompleteRead):
        return "the answer was cut off"
    return f"that is no HTTP: {error!r}"


def address(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        is_one = parts.scheme in _PORTS and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        is_one = False
    if not is_one or not (url.isascii() and url.isprintable()) or " " in url:
        raise InputError(f"{url!r} is no address of a model; one begins with https:// or http://")
    return urlsplit(url)


def proxy_for(parts: SplitResult, environ: Mapping[str, str]) -> SplitResult | None:
    names = (f"{parts.scheme}_proxy", "all_proxy")
    found = next((value for name in names if (value := _variable(name, environ))), None)
    if found is None or _is_excepted(parts.hostname or "", _variable("no_proxy", environ)):
        return None
    proxy = address(found if "://" in found else f"http://{found}")
    if proxy.scheme != "http":
        raise InputError(f"{found!r} is no proxy that can be used here; one begins with http://")
    return proxy


def _variable(name: str, environ: Mapping[str, str]) -> str:
    return environ.get(name) or environ.get(name.upper()) or ""


def _is_excepted(host: str, names: str) -> bool:
    for name in names.replace(",", " ").split():
        domain = name.partition(":")[0].lstrip("*").lstrip(".")
        if name == "*" or host == domain or (domain and host.endswith(f".{domain}")):
            return True
    return False


def _connection(
    parts: SplitResult, proxy: SplitResult | None, timeout: float
) -> tuple[http.client.HTTPConnection, str, dict[str, str]]:
    """The connection, what to ask for, and what to say besides."""
    host, port = parts.hostname or "", parts.port or _PORTS[parts.scheme]
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    at, at_port = (proxy.hostname or "", proxy.port or _PORTS["http"]) if proxy else (host, port)
    welcome = _proxy_headers(proxy)
    if parts.scheme == "http":
        plain = http.client.HTTPConnection(at, at_port, timeout=timeout)
        return (plain, parts.geturl(), welcome) if proxy else (plain, target, {})
    import ssl  # noqa: PLC0415 - slow to load, and a model on this machine does without

    secure = http.client.HTTPSConnection(at, at_port, timeout=timeout, context=ssl.create_default_context())
    if proxy:
        secure.set_tunnel(host, port, welcome)
    return secure, target, {}


def _proxy_headers(proxy: SplitResult | None) -> dict[str, str]:
    if proxy is None or proxy.username is None:
        return {}
    pair = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
    return {"proxy-authorization": f"Basic {b64encode(pair.encode()).decode()}"}
