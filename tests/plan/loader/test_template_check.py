"""What templates may read, where they stand."""

import pytest

from plan.problem_texts import AGENT, problems, with_steps, with_subplans
from weft.plan.loader.load import load_plan, read_config
from weft.plan.text.problems import PlanError

A = "{id: a, run: x, async: true}"
JOIN = "{id: j, action: join, depends_on: [a]}"
OBJECT = "output_schema: {type: object, properties: {n: {type: integer}}, additionalProperties: false}"


def reading(name: str) -> str:
    return f"{{id: r, run: 'echo {{{{ {name} }}}}'}}"


def test_a_template_that_reads_a_step_which_is_not_certain_to_have_ended_is_refused() -> None:
    assert problems(with_steps(A, reading("step.a.result"), JOIN)) == [
        "10:31 'step.a.result' reads step 'a', which may still be running then; add depends_on: [a]"
    ]


def test_a_template_may_read_what_its_step_or_the_cursor_has_waited_for() -> None:
    waiting = "{id: r, run: '{{ step.a.result }}', depends_on: [a], async: true}"
    after = "{id: s, run: '{{ step.a.result }} {{ step.r.stdout }}', depends_on: [r]}"
    assert problems(with_steps(A, waiting, after, reading("step.a.exit_code").replace("r,", "z,"))) == []


def test_a_template_that_reads_a_later_step_is_refused() -> None:
    assert problems(with_steps(reading("step.b.result"), "{id: b, run: x}")) == [
        "9:31 'step.b.result' reads step 'b', which comes later and has not run when this is evaluated"
    ]


@pytest.mark.parametrize(
    "step",
    [
        "{id: r, prompt: 'abc {{ slice.pth }}'}",
        "{id: r, run: 'abcdef {{ slice.pth }}'}",
        "{id: r, run: [abcdef, '{{ slice.pth }}']}",
        "{id: r, run: x, condition: slice.pth}",
        "{id: r, run: x, env: {A: '{{ slice.pth }}'}}",
        "{id: r, run: x, on_result: [{when: slice.pth == 'a', action: fail}]}",
        "{id: r, action: ask, question: 'a {{ slice.pth }}'}",
    ],
)
def test_every_text_of_a_step_is_checked(step: str) -> None:
    message = "'slice' has no 'pth'; did you mean 'path'? there are id, path, prompt, title, verify"
    assert problems(with_steps(step)) == [f"9:{9 + step.index('slice')} {message}"]


def test_only_what_is_decided_afterwards_can_read_the_step_s_own_result() -> None:
    after = "{id: a, run: x, on_result: [{when: step.a.exit_code == 3, action: ask}]}"
    assert problems(with_steps(after)) == []
    assert problems(with_steps("{id: a, run: x, condition: step.a.exit_code == 3}")) == [
        "9:36 'step.a.exit_code' reads step 'a', which comes later and has not run when this is evaluated"
    ]


@pytest.mark.parametrize("word", ["always", "never"])
def test_always_and_never_are_conditions_and_no_names(word: str) -> None:
    step = f"{{id: a, run: x, condition: {word}, on_result: [{{when: {word}, action: fail}}]}}"
    assert problems(with_steps(step)) == []


def test_fields_of_a_structured_join_are_those_of_its_members() -> None:
    steps = (f"{{id: a, run: x, async: true, {OBJECT}}}", JOIN)
    assert problems(with_steps(*steps, reading("step.j.a.n"))) == []
    assert problems(with_steps(*steps, reading("step.j.a.m"))) == ["11:31 'step.j.a' has no 'm'; there are n"]
    assert problems(with_steps(*steps, reading("step.j.b.n"))) == [
        "11:31 'step.j.b': unknown step 'b'; there are a"
    ]


def test_a_join_of_text_has_no_fields() -> None:
    assert problems(with_steps(A, JOIN, reading("step.j.a"))) == [
        (
            "11:31 'step.j.a': step 'j' has no 'a'; there are result; "
            "fields need an output_schema on the join or on all its dependencies"
        )
    ]


def test_steps_of_a_nested_pipeline_are_read_through_it() -> None:
    top = f"pipelines:\n  p: [{{id: i, run: x}}, {{id: k, run: x, {OBJECT}}}]\n"
    nested = "{id: p, pipeline: p, async: true}"
    waiting = "{id: w, run: '{{ step.p.i.stdout }} {{ step.p.k.n }} {{ step.p.n }}', depends_on: [p]}"
    assert problems(with_steps(nested, waiting, top=top)) == []
    (message,) = problems(with_steps(nested, reading("step.p.i.stdout"), waiting, top=top))
    assert message.startswith("11:31 'step.p.i.stdout' reads step 'p.i', which may still be running then")


def test_a_step_inside_of_a_nested_pipeline_does_not_see_those_around_it() -> None:
    top = "pipelines:\n  p:\n    - {id: i, run: '{{ step.a.result }}'}\n"
    assert problems(with_steps("{id: a, run: x}", "{id: n, pipeline: p}", top=top)) == [
        "5:24 'step.a': unknown step 'a'; there are no steps to read here"
    ]


@pytest.mark.parametrize("schema", ["", ", output_schema: {}"])
def test_joins_upon_joins_are_read_in_time_and_without_deep_calls(schema: str) -> None:
    joins = (f"{{id: j{n}, action: join, depends_on: [j{n - 1}, j{n - 2}]}}" for n in range(2, 1_500))
    steps = (f"{{id: j0, run: x{schema}}}", f"{{id: j1, run: x{schema}}}", *joins)
    assert problems(with_steps(*steps, reading("step.j1499.result"))) == []


def test_names_of_the_environment_must_be_open_to_the_plan() -> None:
    assert problems(with_steps(reading("env.HOME"), top="env_allow: [HOME]\n")) == []
    assert problems(with_steps(reading("env.HOM"), top="env_allow: [HOME]\n")) == [
        "9:31 'env.HOM' is not available to this plan; did you mean 'HOME'? to allow it, add HOM to env_allow"
    ]


def test_a_bad_list_of_open_names_is_reported_once() -> None:
    assert problems(with_steps(reading("env.HOME"), top="env_allow: [HOME, 1]\n")) == [
        "3:19 env_allow is 1 (a number); it must be the name of an environment variable"
    ]


def test_an_unknown_name_is_reported_with_the_step_that_may_be_meant() -> None:
    assert problems(with_steps("{id: a, run: x}", reading("a.result"))) == [
        (
            "10:31 unknown name 'a'; did you mean 'step.a'? "
            "there are attempt, env, feedback, plan, run, slice, step"
        )
    ]


def test_what_is_no_template_is_reported_where_it_stands() -> None:
    (message,) = problems(with_steps("{id: a, run: x}", reading("slice.id + ")))
    assert message.startswith("10:")


WORKTREES = "worktrees: '../{{ slice.pth }}/{{ feedback }}/{{ step.a.result }}/{{ env.X }}'\n"
SAID = [
    "19 'slice' has no 'pth'; did you mean 'path'? there are id, path, prompt, title, verify",
    "35 'feedback' has a value only in the steps of a slice",
    "50 'step' has a value only in the steps of a slice",
]


def test_the_place_of_worktrees_is_a_template_that_reads_no_steps() -> None:
    closed = "70 'env.X' is not available to this plan; to allow it, add X to env_allow"
    text = with_subplans("{id: a, prompt: x, verify: v}", top=AGENT + WORKTREES)
    assert problems(text) == [f"4:{message}" for message in (*SAID, closed)]


def test_the_place_of_worktrees_is_checked_in_a_subplan_too() -> None:
    (message,) = problems(with_subplans("{id: a, prompt: x, verify: v, worktrees: '{{ slice.pth }}'}"))
    assert message.startswith("5:50 'slice' has no 'pth'")


def test_the_place_of_worktrees_is_checked_in_a_configuration_too() -> None:
    with pytest.raises(PlanError) as raised:
        read_config(WORKTREES, "config.yaml", "user")
    assert [f"{problem.at.column} {problem.message}" for problem in raised.value.problems] == SAID


@pytest.mark.parametrize("place", ["../trees", "../{{ plan.id }}/{{ slice.id }}"])
def test_a_place_for_worktrees_that_several_slices_would_share_is_refused(place: str) -> None:
    text = with_subplans("{id: a, prompt: x, verify: v}", top=AGENT + f"worktrees: '{place}'\n")
    (message,) = problems(text)
    assert message.endswith("all slices would share one directory; add {{ slice.path }}")


def test_the_place_of_worktrees_is_made_of_what_is_known_before_a_run() -> None:
    top = AGENT + "worktrees: '../{{ slice.path }}/{{ slice.id }}'\n"
    (message,) = problems(with_subplans("{id: a, prompt: x, verify: v}", top=top))
    assert message.endswith("'slice.id' has no value here; use plan.id or slice.path")


def test_a_good_place_for_worktrees_is_kept() -> None:
    text = with_subplans(
        "{id: a, prompt: x, verify: v}", top=AGENT + "worktrees: ../{{ plan.id }}-{{ slice.path }}\n"
    )
    assert load_plan(text).scopes[1].settings.worktrees == "../{{ plan.id }}-{{ slice.path }}"


def test_a_value_that_no_quotes_could_hold_is_refused_at_load() -> None:
    (message,) = problems(
        'weft: 1\nplan: p\nsubplans:\n  - {id: a, steps: [{id: s, run: "cat <<E\\n{{ slice.id }}\\nE"}]}\n'
    )
    assert "in a command, a value cannot be after <<: no quotes protect it there" in message


def test_in_an_argv_a_value_may_stand_anywhere_but_in_code() -> None:
    steps = '[{id: s, run: [x, "# {{ slice.id }}", "{{ slice.prompt }}"]}]'
    assert problems(f"weft: 1\nplan: p\nsubplans:\n  - {{id: a, prompt: x, steps: {steps}}}\n") == []


@pytest.mark.parametrize(
    ("run", "column"),
    [
        ("'sh -c \"echo {{ slice.prompt }}\"'", 28),
        ("'eval echo {{ slice.prompt }}'", 26),
        ('[sh, -c, "echo {{ slice.prompt }}"]', 30),
    ],
)
def test_a_value_in_the_code_of_another_program_is_refused_at_load(run: str, column: int) -> None:
    (message,) = problems(
        f"weft: 1\nplan: p\nsubplans:\n  - id: a\n    prompt: x\n    steps:\n    - id: s\n      run: {run}\n"
    )
    assert message.startswith(f"8:{column} ")
    assert "reads this text as code and would run what is in the value" in message
