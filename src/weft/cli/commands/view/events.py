"""`weft events`: prints the events of a run, as lines for people or JSON for programs."""

import json
from functools import partial

import click

from weft.cli.effects import CommandEffect, WeftCommand
from weft.cli.output import examples, show_lines, write_text
from weft.cli.plan_options import directory
from weft.cli.run_options import follow_option, note_inactive_run, run_option


@click.command(
    cls=WeftCommand,
    effect=CommandEffect.READS,
    epilog=examples("weft events", "weft events -f --json | jq .event"),
    short_help="Print the events of a run.",
)
@follow_option
@run_option
@click.option(
    "--after", metavar="SEQ", type=click.IntRange(min=0), default=0, help="Only events with a higher number."
)
@click.option("--json", "as_json", is_flag=True, help="Print each event as a line of JSON.")
def events(*, follow: bool, run_id: str | None, after: int, as_json: bool) -> int:
    """Print the events of a run, each with its time.

    Events have increasing numbers, in JSON as seq. A program that was interrupted continues with --after and the
    last number it has seen.

    Exit code: 0; 2 if there is no such run.
    """
    from weft.app.record.journal import open_book

    with open_book(directory(), run_id) as recorded_run:
        alone = partial(note_inactive_run, recorded_run.run_command())
        if as_json:
            from weft.app.views.event_json import event_json

            for recorded in recorded_run.events(after=after, follow=follow, alone=alone):
                # One write for each event, so that a program at the other end of a pipe sees it at once.
                write_text(f"{json.dumps(event_json(recorded))}\n")
            return 0
        from weft.app.record.run_plan import plan_of
        from weft.app.views.run_view import RunView
        from weft.cli.text.run_lines import lines_of

        view = RunView(plan_of(recorded_run))
        # Lines depend on the state that earlier events left, so `--after` cannot skip events here.
        for recorded in recorded_run.events(follow=follow, alone=alone):
            view.apply(recorded.event, recorded.at)
            if recorded.seq > after:
                show_lines(lines_of(recorded.event, recorded.at, view))
    return 0
