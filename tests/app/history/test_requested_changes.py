"""What a new run takes over if a person wants changes: the text stays until the slice is completed."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from app.pasts import Past, a_group, a_plan, past
from stored_events import make_event
from weft.app.history.completed_work import CompletedWork, kept_of
from weft.app.history.earlier_runs import earlier_runs
from weft.app.history.requested_changes import with_requests
from weft.engine.messages.events import AnyEvent
from weft.engine.messages.facts import Ended, RefMove, SliceFeedback, StepOutcome
from weft.plan.model import Plan


@pytest.fixture
def before(tmp_path: Path) -> Iterator[Past]:
    with past(tmp_path) as made:
        yield made


def worker(id_: str, *depends_on: str) -> dict[str, object]:
    steps = [
        {"id": "tests", "prompt": "test"},
        {"id": "code", "prompt": "do {{ feedback }}"},
        {"id": "check", "run": "true"},
    ]
    return {"id": id_, "depends_on": list(depends_on), "steps": steps}


PLAN = a_plan(
    a_group("g", worker("a"), worker("b", "a")),
    worker("c"),
    agents={"x": {"use": "command", "command": "cat"}},
    agent="x",
)


def kept(before: Past, plan: Plan = PLAN, **requests: str) -> CompletedWork:
    work = kept_of(plan, before.journal, earlier_runs(before.journal, plan.id))
    if not requests:
        return work
    paths = {path.replace("_", "/"): text for path, text in requests.items()}
    return with_requests(work, paths, plan, before.journal, earlier_runs(before.journal, plan.id))


def steps(path: str) -> list[AnyEvent]:
    move = RefMove(ref=f"refs/heads/weft/tried/{path.replace('/', '.')}", before="1", after="2")
    workspace = Ended(at=0.0, firing=1, execution=1, how=StepOutcome.DONE)
    end = Ended(at=0.0, firing=2, execution=1, how=StepOutcome.DONE, moves=(move,))
    return [
        make_event(kind="step_finished", subplan=path, step="@workspace", outcome="done", fact=workspace),
        *(
            make_event(kind=kind, subplan=path, step=step, outcome=outcome, attempt=1, fact=fact)
            for step in ("tests", "code", "check")
            for kind, outcome, fact in (("step_started", "", None), ("step_finished", "done", end))
        ),
    ]


def test_a_completed_slice_starts_again_before_its_agent_and_so_does_its_group(before: Past) -> None:
    done = [
        make_event(kind="subplan_state", subplan=path, outcome="completed")
        for path in ("g/a", "g/b", "g", "c")
    ]
    before.ran("1", PLAN, events=[*steps("g/a"), *done], state="completed")
    assert kept(before).is_all
    work = kept(before, g_a="shorter")
    assert (work.paths, work.is_all) == (("g/b", "c"), False)
    (earlier,) = work.continued
    assert (earlier.subplan, earlier.run, earlier.completed, earlier.commit) == ("g/a", "1", True, "2")
    assert [step.step for step in earlier.steps] == ["tests"]
    assert work.feedback == (SliceFeedback(subplan="g/a", text="shorter"),)


def test_the_steps_come_from_the_run_that_completed_the_slice(before: Past) -> None:
    done = make_event(kind="subplan_state", subplan="c", outcome="completed")
    before.ran("1", PLAN, events=[*steps("c"), done])
    before.ran("2", PLAN, carried=("c",))
    (earlier,) = kept(before, c="shorter").continued
    assert (earlier.run, [step.step for step in earlier.steps]) == ("1", ["tests"])


def test_a_slice_that_was_cut_off_continues_before_its_agent(before: Past) -> None:
    failed = make_event(kind="subplan_state", subplan="c", outcome="failed", data={"reason": "budget"})
    before.ran("1", PLAN, events=[*steps("c"), failed])
    assert len(kept(before).continued[0].steps) == len(("tests", "code", "check"))
    (earlier,) = kept(before, c="shorter").continued
    assert ([step.step for step in earlier.steps], earlier.completed) == (["tests"], False)


def test_the_text_stays_until_the_slice_is_completed_or_another_text_replaces_it(before: Past) -> None:
    feedback = tuple(SliceFeedback(subplan=path, text="shorter") for path in ("g/a", "c"))
    before.ran("1", PLAN, feedback=feedback, done=["g/a"])
    assert kept(before).feedback == feedback[1:]
    assert kept(before, c="longer").feedback == (SliceFeedback(subplan="c", text="longer"),)
    before.ran("2", PLAN, "g")
    assert kept(before).feedback == feedback[1:]
    changed = a_plan(worker("c"), agents={"x": {"use": "command", "command": "tac"}}, agent="x")
    assert kept(before, changed).feedback == ()


def test_a_run_that_had_nothing_but_a_text_hands_it_on(before: Past) -> None:
    before.ran("1", PLAN, feedback=(SliceFeedback(subplan="c", text="shorter"),))
    assert [feedback.text for feedback in kept(before).feedback] == ["shorter"]
