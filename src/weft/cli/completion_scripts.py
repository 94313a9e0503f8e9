"""The completion script for bash. For the other shells, click's own script is sufficient.

Names such as `store/model:check` contain a colon, which ends a word for bash: it passes the pieces, and replaces
only the last one. So the script passes the line as typed, and removes the earlier pieces from the suggestions.
"""

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import NoReturn

import click
from click.shell_completion import BashComplete, add_completion_class, get_completion_class, split_arg_string

_SCRIPT = """\
%(complete_func)s() {
    local line="${COMP_LINE:0:COMP_POINT}" before="" reply type value
    local word="${line##*[[:space:]]}"
    [[ $COMP_WORDBREAKS == *:* ]] && before="${word%%"${word##*:}"}"
    while IFS= read -r reply; do
        IFS=, read -r type value <<< "$reply"
        case $type in
            dir) compopt -o dirnames ;;
            file) compopt -o default ;;
            plain) printf -v value %%q "${value#"$before"}"; COMPREPLY+=("$value") ;;
        esac
    done < <(env COMP_WORDS="$line" COMP_CWORD= %(complete_var)s=bash_complete "$1")
}

complete -o nosort -F %(complete_func)s %(prog_name)s
"""


class Bash(BashComplete):
    """Completion for bash that takes the words from the typed line."""

    source_template = _SCRIPT

    def get_completion_args(self) -> tuple[list[str], str]:
        line = os.environ["COMP_WORDS"]
        words = split_arg_string(line)[1:]
        # After a blank the user starts another word, so nothing of the last one is to be completed.
        is_new = not words or line[-1:].isspace()
        return (words, "") if is_new else (words[:-1], words[-1])


def script(command: click.Command, shell: str, variable: str) -> str:
    """Returns the script for the shell to evaluate."""
    _register()
    complete = get_completion_class(shell)
    assert complete is not None
    return complete(command, {}, "weft", variable).source()


def answer_shell(answer: Callable[[], object]) -> NoReturn:
    """Prints the suggestions and ends the process. Errors are not printed, to keep the user's line intact."""
    _register()
    with suppress(Exception):
        answer()  # ends the process itself, unless it fails
    sys.exit(1)


def _register() -> None:
    add_completion_class(Bash, "bash")
