import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.errors import InputError
from weft.plan.language.reader import Reader, describe
from weft.plan.text.document import Table, read_document
from weft.plan.text.problems import (
    LONGEST_EXCERPT,
    LONGEST_NAME,
    MOST_PROBLEMS,
    PlanError,
    Position,
    Problem,
    Severity,
    nearest,
    suggestion,
)


def problem(excerpt, column, width=1, severity=Severity.ERROR):
    at = Position("plan.yaml", 7, column)
    return Problem(at=at, message="no", severity=severity, excerpt=excerpt, width=width)


def reader(text="a: 1"):
    return Reader(read_document(text, "plan.yaml"))


# How a problem looks


def test_a_problem_is_a_line_with_its_place_and_an_excerpt_with_marks_below():
    assert list(problem("retries: 11", 10, 2).lines()) == [
        "plan.yaml:7:10: error: no",
        "     7 | retries: 11",
        "       |          ^^",
    ]


def test_a_problem_without_an_excerpt_is_one_line():
    assert list(problem("  ", 1, severity=Severity.WARNING).lines()) == ["plan.yaml:7:1: warning: no"]


def test_a_tab_is_shown_as_one_space_so_that_the_marks_fit():
    assert list(problem("\ta:\t11", 5, 2).lines())[1:] == ["     7 |  a: 11", "       |     ^^"]


def test_marks_do_not_run_beyond_the_line():
    assert list(problem("a: bc", 4, 99).lines())[2] == "       |    ^^"


def test_a_place_behind_the_line_is_marked_behind_it():
    assert list(problem("a: [", 5, 3).lines())[2] == "       |     ^"


def test_what_would_move_the_cursor_is_shown_as_a_sign():
    assert list(problem("a\x1b[2Jb\u2028\ud800c", 8).lines())[1:] == [
        "     7 | a\ufffd[2Jb\ufffd\ufffdc",
        "       |        ^",
    ]


def test_a_long_line_is_cut_at_its_end():
    _, shown, marks = problem("ab" + "x" * 200, 1, 2).lines()
    assert shown == "     7 | ab" + "x" * 97 + "…"
    assert marks == "       | ^^"


def test_a_long_line_is_cut_at_its_beginning():
    _, shown, marks = problem("x" * 200 + "ab", 201, 2).lines()
    assert shown == "     7 | …" + "x" * 97 + "ab"
    assert marks == "       | " + " " * 98 + "^^"


def test_a_long_line_is_cut_at_both_ends():
    _, shown, marks = problem("x" * 200 + "ab" + "y" * 200, 201, 2).lines()
    assert shown == "     7 | …" + "x" * 49 + "ab" + "y" * 47 + "…"
    assert marks == "       | " + " " * 50 + "^^"


@given(st.integers(0, 300), st.integers(0, 300))
def test_the_mark_is_exactly_under_the_value(before, after):
    _, shown, marks = problem("." * before + "X" + "." * after, before + 1).lines()
    assert shown[marks.index("^")] == "X"
    assert len(shown) <= len("     7 | ") + LONGEST_EXCERPT


def test_a_problem_as_json_says_where_and_what():
    assert json.loads(json.dumps(problem("a: b", 4).to_json())) == {
        "severity": "error",
        "file": "plan.yaml",
        "line": 7,
        "column": 4,
        "message": "no",
    }


# All of them together


def test_an_error_reports_every_problem_and_counts_the_errors():
    error = PlanError([problem("a", 1), problem("b", 1, severity=Severity.WARNING)])
    assert isinstance(error, InputError)
    assert str(error).splitlines() == [
        "plan.yaml:7:1: error: no",
        "     7 | a",
        "       | ^",
        "plan.yaml:7:1: warning: no",
        "     7 | b",
        "       | ^",
        "1 error",
    ]


def test_an_error_says_how_many_problems_it_does_not_show():
    assert str(PlanError([problem("", 1)] * 2, unsaid=1200)).splitlines()[-1] == (
        "2 errors, and 1,200 more that are not shown"
    )


def test_a_reader_keeps_so_many_problems_and_counts_the_rest():
    many = reader()
    for _ in range(MOST_PROBLEMS - 1):
        many.wrong(many.document.root, "no")
    assert not many.full
    for _ in range(3):
        many.wrong(many.document.root, "no")
    assert many.full
    assert (len(many.problems), many.unsaid) == (MOST_PROBLEMS, 2)


def test_no_number_of_warnings_hides_an_error():
    many = reader()
    for _ in range(MOST_PROBLEMS + 5):
        many.warn(many.document.root, "hm")
    assert not many.failed
    many.wrong(many.document.root, "no")
    assert many.failed
    assert many.problems[-1].message == "no"


def test_a_reader_begins_with_what_is_wrong_with_the_document():
    begun = reader("a: 1\n" * (MOST_PROBLEMS + 3))
    assert begun.failed
    assert (len(begun.problems), begun.unsaid) == (MOST_PROBLEMS, 2)


def test_a_reader_marks_the_whole_value():
    marked = reader("key: 'some text'")
    marked.wrong(marked.document.root.get("key"), "no")
    assert list(marked.problems[0].lines()) == [
        "plan.yaml:1:6: error: no",
        "     1 | key: 'some text'",
        "       |      ^^^^^^^^^^^",
    ]


@pytest.mark.parametrize(
    ("text", "description"),
    [
        ("abc", "'abc'"),
        ("'4'", "'4'"),
        ("4", "4 (a number)"),
        ("true", "true (a boolean)"),
        ("~", "empty"),
        ("", "empty"),
        ("[a]", "a list"),
        ("{a: b}", "a mapping"),
        ("x" * 60, repr("x" * 60)),
        ("x" * 61, repr("x" * 59 + "…")),
        ("1" * 61, "1" * 59 + "… (a number)"),
        ('"a\\nb"', r"'a\nb'"),
    ],
)
def test_a_value_is_reported_so_that_it_fits_into_a_sentence(text, description):
    root = read_document(f"k: {text}", "plan.yaml").root
    assert isinstance(root, Table)
    assert describe(root.entries["k"][1]) == description


# Names that are nearly right


@pytest.mark.parametrize(
    ("name", "suggestion"),
    [("depend_on", "depends_on"), ("depends-on", "depends_on"), ("ID", "id"), ("xyz", None)],
)
def test_the_nearest_name_is_the_one_that_was_probably_meant(name, suggestion):
    assert nearest(name, ["id", "depends_on", "title"]) == suggestion


def test_nothing_is_near_to_a_name_that_is_too_long_to_be_one():
    name = "a" * LONGEST_NAME
    assert nearest(name, [name]) == name
    assert nearest(name + "a", [name]) is None


def test_a_suggestion_is_the_nearest_name_or_all_there_are():
    assert suggestion("agnet", ["agent", "model"]) == "; did you mean 'agent'?"
    assert suggestion("xyz", ["agent", "model"]) == "; known: agent, model"
    assert suggestion("xyz", ["a", "b", "c"], most=2) == "; known: a, b, …"
    assert suggestion("xyz", []) == "; there are none"
