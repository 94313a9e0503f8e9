"""The part of the carrier `dask` in a worker of a cluster: it relays the bytes of a process on that machine.

Dask sends these functions to the worker as code, because Weft is not installed there. Each is called on the
event loop of the worker, where it must only wait. No task of Dask exists at any time, so there is nothing that
Dask could move, repeat or count.

A client may vanish without a word. So a process that has not been asked for output for a while is ended.
"""

import asyncio
from typing import Any

_MOST = 1 << 20
"""Bytes of one answer."""
_ABANDONED = 60.0
"""Seconds without a request after which a process is ended."""
_LONGEST_MESSAGE = 4096
_TABLE = "_weft_processes"


class RelayedProcess:
    """A process on the machine of a worker."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        self.process = process
        self.stdin = process.stdin
        self.stdout = process.stdout
        self.errors = asyncio.ensure_future(process.stderr.read(_LONGEST_MESSAGE))
        self.watch = asyncio.ensure_future(self._watch())
        self.asked_at = asyncio.get_running_loop().time()

    async def receive(self, seconds: float) -> bytes | None:
        """Returns what has arrived, nothing if that takes too long, and None at the end."""
        self.asked_at = asyncio.get_running_loop().time()
        try:
            data = await asyncio.wait_for(self.stdout.read(_MOST), seconds)
        except TimeoutError:
            return b""
        return data or None

    async def _watch(self) -> None:
        loop = asyncio.get_running_loop()
        while loop.time() - self.asked_at < _ABANDONED:  # noqa: ASYNC110 - no event announces silence
            await asyncio.sleep(_ABANDONED / 4)
        self.end()

    def end(self) -> None:
        self.watch.cancel()
        self.stdin.close()
        if self.process.returncode is None:
            self.process.terminate()


def processes(worker: Any) -> dict[str, RelayedProcess]:  # noqa: ANN401 - Dask's class is not imported here
    table: dict[str, RelayedProcess] = worker.__dict__.setdefault(_TABLE, {})
    return table


async def start(argv: list[str], key: str, dask_worker: Any = None) -> None:  # noqa: ANN401 - as above
    """Starts a process under a key that no other process has."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *argv, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True
    )
    processes(dask_worker)[key] = RelayedProcess(process)


async def send(key: str, data: bytes, dask_worker: Any = None) -> None:  # noqa: ANN401 - as above
    stdin = processes(dask_worker)[key].stdin
    stdin.write(data)
    await stdin.drain()


async def receive(key: str, seconds: float, dask_worker: Any = None) -> tuple[bytes | None, str]:  # noqa: ANN401 - as above
    """Returns what has arrived and, at the end, None with the last words of the process."""
    relayed = processes(dask_worker)[key]
    data = await relayed.receive(seconds)
    if data is not None:
        return data, ""
    return None, (await relayed.errors).decode(errors="replace").strip()


async def close(key: str, dask_worker: Any = None) -> None:  # noqa: ANN401 - as above
    relayed = processes(dask_worker).pop(key, None)
    if relayed is not None:
        relayed.end()
