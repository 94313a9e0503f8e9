import json
import re

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from weft.plan.text.document import (
    Document,
    DocumentLimits,
    Items,
    Scalar,
    Table,
    _Builder,
    line_of,
    read_document,
    width_of,
)
from weft.plan.text.problems import MOST_PROBLEMS, PlanError

PLAN = """\
# A plan, for breaking.
weft: 1
plan: notes
defaults: &usual {timeout: 30m, retries: 2}
pipelines:
  tdd:
    - {id: tests, agent: tester, prompt: "Write failing tests\\nfor: {{ slice.prompt }}"}
    - id: code
      prompt: |
        Make the tests pass.
          {{ feedback }}
      env: {CAFÉ: 'crème brûlée'}
subplans:
  - id: store
    <<: *usual
    files: [src/store/**, "näme"]
    verify: >-
      pytest -q
      tests/store
"""

words = st.text(
    st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"], exclude_characters="\ufeff\ufffe\uffff"),
    min_size=1,
    max_size=6,
)
data = st.recursive(
    words | st.integers(-99, 99) | st.booleans(),
    lambda inner: (
        st.lists(inner, min_size=1, max_size=4) | st.dictionaries(words, inner, min_size=1, max_size=4)
    ),
    max_leaves=12,
)


def read(text, **limits):
    return read_document(text, "plan.yaml", limits=DocumentLimits(**limits))


def root(text, **limits):
    return read(text, **limits).root


def refused(text, **limits):
    """What is said about a text that cannot be read, and where."""
    with pytest.raises(PlanError) as caught:
        read(text, **limits)
    problem = caught.value.problems[-1]
    return problem.at.line, problem.at.column, problem.message


def reported(text):
    """What is said about a text that can be read."""
    return [(problem.at.line, problem.at.column, problem.message) for problem in read(text).problems]


def plain(node):
    """The node without its places."""
    match node:
        case Scalar():
            return node.text
        case Items():
            return [plain(inner) for inner in node.nodes]
        case Table():
            return {key: plain(value) for key, (_, value) in node.entries.items()}


def places(node):
    """Each value with the place where it stands, in the order of the text."""
    yield node.line, node.column, node.text if isinstance(node, Scalar) else type(node).__name__
    if isinstance(node, Items):
        for inner in node.nodes:
            yield from places(inner)
    if isinstance(node, Table):
        for key, value in node.entries.values():
            yield from places(key)
            yield from places(value)


def places_by_pyyaml(node):
    """The same by PyYAML's own parser, which is not libyaml's."""
    names = {yaml.SequenceNode: "Items", yaml.MappingNode: "Table"}
    mark = node.start_mark
    yield mark.line + 1, mark.column + 1, names.get(type(node)) or node.value
    if isinstance(node, yaml.SequenceNode):
        for inner in node.value:
            yield from places_by_pyyaml(inner)
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            yield from places_by_pyyaml(key)
            yield from places_by_pyyaml(value)


# Where things stand


def test_every_node_knows_its_line_and_column():
    text = "a: 1\nbé:\n  - 'x'\n  - {c: \"y\", d: [z]}\n"
    assert list(places(root(text))) == [
        (1, 1, "Table"),
        (1, 1, "a"),
        (1, 4, "1"),
        (2, 1, "bé"),
        (3, 3, "Items"),
        (3, 5, "x"),
        (4, 5, "Table"),
        (4, 6, "c"),
        (4, 9, "y"),
        (4, 14, "d"),
        (4, 17, "Items"),
        (4, 18, "z"),
    ]


@given(data, st.sampled_from([True, False, None]), st.integers(2, 5))
def test_places_in_blocks_and_brackets_are_those_of_another_parser(value, style, indent):
    text = yaml.safe_dump(value, default_flow_style=style, indent=indent, allow_unicode=True, width=30)
    assert list(places(root(text))) == list(places_by_pyyaml(yaml.compose(text, yaml.SafeLoader)))


@given(data, st.sampled_from([None, 1, 4]))
def test_places_in_json_are_those_of_another_parser(value, indent):
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    assert list(places(root(text))) == list(places_by_pyyaml(yaml.compose(text, yaml.SafeLoader)))


@pytest.mark.parametrize("line_break", ["\n", "\r\n", "\r", "\x85", "\u2028", "\u2029"])
def test_lines_are_counted_and_shown_by_the_same_breaks(line_break):
    text = line_break.join(["a: 1", "b: 2", "a: 3", ""])
    (problem,) = read(text).problems
    assert (problem.at.line, problem.at.column, problem.excerpt) == (3, 1, "a: 3")


def test_columns_count_characters_not_bytes():
    assert list(places(root("é𝄞: [ü, x]"))) == [
        (1, 1, "Table"),
        (1, 1, "é𝄞"),
        (1, 5, "Items"),
        (1, 6, "ü"),
        (1, 9, "x"),
    ]


def test_a_byte_order_mark_is_no_part_of_the_text():
    document = read("\ufeffa: 1")
    assert document.text == "a: 1"
    assert list(places(document.root))[1:] == [(1, 1, "a"), (1, 4, "1")]


def test_a_tab_is_one_column():
    assert list(places(root("a:\t1")))[2] == (1, 4, "1")


def test_a_position_names_the_file():
    document = read("a:\n  b")
    assert str(document.position(document.root.get("a"))) == "plan.yaml:2:3"


def test_a_line_is_found_by_its_number():
    text = "one\ntwo\r\n\nfour"
    assert [line_of(text, number) for number in range(1, 7)] == ["one", "two", "", "four", "", ""]


@pytest.mark.parametrize(
    ("text", "width"),
    [("abc", 3), ("'abc'", 5), ('"abc"', 5), ("|\n abc", 1), (">\n abc", 1), ("[a]", 1), ('"a\\nbc"', 3)],
)
def test_the_width_of_a_value_is_that_of_its_first_line(text, width):
    assert width_of(root(text)) == width


# What a value is


@pytest.mark.parametrize(
    ("kind", "written"),
    [
        ("nothing", ["~", "null", "Null", "NULL"]),
        ("a boolean", ["true", "True", "TRUE", "false", "False", "FALSE"]),
        ("a number", ["0", "-1", "+12", "007", "0o17", "0x1F", "1.5", ".5", "5.", "-1e3", "1E+3", "1.e-3"]),
        ("a number", [".inf", "-.Inf", "+.INF", ".nan", ".NaN", ".NAN"]),
        ("text", ["yes", "No", "on", "off", "y", "n", "tRUE", "nULL", "1:30", "1_000", "0b1", "0o8", "0x"]),
        ("text", ["-0x1", "+0o7", "1e", ".", "+", "--1", "1.2.3", "..", "2001-01-01", "-.nan", "\uff15"]),
        ("text", ["'1'", '"true"', "''", "a b", "<<", "="]),
    ],
)
def test_plain_values_are_what_yaml_1_2_says(kind, written):
    assert {root(f"k: {text}").get("k").kind() for text in written} == {kind}


def test_what_is_not_written_is_nothing():
    assert root("a:").get("a").kind() == "nothing"


@pytest.mark.parametrize("style", ["'1'", '"1"', "|-\n 1", ">-\n 1"])
def test_a_value_in_quotes_or_a_block_is_text(style):
    node = root(style)
    assert (node.text, node.kind(), node.plain) == ("1", "text", False)


@given(st.integers() | st.floats(allow_nan=False, allow_infinity=False))
def test_every_number_of_json_is_a_number(number):
    assert Scalar(json.dumps(number), 1, 1, "").kind() == "a number"


# Keys


def test_every_key_that_stands_twice_is_reported_and_the_first_holds():
    text = "a: 1\nb: 2\na: 3\n'b': 4\na: 5\n"
    assert plain(root(text)) == {"a": "1", "b": "2"}
    assert reported(text) == [
        (3, 1, "duplicate key 'a'; the first is in line 1"),
        (4, 1, "duplicate key 'b'; the first is in line 2"),
        (5, 1, "duplicate key 'a'; the first is in line 1"),
    ]


def test_a_key_that_is_repeated_by_an_alias_stands_twice():
    assert len(reported("&k a: 1\n*k : 2\n")) == 1


def test_as_many_duplicate_keys_are_reported_as_anybody_reads_and_the_rest_are_counted():
    document = read("a: 1\n" * (MOST_PROBLEMS + 6))
    assert (len(document.problems), document.unsaid) == (MOST_PROBLEMS, 5)


@pytest.mark.parametrize("text", ["? [a]\n: b", "? {a: b}\n: c", "[a]: b", "x: &k [a]\n? *k\n: c"])
def test_a_list_or_mapping_is_no_key(text):
    assert refused(text)[2] == "a key must be a single value, not a list or a mapping"


def test_an_alias_that_is_no_key_is_reported_where_it_stands():
    assert refused("x: &k [a]\n*k : c")[:2] == (2, 1)


def test_a_table_knows_where_its_keys_stand():
    table = root("a: 1\nb: 2")
    assert table.key("b").line == 2
    assert table.key("c") is table
    assert table.get("c") is None


# Tags, anchors, aliases, merge keys


@pytest.mark.parametrize(
    ("text", "message"),
    [("!!str 4", "!!str"), ("!secret x", "!secret"), ("! x", "!"), ("!<tag:x,1:y> [a]", "tag:x,1:y")],
)
def test_a_tag_is_reported(text, message):
    assert reported(text) == [
        (1, 1, f"the tag {message!r} has no meaning here; write the value without it"),
    ]


def test_an_alias_is_the_same_node_again():
    table = root("a: &x [1]\nb: *x")
    assert table.get("a") is table.get("b")


def test_the_latest_anchor_of_a_name_counts():
    assert plain(root("[&x 1, *x, &x 2, *x]")) == ["1", "1", "2", "2"]


def test_an_alias_needs_an_anchor_before_it():
    assert refused("- a\n- *x") == (2, 3, "the alias *x has no anchor &x before it")


@pytest.mark.parametrize("text", ["a: &x [1, *x]", "a: &x {b: *x}", "a: &x [[*x]]", "a: &x\n  <<: *x"])
def test_an_alias_inside_of_what_it_repeats_is_refused(text):
    assert refused(text)[2] == "the alias *x is inside the value that it repeats"


def test_a_merge_key_takes_over_what_is_not_said():
    text = "base: &b {x: 1, y: 2}\nuse: {<<: *b, y: 3}"
    assert plain(root(text).get("use")) == {"x": "1", "y": "3"}


def test_of_several_merged_mappings_the_first_counts():
    text = "[&a {x: 1}, &b {x: 2, y: 2}, {<<: [*a, *b], z: 3}]"
    assert plain(root(text).nodes[2]) == {"z": "3", "x": "1", "y": "2"}


def test_what_was_merged_is_merged_on():
    text = "[&a {x: 1}, &b {<<: *a, y: 2}, {<<: *b}]"
    assert plain(root(text).nodes[2]) == {"y": "2", "x": "1"}


@pytest.mark.parametrize("value", ["1", "[1]", "[{a: 1}, b]"])
def test_a_merge_key_needs_mappings(value):
    assert reported(f"a: 1\n<<: {value}") == [
        (2, 1, "<< takes over the keys of a mapping, or of a list of mappings"),
    ]


def test_a_merge_key_in_quotes_is_a_key():
    assert plain(root("'<<': 1")) == {"<<": "1"}


# Limits, at their edges


def bomb(levels, each=10):
    lines = ["l0: &l0 [x]"]
    lines += [f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * each)}]" for n in range(1, levels + 1)]
    return "\n".join(lines)


def test_a_bomb_of_aliases_is_an_error_found_without_walking_through_it():
    class Counting(_Builder):
        visits = 0

        def measure(self, node):
            self.visits += 1
            return super().measure(node)

    builder = Counting(bomb(30), "plan.yaml", DocumentLimits())
    with pytest.raises(PlanError, match="aliases repeat more than 100,000 values"):
        builder.build()
    assert builder.visits < 200


def test_aliases_may_repeat_as_many_values_as_the_limit_says():
    text = "a: &a [1, {k: 2}]\nb: *a\nc: *a"  # list, 1, mapping, key, 2: five values, twice
    assert plain(root(text, aliased=10).get("c")) == ["1", {"k": "2"}]
    assert refused(text, aliased=9) == (3, 4, "aliases repeat more than 9 values")


def test_a_file_may_be_as_long_as_the_limit_says():
    assert plain(root("abcde", size=5)) == "abcde"
    assert refused("abcde", size=4) == (1, 1, "the file has 5 characters; the limit is 4")


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ("{a: ", "}"), ("- ", "")])
def test_levels_may_be_as_many_as_the_limit_says(opening, closing):
    assert levels(root(opening * 6 + "x" + closing * 6, depth=6)) == 6
    last = 6 * len(opening) + 1
    assert refused(opening * 7 + "x" + closing * 7, depth=6) == (
        1,
        last,
        "more than 6 levels within each other",
    )


def test_what_an_alias_repeats_counts_as_levels_where_it_stands():
    text = "a: &a [[1]]\nb: [*a]"
    assert plain(root(text, depth=4)) == {"a": [["1"]], "b": [[["1"]]]}
    assert refused(text, depth=3) == (2, 5, "more than 3 levels within each other")


def levels(node):
    inner = {Scalar: list, Items: lambda: node.nodes, Table: lambda: [v for _, v in node.entries.values()]}
    below = [levels(value) for value in inner[type(node)]()]
    return 0 if isinstance(node, Scalar) else 1 + max(below, default=0)


@given(st.lists(st.tuples(st.integers(0, 3), st.booleans()), max_size=8), st.integers(3, 8))
def test_no_chain_of_aliases_leads_deeper_than_the_limit(links, depth):
    lines = ["l0: &l0 [x]"]
    for number, (extra, merge) in enumerate(links):
        inner = "[" * extra + f"*l{number}" + "]" * extra
        lines.append(f"l{number + 1}: &l{number + 1} {{{'<<' if merge else 'k'}: {inner}}}")
    try:
        document = read("\n".join(lines), depth=depth)
    except PlanError as error:
        assert "levels within each other" in error.problems[-1].message  # noqa: PT017
    else:
        assert levels(document.root) <= depth


@pytest.mark.parametrize("opening", ["[", "{", "- ", "? ", "[{", "{a: ["])
def test_a_hundred_thousand_levels_are_an_error_like_any_other(opening):
    assert refused(opening * 100_000)[0] == 1


# Files that are none


@pytest.mark.parametrize("text", ["", "\n\n", "# nothing\n", "\ufeff", "   "])
def test_an_empty_file_cannot_be_read(text):
    assert refused(text) == (1, 1, "the file is empty")


def test_a_document_of_nothing_is_nothing():
    assert root("---\n").kind() == "nothing"


def test_a_second_document_is_refused_where_it_begins():
    assert refused("a: 1\n---\nb: 2\n") == (2, 1, "a second document starts here; a file can have only one")


def test_one_document_may_have_a_start_and_an_end():
    assert plain(root("%YAML 1.1\n---\na: 1\n...\n")) == {"a": "1"}


@pytest.mark.parametrize(
    ("text", "place"),
    [("a\x00b", (1, 2)), ("é: [x, é, \x01]", (1, 11)), ("a: 1\r\nb\x1b[31m: 2", (2, 2)), ("\x7f", (1, 1))],
)
def test_control_characters_are_refused_where_they_stand(text, place):
    assert refused(text) == (*place, "this is not YAML: control characters are not allowed")


def test_half_of_a_surrogate_pair_is_refused_where_it_stands():
    assert refused("a: 1\nä: é\ud800") == (2, 5, "this is not text: a lone surrogate")


def test_a_tag_that_is_no_text_is_refused():
    assert refused("a: 1\nb: !%ED%A0%80 x")[2] == "this is not YAML: a tag that is not UTF-8"


def test_a_quote_without_its_end_is_reported_with_the_line_it_began_in():
    message = "the quote that opens in line 2 is not closed; add it where the text ends"
    assert refused("a: 1\nb: 'x\nc: 2\n\n") == (3, 5, f"this is not YAML: {message}")


def test_a_tab_as_indentation_is_refused_where_it_stands():
    message = "a tab indents this line; YAML takes spaces only: replace each tab by spaces"
    assert refused("a:\n\tb: 1") == (2, 1, f"this is not YAML: {message}")


def test_what_is_wrong_with_the_yaml_is_reported_after_what_was_found_before():
    with pytest.raises(PlanError) as caught:
        read("a: 1\na: 2\nb: [")
    assert [problem.at.line for problem in caught.value.problems] == [2, 3]


def assert_read_or_refused(text):
    try:
        document = read(text)
    except PlanError as error:
        lines = re.split("\r\n|[\n\r\x85\u2028\u2029]", text.removeprefix("\ufeff"))
        for problem in error.problems:
            assert problem.excerpt == lines[problem.at.line - 1]
            assert 1 <= problem.at.column <= len(problem.excerpt) + 1
    else:
        assert isinstance(document, Document)


signs = st.sampled_from(list("[]{}:,-?&*!|>'\"%@`#~ \n\t\r\\<=ab01\x00\ud800é\ufeff\u2028"))


@given(st.text() | st.lists(signs, max_size=40).map("".join) | st.text(st.characters(), max_size=20))
def test_any_text_is_read_or_refused(text):
    assert_read_or_refused(text)


@given(st.data())
def test_a_plan_with_any_slip_is_read_or_refused(draw):
    start = draw.draw(st.integers(0, len(PLAN)))
    end = start + draw.draw(st.integers(0, 8))
    text = PLAN[:start] + draw.draw(st.lists(signs, max_size=4).map("".join)) + PLAN[end:]
    assert_read_or_refused(text)
