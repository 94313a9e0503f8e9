"""One coordinator after another.

A run is over when the journal says so. Whoever ran it still brings results together and tells people, and is there
a moment longer; and who has only just come has begun nothing yet. In neither case is a run under way, nor can one
be begun. So it is waited for: until that process has gone, or is at a run.
"""

import os
import time
from collections.abc import Callable
from pathlib import Path

from weft.app.record.journal import open_book
from weft.engine.messages.run_status import AT_REST
from weft.errors import InputError
from weft.ports.journal import Holder, RunRecord
from weft.store.lease import is_alive

PATIENCE = 60.0
"""Seconds; the longest that telling people takes, and then some."""
SILENCE = 1.0
"""Seconds that one waits without a word."""
LOOKS_EVERY = 0.02


def who_runs(
    directory: Path, waits: Callable[[Holder], None], *, patience: float = PATIENCE
) -> tuple[RunRecord, Holder] | None:
    """The run that is under way here, and who runs it; `waits` is told for whom it waits, if that takes a while.

    None if nobody is there, or is not at a run for so long that it is up to whoever needs the journal to say so.
    """
    begun, is_told = time.monotonic(), False
    while (waited := time.monotonic() - begun) < patience:
        try:
            with open_book(directory) as book:
                holder = book.journal.holder()
                is_over = book.state() in AT_REST or book.has_left()
        except InputError:  # nothing was ever run here
            return None
        if holder is None or holder.pid == os.getpid() or not is_alive(holder):
            return None
        if not is_over:
            return book.run, holder
        if waited > SILENCE and not is_told:
            is_told = True
            waits(holder)
        time.sleep(LOOKS_EVERY)
    return None
