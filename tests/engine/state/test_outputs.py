"""What steps gave: how templates read it, how joins put it together, and how it is held against a schema."""

import json
import subprocess
import sys
from typing import Any

import pytest
from msgspec import UNSET
from msgspec.structs import replace

from weft.engine.state.outputs import (
    MOST_CHECKED,
    SKIPPED,
    StepError,
    StepOutput,
    check_result,
    join,
    join_object,
    join_text,
    nested_output,
    step_values,
)
from weft.plan.loader.load import load_plan
from weft.plan.model import Plan, Step
from weft.plan.results.result_types import Results
from weft.plan.templates.render import holds, render
from weft.plan.templates.values import RenderError

BUGS = {
    "type": "object",
    "properties": {"bugs": {"type": "array", "items": {"type": "object", "required": ["severity"]}}},
    "required": ["bugs"],
}
FLAT = {"type": "object"}
AGENT = {"prompt": "x"}


def plan_of(*steps: dict[str, Any], **pipelines: list[dict[str, Any]]) -> Plan:
    head = {"weft": 1, "plan": "p", "agents": {"coder": {"use": "claude"}}, "pipelines": pipelines}
    return load_plan(json.dumps(head | {"subplans": [{"id": "a", "prompt": "x", "steps": steps}]}))


def step_of(**given: Any) -> Step:
    return plan_of({"id": "one", **AGENT, **given}).pipeline_of(1).steps[0]


def command_of(**given: Any) -> Step:
    return plan_of({"id": "one", "run": "x", **given}).pipeline_of(1).steps[0]


def done(result: str = "", **more: Any) -> StepOutput:
    return StepOutput(status="done", result=result, **more)


def command(stdout: str, stderr: str = "", exit_code: int = 0) -> StepOutput:
    return done(stdout, stdout=stdout, stderr=stderr, exit_code=exit_code)


def failed(message: str = "exit code 1", kind: str = "error", **more: Any) -> StepOutput:
    return StepOutput(status="failed", error=StepError(kind=kind, message=message), **more)


CANCELLED = StepOutput(status="cancelled", error=StepError(kind="cancelled", message="cancelled for a"))


# As templates see it


def read(plan: Plan, text: str, /, **outputs: StepOutput) -> str:
    """A template in a step behind all steps, which ended so; `_` in an address stands for a dot."""
    addressed = {address.replace("_", "."): output for address, output in outputs.items()}
    return render(text, {"step": step_values(plan.pipeline_of(1).steps, addressed, plan.pipelines)})


def fault(plan: Plan, text: str, /, **outputs: StepOutput) -> str:
    with pytest.raises(RenderError) as caught:
        read(plan, text, **outputs)
    return caught.value.message


def test_a_command_gives_its_output_and_exit_code() -> None:
    plan = plan_of({"id": "a", "run": "x"}, {"id": "check", "action": "verify"})
    outputs = {"a": command("o", "e", 3), "check": command("", "", 1)}
    text = "{{ step.a.result }}{{ step.a.stdout }}{{ step.a.stderr }}{{ step.a.exit_code }}"
    assert read(plan, text, **outputs) == "ooe3"
    assert read(plan, "{{ step.check.exit_code }}", **outputs) == "1"


def test_a_text_may_be_json_without_a_schema() -> None:
    plan = plan_of({"id": "a", "run": "x"}, {"id": "b", **AGENT})
    wrapped = done('Here:\n```json\n{"n": 2}\n```\nDone.')
    text = "{{ step.a.json.list[1] }} {{ step.b.json.n }}"
    assert read(plan, text, a=command('{"list": [1, 2]}\n'), b=wrapped) == "2 2"


def test_a_text_that_is_not_json_has_no_json() -> None:
    plan = plan_of({"id": "a", "run": "x"})
    why = "the result is not JSON: JSON is malformed: invalid character (byte 0)"
    text = f"'step.a.json': step 'a' has no json: {why}"
    assert fault(plan, "{{ step.a.json.x }}", a=command("hello")) == text
    assert fault(plan, "{{ step.a.json | upper }}", a=command("hello")) == text


def test_fields_of_a_structured_result_are_read_by_name_and_number() -> None:
    plan = plan_of(
        {"id": "a", **AGENT, "output_schema": BUGS}, {"id": "b", **AGENT, "output_schema": {"type": "array"}}
    )
    outputs = {"a": done("…", json={"bugs": [{"severity": "high"}]}), "b": done("[1,2]", json=[1, 2])}
    assert read(plan, "{{ step.a.bugs[0].severity }} {{ step.b[1] }} {{ step.a.json.bugs }}", **outputs) == (
        'high 2 [{"severity":"high"}]'
    )


def test_what_every_step_has_goes_before_fields_of_the_same_name() -> None:
    plan = plan_of(
        {"id": "a", **AGENT, "output_schema": FLAT}, {"id": "b", "run": "x", "output_schema": FLAT}
    )
    value = {"result": 1, "json": 2, "stdout": 3}
    outputs = {"a": done("text", json=value), "b": replace(command("out"), json=value)}
    assert (
        read(plan, "{{ step.a.result }} {{ step.a.json.json }} {{ step.a.stdout }}", **outputs) == "text 2 3"
    )
    assert read(plan, "{{ step.b.stdout }} {{ step.b.json.stdout }}", **outputs) == "out 3"


def test_an_unknown_field_is_told_with_what_there_is() -> None:
    plan = plan_of({"id": "a", **AGENT, "output_schema": BUGS}, {"id": "b", "run": "x"})
    outputs = {"a": done("…", json={"bugs": [{"severity": "high"}]}), "b": command("")}
    assert fault(plan, "{{ step.a.bgs }}", **outputs) == (
        "'step.a.bgs': step 'a' has no 'bgs'; did you mean 'bugs'? there are bugs, json, result"
    )
    assert fault(plan, "{{ step.a.bugs[0].sverity }}", **outputs) == (
        "'step.a.bugs[0].sverity': item [0] has no 'sverity'; did you mean 'severity'? there are severity"
    )
    assert fault(plan, "{{ step.b.x }}", **outputs) == (
        "'step.b.x': step 'b' has no 'x'; there are exit_code, json, result, stderr, stdout"
    )
    assert fault(plan, "{{ step.a }}", **outputs) == (
        "this is not a value; name a field of it; there are bugs, json, result"
    )


def test_a_step_that_has_not_ended_is_not_there() -> None:
    assert fault(plan_of({"id": "a", **AGENT}, {"id": "b", **AGENT}), "{{ step.b.result }}", a=done()) == (
        "'step.b': 'step' has no 'b'; there are a"
    )


@pytest.mark.parametrize(
    ("output", "how"),
    [(SKIPPED, "was skipped"), (failed(), "failed"), (CANCELLED, "was cancelled")],
)
def test_a_step_that_gave_nothing_has_an_empty_result_and_null_for_json(output: StepOutput, how: str) -> None:
    plan = plan_of({"id": "a", "run": "x", "output_schema": BUGS})
    text = "[{{ step.a.result }}{{ step.a.stdout }}] {{ step.a.json }} {{ step.a.exit_code }}"
    assert read(plan, text, a=output) == "[] null null"
    assert fault(plan, "{{ step.a.bugs }}", a=output) == (
        f"'step.a.bugs': step 'a' {how}, and has no 'bugs'; there are exit_code, json, result, stderr, stdout"
    )
    view = {"step": step_values(plan.pipeline_of(1).steps, {"a": output}, plan.pipelines)}
    assert not holds("step.a.json and step.a.bugs == true", view)


def test_a_failed_step_shows_what_it_wrote() -> None:
    plan = plan_of({"id": "a", "run": "x", "on_error": "continue"})
    outputs = {"a": failed(result='{"n":1}', stdout='{"n":1}', exit_code=2, tolerated=True)}
    assert read(plan, "{{ step.a.exit_code }} {{ step.a.json.n }}", **outputs) == "2 1"


def test_a_structured_join_is_read_by_the_ids_of_its_steps() -> None:
    plan = plan_of(
        {"id": "bugs", **AGENT, "async": True, "output_schema": FLAT},
        {"id": "result", **AGENT, "async": True, "output_schema": FLAT},
        {"id": "both", "action": "join", "depends_on": ["bugs", "result"]},
    )
    both = done("{}", json={"bugs": {"list": [{"x": 1}]}, "result": {"y": 2}})
    text = "{{ step.both.bugs.list[0].x }} {{ step.both.result }} {{ step.both.json.result.y }}"
    assert read(plan, text, both=both) == "1 {} 2"


NESTED = plan_of(
    {"id": "outer", "pipeline": "mid", "on_error": "continue"},
    {"id": "end", **AGENT},
    mid=[{"id": "result", "run": "x"}, {"id": "stdout", "pipeline": "deep"}],
    deep=[{"id": "first", "run": "x"}, {"id": "last", **AGENT, "output_schema": FLAT}],
)


def test_steps_of_nested_pipelines_are_read_through_the_outer_ones() -> None:
    last = done("text", json={"n": 1})
    outputs = {"outer": last, "outer_result": command("r"), "outer_stdout": last, "outer_stdout_last": last}
    outputs["outer_stdout_first"] = command("f")
    text = "{{ step.outer.stdout.first.stdout }} {{ step.outer.stdout.last.n }}"
    assert read(NESTED, text, **outputs) == "f 1"
    assert (
        read(NESTED, "{{ step.outer.result }} {{ step.outer.n }} {{ step.outer.json.n }}", **outputs)
        == "text 1 1"
    )


def test_the_json_of_a_nested_pipeline_is_that_of_its_last_step() -> None:
    outputs = {
        "outer": done("text"),
        "outer_stdout": done("text"),
        "outer_stdout_last": done("text", json={"n": 1}),
    }
    assert read(NESTED, "{{ step.outer.n }} {{ step.outer.json.n }}", **outputs) == "1 1"


def test_a_step_of_a_nested_pipeline_that_did_not_run_reads_as_skipped() -> None:
    outputs = {"outer": failed(tolerated=True), "outer_result": failed()}
    assert (
        read(NESTED, "[{{ step.outer.stdout.first.result }}] {{ step.outer.json }}", **outputs) == "[] null"
    )


def test_steps_within_a_nested_pipeline_see_their_own() -> None:
    steps = NESTED.pipelines["deep"].steps
    outputs = {"outer.stdout.first": command("f"), "first": command("other")}
    views = step_values(steps, outputs, NESTED.pipelines, within="outer.stdout")
    assert render("{{ step.first.stdout }}", {"step": views}) == "f"
    assert list(views) == ["first"]


def test_a_view_knows_its_length() -> None:
    views = step_values(NESTED.pipelines["deep"].steps, {"first": command("")}, NESTED.pipelines)
    assert len(views["first"]) == 5


@pytest.mark.parametrize(
    ("first", "last", "given"),
    [
        (done("a"), done("b"), done("b")),
        (done("a"), SKIPPED, SKIPPED),
        (failed(), CANCELLED, failed()),
        (CANCELLED, failed(), failed()),
        (CANCELLED, SKIPPED, CANCELLED),
        (failed(tolerated=True), done("b"), done("b")),
        (done("a"), None, SKIPPED),
    ],
)
def test_a_nested_pipeline_gives_what_its_last_step_gave_or_the_failure(
    first: StepOutput, last: StepOutput | None, given: StepOutput
) -> None:
    outputs = {"outer.first": first} | ({"outer.last": last} if last is not None else {})
    assert nested_output(NESTED.pipelines["deep"].steps, outputs, within="outer") == given


# Schemas


def test_without_a_schema_any_result_will_do() -> None:
    assert check_result(step_of(), done("no JSON")) == done("no JSON")


def test_what_did_not_succeed_is_not_checked() -> None:
    step = step_of(output_schema=BUGS)
    assert check_result(step, failed()) == failed()
    assert check_result(step, SKIPPED) == SKIPPED


@pytest.mark.parametrize(
    "text",
    [
        '{"bugs": []}',
        ' \n{"bugs": []}\n',
        'Words.\n```json\n{"bugs": []}\n```\nMore words.',
        '```json\n{"bugs": 1}\n```\nNo:\n  ```JSON  \n{"bugs":\n[]}\n  ```',
        '```python\nx\n```\n```json\n{"bugs": []}\n```\n```json\n{"unfinished": 1}',
    ],
)
def test_a_result_that_fits_is_parsed_and_stays_as_it_is(text: str) -> None:
    assert check_result(step_of(output_schema=BUGS), done(text)) == done(text, json={"bugs": []})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "the result is empty, not JSON"),
        (" \n", "the result is empty, not JSON"),
        ("Sorry.", "the result is not JSON: JSON is malformed: invalid character (byte 0)"),
        (
            "```json\n[1 2]\n```",
            "the last ```json block of the result is not JSON: JSON is malformed: expected ',' or ']' (byte 3)",
        ),
        (
            "[" * 100_000,
            "the result is not JSON: maximum recursion depth exceeded while deserializing an object",
        ),
    ],
)
def test_a_result_that_is_not_json_fails_and_says_why(text: str, said: str) -> None:
    checked = check_result(step_of(output_schema=BUGS), done(text))
    assert checked == failed(f"{said}; its output_schema asks for it", result=text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"bugs": [{}]}', "at $.bugs[0]: 'severity' is a required property"),
        ('{"bugs": 1}', "at $.bugs: 1 is not of type 'array'"),
        ("[]", "at $: [] is not of type 'object'"),
    ],
)
def test_a_result_that_does_not_fit_fails_and_says_where_and_why(text: str, said: str) -> None:
    checked = check_result(step_of(output_schema=BUGS), done(text))
    assert checked == failed(
        f"the result does not fit output_schema: {said}", result=text, json=json.loads(text)
    )


def test_a_result_that_is_json_but_does_not_fit_can_still_be_read() -> None:
    assert check_result(step_of(output_schema=BUGS), done("[1]")).json == [1]
    assert check_result(step_of(output_schema=BUGS), done("no")).json is UNSET


def test_a_command_writes_json_and_nothing_else() -> None:
    step = command_of(output_schema=BUGS)
    assert check_result(step, command('{"bugs": []}\n')).json == {"bugs": []}
    assert check_result(step, command('```json\n{"bugs": []}\n```')).status == "failed"


def test_a_result_that_is_too_long_is_not_checked() -> None:
    step = step_of(output_schema={"type": "string"})
    assert check_result(step, done(f'"{"x" * (MOST_CHECKED - 2)}"')).status == "done"
    checked = check_result(step, done(f'"{"x" * (MOST_CHECKED - 1)}"'))
    limit = "at most 1,048,576 characters are checked against output_schema"
    assert checked.error == StepError(kind="error", message=f"the result has 1,048,577 characters; {limit}")


def test_what_is_said_of_a_long_result_is_short() -> None:
    checked = check_result(step_of(output_schema={"type": "object"}), done(f'"{"x" * 10_000}"'))
    assert checked.error is not None
    assert len(checked.error.message) == 500
    assert checked.error.message.endswith("…")


def test_a_value_that_is_nested_deeper_than_a_schema_can_follow_does_not_fit() -> None:
    value: object = []
    for _ in range(100_000):
        value = [value]
    schema = {"$ref": "#/$defs/x", "$defs": {"x": {"type": "array", "items": {"$ref": "#/$defs/x"}}}}
    checked = check_result(step_of(output_schema=schema), done("…", json=value))
    assert checked.error == StepError(
        kind="error", message="the result does not fit output_schema: it is nested too deeply"
    )


# Joins


def join_of(
    *, schema: Any = None, wait: bool = False, structured: bool = False
) -> tuple[Step, dict[str, Any]]:
    """A join of a, b and c, and the schemas of what it joins."""
    own = {"output_schema": FLAT} if structured else {}
    members = [{"id": name, **AGENT, "async": True, **own} for name in "abc"]
    last = {"id": "all", "action": "join", "depends_on": ["c", "a", "b"]}
    last |= {"on_error": "wait_for_all"} if wait else {}
    last |= {"output_schema": schema} if schema else {}
    plan = plan_of(*members, last)
    steps = plan.pipeline_of(1).steps
    schemas = Results(plan.pipelines).of(steps)
    return steps[-1], dict(zip("abc", schemas[:3], strict=True))


def joined(members: dict[str, StepOutput], **kind: Any) -> StepOutput:
    step, schemas = join_of(**kind)
    return join(step, members, schemas)


def test_texts_are_joined_in_the_order_of_depends_on() -> None:
    output = joined({"a": done("A"), "b": command("B\n"), "c": done("C\nC")})
    assert output == done("[c]:\nC\nC\n\n[a]:\nA\n\n[b]:\nB")


def test_a_text_in_place_of_a_result_tells_what_was_skipped_or_failed() -> None:
    members = {"a": SKIPPED, "b": failed("exit code 1"), "c": CANCELLED}
    assert joined(members, wait=True) == done(
        "[c]:\n<error: cancelled for a>\n\n[a]:\n<skipped>\n\n[b]:\n<error: exit code 1>"
    )


def test_a_failure_without_words_is_told_by_its_status() -> None:
    assert join_text(["a"], {"a": StepOutput(status="cancelled")}) == "[a]:\n<error: cancelled>"


def test_a_skipped_step_does_not_keep_a_join_from_being_done() -> None:
    assert (
        joined({"a": SKIPPED, "b": done("B"), "c": SKIPPED}).result
        == "[c]:\n<skipped>\n\n[a]:\n<skipped>\n\n[b]:\nB"
    )


@pytest.mark.parametrize("structured", [False, True])
def test_a_failed_step_fails_the_join_which_names_it(structured: bool) -> None:
    members = {"a": failed("exit code 1", kind="timeout"), "b": done("{}", json={}), "c": CANCELLED}
    output = joined(members, structured=structured)
    assert output == failed("step 'a', which it depends on, failed: exit code 1")


def test_a_cancelled_step_fails_the_join() -> None:
    output = joined({"a": done(), "b": CANCELLED, "c": done()})
    assert output == failed("step 'b', which it depends on, was cancelled: cancelled for a")


def test_a_failure_that_is_tolerated_counts_as_done() -> None:
    members = {"a": failed(result="half", tolerated=True), "b": done("B"), "c": done("C")}
    assert joined(members) == done("[c]:\nC\n\n[a]:\nhalf\n\n[b]:\nB")


def test_json_is_joined_by_id() -> None:
    members = {"a": done("x", json={"n": 1}), "b": SKIPPED, "c": done('{"é": [1, 2]}')}
    output = joined(members, structured=True)
    assert output == done(
        '{"c":{"é":[1,2]},"a":{"n":1},"b":null}', json={"c": {"é": [1, 2]}, "a": {"n": 1}, "b": None}
    )
    assert list(output.json) == ["c", "a", "b"]  # type: ignore[call-overload]


def test_a_failure_stands_in_its_place_in_json() -> None:
    members = {"a": failed("late", kind="timeout"), "b": done("{}", json={}), "c": done("{}", json={})}
    output = joined(members, structured=True, wait=True)
    assert output.json == {"c": {}, "a": {"error": {"kind": "timeout", "message": "late"}}, "b": {}}
    assert output.status == "done"


def test_a_tolerated_failure_gives_its_json_if_it_has_some() -> None:
    fine = done("{}", json={})
    for output, value in (
        (failed(result='{"n":1}', tolerated=True), {"n": 1}),
        (failed("bad", result="no", tolerated=True), {"error": {"kind": "error", "message": "bad"}}),
    ):
        assert joined({"a": output, "b": fine, "c": fine}, structured=True).json == {
            "a": value,
            "b": {},
            "c": {},
        }


def test_a_schema_of_the_join_is_met_or_fails_it() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "object"}}, "required": ["a"]}
    members = {"a": done("{}", json={}), "b": done("{}", json={}), "c": done("{}", json={})}
    assert joined(members, schema=schema, structured=True).status == "done"
    output = joined(members | {"a": SKIPPED}, schema=schema, structured=True)
    assert output.error == StepError(
        kind="error", message="the result does not fit output_schema: at $.a: None is not of type 'object'"
    )


def test_a_result_that_is_not_json_fails_a_structured_join() -> None:
    members = {"a": done("oops"), "b": done("{}"), "c": done("{}")}
    assert joined(members, structured=True) == failed(
        "the result of step 'a' is not JSON: JSON is malformed: invalid character (byte 0)"
    )


def test_jsonschema_is_imported_only_for_a_schema() -> None:
    heavy = "'jsonschema' in sys.modules or 'jinja2' in sys.modules"
    code = f"import sys, weft.engine.state.outputs; sys.exit({heavy})"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


BROKEN = StepOutput(
    status="failed",
    stderr="".join(f"line {number}\n" for number in range(100)),
    exit_code=3,
    error=StepError(kind="error", message="exit code 3"),
)


def test_a_failed_command_in_a_join_has_the_end_of_its_error_output() -> None:
    lines = join_text(["a"], {"a": BROKEN}).splitlines()
    assert lines[:2] == ["[a]:", "<error: exit code 3>"]
    assert lines[2] == "(80 lines before this are left out)"
    assert (lines[3], lines[-1]) == ("line 80", "line 99")


def test_in_a_join_of_objects_the_error_output_is_with_the_error() -> None:
    value: Any = join_object(["a"], {"a": BROKEN})
    assert value["a"]["error"]["stderr"].endswith("line 98\nline 99")
