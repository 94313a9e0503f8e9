"""What is told about the steps of a pipeline."""

import pytest

from plan.problem_texts import HEAD, problems, steps_of, with_steps
from weft.plan.loader.load import load_plan
from weft.plan.model import Join

A = "{id: a, run: x, async: true}"
B = "{id: b, run: y, async: true}"
OBJECT = "output_schema: {type: object}"


# What an acceptance list asks of loading a pipeline.


def test_two_async_steps_and_a_join_parse() -> None:
    a, b, join = steps_of(A, B, "{id: done, action: join, depends_on: [a, b]}")
    assert (a.is_async, b.is_async, join.is_async) == (True, True, False)
    assert (join.body, join.depends_on) == (Join(wait_for_all=False), ("a", "b"))


def test_a_join_can_wait_for_all() -> None:
    join = steps_of(A, "{id: done, action: join, depends_on: [a], on_error: wait_for_all}")[1]
    assert join.body == Join(wait_for_all=True)


def test_max_concurrency_is_kept() -> None:
    text = f"{HEAD}max_concurrency: 4\nsubplans: [{{id: s, steps: [{{id: a, run: x}}]}}]"
    assert load_plan(text).scopes[1].settings.max_concurrency == 4


def test_an_async_step_that_nothing_waits_for_is_refused() -> None:
    message = "nothing waits for the async step 'a'; name it in depends_on of a later step, such as a join"
    assert problems(with_steps(A)) == [f"9:32 {message}"]


def test_a_join_without_depends_on_is_refused() -> None:
    assert problems(with_steps("{id: j, action: join}")) == [
        "9:9 a step with 'action: join' needs the key 'depends_on'"
    ]
    assert problems(with_steps("{id: j, action: join, depends_on: []}")) == [
        "9:43 a step with 'action: join' needs the key 'depends_on', and not an empty list"
    ]


def test_a_forward_reference_is_refused() -> None:
    assert problems(with_steps("{id: a, run: x, depends_on: [b]}", "{id: b, run: x}")) == [
        "9:38 depends_on names 'b', which comes later; a step can only wait for earlier steps"
    ]


def test_a_cycle_of_steps_is_refused() -> None:
    around = ("{id: a, run: x, depends_on: [b]}", "{id: b, run: x, depends_on: [a]}")
    assert problems(with_steps(*around)) == [
        "9:38 depends_on names 'b', which comes later; a step can only wait for earlier steps"
    ]


def test_a_step_that_depends_on_itself_is_refused() -> None:
    assert problems(with_steps("{id: a, run: x, depends_on: [a]}")) == ["9:38 step 'a' depends on itself"]


def test_a_structured_join_over_an_unstructured_step_is_refused() -> None:
    join = f"{{id: j, action: join, depends_on: [a, b], {OBJECT}}}"
    assert problems(with_steps(f"{{id: a, run: x, {OBJECT}}}", "{id: b, run: x}", join)) == [
        "11:47 the join 'j' has an output_schema, so each step it joins needs one; 'b' has none"
    ]


def test_an_unknown_key_is_refused_with_a_suggestion() -> None:
    assert problems(with_steps("{id: a, run: x, timout: 3s}")) == [
        "9:25 unknown key 'timout' in a step; did you mean 'timeout'?"
    ]


def test_a_dependency_whose_schema_contradicts_the_join_s_is_refused() -> None:
    join = "{id: j, action: join, depends_on: [a], output_schema: {properties: {a: {type: string}}}}"
    assert problems(with_steps(f"{{id: a, run: x, {OBJECT}}}", join)) == [
        (
            "10:63 the join's output_schema contradicts that of 'a': "
            "the dependency's schema allows object, the join's schema allows string"
        )
    ]


def test_a_nested_pipeline_may_be_async_inside_and_be_joined() -> None:
    inner = f"pipelines:\n  both: [{A}, {B}, {{id: j, action: join, depends_on: [a, b]}}]\n"
    steps = ("{id: n, pipeline: both}", "{id: r, run: 'echo {{ step.n.j.result }}'}")
    assert problems(with_steps(*steps, top=inner)) == []


def test_a_pipeline_that_contains_itself_is_refused() -> None:
    top = "pipelines:\n  q: [{id: a, pipeline: r}]\n  r: [{id: b, pipeline: q}]\n"
    assert problems(with_steps("{id: a, pipeline: q}", top=top)) == [
        "5:25 the pipeline contains itself: q → r → q"
    ]


# References.


def test_an_unknown_dependency_is_reported_with_the_nearest_earlier_step() -> None:
    steps = ("{id: build, run: x}", "{id: c, run: y, depends_on: [biuld]}", "{id: built, run: y}")
    assert problems(with_steps(*steps)) == [
        "10:38 depends_on names 'biuld', which is not a step of this pipeline; did you mean 'build'?"
    ]


def test_an_id_given_twice_is_reported_with_the_line_of_the_first() -> None:
    assert problems(with_steps("{id: a, run: x}", "{id: b, run: x}", "{id: a, run: y}")) == [
        "11:14 duplicate step id 'a'; the first is in line 9"
    ]


@pytest.mark.parametrize(
    ("step", "message"),
    [
        ("{id: a, pipeline: direkt}", "9:27 unknown pipeline 'direkt'; did you mean 'direct'?"),
        ("{id: a, prompt: x, agent: claud}", "9:35 unknown agent 'claud'; did you mean 'claude'?"),
        ("{id: a, run: x, pool: bd}", "9:31 unknown pool 'bd'; known: db"),
        ("{id: a, run: x, pools: [db, bd]}", "9:37 unknown pool 'bd'; known: db"),
        ("{id: a, run: x, pools: {db: 1, bd: 1}}", "9:40 unknown pool 'bd'; known: db"),
        (
            "{id: a, run: x, pools: {db: 3}}",
            "9:33 step 'a' takes 3 of the pool 'db', which has only 2",
        ),
        (
            "{id: a, run: x, pools: [db, db, db]}",
            "9:33 step 'a' takes 3 of the pool 'db', which has only 2",
        ),
    ],
)
def test_what_a_step_names_must_exist(step: str, message: str) -> None:
    assert problems(with_steps(step, top="pools: {db: 2}\n")) == [message]


def test_as_many_tokens_as_a_pool_has_may_be_taken() -> None:
    top = "pools: {db: 2, port: {values: [1, 2]}}\n"
    assert problems(with_steps("{id: a, run: x, pools: {db: 2, port: 2}}", top=top)) == []


def test_an_adapter_that_needs_a_command_is_no_agent_by_itself() -> None:
    assert problems(with_steps("{id: a, prompt: x, agent: scripted}"))[0].startswith(
        "9:35 unknown agent 'scripted'"
    )


# Ways back.


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("c", "comes later; to try one step again write on_error: retry"),
        ("b", "is this step itself; to try one step again write on_error: retry"),
        ("z", "is not a step of this pipeline; known: a"),
    ],
)
def test_a_way_back_must_lead_to_an_earlier_step(target: str, message: str) -> None:
    step = f"{{id: b, run: x, on_fail: {{retry_from: {target}}}}}"
    assert problems(with_steps("{id: a, run: x}", step, "{id: c, run: x}")) == [
        f"10:47 retry_from names '{target}', which {message}"
    ]


BACK = "on_fail: {retry_from: a}"


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        (
            ("{id: a, run: x}", B, f"{{id: c, run: y, {BACK}}}", "{id: j, action: join, depends_on: [b]}"),
            "11:47 going back to 'a' would cross the async branch 'b', for which 'j' waits",
        ),
        (
            (B, "{id: a, run: x}", f"{{id: c, run: y, depends_on: [b], {BACK}}}"),
            "11:64 going back to 'a' would cross the async branch 'b', for which 'c' waits",
        ),
        (
            (A, f"{{id: j, action: join, depends_on: [a], {BACK}}}"),
            "10:70 retry_from cannot start or end in the async step 'a'; there write on_error: retry",
        ),
        (
            (
                "{id: a, run: x}",
                f"{{id: b, run: x, async: true, {BACK}}}",
                "{id: j, action: join, depends_on: [b]}",
            ),
            "10:60 retry_from cannot start or end in the async step 'b'; there write on_error: retry",
        ),
    ],
)
def test_a_way_back_must_not_cross_an_async_branch(steps: tuple[str, ...], message: str) -> None:
    assert problems(with_steps(*steps)) == [message]


def test_a_way_back_may_go_around_a_whole_branch_and_past_one() -> None:
    join = "{id: j, action: join, depends_on: [b], on_fail: {retry_from: a}}"
    assert problems(with_steps("{id: a, run: x}", B, join)) == []
    last = "{id: e, action: join, depends_on: [b]}"
    assert problems(with_steps(B, "{id: a, run: x}", f"{{id: c, run: y, {BACK}}}", last)) == []


# Schemas.


def test_what_is_no_json_schema_is_reported_once_and_not_compared() -> None:
    join = "{id: j, action: join, depends_on: [a], output_schema: {properties: {a: {type: string}}}}"
    assert problems(with_steps("{id: a, run: x, output_schema: {type: objekt}}", join)) == [
        "9:40 output_schema is not a JSON Schema: at type: 'objekt' is not a type; did you mean 'object'?"
    ]


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ("{required: [b]}", "the join's schema requires 'b', which is not among its dependencies"),
        ("{type: array}", "the result of a join is an object, but its schema allows only array"),
    ],
)
def test_a_join_s_schema_that_nothing_can_meet_is_refused(schema: str, message: str) -> None:
    join = f"{{id: j, action: join, depends_on: [a], output_schema: {schema}}}"
    assert problems(with_steps(f"{{id: a, run: x, {OBJECT}}}", join)) == [f"10:63 {message}"]


def test_a_nested_pipeline_gives_what_its_last_step_gives() -> None:
    top = (
        f"pipelines:\n  json: [{{id: a, run: x}}, {{id: b, run: x, {OBJECT}}}]\n  text: [{{id: a, run: x}}]\n"
    )
    join = f"{{id: j, action: join, depends_on: [m, n], {OBJECT}}}"
    assert problems(with_steps("{id: m, pipeline: json}", "{id: n, pipeline: text}", join, top=top)) == [
        "13:47 the join 'j' has an output_schema, so each step it joins needs one; 'n' has none"
    ]


def test_a_join_of_json_is_json_itself() -> None:
    inner = "{id: i, action: join, depends_on: [a]}"
    outer = f"{{id: j, action: join, depends_on: [i], {OBJECT}}}"
    assert problems(with_steps(f"{{id: a, run: x, {OBJECT}}}", inner, outer)) == []
    assert problems(with_steps("{id: a, run: x}", inner, outer)) == [
        "11:44 the join 'j' has an output_schema, so each step it joins needs one; 'i' has none"
    ]


# One slip, one error.


NAMED = "; did you mean 'build'?"
BUILD = "{id: build, run: x, async: true}"
ONE_SLIP = {
    "a join that misspells what it waits for": (
        (BUILD, "{id: j, action: join, depends_on: [biuld]}", "{id: c, run: '{{ step.build.result }}'}"),
        ["10:44 depends_on names 'biuld', which is not a step of this pipeline; did you mean 'build'?"],
    ),
    "a join before what it waits for": (
        ("{id: j, action: join, depends_on: [build]}", BUILD),
        ["9:44 depends_on names 'build', which comes later; a step can only wait for earlier steps"],
    ),
    "two async steps with one id": (
        (BUILD, BUILD, "{id: j, action: join, depends_on: [build]}"),
        ["10:14 duplicate step id 'build'; the first is in line 9"],
    ),
    "dependencies that are no list": (
        (BUILD, "{id: j, run: '{{ step.build.result }}', depends_on: {build: 1}}"),
        [
            (
                "10:61 depends_on is a mapping; it must be a list of: "
                "an id: up to 64 lowercase letters, digits, - or _, starting with a letter or digit"
            )
        ],
    ),
    "a misspelt key": (
        (BUILD, "{id: j, run: x, depend_on: [build]}"),
        ["10:25 unknown key 'depend_on' in a step; did you mean 'depends_on'?"],
    ),
    "a number for an id": (
        ("{id: 7, run: x}", "{id: b, run: '{{ step[\"7\"].result }}', depends_on: ['7']}"),
        [
            (
                "9:14 id is 7 (a number); it must be an id: up to 64 lowercase letters, digits, - or _, "
                "starting with a letter or digit; to write text, use quotes: '7'"
            )
        ],
    ),
    "no id": (
        (
            "{run: x}",
            "{id: b, run: '{{ step.a.result }}', depends_on: [a], on_fail: {retry_from: a}}",
            "{run: y}",
        ),
        [
            f"{line}:9 a step needs the key 'id' (an id: up to 64 lowercase letters, digits, - or _, "
            "starting with a letter or digit)"
            for line in (9, 11)
        ],
    ),
    "no body": (
        (f"{{id: a, {OBJECT}}}", "{id: b}", "{id: c, run: '{{ step.b.exit_code }} {{ step.b.field }}'}"),
        [f"{line}:9 a step needs exactly one of: prompt, run, action, pipeline" for line in (9, 10)],
    ),
    "a prompt that is no text": (
        ("{id: a, prompt: [x]}", "{id: b, run: '{{ step.a.result }}'}"),
        ["9:25 prompt is a list; it must be text, in which {{ … }} is replaced"],
    ),
    "a pipeline that does not exist": (
        (
            "{id: a, pipeline: direkt}",
            "{id: b, run: '{{ step.a.work.result }}'}",
            f"{{id: j, action: join, depends_on: [a], {OBJECT}}}",
        ),
        ["9:27 unknown pipeline 'direkt'; did you mean 'direct'?"],
    ),
    "a way back to nowhere": (
        ("{id: a, run: x}", "{id: b, run: x, on_fail: {max: 3}}"),
        [
            (
                "10:34 on_fail needs the key 'retry_from' (an id: up to 64 lowercase letters, digits, - or _, "
                "starting with a letter or digit)"
            )
        ],
    ),
    "a join of something misspelt": (
        (
            f"{{id: build, run: x, {OBJECT}}}",
            "{id: j, action: join, depends_on: [biuld], output_schema: {required: [build]}}",
        ),
        ["10:44 depends_on names 'biuld', which is not a step of this pipeline; did you mean 'build'?"],
    ),
    "a question without an answer to what it asks": (
        ("{id: a, action: ask}",),
        ["9:9 a step with 'action: ask' needs the key 'question'"],
    ),
    "a rule without a condition": (
        ("{id: a, run: x, on_result: [{action: fail}, {when: step.a.exit_cod == 1, action: fail}]}",),
        [
            "9:37 on_result needs the key 'when' (an expression with the names of templates, always or never)",
            (
                "9:60 'step.a.exit_cod': step 'a' has no 'exit_cod'; there are exit_code, json, result, stderr, "
                "stdout; fields need an output_schema on the step"
            ),
        ],
    ),
}


@pytest.mark.parametrize("slip", ONE_SLIP)
def test_one_slip_in_a_step_is_reported_once(slip: str) -> None:
    steps, message = ONE_SLIP[slip]
    assert problems(with_steps(*steps)) == message


def test_a_dependency_that_is_repeated_or_empty_is_no_slip() -> None:
    steps = ("{id: a, run: x, async: true, depends_on: []}", "{id: b, run: x, depends_on: [a, a]}")
    assert problems(with_steps(*steps)) == []
