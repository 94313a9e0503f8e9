"""Failures of bubblewrap itself are distinguished from those of the commands in it."""

import pytest

from weft.ports.host import EndReason, JobEnded
from weft.runtime.sandbox.boxes import with_sandbox_failure


def ended(**more) -> JobEnded:
    return JobEnded(
        **{"id": "a", "why": EndReason.EXITED, "exit_code": 1, "stdout": "", "stderr": "", **more}
    )


def test_a_program_that_is_not_there_was_not_started() -> None:
    outcome = with_sandbox_failure(ended(stderr="bwrap: execvp claude: No such file or directory\n"))
    assert (outcome.why, outcome.exit_code) == (EndReason.NOT_STARTED, None)
    assert outcome.message.startswith("cannot run claude: No such file or directory in its sandbox")


def test_a_sandbox_that_cannot_be_made_says_why() -> None:
    outcome = with_sandbox_failure(ended(stderr="bwrap: Can't mkdir /x: Read-only file system\n"))
    expected = "bubblewrap cannot create its sandbox: Can't mkdir /x: Read-only file system"
    assert (outcome.why, outcome.message) == (EndReason.NOT_STARTED, expected)


@pytest.mark.parametrize(
    "more",
    [
        {"stderr": "oops\n"},
        {"stderr": "bwrap: x\nmore\n"},
        {"stderr": "bwrap: x\n", "stdout": "it said something"},
        {"stderr": "bwrap: x\n", "exit_code": 2},
        {"stderr": "bwrap: x\n", "why": EndReason.TIMEOUT},
        {"stderr": None},
    ],
)
def test_all_else_is_what_it_was(more: dict[str, object]) -> None:
    assert with_sandbox_failure(ended(**more)) == ended(**more)
