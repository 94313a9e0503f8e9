"""The jobs that a coordinator has submitted to a supervisor and that have not ended.

If the connection breaks or the supervisor dies, both sides are compared after the next connection: known ends are
reported, and jobs that the supervisor has never received are submitted again. Messages therefore need no
acknowledgement. The supervisor starts an id at most once, so a job that it has received twice runs once.
"""

from collections.abc import Callable, Collection

from weft.ports.host import EndReason, Job, JobEnded

Send = Callable[[dict[str, object]], None]


class SubmittedJobs:
    def __init__(
        self, *, submit: Callable[[Job], None], send: Send, report: Callable[[JobEnded], None]
    ) -> None:
        """`submit` and `send` do nothing while there is no connection."""
        self._submit = submit
        self._send = send
        self._report = report
        self._unfinished: dict[str, Job | None] = {}
        """None for those that an earlier coordinator submitted."""
        self._stops: dict[str, float | None] = {}
        self._frozen: dict[str, bool] = {}
        """The jobs that were frozen (True) or thawed (False)."""
        self._held: set[str] = set()
        """Jobs that may not be submitted yet."""

    def __contains__(self, job: str) -> bool:
        return job in self._unfinished

    @property
    def ids(self) -> Collection[str]:
        return self._unfinished.keys()

    def start(self, job: Job) -> None:
        # Remembered before it is sent: if the connection breaks, `compare` sends it again.
        self._unfinished[job.id] = job
        self._submit(job)

    def hold(self, job: Job) -> None:
        """Remembers a job that `release` submits later."""
        self._unfinished[job.id] = job
        self._held.add(job.id)

    def release(self, job: str) -> None:
        self._held.discard(job)
        held_job = self._unfinished.get(job)
        if held_job is not None:
            self._submit(held_job)
            self._repeat_requests({job})

    def stop(self, job: str, grace: float | None) -> None:
        if job in self._unfinished:
            self._stops[job] = grace
            self._send({"stop": job, "grace": grace})

    def set_frozen(self, job: str, *, frozen: bool) -> None:
        if job in self._unfinished:
            self._frozen[job] = frozen
            self._send({"freeze": job, "frozen": frozen})

    def take_end(self, end: JobEnded) -> None:
        """Reports the end of a job, unless it was reported before."""
        # After a reconnection the supervisor repeats the ends that were not forgotten.
        if end.id in self._unfinished:
            self._drop(end.id)
            self._report(end)

    def _drop(self, job: str) -> None:
        del self._unfinished[job]
        self._stops.pop(job, None)
        self._frozen.pop(job, None)
        self._held.discard(job)

    def compare(self, running: Collection[str]) -> None:
        """Compares the supervisor's running jobs with ours: submits missing ones and repeats requests."""
        for name, job in [*self._unfinished.items()]:
            if name in running or name in self._held:
                continue
            # The supervisor does not know it: it died before it wrote the start to its log, so nothing has been
            # started.
            if job is not None:
                self._submit(job)
            else:
                end = JobEnded(id=name, why=EndReason.LOST, message="the supervisor has no record of it")
                self.take_end(end)
        # Jobs of an earlier coordinator come first, with None: their requests are not known here, and need not
        # be.
        self._unfinished = dict.fromkeys(running) | self._unfinished
        # A new supervisor knows nothing about requests to the old one.
        self._repeat_requests(self._unfinished)

    def _repeat_requests(self, jobs: Collection[str]) -> None:
        """Repeats the requests about these jobs, which are all idempotent."""
        for name, frozen in self._frozen.items():
            if name in jobs and name not in self._held:
                self._send({"freeze": name, "frozen": frozen})
        for name, grace in self._stops.items():
            if name in jobs and name not in self._held:
                self._send({"stop": name, "grace": grace})

    def end_all(self, message: str) -> list[str]:
        """Reports all jobs as lost; returns their ids."""
        jobs = [*self._unfinished]
        for job in jobs:
            self.take_end(JobEnded(id=job, why=EndReason.LOST, message=message))
        return jobs
