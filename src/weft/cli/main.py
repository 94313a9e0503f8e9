"""The command `weft`: its root, and the one place where errors become exit codes.

0    done; for a question, yes
1    something failed; for a question, no
2    the input is wrong: usage, a file, a plan, a net
3    a run failed because its budget is used up
4    unknown, or waiting for a person
70   a bug in Weft; the traceback is for its report
130  interrupted by Ctrl-C
141  the reader of the output has gone, as when it is piped into `head`
"""

import gc
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any, NoReturn

import click

from weft import __version__
from weft.cli.effects import CommandEffect, WeftGroup
from weft.cli.output import examples, forget_broken_outputs, note, note_lines, write_text
from weft.cli.terminal import text_width
from weft.errors import InputError, WeftError
from weft.garbage import search_rarely
from weft.system_errors import describe

EXIT_FAILED = 1
EXIT_INPUT = 2
EXIT_BUG = 70
EXIT_INTERRUPTED = 130
EXIT_PIPE = 141

COMMANDS = {
    "project": ("init", "config", "agents", "hosts", "doctor", "clean", "help"),
    "plan": ("decompose", "convert", "check", "show", "graph", "simulate", "schema", "net"),
    "run": ("run", "start", "stop", "pause", "resume", "retry", "answer", "merge", "coordinate"),
    "view": ("status", "top", "ui", "attach", "logs", "diff", "open", "events", "report", "replay"),
}
"""The folder of each command, in the order of the help.

Each command is in the module of its name. Only the module of the command that runs is imported.
"""

_HEADINGS = {
    "project": "Projects",
    "plan": "Plans and Petri nets",
    "run": "Running a plan",
    "view": "Looking at a run",
}
_FOLDERS = {name: folder for folder, names in COMMANDS.items() for name in names}

SHELLS = ("bash", "zsh", "fish")
COMPLETES = "_WEFT_COMPLETE"
"""The environment variable with which the completion script asks for suggestions."""


class Root(WeftGroup):
    """The root command.

    The process exits with the number that a command returns, or with the code of its error.
    """

    def make_context(self, *args: Any, **extra: Any) -> click.Context:  # noqa: ANN401 - as click has it
        extra.setdefault("terminal_width", text_width(sys.stdout))
        return super().make_context(*args, **extra)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        # Here for all commands: click would look for a file of that name, and fail in the middle of it.
        for word in args:
            try:
                os.fsencode(word)
            except UnicodeEncodeError:
                raise click.UsageError(f"an argument is not valid text: {word!r}", ctx) from None
        return super().parse_args(ctx, args)

    def main(self, *args: Any, **extra: Any) -> NoReturn:  # noqa: ANN401 - as click has it
        extra["standalone_mode"] = False  # otherwise click prints errors and exits with its own codes
        if os.environ.get(COMPLETES):
            from weft.cli.completion_scripts import answer_shell

            answer_shell(lambda: super(Root, self).main(*args, **extra))
        try:
            code = super().main(*args, **extra)
        except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - the outermost frame
            # No command exits by itself; every way out of the process leads through here.
            code = exit_code(error)
        sys.exit(code)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*super().list_commands(ctx), *_FOLDERS})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        # For an unknown name all commands are imported, because click suggests the nearest of them.
        if cmd_name not in self.commands:
            for name in (cmd_name,) if cmd_name in _FOLDERS else _FOLDERS:
                self.add_command(getattr(import_module(f"weft.cli.commands.{_FOLDERS[name]}.{name}"), name))
        return super().get_command(ctx, cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes a section for each folder of commands; those defined here are in the first."""
        own = [name for name in super().list_commands(ctx) if name not in _FOLDERS]
        widest = max(map(len, (*own, *_FOLDERS)))
        for folder, names in COMMANDS.items():
            listed = [self.get_command(ctx, name) for name in (*names, *(own if folder == "project" else ()))]
            rows = [
                (str(command.name).ljust(widest), command.get_short_help_str(formatter.width - widest - 6))
                for command in listed
                if command is not None and not command.hidden
            ]
            with formatter.section(_HEADINGS[folder]):
                formatter.write_dl(rows)

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401 - as click has it
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            forget_broken_outputs()
            raise click.exceptions.Exit(EXIT_PIPE) from None


def exit_code(error: BaseException) -> int:
    """Prints the error and returns the code to exit with."""
    match error:
        case click.BadParameter():
            from weft.cli.usage_errors import with_allowed_values

            with_allowed_values(error).show()
            return error.exit_code
        case click.ClickException():
            error.show()
            return error.exit_code
        case click.Abort() | KeyboardInterrupt():
            note("interrupted")
            return EXIT_INTERRUPTED
        case WeftError():
            note_lines(error.lines())
            return EXIT_INPUT if isinstance(error, InputError) else EXIT_FAILED
        case MemoryError():
            note("error: out of memory")
            return EXIT_FAILED
        case OSError():
            forget_broken_outputs()
            note(f"error: {describe(error)}")
            return EXIT_FAILED
        case _:
            note("error: this is a bug in Weft; please report it with the lines below")
            import traceback

            traceback.print_exception(error)
            return EXIT_BUG


@click.group(
    epilog=examples("weft check plan.yaml", "weft run plan.yaml", "weft logs store/model"),
    cls=Root,
    name="weft",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, "-V", "--version", message="%(prog)s %(version)s")
@click.option(
    "-C", "directory", metavar="DIR", default=".", type=click.Path(exists=True, file_okay=False),
    help="Work as if started in this directory.",
)  # fmt: skip
def cli(*, directory: str) -> None:  # the commands take the directory from the context
    """Run plans of subplans with as much parallelism as they allow, and prove what they can do.

    Data goes to standard output, everything else to standard error. Exit codes: 0 done or proved, 1 failed or
    refuted, 2 wrong usage or a file or plan that cannot be used, 3 the budget is used up, 4 unknown or waiting for
    a person, 70 a bug in Weft, 130 interrupted, 141 the reader of the output has gone.
    """


@cli.command(
    effect=CommandEffect.READS,
    epilog=examples('eval "$(weft completion bash)"'),
    short_help="Print the script that completes commands in your shell.",
)
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion(context: click.Context, shell: str) -> int:
    """Print the script that lets SHELL complete the commands and options of weft."""
    from weft.cli.completion_scripts import script

    write_text(script(context.find_root().command, shell, COMPLETES) + "\n")
    return 0


def _open_standard_streams() -> None:
    """Opens closed standard streams on /dev/null. Otherwise the next opened file would take their place."""
    for descriptor, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(descriptor)
        except OSError:
            opened = os.open(os.devnull, os.O_RDWR)
            if opened != descriptor:
                os.dup2(opened, descriptor)
                os.close(opened)
        if getattr(sys, name) is None:
            setattr(sys, name, open(descriptor, mode, encoding="utf-8", closefd=False))  # noqa: SIM115


def main(args: Sequence[str] | None = None) -> NoReturn:
    """Runs the command line and ends the process."""
    # The default searches hundreds of times while a large plan is loaded, and finds nothing.
    search_rarely()
    _open_standard_streams()
    try:
        cli.main(args, prog_name="weft")
    finally:
        gc.freeze()  # skips the last garbage collection, since the process ends anyway
