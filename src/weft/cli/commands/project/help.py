"""`weft help`: prints the help of a command, for people who type `help` first."""

import click

from weft.cli.effects import CommandEffect, WeftCommand
from weft.cli.output import examples, show_lines


def _complete(context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    command: click.Command | None = context.find_root().command
    for word in context.params.get("words") or ():
        command = command.get_command(context, word) if isinstance(command, click.Group) else None
    names = command.list_commands(context) if isinstance(command, click.Group) else []
    return [name for name in names if name.startswith(incomplete)]


@click.command(
    cls=WeftCommand,
    effect=CommandEffect.READS,
    epilog=examples("weft help run", "weft help net check"),
    short_help="Show the help of weft or of a command.",
)
@click.argument("words", metavar="[COMMAND]", nargs=-1, shell_complete=_complete)
@click.pass_context
def help(context: click.Context, words: tuple[str, ...]) -> int:  # noqa: A001 - as the command is called
    """Show what `weft COMMAND --help` shows; without COMMAND, the list of all commands."""
    command_context = context.find_root()
    for word in words:
        group = command_context.command
        if not isinstance(group, click.Group):
            path, typed = command_context.command_path, _help_command(command_context)
            raise click.UsageError(f"{path} has no commands of its own; type: {typed}", context)
        # Raises a usage error for an unknown name.
        name, command, _ = group.resolve_command(command_context, [word])
        assert command is not None
        command_context = click.Context(command, info_name=name, parent=command_context)
    show_lines(command_context.get_help().splitlines())
    return 0


def _help_command(command_context: click.Context) -> str:
    return command_context.command_path.replace("weft ", "weft help ", 1)
