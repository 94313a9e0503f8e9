"""The jobs that have not ended: started, waited for, ended.

A process without a parent becomes a child of the supervisor. When the last command of a job has ended, its other
processes are therefore children of the supervisor, or below them. Usually the supervisor has no children except
the commands of other jobs, and then nothing is left.
"""

import os
import signal
from contextlib import suppress
from functools import partial
from time import monotonic

from .job import IDLE, STOPPED, TIMEOUT, JobRequest, RunningJob
from .log import JobLog
from .processes import FIRST_MARK, Marks, Process, descendants, find_process, own_children
from .spawn import NotStartedError
from .streams import NEVER, OutputLimits
from .termination import send_all
from .watch import Watch


class JobTable:
    """The jobs that have not ended."""

    def __init__(self, directory: str, limits: OutputLimits, log: JobLog, watch: Watch) -> None:
        self._directory = directory
        self._limits = limits
        self._log = log
        self._watch = watch
        self._marks = Marks(directory)
        # A random first number, so that marks of two supervisors on one machine do not collide.
        self._next_mark = (1 + int.from_bytes(os.urandom(5), "big")) * FIRST_MARK
        self._waiting: list[RunningJob] = []
        """Jobs that wait for the start of their first or next command."""
        self._by_pid: dict[int, RunningJob] = {}
        self.running: dict[str, RunningJob] = {}
        self.ended: dict[str, str] = {}
        """The ends that are still to be recorded and sent, as JSON."""

    # --- on request ---

    def add(self, request: JobRequest) -> None:
        self._next_mark += 1
        job = self.running[request.id] = RunningJob(request, self._next_mark)
        self._waiting.append(job)

    def stop(self, name: str, grace: float | None) -> None:
        job = self.running.get(name)
        if job is not None:
            job.stop(STOPPED, job.request.grace if grace is None else grace)

    def freeze(self, name: str, *, frozen: bool) -> None:
        """Stops or continues the processes of a job, unless the job is being ended."""
        job = self.running.get(name)
        if job is None or job.ending is not None or job.is_frozen is frozen:
            return
        job.freeze() if frozen else job.thaw()
        if job.pid:
            with suppress(OSError):  # no free descriptor to read /proc; the timeout is paused all the same
                send_all(partial(self._family, job), signal.SIGSTOP if frozen else signal.SIGCONT)

    def stop_all(self) -> None:
        for name in self.running:
            self.stop(name, None)

    # --- starting ---

    def start_waiting(self) -> None:
        waiting, self._waiting = self._waiting, []
        for job in waiting:
            if job.is_frozen and job.ending is None:
                self._waiting.append(job)
            elif job.ending is None:
                self._start(job)

    def _start(self, job: RunningJob) -> None:
        try:
            if not job.pids:
                self._prepare(job)
            job.run(self._directory)
        except (NotStartedError, OSError) as error:
            job.fail(error)
            self._settle(job)
            return
        self._by_pid[job.pid] = job
        # The pid is logged as well, because a command that changes its limits and environment is recognised by
        # its session alone.
        self._marks.add_session(job.id, job.pid)
        with suppress(OSError):  # the disk is full; the other marks must suffice then
            self._log.add_run(job.id, job.pid)

    def _prepare(self, job: RunningJob) -> None:
        job.open_streams(self._limits)
        for stream in job.streams:
            self._watch.add(stream.reader, stream.read)
        # The start is in the log before the process exists. If the supervisor dies in between, its successor
        # knows the mark to search for, and does not start the job a second time.
        outputs = [stream.output for stream in job.streams]
        self._log.add_start(job.id, job.mark, len(job.request.commands), outputs)
        self._marks.add(job.id, job.mark)

    # --- ends ---

    def reap(self) -> None:
        """Handles children that have ended."""
        # All children are reaped first: a dead orphan that is left would count as a living one in
        # `_has_orphans`.
        over: list[RunningJob] = []
        while pid_and_status := _wait():
            job = self._by_pid.pop(pid_and_status[0], None)
            if job is None:
                self._recheck()
            elif job.command_ended(pid_and_status[1]):
                self._waiting.append(job)
            else:
                over.append(job)
        if over:
            # One look at the supervisor's own children answers for all jobs that have ended. A search through
            # /proc for each would dominate the cost of short jobs.
            settle = self._settle if self._has_orphans() else self._finish
            for job in over:
                settle(job)

    def _recheck(self) -> None:
        """Rechecks jobs that are being ended: one of their last processes may have gone."""
        for job in self.running.values():
            if job.ending is not None:
                job.ending.check_now()

    def _settle(self, job: RunningJob) -> None:
        """Ends a job after its last command, or starts to end its remaining processes."""
        try:
            leftovers = self._family(job) if job.pids else []
        except OSError:  # no free descriptor to read /proc; the next check may have one
            job.add_leftovers([])
            return
        if leftovers:
            job.add_leftovers(leftovers)
        else:
            self._finish(job)

    def _finish(self, job: RunningJob) -> None:
        for stream in job.streams:
            self._watch.drop(stream.reader)
        self.ended[job.id] = job.finish()
        del self.running[job.id]
        self._marks.remove(job.id, job.mark, job.pids)

    def _has_orphans(self) -> bool:
        """Returns whether the supervisor may have a child that is no command."""
        try:
            return any(pid not in self._by_pid for pid in own_children())
        except OSError:
            return True

    def _family(self, job: RunningJob) -> list[Process]:
        """Returns all living processes of a job."""
        roots = [pid for pid in own_children() if pid not in self._by_pid and self._owner(pid) is job]
        if job.pid:
            roots.append(job.pid)
        return descendants(roots)

    def _owner(self, orphan: int) -> RunningJob | None:
        process = find_process(orphan)
        name = self._marks.owner(process) if process else None
        if name is None and len(self.running) == 1:  # no mark, but there is only one job it can belong to
            (name,) = self.running
        return self.running.get(name or "")

    # --- timing ---

    @property
    def due(self) -> float:
        return min((job.due for job in self.running.values()), default=NEVER)

    def check_due(self) -> None:
        now = monotonic()
        for job in [job for job in self.running.values() if job.due <= now]:
            job.store_tails(now)
            if job.ending is None and job.deadline <= now:
                job.stop(TIMEOUT, job.request.grace)
            elif job.ending is None and job.idle_deadline <= now:
                job.stop(IDLE, job.request.grace)
            if job.ending is not None and job.ending.check_at <= now:
                remaining = job.ending.signal_all(partial(self._family, job))
                # The command itself may be dead but not reaped yet; then its exit status is still to come.
                if not remaining and not job.pid:
                    self._finish(job)


def _wait() -> tuple[int, int] | None:
    try:
        pid, status = os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        return None
    return (pid, status) if pid else None
