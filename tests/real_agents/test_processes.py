"""Whatever an agent does to go on or to leave something behind: its time is limited, and nothing of it stays."""

import pytest

from real_agents.benches import HELLO, Bench
from real_agents.programs import CLEANS_UP, NO_CIRCLES, NO_TOOLS, NO_TURNS, TURNS, calls
from weft.engine.messages.facts import StepOutcome
from weft.ports.host import EndReason
from weft.testing.models.server import ModelServer

pytestmark = pytest.mark.anyio


async def test_a_model_that_never_answers_is_left_when_the_time_is_up(bench: Bench) -> None:
    with ModelServer() as server:
        went = await bench.run_out_of_time(server, "hang", asked=1)
        assert server.requests()
    assert (went.why, went.how, went.text) == (EndReason.TIMEOUT, StepOutcome.TIMEOUT, HELLO)


@pytest.mark.skip_agents(NO_CIRCLES)
async def test_a_model_that_is_never_done_is_left_when_the_time_is_up(bench: Bench) -> None:
    with ModelServer() as server:
        went = await bench.run_out_of_time(server, "loop", asked=4)
    assert (went.why, went.how) == (EndReason.TIMEOUT, StepOutcome.TIMEOUT)
    assert went.text.startswith(f"{HELLO}again\n")


@pytest.mark.skip_agents(NO_TURNS)
async def test_a_model_that_is_never_done_is_left_after_so_many_turns(bench: Bench) -> None:
    with ModelServer() as server:
        went = await bench.run(server, "loop", args=TURNS[bench.agent])
    assert (went.why, went.how) == (EndReason.EXITED, StepOutcome.FAILED)
    assert went.text.startswith(f"{HELLO}again\n")


@pytest.mark.skip_agents(NO_TOOLS)
async def test_an_agent_that_is_ended_in_a_call_of_a_tool_leaves_nothing(bench: Bench) -> None:
    with ModelServer(calls(bench.agent, bench.place.gate("tool"))) as server:
        launch = bench.launch(server, "calls")
        job = bench.start(launch)
        await bench.place.reached("tool")
        bench.host.stop(job)
        went = await bench.end(launch)
    assert (went.why, went.how, went.text) == (EndReason.STOPPED, StepOutcome.CANCELLED, HELLO)
    assert not bench.stands_at("tool")


@pytest.mark.skip_agents(NO_TOOLS)
async def test_a_process_that_was_started_in_the_background_ends_with_the_agent(bench: Bench) -> None:
    child = f"nohup sh -c '{bench.place.gate('child')}' >/dev/null 2>&1 </dev/null &"
    with ModelServer(calls(bench.agent, f"{child} {bench.place.gate('tool')}; echo started")) as server:
        launch = bench.launch(server, "calls")
        bench.start(launch)
        for name in ("child", "tool"):
            await bench.place.reached(name)
        bench.place.release("tool")
        went = await bench.end(launch)
    assert (went.why, went.how) == (EndReason.EXITED, StepOutcome.DONE)
    assert not bench.stands_at("child")
    assert ("running, which Weft ended" in went.fact.message) is (bench.agent not in CLEANS_UP)
