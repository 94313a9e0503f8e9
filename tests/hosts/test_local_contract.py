"""The local host does what every host does."""

from collections.abc import Sequence

import pytest

from contracts.host_contract import HostContract, Stage
from hosts.places import LONG, Place
from weft.hosts.local import LocalHost
from weft.hosts.records import LocalRecords
from weft.ports.host import Job


class LocalStage:
    def __init__(self, place: Place) -> None:
        self._place = place

    def host(self) -> LocalHost:
        return self._place.host()

    def job(self, name: str, *commands: Sequence[str], timeout: float = LONG, grace: float = LONG) -> Job:
        argvs = [self._argv(name, words) for words in commands]
        return self._place.argv(name, *argvs, timeout=timeout, grace=grace)

    def _argv(self, name: str, words: Sequence[str]) -> tuple[str, ...]:
        if words[0].startswith("run "):
            return (words[0].removeprefix("run "),)
        return ("/bin/sh", "-c", "; ".join(self._word(name, word) for word in words))

    def _word(self, name: str, word: str) -> str:
        match word.split():
            case ["say", text]:
                return f"echo {text}"
            case ["mark"]:
                return f"echo >> {self._place.root}/{name}.marks"
            case ["wait"]:
                return self._place.gate(name)
            case ["exit", code]:
                return f"exit {code}"
            case ["die", number]:
                return f"kill -{number} $$"
        raise AssertionError(word)

    def marks(self, name: str) -> int:
        file = self._place.root / f"{name}.marks"
        return len(file.read_bytes()) if file.exists() else 0

    async def reached(self, name: str) -> None:
        await self._place.reached(name)

    def release(self, name: str) -> None:
        self._place.release(name)

    def records(self) -> LocalRecords:
        return LocalRecords(self._place.directory, self._place.root)

    async def crash(self) -> None:
        self._place.kill()


class TestLocalHost(HostContract):
    @pytest.fixture
    def stage(self, place: Place) -> Stage:
        return LocalStage(place)
