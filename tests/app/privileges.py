"""To be somebody who may not do everything."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def without_privileges() -> Iterator[None]:
    """Root may do everything: for a while we are not root."""
    user = os.geteuid()
    os.seteuid(user or 65534)
    try:
        yield
    finally:
        os.seteuid(user)


@contextmanager
def open_to_all() -> Iterator[Path]:
    """A directory; those that pytest gives are in one that only its user may enter."""
    with tempfile.TemporaryDirectory(prefix="weft-") as made:
        Path(made).chmod(0o777)
        yield Path(made)
