"""The ports to other machines: carriers, which reach a far program, and calls to it.

A carrier carries bytes and starts the far program; it knows neither jobs nor git. It may break at any moment, and
that says nothing about the machine or its jobs.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from msgspec import Struct

from weft.errors import WeftError
from weft.ports.host import KnownJobs
from weft.terms import MachineState


class UnreachableError(WeftError):
    """A machine cannot be reached now. Whether the operation happened is unknown; repeat it later."""


class MachineLostError(WeftError):
    """A machine was out of reach for too long, or has gone. Its attempts count as lost."""


class FarError(WeftError):
    """The far program could not do what it was asked to do, for the reason in the message."""


class StaleTokenError(FarError):
    """The workspace belongs to another placement of its slice."""


class FarProgram(Struct, frozen=True):
    """The program that runs on another machine: a zip file that needs Python ≥ 3.11 and nothing else."""

    content: bytes
    digest: str
    """Of the content. It is the name of the file there, so that each version is copied once."""


class ByteStream(Protocol):
    """The standard input and output of a far program."""

    async def send(self, data: bytes) -> None:
        """Raises `UnreachableError` if the stream is broken."""
        ...

    async def receive(self) -> bytes:
        """Returns the next bytes, at least one; raises `UnreachableError` at the end of the stream."""
        ...

    async def close(self) -> None:
        """Closes the stream. The far program ends, and its supervisor continues."""
        ...


class Carrier(Protocol):
    """Reaches the machines of one host."""

    async def machines(self) -> Sequence[str]:
        """Returns the machines that are there now. Raises `UnreachableError`; an empty list is a statement."""
        ...

    async def connect(self, machine: str, program: FarProgram, arguments: Sequence[str]) -> ByteStream:
        """Starts the far program, after copying it there if it is missing. Raises `UnreachableError`.

        Raises `FarError` if waiting does not help: no Python, a host key that is unknown, no room on the disk.
        """
        ...

    async def has_gone(self, machine: str) -> bool:
        """Returns whether the cluster says that a machine is gone for good; False if it cannot tell."""
        ...

    async def close(self) -> None:
        """Disconnects. The machines continue, except those that the carrier has started for this run alone."""
        ...


class MachineStatus(Struct, frozen=True, kw_only=True):
    """What is known of a machine."""

    host: str
    machine: str
    state: MachineState
    since: float
    """When it came into this state."""
    message: str = ""
    """Why it cannot be reached, in the words of the carrier."""
    running: int = 0
    facts: Mapping[str, Any] = {}
    """What the far program has reported: versions, agents, free space, the offset of the clock."""


class MachineJobs(Struct, frozen=True, kw_only=True):
    """A machine has answered for the first time: these jobs of the run it knows."""

    host: str
    machine: str
    jobs: KnownJobs
    """Running ones, which are taken over, and ended ones, whose ends are not repeated."""


MachineNews = MachineStatus | MachineJobs


class Reply(Struct, frozen=True):
    """The answer of a far program."""

    data: Mapping[str, Any]
    payload: bytes = b""


class MachineCalls(Protocol):
    """Calls to the far programs of a run, from threads."""

    def call(  # noqa: PLR0913 - what a call needs
        self,
        host: str,
        subplan: str,
        operation: str,
        arguments: Mapping[str, object],
        payload: Path | bytes = b"",
        *,
        into: Path | None = None,
        machine: str = "",
    ) -> Reply:
        """Calls the machine on which a subplan is placed, and blocks until it answers.

        `into`: the file for the payload of the answer, which may be too long for the memory. Raises
        `UnreachableError`, `MachineLostError` or `FarError`.
        """
        ...


class Machines(MachineCalls, Protocol):
    """The other machines of a run."""

    def news(self) -> AsyncIterator[MachineNews]:
        """Yields changes of the states of machines, and the jobs of each once it has answered."""
        ...

    def statuses(self) -> Sequence[MachineStatus]:
        """Returns the present states."""
        ...
