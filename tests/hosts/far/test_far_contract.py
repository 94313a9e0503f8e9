"""A host that is another machine does what every host does."""

from collections.abc import AsyncIterator

import pytest

from contracts.host_contract import HostContract, Stage
from hosts.far.boxes import Box
from hosts.far.stages import FarStage
from hosts.places import Place


class TestFarHostOverACommand(HostContract):
    @pytest.fixture
    def anyio_backend(self) -> str:
        return "asyncio"

    @pytest.fixture
    async def stage(self, place: Place, box: Box) -> AsyncIterator[Stage]:
        stage = FarStage(place, box)
        yield stage
        for host in stage.hosts:
            await host.close()
