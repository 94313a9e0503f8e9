import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.calls import NOW
from weft.agents.shared.failures import Diagnosis, ReportedFailure, diagnose
from weft.agents.shared.usage_limits import LATEST, UNKNOWN
from weft.engine.messages.facts import StepOutcome
from weft.plan.agent_program import AgentProgram

PROGRAM = AgentProgram(name="pi", doc="it", title="It", end="an end", sign_in="set THE_KEY")


def of(text: str, *, status: int | None = None, until: float | None = None) -> Diagnosis:
    return diagnose(ReportedFailure(text=text, status=status, until=until), PROGRAM, at=NOW)


@pytest.mark.parametrize(
    ("status", "how"),
    [
        (400, StepOutcome.FAILED),
        (401, StepOutcome.FAILED),
        (402, StepOutcome.FAILED),
        (403, StepOutcome.FAILED),
        (404, StepOutcome.FAILED),
        (408, StepOutcome.INFRA),
        (429, StepOutcome.LIMITED),
        (500, StepOutcome.INFRA),
        (502, StepOutcome.INFRA),
        (503, StepOutcome.INFRA),
        (529, StepOutcome.LIMITED),
    ],
)
def test_a_status_decides_given_apart_or_in_the_text(status: int, how: StepOutcome) -> None:
    diagnoses = [of("oops", status=status)] + [
        of(text.format(status))
        for text in (
            "{} oops",
            "API Error: {} oops",
            "HTTP {}",
            'x {{"code":{}}}',
            "status {} Oops",
            "error code: {}",
        )
    ]
    assert [diagnosis.how for diagnosis in diagnoses] == [how] * len(diagnoses)


@pytest.mark.parametrize(
    "text",
    ["Invalid API key", "no API key found", "You are not logged in", "Missing environment variable: `X`"],
)
def test_a_missing_key_is_reported_with_what_to_do(text: str) -> None:
    assert of(text) == Diagnosis(how=StepOutcome.FAILED, message=f"{text}; set THE_KEY", lasting=True)
    assert of("oops", status=401).message == "oops; set THE_KEY"


@pytest.mark.parametrize(
    "text", ["model: m-7 was not found", "The model `m` does not exist", "unknown model m"]
)
def test_a_model_that_does_not_exist_is_reported_with_what_to_do(text: str) -> None:
    diagnosis = of(text)
    assert (diagnosis.how, diagnosis.message) == (
        StepOutcome.FAILED,
        f"{text}; name a model that the provider has, with `model` of the agent or the step",
    )


@pytest.mark.parametrize(
    "text",
    [
        "Session not found",
        "No session found with name 'x'",
        "no rollout found for x",
        "Error resuming session: No previous sessions found for this project.",
    ],
)
def test_a_conversation_that_is_gone_is_reported_with_what_to_do(text: str) -> None:
    assert "take `resume` out of the step" in of(text).message


@pytest.mark.parametrize(
    "text",
    ["fetch failed", "connect ECONNREFUSED 127.0.0.1:1", "Connection error.", "stream closed before the end"],
)
def test_a_broken_connection_is_worth_another_try(text: str) -> None:
    assert of(text) == Diagnosis(how=StepOutcome.INFRA, message=f"the model could not be reached: {text}")


def test_any_other_error_is_a_failure_in_its_own_words() -> None:
    assert of("\x1b[31mI do not\nwant to\x1b[0m") == Diagnosis(
        how=StepOutcome.FAILED, message="I do not want to"
    )


def test_a_limit_ends_when_the_provider_says_but_not_in_the_distant_future() -> None:
    assert of("slow down", status=429).until == NOW + UNKNOWN
    assert of("try again in 7s", status=429).until == NOW + 7
    assert of("try again in 7s", status=429, until=NOW + 9).until == NOW + 9
    assert of("try again in 99 days", status=429).until == NOW + LATEST


@given(st.text())
def test_no_error_is_too_strange_to_mean_something(text: str) -> None:
    assert of(text).how in {StepOutcome.FAILED, StepOutcome.INFRA, StepOutcome.LIMITED}
