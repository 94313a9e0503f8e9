"""A plan written out with everything resolved is the same plan, wherever it is loaded."""

from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from inline_snapshot import snapshot
from msgspec import Struct
from msgspec.structs import fields

from plan.language_strategies import good, records
from plan.plan_strategies import plan_texts
from weft.plan.compile.compile import compile_plan
from weft.plan.display import notation
from weft.plan.display.show import record_plan, show_plan
from weft.plan.language import tables as language
from weft.plan.language.kinds import Duration, Money
from weft.plan.language.reader import Reader
from weft.plan.loader.load import Config, Surroundings, load_plan, read_config
from weft.plan.model import Plan, Subplan
from weft.plan.prices import Price
from weft.plan.settings import SETTING_NAMES, Layer
from weft.plan.text.document import read_document
from weft.plan.text.emit import to_yaml
from weft.plan.text.problems import PlanError

NOTES = """\
weft: 1
plan: notes
max_parallel: 8
agents:
  coder: {use: claude, pool: 3}
pipelines:
  spare:
    - {id: only, run: make}
subplans:
  - id: store
    title: Note store
    budget: 2.50
    merge: {when: slice}
    subplans:
      - {id: model, prompt: Note type, verify: make test, retries: 1, timeout: 90m}
      - {id: disk, prompt: Save notes, verify: [make test, [ls, "a b"]], depends_on: [model]}
"""
STEPS = """\
weft: 1
plan: steps
env_allow: [HOME]
agents: {coder: {use: claude}}
pools: {db: 1, port: {values: [8001, x]}}
subplans:
  - id: a
    prompt: "{{ x }}"
    verify: [[make, test]]
    setup: [[make, "a b"]]
    steps:
      - {id: one, run: [ls, ""], pool: db, async: true, env: {A: 1.10, B: yes}, estimate: {minutes: 1..2.5}}
      - {id: two, prompt: "do {{ slice.prompt }}", agent: coder, model: m, resume: true, max_cost: 0.25,
         max_tokens: 50k, read_only: true, timeout: 1h, idle_timeout: 5m, grace: 2s, pools: {port: 2}, async: true,
         condition: attempt == 1,
         output_schema: {type: object, properties: {n: {minimum: 0.5, enum: [null, "1", 1]}}}}
      - {id: both, action: join, depends_on: [two, one], on_error: wait_for_all}
      - {id: asked, action: ask, question: Well?, on_result: [{when: attempt == 1, action: continue}]}
      - {id: inner, pipeline: direct}
      - {id: tried, run: make, on_error: retry, max_retries: 2, host: local,
         sandbox: {network: false, read: [tests]}}
      - {id: last, action: verify, on_error: continue, on_fail: {retry_from: asked, max: 0}, pools: [db]}
"""
FLAGS = {
    "max_parallel": 3,
    "policy": "serial",
    "retries": 1,
    "budget": 7_000_001,
    "failure_mode": "fail_fast",
}
ELSEWHERE: dict[type, set[str]] = {Subplan: {"source", "settings", "depends_on"}}
"""What a part knows of where it was written; of a subplan also what is compared as it is resolved."""


def configs(*texts: str) -> list[Config]:
    return [read_config(text, "config.yaml", "project") for text in texts]


def flags(*names: str) -> Layer | None:
    return Layer("flags", {name: FLAGS[name] for name in names}) if names else None


def loaded(text: str, **options: Any) -> Plan:
    """The plan; one that other settings have made invalid is not what is asked for."""
    try:
        return load_plan(text, **options)
    except PlanError:
        assume(condition=False)
        raise


def said(value: Any) -> Any:
    """A model as plain data, without the places it comes from."""
    if isinstance(value, Struct):
        left_out = ELSEWHERE.get(type(value), {"source", "document", "built_in"})
        return [said(getattr(value, field.name)) for field in fields(value) if field.name not in left_out]
    if isinstance(value, dict):
        return {key: said(item) for key, item in value.items()}
    return [said(item) for item in value] if isinstance(value, tuple | list) else value


def same(first: Plan, second: Plan) -> None:
    assert compile_plan(first).net == compile_plan(second).net
    assert [scope.settings for scope in first.scopes] == [scope.settings for scope in second.scopes]
    assert said(first.subplans) == said(second.subplans)
    assert said(first.agents) == said(second.agents)
    assert first.outline == second.outline
    assert (first.goal, first.base, first.target, first.pools) == (
        second.goal,
        second.base,
        second.target,
        second.pools,
    )
    assert (first.env_allow, first.notify) == (second.env_allow, second.notify)
    assert list(first.prices.items()) == list(second.prices.items())
    for row in range(len(first.subplans)):
        if first.outline.is_leaf(row):
            assert said(first.pipeline_of(row).steps) == said(second.pipeline_of(row).steps)


def comes_back(plan: Plan) -> None:
    """From what people are shown, and from what is kept with a run."""
    same(plan, load_plan(show_plan(plan)))
    same(plan, load_plan(record_plan(plan)))


SETTINGS: st.SearchStrategy[Any] = st.fixed_dictionaries(
    {},
    optional={
        "max_parallel": st.integers(1, 32),
        "max_concurrency": st.integers(1, 3),
        "policy": st.sampled_from(["serial", "parallel"]),
        "isolation": st.sampled_from(["worktree", "dir"]),
        "merge": st.sampled_from(
            [{"when": "slice"}, {"order": "completion", "take_branch": ["*.lock"]}, {"resolve": "hold"}]
        ),
        "overlap": st.sampled_from(["warn", "serialize"]),
        "budget": st.sampled_from(
            [1, 0.5, 0.000001, 999999999.999999, {"tokens": "5M"}, {"usd": 3, "tokens": 7}]
        ),
        "reserve": st.sampled_from([0.5, {"tokens": "1.5M"}]),
        "prices": st.sampled_from([{"a*": {"input": 3, "output": 15}, "*": {"input": 0, "output": 0.5}}]),
        "setup": st.sampled_from(["make", ["make", ["ls", "-l"]]]),
        "isolated_home": st.booleans(),
        "sandbox": st.sampled_from(["bwrap", "none", {"network": False}, {"use": "none", "hide": [".env"]}]),
        "agents": st.just({"coder": {"use": "codex"}, "other": {"use": "pi", "pool": 1}}),
        "agent": st.sampled_from(["coder", "claude"]),
        "notify": st.sampled_from([{"webhook": "http://a/b"}, [], [{"on": ["gate"], "run": ["say", "a b"]}]]),
    },
)


@given(
    plan_texts(),
    st.lists(SETTINGS.map(to_yaml), max_size=2),
    st.sets(st.sampled_from(sorted(FLAGS))),
    st.booleans(),
)
def test_the_text_alone_gives_the_same_plan_whatever_configuration_and_flags_it_came_from(
    text: str, config_texts: list[str], names: set[str], git: bool
) -> None:
    surroundings = Surroundings(git=git)
    plan = loaded(text, configs=configs(*config_texts), flags=flags(*names), surroundings=surroundings)
    comes_back(plan)


ANY_SETTINGS: st.SearchStrategy[Any] = st.fixed_dictionaries(
    {},
    optional={
        key.name: good(key.kind)
        for key in language.SETTINGS
        if key.name not in {"agent", "isolation", "host"}
    },
)
AGENTS = st.dictionaries(st.sampled_from(["coder", "tester", "0"]), records(language.AGENT), min_size=1)


@given(AGENTS, ANY_SETTINGS, ANY_SETTINGS, records(language.ESTIMATE))
def test_every_setting_and_agent_comes_back(
    agents: dict[str, Any], of_plan: dict[str, Any], of_slice: dict[str, Any], estimate: dict[str, Any]
) -> None:
    slice_ = {"id": "a", "prompt": "x", "estimate": estimate, **of_slice}
    whole = {"weft": 1, "plan": "p", "agents": agents, "model": "m", **of_plan, "subplans": [slice_]}
    plan = load_plan(to_yaml(whole))
    comes_back(plan)


def test_every_key_of_a_step_comes_back() -> None:
    plan = load_plan(STEPS)
    steps = next(subplan.steps for subplan in plan.subplans if subplan.steps is not None)
    assert {key for step in steps.steps for key in step.source.entries} == {
        key.name for key in language.STEP.keys
    }
    comes_back(plan)


@given(plan_texts())
def test_what_is_shown_of_what_is_shown_is_the_same_but_for_the_comments(text: str) -> None:
    once = show_plan(loaded(text))
    again = show_plan(load_plan(once))
    assert without_comments(again) == without_comments(once)


def without_comments(text: str) -> list[str]:
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("# ")]
    return [line.partition("  # ")[0] for line in lines]


def test_a_plan_is_shown_with_the_place_that_each_setting_comes_from() -> None:
    config = configs("grace: 1500ms\nagents: {tester: {use: codex, args: ['-x']}}")
    plan = load_plan(NOTES, configs=config, flags=flags("retries"), surroundings=Surroundings(git=False))
    assert show_plan(plan) == snapshot("""\
# weft.yaml with everything resolved.
# Not set: max_concurrency, model, idle_timeout, budget, reserve, setup.
weft: 1
plan: notes
max_parallel: 8  # weft.yaml:3
failure_mode: fail_fast  # default
policy: parallel  # default
agent: coder  # weft.yaml:5, the first of the plan's agents
retries: 1  # --retries
infra_retries: 2  # default
timeout: 30m  # default
grace: 1500ms  # config.yaml:1
on_budget: stop  # default
merge:
  when: milestone  # default
  mode: confirm  # default
  order: sequential  # default
  take_branch: []  # default
  resolve: hold  # default
  sign: auto  # default
  batch: 32  # default
  push: false  # default
  allow_red_base: false  # default
strict_files: false  # default
overlap: warn  # default
isolation: dir  # default
worktrees: ".weft/worktrees/{{ plan.id }}/{{ slice.path }}"  # default
keep_worktrees: failed  # default
branch_prefix: weft/  # default
copy: []  # default
link: []  # default
sparse: []  # default
host: local  # default
isolated_home: false  # default
sandbox:
  use: none  # default
  network: true  # default
  hide: []  # default
  read: []  # default
  write: []  # default
agents:
  # config.yaml:2
  tester:
    use: codex
    args: ["-x"]
  # weft.yaml:5
  coder:
    use: claude
    pool: 3
pipelines:
  # built in
  direct:
    - id: work
      prompt: |
        {{ slice.prompt }}
        {{ feedback }}
    - id: check
      action: verify
      on_fail:
        retry_from: work
  spare:
    - id: only
      run: make
subplans:
  - id: store
    title: Note store
    budget: 2.5  # weft.yaml:12
    merge:
      when: slice  # weft.yaml:13
    subplans:
      - id: model
        prompt: Note type
        verify: make test
        retries: 1  # --retries
        timeout: 90m  # weft.yaml:15
        pipeline: direct
      - id: disk
        prompt: Save notes
        depends_on: [/store/model]
        verify:
          - make test
          - [ls, a b]
        pipeline: direct
""")


@pytest.mark.parametrize("name", [name for name in SETTING_NAMES if not name.endswith(".tokens")])
def test_each_setting_at_the_root_has_an_origin_or_is_said_not_to_be_set(name: str) -> None:
    lines = show_plan(load_plan(NOTES)).partition("agents:\n")[0].splitlines()
    unset = lines[1].removeprefix("# Not set: ").removesuffix(".").split(", ")
    written_down = [line for line in lines if line.lstrip().startswith(f"{name.rpartition('.')[2]}: ")]
    assert (name in unset) != any("  # " in line for line in written_down)


def test_dollars_stand_alone_until_there_are_tokens_and_each_has_its_origin() -> None:
    plan = load_plan(
        "weft: 1\nplan: p\nagent: claude\nbudget: $3\nsubplans:\n  - {id: a, prompt: x, budget: {tokens: 1500k}}",
        configs=configs("budget:\n  usd: 9\n  tokens: 5M\nreserve: 0.5"),
    )
    shown = show_plan(plan)
    budget = 'budget:\n  usd: 3  # weft.yaml:4\n  tokens: "5M"  # config.yaml:3\n'
    assert budget in shown
    assert "reserve: 0.5  # config.yaml:4\n" in shown
    assert '    budget:\n      tokens: "1500k"  # weft.yaml:6\n' in shown
    comes_back(plan)


def test_prices_come_back_the_nearest_first() -> None:
    text = "prices: {sonnet: {input: 3, output: 15, cached_input: 0.3}}"
    plan = load_plan(
        f"weft: 1\nplan: p\nagent: claude\n{text}\nsubplans: [{{id: a, prompt: x}}]",
        configs=configs(
            "prices: {sonnet: {input: 1, output: 1}, '*': {input: 0, output: 0}}",
            "prices: {'*': {input: 9, output: 9}, opus: {input: 15, output: 75}}",
        ),
    )
    assert list(plan.prices.items()) == [
        ("sonnet", Price(input=3_000_000, output=15_000_000, cached_input=300_000)),
        ("*", Price(input=0, output=0)),
        ("opus", Price(input=15_000_000, output=75_000_000)),
    ]
    comes_back(plan)


def test_a_prompt_may_hold_any_sign() -> None:
    prompt = "tab\t, 'quotes\" \\ # no comment\n  indented: {{ x }}\u2028é\n\n"
    data: dict[str, Any] = {"id": "a", "prompt": prompt, "verify": prompt, "files": ["a b/**"]}
    plan = load_plan(to_yaml({"weft": 1, "plan": "p", "agent": "claude", "subplans": [data]}))
    assert load_plan(show_plan(plan)).subplans[1].prompt == prompt
    assert load_plan(record_plan(plan)).subplans[1].prompt == prompt


def test_a_built_in_pipeline_is_shown_where_another_one_uses_it() -> None:
    steps: dict[str, Any] = {"id": "a", "prompt": "x", "steps": [{"id": "inner", "pipeline": "tdd"}]}
    text = to_yaml({"weft": 1, "plan": "p", "agent": "claude", "subplans": [steps]})
    shown = show_plan(load_plan(text))
    assert "  # built in\n  tdd:\n" in shown
    assert "direct:" not in shown


@given(st.integers(1, 10**15))
def test_an_amount_comes_back_exactly(micros: int) -> None:
    document = read_document(to_yaml(notation.dollars(micros)), "x")
    assert Money().read(document.root, Reader(document), "budget") == micros


DECIMALS = st.from_regex(r"[0-9]{1,9}(\.[0-9]{1,9})?", fullmatch=True)


@given(st.builds("{}{}".format, DECIMALS, st.sampled_from(["ms", "s", "m", "h", "d"])))
def test_a_duration_comes_back_exactly(text: str) -> None:
    assume(any(digit in "123456789" for digit in text))
    seconds = duration(text)
    assert duration(notation.duration(seconds)) == seconds


def duration(text: str) -> float:
    document = read_document(f"'{text}'", "x")
    seconds = Duration().read(document.root, Reader(document), "timeout")
    assert isinstance(seconds, float)
    return seconds


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("1800s", "30m"),
        ("90s", "90s"),
        ("5400s", "90m"),
        ("48h", "2d"),
        ("0.09s", "90ms"),
        ("1.5ms", "1.5ms"),
    ],
)
def test_a_duration_is_shown_in_the_largest_unit_that_makes_it_whole(text: str, shown: str) -> None:
    assert notation.duration(duration(text)) == shown


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "minutes": st.builds("{}..{}".format, DECIMALS, st.just(999_999_999)) | st.floats(0, 1e15),
            "cost": st.integers(1, 10**9).map(lambda micros: micros / 1_000_000),
            "fail": st.floats(0, 1).filter(lambda share: not 0 < share < 1e-90),
        },
    )
)
def test_an_estimate_comes_back_exactly(estimate: dict[str, Any]) -> None:
    assume("minutes" not in estimate or not 0 < float(str(estimate["minutes"]).partition("..")[0]) < 1e-90)
    slice_: dict[str, Any] = {"id": "a", "prompt": "x", "estimate": estimate}
    plan = load_plan(to_yaml({"weft": 1, "plan": "p", "agent": "claude", "subplans": [slice_]}))
    assert load_plan(show_plan(plan)).subplans[1].estimate == plan.subplans[1].estimate
    assert load_plan(record_plan(plan)).subplans[1].estimate == plan.subplans[1].estimate
