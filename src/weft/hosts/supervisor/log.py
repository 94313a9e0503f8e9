"""The log of starts and ends of jobs, for the next supervisor if this one dies.

Lines of JSON, only ever appended:
  {"supervisor": pid, "started": …, "boot": …}   the writer from here on
  {"start": job, "mark": …, "at": …, "commands": number, "outputs": [[path, pipe], …]}   about to be started
  {"run": job, "pid": …, "started": …}           a command of it runs, and had started by then
  {"ended": {…}}                                 its end, as it is sent
  {"forget": [job, …]}                           their ends are not needed any more

An unreadable line is skipped. A full disk or a crash may have cut it short; its action had not happened yet then.
Every other loss is on the safe side: a job without a recorded end counts as lost.
"""

import json
import os
import time
from collections.abc import Sequence
from contextlib import suppress

from weft.safe_files import open_file

from . import processes

Output = tuple[str, int]
"""The file of an output, and the inode of the pipe that the job writes to."""

UNREADABLE = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError)
"""Errors of foreign lines: JSON can be nested deeply, and its numbers can be endless."""

encode = json.JSONEncoder(separators=(",", ":")).encode


class StartedJob:
    """A job that was started."""

    __slots__ = ("at", "boot", "commands", "mark", "outputs", "pids")

    def __init__(self, mark: int, at: float, boot: str, commands: int = 0) -> None:
        self.mark = mark
        self.at = at
        self.boot = boot
        """The boot of the machine in which it was started."""
        self.commands = commands
        """The number of commands; 0 if a log of an earlier version does not say."""
        self.outputs: list[Output] = []
        """Standard output and standard error; none if a log of an earlier version does not say."""
        self.pids: list[tuple[int, int]] = []
        """The pids of its commands, each with a time, in ticks, at which it had started."""


class LogHistory:
    """The contents of a log."""

    def __init__(self) -> None:
        self.unfinished: dict[str, StartedJob] = {}
        """The started jobs without an end."""
        self.ended: dict[str, str] = {}
        """The end of each, as JSON, unless it is forgotten."""
        self.ids: set[str] = set()
        """All jobs that the log names."""
        self.writer: tuple[int, int] | None = None
        """Pid and start time of the last supervisor."""
        self._boot = ""

    def read(self, path: str) -> None:
        with suppress(FileNotFoundError), os.fdopen(open_file(path), "rb") as lines:
            # A supervisor that was killed, or met a full disk, may have left a partial line. All other lines
            # count.
            for line in lines:
                with suppress(*UNREADABLE):
                    self._take(line)

    def _take(self, line: bytes) -> None:
        record = json.loads(line)
        if "ended" in record:
            self._take_end(record["ended"]["id"], encode(record["ended"]))
        elif "start" in record:
            commands = int(record.get("commands", 0))
            started_job = StartedJob(int(record["mark"]), float(record["at"]), self._boot, commands)
            started_job.outputs = [(str(path), int(pipe)) for path, pipe in record.get("outputs", ())]
            self._take_start(record["start"], started_job)
        elif "run" in record:
            self.unfinished[record["run"]].pids.append((int(record["pid"]), int(record["started"])))
        elif "supervisor" in record:
            self._boot = str(record["boot"])
            self.writer = int(record["supervisor"]), int(record["started"])
        elif "forget" in record:
            for job in record["forget"]:
                self.ended.pop(job, None)

    @property
    def is_of_this_life(self) -> bool:
        """Whether the machine has not been rebooted since; otherwise all its processes are gone."""
        return self._boot == boot()

    def _take_start(self, job: str, started_job: StartedJob) -> None:
        self.unfinished[job] = started_job
        self.ids.add(job)

    def _take_end(self, job: str, end: str) -> None:
        self.unfinished.pop(job, None)
        self.ended[job] = end
        self.ids.add(job)


class JobLog:
    """Appends to the log. Each record is one write, so that it is complete or cut short at its end."""

    def __init__(self, path: str) -> None:
        self._descriptor = open_file(path, os.O_RDWR | os.O_APPEND | os.O_CREAT)
        self._torn = not self._ends_with_a_line()

    def _ends_with_a_line(self) -> bool:
        size = os.fstat(self._descriptor).st_size
        return size == 0 or os.pread(self._descriptor, 1, size - 1) == b"\n"

    def add(self, *records: str) -> None:
        # All ends of a turn in one write: with O_APPEND it is not mixed with the writes of another process,
        # such as `weft doctor`.
        data = ("\n".join(records) + "\n").encode()
        # After a partial line, the next record starts on a line of its own, or both would be unreadable.
        if self._torn:
            data = b"\n" + data
        # True until everything is written: an error below leaves a partial line.
        self._torn = True
        written = os.write(self._descriptor, data)
        while written < len(data):
            written += os.write(self._descriptor, data[written:])
        self._torn = False

    def sync(self) -> None:
        # fdatasync leaves out times, but not the size of the file, which is what an append needs.
        os.fdatasync(self._descriptor)

    def close(self) -> None:
        os.close(self._descriptor)

    def add_supervisor(self) -> None:
        record = {"supervisor": os.getpid(), "started": start_time(os.getpid()), "boot": boot()}
        self.add(encode(record))

    def add_start(self, job: str, mark: int, commands: int, outputs: Sequence[Output] = ()) -> None:
        # Formatted by hand, because this runs for every job: the JSON encoder is used only where a text needs
        # escapes.
        record = f'"mark":{mark},"at":{time.time()},"commands":{commands},"outputs":{encode(outputs)}'
        self.add(f'{{"start":{encode(job)},{record}}}')

    def add_run(self, job: str, pid: int) -> None:
        self.add(f'{{"run":{encode(job)},"pid":{pid},"started":{processes.now()}}}')

    def add_forget(self, jobs: list[str]) -> None:
        self.add(encode({"forget": jobs}))


def start_time(pid: int) -> int:
    """Returns the start time of a process; 0 if it has gone."""
    process = processes.find_process(pid)
    return process.started if process else 0


def boot() -> str:
    """Returns the id of this boot of the machine; pids of another boot mean nothing."""
    return processes.read("/proc/sys/kernel/random/boot_id").decode().strip()
