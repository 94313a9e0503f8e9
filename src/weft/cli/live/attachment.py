"""The live view of a run that another process runs: it shows the run until its end, or until the user leaves."""

import select
import shlex
import time

from weft.app.inspect.follower import RunFollower
from weft.cli.live.live_view import LiveView
from weft.cli.live.observers import EXITS, exit_code_of
from weft.cli.output import note, note_lines
from weft.cli.text.run_lines import lines_of
from weft.cli.text.run_summary import summary_lines
from weft.errors import WeftError
from weft.terms import RunState

POLL_INTERVAL = 0.25
_AT_ONCE = 0.1
"""Seconds for which events are read before keys are looked at again."""


def watch(follower: RunFollower, live: LiveView) -> int:
    """Shows the run on a terminal and returns the exit code."""
    try:
        with live:
            live.run = follower.run
            has_ended = _show_until_end(follower, live)
    except KeyboardInterrupt:
        has_ended = False
    if has_ended:
        return _end(follower)
    note(f"run {follower.run} is {follower.state}; to come back, type: weft attach")
    return EXITS["left"]


def _show_until_end(follower: RunFollower, live: LiveView) -> bool:
    """Returns whether the run has ended; if not, the user has left."""
    died: int | None = None
    while True:
        follower.update(_AT_ONCE)
        if not follower.is_reading:
            follower.look_around()
            if follower.attendance.died not in {None, died}:
                live.screen.say([_death(follower)])
            died = follower.attendance.died
        live.show(follower.view, time.time(), follower.agents)
        if live.is_leaving or follower.is_over:
            return not live.is_leaving
        if not follower.is_reading:
            _wait(live)


def _wait(live: LiveView) -> None:
    if live.keys is None or live.is_suspended:
        time.sleep(POLL_INTERVAL)
    else:
        select.select([live.keys], [], [], POLL_INTERVAL)


def follow(follower: RunFollower) -> int:
    """Prints a line for each new event, and returns the exit code; for output that is not a terminal."""
    follower.update()
    if not follower.is_over:
        note(f"run {follower.run} is {follower.state}; new events follow")
    while not follower.is_over:
        follower.look_around()
        if follower.attendance.pid is None and not follower.update():
            return _end_alone(follower)
        time.sleep(POLL_INTERVAL)
        for recorded in follower.update():
            note_lines(lines_of(recorded.event, recorded.at, follower.view))
    return _end(follower)


def _end_alone(follower: RunFollower) -> int:
    """Ends for a run that no coordinator runs: waiting for it could take forever."""
    if follower.attendance.died is not None:
        raise WeftError(_death(follower))
    return _end(follower)


def _death(follower: RunFollower) -> str:
    resume = follower.recorded_run.start_command()
    return (
        f"the coordinator (process {follower.attendance.died}) has died; running steps continue; "
        f"to resume the run, type: {resume}"
    )


def _end(follower: RunFollower) -> int:
    recorded_run, view, state = follower.recorded_run, follower.view, follower.state
    if state == RunState.ABANDONED:
        note(f"run {follower.run} was replaced by a newer run; to see that one, type: weft attach")
        return EXITS[state]
    view.state = state
    words = shlex.join([*recorded_run.plan_words(), *recorded_run.chosen()])
    results = follower.results()
    note_lines(
        summary_lines(
            view, time.time(), results="" if results is None else str(results), plan=words, has_next=True
        )
    )
    return exit_code_of(view, state)
