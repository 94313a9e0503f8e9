"""The lock of the coordinator, seen from outside."""

import fcntl
import os
from pathlib import Path

from weft.safe_files import open_file

LOCK_FILE = "coordinator.lock"


def is_locked(file: Path) -> bool:
    """Whether another process has it; false where there is none, or it cannot be known."""
    try:
        descriptor = open_file(file)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    else:
        return False
    finally:
        os.close(descriptor)
