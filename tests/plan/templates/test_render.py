"""Templates with values put in: what they give, what is said of what is not there, and that Jinja agrees."""

import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from weft.errors import WeftError
from weft.plan.templates import render as module
from weft.plan.templates.parse import TemplateError, parse_template
from weft.plan.templates.render import holds, render
from weft.plan.templates.shell import shell_text
from weft.plan.templates.values import NotThereError, RenderError

BOTH = {"bugs": {"severity": "high", "text": "it's"}, "list": [{"a": 1}, None], "items": [], "ok": True}
VALUES: dict[str, Any] = {
    "slice": {"id": "store", "prompt": "Save\nnotes", "title": ""},
    "step": {"both": BOTH, "my-step": {"result": "x"}},
    "feedback": "",
    "attempt": 2,
    "share": 0.5,
}


def fault(text: str, values: Mapping[str, object] = VALUES) -> str:
    with pytest.raises(RenderError) as caught:
        render(text, values)
    assert str(caught.value) == caught.value.message
    return f"{caught.value.offset}: {caught.value.message}"


# Values


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""),
        ("no holes }} { here", "no holes }} { here"),
        ("{{ slice.prompt }}", "Save\nnotes"),
        ("a{{slice.id}}b{{ feedback }}c{{\nattempt\n}}\n", "astorebc2\n"),
        ("{{ step.both.bugs.severity | raw }}", "high"),
        ("{{ step.both.list[0].a }}{{ share }}", "10.5"),
        ("{{ step.both.ok }} {{ step.both.list[1] }}", "true null"),
        ("{{ step.both.bugs }}", '{"severity":"high","text":"it\'s"}'),
        ("{{ step.both.list }}", '[{"a":1},null]'),
        ("{{ step.both.items }}", "[]"),
        ("{{ feedback }}}", "}"),
        ("{{ slice.id[0] }}", "s"),
        ("a\r\nb\rc{{ attempt }}\r\n", "a\nb\nc2\n"),
    ],
)
def test_a_plain_template_has_its_values_put_in(text: str, expected: str) -> None:
    assert render(text, VALUES) == expected
    assert "".join(module._pieces_by_jinja(text, VALUES)) == expected


@pytest.mark.parametrize(
    ("expression", "truth"),
    [
        ("always", True),
        ("never", False),
        ("feedback", False),
        ("slice.id", True),
        ("attempt == 2", True),
        ("attempt != 2", False),
        ("attempt == -2", False),
        ("share == 0.5", True),
        ("step.both.ok == true", True),
        ("step.both.ok != false", True),
        ('slice.id == "store"', True),
        ("slice.prompt == 'Save\r\nnotes'", True),
        ("{{ attempt == 2 }}", True),
        (" {{- attempt == 2 -}} ", True),
        ("attempt < 3 and not feedback", True),
        ("'notes' in slice.prompt", True),
        ("step.both.list | select('none') | list", True),
        ("step.both.items | select", False),
        ("step.both.missing is defined", False),
        ("step.both.missing | default(attempt)", True),
    ],
)
def test_a_condition_is_true_or_false(expression: str, truth: bool) -> None:
    assert holds(expression, VALUES) is truth


# What is not there


@pytest.mark.parametrize(
    ("path", "message"),
    [
        (
            "step.both.bugs.sverity",
            "'step.both.bugs.sverity': 'bugs' has no 'sverity'; did you mean 'severity'? there are severity, text",
        ),
        (
            "step.both.list[7].a",
            "'step.both.list[7]': 'list' is a list of 2: it has no [7], only numbers from [0]",
        ),
        (
            "step.both.list.a",
            "'step.both.list.a': 'list' is a list of 2: it has no 'a', only numbers from [0]",
        ),
        ("step.both[0]", "'step.both[0]': 'both' has no [0]; there are bugs, items, list, ok"),
        ("slice.id.upper", "'slice.id.upper': 'id' is a text of 5 characters: it has no 'upper'"),
        ("slice.id[9]", "'slice.id[9]': 'id' is a text of 5 characters: it has no [9]"),
        ("step.both.ok.x", "'step.both.ok.x': 'ok' is true: it has no 'x'"),
        ("attempt.real", "'attempt.real': 'attempt' is 2: it has no 'real'"),
        ("step.both.bugs.keys", "'step.both.bugs.keys': 'bugs' has no 'keys'; there are severity, text"),
        (
            "attemt",
            f"unknown name 'attemt'; did you mean 'attempt'? there are {', '.join(sorted(VALUES))}",
        ),
    ],
)
def test_an_unknown_path_is_reported_with_what_there_is(path: str, message: str) -> None:
    assert fault(f"{{{{ {path} }}}}") == f"3: {message}"
    assert fault(f"{{{{ {path} | upper }}}}") == f"3: {message}"
    for expression in (f"  {path} == 1", f"  {path} == 1 or attempt"):
        with pytest.raises(RenderError) as caught:
            holds(expression, VALUES)
        assert (caught.value.offset, caught.value.message) == (2, message)


def test_only_the_name_that_was_missed_is_reported() -> None:
    text = "{% if step.both.x is defined %}{{ step.both.x }}{% endif %}{{ step.both.y | upper }}"
    assert fault(text) == "62: 'step.both.y': 'both' has no 'y'; there are bugs, items, list, ok"


def test_what_is_missed_by_a_key_that_is_computed_is_reported_without_a_path() -> None:
    text = "{% for key in ['severity', 'colour'] %}{{ step.both.bugs[key] }}{% endfor %}"
    assert fault(text) == "0: the value has no 'colour'; there are severity, text"


def test_an_empty_mapping_has_nothing_to_read() -> None:
    assert fault("{{ a.b }}", {"a": {}}) == "3: 'a.b': 'a' has no 'b'; there is nothing to read here"


class Excuses(Mapping[str, object]):
    """A mapping that says why it has nothing."""

    def __getitem__(self, key: str) -> object:
        raise NotThereError(f"no {key} today")

    def __iter__(self) -> Iterator[str]:
        return iter(["a", "b"])

    def __len__(self) -> int:
        return 2


def test_a_mapping_may_say_itself_why_a_key_is_missing() -> None:
    values = {"x": Excuses()}
    assert fault("{{ x.bread }}", values) == "3: 'x.bread': no bread today"
    assert fault("{{ x.bread | upper }}", values) == "3: 'x.bread': no bread today"
    assert not holds("x.bread is defined or false", values)


def test_a_mapping_that_is_no_json_is_no_value_by_itself() -> None:
    message = "this is not a value; name a field of it; there are a, b"
    assert fault("ab{{ x }}", {"x": Excuses()}) == f"5: {message}"
    assert fault("{{ [x] }}", {"x": Excuses()}) == f"0: {message}"
    assert fault("{{ x.a }}", {"x": {"a": object()}}) == "3: a object cannot be inserted into a text"
    assert fault("{{ x.y }}", {"x": object()}) == "3: 'x.y': 'x' is no mapping: it has no 'y'"


def deep(levels: int) -> object:
    value: object = []
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize("value", [deep(100_000), ["\ud800"]])
def test_what_json_cannot_tell_is_an_error(value: object) -> None:
    assert fault("{{ x }}", {"x": value}).startswith("3: this value cannot be written as JSON: ")


@pytest.mark.parametrize("text", ["{{ a", "{{ a | uper }}", "{% include 'x' %}"])
def test_what_is_no_template_is_refused_in_the_same_words_as_at_load(text: str) -> None:
    with pytest.raises(TemplateError) as at_load:
        parse_template(text)
    assert fault(text) == f"{at_load.value.offset}: {at_load.value.message}"


def test_what_is_no_expression_is_refused() -> None:
    with pytest.raises(RenderError, match="the expression is empty") as caught:
        holds(" ", VALUES)
    assert isinstance(caught.value, WeftError)


# The two ways give the same

KEYS = st.sampled_from(["a", "b", "items", "keys", "upper", "0"])
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=3)
)
JSON = st.recursive(
    SCALARS,
    lambda below: st.lists(below, max_size=2) | st.dictionaries(KEYS, below, max_size=3),
    max_leaves=6,
)
ALL_VALUES = st.fixed_dictionaries({"a": st.dictionaries(KEYS, JSON, max_size=3), "b": JSON})
PATHS = st.builds(
    "{}{}".format,
    st.sampled_from(["a", "a", "a", "b", "c"]),
    st.lists(st.sampled_from([".a", ".b", ".items", ".keys", ".upper", "[0]", "[1]"]), max_size=3).map(
        "".join
    ),
)
HOLES = st.builds(
    "{{{{{}{}{}}}}}".format,
    st.sampled_from(["", " ", "\n"]),
    PATHS,
    st.sampled_from([" ", "", "| raw", " |raw "]),
)
PLAIN = st.lists(HOLES | st.text("a {}'\"\\$#\r\n", max_size=3), max_size=3).map("".join)
LITERALS = st.sampled_from(["'x'", '"a\r"', "''", "0", "-1", "1.5", "true", "false"])
CONDITIONS = PATHS | st.builds("{} {} {}".format, PATHS, st.sampled_from(["==", "!="]), LITERALS)


def outcome(make: Callable[[], object]) -> object:
    try:
        return make()
    except RenderError as error:
        return f"error: {error}"


@given(PLAIN, ALL_VALUES, st.booleans())
@example("{{ a.items }}", {"a": {}, "b": 0}, False)
@example("'{{ b }}'", {"a": {}, "b": "it's"}, True)
def test_a_plain_template_gives_what_jinja_gives(text: str, values: dict[str, object], quote: bool) -> None:
    try:
        assume(module._plain_parts(text) is not None)
    except TemplateError:
        assume(False)
    finish = shell_text if quote else "".join
    by_jinja = outcome(lambda: finish(module._pieces_by_jinja(text, values)))
    assert outcome(lambda: render(text, values, quote=quote)) == by_jinja


@given(CONDITIONS, ALL_VALUES, st.sampled_from(["{}", "{{{{ {} }}}}", " {{{{{}}}}}\n"]))
def test_a_plain_condition_gives_what_jinja_gives(text: str, values: dict[str, object], around: str) -> None:
    expression = around.format(text)
    assert module._plain_comparison(expression) is not None
    by_jinja = outcome(lambda: module._truth_by_jinja(expression, values))
    assert outcome(lambda: holds(expression, values)) == by_jinja


@pytest.mark.parametrize(
    "text", ["{{ 'a' }}", "{{ a }}{{ 'b' }}", "{{ a | upper }}", "{{ a }}{# #}", "{{ a[b] }}", "{{- a }}"]
)
def test_what_is_not_plain_is_left_to_jinja(text: str) -> None:
    assert module._plain_parts(text) is None


@pytest.mark.parametrize("text", ["true", "a == none", "a[b] == 1", "not a", "a == b"])
def test_a_condition_that_is_not_plain_is_left_to_jinja(text: str) -> None:
    assert module._plain_comparison(text) is None


def test_jinja_is_not_imported_for_plain_templates() -> None:
    code = (
        "import sys; from weft.plan.templates.render import holds, render;"
        "render('{{ a.b }} {{ a.c[0] | raw }}', {'a': {'b': 1, 'c': [2]}}, quote=True);"
        "holds('a == 1', {'a': 1}); sys.exit('jinja2' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
