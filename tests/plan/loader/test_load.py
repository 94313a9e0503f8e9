"""Loading as a whole: a plan that makes sense, or all that is wrong with it."""

import json
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plan.language_strategies import JUNK, plans
from plan.problem_texts import AGENT, HEAD, problems, with_subplans
from weft.plan.language.kinds_of_many import Json
from weft.plan.language.reader import Reader
from weft.plan.loader.load import load_plan, read_config
from weft.plan.model import AgentWork, Estimate, Nested, OnFail, Plan, RunCommand, Verify
from weft.plan.text.document import DocumentLimits, read_document
from weft.plan.text.emit import to_yaml
from weft.plan.text.problems import MOST_PROBLEMS, PlanError, Severity

EXAMPLE = """\
weft: 1                         # version of the format, required
plan: notes                     # id
goal: A small notes tool.       # given to every agent as context
base: main                      # where work starts   (default: the branch checked out)
target: main                    # where it lands      (default: base)

max_parallel: 4                 # settings: see the table below
failure_mode: continue_on_error
budget: 20.00

agents:
  coder:  {use: claude, model: sonnet, pool: 3}   # at most 3 at once; without `pool` only max_parallel limits it
  tester: {use: claude, model: haiku,  pool: 2}
pools:
  staging-db: 1                 # any other thing that steps must share
  port: {values: [8001, 8002]}  # a pool of things: the one leased is in the step's environment as WEFT_POOL_PORT

pipelines:
  tdd:                          # how a slice is done; `tdd` and `direct` are built in
    - {id: tests, agent: tester, prompt: "Write failing tests for: {{ slice.prompt }}"}
    - {id: code,  agent: coder,  prompt: "Make the tests pass.\\n{{ feedback }}"}
    - {id: check, action: verify, on_fail: {retry_from: code, max: 3}}

subplans:
  - id: store
    title: Note store
    files: [src/store/**]       # what it expects to touch: overlap warnings, ownership if strict
    verify: pytest -q tests/store      # run on the merged result of its children, before it counts as done
    subplans:
      - {id: model, prompt: Note type with title and body, verify: pytest -q tests/store/test_model.py, pipeline: tdd}
      - {id: disk,  prompt: Save and load notes as JSON, depends_on: [model], verify: pytest -q tests/store/test_disk.py}
  - id: cli
    depends_on: [store]
    prompt: Command line on top of the store
    verify: pytest -q tests/cli
"""  # noqa: E501 - as it stands in the documentation


# A plan.


def test_the_example_of_the_language_loads() -> None:
    plan = load_plan(EXAMPLE, "notes.yaml")
    assert (plan.id, plan.goal, plan.base, plan.target) == ("notes", "A small notes tool.", "main", "main")
    assert plan.outline.paths == ["", "store", "store/model", "store/disk", "cli"]
    assert plan.outline.depends_on == [(), (), (), (2,), (1,)]
    assert (plan.scopes[0].settings.failure_mode, plan.scopes[0].settings.budget) == (
        "continue_on_error",
        20_000_000,
    )
    assert {name: (pool.size, pool.values) for name, pool in plan.pools.items()} == {
        "staging-db": (1, None),
        "port": (2, ("8001", "8002")),
    }
    assert [step.body for step in plan.pipeline_of(2).steps] == [
        AgentWork(prompt="Write failing tests for: {{ slice.prompt }}", agent="tester"),
        AgentWork(prompt="Make the tests pass.\n{{ feedback }}", agent="coder"),
        Verify(),
    ]
    assert plan.pipeline_of(2).steps[2].on_fail == OnFail("code", 3)
    assert plan.pipeline_of(3).name == "direct"


def test_the_example_is_reported_which_agent_is_taken() -> None:
    message = (
        "no agent is named for the steps of this slice; Weft uses 'coder', the first of the plan's agents"
    )
    assert problems(EXAMPLE) == [f"31:9 {message}; set agent: to choose"]


EVERYTHING = """\
weft: 1
plan: all
verify: [make, [sh, -c, x]]
env_allow: [HOME]
agents: {coder: {use: codex, args: [-v], env: {A: 1}, max_cost: 0.5}, mine: {use: command, command: [run, it]}}
pools: {db: 2, port: {values: [1, b]}}
pipelines:
  inner: [{id: x, run: [echo, "{{ env.HOME }}"], output_schema: {type: object}}]
subplans:
  - id: a
    files: [src/**]
    verify: v
    prompt: x
    estimate: {minutes: 5..20, cost: 0.25, fail: 0.5}
    agent: mine
    steps:
      - {id: w, prompt: p, model: m, max_cost: 1, read_only: true, estimate: {minutes: 3}}
      - {id: r, run: x, async: true, pools: [db, port, db], env: {B: 2}, timeout: 5s, grace: 1s}
      - {id: n, pipeline: inner, depends_on: [r], on_error: continue}
      - {id: q, action: ask, question: why}
      - {id: t, run: y, on_error: retry, max_retries: 3, pool: db, condition: attempt > 1}
      - {id: v, action: verify, on_result: [{when: "'x' in step.v.stdout", action: abort}], pools: {db: 2}}
  - {id: b, depends_on: [a], prompt: y, verify: [a, b], pipeline: tdd, agent: coder, merge: {take_branch: [a.l]}}
"""


def test_what_is_written_is_in_the_plan() -> None:
    plan = load_plan(EVERYTHING)
    assert plan.warnings == ()
    assert plan.subplans[0].verify == ("make", ("sh", "-c", "x"))
    coder, mine = plan.agents["coder"], plan.agents["mine"]
    assert (coder.use, coder.args, coder.env, coder.max_cost) == ("codex", ("-v",), {"A": "1"}, 500_000)
    assert (mine.command, mine.pool, mine.source is not None) == (("run", "it"), None, True)
    a, b = plan.subplans[1:]
    assert (a.files, a.verify, a.prompt, a.settings) == (("src/**",), ("v",), "x", {"agent": "mine"})
    assert a.estimate == Estimate(minutes=(5.0, 20.0), cost=250_000, fail=0.5)
    assert (b.pipeline, b.steps, b.settings["merge.take_branch"]) == ("tdd", None, ("a.l",))


def test_what_is_written_is_in_the_steps() -> None:
    w, r, n, q, t, v = load_plan(EVERYTHING).pipeline_of(1).steps
    assert w.body == AgentWork(prompt="p", model="m", max_cost=1_000_000, read_only=True)
    assert w.estimate == Estimate(minutes=(3.0, 3.0))
    assert (r.is_async, r.pools, r.env, r.timeout, r.grace) == (
        True,
        (("db", 2), ("port", 1)),
        {"B": "2"},
        5.0,
        1.0,
    )
    assert (n.body, n.depends_on, n.on_error, n.max_retries) == (Nested("inner"), ("r",), "continue", 0)
    assert (q.body.__class__.__name__, q.source.line) == ("Ask", 20)
    assert (t.body, t.on_error, t.max_retries, t.pools) == (RunCommand("y"), "retry", 3, (("db", 1),))
    assert (t.condition, v.pools, v.on_result[0].action) == ("attempt > 1", (("db", 2),), "abort")


# All that is wrong, at once.

FAULTS = """\
weft: 2
plan: P
max_paralel: 3
retries: 11
agent: nobody
worktrees: "{{ slice.pth }}"
agents: {coder: {use: cluade}}
pools: {db: 0, port: 1}
pipelines:
  q: [{id: a, pipeline: r}]
  r: [{id: a, pipeline: q}]
subplans:
  - {id: A, prompt: x, verify: v}
  - {id: b, prompt: x, verify: v, depends_on: [b]}
  - {id: c, prompt: x, verify: v, depends_on: [zzz]}
  - {id: d, prompt: x, verify: v, depends_on: [e]}
  - {id: e, prompt: x, verify: v, depends_on: [d]}
  - {id: e, prompt: x, verify: v}
  - {id: f, prompt: x, verify: v, pipeline: nope}
  - {id: g, subplans: []}
  - {id: h, verify: v}
  - id: i
    steps:
      - {id: s2, action: join}
      - {id: s3, run: x, depends_on: [s4]}
      - {id: s4, run: x, on_fail: {retry_from: s4}}
      - {id: s5, run: x, pools: {port: 2, prt: 1}}
      - {id: s6, prompt: x, agent: clade}
      - {id: s7, run: "{{ step.s9.result }}"}
      - {id: s8, run: x, output_schema: {type: objekt}}
      - {id: s8, run: x, run: y}
      - {id: s0, run: x, async: true}
"""


def test_all_errors_of_a_file_are_reported_at_once_each_with_its_place() -> None:
    messages = problems(FAULTS)
    assert [message.partition(" ")[0] for message in messages] == [
        "1:7", "2:7", "3:1", "4:10", "5:8", "6:16", "7:23", "8:13", "11:25", "13:10", "14:48", "15:48", "16:47",
        "18:10", "19:45", "20:23", "21:5", "24:9", "25:39", "26:48", "27:34", "27:43", "28:36", "29:27", "30:41",
        "31:14", "31:26", "32:33",
    ]  # fmt: skip


def test_an_error_does_not_keep_the_warnings_from_being_told() -> None:
    with pytest.raises(PlanError) as raised:
        load_plan(with_subplans("{id: a, prompt: x}", "{id: b, prompt: x, verify: v, depends_on: [c]}"))
    assert [problem.severity for problem in raised.value.problems] == [Severity.WARNING, Severity.ERROR]
    assert "1 error" in str(raised.value)


def test_warnings_come_in_the_order_of_lines() -> None:
    group = (
        "{id: g, max_parallel: 9, subplans: [{id: a, prompt: x, verify: v}, {id: b, prompt: x, verify: v}]}"
    )
    lines = [
        message.partition(":")[0]
        for message in problems(with_subplans("{id: s, prompt: x}", group, group.replace("g,", "h,")))
    ]
    assert lines == ["5", "6", "6", "7"]


@pytest.mark.parametrize("text", ["5", "[]", "a", "null"])
def test_what_is_no_mapping_is_no_plan(text: str) -> None:
    (message,) = problems(text)
    assert message.startswith("1:1 the plan is ")


def test_text_that_is_no_yaml_is_reported_at_the_first_error() -> None:
    (message,) = problems("weft: 1\nplan: [\n")
    assert "this is not YAML" in message


def test_the_limits_of_a_document_can_be_set() -> None:
    (message,) = problems(with_subplans("{id: a, prompt: x, verify: v}"), limits=DocumentLimits(size=10))
    assert message.endswith("the limit is 10")


def test_a_key_that_stands_twice_is_reported() -> None:
    (message,) = problems(with_subplans("{id: a, prompt: x, verify: v, verify: w}"))
    assert message == "5:35 duplicate key 'verify'; the first is in line 5"


# Many.


def test_of_many_errors_a_hundred_are_reported_and_the_others_counted() -> None:
    lines = [
        f"{{id: s{n}, prompt: x, verify: v, depends_on: [t{n}], retires: 3, retries: 99}}"
        for n in range(2_000)
    ]
    with pytest.raises(PlanError) as raised:
        load_plan(with_subplans(*lines))
    assert len(raised.value.problems) == MOST_PROBLEMS
    assert raised.value.unsaid == 3 * 2_000 - MOST_PROBLEMS
    assert str(raised.value).endswith("100 errors, and 5,900 more that are not shown")


def test_warnings_never_take_the_place_of_errors() -> None:
    group = "subplans: [{id: a, prompt: x, verify: v}]"
    warned = [f"{{id: g{n}, prompt: x, {group}}}" for n in range(150)]
    wrong = [f"{{id: s{n}, prompt: x, verify: v, pipeline: none}}" for n in range(60)]
    with pytest.raises(PlanError) as raised:
        load_plan(with_subplans(*warned, *wrong))
    plan = raised.value.problems
    assert sum(problem.severity is Severity.ERROR for problem in plan) == 60
    assert len(plan) == MOST_PROBLEMS
    assert raised.value.unsaid == 110
    assert [problem.at.line for problem in plan] == sorted(problem.at.line for problem in plan)


def test_two_thousand_slices_without_an_agent_are_one_error() -> None:
    lines = [f"{{id: s{n}, prompt: x, verify: v, retries: {n % 9}}}" for n in range(2_000)]
    assert len(problems(with_subplans(*lines, top=""))) == 1


def test_ten_thousand_slices_share_their_scope() -> None:
    plan = load_plan(with_subplans(*(f"{{id: s{n}, prompt: x, verify: v}}" for n in range(10_000))))
    assert {id(scope) for scope in plan.scopes} == {id(plan.scopes[0])}


# Configurations.


@pytest.mark.parametrize("text", ["", "\n  \n", "# nothing\n", "---\n# nothing\n\n", "\ufeff# nothing"])
def test_a_configuration_that_says_nothing_sets_nothing(text: str) -> None:
    config = read_config(text, "c.yaml", "user")
    assert (config.layer.where, dict(config.layer.values), config.agents) == ("user", {}, {})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("retires: 3", "1:1 unknown key 'retires' in the configuration; did you mean 'retries'?"),
        ("retries: many", "1:10 retries is 'many'; it must be a whole number from 0 to 10"),
        ("subplans: []", "1:1 unknown key 'subplans' in the configuration; known: agents, max_parallel, "),
        ("merge: {mod: auto}", "1:9 unknown key 'mod' in merge; did you mean 'mode'?"),
        ("agents: {a: {use: cluade}}", "1:19 use is 'cluade'; it must be claude | codex | "),
        ("a: [", "1:5 this is not YAML"),
        ("[]", "1:1 the configuration is a list; it must be a mapping with the keys agents, max_parallel, "),
    ],
)
def test_what_is_wrong_in_a_configuration_is_reported_with_its_file(text: str, message: str) -> None:
    with pytest.raises(PlanError) as raised:
        read_config(text, "config.yaml", "user")
    (problem,) = raised.value.problems
    assert problem.at.file == "config.yaml"
    assert f"{problem.at.line}:{problem.at.column} {problem.message}".startswith(message)


def test_all_that_is_wrong_in_a_configuration_is_reported_in_order() -> None:
    with pytest.raises(PlanError) as raised:
        read_config("retries: 99\nworktrees: '{{ slice.pth }}'\npolicy: odd\n", "config.yaml", "user")
    assert [problem.at.line for problem in raised.value.problems] == [1, 2, 3]


def test_a_configuration_gives_agents_and_settings() -> None:
    config = read_config(
        "agents: {coder: {use: codex}}\nretries: 1\nmerge: {mode: auto}\n", "c.yaml", "project"
    )
    assert config.agents["coder"].use == "codex"
    assert dict(config.layer.values) == {"retries": 1, "merge.mode": "auto"}
    assert str(config.layer.origin("merge.mode")) == "c.yaml:3:15"


# Anything.


def data_of(text: str) -> Any:
    document = read_document(text, "f")
    return Json().read(document.root, Reader(document), "f")


def places(data: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    yield path
    inner = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in inner:
        yield from places(value, (*path, key))


def parent_of(data: Any, path: tuple[str | int, ...]) -> Any:
    for key in path[:-1]:
        data = data[key]
    return data


def change(draw: st.DrawFn, data: Any) -> None:
    """Something is dropped, repeated, renamed or replaced."""
    path = draw(st.sampled_from(list(places(data))[1:]))
    around, key = parent_of(data, path), path[-1]
    names = ["id", "depends_on", "a", "prompt", "async", "subplans", "steps", "on_fail", "PLAN", ""]
    match draw(st.sampled_from(["drop", "rename", "junk", "move", "word"])):
        case "drop":
            del around[key]
        case "rename" if isinstance(key, str):
            around[draw(st.sampled_from(names))] = around.pop(key)
        case "junk":
            around[key] = deepcopy(draw(st.sampled_from(JUNK)))
        case "word":
            around[key] = draw(
                st.sampled_from(["a", "r", "{{ step.r.result }}", "claude", "inner", "never", "x"])
            )
        case _:
            second = draw(st.sampled_from(list(places(data))))
            value = json.loads(json.dumps(parent_of(data, second)))
            around[key] = value if len(json.dumps(value)) < 10_000 else 0


@st.composite
def changed_plans(draw: st.DrawFn) -> str:
    data = draw(st.sampled_from([EXAMPLE, EVERYTHING]).map(data_of) | plans())
    for _ in range(draw(st.integers(0, 4))):
        if data:
            change(draw, data)
    as_text = {"block": to_yaml(data), "line": json.dumps(data), "lines": json.dumps(data, indent=1)}
    return as_text[draw(st.sampled_from(sorted(as_text)))]


def check_outcome(text: str) -> None:
    """It is a plan, or everything that is wrong is somewhere in the file."""
    try:
        plan = load_plan(text)
        assert isinstance(plan, Plan)
        reported = plan.warnings
        assert all(problem.severity is Severity.WARNING for problem in reported)
    except PlanError as error:
        reported = error.problems
        assert any(problem.severity is Severity.ERROR for problem in reported)
    lines = text.splitlines() or [""]
    for problem in reported:
        assert 1 <= problem.at.line <= len(lines)
        assert 1 <= problem.at.column <= len(lines[problem.at.line - 1]) + 1
        assert problem.message
    assert [(problem.at.line, problem.at.column) for problem in reported] == sorted(
        (problem.at.line, problem.at.column) for problem in reported
    )


@given(changed_plans())
def test_whatever_is_done_to_a_plan_it_loads_or_is_reported_what_is_wrong(text: str) -> None:
    check_outcome(text)


@given(st.data())
def test_whatever_is_done_to_the_lines_of_a_plan_it_loads_or_is_reported_what_is_wrong(
    data: st.DataObject,
) -> None:
    lines = data.draw(st.sampled_from([EXAMPLE, EVERYTHING, FAULTS])).splitlines()
    for _ in range(data.draw(st.integers(1, 4))):
        at, second = (data.draw(st.integers(0, len(lines) - 1)) for _ in range(2))
        lines[at : at + data.draw(st.integers(0, 1))] = data.draw(
            st.sampled_from([[], [lines[second]], [lines[at].replace(":", "", 1)], [" " + lines[at]]])
        )
    check_outcome("\n".join(lines))


def test_a_plan_of_a_head_alone_is_reported_what_it_needs() -> None:
    check_outcome(HEAD + AGENT)


def test_two_pools_of_things_cannot_share_an_environment_variable() -> None:
    pools = "pools: {a-b: {values: [1]}, a_b: {values: [2]}, c-d: 1, c_d: 1}\n"
    (message,) = problems(with_subplans("{id: a, prompt: x, verify: v}", top=AGENT + pools))
    assert message.endswith("the pools 'a-b' and 'a_b' would share the variable WEFT_POOL_A_B")


FIRST = "no step comes before this one"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("subplans:\n  a: {prompt: x}\n", "as in - id: a"),
        (
            "pipelines: {p: {steps: [{id: s, run: x}]}}\nsubplans: []",
            "leave out the key 'steps', and write the list in its place",
        ),
        ("subplans:\n  id: a\n  prompt: x\n", "begin each entry with a dash, as in - id: …"),
        ("subplans: [{id: a, steps: {id: s, run: x}}]", "begin each entry with a dash, as in - id: …"),
        ("agents: [{use: claude}]\nsubplans: []", "write NAME: before each entry, in place of its dash"),
        ("agents: {x: claude}\nsubplans: []", "write {use: claude}"),
        ("merge: auto\nsubplans: []", "write {mode: auto}"),
        ("merge: often\nsubplans: []", "it must be a mapping with the keys when, mode, order, take_branch, …"),
        ("subplans: [{id: a, steps: [{id: s, run: x}, {id: t, run: x, on_fail: s}]}]", "write {retry_from: s}"),
        (
            "subplans: [{id: a, steps: [{id: s, run: x, on_fail: {retry_from: a}}]}]",
            f"{FIRST} to go back to; to try one step again write on_error: retry",
        ),
        (
            "subplans: [{id: a, steps: [{id: s, run: x, on_fail: {retry_from: s}}]}]",
            "which is this step itself; to try one step again write on_error: retry",
        ),
        (
            "subplans: [{id: a, steps: [{id: s, run: x, depends_on: [b]}]}]",
            f"{FIRST}; a subplan waits for another by its own depends_on",
        ),
        ("subplans: [{id: a, steps: [{id: s, run: x, pools: [db]}]}]", "define it, as in pools: {db: 1}"),
        ("budget: 5usd\nsubplans: []", "did you mean 5?"),
    ],
)  # fmt: skip
def test_a_message_says_what_to_write(text: str, message: str) -> None:
    assert problems(f"weft: 1\nplan: p\n{text}\n")[0].endswith(message)
