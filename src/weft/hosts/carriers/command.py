"""The carrier `command`: a machine that a command reaches, such as `docker exec -i box`."""

from collections.abc import Mapping, Sequence

from weft.hosts.carriers.bootstrap import FarPlace, await_start, start_command
from weft.hosts.carriers.process_stream import ProcessStream
from weft.ports.machines import ByteStream, FarProgram


class CommandCarrier:
    """Reaches one machine: `sh -c …` runs there if it is appended to the words of the command."""

    def __init__(self, command: Sequence[str], place: FarPlace, environ: Mapping[str, str]) -> None:
        self._command = tuple(command)
        self._place = place
        self._environ = environ

    async def machines(self) -> Sequence[str]:
        return (self._place.host,)

    async def connect(self, machine: str, program: FarProgram, arguments: Sequence[str]) -> ByteStream:
        script = start_command(self._place, program, arguments)
        stream = await ProcessStream.start((*self._command, "sh", "-c", script), self._environ)
        return await await_start(stream, self._place, machine, program)

    async def has_gone(self, machine: str) -> bool:  # noqa: ARG002 - a command cannot tell
        return False

    async def close(self) -> None:
        """Nothing is kept between connections."""
