"""The coordinator's lock, as other processes see it."""

import fcntl
import os
from pathlib import Path

from weft.safe_files import open_file

LOCK_FILE = "coordinator.lock"


def is_locked(file: Path) -> bool:
    """Returns whether another process holds the lock; False if there is no lock file or it cannot be read."""
    try:
        descriptor = open_file(file)
    except OSError:
        return False
    try:
        # A shared lock, so that two processes that only ask do not take each other for the coordinator.
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    else:
        return False
    finally:
        os.close(descriptor)
