"""One HTTP request, through the proxy that the environment names, with bounds on time and size."""

import http.client
from base64 import b64encode
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import SplitResult, unquote, urlsplit

from weft.errors import InputError

MOST_BYTES = 20_000_000
_PORTS = {"http": 80, "https": 443}


class HttpResponse(NamedTuple):
    """A complete response."""

    status: int
    headers: dict[str, str]
    """By lowercase name."""
    body: bytes


class ConnectionFailedError(Exception):
    """The server did not answer, or its answer was cut off."""


def post(
    url: str, body: bytes, headers: Mapping[str, str], *, environ: Mapping[str, str], timeout: float
) -> HttpResponse:
    """Sends JSON; raises `ConnectionFailedError`, and `InputError` for an invalid address."""
    parts = parse_address(url)
    proxy = proxy_for(parts, environ)
    connection, target, extra_headers = _open_connection(parts, proxy, timeout)
    try:
        connection.request(
            "POST", target, body, {"content-type": "application/json", **headers, **extra_headers}
        )
        with connection.getresponse() as response:
            # One byte more than allowed reveals an answer that is too long.
            content = response.read(MOST_BYTES + 1)
            _check(response, len(content))
            response_headers = {name.lower(): value for name, value in response.getheaders()}
            return HttpResponse(response.status, response_headers, content)
    except TimeoutError:
        raise ConnectionFailedError(f"nothing came for {timeout:g} seconds") from None
    except OSError as error:
        raise ConnectionFailedError(error.strerror or str(error)) from error
    except http.client.HTTPException as error:
        raise ConnectionFailedError(_describe_error(error)) from error
    finally:
        connection.close()


def _check(response: http.client.HTTPResponse, size: int) -> None:
    if size > MOST_BYTES:
        raise ConnectionFailedError(f"the answer is longer than {MOST_BYTES:,} bytes")
    # http.client reports no error when the server closes early; the missing length shows it.
    if response.length:
        raise ConnectionFailedError("the answer was cut off")


def _describe_error(error: http.client.HTTPException) -> str:
    if isinstance(error, http.client.IncompleteRead):
        return "the answer was cut off"
    return f"that is no HTTP: {error!r}"


def parse_address(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        is_valid = parts.scheme in _PORTS and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        is_valid = False
    if not is_valid or not (url.isascii() and url.isprintable()) or " " in url:
        raise InputError(f"invalid address {url!r}: it must start with https:// or http://")
    return urlsplit(url)


def proxy_for(parts: SplitResult, environ: Mapping[str, str]) -> SplitResult | None:
    names = (f"{parts.scheme}_proxy", "all_proxy")
    address_text = next((value for name in names if (value := _read_variable(name, environ))), None)
    if address_text is None or _bypasses_proxy(parts.hostname or "", _read_variable("no_proxy", environ)):
        return None
    proxy = parse_address(address_text if "://" in address_text else f"http://{address_text}")
    if proxy.scheme != "http":
        raise InputError(f"the proxy {address_text!r} cannot be used: its address must start with http://")
    return proxy


def _read_variable(name: str, environ: Mapping[str, str]) -> str:
    return environ.get(name) or environ.get(name.upper()) or ""


def _bypasses_proxy(host: str, names: str) -> bool:
    for name in names.replace(",", " ").split():
        domain = name.partition(":")[0].lstrip("*").lstrip(".")
        if name == "*" or host == domain or (domain and host.endswith(f".{domain}")):
            return True
    return False


def _open_connection(
    parts: SplitResult, proxy: SplitResult | None, timeout: float
) -> tuple[http.client.HTTPConnection, str, dict[str, str]]:
    """Returns the connection, the request target, and the extra headers for a proxy."""
    host, port = parts.hostname or "", parts.port or _PORTS[parts.scheme]
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    connect_host, connect_port = (
        (proxy.hostname or "", proxy.port or _PORTS["http"]) if proxy else (host, port)
    )
    proxy_headers = _proxy_headers(proxy)
    # A proxy gets the whole URL for plain HTTP, and a tunnel for HTTPS.
    if parts.scheme == "http":
        plain = http.client.HTTPConnection(connect_host, connect_port, timeout=timeout)
        return (plain, parts.geturl(), proxy_headers) if proxy else (plain, target, {})
    import ssl  # noqa: PLC0415 - slow to import, and a local model does not need it

    secure = http.client.HTTPSConnection(
        connect_host, connect_port, timeout=timeout, context=ssl.create_default_context()
    )
    if proxy:
        secure.set_tunnel(host, port, proxy_headers)
    return secure, target, {}


def _proxy_headers(proxy: SplitResult | None) -> dict[str, str]:
    if proxy is None or proxy.username is None:
        return {}
    pair = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
    return {"proxy-authorization": f"Basic {b64encode(pair.encode()).decode()}"}
