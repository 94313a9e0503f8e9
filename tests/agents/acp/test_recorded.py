"""What real servers said, to the same task: goose 1.34.0, OpenCode 1.18.33 and Gemini CLI 0.61.0."""

from pathlib import Path

import pytest

from weft.agents.acp.client import Client, TurnBrief
from weft.agents.acp.messages import LineDecoder, Noise, TooLong
from weft.agents.acp.outcomes import ServerError, TurnCompletion
from weft.plan.prices import Usage

RECORDED = Path(__file__).parent / "recorded"
USES = ("gemini", "goose", "opencode")


def replayed(name: str) -> Client:
    client = Client(TurnBrief(server="`it`", prompt="append a line to hello.txt", cwd="/trees/repo"))
    client.start()
    for line in LineDecoder().feed((RECORDED / f"{name}.jsonl").read_bytes()):
        assert not isinstance(line, Noise | TooLong)
        client.receive(line)
    return client


def test_there_is_one_of_each() -> None:
    names = sorted(file.name for file in RECORDED.iterdir())
    assert names == [f"{use}.{how}.jsonl" for use in USES for how in ("good", "refused")]


@pytest.mark.parametrize("use", USES)
def test_work_that_was_done_is_done(use: str) -> None:
    assert replayed(f"{use}.good").end == TurnCompletion("Done: appended one line to hello.txt.")


def test_what_it_cost_is_known_as_far_as_each_reports_it() -> None:
    spent = {use: replayed(f"{use}.good").spending for use in USES}
    assert {use: spending.cost for use, spending in spent.items()} == {
        "gemini": None,
        "goose": None,
        "opencode": 7500,
    }
    assert {use: spending.tokens for use, spending in spent.items()} == {
        "gemini": Usage(input=2000, output=100),
        "goose": None,
        "opencode": None,
    }


@pytest.mark.parametrize(
    ("use", "text", "status"),
    [
        ("gemini", '{"error":{"code":401,', 401),
        ("goose", "Authentication error: Authentication failed. Status: 401 Unauthorized.", None),
        ("opencode", "Internal error: scripted error 401", 401),
    ],
)
def test_a_key_that_is_refused_is_an_error_whatever_way_it_is_reported(
    use: str, text: str, status: int | None
) -> None:
    client = replayed(f"{use}.refused")
    assert isinstance(client.end, ServerError)
    assert client.end.text.startswith(text)
    assert client.end.status == status


@pytest.mark.parametrize(
    ("use", "advice"),
    [
        ("gemini", "sign in to Gemini CLI outside of Weft: Log in with Google: "),
        ("goose", "sign in to `it` outside of Weft: Configure Provider: Run `goose configure`"),
        ("opencode", "sign in to OpenCode outside of Weft: Login with opencode: Run `opencode auth login`"),
    ],
)
def test_each_says_how_to_sign_in(use: str, advice: str) -> None:
    assert replayed(f"{use}.refused").sign_in.startswith(advice)
