"""The host that other tests here use does what every host does."""

from collections.abc import Sequence

import pytest

from contracts.host_contract import HostContract, Stage
from runtime.virtual_host import VirtualHost, VirtualMachine
from weft.ports.host import Job


class VirtualStage:
    def __init__(self) -> None:
        self._machine = VirtualMachine()

    def host(self) -> VirtualHost:
        return VirtualHost(self._machine)

    def job(self, name: str, *commands: Sequence[str], timeout: float = 3600.0, grace: float = 3600.0) -> Job:
        argvs = tuple(tuple(words) for words in commands)
        return Job(id=name, commands=argvs, cwd="/", env={}, output=name, timeout=timeout, grace=grace)

    def marks(self, name: str) -> int:
        return self._machine.marks[name]

    async def reached(self, name: str) -> None:
        assert name in self._machine.waiting()

    def release(self, name: str) -> None:
        self._machine.release(name)

    def records(self) -> VirtualHost:
        return VirtualHost(self._machine)

    async def crash(self) -> None:
        self._machine.crash()


class TestVirtualHost(HostContract):
    @pytest.fixture
    def anyio_backend(self) -> str:
        return "asyncio"

    @pytest.fixture
    def stage(self) -> Stage:
        return VirtualStage()
