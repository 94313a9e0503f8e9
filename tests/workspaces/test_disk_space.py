"""git fails: the disk says whether it is full."""

import errno
import os
from pathlib import Path

import pytest

from weft.ports.workspaces import InfraError
from weft.workspaces.disk_space import ENOUGH, full_disk_as_error

FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.fixture
def common(tmp_path: Path) -> Path:
    (tmp_path / "objects").mkdir()
    return tmp_path


def fail_to_allocate(patch: pytest.MonkeyPatch) -> list[int]:
    """Every attempt to allocate space fails; the sizes."""
    sizes: list[int] = []

    def allocate(_descriptor: int, _offset: int, size: int) -> None:
        sizes.append(size)
        raise FULL

    patch.setattr(os, "posix_fallocate", allocate)
    return sizes


def test_a_failure_of_git_on_a_full_disk_is_the_error_of_the_disk(
    common: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = fail_to_allocate(monkeypatch)
    with pytest.raises(OSError, match="No space left on device") as raised, full_disk_as_error(common):
        raise InfraError("git failed")
    assert (raised.value.errno, raised.value.filename) == (errno.ENOSPC, str(common / "objects"))
    assert sizes == [ENOUGH]


def test_a_failure_of_git_with_room_on_the_disk_stays_what_it_is(common: Path) -> None:
    """Whatever its message says: a file may have any name."""
    with pytest.raises(InfraError, match="x: No space"), full_disk_as_error(common):
        raise InfraError("x: No space left on device")
    assert list((common / "objects").iterdir()) == []


def test_without_a_failure_nothing_is_written(common: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = fail_to_allocate(monkeypatch)
    with full_disk_as_error(common):
        pass
    assert sizes == []
