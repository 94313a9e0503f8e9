"""`weft start`: runs a plan in the background; it returns when work is running, or says why not."""

import os
import sys
from collections.abc import Iterable
from pathlib import Path

import click

from weft.cli.output import examples, note, note_lines, show_json, show_lines
from weft.cli.plan_options import Flags, directory, flag_options, json_option, plan_source
from weft.cli.run_options import plan_and_ids, running_here, words_argument


@click.command(
    epilog=examples("weft start", "weft start store/model", "weft start plan.yaml --max-parallel 8"),
    short_help="Run a plan in the background.",
)
@words_argument
@flag_options
@click.option("--isolation", metavar="KIND", help="Where slices work: worktree, dir or none.")
@click.option("--fresh", is_flag=True, help="Do everything anew, also what an earlier run has completed.")
@json_option
def start(*, words: tuple[str, ...], fresh: bool, as_json: bool, **flags: str | None) -> int:
    """Run PLAN as `weft run` does, but in the background: close the terminal, and it goes on.

    Returns when work is running. `weft status` shows how far it is, `weft pause`, `weft resume` and `weft stop`
    steer it, from any terminal. What was stopped goes on where it was; what is running already is left alone. What
    the coordinator has to say is in .weft/coordinator.log.

    Exit code: 0 if it runs, or there is nothing to do; else as of `weft run`.
    """
    from weft.app.background import start as start_coordinator
    from weft.app.files import STDIN
    from weft.errors import InputError

    plan, ids = plan_and_ids(words, directory())
    if plan == STDIN:
        raise InputError("a plan from standard input cannot run in the background; write it to a file first")
    running = running_here(directory())
    if running is not None:
        run, pid = running
        _tell(
            {"run": run, "pid": pid, "started": False},
            f"run {run} is running already (process {pid})",
            as_json,
        )
        return 0
    if not as_json:
        note_lines(_eligibility(plan, ids, flags))
    _ask_for_approval(directory())
    arguments = [f"--{name.replace('_', '-')}={value}" for name, value in flags.items() if value is not None]
    arguments += ["--fresh"] if fresh else []
    said, code = start_coordinator([*arguments, "--", *words], directory=directory(), environ=os.environ)
    if not said:
        return code
    does = "goes on" if said["resumed"] else "is running"
    data: dict[str, object] = {"run": said["run"], "pid": said["pid"], "started": True}
    _tell(data, f"run {said['run']} {does} in the background (process {said['pid']})", as_json)
    return 0


def _eligibility(plan: str | None, ids: tuple[str, ...], flags: Flags) -> Iterable[str]:
    """What can start now, and what cannot, and why."""
    from weft.app import plans
    from weft.app.eligibility import eligibility_of
    from weft.app.run_choice import choose
    from weft.cli.eligibility_text import eligibility_lines
    from weft.garbage import without_gc
    from weft.plan.compile.compile import compile_plan

    source = plan_source(plan)
    with without_gc():
        part, _ = choose(plans.load(source, flags=flags), ids)
        return list(eligibility_lines(eligibility_of(compile_plan(part), plans.folder_of(source))))


def _ask_for_approval(folder: Path) -> None:
    """Of the commands that came with the project, if there is somebody to ask; the coordinator cannot."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return
    from weft.app.approval import NotApprovedError
    from weft.app.configuration import approval_request
    from weft.cli.approving import is_approved_now

    request = approval_request(folder, os.environ)
    if request is not None and not request.is_approved:
        is_approved_now(NotApprovedError(request))


def _tell(data: dict[str, object], said: str, as_json: bool) -> None:  # noqa: FBT001 - as the option is
    if as_json:
        show_json(data)
    else:
        show_lines([said])
        note("how far it is: weft status; to stop it: weft stop")
