"""A plan that is loaded from its record is the plan that was recorded."""

from collections.abc import Callable

import pytest
from hypothesis import given

from plan.plan_strategies import plan_texts
from weft.plan.compile.compile import compile_plan
from weft.plan.digests import plan_digest, subplan_digests
from weft.plan.display.show import record_plan, show_plan
from weft.plan.loader.load import Surroundings, load_plan
from weft.plan.loader.record import load_record
from weft.plan.model import Plan
from weft.plan.text.problems import PlanError

NO_GIT = Surroundings(git=False)


def net_of(plan: Plan) -> tuple[object, ...]:
    compiled = compile_plan(plan)
    return compiled.after, len(compiled.shapes), compiled.shape_of, compiled.landing_shapes, compiled.pools


@given(plan_texts())
def test_a_record_is_loaded_as_a_plan_file_is(text: str) -> None:
    try:
        record = record_plan(load_plan(text))
    except PlanError:
        return
    plan, whole = load_record(record, "f"), load_plan(record, "f", surroundings=NO_GIT)
    assert record_plan(plan) == record
    assert plan.outline == whole.outline
    assert [scope.settings for scope in plan.scopes] == [scope.settings for scope in whole.scopes]
    assert plan_digest(plan) == plan_digest(whole)
    assert subplan_digests(plan) == subplan_digests(whole)
    assert net_of(plan) == net_of(whole)


MANY = """
weft: 1
plan: many
agents: {coder: {use: scripted, script: 'true'}}
pipelines:
  work: [{id: code, agent: coder, prompt: '{{ slice.prompt }}'}]
subplans:
  - id: first
    timeout: 5m
    subplans:
      - {id: a, prompt: Do a., files: [a.py], pipeline: work}
      - {id: b, prompt: Do b., files: [b.py], pipeline: work, depends_on: [a]}
  - id: second
    subplans:
      - {id: c, prompt: Do c., files: [c.py], pipeline: work, depends_on: [/first/a]}
      - {id: d, timeout: 9m, steps: [{id: x, run: 'true'}]}
      - {id: e, timeout: 9m, steps: [{id: x, run: 'true'}]}
"""


def test_equal_subplans_share_everything_but_their_names_and_texts() -> None:
    plan = load_record(record_plan(load_plan(MANY)), "f")
    a, b, c, d, e = (plan.subplans[row] for row in (2, 3, 5, 6, 7))
    assert (a.prompt, b.prompt, c.prompt) == ("Do a.", "Do b.", "Do c.")
    assert d.steps is e.steps
    assert b.source is c.source, "the plan was loaded as a whole, which takes ten times as long"
    assert plan.scopes[6] is plan.scopes[7]
    assert plan.scopes[2] is plan.scopes[3]
    assert plan.scopes[2].settings.timeout == 300
    assert plan.scopes[5].settings.timeout == 1800


def edited(plan: Plan) -> str:
    return record_plan(plan) + "\n# edited"


@pytest.mark.parametrize("write", [show_plan, edited])
def test_a_record_in_another_form_is_loaded_as_a_whole(write: Callable[[Plan], str]) -> None:
    record = write(load_plan(MANY))
    assert plan_digest(load_record(record, "f")) == plan_digest(load_plan(record, "f", surroundings=NO_GIT))


@pytest.mark.parametrize(
    ("correct", "damaged"),
    [
        ('"depends_on":["/first/a"]', '"depends_on":["/first/z"]'),
        ('"id":"first"', '"id":3'),
        ('"subplans":[{"id":"c"', '"subplans":3,"other":[{"id":"c"'),
        ('"subplans":[{"id":"first"', '"other":[{"id":"first"'),
    ],
)
def test_a_record_that_was_damaged_has_the_error_of_a_plan_file(correct: str, damaged: str) -> None:
    record = record_plan(load_plan(MANY)).replace(": ", ":").replace(", ", ",")
    assert correct in record
    with pytest.raises(PlanError):
        load_record(record.replace(correct, damaged), "f")
