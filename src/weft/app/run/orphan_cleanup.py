"""Ending what a coordinator that has gone has left running."""

import time

import anyio

from weft.app.record.journal import RecordedRun
from weft.engine.messages.run_status import AT_REST
from weft.hosts.local import LocalHost
from weft.ports.host import Running
from weft.store.sqlite import open_journal


def end_what_was_left(book: RecordedRun) -> int:
    """How many jobs that were; none that anybody runs, as there can be only one who may do this."""
    run, places = book.run.run, book.places
    if book.state() in AT_REST or book.is_run_by_somebody() or not places.host(run).is_dir():
        return 0
    journal = open_journal(places.journal, now=time.time(), command="weft stop")
    try:
        ended = anyio.run(end_all, LocalHost(places.host(run)))
        journal.set_run_state(run, "stopped")
    finally:
        journal.close()
    return ended


async def end_all(host: LocalHost) -> int:
    """Of all that the host knows to be running; what a dead supervisor has left, it has ended by then itself."""
    known = await host.open()
    running = {job for job, found in known.items() if isinstance(found, Running)}
    count = len(running)
    for job in running:
        host.stop(job)
    try:
        if running:
            async for ends in host.ended():
                running.difference_update(end.id for end in ends)
                if not running:
                    break
    finally:
        await host.close()
    return count
