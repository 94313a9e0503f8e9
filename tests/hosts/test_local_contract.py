"""The local host does what every host does."""

import pytest

from contracts.host_contract import HostContract, Stage
from hosts.places import Place
from hosts.stage import ProcessStage
from weft.hosts.local import LocalHost
from weft.hosts.records import LocalRecords


class LocalStage(ProcessStage):
    def host(self) -> LocalHost:
        return self.place.host()

    def records(self) -> LocalRecords:
        return LocalRecords(self.place.directory, self.place.root)

    async def crash(self) -> None:
        self.place.kill()


class TestLocalHost(HostContract):
    @pytest.fixture
    def stage(self, place: Place) -> Stage:
        return LocalStage(place)
