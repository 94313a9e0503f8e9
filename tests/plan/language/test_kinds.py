import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.plan.language.kinds import (
    Boolean,
    Choice,
    Duration,
    Glob,
    Integer,
    Money,
    RemoteName,
    Share,
    Span,
    Switch,
    Text,
    Tokens,
    Word,
)
from weft.plan.language.kinds_of_many import Either, Json, JsonObject, ListOf, MapOf, Single
from weft.plan.language.reader import BAD, Reader, describe
from weft.plan.language.values import COMMANDS, GLOB, ID, NAME, PATH
from weft.plan.text.document import Scalar, Table, read_document
from weft.plan.text.problems import MOST_PROBLEMS

KEY = Text("a small letter", pattern="[a-z]")


def read(kind, text):
    """What is read from the value of `key`, and what is said."""
    document = read_document(f"key: {text}", "plan.yaml")
    reader = Reader(document)
    assert isinstance(document.root, Table)
    value = kind.read(document.root.entries["key"][1], reader, "key")
    return value, [problem.message for problem in reader.problems]


def good(kind, text):
    value, messages = read(kind, text)
    assert messages == []
    return value


def bad(kind, text):
    value, messages = read(kind, text)
    assert value is BAD
    (message,) = messages
    return message


# Text


@pytest.mark.parametrize(
    ("text", "value"), [("abc", "abc"), ("'4'", "4"), ("|\n a\n b", "a\nb"), ("yes", "yes"), ("' '", " ")]
)
def test_text_is_read_as_it_stands(text, value):
    assert good(Text(), text) == value


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("4", "key is 4 (a number); it must be text; to write text, use quotes: '4'"),
        ("true", "key is true (a boolean); it must be text; to write text, use quotes: 'true'"),
        ("~", "key is empty; it must be text; to write text, use quotes: '~'"),
        ("", "key is empty; it must be text"),
        ("''", "key is ''; it must be text"),
        ("[a]", "key is a list; it must be text"),
        ("{a: b}", "key is a mapping; it must be text"),
        ('"a\\0b"', r"key is 'a\x00b'; it must be text without NUL"),
    ],
)
def test_what_is_not_text_is_refused(text, message):
    assert bad(Text(), text) == message


def test_text_may_be_allowed_to_be_empty_but_not_to_be_left_out():
    assert good(Text(empty=True), "''") == ""
    assert bad(Text(empty=True), "") == "key is empty; it must be text"


def test_quotes_are_advised_only_where_they_help():
    assert bad(KEY, "4") == "key is 4 (a number); it must be a small letter"


@pytest.mark.parametrize("text", ["a", "007x", "a-b_c", "x" * 64, "'1'"])
def test_these_are_ids(text):
    assert good(ID, text) == text.strip("'")


@pytest.mark.parametrize(
    "text",
    ["..", ".", "a/b", r"a\b", "'a:b'", "''", "/a", "A", "aB", "x" * 65, '"a\\n"', "-a", "_a", "é", "a b"],
)  # fmt: skip
def test_these_are_no_ids(text):
    assert bad(ID, text).endswith(
        "; it must be an id: up to 64 lowercase letters, digits, - or _, starting with a letter or digit"
    )


@pytest.mark.parametrize("text", ["a", "/a", "/a/b/c", "a/b"])
def test_these_are_paths(text):
    assert good(PATH, text) == text


@pytest.mark.parametrize("text", ["/", "a/", "//a", "a//b", "../a", "/a/..", "a/B", '"/a\\n"'])
def test_these_are_no_paths(text):
    assert "it must be the id of a sibling, or a path from the root such as /store/model" in bad(PATH, text)


def test_a_glob_stays_within_the_repository():
    assert good(GLOB, "src/**/*.py") == "src/**/*.py"
    assert bad(GLOB, "../x") == (
        "key: the pattern '../x' leads upwards with `..`; it must stay in the repository"
    )
    assert bad(GLOB, "4") == (
        "key is 4 (a number); it must be a glob within the repository, such as src/store/**; "
        "to write text, use quotes: '4'"
    )


@pytest.mark.parametrize(
    ("text", "value"), [("8080", "8080"), ("1.10", "1.10"), ("abc", "abc"), ("''", ""), ("0x1f", "0x1f")]
)
def test_a_word_may_look_like_a_number_and_is_kept_as_written(text, value):
    assert good(Word(), text) == value


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "true",
            "key is true (a boolean); it must be text or a number; to write text, use quotes: 'true'",
        ),
        ("", "key is empty; it must be text or a number"),
        ("[a]", "key is a list; it must be text or a number"),
        ('"\\0"', r"key is '\x00'; it must be text or a number without NUL"),
    ],
)
def test_what_is_no_word_is_refused(text, message):
    assert bad(Word(), text) == message


# Numbers


@pytest.mark.parametrize(("text", "value"), [("1", 1), ("32", 32), ("+4", 4), ("004", 4)])
def test_whole_numbers_within_their_range_are_read(text, value):
    assert good(Integer(1, 32), text) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", "0 (a number)"),
        ("33", "33 (a number)"),
        ("-1", "-1 (a number)"),
        ("4.0", "4.0 (a number)"),
        ("4e0", "4e0 (a number)"),
        ("0x4", "0x4 (a number)"),
        ("four", "'four'"),
        ("[4]", "a list"),
        ("{a: 4}", "a mapping"),
        ("null", "empty"),
        ("", "empty"),
        ("true", "true (a boolean)"),
        ("9" * 30, "9" * 30 + " (a number)"),
        ("\uff14", "'\uff14'"),
    ],
)
def test_anything_else_is_refused_with_the_range(text, value):
    assert bad(Integer(1, 32), text) == f"key is {value}; it must be a whole number from 1 to 32"


def test_a_range_may_be_open_or_a_single_number():
    assert good(Integer(1), "9" * 18) == 10**18 - 1
    assert bad(Integer(1), "0") == "key is 0 (a number); it must be a whole number, 1 or more"
    assert bad(Integer(1), "1" + "0" * 18).endswith("it must be a whole number, 1 or more")
    assert bad(Integer(1, 1), "2") == "key is 2 (a number); it must be 1"


@pytest.mark.parametrize(
    ("text", "micros"),
    [("20", 20_000_000), ("20.00", 20_000_000), ("0.50", 500_000), (".5", 500_000), ("0.000001", 1),
     ("1e-06", 1), ("1e3", 1_000_000_000), ("1000000000", 10**15), ("1.100000000", 1_100_000), ("$20", 20_000_000),
     ("'$0.50'", 500_000)],
)  # fmt: skip
def test_money_is_read_exactly(text, micros):
    assert good(Money(), text) == micros


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("0", ""),
        ("-5", ""),
        ("$0", ""),
        ("$-5", ""),
        ("$", ""),
        ("5M", ""),
        ("$0.0000001", ""),
        (".inf", ""),
        ("1e999", ""),
        ("0." + "1" * 5000, ""),
        ("[5]", ""),
        ("0.0000001", ", with six decimals at most"),
        ("1000000000.01", ", and up to 1,000,000,000"),
    ],
)
def test_what_is_no_amount_is_refused(text, hint):
    assert bad(Money(), text).endswith(f"it must be an amount of dollars above 0, such as 20 or 0.50{hint}")


def test_a_price_may_be_nothing():
    assert good(Money.from_zero(), "0") == good(Money.from_zero(), "$0") == 0
    assert bad(Money.from_zero(), "-1").endswith(
        "it must be an amount of dollars, 0 or more, such as 15 or 0.30"
    )


@pytest.mark.parametrize(
    ("text", "count"),
    [("1", 1), ("200000", 200_000), ("500k", 500_000), ("500K", 500_000), ("1.5M", 1_500_000), ("2B", 2 * 10**9),
     ("0.001k", 1), ("'5M'", 5_000_000)],
)  # fmt: skip
def test_tokens_are_read_with_or_without_a_unit(text, count):
    assert good(Tokens(), text) == count


@pytest.mark.parametrize("text", ["0", "-1", "0M", "1.5", "ten", "5G", "0.0001k", "[1]", ""])
def test_what_is_no_number_of_tokens_is_refused(text):
    assert bad(Tokens(), text).endswith("it must be a number of tokens above 0, such as 200000, 500k or 5M")


@given(st.integers(1, 10**15))
def test_no_millionth_of_a_dollar_is_lost(micros):
    assert good(Money(), f"{micros // 10**6}.{micros % 10**6:06}") == micros


@pytest.mark.parametrize(("text", "value"), [("0", 0), ("1", 1), ("0.25", 0.25), ("1e-3", 0.001)])
def test_shares_are_read(text, value):
    assert good(Share(), text) == value


@pytest.mark.parametrize("text", ["1.01", "-0.1", "'0.5'", "half", "50%", "[0]", ".nan"])
def test_what_is_no_share_is_refused(text):
    assert bad(Share(), text).endswith("; it must be a number from 0 to 1")


@pytest.mark.parametrize(
    ("text", "value"),
    [("10", (10, 10)), ("5..20", (5, 20)), ("'5..20'", (5, 20)), ("0.5..1.5", (0.5, 1.5)), ("3..3", (3, 3))],
)
def test_spans_are_read(text, value):
    assert good(Span(), text) == value


@pytest.mark.parametrize("text", ["-5", "5...20", "1..2..3", "'5'", "5..", "a..b", "[5, 20]", ""])
def test_what_is_no_span_is_refused(text):
    assert bad(Span(), text).endswith("; it must be a number, 0 or more, or a range such as 5..20")


@pytest.mark.parametrize(
    ("text", "meant"), [("20..5", "5..20"), ("'20..5'", "5..20"), ("1.50..0", "0..1.50")]
)
def test_a_span_in_the_wrong_order_is_refused_with_the_right_one(text, meant):
    assert bad(Span(), text).endswith(f": the order is wrong; the smaller number comes first, as in {meant}")
    assert good(Span(), meant)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90s", 90), ("30m", 1800), ("2h", 7200), ("1d", 86400), ("250ms", 0.25), ("1.5h", 5400), ("'5s'", 5)],
)
def test_durations_are_read_in_seconds(text, seconds):
    assert good(Duration(), text) == seconds


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("90", "90 (a number); it must be a duration such as 90s, 30m or 2h; did you mean 90s?"),
        ("0s", "'0s'; it must be a duration such as 90s, 30m or 2h"),
        ("-5m", "'-5m'; it must be a duration such as 90s, 30m or 2h"),
        ("[5m]", "a list; it must be a duration such as 90s, 30m or 2h"),
    ],
)
def test_what_is_no_duration_is_refused(text, message):
    assert bad(Duration(), text) == f"key is {message}"


# Words


def test_booleans_are_read():
    assert good(Boolean(), "true") is True
    assert good(Boolean(), "False") is False


@pytest.mark.parametrize("text", ["maybe", "1", "", "[true]"])
def test_what_is_no_boolean_is_refused(text):
    assert bad(Boolean(), text).endswith("; it must be true or false")


def test_a_switch_is_on_off_or_auto() -> None:
    assert [good(Switch(), text) for text in ("true", "False", "auto", "'auto'")] == [
        True,
        False,
        "auto",
        "auto",
    ]


@pytest.mark.parametrize("text", ["1", "Auto", "[true]"])
def test_nothing_else_is_a_switch(text: str) -> None:
    assert bad(Switch(), text).endswith("; it must be auto, true or false")


def test_a_remote_is_named_or_switched_on_or_off():
    assert [good(RemoteName(), text) for text in ("true", "false", "origin", "git@host:a/b.git")] == [
        True,
        False,
        "origin",
        "git@host:a/b.git",
    ]


@pytest.mark.parametrize("text", ["1", "-f", "[origin]", "'two words'", "''"])
def test_nothing_else_is_a_remote(text: str) -> None:
    assert "true, false, or the name of a git remote" in bad(RemoteName(), text)


MODES = Choice(("fail_fast", "continue_on_error"))


def test_a_choice_is_one_of_its_words():
    assert good(MODES, "'fail_fast'") == "fail_fast"
    assert bad(MODES, "FailFast") == (
        "key is 'FailFast'; it must be fail_fast | continue_on_error; did you mean 'fail_fast'?"
    )
    assert bad(MODES, "xyz") == "key is 'xyz'; it must be fail_fast | continue_on_error"
    assert bad(MODES, "[fail_fast]") == "key is a list; it must be fail_fast | continue_on_error"


def test_nothing_near_is_looked_for_once_no_more_is_reported():
    document = read_document("fail_fist", "plan.yaml")
    reader = Reader(document)
    for _ in range(MOST_PROBLEMS):
        reader.wrong(document.root, "no")
    assert MODES.read(document.root, reader, "key") is BAD
    assert reader.unsaid == 1


# Lists and mappings


def test_a_list_is_read_item_by_item_and_every_slip_is_reported():
    assert good(ListOf(KEY), "[a, b]") == ("a", "b")
    value, messages = read(ListOf(KEY), "[a, B, [c], C]")
    assert value is BAD
    assert messages == [
        "key is 'B'; it must be a small letter",
        "key is a list; it must be a small letter",
        "key is 'C'; it must be a small letter",
    ]


def test_a_list_may_need_an_item():
    assert good(ListOf(KEY), "[]") == ()
    assert bad(ListOf(KEY, least=1), "[]") == "key is an empty list; at least 1 is needed"


def test_a_single_value_in_place_of_a_list_is_refused_with_advice_that_helps():
    assert bad(ListOf(KEY), "a") == "key is 'a'; it must be a list of: a small letter; write [a]"
    assert bad(ListOf(KEY), "A") == "key is 'A'; it must be a list of: a small letter"
    assert bad(ListOf(KEY), "{a: b}") == "key is a mapping; it must be a list of: a small letter"
    assert bad(ListOf(Text()), '"a\\nb"') == r"key is 'a\nb'; it must be a list of: text"


def test_one_command_stands_for_a_list_of_one():
    assert good(COMMANDS, "pytest -q") == ("pytest -q",)
    assert good(COMMANDS, "[a b, [c, '']]") == ("a b", ("c", ""))
    assert bad(Single(KEY), "A") == "key is 'A'; it must be a small letter"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "key is an empty list; at least 1 is needed"),
        ("[[]]", "key is an empty list; at least 1 is needed"),
        ("['']", "key is ''; it must be a command for /bin/sh"),
        ("{a: b}", f"key is a mapping; it must be {COMMANDS.words}"),
    ],
)
def test_what_are_no_commands_is_refused(text, message):
    assert bad(COMMANDS, text) == message


def test_a_mapping_keeps_what_is_right_and_reports_what_is_not():
    value, messages = read(MapOf(KEY, Integer(1)), "{a: 1, B: 2, c: 0}")
    assert value == {"a": 1}
    assert messages == [
        "'B' cannot be a name in key; it must be a small letter",
        "key.c is 0 (a number); it must be a whole number, 1 or more",
    ]


def test_what_is_no_mapping_is_refused():
    assert bad(MapOf(NAME, Word()), "[a]") == (
        "key is a list; it must be a mapping of names to: text or a number; "
        "write NAME: before each entry, in place of its dash"
    )


def test_either_kind_is_chosen_by_the_shape_of_the_value():
    kind = Either(scalar=Integer(1), table=MapOf(KEY, Word()))
    assert good(kind, "3") == 3
    assert good(kind, "{a: x}") == {"a": "x"}
    assert bad(kind, "[3]") == (
        "key is a list; it must be a whole number, 1 or more, or a mapping of names to: text or a number"
    )
    assert bad(Either(items=ListOf(KEY)), "a") == "key is 'a'; it must be a list of: a small letter"


# JSON


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="ascii", exclude_categories=["Cc"])),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("<abc", max_size=3), inner, max_size=4),
    max_leaves=10,
)  # fmt: skip


@given(values)
def test_any_value_of_json_is_read_as_itself(value):
    assert good(Json(), json.dumps(value)) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [(".5", 0.5), ("-.5", -0.5), ("5.", 5.0), ("0x1F", 31), ("0o17", 15), ("007", 7), ("1" * 600, int("1" * 600))],
)  # fmt: skip
def test_numbers_of_yaml_are_read_as_numbers(text, value):
    assert good(Json(), text) == value


@pytest.mark.parametrize("text", [".inf", "-.INF", ".nan", "1e999", "1" * 5000, "0x" + "1" * 601])
def test_what_json_has_no_number_for_is_refused_wherever_it_stands(text):
    message = f"{describe(Scalar(text, 1, 1, ''))}; it must be any value of JSON"
    assert bad(Json(), text) == f"key is {message}"
    assert bad(Json(), f"[1, {text}]") == f"key is {message}"
    assert bad(JsonObject(), f"{{a: [{{b: {text}}}]}}") == f"key.a.b is {message}"


def test_any_value_is_right_for_the_schema_of_any_value():
    assert Json().schema() == {}


def test_only_a_mapping_is_a_json_object():
    assert good(JsonObject(), "{type: object, required: [a]}") == {"type": "object", "required": ["a"]}
    assert bad(JsonObject(), "[a]") == "key is a list; it must be a mapping"


def test_kinds_are_described_for_the_reference():
    assert Glob().words == "a glob within the repository, such as src/store/**"
    assert ListOf(ListOf(KEY)).words == "a list of: a list of: a small letter"
    assert Single(KEY).words == "a small letter"
    assert COMMANDS.words == (
        "a command for /bin/sh, or a list of commands, each text or a list of arguments"
    )
