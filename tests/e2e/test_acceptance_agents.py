"""The built-in pipelines with the built-in agent: what it is asked, how often, and which feedback it gets.

One run of a plan for each policy, with a slice for each story; the model's record shows what was asked.
"""

from collections.abc import Iterator

import pytest
from msgspec import Struct

from e2e.projects import Outcome
from e2e.repositories import Repository
from store.books import quick_folder
from weft.testing.models.playback import RecordedRequest
from weft.testing.models.script import rules_of
from weft.testing.models.server import ModelServer

Data = dict[str, object]

ACCEPTED: Data = {"text": '{"accepted": true, "reasons": []}'}
REJECTED: Data = {"text": '{"accepted": false, "reasons": ["it has no name"]}'}
DONE: Data = {"text": "Done."}
TESTS, CODE, JUDGE = "Write tests", "Do the task", "Judge whether"


def says(name: str, *answers: Data, **more: object) -> Data:
    return {"name": name, "steps": [*answers], **more}


def writes(name: str, text: str, **more: object) -> Data:
    return says(name, {"write": {"path": f"{name}.txt", "content": f"{text}\n"}}, DONE, **more)


RULES = rules_of(
    [
        says("happy", DONE, prompt_contains=TESTS),
        says("happy", ACCEPTED, prompt_contains=JUDGE),
        writes("happy", "42"),
        says("fixed", DONE, prompt_contains=TESTS),
        says("fixed", REJECTED, prompt_contains=JUDGE, times=1),
        says("fixed", ACCEPTED, prompt_contains=JUDGE),
        writes("fixed", "42 by Ada", prompt_contains="it has no name"),
        writes("fixed", "42", prompt_contains="42 is missing"),
        writes("fixed", "41"),
        writes("hopeless", "41"),
        says("disliked", REJECTED, prompt_contains=JUDGE),
        writes("disliked", "42"),
        says("vague", {"text": "It is fine."}, prompt_contains=JUDGE),
        writes("vague", "42"),
        says("crashes", {"shell": "kill -9 $PPID"}),
        says("broken", {"http": 500, "message": "the model has a cold"}),
        writes("unchecked", "42"),
    ]
)
PLAN = """
policy: {policy}
max_parallel: 3
failure_mode: continue_on_error
infra_retries: 1
merge: {{mode: auto}}
agents:
  coder: {{use: builtin, model: scripted, args: [--retries, "0"], env: {{OPENAI_BASE_URL: {url}/v1}}}}
subplans:
"""
CHECK = "grep 42 {}.txt || {{ echo 42 is missing; exit 1; }}"
TDD = ("happy", "fixed", "disliked")
SLICES = "".join(
    f"  - {{id: {name}, prompt: '[[scenario:{name}]]', {more}}}\n"
    for name, more in (
        *((name, f"pipeline: tdd, verify: '{CHECK.format(name)}'") for name in TDD),
        ("vague", f"pipeline: tdd, retries: 1, verify: '{CHECK.format('vague')}'"),
        *((name, f"verify: '{CHECK.format(name)}'") for name in ("hopeless", "crashes", "broken")),
        ("unchecked", "verify: eval no-such-program"),
    )
)


class Told(Struct):
    """The journal of a run, and the requests to the model."""

    outcome: Outcome
    asked: tuple[RecordedRequest, ...]
    files: dict[str, str]
    """Those that have landed."""

    def prompts(self, slice_: str, beginning: str = "") -> list[str]:
        """What each conversation began with, in their order."""
        first = [
            question.body["messages"][-1]["content"]
            for question in self.asked
            if self._is_first(question, slice_)
        ]
        return [text for text in first if text.startswith(beginning)]

    def _is_first(self, asked: RecordedRequest, slice_: str) -> bool:
        return asked.scenario == slice_ and not asked.turns

    def ends(self, slice_: str) -> list[tuple[str, str]]:
        return [(step, how) for subplan, step, how in self.outcome.ends() if subplan == slice_]

    def state(self, slice_: str) -> str:
        return self.outcome.states()[slice_]


@pytest.fixture(scope="module", params=["serial", "parallel"])
def told(request: pytest.FixtureRequest) -> Iterator[Told]:
    with quick_folder() as folder, ModelServer(RULES) as server:
        repository = Repository(folder / "project")
        repository.plan(PLAN.format(policy=request.param, url=server.url) + SLICES)
        outcome = repository.run()
        yield Told(outcome, server.requests(), repository.files())
        repository.end()


def test_it_is_tests_code_check_and_judge_in_this_order(told: Told) -> None:
    assert told.ends("happy") == [(step, "done") for step in ("tests", "code", "check", "judge")]
    begun = [prompt[:7] for prompt in told.prompts("happy")]
    assert begun == [TESTS[:7], CODE[:7], JUDGE[:7]]
    assert told.state("happy") == "completed"


def test_what_a_check_said_is_in_the_next_prompt_of_the_coder(told: Told) -> None:
    first, second, _ = told.prompts("fixed", CODE)
    assert "42 is missing" not in first
    assert "42 is missing" in second
    assert "exit code 1" in second


def test_what_a_judge_disliked_is_in_the_next_prompt_of_the_coder(told: Told) -> None:
    _, second, third = told.prompts("fixed", CODE)
    assert "it has no name" not in second
    assert "it has no name" in third


def test_a_check_that_fails_once_and_a_judge_that_rejects_once_cost_a_cycle_each(told: Told) -> None:
    assert told.ends("fixed") == [
        ("tests", "done"),
        *(("code", "done"), ("check", "failed")),
        *(("code", "done"), ("check", "done"), ("judge", "rejected")),
        *(("code", "done"), ("check", "done"), ("judge", "done")),
    ]
    assert told.state("fixed") == "completed"


def test_a_check_that_always_fails_ends_exhausted_after_three_goes(told: Told) -> None:
    assert told.state("hopeless") == "failed exhausted"
    assert told.ends("hopeless") == [("work", "done"), ("check", "failed")] * 3
    first, *others = told.prompts("hopeless")
    assert ["42 is missing" in text for text in (first, *others)] == [False, True, True]


def test_a_judge_that_always_rejects_ends_exhausted_after_three_judgements(told: Told) -> None:
    assert told.state("disliked") == "failed exhausted"
    assert len(told.prompts("disliked", JUDGE)) == 3
    assert len(told.prompts("disliked", CODE)) == 3
    assert "judge" in told.outcome.message("disliked")


def test_an_agent_that_breaks_down_fails_its_slice_and_no_other(told: Told) -> None:
    assert told.state("crashes") == "failed exhausted"
    assert "killed by SIGKILL" in told.outcome.message("crashes")


def test_a_model_that_is_out_of_order_is_no_failure_of_the_work(told: Told) -> None:
    """It has its own bound and reason, and is not reported to a coder."""
    assert told.state("broken") == "failed infra"
    assert told.ends("broken") == [("work", "infra")] * 2
    assert "the model has a cold" in told.outcome.message("broken")
    first, second = told.prompts("broken")
    assert first == second


def test_a_check_that_cannot_be_run_is_no_failure_of_the_work(told: Told) -> None:
    assert told.state("unchecked") == "failed infra"
    assert told.ends("unchecked") == [("work", "done"), ("check", "infra"), ("check", "infra")]
    assert len(told.prompts("unchecked")) == 1
    assert "no-such-program" in told.outcome.message("unchecked")


def test_an_answer_of_a_judge_that_does_not_fit_its_schema_is_reported_and_counts_as_a_no(told: Told) -> None:
    text = "judge: the result is not JSON"
    assert told.state("vague") == "failed exhausted"
    assert told.outcome.message("vague").startswith(text)
    first, second = told.prompts("vague", CODE)
    assert "It is fine." not in first
    assert "its output_schema asks for it" in second
    assert "It is fine." in second


def test_every_loop_has_ended_and_what_was_done_has_landed(told: Told) -> None:
    assert told.outcome.state == "failed"
    counts = {"pending": 0, "running": 0, "completed": 2, "failed": 6}
    assert told.outcome.of("run_finished")[-1].data["counts"] == counts
    assert told.files == {"README": "hello", "happy.txt": "42", "fixed.txt": "42 by Ada"}
