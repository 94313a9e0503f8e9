"""Wait for a coordinator that is about to exit or has just started.

After the journal records the end of a run, its coordinator still gathers results and sends notifications. A
coordinator that has just started holds the lock and has no run yet. In both cases no run is active and no other
process can start one, so the caller waits until the process has exited or has a run.
"""

import os
import time
from collections.abc import Callable
from pathlib import Path

from weft.app.record.journal import open_book
from weft.errors import InputError
from weft.ports.journal import Holder, RunRecord
from weft.store.lease import is_alive
from weft.terms import AT_REST

PATIENCE = 60.0
"""Seconds to wait at most; longer than any notification takes."""
QUIET_SECONDS = 1.0
"""Seconds of waiting before the user is informed."""
POLL_INTERVAL = 0.02


def find_active_run(
    directory: Path, waits: Callable[[Holder], None], *, patience: float = PATIENCE
) -> tuple[RunRecord, Holder] | None:
    """Returns the active run of the project and the process that runs it.

    Calls `waits` with that process once the wait takes a while. Returns None if there is no coordinator, or if it
    has had no run for `patience` seconds; opening the journal then reports it.
    """
    wait_start, is_reported = time.monotonic(), False
    # The journal is opened again each time: the coordinator may exit and another one may create a new run
    # meanwhile.
    while (waited := time.monotonic() - wait_start) < patience:
        try:
            with open_book(directory) as recorded_run:
                holder = recorded_run.journal.holder()
                is_over = recorded_run.state() in AT_REST or recorded_run.has_left()
        except InputError:  # nothing was ever run here
            return None
        # The lease names its last holder even when that has exited. It can also be this process, after an earlier
        # run in it.
        if holder is None or holder.pid == os.getpid() or not is_alive(holder):
            return None
        if not is_over:
            return recorded_run.run, holder
        if waited > QUIET_SECONDS and not is_reported:
            is_reported = True
            waits(holder)
        time.sleep(POLL_INTERVAL)
    return None
