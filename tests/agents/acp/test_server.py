"""The talk with a real process, which is a scripted server."""

import os
import select
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agents.acp.benches import Bench, wait_until_gone
from weft.agents.acp import server as servers
from weft.agents.acp.client import Client, TurnBrief
from weft.agents.acp.outcomes import (
    End,
    ServerError,
    TurnCancellation,
    TurnCompletion,
    TurnFailure,
    Unavailable,
)
from weft.agents.acp.server import Exchange, Server

ENVIRON = {"PATH": os.environ["PATH"], "WEFT_RESULT": "r", "WEFT_SESSION": "s", "WEFT_FORK": "1", "X": "y"}


class Held(Bench):
    """Talks are held here, to their ends."""

    def __init__(self, folder: Path, pipe: tuple[int, int]) -> None:
        super().__init__(folder)
        self.stop, self._stopper = pipe
        self.client = Client(TurnBrief(server="`fake`", prompt="Do it", cwd=str(self.work)))

    def hold(self, changed: Callable[[], None] | None = None, /, **scenario: Any) -> End:
        return self.run(
            self.argv({name.replace("_", "/", 1): actions for name, actions in scenario.items()}), changed
        )

    def run(self, argv: list[str], changed: Callable[[], None] | None = None) -> End:
        server = Server(argv, ENVIRON)
        talk, code = Exchange(self.client, server, self.stop), None
        try:
            talk.run(changed or (lambda: None))
        finally:
            code = server.close()
        return talk.end(code)

    def stop_when(self, method: str) -> Callable[[], None]:
        """As soon as an answer to it is waited for."""

        def changed() -> None:
            if self.client.waits_for == method:
                os.write(self._stopper, b"!")

        return changed


@pytest.fixture
def held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Held]:
    pipe = os.pipe()
    bench = Held(tmp_path, pipe)
    monkeypatch.chdir(bench.work)
    monkeypatch.setattr(servers, "PATIENCE", 100.0)
    yield bench
    for end in pipe:
        os.close(end)


def test_a_talk_from_its_beginning_to_its_end(held: Held) -> None:
    assert held.hold() == TurnCompletion("Done.")
    assert [message["method"] for message in held.heard()] == ["initialize", "session/new", "session/prompt"]


def test_a_prompt_of_megabytes_gets_through_to_a_server_that_writes_first(held: Held) -> None:
    """Both would wait for ever if one of us could do only one thing at a time."""
    prompt = "x" * 3_000_000
    held.client = Client(TurnBrief(server="`fake`", prompt=prompt, cwd="/"))
    much = {"text": "loading …" * 100 + "\n", "times": 3_000}
    assert held.hold(start=[{"write_much": much}]) == TurnCompletion("Done.")
    assert held.heard()[-1]["params"]["prompt"][0]["text"] == prompt


def test_what_is_no_message_is_passed_over_and_reported_a_few_times(
    held: Held, capfd: pytest.CaptureFixture[str]
) -> None:
    much = {"text": "{loading\x1b[31m\n", "times": 100}
    assert held.hold(start=[{"write": "\n\n"}, {"write_much": much}]) == TurnCompletion("Done.")
    assert capfd.readouterr().err == "no message: {loading\n" * 20


def test_what_it_says_to_people_is_in_the_log(held: Held, capfd: pytest.CaptureFixture[str]) -> None:
    call = {"sessionUpdate": "tool_call", "toolCallId": "t", "kind": "execute", "title": "make"}
    ended = {"result": {"stopReason": "end_turn"}}
    held.hold(session_prompt=[{"complain": "hm\n"}, {"update": call}, ended])
    line = '{"type":"activity","verb":"runs","object":"make","is_open":true,"call":"t"}'
    assert sorted(capfd.readouterr().err.splitlines()) == ["hm", line]


def test_what_it_asks_is_answered(held: Held) -> None:
    options = [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}]
    params = {"sessionId": "s1", "toolCall": {"toolCallId": "t"}, "options": options}
    ask = {"ask": {"method": "session/request_permission", "params": params}}
    ended = [{"write": '{"id": 3, "result": {"stopReason": "end_turn"}}\n'}]
    assert held.hold(session_prompt=[{"say": "Hm."}, ask], answer=ended) == TurnCompletion("Hm.")
    assert held.heard()[-1]["result"] == {"outcome": {"outcome": "selected", "optionId": "yes"}}


def test_private_variables_are_not_passed_to_it(held: Held) -> None:
    code = "env >seen; cat >/dev/null"
    assert isinstance(held.run(["/bin/sh", "-c", f"exec >&-; {code}"]), TurnFailure)
    variables = (held.work / "seen").read_text().splitlines()
    assert "X=y" in variables
    assert not [line for line in variables if line.startswith("WEFT_")]


# --- lines that are too long ---

LONG = {"text": "x" * 1_000_000, "times": 5}


def test_news_that_are_too_long_are_passed_over(held: Held, capfd: pytest.CaptureFixture[str]) -> None:
    news = [{"write": '{"method": "session/update", "params": "'}, {"write_much": LONG}, {"write": '"}\n'}]
    usual = [{"say": "Done."}, {"result": {"stopReason": "end_turn"}}]
    assert held.hold(session_prompt=[*news, *usual]) == TurnCompletion("Done.")
    message = "Fake wrote a line that is longer than 4,000,000 bytes; it was skipped\n"
    assert capfd.readouterr().err == message


def test_an_answer_that_is_too_long_is_the_end(held: Held) -> None:
    """The line never ends."""
    end = held.hold(initialize=[{"write": '{"id": 1, "result": "'}, {"write_much": LONG}])
    message = "`fake` wrote a line that is longer than 4,000,000 bytes, and so no message that can be read"
    assert end == TurnFailure(message)


# --- it dies ---

OWED = "before it answered `session/prompt`"


@pytest.mark.parametrize(
    ("actions", "end"),
    [
        (
            [{"complain": "one\n\x1b[31mHTTP 429\n"}, {"exit": 3}],
            ServerError("one HTTP 429", more=f" (Fake ended (exit code 3) {OWED})"),
        ),
        ([{"exit": 3}], TurnFailure(f"Fake ended (exit code 3) {OWED}: its work may be half done")),
        (
            [{"complain": "bye\n"}, {"exit": 0}],
            TurnFailure(f"Fake ended (exit code 0) {OWED}: its work may be half done; it said: bye"),
        ),
        (
            [{"write": "usage: fake\n"}, {"kill": int(signal.SIGKILL)}],
            TurnFailure(
                f"Fake ended (killed by SIGKILL) {OWED}: its work may be half done; it said: usage: fake"
            ),
        ),
        ([{"exit": 127}], TurnFailure(f"Fake ended (exit code 127) {OWED}: its work may be half done")),
    ],
)
def test_a_server_that_dies_is_reported_with_its_last_words(
    held: Held, actions: list[dict[str, Any]], end: End
) -> None:
    assert held.hold(session_prompt=actions) == end


def test_the_last_words_of_the_dead_are_read_to_their_end(
    held: Held, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(servers, "_BLOCK", 10)
    server = Server(["/bin/sh", "-c", "echo 0123456789 the last words >&2; exit 3"], ENVIRON)
    select.select([server.exit_fd], [], [])
    talk = Exchange(held.client, server, held.stop)
    talk.run(lambda: None)
    end = talk.end(server.close())
    assert isinstance(end, ServerError)
    assert end.text == "0123456789 the last words"


def test_what_it_said_before_it_died_counts(held: Held) -> None:
    actions = [{"say": "Done."}, {"result": {"stopReason": "end_turn"}}, {"exit": 1}]
    assert held.hold(session_prompt=actions) == TurnCompletion("Done.")


def test_a_program_that_a_shell_does_not_find_is_named(held: Held) -> None:
    end = held.run(["/bin/sh", "-c", "no-such-agent acp"])
    assert isinstance(end, Unavailable)
    assert end.why.startswith("`fake` was not found (exit code 127): ")
    assert end.why.endswith("no-such-agent: not found; install it, or fix `command` of the agent")


def test_a_server_that_closes_its_output_is_ended(held: Held, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(servers, "PATIENCE", 0.01)
    end = held.hold(initialize=[{"close": 1}], deaf=True)
    why = "`fake` closed its standard output before it answered `initialize`: its work may be half done"
    assert end == TurnFailure(why)


# --- ends ---


def test_a_server_that_does_not_end_is_killed_with_what_it_started(
    held: Held, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(servers, "PATIENCE", 0.01)
    usual = [{"say": "Done."}, {"result": {"stopReason": "end_turn"}}]
    assert held.hold(start=[{"child": "child"}], deaf=True, session_prompt=usual) == TurnCompletion("Done.")
    wait_until_gone(int((held.work / "child").read_text()))


def test_a_turn_is_cancelled_and_what_it_cost_is_heard(held: Held) -> None:
    usage = {"totalTokens": 3, "inputTokens": 2, "outputTokens": 1}
    ended = {"id": 3, "result": {"stopReason": "cancelled", "usage": usage}}
    cancelled = [{"write": f"{ended}\n".replace("'", '"')}]
    end = held.hold(held.stop_when("session/prompt"), session_prompt=[], session_cancel=cancelled)
    assert end == TurnCancellation()
    assert held.client.spending.tokens is not None


def test_a_turn_that_is_not_ended_when_it_is_cancelled_is_not_waited_for(
    held: Held, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(servers, "PATIENCE", 0.01)
    assert held.hold(held.stop_when("session/prompt"), session_prompt=[], deaf=True) == TurnCancellation()


def test_a_server_that_never_answers_can_be_left(held: Held) -> None:
    """It is there, and says something else."""
    changed = held.stop_when("initialize")
    assert held.hold(changed, start=[{"write": "hello\n"}], initialize=[]) == TurnCancellation()
    assert held.client.waits_for == "initialize"
