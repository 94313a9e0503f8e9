import pytest
from msgspec.structs import replace

from contracts.journal_contract import JournalContract, Maker, kinds, record, told
from weft.store.memory import MemoryJournal, MemoryReader, MemoryStore


class InMemory:
    def __init__(self) -> None:
        self.store = MemoryStore()

    def open(self, *, now: float = 0.0, command: str = "") -> MemoryJournal:
        return MemoryJournal(self.store, now=now, command=command)

    def reader(self) -> MemoryReader:
        return MemoryReader(self.store)

    def steal(self) -> None:
        assert self.store.holder is not None
        self.store.holder = replace(self.store.holder, nonce="other", epoch=self.store.holder.epoch + 1)


class TestMemoryJournal(JournalContract):
    @pytest.fixture
    def maker(self) -> Maker:
        return InMemory()


def test_a_journal_of_its_own_needs_nothing() -> None:
    journal = MemoryJournal()
    journal.add_run(record())
    journal.append("r1", told("a"))
    assert kinds(MemoryReader(journal.store)) == ["a"]
