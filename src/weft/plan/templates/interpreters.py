"""Programs that read one of their arguments as code: `sh -c`, `eval`, `ssh HOST`, `python -c` and the like.

A value that is quoted for the shell reaches such a program as a part of its code, without the quotes, so the
program runs what is in the value. `code_reader` decides by the words before an argument whether it is read as
code. Arguments after the code are safe (`sh -c 'echo "$1"' sh VALUE`), and so are environment variables.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import dropwhile


@dataclass(frozen=True, slots=True, kw_only=True)
class _Interpreter:
    """A program that reads an argument as code."""

    # Patterns as texts, since few plans need any of them.
    names: str
    option: str
    """The option before the code, alone or combined with others in one word."""
    with_value: frozenset[str] = frozenset()
    """Options that take the next word as their value."""
    operands_first: bool = False
    """Whether operands may come before the option."""


_INTERPRETERS = (
    _Interpreter(
        names=r"sh|bash|dash|ash|zsh|ksh|mksh|fish|\$\{?(?:SHELL|BASH)\}?",
        option=r"-[A-Za-z]*c[A-Za-z]*",
        with_value=frozenset({"-o", "-O", "+o", "+O", "--rcfile", "--init-file"}),
    ),
    _Interpreter(
        names="su|runuser|script|flock",
        option=r"-c|--command",
        operands_first=True,
    ),
    _Interpreter(
        names=r"(?:python|pypy)[0-9.]*",
        option=r"-[A-Za-z]*c",
        with_value=frozenset({"-W", "-X"}),
    ),
    _Interpreter(
        names="perl|ruby",
        option=r"-[A-Za-z]*[eE]",
        with_value=frozenset({"-I", "-r", "-C"}),
    ),
    _Interpreter(
        names="node|nodejs|bun",
        option=r"-[a-z]*[ep]|--eval|--print",
        with_value=frozenset({"-r", "--require", "--import"}),
    ),
    _Interpreter(
        names="pwsh|powershell",
        option=r"(?i:-(?:c|command|commandwithargs|cwa))",
        with_value=frozenset({"-WorkingDirectory", "-wd", "-ExecutionPolicy", "-ep"}),
    ),
    _Interpreter(names="nix-shell", option="--run|--command", operands_first=True),
    _Interpreter(names="php", option=r"-r|--run", with_value=frozenset({"-d", "-c"})),
)
_SSH_WITH_VALUE = r"-[46AaCfGgKkMNnqsTtVvXxYy]*[bcDEeFIiJLlmOopQRSWw]"
_ASSIGNMENT = r"(?s:[A-Za-z_]\w*=.*)"
_TRAPS = (["trap"], ["trap", "--"])
"""The first argument of `trap` is code, the others are signals."""
_BEFORE_A_COMMAND = frozenset(
    {"!", "{", "if", "then", "elif", "else", "while", "until", "do", "time", "command", "builtin"}
)


def code_reader(words: Sequence[str]) -> str | None:
    """Returns the program that reads the next word of a command as code; None if none does."""
    command = _command_words(words)
    if command[:1] == ["eval"] or command in _TRAPS:
        return command[0]
    # The program need not come first: `sudo sh -c`, `env X=1 sh -c`, `xargs sh -c`.
    for position, word in enumerate(words):
        name, after = word.rpartition("/")[2], words[position + 1 :]
        if name == "ssh" and _has_host(after):
            return "ssh"
        for interpreter in _INTERPRETERS:
            option = _code_option(interpreter, after) if re.fullmatch(interpreter.names, name) else None
            if option is not None:
                return f"{name} {option}"
    return None


def _command_words(words: Sequence[str]) -> list[str]:
    """Returns the name of the command and its arguments, without keywords and assignments before it."""
    return [
        *dropwhile(
            lambda word: word in _BEFORE_A_COMMAND or re.fullmatch(_ASSIGNMENT, word) is not None, words
        )
    ]


def _code_option(interpreter: _Interpreter, words: Sequence[str]) -> str | None:
    """Returns the option that makes the next word code; None if there is none, or if it has its argument."""
    option: str | None = None
    is_value = False
    for word in words:
        if is_value:
            is_value = False
        elif re.fullmatch(interpreter.option, word):
            option = word
        elif word in interpreter.with_value:
            is_value = True
        # `sh -c -- CODE`: the code comes after the dashes.
        elif option is not None and word == "--":
            continue
        # An operand before the option is the script file, so no code follows.
        elif word[:1] not in {"-", "+"} and (option is not None or not interpreter.operands_first):
            return None
    return None if is_value else option


def _has_host(words: Sequence[str]) -> bool:
    is_value = False
    for word in words:
        if is_value:
            is_value = False
        elif word.startswith("-"):
            is_value = re.fullmatch(_SSH_WITH_VALUE, word) is not None
        else:
            return True
    return False
