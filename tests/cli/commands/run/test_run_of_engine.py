"""What is shown of what the engine really tells, however the run goes: failures, limits, stops and deaths."""

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from plan.small_plans import compiled
from weft.app.views.run_view import RunView
from weft.app.views.wording.style import Style
from weft.cli.live.screen import screen
from weft.cli.text.run_lines import lines_of
from weft.cli.text.run_summary import summary_lines
from weft.engine.messages.facts import StepOutcome
from weft.engine.simulate import Interruptions, SimulatedEnd, SimulatedReply, SimulatedRun, Simulator

GROUPS = [
    {
        "id": f"g{number}",
        "verify": "make all",
        "subplans": [
            {"id": "a", "pipeline": "fan"},
            {"id": "b", "pipeline": "loops", "verify": "make", "depends_on": ["a"]},
            {"id": "c", "pipeline": "outer", "verify": "make"},
        ],
    }
    for number in range(3)
]
PLANS = {
    mode: compiled(*GROUPS, failure_mode=mode, max_parallel=3) for mode in ("fail_fast", "continue_on_error")
}
HOWS = [
    *[StepOutcome.DONE] * 16,
    StepOutcome.FAILED,
    StepOutcome.TIMEOUT,
    StepOutcome.LOST,
    StepOutcome.LIMITED,
]


def simulated(mode: str, chance: Random) -> SimulatedRun:
    def world(_order: object) -> SimulatedEnd:
        return SimulatedEnd(
            seconds=chance.uniform(1, 50), how=chance.choice(HOWS), cost=chance.choice([None, 5])
        )

    def rarely(_facts: int) -> bool:
        return chance.random() < 0.03

    simulator = Simulator(
        PLANS[mode],
        world,
        person=lambda _subplan, _step: SimulatedReply(chance.uniform(0, 100)),
        interruptions=Interruptions(dies=rarely, stops=rarely),
    )
    return simulator.play(carried=("g0/a",))


@settings(max_examples=40)
@given(st.sampled_from(sorted(PLANS)), st.integers(0, 2**32))
def test_the_view_agrees_with_the_engine_and_can_be_shown_at_any_time(mode, seed) -> None:
    run = simulated(mode, Random(seed))
    view = RunView(PLANS[mode].plan)
    for at, event in run.events:
        view.apply(event, at)
        assert sum(view.counts.values()) == 9
        assert len(screen(view, at, (79, 12), Style())) <= 12
        assert len(lines_of(event, at, view)) <= 1
    paths = view.outline.paths[1:]
    assert [view.row(path).state for path in paths] == [run.engine.tracker.state(path) for path in paths]
    assert view.state == run.state
    assert [*view.row_index.running, *view.row_index.asking, *view.row_index.waiting] == []
    assert list(view.under_way()) == []
    assert bool(view.row_index.failed) is (run.state == "failed"), "every failed run says what was to blame"
    assert summary_lines(view, run.seconds)
