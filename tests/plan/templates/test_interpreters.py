"""Which argument of a command another program would read as code."""

import shlex

import pytest

from weft.plan.templates.interpreters import code_reader


@pytest.mark.parametrize(
    ("before", "program"),
    [
        ("sh -c", "sh -c"),
        ("/bin/bash -lc", "bash -lc"),
        ("bash -o pipefail -ec", "bash -ec"),
        ("bash -c --", "bash -c"),
        ("bash -c -x", "bash -c"),
        ("sudo -u me env A=b timeout 5 zsh -c", "zsh -c"),
        ("find . -exec sh -c", "sh -c"),
        ("xargs -n 1 dash -c", "dash -c"),
        ("if sh -c", "sh -c"),
        ("su me -c", "su -c"),
        ("runuser me --command", "runuser --command"),
        ("flock file -c", "flock -c"),
        ("eval", "eval"),
        ("A=b command eval echo", "eval"),
        ("ssh host", "ssh"),
        ("ssh -p 22 -q me@host cd x", "ssh"),
        ("timeout 5 ssh host", "ssh"),
        ("python3 -c", "python3 -c"),
        ("python3.12 -W error -Bc", "python3.12 -Bc"),
        ("perl -w -ne", "perl -ne"),
        ("ruby -r json -e", "ruby -e"),
        ("node --eval", "node --eval"),
        ("php -d a=b -r", "php -r"),
        ("$SHELL -c", "$SHELL -c"),
        ("${BASH} -ec", "${BASH} -ec"),
        ("trap", "trap"),
        ("if trap --", "trap"),
        ("pwsh -NoProfile -Command", "pwsh -Command"),
        ("nix-shell -p hello --run", "nix-shell --run"),
    ],
)
def test_the_next_word_is_code(before: str, program: str) -> None:
    assert code_reader(shlex.split(before)) == program


@pytest.mark.parametrize(
    "before",
    [
        "",
        "echo",
        "sh",
        "sh -e",
        "sh -o",
        "sh script.sh -c",
        "sh -c 'echo \"$1\"'",
        "sh -c 'echo \"$1\"' sh",
        "su me",
        "su -c 'echo' me",
        "grep -c",
        "echo eval",
        "ssh",
        "ssh -p",
        "ssh -p 22",
        "python3 -m json.tool -c",
        "python3 -W",
        "python3 script.py",
        "node script.js -e",
        "gcc -c",
        "$CC -c",
        "trap 'rm x'",
        "echo trap",
        "nix-shell",
    ],
)
def test_the_next_word_is_no_code(before: str) -> None:
    assert code_reader(shlex.split(before)) is None
