"""The jobs that are not over: started, waited for, ended.

A process whose parent is gone becomes our child. So when the last command of a job has ended, all that it has left
is among our children, or below them; and if we have no children but the commands of the other jobs, which is the
rule, there is nothing left.
"""

import os
import signal
from contextlib import suppress
from functools import partial
from time import monotonic

from .ending import send_all
from .job import STOPPED, TIMEOUT, JobRequest, RunningJob
from .log import JobLog
from .processes import FIRST_MARK, Marks, Process, descendants, look, own_children
from .spawn import NotStartedError
from .streams import NEVER, OutputLimits
from .watch import Watch


class JobTable:
    def __init__(self, directory: str, limits: OutputLimits, log: JobLog, watch: Watch) -> None:
        self._directory = directory
        self._limits = limits
        self._log = log
        self._watch = watch
        self._marks = Marks(directory)
        self._next_mark = (1 + int.from_bytes(os.urandom(5), "big")) * FIRST_MARK
        self._waiting: list[RunningJob] = []
        """For their first command to be started, or the next."""
        self._by_pid: dict[int, RunningJob] = {}
        self.there: dict[str, RunningJob] = {}
        self.ended: dict[str, str] = {}
        """What is to be recorded, and then told, about those that are over."""

    # --- on request ---

    def add(self, request: JobRequest) -> None:
        self._next_mark += 1
        job = self.there[request.id] = RunningJob(request, self._next_mark)
        self._waiting.append(job)

    def stop(self, name: str, grace: float | None) -> None:
        job = self.there.get(name)
        if job is not None:
            job.stop(STOPPED, job.request.grace if grace is None else grace)

    def freeze(self, name: str, *, frozen: bool) -> None:
        """Whoever is being ended is not hindered."""
        job = self.there.get(name)
        if job is None or job.ending is not None or job.is_frozen is frozen:
            return
        job.freeze() if frozen else job.thaw()
        if job.pid:
            with suppress(
                OSError
            ):  # no descriptor is left to look with; its time is counted right all the same
                send_all(partial(self._family, job), signal.SIGSTOP if frozen else signal.SIGCONT)

    def stop_all(self) -> None:
        for name in self.there:
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
        self._marks.add_session(job.id, job.pid)
        with suppress(OSError):  # the disk is full; then its other marks must do
            self._log.add_run(job.id, job.pid)

    def _prepare(self, job: RunningJob) -> None:
        job.open_streams(self._limits)
        for stream in job.streams:
            self._watch.add(stream.reader, stream.read)
        outputs = [stream.output for stream in job.streams]
        self._log.add_start(job.id, job.mark, len(job.request.commands), outputs)
        self._marks.add(job.id, job.mark)

    # --- ending ---

    def reap(self) -> None:
        """Some of our children have ended."""
        over: list[RunningJob] = []
        while pid_and_status := _wait():
            job = self._by_pid.pop(pid_and_status[0], None)
            if job is None:
                self._look_again()
            elif job.command_ended(pid_and_status[1]):
                self._waiting.append(job)
            else:
                over.append(job)
        if over:
            settle = self._settle if self._has_orphans() else self._finish
            for job in over:
                settle(job)

    def _look_again(self) -> None:
        """It was what some job has left; perhaps the last of it."""
        for job in self.there.values():
            if job.ending is not None:
                job.ending.look_now()

    def _settle(self, job: RunningJob) -> None:
        """None of its commands runs any more."""
        try:
            leftovers = self._family(job) if job.pids else []
        except OSError:  # no descriptor is left to look with; until there is one we cannot know
            job.leave([])
            return
        if leftovers:
            job.leave(leftovers)
        else:
            self._finish(job)

    def _finish(self, job: RunningJob) -> None:
        for stream in job.streams:
            self._watch.drop(stream.reader)
        self.ended[job.id] = job.finish()
        del self.there[job.id]
        self._marks.remove(job.id, job.mark, job.pids)

    def _has_orphans(self) -> bool:
        """Whether any of our children is not a command, as far as we can know."""
        try:
            return any(pid not in self._by_pid for pid in own_children())
        except OSError:
            return True

    def _family(self, job: RunningJob) -> list[Process]:
        """All that is alive of it."""
        roots = [pid for pid in own_children() if pid not in self._by_pid and self._owner(pid) is job]
        if job.pid:
            roots.append(job.pid)
        return descendants(roots)

    def _owner(self, orphan: int) -> RunningJob | None:
        process = look(orphan)
        name = self._marks.owner(process) if process else None
        if name is None and len(self.there) == 1:  # without a mark, and there is nobody else it could be of
            (name,) = self.there
        return self.there.get(name or "")

    # --- in time ---

    @property
    def due(self) -> float:
        return min((job.due for job in self.there.values()), default=NEVER)

    def look_after(self) -> None:
        now = monotonic()
        for job in [job for job in self.there.values() if job.due <= now]:
            job.store_tails(now)
            if job.ending is None and job.deadline <= now:
                job.stop(TIMEOUT, job.request.grace)
            if job.ending is not None and job.ending.look_at <= now:
                anybody = job.ending.press(partial(self._family, job))
                if not anybody and not job.pid:
                    self._finish(job)


def _wait() -> tuple[int, int] | None:
    try:
        pid, status = os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        return None
    return (pid, status) if pid else None
