"""The carrier `dask`: the machines of a cluster of Dask.

Dask is transport and nothing else. Weft runs no tasks in it: functions that are called on a worker (`dask_relay`)
start the far program there and relay its bytes. The far program's supervisor is no child of the worker, so workers
may be restarted at any time. Several workers on one machine are one machine here.
"""

import asyncio
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from typing import Any

from weft.hosts.carriers import dask_relay
from weft.hosts.carriers.bootstrap import FarPlace, await_start, start_command
from weft.hosts.carriers.dask_clusters import ClusterConnection, connect
from weft.plan.hosts import HostSpec
from weft.ports.machines import ByteStream, FarProgram, UnreachableError

_POLL = 20.0
"""Seconds that a request for output waits in the worker."""
_GONE_AFTER = 20.0
"""Seconds without a worker after which a machine is gone. A nanny restarts a worker sooner than that."""
_CLOSE_PATIENCE = 2.0
_LONGEST_CALL = 60.0


class DaskCarrier:
    """Reaches the machines of one cluster."""

    def __init__(
        self, spec: HostSpec, place: FarPlace, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._spec = spec
        self._place = place
        self._clock = clock
        self._connection: ClusterConnection | None = None
        self._connecting = asyncio.Lock()
        self._absent_since: dict[str, float] = {}

    async def machines(self) -> Sequence[str]:
        return sorted(await self._workers())

    async def connect(self, machine: str, program: FarProgram, arguments: Sequence[str]) -> ByteStream:
        workers = (await self._workers()).get(machine)
        if not workers:
            raise UnreachableError(f"no worker of {self._spec.name} is on {machine} now")
        stream = DaskStream(self, workers[0])
        await stream.start(("sh", "-c", start_command(self._place, program, arguments)))
        return await await_start(stream, self._place, machine, program)

    async def has_gone(self, machine: str) -> bool:
        try:
            workers = await self._workers()
        except UnreachableError:  # that says nothing about the machine
            return False
        if machine in workers:
            self._absent_since.pop(machine, None)
            return False
        return self._clock() - self._absent_since.setdefault(machine, self._clock()) >= _GONE_AFTER

    async def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()

    async def _workers(self) -> Mapping[str, Sequence[str]]:
        """Returns the addresses of the workers on each machine."""
        identity = await self.ask(lambda client: client.scheduler.identity(n_workers=-1))
        workers: dict[str, list[str]] = {}
        for address, worker in sorted(identity["workers"].items()):
            workers.setdefault(str(worker["host"]), []).append(address)
        return workers

    async def ask(self, request: Callable[[Any], Any]) -> Any:  # noqa: ANN401 - of Dask
        """Returns the answer of the scheduler or of a worker. Raises `UnreachableError`."""
        client = (await self._connected()).client
        try:
            async with asyncio.timeout(_LONGEST_CALL):
                return await request(client)
        except Exception as error:
            # Dask reports a lost worker, scheduler or connection in many ways. None of them is the end of a job.
            if client.status != "running":
                await self.close()
            raise UnreachableError(f"{self._spec.name}: {_words(error)}") from error

    async def _connected(self) -> ClusterConnection:
        async with self._connecting:
            if self._connection is None:
                self._connection = await connect(self._spec)
                # Weft is not installed on the workers, so its functions are sent as code.
                import_module("cloudpickle").register_pickle_by_value(dask_relay)
            return self._connection


class DaskStream:
    """The input and output of a process on the machine of a worker."""

    def __init__(self, carrier: DaskCarrier, worker: str) -> None:
        self._carrier = carrier
        self._worker = worker
        self._key = secrets.token_hex(8)

    async def start(self, argv: Sequence[str]) -> None:
        await self._run(dask_relay.start, list(argv), self._key)

    async def send(self, data: bytes) -> None:
        await self._run(dask_relay.send, self._key, data)

    async def receive(self) -> bytes:
        while True:
            data, message = await self._run(dask_relay.receive, self._key, _POLL)
            if data is None:
                raise UnreachableError(message or f"the far program has ended on {self._worker}")
            if data:
                return bytes(data)

    async def close(self) -> None:
        with suppress(UnreachableError, TimeoutError):
            async with asyncio.timeout(_CLOSE_PATIENCE):
                await self._run(dask_relay.close, self._key)

    async def _run(self, function: Callable[..., Any], *arguments: object) -> Any:  # noqa: ANN401 - of the function
        answers = await self._carrier.ask(
            lambda client: client.run(function, *arguments, workers=[self._worker], on_error="raise")
        )
        if self._worker not in answers:
            raise UnreachableError(f"the worker {self._worker} is gone")
        return answers[self._worker]


def _words(error: Exception) -> str:
    if isinstance(error, KeyError):
        return "the worker was restarted"
    text = str(error).strip()
    return text.splitlines()[-1] if text else type(error).__name__
