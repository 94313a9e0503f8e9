"""Real HTTP requests to a local server, directly and through a proxy."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from weft.agents.builtin import transport
from weft.agents.builtin.transport import ConnectionFailedError, HttpResponse, parse_address, post, proxy_for
from weft.errors import InputError


class Listener:
    """Answers one request, whatever it is."""

    def __init__(self, answer: bytes) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._answer = answer
        self.heard = b""
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._socket.getsockname()[1]}"

    def _serve(self) -> None:
        line, _ = self._socket.accept()
        with line:
            # What is sent ends with these two letters; that of a tunnel, or of TLS, comes in one piece.
            while not self.heard.endswith(b"{}"):
                self.heard += line.recv(65_536)
                if not self.heard.startswith(b"POST"):
                    break
            line.sendall(self._answer)

    def close(self) -> None:
        self._thread.join()
        self._socket.close()


@contextmanager
def listener(answer: bytes) -> Iterator[Listener]:
    server = Listener(answer)
    try:
        yield server
    finally:
        server.close()


def ask(url: str, *, environ: dict[str, str] | None = None, timeout: float = 60) -> HttpResponse:
    return post(url, b"{}", {"x-key": "k"}, environ=environ or {}, timeout=timeout)


def test_a_request_is_answered() -> None:
    with listener(b"HTTP/1.1 200 OK\r\nX-More: so\r\nContent-Length: 2\r\n\r\nhi") as server:
        answered = ask(f"{server.url}/v1?a=b")
    assert answered == (200, {"x-more": "so", "content-length": "2"}, b"hi")
    assert server.heard.startswith(b"POST /v1?a=b HTTP/1.1\r\n")
    assert b"x-key: k\r\n" in server.heard


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhi", "the answer was cut off"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nhi", "the answer was cut off"),
        (b"SSH-2.0-OpenSSH\r\n", "that is no HTTP"),
        (b"", "Remote end closed connection"),
    ],
)
def test_an_answer_that_is_none_is_reported(answer: bytes, problem: str) -> None:
    with listener(answer) as server, pytest.raises(ConnectionFailedError, match=problem):
        ask(server.url)


def test_an_answer_that_is_too_long_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "MOST_BYTES", 3)
    with (
        listener(b"HTTP/1.1 200 OK\r\n\r\nabcd") as server,
        pytest.raises(ConnectionFailedError, match="longer than 3 bytes"),
    ):
        ask(server.url)


def test_a_missing_server_is_reported() -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    with pytest.raises(ConnectionFailedError, match="Connection refused"):
        ask(f"http://127.0.0.1:{port}")


def test_a_silent_server_is_reported() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as silent,
        pytest.raises(ConnectionFailedError, match=r"nothing came for 0\.1 seconds"),
    ):
        ask(f"http://127.0.0.1:{silent.getsockname()[1]}", timeout=0.1)


def test_a_server_without_tls_is_reported_if_it_is_wanted() -> None:
    with listener(b"no") as server, pytest.raises(ConnectionFailedError, match=r"SSL|EOF|WRONG"):
        ask(server.url.replace("http:", "https:"))


@pytest.mark.parametrize(
    "url",
    [
        "",
        "h/v1",
        "ftp://h",
        "http://",
        "http://h:x/",
        "http://h:99999",
        "http://h /v1",
        "http://h\n",
        "http://ü",
    ],
)
def test_what_is_no_address_is_reported(url: str) -> None:
    with pytest.raises(InputError, match=r"^invalid address .*: it must start with https://"):
        ask(url)


# --- proxies ---


def test_a_proxy_is_asked_for_the_whole_address() -> None:
    with listener(b"HTTP/1.1 200 OK\r\n\r\nhi") as proxy:
        environ = {"http_proxy": proxy.url.replace("//", "//me:a%40b@")}
        assert ask("http://model.example/v1", environ=environ).body == b"hi"
    assert proxy.heard.startswith(b"POST http://model.example/v1 HTTP/1.1\r\n")
    assert b"proxy-authorization: Basic bWU6YUBi\r\n" in proxy.heard


def test_a_proxy_makes_a_tunnel_for_tls() -> None:
    with (
        listener(b"HTTP/1.1 403 No\r\n\r\n") as proxy,
        pytest.raises(ConnectionFailedError, match="Tunnel connection failed: 403"),
    ):
        ask("https://model.example/v1", environ={"HTTPS_PROXY": proxy.url})
    assert proxy.heard.startswith(b"CONNECT model.example:443 ")


@pytest.mark.parametrize(
    ("url", "environ", "host"),
    [
        ("http://h", {}, None),
        ("http://h", {"https_proxy": "http://p"}, None),
        ("https://h", {"https_proxy": "http://p", "HTTPS_PROXY": "http://q"}, "p"),
        ("https://h", {"ALL_PROXY": "p:8080"}, "p"),
        ("https://h", {"https_proxy": "http://p", "no_proxy": "*"}, None),
        ("https://a.h.org", {"https_proxy": "http://p", "no_proxy": "x, .h.org"}, None),
        ("https://a.h.org", {"https_proxy": "http://p", "no_proxy": "*.h.org"}, None),
        ("https://h.org", {"https_proxy": "http://p", "NO_PROXY": "h.org:443"}, None),
        ("https://oh.org", {"https_proxy": "http://p", "no_proxy": "h.org"}, "p"),
    ],
)
def test_which_proxy_is_used(url: str, environ: dict[str, str], host: str | None) -> None:
    proxy = proxy_for(parse_address(url), environ)
    assert (proxy and proxy.hostname) == host


def test_a_proxy_of_another_kind_is_reported() -> None:
    with pytest.raises(InputError, match=r"invalid address 'socks5://p'"):
        proxy_for(parse_address("http://h"), {"all_proxy": "socks5://p"})
    with pytest.raises(InputError, match=r"the proxy 'https://p' cannot be used"):
        proxy_for(parse_address("http://h"), {"http_proxy": "https://p"})
