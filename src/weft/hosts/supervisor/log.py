"""The log: what was begun and how it ended, for the next supervisor if this one dies.

Lines of JSON, only ever appended to:
  {"supervisor": pid, "started": …, "boot": …}   who writes from here on
  {"start": job, "mark": …, "at": …, "commands": number, "outputs": [[path, pipe], …]}   about to be started
  {"run": job, "pid": …, "started": …}           a command of it runs, and had started by then
  {"ended": {…}}                                 its end, as it is told
  {"forget": [job, …]}                           their ends are not asked for any more

A line that cannot be read is passed over. It may be one that a full disk or a death cut short; then what it was
about had not been done yet. Every other loss is on the safe side: a job whose end is missing counts as lost.
"""

import json
import os
import time
from collections.abc import Sequence
from contextlib import suppress

from weft.safe_files import open_file

from . import processes

Output = tuple[str, int]
"""The file that an output is stored in, and the inode of the pipe that the job writes to."""

UNREADABLE = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError)
"""What reading a line raises that is none of ours: JSON can be nested deeply, and numbers in it can be endless."""

encode = json.JSONEncoder(separators=(",", ":")).encode


class StartedJob:
    """A job that was begun."""

    __slots__ = ("at", "boot", "commands", "mark", "outputs", "pids")

    def __init__(self, mark: int, at: float, boot: str, commands: int = 0) -> None:
        self.mark = mark
        self.at = at
        self.boot = boot
        """In which life of the machine."""
        self.commands = commands
        """How many it has; 0 if a log of an earlier version does not say."""
        self.outputs: list[Output] = []
        """Of standard output and standard error; none if a log of an earlier version does not say."""
        self.pids: list[tuple[int, int]] = []
        """Of its commands, each with a time, in ticks, when it had started."""


class LogHistory:
    """What a log tells."""

    def __init__(self) -> None:
        self.begun: dict[str, StartedJob] = {}
        """Without an end."""
        self.ended: dict[str, str] = {}
        """The end of each, as JSON, unless it is forgotten."""
        self.ids: set[str] = set()
        """All that were ever heard of."""
        self.writer: tuple[int, int] | None = None
        """Pid and start time of the supervisor that came last."""
        self._boot = ""

    def read(self, path: str) -> None:
        with suppress(FileNotFoundError), os.fdopen(open_file(path), "rb") as lines:
            for line in lines:
                with suppress(*UNREADABLE):
                    self._take(line)

    def _take(self, line: bytes) -> None:
        record = json.loads(line)
        if "ended" in record:
            self._take_end(record["ended"]["id"], encode(record["ended"]))
        elif "start" in record:
            commands = int(record.get("commands", 0))
            begun = StartedJob(int(record["mark"]), float(record["at"]), self._boot, commands)
            begun.outputs = [(str(path), int(pipe)) for path, pipe in record.get("outputs", ())]
            self._take_start(record["start"], begun)
        elif "run" in record:
            self.begun[record["run"]].pids.append((int(record["pid"]), int(record["started"])))
        elif "supervisor" in record:
            self._boot = str(record["boot"])
            self.writer = int(record["supervisor"]), int(record["started"])
        elif "forget" in record:
            for job in record["forget"]:
                self.ended.pop(job, None)

    @property
    def is_of_this_life(self) -> bool:
        """Whether the machine has not been started anew since; else all that it names is gone."""
        return self._boot == boot()

    def _take_start(self, job: str, begun: StartedJob) -> None:
        self.begun[job] = begun
        self.ids.add(job)

    def _take_end(self, job: str, end: str) -> None:
        self.begun.pop(job, None)
        self.ended[job] = end
        self.ids.add(job)


class JobLog:
    """Appends. Each write is one, so that it is there as a whole or was cut short at its end."""

    def __init__(self, path: str) -> None:
        self._descriptor = open_file(path, os.O_RDWR | os.O_APPEND | os.O_CREAT)
        self._torn = not self._ends_with_a_line()

    def _ends_with_a_line(self) -> bool:
        size = os.fstat(self._descriptor).st_size
        return size == 0 or os.pread(self._descriptor, 1, size - 1) == b"\n"

    def add(self, *records: str) -> None:
        data = ("\n".join(records) + "\n").encode()
        if self._torn:
            data = b"\n" + data
        self._torn = True
        written = os.write(self._descriptor, data)
        while written < len(data):
            written += os.write(self._descriptor, data[written:])
        self._torn = False

    def sync(self) -> None:
        os.fdatasync(self._descriptor)

    def close(self) -> None:
        os.close(self._descriptor)

    def add_supervisor(self) -> None:
        record = {"supervisor": os.getpid(), "started": start_time(os.getpid()), "boot": boot()}
        self.add(encode(record))

    def add_start(self, job: str, mark: int, commands: int, outputs: Sequence[Output] = ()) -> None:
        record = f'"mark":{mark},"at":{time.time()},"commands":{commands},"outputs":{encode(outputs)}'
        self.add(f'{{"start":{encode(job)},{record}}}')

    def add_run(self, job: str, pid: int) -> None:
        self.add(f'{{"run":{encode(job)},"pid":{pid},"started":{processes.now()}}}')

    def add_forget(self, jobs: list[str]) -> None:
        self.add(encode({"forget": jobs}))


def start_time(pid: int) -> int:
    """0 if it has gone."""
    process = processes.look(pid)
    return process.started if process else 0


def boot() -> str:
    """Which life of the machine this is: pids mean nothing in another."""
    return processes.read("/proc/sys/kernel/random/boot_id").decode().strip()
