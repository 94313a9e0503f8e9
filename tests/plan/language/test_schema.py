import json
from copy import deepcopy

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from plan.language_strategies import JUNK, accepted, plans, records
from weft.plan.language.records import Words
from weft.plan.language.schema import config_schema, plan_schema
from weft.plan.language.tables import CONFIG, PLAN, RECORDS

SCHEMAS = {PLAN: plan_schema(), CONFIG: config_schema()}
# By their titles: Hypothesis shows arguments, and a record is long.
BY_TITLE = {record.title: record for record in RECORDS}
KEYS = [(record.title, key.name) for record in RECORDS for key in record.keys]
NAMES = sorted({name for _, name in KEYS})


def validator(record):
    own = SCHEMAS.get(record) or {"$defs": plan_schema()["$defs"], **record.schema()}
    return Draft202012Validator(own)


VALIDATORS = {record: validator(record) for record in RECORDS}


def fits(record, data):
    return VALIDATORS[record].is_valid(data)


def containers(data):
    """Every list and mapping in the data."""
    if isinstance(data, dict | list):
        yield data
        for inner in data.values() if isinstance(data, dict) else data:
            yield from containers(inner)


def mutate(draw, data):
    """One change somewhere: a value replaced, taken away or added."""
    place = draw(st.sampled_from(list(containers(data))))
    value = deepcopy(draw(st.sampled_from(JUNK)))
    keys = list(place) if isinstance(place, dict) else list(range(len(place)))
    if not keys or draw(st.booleans()):
        if isinstance(place, dict):
            place[draw(st.sampled_from([*NAMES, "unknown"]))] = value
        else:
            place.append(value)
    elif draw(st.booleans()):
        place[draw(st.sampled_from(keys))] = value
    else:
        del place[draw(st.sampled_from(keys))]


# The schema and the loader agree


@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=["plan", "config"])
def test_it_is_a_json_schema(schema):
    Draft202012Validator.check_schema(schema)
    assert json.loads(json.dumps(schema)) == schema


@pytest.mark.parametrize("title", BY_TITLE)
@given(st.data())
def test_what_is_right_is_right_for_both(title, draw):
    record = BY_TITLE[title]
    data = draw.draw(records(record))
    assert accepted(record, data)
    assert fits(record, data)


@given(plans())
def test_plans_without_loose_ends_are_right_for_both(plan):
    assert accepted(PLAN, plan)
    assert fits(PLAN, plan)


@pytest.mark.parametrize("title", BY_TITLE)
@given(st.data())
def test_after_any_change_both_give_the_same_verdict(title, draw):
    record = BY_TITLE[title]
    data = draw.draw(records(record))
    mutate(draw.draw, data)
    assert fits(record, data) == accepted(record, data), data


@pytest.mark.parametrize(("title", "name"), KEYS)
def test_values_of_all_shapes_get_the_same_verdict_from_both(title, name):
    kind = BY_TITLE[title].key(name).kind
    shown = Draft202012Validator({"$defs": plan_schema()["$defs"], **kind.schema()})
    verdicts = [accepted(kind, value) for value in JUNK]
    assert [shown.is_valid(value) for value in JUNK] == verdicts
    assert not all(verdicts)


@pytest.mark.parametrize("title", BY_TITLE)
@given(st.data())
def test_an_unknown_or_missing_key_is_wrong_for_both(title, draw):
    record = BY_TITLE[title]
    data = draw.draw(records(record))
    changed = [data | {"unknown": 1}]
    changed += [{k: v for k, v in data.items() if k != key.name} for key in record.keys if key.required]
    for variant in changed:
        assert not accepted(record, variant)
        assert not fits(record, variant)


STEP = {"id": "a", "run": "b"}


def with_steps(*steps):
    return {"weft": 1, "plan": "p", "subplans": [{"id": "a", "steps": list(steps)}]}


@pytest.mark.parametrize(
    "step",
    [
        {"id": "a"},
        STEP | {"prompt": "c"},
        STEP | {"action": "verify", "pipeline": "d"},
        STEP | {"agent": "coder"},
        STEP | {"question": "really?"},
        STEP | {"on_error": "retry"},
        STEP | {"max_retries": 1},
        STEP | {"on_error": "wait_for_all"},
        STEP | {"pool": "x", "pools": ["y"]},
        {"id": "a", "action": "join"},
        {"id": "a", "action": "join", "depends_on": []},
        {"id": "a", "action": "join", "depends_on": ["b"], "on_error": "abort"},
        {"id": "a", "action": "ask"},
        {"id": "a", "action": "ask", "question": "b", "timeout": "1s"},
    ],
)
def test_keys_that_do_not_go_together_are_wrong_for_both(step):
    assert not accepted(PLAN, with_steps(step))
    assert not fits(PLAN, with_steps(step))
    assert accepted(PLAN, with_steps(STEP))
    assert fits(PLAN, with_steps(STEP))


# Where they cannot


@pytest.mark.parametrize(
    "setting",
    [
        {"max_parallel": 4.0},
        {"budget": 0.1234567},
        {"copy": ["a[b"]},
        {"copy": ["[z-a]"]},
        {"model": "a\0b"},
        {"agent": "a\n"},
        {"timeout": "5m\n"},
    ],
)
def test_the_schema_lets_pass_what_its_module_says(setting):
    plan = {"weft": 1, "plan": "p", "subplans": [{"id": "a"}]} | setting
    assert fits(PLAN, plan)
    assert not accepted(PLAN, plan)


def test_the_schema_lets_a_range_pass_that_is_the_wrong_way_round():
    plan = {"weft": 1, "plan": "p", "subplans": [{"id": "a", "estimate": {"minutes": "20..5"}}]}
    assert fits(PLAN, plan)
    assert not accepted(PLAN, plan)


# It is good for editors


@pytest.mark.parametrize("title", BY_TITLE)
def test_an_editor_finds_every_key_with_its_meaning_right_at_the_record(title):
    record = BY_TITLE[title]
    definition = SCHEMAS.get(record) or plan_schema()["$defs"][record.title]
    assert list(definition["properties"]) == [key.name for key in record.keys]
    assert definition["additionalProperties"] is False
    assert definition["description"] == record.doc
    for key in record.keys:
        assert definition["properties"][key.name]["description"].startswith(key.doc)


def test_a_key_shows_its_choices_its_default_and_an_example():
    properties = plan_schema()["properties"]
    assert properties["failure_mode"] == {
        "enum": ["fail_fast", "continue_on_error"],
        "description": "What a failed subplan does to its siblings: `fail_fast` cancels them, "
        "`continue_on_error` lets them continue. Default: fail_fast.",
        "default": "fail_fast",
    }
    assert properties["max_parallel"]["default"] == 4
    assert properties["pools"]["examples"] == [{"staging-db": 1}]
    assert "default" not in properties["budget"]


@pytest.mark.parametrize(("title", "name"), KEYS)
def test_defaults_and_examples_are_values_that_are_allowed(title, name):
    record = BY_TITLE[title]
    key = record.key(name)
    definition = SCHEMAS.get(record) or plan_schema()["$defs"][record.title]
    shown = definition["properties"][key.name]
    values = shown.get("examples", []) + ([shown["default"]] if "default" in shown else [])
    assert len(values) == (key.example is not None) + (type(key.default) is str)
    assert all(accepted(key.kind, value) for value in values)
    assert key.default is None or isinstance(key.default, str | Words)


def test_the_parts_of_a_plan_are_defined_once():
    assert list(plan_schema()["$defs"]) == [r.title for r in RECORDS if r not in {PLAN, CONFIG}]
    assert list(config_schema()["$defs"]) == [
        "agent", "merge", "sandbox", "budget", "price", "notify", "host", "tls", "labels",
    ]  # fmt: skip


def test_the_schemas_have_names_of_their_own():
    assert plan_schema()["$id"] == "urn:weft:plan:1"
    assert config_schema()["$id"] == "urn:weft:config:1"
    assert plan_schema()["$schema"] == "https://json-schema.org/draft/2020-12/schema"
