"""Templates that need Jinja: values are JSON, nothing is reached that is none, and nothing takes for ever."""

from typing import Any

import pytest

from weft.plan.templates.render import render
from weft.plan.templates.values import RenderError

VALUES: dict[str, Any] = {
    "slice": {"prompt": "  do it "},
    "json": {"items": [1, "two", True, None, {"a": 1}], "keys": "mine", "ok": False},
    "text": "x",
}


def fault(text: str) -> str:
    with pytest.raises(RenderError) as caught:
        render(text, VALUES)
    return caught.value.message


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{ true }} {{ none }} {{ 1.0 }} {{ 'x' }} {{ [1, true] }}", "true null 1.0 x [1,true]"),
        ("{{ text ~ true ~ none ~ [1] ~ json.ok }}", "xtruenull[1]false"),
        ("{{ json.items | join(', ') }}", '1, two, true, null, {"a":1}'),
        ("{{ [{'a': true}, {'a': 2}] | join('-', attribute='a') }}", "true-2"),
        ("{{ json.ok | string }}{{ (json.ok | string) | upper }}", "falseFALSE"),
        ("{{ json.items | tojson }}", '[1,"two",true,null,{"a":1}]'),
        ("{{ json.items[4] | tojson(2) }}", '{\n  "a": 1\n}'),
        ('{{ ["<\'>"] | tojson }}', '["<\'>"]'),
        ("{{ json.items[1:3] | map('string') }}", '["two","true"]'),
        ("{{ json.items[4].keys() }}{{ json.items[4].values() }}", '["a"][1]'),
        ("{{ json.items[4] | items }}{{ json.items[4].items() }}", '[["a",1]][["a",1]]'),
    ],
)
def test_values_are_written_as_json_wherever_they_become_text(text: str, expected: str) -> None:
    assert render(text, VALUES) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{ json.keys }} {{ json.items[1] }}", "mine two"),
        ("{{ json.items() | length }}", "3"),
        ("{{ slice.prompt.strip().upper() }}", "DO IT"),
        ("{{ '{:>3}'.format(text) }}", "  x"),
    ],
)
def test_a_key_goes_before_a_method_and_what_is_called_is_a_method(text: str, expected: str) -> None:
    assert render(text, VALUES) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{% for one in json.items if one is string %}{{ loop.index }}{{ one }}{% endfor %}\n", "1two\n"),
        ("{% for one in [1, 2] %}{{ loop.cycle('a', 'b') }}{% endfor %}", "ab"),
        ("{% if json.ok %}a{% elif text %}b{% endif %}", "b"),
        ("{% macro m(a, b=2) %}<{{ a }}{{ b }}>{% endmacro %}{{ m(1) }}{{ m(text, 3) }}", "<12><x3>"),
        ("{% macro m() %}({{ caller() }}){% endmacro %}{% call m() %}{{ text }}{% endcall %}", "(x)"),
        ("{% set a %}[{{ text }}]{% endset %}{{ a }}{{ a | upper }}", "[x][X]"),
        ("{% set a | upper %}[{{ text }}]{% endset %}{{ a }}", "[X]"),
        ("{% filter upper %}a{{ text }}{% endfilter %}", "AX"),
        ("{% with a = text %}{{ a }}{% endwith %}{# no #}{{- ' y' }}", "x y"),
        ("{% for one in [[1, [2]]] recursive %}{% for two in one %}{{ two }}{% endfor %}{% endfor %}", "1[2]"),
        ("{{ missing | default('none') }}{{ text | d('y') }}", "nonex"),
        ("{{ 3 * 'ab' }}{{ 'ab' * 2 }}{{ 2 ** 10 }}{{ 2 * 3 }}{{ 2.0 ** 2 }}", "ababababab102464.0"),
    ],
)  # fmt: skip
def test_statements_and_filters_work_as_in_any_jinja(text: str, expected: str) -> None:
    assert render(text, VALUES) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{{ json.items.append(1) }}", "access to attribute 'append' of 'list' object is unsafe"),
        ("{{ json.clear() }}", "access to attribute 'clear' of 'dict' object is unsafe"),
        ("{{ text.format_map }}", "'text' is a text of 1 characters: it has no 'format_map'"),
        ("{{ '{0.__class__}'.format(text) }}", "the value is a text of 1 characters: it has no '__class__'"),
        ("{{ range(3) }}", "unknown name 'range'"),
        ("{{ lipsum }}", "unknown name 'lipsum'"),
        ("{{ json.items | random }}", "unknown filter 'random'"),
        ("{{ text | attr('upper') }}", "unknown filter 'attr'"),
        ("{% macro m() %}{% endmacro %}{{ m }}", "a Macro cannot be inserted into a text"),
        (
            "{% for a in [1] %}{{ loop }}{% endfor %}",
            "a LoopContext cannot be inserted into a text",
        ),
    ],
)
def test_nothing_but_values_is_reached(text: str, message: str) -> None:
    before = repr(VALUES)
    assert message in fault(text)
    assert repr(VALUES) == before


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{{ 1 / 0 }}", "ZeroDivisionError: division by zero"),
        ("{{ text + 1 }}", "TypeError: "),
        ("{{ 9 ** 9999999999 }}", "OverflowError: the result of this ** would be too large"),
        ("{{ 'ab' * 999999999999 }}", "OverflowError: the result of this * would be too large"),
        ("{{ 999999999999 * [1] }}", "OverflowError: the result of this * would be too large"),
        ("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "RecursionError: "),
        ("{% for a in [1] %}" * 25 + "{% endfor %}" * 25, "SyntaxError: too many statically nested blocks"),
    ],
)
def test_whatever_goes_wrong_is_reported(text: str, message: str) -> None:
    assert fault(text).startswith(f"this template cannot be evaluated: {message}")


def test_what_a_filter_does_not_find_is_reported_in_its_words() -> None:
    assert fault("{{ [] | first }}") == "No first item, sequence was empty."


@pytest.mark.parametrize(
    "text",
    [
        "{{ [missing] }}",
        "{{ text ~ missing }}",
        "{{ missing | raw }}",
        "{{ missing | string }}",
        "{{ missing.x }}",
        "{{ [missing] | tojson }}",
        "{{ [missing] | join }}",
        "{% if missing %}{% endif %}",
        "{% for a in missing %}{% endfor %}",
        "{% set a %}{{ missing }}{% endset %}",
    ],
)
def test_an_unknown_name_is_reported_wherever_it_is_used(text: str) -> None:
    assert fault(text) == "unknown name 'missing'; there are json, slice, text"


def test_what_python_says_is_reported_in_short() -> None:
    assert len(fault(f"{{{{ '{'x' * 5000}' | int(base='{'y' * 5000}') }}}}{{{{ 'x' + 1 }}}}")) < 400
