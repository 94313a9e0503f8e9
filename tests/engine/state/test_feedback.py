"""Feedback is what the next attempt needs to know, and never more than it can read."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.engine.state.feedback import FailureReport, feedback, last_line, tail_of


def told(**failure: object) -> str:
    return feedback(FailureReport(step="check", **failure))  # type: ignore[arg-type]


def test_a_failed_command_is_told_with_its_exit_code_and_output() -> None:
    text = told(command="pytest -q\n", exit_code=1, stdout="1 failed\n", stderr="warning\n")
    assert text == (
        "The command `pytest -q` of step 'check' failed with exit code 1.\n\n"
        "Its output:\n1 failed\n\n"
        "Its error output:\nwarning"
    )


@pytest.mark.parametrize(
    ("failure", "text"),
    [
        ({"command": ("a", "b"), "exit_code": 2}, "The command `a b` of step 'check' failed with exit code 2."),
        ({"command": "x", "signal": 9}, "The command `x` of step 'check' was ended by signal 9 (SIGKILL)."),
        ({"command": "x", "signal": 250}, "The command `x` of step 'check' was ended by signal 250."),
        (
            {"command": "x", "timeout": 90.0, "signal": 9, "exit_code": 1},
            "The command `x` of step 'check' took longer than 90 seconds and was ended.",
        ),
        ({"agent": "coder", "message": " gave up\n"}, "The agent 'coder' of step 'check' failed: gave up"),
        ({"message": "the result is not JSON"}, "Step 'check' failed: the result is not JSON"),
        ({"exit_code": 0}, "Step 'check' failed."),
    ],
)  # fmt: skip
def test_a_failure_is_told_by_who_failed_and_how(failure: dict[str, object], text: str) -> None:
    assert told(**failure) == text


@pytest.mark.parametrize("more", [{"exit_code": 1}, {"verdict": {"reason": "no tests"}}])
def test_that_steps_changed_no_file_is_told_at_the_end(more: dict[str, object]) -> None:
    assert told(idle=("code", "deep.polish"), **more) == (
        f"{told(**more)}\n\n"
        "The last attempt at step 'code' changed no file.\n\n"
        "The last attempt at step 'deep.polish' changed no file."
    )


def test_of_a_long_output_the_end_is_told() -> None:
    text = told(command="x", exit_code=1, stdout="\n".join(f"line {number}" for number in range(100)))
    head, *lines = text.split("\n\n")[1].split("\n")
    assert head == "The end of its output:"
    assert lines[0] == "(40 lines before this are left out)"
    assert lines[1:] == [f"line {number}" for number in range(40, 100)]


@pytest.mark.parametrize(
    ("verdict", "said"),
    [
        ({"accepted": False, "reasons": ["no tests", "too slow"]}, "- no tests\n- too slow"),
        ({"reasons": [], "reason": "no tests"}, "no tests"),
        ({"message": "no"}, "no"),
        ({"reasons": [{"at": 1}]}, '- {"at":1}'),
        ({"reasons": {"a": 1}}, '{"reasons":{"a":1}}'),
        ({"accepted": False}, '{"accepted":false}'),
        ([1], "[1]"),
        (None, "null"),
    ],
)
def test_a_judge_is_told_by_its_reasons(verdict: object, said: str) -> None:
    text = told(verdict=verdict, stdout="not this")
    assert text == f"Step 'check' reviewed the work and rejected it. Its reasons:\n{said}"


def test_reasons_are_cut_behind() -> None:
    text = told(verdict={"reasons": [f"reason {number}" for number in range(100)]})
    assert text.endswith("\n- reason 59\n…")


ANYTHING = st.text("ab \n", max_size=30).flatmap(
    lambda text: st.integers(0, 3000).map(lambda times: text * times)
)


@given(ANYTHING, ANYTHING, ANYTHING, ANYTHING)
def test_feedback_is_bounded(command: str, stdout: str, stderr: str, message: str) -> None:
    text = told(command=command, stdout=stdout, stderr=stderr, message=message, exit_code=1)
    assert len(text) < 13_000
    assert len(told(verdict={"reasons": [command, stdout, stderr]})) < 4_100


# The end of a text


@pytest.mark.parametrize(
    ("text", "tail"),
    [
        ("", ""),
        ("a\nb\n\n", "a\nb"),
        ("a\nb\nc", "a\nb\nc"),
        ("a\nb\nc\nd\n", "(1 lines before this are left out)\nb\nc\nd"),
        ("0123456\n89", "0123456\n89"),
        ("x\n0123456\n89", "(1 lines before this are left out)\n0123456\n89"),
        ("xx0123456\n89", "(1 lines before this are left out)\n89"),
        ("xx0123456789", "(2 characters before this are left out)\n0123456789"),
        ("a\nxx0123456789", "(4 characters before this are left out)\n0123456789"),
    ],
)
def test_the_tail_of_a_text_is_what_fits_from_a_start_of_a_line(text: str, tail: str) -> None:
    assert tail_of(text, lines=3, characters=10) == tail


@given(ANYTHING, st.integers(1, 20), st.integers(1, 100))
def test_a_tail_is_the_end_of_the_text_and_never_too_long(text: str, lines: int, characters: int) -> None:
    tail = tail_of(text, lines, characters)
    kept = tail.split("left out)\n")[-1]
    assert text.rstrip().endswith(kept)
    assert len(kept) <= characters
    assert kept.count("\n") < lines


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", ""),
        (" \n\n", ""),
        ("a\n b \n\n", "b"),
        ("10%\r20%\r30%\r", "30%"),
        ("x" * 300, "…" + "x" * 199),
        ("x" * 200, "x" * 200),
    ],
)
def test_the_last_line_is_the_last_with_something_on_it(text: str, line: str) -> None:
    assert last_line(text) == line
