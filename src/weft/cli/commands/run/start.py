"""`weft start`: runs a plan in the background, and returns when work is running or has been refused."""

import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from weft.cli.effects import CommandEffect, WeftCommand
from weft.cli.output import examples, note, note_lines, show_json, show_lines
from weft.cli.plan_options import Flags, directory, flag_options, isolation_option, json_option, plan_source
from weft.cli.run_options import fresh_budget_option, plan_and_ids, running_here, words_argument

_TRIES = 20
"""How often a busy project is tried again: a coordinator that has just started has no run to name yet."""

if TYPE_CHECKING:
    from weft.cli.text.pause_state import PausedSubplans


@click.command(
    cls=WeftCommand,
    effect=CommandEffect.CHANGES,
    epilog=examples("weft start", "weft start store/model", "weft start plan.yaml --max-parallel 8"),
    short_help="Run a plan in the background.",
)
@words_argument
@flag_options
@isolation_option
@click.option("--fresh", is_flag=True, help="Repeat everything, including what an earlier run completed.")
@fresh_budget_option
@json_option
def start(
    *, words: tuple[str, ...], fresh: bool, fresh_budget: bool, as_json: bool, **flags: str | None
) -> int:
    """Run PLAN as `weft run` does, but in the background: it continues when the terminal is closed.

    Returns when work is running. `weft status` shows its progress, `weft pause`, `weft resume` and `weft stop`
    steer it, from any terminal. A stopped run resumes where it was, and what was paused is still paused, until
    `weft resume`; a run that is already active is not touched. The output of the coordinator is in
    .weft/coordinator.log.

    Exit code: 0 if it runs, or there is nothing to do; else as of `weft run`.
    """
    from weft.app.project.files import STDIN
    from weft.cli.text.pause_state import PausedSubplans
    from weft.errors import InputError

    plan, ids = plan_and_ids(words, directory())
    if plan == STDIN:
        raise InputError("a plan from standard input cannot run in the background; write it to a file first")
    if _is_running_already(as_json=as_json):
        return 0
    if not as_json:
        # Also the first load of the plan: its errors appear on this terminal and not in the coordinator's log.
        note_lines(_eligibility(plan, ids, flags, fresh=fresh))
    _ask_for_approval(directory(), plan)
    arguments = [f"--{name.replace('_', '-')}={value}" for name, value in flags.items() if value is not None]
    arguments += ["--fresh"] if fresh else []
    arguments += ["--fresh-budget"] if fresh_budget else []
    message, code = _first_message([*arguments, "--", *words], as_json=as_json)
    if message is None:
        return 0
    if not message:
        return code
    paused = PausedSubplans(message["paused"])
    does = "is still paused" if paused.is_whole else "resumes" if message["resumed"] else "is running"
    data: dict[str, object] = {"run": message["run"], "pid": message["pid"], "started": True, **paused.data()}
    _show_run(
        data, f"run {message['run']} {does} in the background (process {message['pid']})", as_json, paused
    )
    return 0


def _first_message(arguments: list[str], *, as_json: bool) -> tuple[dict[str, Any] | None, int]:
    """Returns the coordinator's first message and its exit code.

    The message is None if another `weft start` was first.
    """
    from weft.app.run.background import start as start_coordinator
    from weft.errors import WeftError

    message, code = start_coordinator(arguments, directory=directory(), environ=os.environ)
    # Two `weft start` at the same moment: one becomes the coordinator, the other has to name it.
    for _ in range(_TRIES):
        if "busy" not in message:
            return message, code
        if _is_running_already(as_json=as_json):
            return None, 0
        message, code = start_coordinator(arguments, directory=directory(), environ=os.environ)
    raise WeftError(str(message["busy"]))


def _is_running_already(*, as_json: bool) -> bool:
    """Returns whether a coordinator runs in this project, and prints that if so."""
    from weft.app.control.control import control_requests_of
    from weft.app.record.journal import open_book
    from weft.cli.text.pause_state import PausedSubplans

    running = running_here(directory())
    if running is None:
        return False
    run, pid = running
    with open_book(directory(), run) as recorded_run:
        paused = PausedSubplans(control_requests_of(recorded_run).restraints())
    data: dict[str, object] = {"run": run, "pid": pid, "started": False, **paused.data()}
    does = "is paused" if paused.is_whole else "is running already"
    _show_run(data, f"run {run} {does} (process {pid})", as_json, paused)
    return True


def _eligibility(plan: str | None, ids: tuple[str, ...], flags: Flags, *, fresh: bool) -> Iterable[str]:
    """Yields lines about slices that can start now, blocked slices, and slices that may touch the same files."""
    from msgspec import structs

    from weft.app.check.change_history import changed_together
    from weft.app.check.eligibility import eligibility_of
    from weft.app.project import plans
    from weft.app.run.selection import choose
    from weft.cli.text.eligibility import eligibility_lines
    from weft.cli.text.overlap import overlap_lines
    from weft.cli.text.sections import section
    from weft.garbage import without_gc
    from weft.plan.compile.compile import compile_plan
    from weft.plan.report.check import overlaps_of
    from weft.plan.report.overlaps import Apart

    source = plan_source(plan)
    with without_gc():
        part, _ = choose(plans.load(source, flags=flags), ids)
        compiled, folder = compile_plan(part), plans.folder_of(source)
        overlaps = overlaps_of(compiled, changed_together(part, folder, os.environ))
        together = tuple(pair for pair in overlaps.pairs if pair.apart is Apart.NOTHING)
        lines = overlap_lines(structs.replace(overlaps, pairs=together), verbose=False)
        return [*eligibility_lines(eligibility_of(compiled, folder, fresh=fresh)), *section("Overlap", lines)]


def _ask_for_approval(folder: Path, plan: str | None) -> None:
    """Asks the user to approve what needs it. The coordinator has no terminal and cannot ask."""
    # Without a terminal, the coordinator itself refuses, with the command that approves.
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return
    from weft.app.project.approval import NotApprovedError
    from weft.app.project.configuration import approval_requests
    from weft.cli.approval_prompt import is_approved_now

    for request in approval_requests(folder, os.environ, plan):
        if not request.is_approved:
            is_approved_now(NotApprovedError(request))


def _show_run(data: dict[str, object], message: str, as_json: bool, paused: "PausedSubplans") -> None:  # noqa: FBT001 - as the option is
    if as_json:
        show_json(data)
    else:
        show_lines([message])
        note_lines(paused.lines())
        note("to see its progress: weft status; to stop it: weft stop")
