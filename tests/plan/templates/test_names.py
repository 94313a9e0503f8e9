"""Names in templates: known, ready to be read, and leading to something."""

from typing import Any

import pytest

from weft.plan.templates.names import (
    NameFault,
    TemplateScope,
    TemplateStep,
    is_structured,
    unknown_names,
    written,
)
from weft.plan.templates.parse import parse_template

TEXT = {"type": "string"}
REPORT = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "title": TEXT,
        "count": {"type": "integer"},
        "notes": {"type": "array", "items": {"type": "object", "properties": {"x": TEXT}}},
        "pair": {"type": "array", "prefixItems": [{"type": "object"}, TEXT], "items": {"type": "null"}},
        "maybe": {"type": ["string", "null"]},
        "free": {"type": "object"},
        "open": True,
    },
}


def seen(name: str, kind: Any = "agent", *, ended: bool = True, **more: Any) -> TemplateStep:
    return TemplateStep(id=name, kind=kind, ended=ended, **more)


def by_id(*steps: TemplateStep) -> dict[str, TemplateStep]:
    return {step.id: step for step in steps}


report, plain, check = seen("report", schema=REPORT), seen("plain"), seen("check", "verify")
slow = seen("slow", ended=False)
merged = seen("merged", "join", members=by_id(report, seen("other", "run", schema=REPORT)))
text_join = seen("texts", "join", members=by_id(report, plain))
strict_join = seen(
    "strict",
    "join",
    members=by_id(report, plain),
    schema={"additionalProperties": False, "properties": {"report": {}}},
)
nested = seen("nested", "pipeline", inner=by_id(seen("first"), slow, report))
STEPS = by_id(
    *(report, plain, slow, check, merged, text_join, strict_join, nested),
    seen("a-b"),
    seen("1"),
    seen("command", "run"),
    seen("outer", "pipeline", inner=by_id(text_join)),
    seen("closed", schema={"properties": {}, "additionalProperties": False}),
    seen("matched", schema={"additionalProperties": False, "patternProperties": {"^x": {}}}),
    seen("odd", schema={"properties": True}),
    seen("clash", "pipeline", inner=by_id(seen("result", ended=False), seen("json", ended=False), report)),
    seen("loose", "join", schema={}, members=by_id(text_join)),
    seen("joined", "join", members=by_id(merged, nested)),
)
SCOPE = TemplateScope(steps=STEPS, env_allow=frozenset({"HOME", "LANG"}), later=frozenset({"after", "self"}))


def wrong(expression: str, scope: TemplateScope = SCOPE) -> list[str]:
    return [faults.message for faults in unknown_names(parse_template(f"{{{{ {expression} }}}}"), scope)]


@pytest.mark.parametrize(
    "expression",
    [
        *("slice.id", "slice.path", "slice.prompt", "slice.verify", "slice.title", "plan.id", "plan.goal"),
        *(
            "feedback",
            "attempt",
            "run.id",
            "env.HOME",
            "slice.prompt[0]",
            "feedback[:9]",
            "slice.title.upper()",
        ),
        *("step.plain.result", "step.plain.json", "step.plain.json.anything[0].goes", "step['a-b'].result"),
        *("step.command.stdout", "step.command.stderr", "step.check.exit_code", "step.check.result"),
        *("step.report.title", "step.report.json.title", "step.report.notes[0].x", "step.report.notes[0].y"),
        *("step.report.pair[0].x", "step.report.pair[1]", "step.report.pair[-1].x", "step.report.maybe.x"),
        *("step.report.free.x", "step.report.open.x.y", "step.report.notes[-1].x", "step.matched.xyz"),
        *("step.merged.report.title", "step.merged.json.other.count", "step.merged.result", "step.odd.x"),
        *("step.merged.report.error", "step.merged.report.error.message", "step.merged.report"),
        *(
            "step.strict.report.title",
            "step.texts.result",
            "step.joined.merged.report.title",
            "step.loose.texts.x",
        ),
        *("step.clash.result", "step.clash.json.title"),
        *("step.joined.nested.title", "step.nested.first.result", "step.nested.result", "step.nested.title"),
        *(
            "step.nested.json.title",
            "step.nested.report.title",
            "step.outer.result",
            "step.outer.texts.result",
        ),
    ],
)
def test_these_names_can_be_read(expression: str) -> None:
    assert wrong(expression) == []


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        (
            "slcie.id",
            (
                "unknown name 'slcie'; did you mean 'slice'? "
                "there are attempt, env, feedback, plan, run, slice, step"
            ),
        ),
        (
            "goal",
            (
                "unknown name 'goal'; did you mean 'plan.goal'? "
                "there are attempt, env, feedback, plan, run, slice, step"
            ),
        ),
        (
            "a",
            "unknown name 'a'; there are attempt, env, feedback, plan, run, slice, step",
        ),
        (
            "plain.result",
            (
                "unknown name 'plain'; did you mean 'step.plain'? "
                "there are attempt, env, feedback, plan, run, slice, step"
            ),
        ),
        ("slice", "'slice' is not a value; name a field of it; there are id, path, prompt, title, verify"),
        ("run", "'run' is not a value; name a field of it; there are id"),
        (
            "slice.promt",
            "'slice' has no 'promt'; did you mean 'prompt'? there are id, path, prompt, title, verify",
        ),
        ("plan[0]", "'plan' has no '0'; there are goal, id"),
        ("slice.title.x", "'slice.title' is text: it has no 'x'"),
        ("feedback.x", "'feedback' is text: it has no 'x'"),
        ("attempt[0]", "'attempt' is a number: it has no '0'"),
        ("env", "'env' is not a value; name a variable, as in env.NAME"),
        (
            "env.HOMES",
            "'env.HOMES' is not available to this plan; did you mean 'HOME'? to allow it, add HOMES to env_allow",
        ),
        ("env.X", "'env.X' is not available to this plan; to allow it, add X to env_allow"),
        ("env.HOME.x", "'env.HOME' is text: it has no 'x'"),
    ],
)
def test_an_unknown_name_is_reported_with_what_there_is(expression: str, message: str) -> None:
    assert wrong(expression) == [message]


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("step", "'step' is not a value; name a step and a field, as in step.ID.result"),
        (
            "step.after.result",
            "'step.after.result' reads step 'after', which comes later and has not run when this is evaluated",
        ),
        (
            "step.slow.result",
            "'step.slow.result' reads step 'slow', which may still be running then; add depends_on: [slow]",
        ),
        (
            "step.nested.slow.result",
            (
                "'step.nested.slow.result' reads step 'nested.slow', which may still be running then; "
                "add depends_on: [nested]"
            ),
        ),
        ("step.a.result", "'step.a': unknown step 'a'; if you mean 'a-b', write step['a-b']"),
        ("step.1.result", "'step[1]': unknown step '1'; if you mean '1', write step['1']"),
        (
            "step.plain",
            (
                "'step.plain' is not a value; name a field of it; there are json, result;"
                " fields need an output_schema on the step"
            ),
        ),
        (
            "step.check.x",
            (
                "'step.check.x': step 'check' has no 'x'; there are exit_code, json, result, stderr, stdout; "
                "fields need an output_schema on the step"
            ),
        ),
        (
            "step.plain.stdout",
            (
                "'step.plain.stdout': step 'plain' has no 'stdout'; there are json, result;"
                " fields need an output_schema on the step"
            ),
        ),
        ("step.plain.result.x", "'step.plain.result' is text: it has no 'x'"),
        ("step.check.stdout.x", "'step.check.stdout' is text: it has no 'x'"),
        ("step.check.exit_code.x", "'step.check.exit_code' is a number: it has no 'x'"),
        (
            "step.texts.report.title",
            (
                "'step.texts.report.title': step 'texts' has no 'report'; there are result; "
                "fields need an output_schema on the join or on all its dependencies"
            ),
        ),
        (
            "step.texts.json",
            (
                "'step.texts.json': step 'texts' has no 'json'; there are result; "
                "fields need an output_schema on the join or on all its dependencies"
            ),
        ),
        (
            "step.outer.json",
            (
                "'step.outer.json': step 'outer' has no 'json'; there are result, texts; "
                "fields need an output_schema on the join or on all its dependencies"
            ),
        ),
        (
            "step.merged",
            "'step.merged' is not a value; name a field of it; there are json, other, report, result",
        ),
        (
            "step.merged.ohter",
            "'step.merged.ohter': unknown step 'ohter'; did you mean 'other'? there are other, report",
        ),
        ("step.merged.report.error.x", "'step.merged.report.error' has no 'x'; there are kind, message"),
        ("step.strict.plain.x", "'step.strict' has no 'plain'; there are report"),
    ],
)
def test_what_a_step_does_not_give_is_reported(expression: str, message: str) -> None:
    assert wrong(expression) == [message]


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        (
            "step.report.titel",
            (
                "'step.report' has no 'titel'; did you mean 'title'? "
                "there are count, free, maybe, notes, open, pair, title"
            ),
        ),
        (
            "step.merged.report.zzz",
            "'step.merged.report' has no 'zzz'; there are count, free, maybe, notes, open, pair, title",
        ),
        (
            "step.nested.json.zzz",
            "'step.nested.json' has no 'zzz'; there are count, free, maybe, notes, open, pair, title",
        ),
        ("step.closed.x", "'step.closed' has no 'x'; there are no fields to read here"),
        ("step.report.title.x", "'step.report.title' is text: it has no 'x'"),
        ("step.report.count[0]", "'step.report.count' is a number: it has no '0'"),
        ("step.report.notes.x", "'step.report.notes' is a list: it has no 'x', only numbers from [0]"),
        ("step.report.notes[0].x.y", "'step.report.notes[0].x' is text: it has no 'y'"),
        ("step.report.pair[1].x", "'step.report.pair[1]' is text: it has no 'x'"),
        ("step.report.pair[2].x", "'step.report.pair[2]' is null: it has no 'x'"),
        ("step.report.free[0]", "'step.report.free' is an object, its fields have names, not the number 0"),
    ],
)
def test_a_field_that_the_schema_rules_out_is_reported(expression: str, message: str) -> None:
    assert wrong(expression) == [message]


def test_steps_are_listed_where_none_is_near() -> None:
    scope = TemplateScope(steps=by_id(plain, report), env_allow=frozenset(), later=frozenset())
    assert wrong("step.zzz.result", scope) == ["'step.zzz': unknown step 'zzz'; there are plain, report"]


def test_of_many_steps_the_first_are_listed() -> None:
    many = by_id(*(seen(f"s{number:02}") for number in range(21)))
    scope = TemplateScope(steps=many, env_allow=frozenset(), later=frozenset())
    assert wrong("step.zzz.result", scope)[0].endswith("there are " + ", ".join(list(many)[:20]) + ", …")


def test_where_there_are_no_steps_that_is_reported() -> None:
    scope = TemplateScope(steps={}, env_allow=frozenset(), later=frozenset())
    assert wrong("step.zzz.result", scope) == [
        "'step.zzz': unknown step 'zzz'; there are no steps to read here"
    ]


def test_every_wrong_name_is_reported_with_its_place() -> None:
    faults = unknown_names(parse_template("{{ run.id }} {{ env }} {{ attempt.x }}"), SCOPE)
    assert faults == [
        NameFault(offset=16, message="'env' is not a value; name a variable, as in env.NAME"),
        NameFault(offset=26, message="'attempt' is a number: it has no 'x'"),
    ]


def test_a_dash_in_an_id_without_quotes_is_explained() -> None:
    assert wrong("step.a-b.result")[0] == "'step.a': unknown step 'a'; if you mean 'a-b', write step['a-b']"


@pytest.mark.parametrize(
    ("step", "structured"),
    [
        (report, True),
        (plain, False),
        (merged, True),
        (text_join, False),
        (strict_join, True),
        (nested, True),
        (seen("empty", "join"), False),
        (seen("empty", "pipeline"), False),
    ],
)
def test_a_result_is_structured_by_its_own_schema_or_by_all_it_is_made_of(
    step: TemplateStep, *, structured: bool
) -> None:
    assert is_structured(step) is structured


def test_a_path_is_written_as_in_a_template() -> None:
    assert written(("step", "a-b", "items", 0, "x")) == "step['a-b'].items[0].x"
