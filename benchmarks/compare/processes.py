"""What a command costs, and all that comes of it.

A supervisor outlives whoever started it, in a session of its own. So the command is run by a small process, this
file as a program, to which all orphans below it come home. When the command has ended it ends them, too, and says
what all together have cost.
"""

import ctypes
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from statistics import median
from typing import NamedTuple

_SET_CHILD_SUBREAPER = 36
_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")
_USER_TIME, _SYSTEM_TIME, _RESIDENT = 11, 12, 21
"""Fields of /proc/PID/stat, counted from the state."""


class Cost(NamedTuple):
    wall: float
    """Seconds until the command has ended."""
    cpu: float
    """Seconds of all processors, for the command and all that came of it."""


def environment() -> Mapping[str, str]:
    """Ours; but Python may keep what it has compiled, as it does where a package is installed.

    Nor is it watched by who measures what tests cover: that costs time, and can hang on a Ctrl-C at the end.
    """
    return {
        name: value
        for name, value in os.environ.items()
        if name != "PYTHONDONTWRITEBYTECODE" and not name.startswith("COVERAGE_")
    }


def cost_of(command: Sequence[str], folder: Path, *, more: Mapping[str, str] = {}) -> Cost:
    """`more`: further variables of its environment."""
    done = subprocess.run(
        [sys.executable, __file__, *command],
        cwd=folder,
        env={**environment(), **more},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)[:200]} ended with {done.returncode}: {done.stderr[-2000:]}")
    return Cost(**json.loads(done.stdout))


def median_costs(rounds: int, *rivals: Callable[[], Cost]) -> list[Cost]:
    """Of each rival, measured one after the other, round by round."""
    rows = [[rival() for rival in rivals] for _ in range(rounds)]
    return [Cost(*map(median, zip(*costs, strict=True))) for costs in zip(*rows, strict=True)]


# Processes that are not ours to wait for


def cpu_of(pid: int) -> float:
    """Seconds so far, without its children."""
    fields = _stat(pid)
    return (int(fields[_USER_TIME]) + int(fields[_SYSTEM_TIME])) / _TICKS


def megabytes_of(pid: int) -> float:
    return int(_stat(pid)[_RESIDENT]) * _PAGE / 1e6


def is_there(pid: int) -> bool:
    try:
        return _stat(pid)[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):  # the latter if it goes between open and read
        return False


def _stat(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/stat").read_text("ascii", "replace").rpartition(")")[2].split()


# As a program


def _measured(command: Sequence[str]) -> tuple[int, Cost]:
    ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    began = time.perf_counter()
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as process:
        code = process.wait()
    wall = time.perf_counter() - began
    while _waited_for_an_orphan():
        pass
    spent = getrusage(RUSAGE_CHILDREN)
    return code, Cost(wall, spent.ru_utime + spent.ru_stime)


def _waited_for_an_orphan() -> bool:
    """Whether there was one. Who lives on in case there is more to do would keep us waiting: it is killed."""
    me = os.getpid()
    for orphan in Path(f"/proc/{me}/task/{me}/children").read_text("ascii").split():
        with suppress(ProcessLookupError):  # a supervisor and its parent end together
            os.kill(int(orphan), signal.SIGKILL)
    try:
        os.wait()
    except ChildProcessError:
        return False
    return True


def _main() -> int:
    code, cost = _measured(sys.argv[1:])
    print(json.dumps(cost._asdict()))
    return code


if __name__ == "__main__":
    sys.exit(_main())
