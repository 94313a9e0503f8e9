"""Who may use the server."""

import pytest

from weft.web.server.access import Access, is_loopback

OURS = {"host": "127.0.0.1:7717"}


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_only_the_token_of_this_server_is_accepted() -> None:
    access, other = Access(port=7717), Access(port=7717)
    assert access.accepts_token(access.token)
    assert not access.accepts_token(other.token)
    assert not access.accepts_token("")


def test_the_cookie_is_not_the_token_and_cannot_be_read_by_scripts_or_sent_by_other_sites() -> None:
    access = Access(port=7717)
    cookie = access.cookie()
    assert access.token not in cookie
    assert cookie.endswith("; Path=/; HttpOnly; SameSite=Strict")
    assert access.has_session({"cookie": f"a=b; {cookie.partition(';')[0]}"})
    assert not access.has_session({"cookie": "weft-7717=wrong"})
    assert not access.has_session({})


def test_two_servers_have_cookies_of_different_names() -> None:
    assert Access(port=1).cookie_name != Access(port=2).cookie_name


def test_after_ten_wrong_tokens_even_the_right_one_waits_for_a_minute() -> None:
    clock = Clock()
    access = Access(port=7717, now=clock)
    for _ in range(10):
        assert not access.accepts_token("wrong")
    assert access.is_limited()
    assert not access.accepts_token(access.token)
    clock.now = 61.0
    assert access.accepts_token(access.token)


def test_without_a_passphrase_none_is_accepted() -> None:
    assert not Access(port=7717).accepts_passphrase("")
    assert Access(port=7717, passphrase="correct horse battery").accepts_passphrase("correct horse battery")


@pytest.mark.parametrize("host", ["127.0.0.1:7717", "localhost:7717", "[::1]:7717", "LOCALHOST:7717"])
def test_names_of_this_machine_are_known(host: str) -> None:
    assert Access(port=7717).knows_host({"host": host})


@pytest.mark.parametrize("host", ["", "evil.example:7717", "127.0.0.1", "127.0.0.1:80", "10.0.0.1:7717"])
def test_other_names_are_not(host: str) -> None:
    assert not Access(port=7717).knows_host({"host": host})


def test_on_other_addresses_than_loopback_addresses_are_known_but_names_are_not() -> None:
    access = Access(port=7717, host="0.0.0.0", passphrase="correct horse battery")
    assert access.knows_host({"host": "192.168.1.4:7717"})
    assert not access.knows_host({"host": "evil.example:7717"})


@pytest.mark.parametrize(
    ("headers", "is_known"),
    [
        ({}, True),
        ({"origin": "http://127.0.0.1:7717"}, True),
        ({"origin": "http://127.0.0.1:7718"}, False),
        ({"origin": "https://127.0.0.1:7717"}, False),
        ({"origin": "null"}, False),
        ({"sec-fetch-site": "same-origin"}, True),
        ({"sec-fetch-site": "cross-site"}, False),
        ({"sec-fetch-site": "same-site"}, False),
    ],
)
def test_requests_of_other_pages_are_recognized(headers: dict[str, str], is_known: bool) -> None:
    assert Access(port=7717).knows_origin(OURS | headers) is is_known


@pytest.mark.parametrize(
    ("host", "is_it"), [("127.0.0.2", True), ("::1", True), ("0.0.0.0", False), ("box", False)]
)
def test_loopback(host: str, is_it: bool) -> None:
    assert is_loopback(host) is is_it
