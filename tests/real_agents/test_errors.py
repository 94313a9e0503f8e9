"""What goes wrong with the model is told as what it is, whatever the agent makes of it."""

import pytest

from real_agents.benches import HELLO, Bench
from real_agents.programs import GIVE_UP, PATIENT
from weft.engine.messages.facts import StepOutcome
from weft.testing.models.server import ModelServer

pytestmark = pytest.mark.anyio

EXPECTED = {
    "err401": StepOutcome.FAILED,
    "err500": StepOutcome.INFRA,
    "err429": StepOutcome.LIMITED,
    "drop": StepOutcome.INFRA,
}


@pytest.mark.parametrize("scenario", EXPECTED)
async def test_an_error_of_the_model_is_told_as_what_it_is(bench: Bench, scenario: str) -> None:
    if (bench.agent, scenario) in PATIENT:
        pytest.skip(f"{bench.agent}: it tries again for minutes after {scenario}")
    with ModelServer() as server:
        went = await bench.run(server, scenario)
        assert server.requests()
    assert (went.how, went.text) == (EXPECTED[scenario], HELLO)


@pytest.mark.skip_agents(GIVE_UP)
async def test_one_that_tries_again_for_minutes_is_left_when_the_time_is_up(bench: Bench) -> None:
    with ModelServer() as server:
        went = await bench.run_out_of_time(server, "err500", asked=2)
    assert (went.how, went.text) == (StepOutcome.TIMEOUT, HELLO)
