"""The agent that is built in, in plans: from a prompt to what has landed, with a scripted model."""

from collections.abc import Iterator

import pytest

from e2e.repositories import Repository
from weft.testing.models.script import rules_of
from weft.testing.models.server import ModelServer


def writes(text: str) -> dict[str, object]:
    return {"write": {"path": "answer.txt", "content": f"{text}\n"}}


RULES = rules_of(
    [
        {"name": "fixes", "prompt_contains": "42 is missing", "steps": [writes("42"), {"text": "Fixed."}]},
        {"name": "fixes", "steps": [writes("41"), {"text": "Done."}]},
        {"name": "limited", "times": 1, "steps": [{"http": 429, "retry_after": 0}]},
        {"name": "limited", "steps": [writes("42"), {"text": "Done."}]},
        {"name": "remembers", "prompt_contains": "go on", "steps": [writes("42"), {"text": "Went on."}]},
        {"name": "remembers", "steps": [writes("41"), {"text": "Begun."}]},
    ]
)
PLAN = """
agents:
  coder: {{use: builtin, model: scripted, args: [--retries, "0"], env: {{OPENAI_BASE_URL: {url}/v1}}}}
prices: {{scripted: {{input: 3, output: 15}}}}
merge: {{mode: auto}}
subplans:
"""
DIRECT = """
  - id: answer
    prompt: Write the answer
    verify: grep 42 answer.txt || { echo 42 is missing; exit 1; }
"""


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer(RULES) as server:
        yield server


def planned(repository: Repository, server: ModelServer, scenario: str, subplans: str = DIRECT) -> Repository:
    return repository.plan(PLAN.format(url=server.scenario(scenario)) + subplans)


def test_what_failed_goes_back_to_the_agent_and_what_it_fixed_lands(
    repository: Repository, server: ModelServer
) -> None:
    outcome = planned(repository, server, "fixes").run()
    assert outcome.state == "completed"
    assert outcome.ends() == [
        ("answer", "work", "done"),
        ("answer", "check", "failed"),
        ("answer", "work", "done"),
        ("answer", "check", "done"),
    ]
    assert repository.files()["answer.txt"] == "42"
    assert repository.landed() == ["Merge answer"]
    assert repository.is_whole()


def test_model_tokens_and_cost_are_in_the_journal(repository: Repository, server: ModelServer) -> None:
    planned(repository, server, "fixes").run()
    first, second = repository.story().of("step_finished", "answer", "work")
    # Two answers each, of 1,000 tokens in at $3 a million and 50 out at $15.
    assert [(item.tokens, item.cost) for item in (first, second)] == [(2100, 7500)] * 2
    starts = repository.story().of("step_started", "answer", "work")
    assert [(start.data["agent"], start.data["model"]) for start in starts] == [("coder", "scripted")] * 2


def test_a_step_continues_with_the_conversation_of_another(
    repository: Repository, server: ModelServer
) -> None:
    steps = """
  - id: answer
    steps:
      - {id: begin, prompt: begin}
      - {id: further, prompt: go on, resume: true}
"""
    assert planned(repository, server, "remembers", steps).run().state == "completed"
    assert repository.files()["answer.txt"] == "42"
    last = server.requests()[-1].body["messages"]
    assert [item["content"] for item in last if item["role"] == "user"] == ["begin", "go on"]


def test_a_usage_limit_is_waited_for_and_counts_as_no_attempt(
    repository: Repository, server: ModelServer
) -> None:
    outcome = planned(repository, server, "limited").run()
    assert outcome.state == "completed"
    ends = outcome.of("step_finished", "answer", "work")
    assert [(end.outcome, end.attempt, end.tokens) for end in ends] == [("limited", 1, 0), ("done", 1, 2100)]
    assert outcome.of("cost_unknown") == []


def test_a_key_that_is_refused_is_reported_and_not_tried_again(
    repository: Repository, server: ModelServer
) -> None:
    outcome = planned(repository, server, "err401").run()
    assert outcome.state == "failed"
    assert "does not accept the key in OPENAI_API_KEY (HTTP 401" in outcome.message("answer")
    assert [item for *_, item in outcome.ends()] == ["failed"]
