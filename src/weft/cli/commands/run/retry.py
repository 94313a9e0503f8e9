"""`weft retry`: runs failed subplans again, and sends agents back to work with the feedback of a person."""

import json
import os
from collections.abc import Sequence
from pathlib import Path

import click

from weft.cli.effects import CommandEffect, WeftCommand
from weft.cli.output import examples, note, show_json, show_lines
from weft.cli.plan_options import directory, json_option
from weft.cli.run_options import fresh_budget_option, ids_argument, running_here

_MOST_BYTES = 1 << 16
"""Size of the longest text; a longer one would not fit into the prompts of all agents."""


@click.command(
    cls=WeftCommand,
    effect=CommandEffect.CHANGES,
    epilog=examples(
        "weft retry store/model",
        "weft retry",
        'weft retry store/model --text "src/model.py:12: the name may be empty"',
        "weft retry store/model --file review.txt",
        "weft retry store/model --stop",
    ),
    short_help="Retry subplans that have failed, or send an agent back to work.",
)
@ids_argument
@click.option("--text", metavar="TEXT", help="Feedback for the agent of the slice ID.")
@click.option(
    "--file", metavar="FILE", type=click.Path(), help="A file with the feedback; - is standard input."
)
@click.option("--stop", "stops", is_flag=True, help="Stop an active run first; a new run continues it.")
@fresh_budget_option
@json_option
def retry(
    *,
    names: tuple[str, ...],
    text: str | None,
    file: str | None,
    stops: bool,
    fresh_budget: bool,
    as_json: bool,
) -> int:
    """Retry the failed subplans ID of the last run, with what they need, in the background.

    Without ID, retry everything that failed by itself or was blocked by that. Completed work is kept.

    With --text or --file, the agent of each slice ID gets the text as feedback. ID may then also be a completed
    slice that has not landed: its agent works on, in the same workspace, and the steps after it are repeated.

    While the run is active, a retry needs --stop: the run is stopped as by `weft stop`, and a new run continues
    all of its work and retries everything that has failed.

    Exit code: as of `weft start`.
    """
    from weft.app.control.control import refuse_to_retry
    from weft.app.record.journal import open_book
    from weft.app.run.background import start as start_coordinator
    from weft.errors import WeftError

    feedback = _feedback(names, text, file)
    # A coordinator that is about to end would make the retry fail as busy.
    active = running_here(directory())
    with open_book(directory()) as recorded_run:
        ids = refuse_to_retry(recorded_run, names, has_feedback=bool(feedback), stops=stops)
        plan = Path(recorded_run.run.directory, Path(recorded_run.run.file).name)
    stopped = active[0] if stops and active is not None else ""
    if stopped:
        _stop()
    options = [
        *(["--fresh-budget"] if fresh_budget else []),
        *(["--feedback"] if feedback else []),
        *(["--retry"] if stopped else []),
    ]
    data = json.dumps(dict.fromkeys(ids, feedback)).encode() if feedback else b""
    # After `--`, a plan whose name starts with a dash is not an option.
    # A run that was stopped for this continues as a whole.
    arguments = [*options, "--", str(plan), *(() if stopped else ids)]
    message, code = start_coordinator(arguments, directory=directory(), environ=os.environ, data=data)
    if "busy" in message:
        raise WeftError(message["busy"])
    if not message:
        return code
    if as_json:
        show_json({"run": message["run"], "pid": message["pid"], "subplans": list(ids)})
    else:
        # A run that was stopped continues as a whole, with all that failed in it.
        subject = "what failed" if stopped and not feedback else _subject(ids)
        continues = f"continues {stopped} and " if stopped else ""
        show_lines([f"run {message['run']} {continues}retries {subject} (process {message['pid']})"])
        note("to see its progress: weft status")
    return 0


def _stop() -> None:
    """Stops the active run, and waits until its steps have ended."""
    from weft.app.control.control import await_end, steer
    from weft.app.record.journal import open_book
    from weft.engine.messages.facts import ControlState

    with open_book(directory()) as recorded_run:
        stopped = steer(recorded_run, ControlState.STOP, ())
        note(f"stopping run {stopped.run}; a new run continues it")
        await_end(recorded_run)


def _subject(ids: Sequence[str]) -> str:
    return ", ".join(ids) if ids else "what failed"


def _feedback(names: Sequence[str], text: str | None, file: str | None) -> str:
    """Returns the feedback; empty without the options. Raises `InputError` if it cannot be used."""
    from weft.app.project.files import InputSource, read_text

    if text is None and file is None:
        return ""
    if text is not None and file is not None:
        raise click.UsageError("--text and --file exclude each other; put all the feedback into the file")
    if not names:
        raise click.UsageError("name the slice that the feedback is for, as in: weft retry ID --text TEXT")
    if file is not None:
        text = read_text(InputSource(name=file, directory=directory(), holds="feedback"), most=_MOST_BYTES)
    feedback = (text or "").strip()
    _require_usable(feedback)
    return feedback


def _require_usable(feedback: str) -> None:
    from weft.errors import InputError

    if not feedback:
        raise InputError("the feedback is empty; to retry without feedback, leave out --text and --file")
    try:
        size = len(feedback.encode())
    except UnicodeEncodeError:
        raise InputError("the feedback is not text in UTF-8; save it as UTF-8") from None
    if size > _MOST_BYTES:
        raise InputError(f"the feedback is too long; allowed are {_MOST_BYTES:,} bytes")
    if "\0" in feedback:
        raise InputError("the feedback contains a NUL character, which no agent accepts; remove it")
