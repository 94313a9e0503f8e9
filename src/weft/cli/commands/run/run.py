"""`weft run`: runs a plan in the foreground and shows its progress."""

import sys
from typing import TYPE_CHECKING, TextIO

import click

from weft.cli.effects import CommandEffect, WeftCommand
from weft.cli.output import examples
from weft.cli.plan_options import directory, flag_options, isolation_option, plan_errors_as_data, plan_source
from weft.cli.run_options import fresh_budget_option, plan_and_ids, when_approved, when_free, words_argument

if TYPE_CHECKING:
    from weft.app.views.wording.style import Style
    from weft.cli.live.live_view import LiveView
    from weft.cli.live.watcher import Watcher


@click.command(
    cls=WeftCommand,
    effect=CommandEffect.CHANGES,
    epilog=examples(
        "weft run",
        "weft run store/model",
        "weft run plan.yaml --max-parallel 8",
        "weft run plan.yaml --json > events.ndjson",
    ),
    short_help="Run a plan, and show its progress.",
)
@words_argument
@flag_options
@isolation_option
@click.option("--fresh", is_flag=True, help="Repeat everything, including what an earlier run completed.")
@fresh_budget_option
@click.option(
    "--wait/--no-wait", "waits", default=None,
    help="Whether to wait when only questions to people are open. Default: wait on a terminal.",
)  # fmt: skip
@click.option("-q", "--quiet", is_flag=True, help="Print only problems, questions and the summary.")
@click.option("--json", "as_json", is_flag=True, help="Print each event as a line of JSON.")
def run(
    *,
    words: tuple[str, ...],
    fresh: bool,
    fresh_budget: bool,
    waits: bool | None,
    quiet: bool,
    as_json: bool,
    **flags: str | None,
) -> int:
    """Run PLAN with as much at once as it allows; with an ID, only those subplans and what they need.

    A stopped run resumes where it was, and so does a run with a killed process: its steps continued without it.
    After a run that has ended, the same command repeats what failed, and keeps completed work.

    Results that are in conflict, or that need your consent, are held until `weft merge`. On a terminal, the run
    asks for your consent at its end.

    Ctrl-C ends running steps gracefully, so that the run can be resumed; a second one ends them at once. On a
    terminal, keys answer questions, land, pause, show a log, open `weft top` and leave the run in the background;
    ? explains them.

    PLAN is weft.yaml or weft.yml by default, and standard input if it is -. An ID is the path of a subplan
    (store/model) or its last part, if that is unique. The options that name a setting override the plan.

    Exit code: 0 if everything is completed; 1 if something failed; 3 if the budget ran out; 2 if the plan cannot
    run; 4 if it waits for people; 130 if it was stopped, or left in the background.
    """
    from weft.app.run.run import run_plan
    from weft.app.run.setup import RunRequest
    from weft.cli.live.observers import JsonObserver, LineObserver, Observer
    from weft.cli.terminal_style import style_of

    plan, ids = plan_and_ids(words, directory())
    style = None if quiet or as_json else style_of(sys.stderr)
    live: LiveView | None = None
    observer: Observer
    if as_json:
        observer = JsonObserver(plan=plan)
    elif style is None:
        observer = LineObserver(quiet=quiet, plan=plan)
    else:
        observer, live = _watch(style, plan)
    has_person = not as_json and _is_terminal(sys.stderr)
    # In a script, waiting for an answer that will not be typed would look like a hang.
    stays = has_person if waits is None else waits

    def leaves() -> bool:
        return live is not None and live.is_leaving

    def run_and_display() -> str:
        # Inside `when_free` and `when_approved`: their questions and notes need a terminal without a live view.
        with observer.display():
            return when_free(lambda: run_plan(request, observer, leaves=leaves), directory())

    with plan_errors_as_data(as_json=as_json):
        request = RunRequest(
            source=plan_source(plan),
            flags=flags,
            fresh=fresh,
            fresh_budget=fresh_budget,
            waits=stays,
            ids=ids,
        )
        state = when_approved(run_and_display, asks=has_person and _is_terminal(sys.stdin))
    if state == "left" and leaves():
        from weft.cli.live.departure import continue_in_background

        return continue_in_background(observer.setup.run)
    if state == "waiting" and has_person and not quiet and _is_terminal(sys.stdin):
        from weft.cli.live.landing_prompt import offer

        return offer(observer)
    observer.ends(state)
    return observer.exit_code(state)


def _watch(style: "Style", plan: str | None) -> tuple["Watcher", "LiveView"]:
    from weft.cli.live.live_view import LiveView, key_descriptor
    from weft.cli.live.watcher import Watcher

    live = LiveView(sys.stderr, style, directory=directory(), is_own=True, keys=key_descriptor())
    return Watcher(live, plan=plan), live


def _is_terminal(stream: TextIO | None) -> bool:
    return stream is not None and stream.isatty()
