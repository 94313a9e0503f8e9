"""The user leaves a run in the foreground, and it continues in the background."""

import os

from weft.app.run.background import start as start_coordinator
from weft.cli.live.observers import EXITS
from weft.cli.output import note
from weft.cli.plan_options import directory
from weft.errors import WeftError


def continue_in_background(run: str) -> int:
    """Starts a coordinator that resumes the run, as `weft start` does, and returns the exit code."""
    # The coordinator of this process has left the run and the lock, as if it had been killed; steps continue.
    message, code = start_coordinator([f"--resume={run}"], directory=directory(), environ=os.environ)
    if "busy" in message:
        raise WeftError(f"{message['busy']}; to come back, type: weft attach")
    if not message:
        return code
    note(f"run {run} continues in the background (process {message['pid']})")
    note("to come back, type: weft attach; to stop it, type: weft stop")
    # Not 0: the run has not completed, and `weft run && …` must not continue as if it had.
    return EXITS["left"]
