"""What is said of a shell's text without running it: only what is certain."""

import pytest

from weft.app.project.shell_words import first_word, may_install, required_program
from weft.plan.model import Command


@pytest.mark.parametrize(
    ("command", "program"),
    [
        ("pytest -q", "pytest"),
        ("CI=1 pytest -q", "pytest"),
        ("./gradlew test > log 2>&1", "./gradlew"),
        ("nothing -q && other", "nothing"),
        ('pytest -k "a or b"', "pytest"),
        (("tool", "a|b"), "tool"),
        ("PATH=bin tool", None),
        ("A=$B tool", None),
        ("tool || true", None),
        ("tool | tee log", None),
        ("tool & wait", None),
        ("tool; true", None),
        ("tool\ntrue", None),
        ("! tool", None),
        ("$TOOL -q", None),
        ("tool $(date)", None),
        ("tool `date`", None),
        ("tool () { true; }", None),
        ("tool () true", None),
        ("tool 'open", None),
        ("tool {{ slice.id }}", None),
        (("{{ env.TOOL }}", "-q"), None),
        ("cd sub", None),
        ("source ./x", None),
        ("", None),
        ("A=1", None),
    ],
)
def test_only_a_simple_command_needs_its_first_word_for_certain(
    command: Command, program: str | None
) -> None:
    assert required_program(command) == program


def test_the_first_word_of_any_text_is_the_program_if_it_is_one() -> None:
    assert first_word("agent --yes | tee log") == "agent"
    assert first_word("if true; then agent; fi") is None


@pytest.mark.parametrize(
    "command",
    [
        "date > FILE",
        "cat a b > c",
        "mkdir d && touch d/x",
        "test -s x; true\necho y",
        "",
        ("touch", "x"),
        "(cd a)",
    ],
)
def test_plain_commands_install_nothing(command: Command) -> None:
    assert not may_install(command)


@pytest.mark.parametrize(
    "command",
    [
        "pip install tool",
        "date; make tools",
        "date\nmake tools",
        "echo $(make tools)",
        "true | sh",
        "A=1 date",
        "cp tool /bin",
        "echo 'open",
        ("make", "tools"),
    ],
)
def test_any_other_command_may_install_a_program(command: Command) -> None:
    assert may_install(command)
