"""`weft config`: shows the settings in force with their origins, and approves commands of the project."""

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from weft.cli.completions import Items, setting_names
from weft.cli.effects import CommandEffect, WeftGroup
from weft.cli.output import examples, note, note_lines, show_json, show_lines
from weft.cli.plan_options import at_work_on_a_plan, directory, json_option
from weft.errors import InputError

if TYPE_CHECKING:
    from weft.app.project.approval import ApprovalRequest

_USUAL = "settings"


class _Config(WeftGroup):
    """A group that passes every word which is not a subcommand to `settings`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        first = args[0] if args else ""
        # `weft config max_parallel` must not be an unknown subcommand.
        if first not in self.commands and first not in ctx.help_option_names:
            args = [_USUAL, *args]
        return super().parse_args(ctx, args)


def _complete_key(context: click.Context, argument: click.Parameter, incomplete: str) -> Items:
    """Completes setting names and subcommands, because either may be the next word."""
    from click.shell_completion import CompletionItem

    commands = [CompletionItem(name) for name in config.commands if name.startswith(incomplete)]
    return [*setting_names(context, argument, incomplete), *commands]


@click.group(
    cls=_Config,
    epilog=examples(
        "weft config",
        "weft config max_parallel",
        "weft config --files",
        "weft config approve",
    ),
    short_help="Show the settings in force, and approve a project's commands.",
    subcommand_metavar="[KEY] | COMMAND [ARGS]...",
)
def config() -> None:
    """Print the settings that are in force in this directory, or explain the one named KEY.

    A setting comes from a flag, the plan, an environment variable (WEFT_MAX_PARALLEL for max_parallel), the
    project's .weft/config.yaml, the user's ~/.config/weft/config.yaml, or is the default; the first of these
    counts.

    Commands in .weft/config.yaml, such as those of agents, run only after you have approved them.
    """


@config.command(
    effect=CommandEffect.READS,
    name=_USUAL,
    epilog=examples("weft config", "weft config merge.mode", "weft config --json"),
    short_help="Print the settings in force here, or explain one; the default.",
)
@click.argument("key", required=False, shell_complete=_complete_key)
@click.option(
    "--files", "only_files", is_flag=True, help="List only the configuration files, including missing ones."
)
@json_option
def settings(*, key: str | None, only_files: bool, as_json: bool) -> int:
    """Print the settings in force in this directory and where each comes from, or explain the one named KEY.

    If there is a weft.yaml or weft.yml, it counts, too. For another plan: weft check PLAN --explain /
    """
    if only_files and key is not None:
        raise click.UsageError("--files names all files; leave out the setting")
    if only_files:
        _show_files(as_json=as_json)
        return 0
    with at_work_on_a_plan(as_json=as_json):
        from weft.app.project.configuration import configuration_of, explain_key
        from weft.cli.text import config as config_text

        if key is None:
            configuration = configuration_of(directory(), os.environ)
            lines = config_text.configuration_lines(configuration)
            data = config_text.configuration_data(configuration)
        else:
            explanation = explain_key(directory(), key, os.environ)
            lines, data = config_text.key_lines(explanation), config_text.key_data(explanation)
    if as_json:
        show_json(data)
    else:
        show_lines(lines)
    return 0


def _show_files(*, as_json: bool) -> None:
    from weft.app.project.configuration import files
    from weft.cli.text import config as config_text

    config_files = list(files(directory(), os.environ))
    if as_json:
        show_json({"files": [config_text.file_data(file) for file in config_files]})
    else:
        show_lines(config_text.file_lines(config_files))


# --- approval ---


@config.command(
    effect=CommandEffect.CHANGES,
    epilog=examples("weft config approve", "weft config approve --hash 0f3c…"),
    short_help="Approve the commands that .weft/config.yaml names, and the hosts of a plan.",
)
@click.option(
    "--plan", metavar="PLAN", type=click.Path(), help="The plan whose hosts are approved; default: weft.yaml."
)
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option(
    "--hash",
    "expected_hash",
    metavar="HASH",
    help="Do not ask; approve only if this is the hash of the commands.",
)
def approve(*, plan: str | None, yes: bool, expected_hash: str | None) -> int:
    """Show the commands that this project's .weft/config.yaml names and what it loosens, ask, and approve them.

    That file comes with the repository. Before a run, you must have approved in this directory everything that it
    would run: commands, arguments and variables of agents, setup, and notifications; and each setting that is
    looser than in your own configuration. If one of them changes, approve it again; other settings may change
    freely. The hosts of a plan need an approval of their own, since the repository is sent to them.

    The hash is the same on each machine: in CI, use the hash of the commands that you have read.

    Exit code: 0 if all is approved; 2 if not.
    """
    from weft.app.project.configuration import approval_requests

    requests = approval_requests(directory(), os.environ, plan)
    if not requests:
        note("there is nothing to approve: the project's configuration names no commands and loosens nothing")
        return 0
    if expected_hash is not None:
        _approve_hash(requests, expected_hash)
        return 0
    for request in requests:
        if request.is_approved:
            note(f"approved already: {request.hash}")
        else:
            _approve(request, asks=not yes)
    return 0


def _approve_hash(requests: "Sequence[ApprovalRequest]", expected_hash: str) -> None:
    """Approves the request with this hash; raises `InputError` if there is none."""
    for request in requests:
        if request.hash == expected_hash:
            _approve(request, asks=False)
            return
    hashes = "; ".join(
        f"the {_noun(request)} of {request.file} have the hash {request.hash}" for request in requests
    )
    raise InputError(f"{hashes}, and not {expected_hash}")


def _noun(request: "ApprovalRequest") -> str:
    return "hosts" if request.plan else "commands"


def _approve(request: "ApprovalRequest", *, asks: bool) -> None:
    from weft.app.project import approval

    note_lines([f"{request.file}, hash {request.hash}:", *approval.change_lines(request)])
    if asks:
        _ask(request)
    approval.approve(request, os.environ)
    note("approved")


def _ask(request: "ApprovalRequest") -> None:
    from weft.cli.approval_prompt import agrees

    if sys.stdin is None or not sys.stdin.isatty():
        raise InputError(
            "cannot ask without a terminal; after you have read them, type: weft config approve --yes (or --hash "
            "HASH)"
        )
    if not agrees(request):
        raise InputError("not approved")


@config.command(
    effect=CommandEffect.CHANGES,
    epilog=examples("weft config revoke", "weft config revoke ../other-project"),
    short_help="Revoke the approval of a project.",
)
@click.argument("project", required=False, type=click.Path())
def revoke(*, project: str | None) -> int:
    """Revoke all approvals of PROJECT, a directory; default: the project around the current directory."""
    from weft.app.project import approval
    from weft.app.project.places import absolute, project_of
    from weft.app.project.step_limits import refuse_inside_step

    place = project_of(absolute(directory())).project if project is None else directory() / project
    refuse_inside_step(place, "weft config revoke")
    # Also for a directory that no longer exists: its approvals are what the user wants to be rid of.
    gone = approval.revoke(place, os.environ)
    note(f"nothing was approved for {place}" if not gone else f"no command of {place} is approved any more")
    return 0


@config.command(
    effect=CommandEffect.READS,
    epilog=examples("weft config approvals", "weft config approvals --json"),
    short_help="List all approvals, and whether this project has one.",
)
@json_option
def approvals(*, as_json: bool) -> int:
    """List all approved projects, and show whether this project is approved."""
    from weft.app.project import approval
    from weft.app.project.configuration import approval_requests
    from weft.cli.text import config as config_text

    requests = approval_requests(directory(), os.environ)
    request = next((request for request in requests if not request.plan), None)
    hosts = next((request for request in requests if request.plan), None)
    recorded = approval.approvals(os.environ)
    if as_json:
        show_json(config_text.approvals_data(request, hosts, recorded))
        return 0
    show_lines(config_text.approval_lines(recorded))
    note_lines(config_text.here_lines(request))
    if hosts is not None:
        note_lines(config_text.here_lines(hosts))
    return 0
