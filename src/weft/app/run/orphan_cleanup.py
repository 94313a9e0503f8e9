"""Stop the jobs that a dead coordinator has left running."""

import time

import anyio

from weft.app.project.hosts import records_of
from weft.app.record.journal import RecordedRun
from weft.ports.host import Host, Running
from weft.ports.machines import Machines
from weft.store.sqlite import open_journal
from weft.terms import AT_REST


def stop_orphaned_jobs(recorded_run: RecordedRun) -> int:
    """Stops every job of the run and returns how many were running.

    Opening the journal takes the coordinator's lock, so this cannot race with a live coordinator.
    """
    run, places = recorded_run.run.run, recorded_run.places
    if (
        recorded_run.state() in AT_REST
        or recorded_run.has_coordinator()
        # Opening a host starts a supervisor, which would be pointless for a run that never had one.
        or not records_of(places, run).exists()
    ):
        return 0
    from weft.app.run.recorded_hosts import hosts_of_record  # noqa: PLC0415 - seldom needed

    journal = open_journal(places.journal, now=time.time(), command="weft stop")
    try:
        stopped_jobs = anyio.run(stop_all_jobs, *hosts_of_record(places, recorded_run.run))
        journal.set_run_state(run, "stopped")
    finally:
        journal.close()
    return stopped_jobs


async def stop_all_jobs(host: Host, machines: Machines | None = None) -> int:
    """Stops all running jobs, waits until each has ended, and returns their number.

    A machine that cannot be reached keeps its jobs; they end by their time limits.
    """
    from weft.runtime.machines.known_jobs import open_all  # noqa: PLC0415 - seldom needed

    jobs = await open_all(host, machines)  # which has already ended the processes of a dead supervisor
    # Ends that the supervisor recorded while there was no coordinator are also in `jobs`; they need no stop.
    running = {job for job, state in jobs.items() if isinstance(state, Running)}
    count = len(running)
    for job in running:
        host.stop(job)
    try:
        if running:
            # A stop is only a request. A step can take its whole grace period, and its worktree must not be reused
            # before.
            async for ends in host.ended():
                running.difference_update(end.id for end in ends)
                if not running:
                    break
    finally:
        await host.close()
    return count
