import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.agents.builtin.failures import (
    FAILED,
    LIMITED,
    PATIENCE,
    REFUSED,
    UNAVAILABLE,
    RequestFailure,
    RequestTarget,
    http_failure,
    retry_delay,
    seconds_until_reset,
)

NOW = 1_800_000_000.0
ASKED = RequestTarget(url="http://h/v1", model="m", key="THE_KEY", base="THE_URL")


def failure(status: int, message: str = "no", code: str | None = None, **headers: str) -> RequestFailure:
    body = json.dumps({"error": {"message": message, "code": code}}).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return http_failure(ASKED, status, named, body, now=NOW)


@pytest.mark.parametrize(
    ("status", "kind", "again"),
    [
        (301, REFUSED, False),
        (400, FAILED, False),
        (401, REFUSED, False),
        (403, REFUSED, False),
        (404, REFUSED, False),
        (408, UNAVAILABLE, True),
        (413, FAILED, False),
        (429, LIMITED, True),
        (500, UNAVAILABLE, True),
        (503, UNAVAILABLE, True),
        (529, LIMITED, True),
    ],
)
def test_what_a_status_means(status: int, kind: str, again: bool) -> None:
    assert (failure(status).kind, failure(status).again) == (kind, again)
    assert f"HTTP {status}: no" in failure(status).message


def test_messages_name_the_key_the_model_and_the_address() -> None:
    assert failure(401).message == "http://h/v1 does not accept the key in THE_KEY (HTTP 401: no)"
    missing = failure(404, "The model `m` does not exist").message
    assert missing.startswith("the model 'm' does not exist at http://h/v1 (HTTP 404: The model")
    assert failure(404).message == "there is no model at http://h/v1 (HTTP 404: no); fix THE_URL"
    assert "fix THE_URL" in failure(301).message
    assert failure(529).message == "the model 'm' is overloaded (HTTP 529: no)"


def test_an_account_without_money_is_not_asked_again() -> None:
    assert not failure(429, code="insufficient_quota").again


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"<html>\n  Bad  Gateway</html>", "HTTP 502: <html> Bad Gateway</html>"),
        (b'{"error": "broken"}', "HTTP 502: broken"),
        (b"", "(HTTP 502)"),
        (b"[" * 100_000, "HTTP 502: [["),
        (b"\xff", "HTTP 502: \ufffd"),
    ],
)
def test_whatever_an_error_says_is_reported_in_one_line(body: bytes, said: str) -> None:
    message = http_failure(ASKED, 502, {}, body, now=NOW).message
    assert said in message
    assert len(message) < 700


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "Fri, 15 Jan 2027 08:00:30 GMT"}, 30),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after-ms": "1500"}, 1.5),
        ({"x-ratelimit-reset-requests": "6m0s", "x-ratelimit-remaining-requests": "0"}, 360),
        ({"x-ratelimit-reset-tokens": "20ms"}, 0.02),
        ({"x-ratelimit-reset": "1800000060000"}, 60),
        ({"anthropic-ratelimit-unified-reset": "1800000100"}, 100),
        ({"anthropic-ratelimit-tokens-reset": "2027-01-15T08:02:00Z"}, 120),
        ({"anthropic-ratelimit-tokens-reset": "2027-01-15T08:02:00"}, 120),
        ({"anthropic-ratelimit-tokens-reset": "2020-01-15T08:02:00Z"}, 0),
        ({"retry-after": "7", "x-ratelimit-reset-requests": "6m0s"}, 7),
        ({"x-ratelimit-reset-a": "5s", "x-ratelimit-reset-b": "1d2h", "x-ratelimit-remaining-b": "4"}, 5),
        ({"x-ratelimit-limit": "5", "x-reset": "9"}, None),
    ],
)
def test_when_a_limit_ends_is_read_from_headers(headers: dict[str, str], seconds: float | None) -> None:
    assert seconds_until_reset(headers, now=NOW) == (None if seconds is None else pytest.approx(seconds))


@given(st.text(max_size=12))
def test_whatever_a_header_says_it_is_seconds_or_nothing(value: str) -> None:
    wait = seconds_until_reset({"retry-after": value}, now=NOW)
    assert wait is None or wait >= 0


def test_pauses_double_until_all_retries_are_spent() -> None:
    failed = RequestFailure(UNAVAILABLE, "x")
    assert [retry_delay(failed, tried, retries=3, first=1.0) for tried in (1, 2, 3, 4)] == [
        1.0,
        2.0,
        4.0,
        None,
    ]
    assert retry_delay(failed, 1, retries=0, first=1.0) is None


def test_what_was_asked_for_is_waited_unless_it_is_too_long_for_a_process() -> None:
    assert retry_delay(RequestFailure(LIMITED, "x", wait=7), 3, retries=3, first=1.0) == 7
    assert retry_delay(RequestFailure(LIMITED, "x", wait=PATIENCE + 1), 1, retries=3, first=1.0) is None
    assert retry_delay(RequestFailure(LIMITED, "x", wait=0, again=False), 1, retries=3, first=1.0) is None
