"""Templates: the names they read, and what is refused; by a regular expression where that is enough."""

import subprocess
import sys

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from jinja2.meta import find_undeclared_variables
from jinja2.sandbox import SandboxedEnvironment

from weft.plan.templates import parse as templates
from weft.plan.templates.parse import TemplateError, parse_expression, parse_template


def names(text: str) -> list[str]:
    """Each name with its offset, in a form that is quick to read."""
    return [f"{'/'.join(map(str, name.path))} at {name.offset}" for name in parse_template(text).names]


def undeclared(text: str) -> set[str]:
    """What Jinja itself would look up outside of the template."""
    return set(find_undeclared_variables(SandboxedEnvironment().parse(text)))


def fault(text: str) -> str:
    with pytest.raises(TemplateError) as caught:
        parse_template(text)
    assert str(caught.value) == caught.value.message
    return f"{caught.value.offset}: {caught.value.message}"


# Names


@pytest.mark.parametrize("text", ["", "plain", "a { b } c }} d", "{{ 'text' }}", "{{ 1 + 1 }}", "{# a #}"])
def test_a_text_without_names_has_none(text: str) -> None:
    assert names(text) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{ feedback }}", ["feedback at 3"]),
        ("a {{slice.prompt}} b {{ plan.goal | raw }}", ["slice/prompt at 4", "plan/goal at 24"]),
        ("{{ step.a.items[0].x }}", ["step/a/items/0/x at 3"]),
        ("{{ step['a-b'].result }}", ["step/a-b/result at 3"]),
        ("{{ step.a.0 }}", ["step/a/0 at 3"]),
        ("{{ a[-1].b }}", ["a/-1/b at 3"]),
        ("{{ a ~ b.c }}{{ a }}", ["a at 3", "b/c at 7", "a at 16"]),
        ("{{ a if b else c }}", ["a at 3", "b at 8", "c at 15"]),
        ("{{ (a | first).b }}", ["a at 4"]),
        ("{{ a.b[c.d].e }}", ["a/b at 3", "c/d at 7"]),
        ("{{ a.b[true].c }}", ["a/b at 3"]),
        ("{{ feedback[:500] }}", ["feedback at 3"]),
        ("{{ slice.prompt.upper() ~ f(x) }}", ["slice/prompt at 3", "f at 26", "x at 28"]),
        ("{{ a | default(b) is sameas c }}", ["a at 3", "b at 15", "c at 28"]),
        ("\r\n\r{{- a | upper }}", ["a at 7"]),
        ("x \n {%- if a -%} \n {{ b }} {%- endif %}\n", ["a at 11", "b at 22"]),
        ("{% raw %}{{ a }}{% endraw %}{{ b }}", ["b at 31"]),
        ("{{ '}}' ~ a }}", ["a at 10"]),
        ("{{ a['_id'] }}", ["a/_id at 3"]),
    ],
)
def test_each_use_of_a_name_is_found_with_its_place(text: str, expected: list[str]) -> None:
    assert names(text) == expected


@pytest.mark.parametrize("constant", ["true", "false", "none", "True", "False", "None"])
def test_a_constant_is_not_a_name(constant: str) -> None:
    assert names(f"{{{{ {constant} }}}}") == []
    assert parse_expression(constant).names == ()


@pytest.mark.parametrize(
    "text",
    [
        "{% for x in [1] %}{{ x.y }}{{ loop.index }}{% endfor %}",
        "{% for x, (y, z) in [] if x and z %}{{ y }}{% endfor %}",
        "{% set x = 1 %}{{ x.y }}",
        "{% set x %}text{% endset %}{{ x }}",
        "{% set x | upper %}text{% endset %}{{ x }}",
        "{% with x = 1, y = 2 %}{{ x + y }}{% endwith %}",
        "{% macro m(x, y=1) %}{{ x ~ y ~ m ~ varargs ~ kwargs ~ caller() }}{% endmacro %}{{ m(1) }}",
        "{% macro m() %}{% endmacro %}{% call(x) m() %}{{ x }}{% endcall %}",
        "{% filter upper %}text{% endfilter %}",
    ],
)
def test_a_name_that_the_template_binds_is_not_free(text: str) -> None:
    assert names(text) == []
    assert undeclared(text) == set()


@pytest.mark.parametrize(
    ("text", "free"),
    [
        ("{{ x }}{% set x = x %}", ["x at 3", "x at 18"]),
        ("{% for x in x %}{% else %}{{ x }}{% endfor %}{{ x }}", ["x at 12", "x at 29", "x at 48"]),
        ("{% for x in [1] %}{% set y = 1 %}{% endfor %}{{ y }}{{ loop }}", ["y at 48", "loop at 55"]),
        ("{% for x in loop if loop %}{% endfor %}", ["loop at 12", "loop at 20"]),
        ("{% if a %}{% set x = 1 %}{% endif %}{{ x }}", ["a at 6", "x at 39"]),
        ("{% if a %}{% set x = 1 %}{% elif b %}{% endif %}{{ x }}", ["a at 6", "b at 33", "x at 51"]),
        ("{% with x = x %}{% endwith %}{{ x }}", ["x at 12", "x at 32"]),
        (
            "{% macro m(x, y=x) %}{{ z }}{% endmacro %}{{ x ~ caller }}",
            ["x at 16", "z at 24", "x at 45", "caller at 49"],
        ),
        ("{% call(x) m(x) %}{{ y }}{% endcall %}", ["m at 11", "x at 13", "y at 21"]),
        ("{% set x %}{{ c }}{{ x }}{% endset %}", ["c at 14", "x at 21"]),
        ("{% filter replace(a, 'b') %}{{ c }}{% endfilter %}", ["a at 18", "c at 31"]),
    ],
)
def test_a_name_is_free_where_it_is_not_surely_bound(text: str, free: list[str]) -> None:
    assert names(text) == free
    assert undeclared(text) <= {name.split()[0] for name in free}


def test_a_name_that_every_branch_sets_is_bound_after_them() -> None:
    branches = "{% if 1 %}{% set x = 1 %}{% elif 2 %}{% set x = 2 %}{% else %}{% set x = 3 %}{% endif %}"
    assert names(f"{branches}{{{{ x }}}}") == []


# Refusals


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "{{ a",
            "3: this is not a valid template: unexpected end of template, expected 'end of print statement'.",
        ),
        ("x {{ a b }}", "7: this is not a valid template: expected token 'end of print statement', got 'b'"),
        ("x {{ a $ }}", "7: this is not a valid template: unexpected char '$'"),
        ("{{ a) }}", "4: this is not a valid template: unexpected ')'"),
        (
            "${#list}",
            "3: '{#' starts a comment that does not end; to write the characters themselves, use {{ '{#' }}",
        ),
        ("{{ a | uper }}", "7: unknown filter 'uper'; did you mean 'upper'?"),
        ("{{ a is defned }}", "5: unknown test 'defned'; did you mean 'defined'?"),
        ("{{ a | map('uper') }}", "7: unknown filter 'uper'; did you mean 'upper'?"),
        ("{{ a | select('od') }}", "7: unknown test 'od'; did you mean 'odd'?"),
        ("{{ a | rejectattr('x', 'od') }}", "7: unknown test 'od'; did you mean 'odd'?"),
        ("{% filter uper %}{% endfilter %}", "10: unknown filter 'uper'; did you mean 'upper'?"),
        (
            "{{ a._x }}",
            "4: '._x': templates cannot read attributes that start with '_'; write ['_x'] to read a field",
        ),
        ("{{ a.__class__ }}", "4: '.__class__': templates cannot read attributes that start with '_'"),
        (
            "{{ a.b._c() }}",
            "6: '._c': templates cannot read attributes that start with '_'; write ['_c'] to read a field",
        ),
        ("{{ a['__class__'] }}", "4: templates cannot read '__class__'"),
        ("{% set x | replace(a, 'b') %}{% endset %}", "3: the filter of a set block cannot read names"),
        ("{% set a.b = 1 %}", "7: only a name can be set, not a part of a value"),
        ("{% for loop in [] %}{% endfor %}", "7: 'loop' is reserved by Jinja and cannot be set"),
        ("{% macro caller() %}{% endmacro %}", "3: 'caller' is reserved by Jinja and cannot be set"),
        (f"{{{{ {'1' * 5000} }}}}", "0: a number in this template is too long to be read"),
        (f"{{{{ {'(' * 5000} }}}}", "0: this template is nested too deeply"),
    ],
)
def test_what_is_wrong_is_reported_with_its_place(text: str, message: str) -> None:
    assert fault(text) == message


@pytest.mark.parametrize(
    "text",
    [
        "{{ a | map(attribute='x') }}",
        "{{ a | map('upper') }}",
        "{{ a | select }}",
        "{{ a | selectattr('x') }}",
    ],
)
def test_filters_that_take_the_names_of_others_are_read(text: str) -> None:
    assert names(text) == ["a at 3"]


@pytest.mark.parametrize(
    "text", ["{{ step[x].result }}", "{{ step.a[x] }}", "{{ env[x] }}", "{{ slice[x ~ 'y'] }}"]
)
def test_a_name_known_only_when_evaluated_is_refused_as_it_cannot_be_checked(text: str) -> None:
    assert "cannot be checked beforehand; write the name out" in fault(text)


@pytest.mark.parametrize(
    "text",
    [
        "{% include 'x' %}",
        "{% import 'x' as y %}",
        "{% from 'x' import y %}",
        "{% extends 'x' %}",
    ],
)
def test_a_template_that_needs_another_is_refused(text: str) -> None:
    assert fault(text).endswith(": templates in a plan cannot use include, import, from or extends")


@pytest.mark.parametrize("text", ["{% block x %}{% endblock %}", "{% autoescape true %}{% endautoescape %}"])
def test_other_statements_are_refused(text: str) -> None:
    assert fault(text) == "3: only for, if, set, with, filter, call and macro are available between {% and %}"


# Expressions


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("feedback", [("feedback",)]),
        (" step.a.exit_code == 0 ", [("step", "a", "exit_code")]),
        ("step.a.result != 'it }} ends'", [("step", "a", "result")]),
        ("step.a.ok == true", [("step", "a", "ok")]),
        ("'x' in step.a.result and attempt < 3", [("step", "a", "result"), ("attempt",)]),
        ("not feedback", [("feedback",)]),
        ("a == 'x' or b == 'y'", [("a",), ("b",)]),
        ('a == "x" or b == "y"', [("a",), ("b",)]),
        ("a == 'it\\'s'", [("a",)]),
        ("1 == 1", []),
    ],
)
def test_an_expression_stands_bare_or_in_braces(text: str, expected: list[tuple[str | int, ...]]) -> None:
    for written in (text, f"{{{{ {text} }}}}", f" {{{{- {text} -}}}}\n"):
        read = parse_expression(written).names
        assert [name.path for name in read] == expected
        assert [written.startswith(str(name.path[0]), name.offset) for name in read] == [True] * len(expected)


@pytest.mark.parametrize("text", ["", "  ", "{{ }}", "{{}}"])
def test_an_expression_is_not_empty(text: str) -> None:
    with pytest.raises(TemplateError, match="the expression is empty"):
        parse_expression(text)


@pytest.mark.parametrize(
    ("text", "offset"), [("{{ a }} == {{ b }}", 5), ("a, b", 1), ("a }} b", 2), ("a b", 2)]
)
def test_an_expression_is_only_one(text: str, offset: int) -> None:
    with pytest.raises(TemplateError, match="the expression should end here") as caught:
        parse_expression(text)
    assert caught.value.offset == offset


# The two ways to read a template agree

ROOTS = ["a", "step", "b_2", "X", "loop", "self", "raw", "for", "super"]
KEYWORDS = ["not", "and", "or", "in", "is", "if", "else", "true", "false", "none", "True", "None"]
WORDS = st.sampled_from([*ROOTS, *ROOTS, *ROOTS, *KEYWORDS, "_x", "é", "1a"])
SPACES = st.text(" \t\n\r\x0b\x1f\x85\xa0\u2003", max_size=2)
SUBSCRIPTS = st.sampled_from(["[0]", "[7]", "[10]", "[07]", "[1_0]", "[ 0 ]", "[-1]", ".0", "['k']", ". a"])
KEYS = st.builds(".{}".format, WORDS) | SUBSCRIPTS
CHAINS = st.builds(lambda root, keys: root + "".join(keys), WORDS, st.lists(KEYS, max_size=2))
STRINGS = st.sampled_from(["'x'", '"}}"', "'{{'", "'\\''", "'it\n'", "'é'"])
NUMBERS = st.sampled_from(["0", "-1", "1.5", "-0.0", "01", "1.", "1e5", "true", "false", "none", "x"])
COMPARED = st.builds(
    "{}{}{}{}".format, st.sampled_from(["==", "!=", "==", "=", "<"]), SPACES, STRINGS | NUMBERS, SPACES
)
EXPRESSIONS = st.builds("{}{}{}{}".format, SPACES, CHAINS, SPACES, COMPARED | st.just(""))
FILTERED = st.builds(
    "{}{}{}|{}{}".format, SPACES, CHAINS, SPACES, SPACES, st.sampled_from(["raw", "raw ", "raw()", "upper"])
)
HOLES = st.builds("{{{{{}{}{}}}}}".format, SPACES, CHAINS, SPACES) | st.builds("{{{{{}}}}}".format, FILTERED)
ODD_HOLES = st.builds(
    "{}{}{}".format, st.sampled_from(["{{-", "{{{", "{%"]), EXPRESSIONS, st.sampled_from(["-}}", "}", "%}"])
)
PLAIN_TEXTS = st.lists(HOLES | st.text("a {}\n\r'", max_size=3), max_size=2).map("".join)
TEXTS = st.lists(HOLES | ODD_HOLES | st.text("a {}\n\r'%#", max_size=4), max_size=4).map("".join)


@given(PLAIN_TEXTS)
@example("{{ a }}}")
@example("{{ a.not }}{{a|raw}}{{\na\n}}")
@example("{{ a }}{")
def test_where_the_regular_expression_reads_a_template_jinja_reads_the_same(text: str) -> None:
    plain = templates._names_in_plain_holes(text)
    assume(plain is not None)
    assert plain == templates._by_jinja(text, expression=False).names


@given(EXPRESSIONS)
def test_where_the_regular_expression_reads_an_expression_jinja_reads_the_same(text: str) -> None:
    plain = templates._plain_name(templates.COMPARISON.fullmatch(text))
    assume(plain is not None)
    assert (plain,) == templates._by_jinja(text, expression=True).names


@pytest.mark.parametrize("text", ["{{ step.a.items[0].x }}", "a{{b|raw}}c{{\td\n}}", "{{ loop.not }}"])
def test_the_regular_expression_reads_plain_templates(text: str) -> None:
    assert templates._names_in_plain_holes(text) == parse_template(text).names


@pytest.mark.parametrize(
    "text", ["{{ 'a' }}", "{{ a }}{# #}", "{{ a }}{% raw %}", "{{ a | upper }}", "{{ not }}"]
)
def test_the_regular_expression_leaves_all_else_to_jinja(text: str) -> None:
    assert templates._names_in_plain_holes(text) is None


@given(TEXTS)
@example("{{ 'a'")
@example("{{ '\\x' }}")
def test_any_text_is_either_read_or_refused(text: str) -> None:
    for parse in (parse_template, parse_expression):
        try:
            offsets = [name.offset for name in parse(text).names]
        except TemplateError as error:
            offsets = [error.offset]
        assert offsets == sorted(offsets)
        assert all(0 <= offset <= len(text) for offset in offsets)


def test_jinja_is_not_imported_for_plain_templates() -> None:
    code = (
        "import sys; from weft.plan.templates.parse import parse_expression, parse_template;"
        "parse_template('{{ slice.prompt }} {{ step.a.items[0] | raw }}'); parse_expression('step.a.ok == true');"
        "sys.exit('jinja2' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
