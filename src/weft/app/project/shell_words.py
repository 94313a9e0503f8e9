"""Facts about a shell command that are certain without running it.

Shell text can do anything, so only simple commands are analysed: words, redirections, and `&&` between them. The
first word of such a command is its program. Any other text has no certain facts.
"""

import shlex
from functools import lru_cache

from weft.plan.model import Command

_SIMPLE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./+@%,:")
"""Characters of a first word that is certainly the name of a program."""
_SHELL_KNOWS = frozenset(
    {".", ":", "[", "alias", "bg", "bind", "break", "builtin", "caller", "case", "cd", "command", "compgen",
     "complete", "continue", "coproc", "declare", "dirs", "disown", "do", "done", "echo", "elif", "else", "enable",
     "esac", "eval", "exec", "exit", "export", "false", "fc", "fg", "fi", "for", "function", "getopts", "hash",
     "help", "history", "if", "in", "jobs", "kill", "let", "local", "logout", "mapfile", "popd", "printf", "pushd",
     "pwd", "read", "readarray", "readonly", "return", "select", "set", "shift", "shopt", "source", "suspend",
     "test", "then", "time", "times", "trap", "true", "type", "typeset", "ulimit", "umask", "unalias", "unset",
     "until", "wait", "while"}
)  # fmt: skip
"""Words that some /bin/sh does not look for on the PATH."""
_HARMLESS = frozenset(
    {":", "[", "cat", "cd", "date", "echo", "exit", "false", "grep", "head", "ls", "mkdir", "printf", "pwd",
     "read", "rm", "sleep", "sort", "tail", "test", "touch", "true", "uname", "wc"}
)  # fmt: skip
"""Programs that make no other program available."""
_REDIRECTIONS = frozenset({">", ">>", "<", ">&", "<&", "&>"})
_AND = "&&"
_OPERATORS = frozenset("();<>|&")
"""The characters of operators."""
_MOST_COMMANDS = 4_096
"""The number of commands whose words are remembered: several checks ask for the same ones."""


def first_word(command: Command) -> str | None:
    """Returns the program that a command starts with; None if that is a shell word, or is uncertain."""
    if not isinstance(command, str):
        return None if "{{" in command[0] else command[0]
    words = command.split()
    while words and _is_assignment(words[0]):
        words = words[1:]
    # `name ()` defines a function.
    if not words or words[1:2] == ["()"]:
        return None
    return words[0] if set(words[0]) <= _SIMPLE and words[0] not in _SHELL_KNOWS else None


def required_program(command: Command) -> str | None:
    """Returns the program without which the command certainly fails; None if that is uncertain."""
    if isinstance(command, str) and not _is_simple(command):
        return None
    return first_word(command)


def may_install(command: Command) -> bool:
    """Returns whether the command may make a new program available."""
    if not isinstance(command, str):
        return command[0] not in _HARMLESS
    tokens = _tokens(command)
    if tokens is None:
        return True
    is_start = True
    for token in tokens:
        is_operator = bool(token) and set(token) <= _OPERATORS
        if is_start and not is_operator and token not in _HARMLESS:
            return True
        is_start = is_operator and token not in _REDIRECTIONS
    return False


def _is_assignment(word: str) -> bool:
    """Returns whether the word is `NAME=value`. PATH is excluded: a new PATH leads to other programs."""
    name, equals, value = word.partition("=")
    return bool(equals) and name.isidentifier() and name != "PATH" and set(value) <= _SIMPLE


def _is_simple(command: str) -> bool:
    # With several lines, a failing line does not fail the command; nothing is certain about it.
    tokens = None if "\n" in command.strip() else _tokens(command)
    operators = [token for token in tokens or () if token and set(token) <= _OPERATORS]
    return tokens is not None and all(operator in _REDIRECTIONS or operator == _AND for operator in operators)


@lru_cache(maxsize=_MOST_COMMANDS)
def _tokens(command: str) -> tuple[str, ...] | None:
    """Returns words and operators; None if the text contains nested commands or cannot be parsed."""
    if "$(" in command or "`" in command or "{{" in command:
        return None
    # `shlex` treats a line break as a blank, but the shell ends a command there.
    lexer = shlex.shlex(command.strip().replace("\n", " ; "), posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    # `#` starts a comment only at the start of a word, which shlex does not know; as a plain character it does no
    # harm.
    lexer.commenters = ""
    try:
        return tuple(lexer)
    except ValueError:
        return None
