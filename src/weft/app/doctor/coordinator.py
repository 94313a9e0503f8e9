"""Checks of the files that Weft keeps: links, the journal; and of the coordinator."""

import os
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from datetime import UTC, datetime
from functools import partial

from weft.app.doctor.context import DoctorContext, KnownRun
from weft.app.doctor.findings import Check, Finding, fine, problem, unknown
from weft.app.project.suggestions import suggest
from weft.errors import WeftError
from weft.hosts.leftovers import is_halted
from weft.ports.journal import Holder
from weft.store.errors import DamagedError, NotJournalError
from weft.store.health import find_problems
from weft.store.lease import take_lock
from weft.store.lock import LOCK_FILE
from weft.store.salvage import rebuild, salvage
from weft.store.sqlite import open_journal
from weft.terms import NEEDS_COORDINATOR, RunState

# --- links ---


def links(context: DoctorContext) -> Iterator[Finding]:
    for link in context.places.links():
        yield problem(
            f"{link} is a symbolic link", command=suggest("rm", str(link)).command, subject=str(link)
        )


# --- the journal ---


def journal(context: DoctorContext) -> Iterator[Finding]:
    path = context.places.journal
    if not context.is_used:
        yield fine("nothing has been run here yet")
        return
    if path.is_symlink():  # the check of links reports it
        return
    try:
        # SQLite's own check reads the whole file, which can take minutes for a large journal.
        words = find_problems(path, patience=context.bounds.patience)
    except DamagedError as error:
        yield _damage_finding(context, f"{path} is damaged: {error.damage}")
        return
    except WeftError as error:
        yield _unusable(context, error)
        return
    if words is None:
        yield unknown(f"checking {path} takes longer than {context.bounds.patience:g} s", subject=str(path))
    elif words:
        yield _damage_finding(context, f"{path} is damaged: {'; '.join(words)}")


def _unusable(context: DoctorContext, error: WeftError) -> Finding:
    """Reports a file that is no journal. It may have been one before its first bytes changed, with runs in it."""
    path = context.places.journal
    with suppress(OSError):
        # A file whose header was overwritten looks like no database at all, but its pages may still hold every
        # run.
        if isinstance(error, NotJournalError) and salvage(path).runs:
            return _damage_finding(context, f"{path} is damaged: it has no header of a database")
    return problem(
        str(error), command=suggest("cp", "-a", str(path), f"{path}.saved").command, subject=str(path)
    )


def _damage_finding(context: DoctorContext, damage: str) -> Finding:
    path = context.places.journal
    return problem(
        f"{damage}; {salvage(path).report}",
        command="weft doctor --fix",
        subject=str(path),
        fix=partial(_rebuild, context),
    )


def _rebuild(context: DoctorContext) -> None:
    lock = take_lock(context.places.weft / LOCK_FILE)
    if lock is None:
        raise WeftError("a coordinator has the journal open; stop it first, with: weft stop")
    try:
        # Without the lease: that is in the journal itself, which cannot be opened. The file lock keeps
        # coordinators out.
        rebuild(context.places.journal)
    finally:
        os.close(lock)


# --- the coordinator ---


def coordinator(context: DoctorContext) -> Iterator[Finding]:
    for run in context.journal_facts.runs:
        if run.record.state not in NEEDS_COORDINATOR or run.is_led:
            continue
        if not run.is_replaced:
            yield _abandoned_run(context, run)
        elif not context.journal_facts.holder_lives and not context.is_at_work(
            run.record.run
        ):  # otherwise the check `supervisor` reports it
            yield problem(
                f"run {run.record.run} of {run.record.plan} is recorded as {run.record.state}, and a newer run of "
                "the plan has started, so nothing continues it",
                command="weft doctor --fix",
                subject=run.record.run,
                fix=partial(abandon, context, run.record.run),
            )


def abandon(context: DoctorContext, run: str) -> None:
    """Records that nothing continues a run. A living coordinator of another run keeps its journal."""
    with closing(
        open_journal(context.places.journal, now=time.time(), command="weft doctor --fix")
    ) as journal:
        journal.set_run_state(run, RunState.ABANDONED)


def _abandoned_run(context: DoctorContext, run: KnownRun) -> Finding:
    record, holder = run.record, context.journal_facts.holder
    coordinator_state = "its coordinator is gone"
    if holder is not None and not context.journal_facts.holder_lives:
        coordinator_state = f"its coordinator, {_holder_words(holder)}, is gone"
    is_at_work = context.is_at_work(record.run)
    work = "; its steps continue" if is_at_work else ""
    return problem(
        f"run {record.run} of {record.plan} has not ended, and {coordinator_state}{work}",
        command=run.command,
        subject=record.run,
        # Opening the journal to write takes the lease, which a coordinator of another run has.
        fix=None if is_at_work or context.journal_facts.holder_lives else partial(_record_stop, context, run),
    )


def _record_stop(context: DoctorContext, run: KnownRun) -> None:
    """Records in the journal that the run is stopped. It can be resumed later."""
    record = run.record
    with closing(
        open_journal(context.places.journal, now=time.time(), command="weft doctor --fix")
    ) as journal:
        current = next(recorded.state for recorded in journal.runs(record.plan) if recorded.run == record.run)
        if current in NEEDS_COORDINATOR:  # another process may have changed it meanwhile
            journal.set_run_state(record.run, "abandoned" if run.started is None else "stopped")


def _holder_words(holder: Holder) -> str:
    since = datetime.fromtimestamp(holder.since, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    command = f" ({holder.command})" if holder.command else ""
    return f"process {holder.pid}{command}, since {since}"


def coordinator_hangs(context: DoctorContext) -> Iterator[Finding]:
    holder = context.journal_facts.holder
    if holder is None or not context.journal_facts.holder_lives:
        return
    if is_halted(holder.pid):
        yield problem(
            f"the coordinator, {_holder_words(holder)}, was halted by a signal",
            command=f"kill -CONT {holder.pid}",
            subject=str(holder.pid),
        )
        return
    for run in context.journal_facts.runs:
        waits = [context.now - request.at for request in run.waiting]
        if waits and max(waits) > context.bounds.silence:
            yield problem(
                f"the coordinator, {_holder_words(holder)}, is alive and has not handled a request of "
                f"{max(waits):.0f} s ago, for run {run.record.run}",
                command=f"kill -KILL {holder.pid}",
                subject=str(holder.pid),
            )


CHECKS = (
    Check(
        id="links",
        covers="`.weft`, and what Weft writes in it, are no symbolic links",
        why="Weft does not follow a link there, because it could lead to any file of yours, so `weft run` stops",
        examine=links,
    ),
    Check(
        id="journal",
        covers="`.weft/weft.db` can be opened, has a known version and passes SQLite's integrity check; each "
        "row matches its checksum; its `-wal` file is valid, and SQLite reads all of it",
        why="the journal is the only record of runs",
        fix_description="writes a new journal with all readable entries, keeps the damaged one beside it as "
        "`weft.db.damaged`, and lists what is lost; a run that has lost its end counts as abandoned",
        examine=journal,
    ),
    Check(
        id="coordinator",
        covers="a run that has not ended, although its coordinator is dead; another process with the same pid "
        "is not mistaken for it",
        why="nothing new starts in such a run until it is resumed",
        fix_description="records the run as stopped, unless steps of it still run; `weft run` resumes it",
        examine=coordinator,
    ),
    Check(
        id="coordinator-hangs",
        covers="a coordinator that was halted by a signal, or that has not handled a request for 60 s",
        why="the run makes no progress although its coordinator is alive; its steps continue, and the next "
        "`weft run` takes them over",
        examine=coordinator_hangs,
    ),
)
