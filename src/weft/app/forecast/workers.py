"""Replications on all processors: each worker process plays its share of them.

The workers are forks of this process, so the plan need not be sent to them. Each sends its tally in pieces, so
that the caller can show progress, stop in time, and still has the pieces that have arrived if it is interrupted.
"""

import os
import pickle
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from multiprocessing import connection
from typing import NoReturn

from weft.forecast.replications import Rehearsal, play_all
from weft.forecast.tally import Tally

_PIECE = 0.2
"""Seconds of work after which a worker sends what it has."""


class Deadline:
    """The time until which replications are played."""

    def __init__(self, seconds: float | None) -> None:
        self._at = None if seconds is None else time.monotonic() + seconds

    @property
    def is_over(self) -> bool:
        return self._at is not None and time.monotonic() >= self._at


def processors() -> int:
    """Returns the number of processors that this process may use."""
    return len(os.sched_getaffinity(0))


def play(
    rehearsal: Rehearsal,
    runs: int,
    *,
    seconds: float | None = None,
    least: int = 1,
    watches_pools: bool = True,
    progress: Callable[[int], None] = lambda _done: None,
) -> Tally:
    """Returns the tally of the replications 0 to `runs` - 1, or of fewer if that takes longer than `seconds`.

    At least `least` replications are played. Ctrl-C ends them; the tally then has those that are done.
    """
    deadline = Deadline(seconds)
    tally = Tally()
    count = min(processors(), runs)
    if count <= 1:
        _play_here(rehearsal, runs, deadline, least, watches_pools, tally, progress)
        return tally
    workers: list[_Worker] = []
    try:
        _start(workers, rehearsal, [range(number, runs, count) for number in range(count)], watches_pools)
        while workers:
            for piece in _pieces(workers):
                tally.merge(piece)
                progress(tally.runs)
            if deadline.is_over and tally.runs >= least:
                break
    except KeyboardInterrupt:
        if not tally.runs:
            raise
        tally.is_interrupted = True
    finally:
        for worker in workers:
            worker.end()
    return tally


def _play_here(  # noqa: PLR0913 - as `play`
    rehearsal: Rehearsal,
    runs: int,
    deadline: Deadline,
    least: int,
    watches_pools: bool,  # noqa: FBT001 - as `play`
    tally: Tally,
    progress: Callable[[int], None],
) -> None:
    try:
        for number in range(runs):
            rehearsal.add_to(tally, number, watches_pools=watches_pools)
            progress(tally.runs)
            if deadline.is_over and tally.runs >= least:
                return
    except KeyboardInterrupt:
        if not tally.runs:
            raise
        tally.is_interrupted = True


def _start(
    workers: "list[_Worker]",
    rehearsal: Rehearsal,
    shares: Sequence[range],
    watches_pools: bool,  # noqa: FBT001 - as `play`
) -> None:
    """Starts a worker for each share of the replications."""
    for numbers in shares:
        others = [worker.descriptor for worker in workers]
        workers.append(_Worker(rehearsal, numbers, watches_pools, others))


def _pieces(workers: "list[_Worker]") -> Iterator[Tally]:
    """Yields the pieces that have arrived, and removes the workers that have ended."""
    by_descriptor = {worker.descriptor: worker for worker in workers}
    for ready in connection.wait(list(by_descriptor)):
        assert isinstance(ready, int)
        worker = by_descriptor[ready]
        piece = worker.receive()
        if piece is None:
            workers.remove(worker)
            worker.finish()
        else:
            yield piece


class _Worker:
    """A fork that plays replications and writes tallies into a pipe."""

    def __init__(
        self,
        rehearsal: Rehearsal,
        numbers: range,
        watches_pools: bool,  # noqa: FBT001 - as `play`
        others: Sequence[int],
    ) -> None:
        """`others`: the descriptors of earlier workers, which the fork closes."""
        self.descriptor, writing = os.pipe()
        self._ended = False
        sys.stdout.flush()
        sys.stderr.flush()
        self._pid = os.fork()
        if not self._pid:
            # Only the parent reads. If it is killed, no reader is left, and the fork ends when it writes.
            for descriptor in (self.descriptor, *others):
                os.close(descriptor)
            _work(rehearsal, numbers, watches_pools, writing)
        os.close(writing)

    def receive(self) -> Tally | None:
        """Returns the next tally; None after the last one."""
        head = self._read(8)
        if not head:
            return None
        data = self._read(int.from_bytes(head, "little"))
        if not data:  # the fork was killed while it wrote
            return None
        tally = pickle.loads(data)  # noqa: S301 - from our own fork
        assert isinstance(tally, Tally)
        return tally

    def _read(self, size: int) -> bytes:
        parts: list[bytes] = []
        while size:
            part = os.read(self.descriptor, size)
            if not part:
                return b""
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    def finish(self) -> None:
        """Waits for a fork that has played all its replications; raises if it failed."""
        self._ended = True
        os.close(self.descriptor)
        _, status = os.waitpid(self._pid, 0)
        if status:
            raise RuntimeError(f"a worker of the forecast ended with status {status}")

    def end(self) -> None:
        """Ends a fork that is not needed any more."""
        if not self._ended:
            self._ended = True
            with suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGKILL)
            os.waitpid(self._pid, 0)
            os.close(self.descriptor)


def _work(rehearsal: Rehearsal, numbers: range, watches_pools: bool, writing: int) -> NoReturn:  # noqa: FBT001
    """Plays the replications in the fork. Ctrl-C is for the parent, which ends the fork."""
    code = 1
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        waiting = list(numbers)
        size = 1
        while waiting:
            begin = time.monotonic()
            piece, waiting = waiting[:size], waiting[size:]
            _send(writing, play_all(rehearsal, piece, watches_pools=watches_pools))
            seconds = max(time.monotonic() - begin, 1e-6)
            size = max(1, min(int(size * _PIECE / seconds), 4 * size))
        code = 0
    except BrokenPipeError:
        pass  # the parent is gone
    except Exception:  # noqa: BLE001 - the outermost frame of the process
        traceback.print_exc()
    finally:
        # Not `sys.exit`: the clean-up of the parent's objects is not for the fork to do.
        os._exit(code)


def _send(writing: int, tally: Tally) -> None:
    data = pickle.dumps(tally)
    view = memoryview(len(data).to_bytes(8, "little") + data)
    while view:
        view = view[os.write(writing, view) :]
