"""No template takes for ever, or all memory: it is refused before."""

import pytest

from weft.plan.templates.jinja_render import pieces_by_jinja, truth_by_jinja
from weft.plan.templates.values import RenderError

VALUES = {"s": "x" * 1_000_000, "n": [1] * 1_000, "big": 3_000_000_000, "small": "a b\nc"}

HOSTILE = [
    "{{ '{:>3000000000}'.format(1) }}",
    "{{ '{:>{}}'.format(1, big) }}",
    "{{ '{:>{w}}'.format(1, w=big) }}",
    "{{ '%3000000000d' % 1 }}",
    "{{ '%*d' % (big, 1) }}",
    "{{ '%3000000000d'|format(1) }}",
    "{{ '%s'|format(s) * 9 }}",
    "{{ ('{0}' * 300000).format(s) }}",
    "{{ 'a'.center(big) }}",
    "{{ 'a'.ljust(big) }}",
    "{{ 'a'.zfill(big) }}",
    "{{ '\\t'.expandtabs(big) }}",
    "{{ ('\\t' * 1000000).expandtabs(1000000) }}",
    "{{ s.replace('x', s) }}",
    "{{ s.replace('', s) }}",
    "{{ s|replace('x', s) }}",
    "{{ s.join(n|map('string')) }}",
    "{{ n|join(s) }}",
    "{{ s.translate({120: s}) }}",
    "{{ 'a'|center(big) }}",
    "{{ ('\\n' * 1000000)|indent(1000000) }}",
    "{{ ('\\n' * 1000000)|indent(width=1000000) }}",
    "{{ s|wordwrap(1, true, s) }}",
    "{{ n|batch(big, 'x') }}",
    "{{ n|slice(big) }}",
    "{{ (n * 1000)|sum(start=[]) }}",
    "{{ 2 ** big }}",
    "{{ s * 2 }}",
    "{% set a = namespace(t=s) %}",
    "{% for a in s %}{% endfor %}",
    "{% for a in n %}{% for b in n %}{% endfor %}{% endfor %}",
    "{% for a in n %}{{ s }}{% endfor %}",
    "{% macro f(n) %}{{ f(n + 1) }}{{ f(n + 1) }}{% endmacro %}{{ f(0) }}",
    "{% macro f(n) %}{% if n %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(40) }}",
    "{% macro f(t, n) %}{% if n %}{{ f(t + t, n - 1) }}{% endif %}{% endmacro %}{{ f(s, 40) }}",
    "{% macro f(t, n) %}{% if n %}{{ f(t ~ t, n - 1) }}{% endif %}{% endmacro %}{{ f(s, 40) }}",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_it_is_refused(text: str) -> None:
    with pytest.raises(RenderError):
        pieces_by_jinja(text, list, VALUES)


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("{{ '{:>5}|{}'.format(1, small) }}", "    1|a b\nc"),
        ("{{ '%5d' % 1 }}{{ 7 % 4 }}", "    13"),
        ("{{ '%s-%s'|format(1, 2) }}", "1-2"),
        ("{{ small.replace('a', 'z') }}{{ small|replace('b', 'y') }}", "z b\nca y\nc"),
        ("{{ ','.join(['a', 'b']) }}{{ [1, 2]|join('-') }}", "a,b1-2"),
        ("{{ small|indent(2) }}", "a b\n  c"),
        ("{{ 'aa bb'|wordwrap(2) }}", "aa\nbb"),
        ("{{ [1, 2]|sum }}{{ [[1], [2]]|sum(start=[]) }}", "3[1,2]"),
        (
            "{% for a in n[:3] %}{{ loop.index }}/{{ loop.length }}{{ ' ' if not loop.last }}{% endfor %}",
            "1/3 2/3 3/3",
        ),
        ("{% for a in [[1, [2]]] recursive %}{{ a[0] }}{% endfor %}", "1"),
        ("{{ 'a' + 'b' ~ 1 }}{{ 'a\tb'.expandtabs(2) }}{{ 'ab'.translate({97: 'z'}) }}", "ab1a bzb"),
        ("{{ s|length }}", "1000000"),
    ],
)
def test_what_is_ordinary_is_rendered(text: str, result: str) -> None:
    assert "".join(pieces_by_jinja(text, list, VALUES)) == result


def test_each_render_begins_to_count_again() -> None:
    for _ in range(3):
        assert pieces_by_jinja("{% for a in n %}{{ a }}{% endfor %}", list, VALUES) == ["1"] * 1_000


def test_a_condition_is_bounded_as_well() -> None:
    with pytest.raises(RenderError, match="too large"):
        truth_by_jinja("'{:>3000000000}'.format(1)", list, VALUES)
