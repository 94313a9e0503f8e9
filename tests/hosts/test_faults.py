"""The supervisor fails at every point where it can: the n-th time, for all n.

However it fails: no job runs twice, each end is reported once and stays the same later, no process is left.
"""

from itertools import count
from pathlib import Path

import pytest
from msgspec.structs import replace

from contracts.host_contract import ends
from hosts.places import Place, with_fault
from weft.ports.host import EndReason, JobEnded

pytestmark = pytest.mark.anyio


def runs(place: Place, name: str) -> int:
    file = place.root / f"{name}.runs"
    return len(file.read_bytes()) if file.exists() else 0


async def live_through(place: Place, fault: str) -> dict[str, JobEnded]:
    """Two jobs, the second of which has two commands, and what became of them. One before them is forgotten."""
    host = place.host(program=with_fault(fault))
    await host.open()
    host.start(place.shell("first", "exit 0"))
    await ends(host, 1)
    host.forget(["first"])
    host.start(replace(place.shell("a", f"printf x >> {place.root}/a.runs; cat"), stdin="text"))
    host.start(place.shell("b", f"printf x >> {place.root}/b.runs", "exit 0"))
    end_events = await ends(host, 2)
    await host.close()
    later = place.host(program=with_fault(fault))
    table = dict(await later.open())
    table.pop("first", None)
    assert table == end_events
    await later.close()
    return end_events


def check(place: Place, found: dict[str, JobEnded]) -> None:
    for name, end in found.items():
        assert runs(place, name) <= 1
        assert end.why != EndReason.EXITED or (end.exit_code, runs(place, name)) == (0, 1)
        assert end.why != EndReason.NOT_STARTED or runs(place, name) == min(end.command, 1)


async def outcomes(tmp_path: Path, kind: str) -> set[str]:
    """All that became of the jobs with the fault at each point."""
    seen: set[str] = set()
    for number in count(1):
        root = tmp_path / str(number)
        root.mkdir()
        place = Place(root)
        result = await live_through(place, f"{kind}:{number}:{root}/fired")
        check(place, result)
        await place.leave()
        seen |= {str(end.why) for end in result.values()}
        if not (root / "fired").exists():
            return seen
    raise AssertionError


@pytest.mark.parametrize("kind", ["before", "after"])
async def test_it_is_killed(tmp_path: Path, kind: str) -> None:
    assert await outcomes(tmp_path, kind) == {"exited", "lost"}


async def test_the_disk_is_full(tmp_path: Path) -> None:
    assert await outcomes(tmp_path, "ENOSPC") == {"exited", "not_started"}


async def test_the_disk_is_broken(tmp_path: Path) -> None:
    assert await outcomes(tmp_path, "EIO") == {"exited", "not_started"}


async def test_it_has_no_descriptors_left(tmp_path: Path) -> None:
    assert await outcomes(tmp_path, "EMFILE") == {"exited", "not_started"}


async def test_no_process_can_be_started(tmp_path: Path) -> None:
    """Neither a job, nor the supervisor itself, which forks twice."""
    assert await outcomes(tmp_path, "EAGAIN") == {"exited", "not_started"}
