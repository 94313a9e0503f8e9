import math

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from weft.plan.text.document import Scalar, Table, read_document
from weft.plan.text.emit import WIDTH, to_dense_yaml, to_yaml

nasty = st.sampled_from([
    "", " ", "\n", "\t", "\r", "\r\n", "\x00", "\x07", "\x7f", "\x85", "\xa0", "\u2028", "\u2029", "\ufeff",
    "\ufffe", "\uffff", "😀", "é", "yes", "No", "on", "OFF", "y", "n", "null", "~", "true", "False", "=", "<<",
    "1", "-1", "012", "0o14", "0x1f", "1_000", "1.5", "1e3", "1:30", ".inf", ".nan", "2001-01-01",
    "2001-01-01 10:00:00", "- a", "-", "?", "? a", ":", "a: b", "a:", "a #b", "#a", "a # b", "!x", "&a",
    "*a", "[a", "]", "{", "}",
    ",", "a, b", "@a", "`a`", "%a", "|", ">", "'", '"', "\\", "---", "...", "a\nb", "a\nb\n", "a\n\n",
    "a\n b", " a\nb",
    "\na", "a\n\tb", "\ta\nb", "a \nb", "a\n \nb", "a\n#b\n", "a\x85b", "a\rb\n", "a\n---\nb", "{{ x }}",
    "30m", "5h3", "src/**",
    "/a/b", "a" * 1100, "x y " * 60,
])  # fmt: skip
texts = (
    nasty
    | st.text(st.characters(exclude_categories=["Cs"]))
    | st.lists(nasty, min_size=2, max_size=4).map("".join)
)
scalars = st.none() | st.booleans() | st.integers() | texts


def nested(leaves):
    return st.recursive(
        leaves,
        lambda inner: st.lists(inner, max_size=5) | st.dictionaries(texts, inner, max_size=5),
        max_leaves=20,
    )


data = nested(scalars | st.floats(allow_nan=False))
comments = st.text(st.characters(exclude_categories=["Cs"]))


def load(text):
    return yaml.load(text, yaml.CSafeLoader)


def paths(value, path=()):
    inner = []
    if isinstance(value, dict):
        inner = list(value.items())
    if isinstance(value, list):
        inner = list(enumerate(value))
    return [path, *(inner_path for key, part in inner for inner_path in paths(part, (*path, key)))]


@given(data)
def test_what_is_written_is_read_back_by_a_loader_of_yaml_1_1(value):
    assert load(to_yaml(value)) == value
    assert yaml.load(to_yaml(value), yaml.SafeLoader) == value


@given(nested(scalars))
def test_what_is_written_for_programs_is_read_back_as_well(value):
    assert load(to_dense_yaml(value)) == value


@pytest.mark.parametrize("key", ["k" * 1000, "k" * 1100, '"' * 700, "\\" * 600, "😀" * 1100])
def test_a_long_key_is_read_back_from_what_is_written_for_programs(key):
    assert load(to_dense_yaml([{"a": {key: 1}}])) == [{"a": {key: 1}}]


@given(data, st.data())
def test_comments_anywhere_change_nothing(value, draw):
    every = {path: draw.draw(comments) for path in paths(value)}
    assert load(to_yaml(value, comments=every)) == value


@given(texts)
def test_a_string_is_text_in_yaml_1_2_too(text):
    root = read_document(to_yaml({"a": text, "b": [text]}), "x.yaml").root
    assert isinstance(root, Table)
    first = root.get("a")
    assert isinstance(first, Scalar)
    assert (first.kind(), first.text) == ("text", text)


@pytest.mark.parametrize(
    "word",
    ["1", "1e3", "0o14", "yes", "Null", "~", "1:30", "2001-01-01", ".5", "-a", "* b", "a: b", "a #b", "a:"],
)
def test_what_could_be_something_else_is_quoted(word):
    assert to_yaml([word]) == f'["{word}"]\n'
    assert to_yaml({word: word}) == f'"{word}": "{word}"\n'


@pytest.mark.parametrize("word", ["a", "src/**", "/a/b", "a b (c)", "30m", "90s", "a:b", "it's", "été", "_x"])
def test_an_ordinary_string_is_bare(word):
    assert to_yaml({"k": word}) == f"k: {word}\n"


def test_commas_and_colons_are_quoted_within_brackets_only():
    assert to_yaml({"k": "a, b:c"}) == "k: a, b:c\n"
    assert to_yaml(["a, b"]) == '["a, b"]\n'
    assert to_yaml(["b:c"]) == '["b:c"]\n'


def test_characters_that_yaml_does_not_take_are_escaped():
    assert to_yaml("\x00\x7f\x85\u2028\ufeff") == '"\\u0000\\u007f\\u0085\\u2028\\ufeff"\n'


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "null"), (True, "true"), (False, "false"), (0, "0"), (-3, "-3"), (1.5, "1.5"), (1e16, "1.0e+16"),
     (5e-324, "5.0e-324"), (math.inf, ".inf"), (-math.inf, "-.inf"), (math.nan, ".nan"), ([], "[]"), ({}, "{}")],
)  # fmt: skip
def test_values_that_are_no_text(value, text):
    assert to_yaml(value) == f"{text}\n"


def test_lines_of_text_are_a_literal_block():
    assert to_yaml({"a": "x\n\n  y\n", "b": "x\n#y"}) == "a: |\n  x\n\n    y\nb: |-\n  x\n  #y\n"
    assert to_yaml(["x\ny\n", [{"k": "x\ny"}]]) == "- |\n  x\n  y\n- - k: |-\n      x\n      y\n"
    assert to_yaml("x\ny\n") == "|\n  x\n  y\n"


@pytest.mark.parametrize("text", ["\n", "\na", " a\nb", "a\n \nb", "a\n\n", "a\rb\n", "a\x07\nb"])
def test_lines_that_a_block_might_change_are_quoted(text):
    assert to_yaml(text).startswith('"')
    assert load(to_yaml(text)) == text


def test_a_short_list_is_on_one_line_and_a_long_one_is_not():
    assert to_yaml({"k": ["a", 1, None]}) == "k: [a, 1, null]\n"
    long = ["word" * 5] * 6
    assert to_yaml({"k": long}) == "k:\n" + f"  - {long[0]}\n" * 6
    assert to_yaml(["a" * (WIDTH - 2)]) == f"[{'a' * (WIDTH - 2)}]\n"
    assert to_yaml(["a" * (WIDTH - 1)]) == f"- {'a' * (WIDTH - 1)}\n"


def test_entries_and_items_are_indented():
    assert (
        to_yaml({"a": [{"b": 1, "c": {"d": []}}, [[{}]]]})
        == "a:\n  - b: 1\n    c:\n      d: []\n  - - - {}\n"
    )


def test_a_key_too_long_for_a_colon_is_marked():
    key = "k" * 1001
    assert to_yaml({key: 1}, comments={(key,): "long"}) == f"# long\n? {key}\n: 1\n"


def test_a_short_comment_stands_behind_and_a_long_one_above():
    long = "word " * 30
    comments = {
        (): "first",
        ("a",): "one",
        ("b",): long,
        ("c",): "of c",
        ("c", 0): "item",
        ("c", 0, "d"): "of d",
    }
    text = to_yaml({"a": 1, "b": 2, "c": [{"d": 1}, 2]}, comments=comments)
    assert text == (
        f"# first\na: 1  # one\n# {long.strip()}\nb: 2\n# of c\nc:\n  # item\n  - d: 1  # of d\n  - 2\n"
    )


def test_a_comment_on_the_first_key_of_an_item_stands_above_the_item():
    text = to_yaml([{"a": "x\ny", "b": 1}], comments={(0, "a"): "why"})
    assert text == "  # why\n- a: |-\n    x\n    y\n  b: 1\n"


def test_a_comment_of_two_lines_stands_above_without_what_would_break_it():
    assert to_yaml({"a": 1}, comments={("a",): "x\n\ny\x85z"}) == "# x\n# y z\na: 1\n"
