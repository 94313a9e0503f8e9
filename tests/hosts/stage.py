"""Jobs of the contract of hosts as shell scripts, for hosts with real processes."""

from collections.abc import Sequence

from hosts.places import LONG, Place
from weft.ports.host import Job


class ProcessStage:
    def __init__(self, place: Place) -> None:
        self.place = place

    def job(self, name: str, *commands: Sequence[str], timeout: float = LONG, grace: float = LONG) -> Job:
        argvs = [self._argv(name, words) for words in commands]
        return self.place.argv(name, *argvs, timeout=timeout, grace=grace)

    def _argv(self, name: str, words: Sequence[str]) -> tuple[str, ...]:
        if words[0].startswith("run "):
            return (words[0].removeprefix("run "),)
        return ("/bin/sh", "-c", "; ".join(self._word(name, word) for word in words))

    def _word(self, name: str, word: str) -> str:
        match word.split():
            case ["say", text]:
                return f"echo {text}"
            case ["mark"]:
                return f"echo >> {self.place.root}/{name}.marks"
            case ["wait"]:
                return self.place.gate(name)
            case ["exit", code]:
                return f"exit {code}"
            case ["die", number]:
                return f"kill -{number} $$"
        raise AssertionError(word)

    def marks(self, name: str) -> int:
        file = self.place.root / f"{name}.marks"
        return len(file.read_bytes()) if file.exists() else 0

    async def reached(self, name: str) -> None:
        await self.place.reached(name)

    def release(self, name: str) -> None:
        self.place.release(name)
