import pytest

from weft.plan.language.kinds import Choice, Integer, Text
from weft.plan.language.kinds_of_many import ListOf
from weft.plan.language.reader import BAD, Reader
from weft.plan.language.records import (
    AnyOf,
    AtMostOne,
    ExactlyOne,
    Has,
    Is,
    Key,
    Later,
    Needs,
    OneValueSet,
    OnlyWith,
    Record,
    Words,
)
from weft.plan.text.document import read_document
from weft.plan.text.problems import MOST_PROBLEMS

NODE: Record = Record(
    "a node",
    "A part of a tree.",
    (
        Key(name="name", kind=Text(), required=True, doc="Its name."),
        Key(name="size", kind=Integer(1, 9), default="3", doc="How large it is.", example="5"),
        Key(name="colour", kind=Text(), default=Words("as the one around it"), doc="How it looks."),
        Key(name="parts", kind=ListOf(Later(lambda: NODE)), doc="What is in it."),
    ),
)


def read(record, text, *, quiet=False):
    """What is read of the record, and what is said."""
    document = read_document(text, "plan.yaml")
    reader = Reader(document)
    for _ in range(MOST_PROBLEMS if quiet else 0):
        reader.wrong(document.root, "no")
    value = record.read(document.root, reader, "the node")
    return value, [str(problem.at) + " " + problem.message for problem in reader.problems]


def said(rule, text):
    """What is said about keys a, b, c and `list` under one rule."""
    keys = [Key(name=name, kind=Text(), doc="A key.") for name in ("a", "b", "c")]
    keys.append(Key(name="list", kind=ListOf(Text()), doc="A list."))
    return read(Record("a thing", "A thing.", tuple(keys), (rule,)), text)[1]


# Records


def test_a_record_is_read_to_its_values_and_knows_where_it_stands():
    values, problems = read(NODE, "name: a\nsize: 4\nparts: [{name: b}]")
    assert problems == []
    assert (values.get("name"), values.get("size"), values.get("colour"), values.get("x", 1)) == (
        "a",
        4,
        None,
        1,
    )
    assert values.get("parts")[0].get("name") == "b"
    assert values.get("parts")[0].table.column == 9


def test_what_is_right_is_kept_and_everything_wrong_is_reported():
    values, problems = read(NODE, "size: 40\ncolour: red\nxyz: x\nparts: [{name: 1}, {}]")
    assert values.by_key == {"colour": "red", "parts": values.get("parts")}
    assert problems == [
        "plan.yaml:3:1 unknown key 'xyz' in a node; known: name, size, colour, parts",
        "plan.yaml:1:7 size is 40 (a number); it must be a whole number from 1 to 9",
        "plan.yaml:4:16 name is 1 (a number); it must be text; to write text, use quotes: '1'",
        "plan.yaml:4:20 a node needs the key 'name' (text)",
        "plan.yaml:1:1 a node needs the key 'name' (text)",
    ]


def test_a_slip_in_a_key_is_reported_once_and_its_value_is_read_as_what_was_meant():
    values, problems = read(NODE, "nmae: x\nsise: 40")
    assert values.by_key == {"name": "x"}
    assert problems == [
        "plan.yaml:1:1 unknown key 'nmae' in a node; did you mean 'name'?",
        "plan.yaml:2:1 unknown key 'sise' in a node; did you mean 'size'?",
        "plan.yaml:2:7 size is 40 (a number); it must be a whole number from 1 to 9",
    ]


def test_a_slip_beside_what_was_meant_changes_nothing():
    values, problems = read(NODE, "nmae: x\nname: y")
    assert values.by_key == {"name": "y"}
    assert problems == ["plan.yaml:1:1 unknown key 'nmae' in a node; did you mean 'name'?"]


def test_an_unknown_key_that_is_like_no_other_is_reported_with_those_there_are():
    assert read(NODE, "name: a\nxyz: 1")[1] == [
        "plan.yaml:2:1 unknown key 'xyz' in a node; known: name, size, colour, parts"
    ]


def test_once_no_more_is_reported_unknown_keys_are_only_counted():
    values, problems = read(NODE, "{name: a, xyz: 1}", quiet=True)
    assert values.by_key == {"name": "a"}
    assert len(problems) == MOST_PROBLEMS


@pytest.mark.parametrize(
    ("text", "described", "advice"),
    [("x", "'x'", "; write {name: x}"), ("[x]", "a list", ""), ("~", "empty", "")],
)
def test_what_is_no_mapping_is_refused_with_the_keys_that_are_wanted(text, described, advice):
    value, problems = read(NODE, text)
    assert value is BAD
    allowed = "a mapping with the keys name, size, colour, parts"
    assert problems == [f"plan.yaml:1:1 the node is {described}; it must be {allowed}{advice}"]


def test_of_many_keys_the_first_are_named():
    keys = tuple(Key(name=name, kind=Text(), doc="A key.") for name in "abcde")
    assert Record("it", "It.", keys).words == "a mapping with the keys a, b, c, d, …"


def test_a_record_is_shown_by_its_name():
    assert repr(NODE) == "Record('a node')"
    assert (NODE.title, Record("merge", "", ()).title) == ("node", "merge")


def test_a_record_that_comes_later_says_what_the_record_says():
    later = Later(lambda: NODE)
    assert (later.words, later.schema()) == (NODE.words, {"$ref": "#/$defs/node"})


def test_a_record_as_json_schema():
    assert NODE.definition() == {
        "title": "node",
        "description": "A part of a tree.",
        "type": "object",
        "properties": {
            "name": {"type": "string", "minLength": 1, "description": "Its name."},
            "size": {
                "type": "integer",
                "minimum": 1,
                "maximum": 9,
                "description": "How large it is. Default: 3.",
                "default": 3,
                "examples": [5],
            },
            "colour": {
                "type": "string",
                "minLength": 1,
                "description": "How it looks. Default: as the one around it.",
            },
            "parts": {
                "type": "array",
                "items": {"$ref": "#/$defs/node"},
                "description": "What is in it.",
            },
        },
        "required": ["name"],
        "additionalProperties": False,
    }


def test_a_record_without_required_keys_or_rules_says_nothing_about_them():
    schema = Record("it", "It.", (Key(name="a", kind=Choice(("b",)), doc="A."),)).definition()
    assert schema.keys() == {"title", "description", "type", "properties", "additionalProperties"}


# Rules


def test_exactly_one_of_several_keys():
    rule = ExactlyOne(("a", "b", "c"))
    assert said(rule, "b: x") == []
    assert said(rule, "{}") == ["plan.yaml:1:1 a thing needs exactly one of: a, b, c"]
    assert said(rule, "c: x\nb: x\na: x") == [
        "plan.yaml:2:1 'b' cannot stand beside 'a'; one of them says what is done",
        "plan.yaml:1:1 'c' cannot stand beside 'a'; one of them says what is done",
    ]
    assert rule.sentence == "Exactly one of `a`, `b` and `c`."


def test_at_most_one_of_several_keys():
    rule = AtMostOne(("a", "b"))
    assert said(rule, "{}") == said(rule, "b: x") == []
    assert said(rule, "a: x\nb: x") == ["plan.yaml:2:1 a thing cannot have both 'a' and 'b'"]
    assert rule.sentence == "At most one of `a` and `b`."


def test_keys_that_have_a_meaning_only_with_others():
    rule = OnlyWith(("a", "b"), AnyOf((Has("c"), Is("list", "x"))))
    assert said(rule, "{}") == said(rule, "{a: x, c: y}") == []
    assert said(rule, "{a: x, b: y}") == [
        "plan.yaml:1:2 'a' has no meaning in a thing without 'c' or 'list: x'",
        "plan.yaml:1:8 'b' has no meaning in a thing without 'c' or 'list: x'",
    ]
    assert rule.sentence == "`a` and `b` have a meaning only with `c` or `list: x`."
    assert OnlyWith(("a",), Has("b")).sentence == "`a` has a meaning only with `b`."


def test_a_key_that_another_needs():
    rule = Needs(Is("a", "x"), "list")
    assert said(rule, "a: y") == said(rule, "{a: x, list: [b]}") == []
    assert said(rule, "a: x") == ["plan.yaml:1:1 a thing with 'a: x' needs the key 'list'"]
    assert said(rule, "{a: x, list: []}") == [
        "plan.yaml:1:14 a thing with 'a: x' needs the key 'list', and not an empty list"
    ]
    assert rule.sentence == "`a: x` needs `list`."


def test_values_that_depend_on_another_key():
    rule = OneValueSet("a", Has("b"), ("x", "y"), ("z", "y"))
    assert said(rule, "{a: x, b: 'on'}") == said(rule, "a: z") == said(rule, "a: y") == []
    assert said(rule, "a: x") == ["plan.yaml:1:4 a is 'x'; in a thing without 'b' it must be z | y"]
    assert said(rule, "{a: z, b: c}") == ["plan.yaml:1:5 a is 'z'; in a thing with 'b' it must be x | y"]
    assert rule.sentence == "`a` is `x` or `y` with `b`, else `z` or `y`."


def test_a_value_that_is_no_text_is_left_to_its_kind():
    rule = OneValueSet("a", Is("list", "x"), ("x",), ("z",))
    assert said(rule, "{a: [x], list: [x]}") == ["plan.yaml:1:5 a is a list; it must be text"]
