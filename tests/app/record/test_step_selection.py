"""What `ID[:STEP]` means."""

import pytest

from app.books import PLAN
from stored_events import make_event
from weft.app.record.step_selection import MOST_NAMES, chosen, names
from weft.engine.messages.events import StepStartedEvent
from weft.errors import InputError
from weft.plan.loader.load import load_plan

TRIED = load_plan(PLAN)
OURS = ("@workspace", "@verify", "@merge", "@land")


@pytest.mark.parametrize(
    ("name", "paths"),
    [
        ("docs", ["docs"]),
        ("store/model", ["store/model"]),
        ("/store/model/", ["store/model"]),
        ("store", ["store", "store/model"]),
        ("/", ["", "store", "store/model", "docs"]),
        ("store:@verify", ["store", "store/model"]),
        ("store/model:checks.lint", ["store/model"]),
        ("docs:@workspace", ["docs"]),
        ("/:write", ["", "store", "store/model", "docs"]),
    ],
)
def test_what_is_meant(name: str, paths: list[str]) -> None:
    assert list(chosen(TRIED, name).rows) == paths


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("dcos", "the plan has no subplan 'dcos'; did you mean 'docs'"),
        ("//", "the plan has no subplan '//'; did you mean '/'"),
        ("docs:wirte", "docs has no step 'wirte'; did you mean 'write'"),
        ("docs:write.more", "docs has no step 'write.more'; did you mean 'write'"),
        ("store/model:checks.lynt", "store/model has no step 'checks.lynt'; did you mean 'checks.lint'"),
        ("docs:checks", "docs has no step 'checks'; known: write, @workspace, @verify, @merge, @land"),
    ],
)
def test_what_is_not_there_is_reported(name: str, said: str) -> None:
    with pytest.raises(InputError) as raised:
        chosen(TRIED, name)
    assert str(raised.value).rstrip("?") == said


def test_a_step_is_chosen_by_its_name() -> None:
    which = chosen(TRIED, "store:work")
    assert which.has(make_event(kind="step_started", subplan="store/model", step="work"))
    assert not which.has(make_event(kind="step_started", subplan="store/model", step="checks.lint"))
    assert not which.has(make_event(kind="step_started", subplan="docs", step="work"))


def test_what_an_agent_does_is_reported_by_its_name() -> None:
    event = StepStartedEvent(subplan="docs", step="write", agent="coder")
    assert chosen(TRIED, "docs").command(event) == "agent coder"


@pytest.mark.parametrize(
    ("subplan", "step", "command"),
    [
        ("store/model", "@workspace", "make deps && tidy 'up now'"),
        ("store/model", "@merge", ""),
        ("store", "@merge", "make deps && tidy 'up now' && make store"),
        ("docs", "@land", "make deps && tidy 'up now' && make docs"),
    ],
)
def test_what_weft_runs_itself_is_reported_by_its_commands(subplan: str, step: str, command: str) -> None:
    plan = load_plan("""
weft: 1
plan: tried
isolation: dir
setup: [make deps, [tidy, up now]]
subplans:
  - {id: store, verify: make store, subplans: [{id: model, steps: [{id: work, run: "true"}]}]}
  - {id: docs, verify: make docs, steps: [{id: work, run: "true"}]}
""")
    event = StepStartedEvent(subplan=subplan, step=step)
    assert chosen(plan, "/").command(event) == command


@pytest.mark.parametrize(
    ("beginning", "found"),
    [
        ("st", ["store", "store/model"]),
        ("store/model:", ["work", "checks", "checks.lint", "checks.test", *OURS]),
        ("store/model:checks.", ["checks.lint", "checks.test"]),
        ("zzz", []),
        ("zzz:", []),
    ],
)
def test_what_may_be_typed(beginning: str, found: list[str]) -> None:
    expected = [f"store/model:{name}" for name in found] if ":" in beginning else found
    assert list(names(TRIED, beginning)) == expected


def test_of_very_many_steps_only_some_are_offered() -> None:
    last = 9
    doubled = [f"  p{n}: [{{id: a, pipeline: p{n + 1}}}, {{id: b, pipeline: p{n + 1}}}]" for n in range(last)]
    head = "weft: 1\nplan: deep\nisolation: dir\npipelines:"
    text = "\n".join(
        [head, *doubled, f"  p{last}: [{{id: a, run: 'true'}}]", "subplans: [{id: x, pipeline: p0}]"]
    )
    plan = load_plan(text)
    assert chosen(plan, f"x:{'b.' * last}a").rows == {"x": 1}
    assert len(list(names(plan, "x:"))) == MOST_NAMES
