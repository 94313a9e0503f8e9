from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct
from msgspec.structs import fields

from plan.language_strategies import bad, plans, records
from weft.plan.language.agent_programs import AGENT_PROGRAMS
from weft.plan.language.kinds import Choice
from weft.plan.language.reader import Reader
from weft.plan.language.records import Later, Record
from weft.plan.language.tables import ACTIONS, AGENT, BODIES, CONFIG, PLAN, RECORDS, SETTINGS, STEP, SUBPLAN
from weft.plan.text.document import read_document
from weft.plan.text.emit import to_yaml

KEYS = {f"{record.title}.{key.name}": (record, key) for record in RECORDS for key in record.keys}

EXAMPLE = """\
weft: 1
plan: notes
goal: A small notes tool.
base: main
max_parallel: 4
failure_mode: continue_on_error
budget: 20.00
agents:
  coder:  {use: claude, model: sonnet, pool: 3}
  tester: {use: claude, model: haiku,  pool: 2}
pools:
  staging-db: 1
  port: {values: [8001, 8002]}
pipelines:
  tdd:
    - {id: tests, agent: tester, prompt: "Write failing tests for: {{ slice.prompt }}"}
    - {id: code,  agent: coder,  prompt: "Make the tests pass.\\n{{ feedback }}"}
    - {id: check, action: verify, on_fail: {retry_from: code, max: 3}}
subplans:
  - id: store
    title: Note store
    files: [src/store/**]
    verify: pytest -q tests/store
    subplans:
      - {id: model, prompt: Note type with title and body, verify: pytest -q tests/store/test_model.py}
      - {id: disk, prompt: Save and load notes, depends_on: [model], verify: [[pytest, -q], ruff check]}
  - id: cli
    depends_on: [store, /store/disk]
    prompt: Command line on top of the store
"""


def problems(record, text):
    document = read_document(text, "plan.yaml")
    reader = Reader(document)
    record.read(document.root, reader, record.name)
    return [f"{problem.at.line}:{problem.at.column} {problem.message}" for problem in reader.problems]


def records_in(kind):
    """The records that a kind holds, however deep."""
    if isinstance(kind, Record):
        yield kind
    elif isinstance(kind, Later):
        yield kind.record()
    elif isinstance(kind, Struct):
        for part in fields(kind):
            yield from records_in(getattr(kind, part.name))


# The tables


def test_every_record_is_listed():
    reached = [PLAN, CONFIG]
    for record in reached:
        inner_records = (inner for key in record.keys for inner in records_in(key.kind))
        reached.extend(inner for inner in inner_records if inner not in reached)
    assert set(reached) == set(RECORDS)


@pytest.mark.parametrize("record", RECORDS, ids=repr)
def test_no_two_keys_of_a_record_share_a_name(record):
    assert Counter(key.name for key in record.keys).most_common(1)[0][1] == 1


def test_no_two_records_share_a_title():
    assert len({record.title for record in RECORDS}) == len(RECORDS)


@pytest.mark.parametrize("text", [*(r.doc for r in RECORDS), *(key.doc for _, key in KEYS.values())])
def test_everything_is_explained_in_sentences(text):
    assert text[0].isupper() or text[0] == "`"
    assert text.endswith(".")


@pytest.mark.parametrize("name", KEYS)
def test_what_is_allowed_is_reported_in_words(name):
    _, key = KEYS[name]
    assert key.kind.words
    assert not key.kind.words.endswith(".")


@pytest.mark.parametrize("name", [name for name, (_, key) in KEYS.items() if isinstance(key.kind, Choice)])
def test_every_choice_is_reported_when_another_word_is_written(name):
    record, key = KEYS[name]
    messages = [
        message
        for message in problems(record, f"{key.name}: nothing-like-it")
        if f" {key.name} is" in message
    ]
    assert messages == [f"1:{len(key.name) + 3} {key.name} is 'nothing-like-it'; it must be {key.kind.words}"]


@pytest.mark.parametrize("name", [name for name, (_, key) in KEYS.items() if isinstance(key.kind, Choice)])
def test_every_choice_is_explained(name):
    record, key = KEYS[name]
    explained = {f"`{adapter}`" for adapter in AGENT_PROGRAMS} if record is AGENT else set(key.doc.split())
    assert isinstance(key.kind, Choice)
    assert {f"`{value}`" for value in key.kind.values} <= {word.rstrip(";") for word in explained}


@pytest.mark.parametrize("record", RECORDS, ids=repr)
def test_rules_are_sentences_about_keys_that_there_are(record):
    names = {key.name for key in record.keys}
    for rule in record.rules:
        assert rule.sentence.endswith(".")
        quoted = rule.sentence.split("`")[1::2]
        values = {value for key in record.keys for value in getattr(key.kind, "values", ())}
        assert {part.partition(":")[0] for part in quoted} <= names | values


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda key: key.name)
def test_a_setting_may_stand_in_a_plan_a_subplan_and_a_configuration(setting):
    assert all(record.key(setting.name) is setting for record in (PLAN, SUBPLAN, CONFIG))


@pytest.mark.parametrize("name", sorted({key.name for key in SETTINGS} & {key.name for key in STEP.keys}))
def test_a_setting_that_a_step_has_too_allows_the_same_there(name):
    setting = next(key for key in SETTINGS if key.name == name)
    assert STEP.key(name).kind == setting.kind
    assert STEP.key(name).default == f"the setting `{name}`"


def test_the_bodies_and_actions_of_a_step_are_in_its_table():
    assert [STEP.key(body).name for body in BODIES] == list(BODIES)
    assert STEP.key("action").kind == Choice(ACTIONS)


def test_every_adapter_can_be_used_by_its_name():
    assert all(name == adapter.name for name, adapter in AGENT_PROGRAMS.items())
    assert [a.name for a in AGENT_PROGRAMS.values() if a.program is None] == [
        "acp",
        "command",
        "scripted",
        "builtin",
    ]


# The language


def test_an_example_with_a_little_of_everything_is_a_plan():
    assert problems(PLAN, EXAMPLE) == []


def test_a_configuration_has_agents_and_settings():
    assert problems(CONFIG, "agents: {coder: {use: codex}}\nmax_parallel: 8\nmerge: {mode: auto}") == []
    assert problems(CONFIG, "subplans: []")[0].startswith("1:1 unknown key 'subplans' in the configuration")


@pytest.mark.parametrize("value", ["0", "33", "-1", '"40"', "4.0", "four", "[4]", "null"])
def test_max_parallel_out_of_its_range_is_refused_with_the_range_and_the_place(value):
    (message,) = problems(PLAN, EXAMPLE.replace("max_parallel: 4", f"max_parallel: {value}"))
    assert message.startswith("5:15 max_parallel is ")
    assert message.endswith("; it must be a whole number from 1 to 32")


@pytest.mark.parametrize(
    "value", ["..", "a/b", r"a\b", "a:b", "''", "/etc", "Store", "x" * 65, '"a\\n"', ".", "~", "[a]"]
)
def test_an_id_that_could_lead_elsewhere_is_refused_with_its_place(value):
    messages = problems(PLAN, EXAMPLE.replace("  - id: cli", f"  - id: {value}"))
    assert len(messages) == 1
    assert messages[0].startswith("27:9 id is ")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("weft: 1", "weft: 2", "1:7 weft is 2 (a number); it must be 1"),
        ("goal:", "gaol:", "3:1 unknown key 'gaol' in the plan; did you mean 'goal'?"),
        (
            "base: main",
            "base: --exec",
            "4:7 base is '--exec'; it must be the name of a branch, without spaces and without a leading -",
        ),
        (
            "failure_mode: continue_on_error",
            "failure_mode: fail_fas",
            "6:15 failure_mode is 'fail_fas'; it must be fail_fast | continue_on_error; did you mean 'fail_fast'?",
        ),
        ("title: Note store", "pipeline: tdd", "21:5 a subplan cannot have both 'subplans' and 'pipeline'"),
        (
            "action: verify,",
            "action: verify, prompt: x,",
            "18:19 'action' cannot stand beside 'prompt'; one of them says what is done",
        ),
        (
            "files: [src/store/**]",
            "files: [/etc/**]",
            "22:13 files: the pattern '/etc/**' is absolute; it must be relative to the top of the repository",
        ),
    ],
)
def test_a_slip_is_reported_with_what_is_allowed(old, new, message):
    assert problems(PLAN, EXAMPLE.replace(old, new)) == [message]


@given(plans())
def test_plans_read_from_blocks_of_yaml_are_right(plan):
    assert problems(PLAN, to_yaml(plan)) == []


@given(st.sampled_from(sorted(KEYS)), st.data())
def test_a_wrong_value_anywhere_is_reported(name, draw):
    record, key = KEYS[name]
    data = draw.draw(records(record)) | {key.name: draw.draw(bad(key.kind))}
    assert problems(record, to_yaml(data)) != []
