"""Finds the commands that a text tells people to type, and checks that Weft understands them.

Every text that a test of the command line sees goes through here, so that a suggestion with a placeholder, a wrong
option or a missing quote fails the test that made it appear.
"""

import re
import shlex

import click

from weft.cli.main import cli

_TOLD = re.compile(
    r"(?:\btype|\bAnswer with|\bstop it with|\bfirst with|its progress|to stop it): "
    r"((?:weft|git) .*?)(?=; |, then|, or |, and | \(|\.$|\. |,$| takes over|$)",
    re.MULTILINE,
)
_LISTED = re.compile(r"^(?:Next {7}| {11}|)(weft [a-z]+(?: [^ ]+)*)(?: {2,}\S.*)?$", re.MULTILINE)
"""In the list of commands at the end of a summary or of `weft status`."""
_PLACEHOLDER = re.compile(r"[A-Z][A-Z_-]{2,}")


def commands_in(text: str) -> list[str]:
    """The commands that the text suggests, each once."""
    return list(dict.fromkeys([*_TOLD.findall(text), *_LISTED.findall(text)]))


def check_suggestions(text: str) -> None:
    for command in commands_in(text):
        words = shlex.split(command)
        assert not any(_PLACEHOLDER.fullmatch(word) for word in words), f"not to be typed: {command}"
        if words[0] == "weft":
            _parse(command, words[1:])


def _parse(typed: str, words: list[str]) -> None:
    """As the program would, without doing anything."""
    try:
        if words[0] == "-C":
            words = words[2:]
        command: click.Command = cli
        context = click.Context(cli, info_name="weft")
        while isinstance(command, click.Group):
            name, result, words = command.resolve_command(context, words)
            assert result is not None
            command = result
            context = click.Context(command, info_name=name, parent=context)
        command.parse_args(context, words)
    except click.exceptions.Exit:
        pass  # --help
    except click.ClickException as error:
        raise AssertionError(f"not to be typed: {typed}: {error.format_message()}") from error
