"""Copies of the outputs of jobs of another machine, in the same files that the jobs of this machine have.

The copies follow while a job runs, and are complete before its end is reported. So everything that reads output
works as for jobs of this machine.
"""

import os
from collections.abc import Awaitable, Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from anyio import CapacityLimiter

from weft.ports.host import OutputPart
from weft.ports.machines import Reply
from weft.safe_files import locate
from weft.threads import run_sync

_STREAMS = (OutputPart.OUT, OutputPart.ERR, OutputPart.OUT_TAIL, OutputPart.ERR_TAIL)

Pull = Callable[[Mapping[str, object]], Awaitable[Reply]]
PartKey = tuple[str, str]


class OutputMirror:
    """The copies of outputs of one machine."""

    def __init__(self, logs: Path, pull: Pull) -> None:
        self._logs = logs
        self._pull = pull
        self._states: dict[PartKey, tuple[int, str]] = {}
        """For each part, the size of the copy and the state of the original."""
        self._threads = CapacityLimiter(1)  # in order

    async def follow(self, jobs: Iterable[tuple[str, str]]) -> Mapping[str, Any]:
        """Brings the copies of jobs up to date, each given by its output and that of its report.

        Returns the answer of the machine; raises `UnreachableError` or `FarError`.
        """
        keys = [key for job in jobs for key in _keys(*job)]
        while True:
            wanted: dict[str, dict[str, tuple[int, str]]] = {}
            for key in keys:
                wanted.setdefault(key[0], {})[key[1]] = self._states.get(key, (0, ""))
            reply = await self._pull({"outputs": wanted})
            news = await run_sync(self._store, reply, limiter=self._threads)
            self._states.update(news)
            keys = [key for key, (_, state) in news.items() if state.endswith("-partial")]
            if not keys:
                return reply.data

    async def finish(self, jobs: Iterable[tuple[str, str]]) -> Mapping[str, Any]:
        """Completes the copies of ended jobs."""
        jobs = list(jobs)
        for _, report in jobs:
            self._states.pop((report, OutputPart.REPORT), None)  # as a whole; see `far.pull`
        answer = await self.follow(jobs)
        for job in jobs:
            for key in _keys(*job):
                self._states.pop(key, None)
        return answer

    def _store(self, reply: Reply) -> dict[PartKey, tuple[int, str]]:
        news: dict[PartKey, tuple[int, str]] = {}
        at = 0
        for part in reply.data["parts"]:
            data = reply.payload[at : at + part["length"]]
            at += part["length"]
            self._write(f"{part['output']}.{part['part']}", data, part["offset"], part["size"])
            reached = part["offset"] + part["length"]
            is_whole = reached >= part["size"] or not data
            state = part["state"] if is_whole else f"{part['state'].partition('-')[0]}-partial"
            news[part["output"], part["part"]] = (reached, state)
        return news

    def _write(self, name: str, data: bytes, offset: int, size: int) -> None:
        tree, file = locate(self._logs / name)
        tree.folder(file.rpartition("/")[0], make=True).close()
        is_stream = name.endswith((".out", ".err"))
        if offset == 0 and len(data) == size and not is_stream:
            tree.replace(file, data)
            return
        descriptor = tree.open(file, os.O_WRONLY | os.O_CREAT)
        try:
            rest = memoryview(data)
            while rest:
                written = os.pwrite(descriptor, rest, offset)
                rest, offset = rest[written:], offset + written
            if not is_stream:  # what was longer before has been replaced
                os.ftruncate(descriptor, offset)
        finally:
            os.close(descriptor)


def _keys(output: str, report: str) -> list[PartKey]:
    return [*((output, str(part)) for part in _STREAMS), (report, str(OutputPart.REPORT))]
