"""`weft coordinate`: the hidden command that `weft start` starts. It runs a plan in the background."""

import json
import os
import sys

import click

from weft.cli.effects import CommandEffect, WeftCommand
from weft.cli.plan_options import directory, flag_options, isolation_option, plan_source
from weft.cli.run_options import plan_and_ids, words_argument

EXIT_BUSY = 1


@click.command(cls=WeftCommand, effect=CommandEffect.CHANGES, hidden=True)
@words_argument
@flag_options
@isolation_option
@click.option("--fresh", is_flag=True)
@click.option("--fresh-budget", is_flag=True)
@click.option("--retry", "retries", is_flag=True)
@click.option("--resume", "run", metavar="RUN")
@click.option(
    "--feedback", "has_feedback", is_flag=True, help="Read texts by path, in JSON, from standard input."
)
@click.option("--ready-to", "ready", type=int, required=True)
def coordinate(  # noqa: PLR0913 - one for each option
    *,
    words: tuple[str, ...],
    fresh: bool,
    fresh_budget: bool,
    retries: bool,
    run: str | None,
    has_feedback: bool,
    ready: int,
    **flags: str | None,
) -> int:
    """Run a plan in the background, or resume RUN with the plan that it has; `weft start` does this for you."""
    from weft.app.run.background import ReadyMessage
    from weft.app.run.continuation import continue_run
    from weft.app.run.run import run_plan
    from weft.app.run.setup import RunRequest
    from weft.cli.live.background_observer import BackgroundObserver
    from weft.store.errors import BusyError

    plan, ids = (None, ()) if run is not None else plan_and_ids(words, directory())
    # Otherwise steps would inherit the pipe, and `weft start` would wait for its end as long as they run.
    os.set_inheritable(ready, False)
    ready_message = ReadyMessage(ready)
    observer = BackgroundObserver(ready_message, plan=plan)

    def run_to_its_end() -> str:
        if run is not None:
            return continue_run(run, directory(), observer)
        request = RunRequest(
            source=plan_source(plan),
            flags=flags,
            fresh=fresh,
            fresh_budget=fresh_budget,
            retries=retries,
            ids=ids,
            feedback=json.load(sys.stdin) if has_feedback else {},
        )
        return run_plan(request, observer)

    try:
        state = run_to_its_end()
    except BusyError as error:
        # Another command took the lock first; the `weft start` that started this process tries again.
        ready_message.send(busy=str(error))
        return EXIT_BUSY
    observer.ends(state)
    return observer.exit_code(state)
