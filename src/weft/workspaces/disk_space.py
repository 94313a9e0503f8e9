"""Whether git failed because the disk is full.

git reports that only in a message, which a file name could imitate. So the disk decides: Weft tries to write.
"""

import os
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from weft.ports.workspaces import InfraError

ENOUGH = 8 << 20
"""Bytes. git writes more only for large files."""


@contextmanager
def full_disk_as_error(common: Path) -> Generator[None]:
    """Raises the `OSError` of a full disk, or quota, if git fails while the repository has no room for objects."""
    try:
        yield
    except InfraError:
        require_room(common / "objects")
        raise


def require_room(folder: Path) -> None:
    """Raises `OSError` if a file of `ENOUGH` bytes cannot be written in the folder."""
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            os.posix_fallocate(file.fileno(), 0, ENOUGH)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(folder)) from None
