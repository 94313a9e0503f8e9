"""Conversations that continue: in branches, after failures and limits, and after the death of a coordinator.

A step knows what was sent to the model; the model's record shows it.
"""

import json
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from urllib.request import Request, urlopen

import pytest
from msgspec import Struct

from e2e.projects import Outcome
from e2e.repositories import Repository, Said
from store.books import quick_folder
from weft.testing.models.playback import RecordedRequest
from weft.testing.models.script import rules_of
from weft.testing.models.server import ModelServer

Data = dict[str, object]

DONE: Data = {"text": "Done."}
TURN = 3750
"""What a turn of the model costs, in micro-dollars: 1,000 tokens in at $3 a million, 50 out at $15."""


def rule(name: str, *answers: Data, **more: object) -> Data:
    return {"name": name, "steps": [*answers], **more}


RULES = rules_of(
    [
        rule("forks", DONE, prompt_contains="the end"),
        rule("forks", {"together": 2, **DONE}, prompt_contains="go to the"),
        rule("forks", DONE),
        rule("costs", {"shell": "echo > $NEARBY/fifo"}, {"hang": True}, prompt_contains="wait"),
        rule("costs", {"shell": "cat $NEARBY/fifo"}, {"http": 400}),
        rule(
            "limited",
            {"shell": "echo half"},
            {"http": 429, "retry_after": 0},
            prompt_contains="go on",
            times=2,
        ),
        rule("limited", DONE),
        rule("tried", {"shell": "echo 42 > tried.txt"}, DONE, prompt_contains="42 is missing"),
        rule("tried", DONE),
        rule("gone", DONE),
        rule("killed", DONE, prompt_contains="go on"),
        rule("killed", {"together": 2, **DONE}),
    ]
)
AGENTS = """
merge: {{mode: auto}}
failure_mode: continue_on_error
prices: {{scripted: {{input: 3, output: 15}}}}
agents:
  coder:
    use: builtin
    model: scripted
    args: [--retries, "0"]
    env: {{OPENAI_BASE_URL: {url}/v1, NEARBY: OUTSIDE}}
subplans:
"""
PLAN = """
  - id: forks
    steps:
      - {id: begin, prompt: "[[scenario:forks]] begin"}
      - {id: left, async: true, resume: true, prompt: go to the left}
      - {id: right, async: true, resume: true, prompt: go to the right}
      - {id: both, action: join, depends_on: [left, right]}
      - {id: end, resume: true, prompt: the end}
      - {id: anew, prompt: "[[scenario:forks]] something else"}
  - id: costs
    steps:
      - {id: waits, async: true, prompt: "[[scenario:costs]] wait"}
      - {id: fails, async: true, on_error: abort, prompt: "[[scenario:costs]] fail"}
      - {id: both, action: join, depends_on: [waits, fails]}
  - id: limited
    steps:
      - {id: begin, prompt: "[[scenario:limited]] begin"}
      - {id: further, resume: true, prompt: go on}
  - id: tried
    verify: "grep 42 tried.txt || { echo 42 is missing; exit 1; }"
    steps:
      - {id: code, resume: true, prompt: "[[scenario:tried]] write it. {{ feedback }}"}
      - {id: check, action: verify, on_fail: {retry_from: code, max: 1}}
  - id: gone
    steps:
      - {id: begin, prompt: "[[scenario:gone]] begin"}
      - {id: lose, run: 'rm "$(dirname "$WEFT_RESULT")"/*.session.json'}
      - {id: further, resume: true, prompt: go on}
"""


class Told(Struct):
    outcome: Outcome
    asked: tuple[RecordedRequest, ...]

    def known(self, slice_: str, last: str = "") -> list[str]:
        """All that the user had said when the model was last asked, with this at the end."""
        values = [_said(question) for question in self.asked if question.scenario == slice_]
        return [texts for texts in values if texts[-1].endswith(last)][-1]

    def costs(self, slice_: str) -> dict[str, tuple[str, int | None]]:
        ends = self.outcome.of("step_finished", slice_)
        return {end.step: (end.outcome, end.cost) for end in ends if end.cost is not None}


def _said(asked: RecordedRequest) -> list[str]:
    texts = [item["content"] for item in asked.body["messages"] if item["role"] == "user"]
    return [text.partition("]] ")[2] or text for text in texts]


@pytest.fixture(scope="module")
def told() -> Iterator[Told]:
    with quick_folder() as folder, ModelServer(RULES) as server:
        repository = Repository(folder / "project")
        os.mkfifo(repository.outside / "fifo")
        repository.plan(AGENTS.format(url=server.url) + PLAN)
        outcome = repository.run()
        yield Told(outcome, server.requests())
        repository.end()


# --- branches ---


def test_branches_continue_one_conversation_at_once_and_do_not_see_each_other(told: Told) -> None:
    """The model answers neither before it was asked by both."""
    assert told.known("forks", "left") == ["begin", "go to the left"]
    assert told.known("forks", "right") == ["begin", "go to the right"]


def test_a_step_that_does_not_resume_knows_nothing_of_the_others(told: Told) -> None:
    assert told.known("forks", "something else") == ["something else"]


def test_after_branches_the_last_in_the_plan_is_continued(told: Told) -> None:
    assert told.known("forks", "the end") == ["begin", "go to the right", "the end"]
    assert told.outcome.states()["forks"] == "completed"


def test_what_branches_cost_that_failed_or_were_cancelled_counts(told: Told) -> None:
    assert told.costs("costs") == {"fails": ("failed", TURN), "waits": ("cancelled", TURN)}
    spent = [item.cost or 0 for item in told.outcome.of("step_finished")]
    assert told.outcome.of("run_finished")[-1].cost == sum(spent)


# --- tried again ---


def test_after_a_usage_limit_a_step_continues_where_it_was(told: Told) -> None:
    assert told.known("limited", "go on") == ["begin", "go on", "go on"]
    ends = told.outcome.of("step_finished", "limited", "further")
    assert [(end.outcome, end.attempt) for end in ends] == [("limited", 1), ("done", 1)]


def test_a_step_that_is_sent_back_continues_with_its_own_conversation(told: Told) -> None:
    first, second = told.known("tried")
    assert first.startswith("write it.")
    assert "42 is missing" in second
    assert told.outcome.states()["tried"] == "completed"


def test_a_conversation_that_is_gone_is_reported_with_what_to_do(told: Told) -> None:
    assert told.outcome.states()["gone"] == "failed error"
    assert "cannot be resumed" in told.outcome.message("gone")
    assert "take `resume` out of the step" in told.outcome.message("gone")


# --- the death of a coordinator ---


KILLED = """
  - id: killed
    steps:
      - {id: begin, prompt: "[[scenario:killed]] begin"}
      - {id: further, resume: true, prompt: go on}
"""


def ask(server: ModelServer) -> None:
    """As the agent does; the model answers neither before it was asked by both."""
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "begin"}]}).encode()
    with urlopen(Request(f"{server.scenario('killed')}/v1/chat/completions", body)) as answer:
        answer.read()


def test_the_next_coordinator_continues_the_conversation_that_was_started(repository: Repository) -> None:
    with ModelServer(RULES) as server, ThreadPoolExecutor() as threads:
        repository.plan(AGENTS.format(url=server.url) + KILLED)
        with repository.started("run") as process:
            repository.wait_for(lambda: repository.told("step_started", "killed", "begin"), process)
            process.kill()
        asking = threads.submit(ask, server)
        assert repository.run().state == "completed"
        asking.result()
        values = [_said(request) for request in server.requests() if request.agent == "weft"]
    assert values == [["begin"], ["begin", "go on"]]
    (begun,) = repository.told("step_finished", "killed", "begin")
    (further,) = repository.told("step_started", "killed", "further")
    assert further.data["session"] == begun.data["session"]
    logs, events = repository.weft("logs", "killed:begin", "--json"), repository.weft("events", "--json")
    assert sessions(logs, "begin") == sessions(events, "begin") == [begun.data["session"]]


def sessions(said: Said, step: str) -> list[str]:
    """The report at the end of a step."""
    records = [json.loads(line) for line in said.stdout.splitlines()]
    ends = [record for record in records if record["event"] == "step_finished" and record["step"] == step]
    return [end["session"] for end in ends]
