"""The stream to a far program is cut anywhere: jobs run once, and each end is reported once.

The first connection is cut after so many bytes in one direction; the next one is whole.
"""

import random
from collections.abc import AsyncIterator, Sequence

import pytest

from contracts.host_contract import ends
from hosts.far.boxes import Box
from hosts.far.stages import FarStage
from hosts.places import Place
from weft.hosts.carriers.command import CommandCarrier
from weft.ports.host import EndReason
from weft.ports.machines import ByteStream, FarProgram, UnreachableError

pytestmark = pytest.mark.anyio

_SEED = 22
_CUTS = 6
"""How many places are tried in each direction."""


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class CutStream:
    """Breaks when so many bytes have passed in a direction; those before the cut arrive."""

    def __init__(self, stream: ByteStream, *, sent: float, received: float) -> None:
        self._stream = stream
        self._room = {"sent": sent, "received": received}

    def _take(self, direction: str, data: bytes) -> bytes:
        taken = data[: int(min(len(data), self._room[direction]))]
        self._room[direction] -= len(data)
        return taken

    async def send(self, data: bytes) -> None:
        await self._stream.send(self._take("sent", data))
        self._check()

    async def receive(self) -> bytes:
        self._check()
        data = self._take("received", await self._stream.receive())
        if not data:
            self._check()
        return data

    def _check(self) -> None:
        if min(self._room.values()) < 0:
            raise UnreachableError("cut")

    async def close(self) -> None:
        await self._stream.close()


class CuttingCarrier(CommandCarrier):
    cut: tuple[str, int] | None = None
    """The direction and the bytes after which the next connection is cut."""

    async def connect(self, machine: str, program: FarProgram, arguments: Sequence[str]) -> ByteStream:
        stream = await super().connect(machine, program, arguments)
        if self.cut is None:
            return stream
        (direction, count), self.cut = self.cut, None
        room = {"sent": float("inf"), "received": float("inf"), direction: count}
        return CutStream(stream, **room)


class CutStage(FarStage):
    cut: tuple[str, int]

    def carrier(self) -> CuttingCarrier:
        box = self.box
        carrier = CuttingCarrier(box.entrance, box.place, {})
        carrier.cut = self.cut
        return carrier


@pytest.fixture
async def stage(place: Place, box: Box) -> AsyncIterator[CutStage]:
    stage = CutStage(place, box)
    yield stage
    for host in stage.hosts:
        await host.close()


def _places() -> list[tuple[str, int]]:
    # What passes before the end of the last job is some 1,000 bytes in each direction.
    chance = random.Random(_SEED)
    return [
        (direction, chance.randrange(1, 1000)) for direction in ("sent", "received") for _ in range(_CUTS)
    ]


@pytest.mark.parametrize(("direction", "count"), _places())
async def test_jobs_run_once_and_end_once_wherever_the_stream_is_cut(
    stage: CutStage, direction: str, count: int
) -> None:
    stage.cut = (direction, count)
    host = stage.host()
    await host.open()
    for name in ("a", "b", "c"):
        host.start(stage.job(name, ["mark", f"say {name}"]))
    ended = await ends(host, 3)  # which asserts that none comes twice
    assert {end.why for end in ended.values()} == {EndReason.EXITED}
    assert [end.stdout for _, end in sorted(ended.items())] == ["a\n", "b\n", "c\n"]
    host.start(stage.job("fence", ["exit 0"]))
    assert set(await ends(host, 1)) == {"fence"}
    assert [stage.marks(name) for name in ("a", "b", "c")] == [1, 1, 1]
    assert host._machines["box"].session.tries > 1  # it was cut, indeed
