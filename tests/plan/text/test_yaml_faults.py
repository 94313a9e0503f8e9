"""What is said about text that is not YAML: where it is wrong, and what to write instead."""

import re

import pytest
import yaml

from weft.plan.text.document import read_document
from weft.plan.text.problems import PlanError

LIST = "subplans:\n  - id: a\n    prompt: x\n"


def refused(text: str) -> tuple[int, int, str]:
    with pytest.raises(PlanError) as caught:
        read_document(text, "weft.yaml")
    (problem,) = caught.value.problems
    return problem.at.line, problem.at.column, problem.message.removeprefix("this is not YAML: ")


TAB = "a tab indents this line; YAML takes spaces only: replace each tab by spaces"
DASH = "an entry of the list of line 2 begins with '- '"
CLOSE = "is not closed, or a comma is missing"
COLON = "the value of 'a' has a colon in it; write it in quotes, as in a"
SINGLE = "write the text in single quotes, or each backslash twice"
IN_QUOTES = "or put a value that contains this character in quotes"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a:\n\t- b\n", (2, 1, TAB)),
        ("a:\n  - id: b\n\tsteps: []\n", (3, 1, TAB)),
        ("a:\n  b: 1\n \tc: 2\n", (3, 2, TAB)),
    ],
)
def test_a_tab_is_named_where_it_stands(text: str, message: tuple[int, int, str]) -> None:
    assert refused(text) == message


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "   verify: y",
            "this line is indented by 3 spaces; allowed here is 0 (as in line 1) or 4 (as in line 3)",
        ),
        (
            "     verify: y",
            "this line is indented by 5 spaces; allowed here is 0 (as in line 1) or 4 (as in line 3)",
        ),
        (
            " verify: y",
            "this line is indented by 1 space; allowed here is 0 (as in line 1) or 4 (as in line 3)",
        ),
        (" - id: b", "this line is indented by 1 space; allowed here is 2 (as in line 2)"),
        ("   - id: b", "this line is indented by 3 spaces; allowed here is 2 (as in line 2)"),
        ("  verify: y", f"{DASH}; for a key of the entry above, indent this line by 4 spaces"),
    ],
)
def test_a_line_that_is_indented_wrongly_is_reported_what_is_allowed(line: str, message: str) -> None:
    column = len(line) - len(line.lstrip()) + 1
    assert refused(f"{LIST}{line}\n") == (4, column, message)


def test_the_first_key_may_be_the_one_that_is_not_indented() -> None:
    message = "this line is indented by 1 space; allowed here is 0 (as in line 2)"
    assert refused("# a plan\nweft: 1\n\n plan: a\n") == (4, 2, message)


@pytest.mark.parametrize("indent", range(8))
@pytest.mark.parametrize("start", ["verify: y", "- id: b"])
def test_each_indentation_that_is_advised_is_yaml(indent: int, start: str) -> None:
    try:
        yaml.safe_load(f"{LIST}{' ' * indent}{start}\n")
    except yaml.YAMLError:
        message = refused(f"{LIST}{' ' * indent}{start}\n")[2].partition("; ")[2]
        advised = [int(number) for number in re.findall(r"(\d+) (?:\(as|spaces)", message)]
        assert advised
        for good in advised:
            yaml.safe_load(f"{LIST}{' ' * good}{start}\n")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: use: colons", (1, 7, f"{COLON}: 'use: colons'")),
        ("- a: it's: odd", (1, 10, f"{COLON}: 'it''s: odd'")),
        ("a: @x", (1, 4, "a value cannot begin with '@'; write it in quotes: '@x'")),
        ("a: `x`", (1, 4, "a value cannot begin with '`'; write it in quotes: '`x`'")),
        ("a: {{ x }}", (1, 5, "a value that begins with {{ needs quotes; write '{{ x }}'")),
        ("a: {{ x }} {{ y }}", (1, 5, "a value that begins with {{ needs quotes; write '{{ x }} {{ y }}'")),
        ("a: {{ x | f(1) }}", (1, 5, "a value that begins with {{ needs quotes; write '{{ x | f(1) }}'")),
        ("a: [b, c", (1, 9, f"the [ of line 1 {CLOSE}; add ], {IN_QUOTES}")),
        ("a: {b: c\nd: [e]\n", (2, 2, f"the {{ of line 1 {CLOSE}; add }}, {IN_QUOTES}")),
        ("a: [", (1, 5, f"the [ of line 1 {CLOSE}; add ], {IN_QUOTES}")),
        ("a: 'b\nc: d\n", (2, 5, "the quote that opens in line 1 is not closed; add it where the text ends")),
        (
            'a: "\\d+"',
            (1, 5, f"\\d has no meaning within double quotes; {SINGLE}"),
        ),
        (
            "a: 1\nsubplans\n  - id: b\n",
            (2, 1, "a colon is missing after 'subplans'; each key of a mapping is written as 'key: value'"),
        ),
    ],
)  # fmt: skip
def test_a_slip_is_reported_with_what_to_write(text: str, message: tuple[int, int, str]) -> None:
    assert refused(text) == message


def test_a_long_value_is_cut() -> None:
    assert refused(f"a: {'long ' * 20}: x")[2].endswith(f"a: '{('long ' * 20)[:39]}…'")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: |x\n b\n", "while scanning a block scalar, did not find expected comment or line break"),
        ("a: &b &c d", "while parsing a block mapping, did not find expected key"),
    ],
)
def test_for_the_rest_the_words_of_the_parser_stay(text: str, message: str) -> None:
    assert refused(text)[2] == message
