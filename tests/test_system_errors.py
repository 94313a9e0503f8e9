"""What the system refuses, in words."""

import errno
import os

import pytest

from weft.safe_files import UnsafeFileError
from weft.system_errors import advice, describe, is_shortage, may_pass

NO_PROCESS = "the system starts no further process or thread for this user"
MORE_PROCESSES = "end some processes, or raise the limit (ulimit -u; in a container: pids.max)"


def system_error(code: int, file: str | None = None) -> OSError:
    return OSError(code, os.strerror(code), file) if file else OSError(code, os.strerror(code))


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (system_error(errno.ENOENT, "/x"), "/x: No such file or directory"),
        (
            system_error(errno.ENOSPC, "/x"),
            "/x: No space left on device; free some space (df -h, df -i), then type the command again",
        ),
        (
            system_error(errno.EAGAIN),
            f"{NO_PROCESS}; {MORE_PROCESSES}, then type the command again",
        ),
        (OSError(errno.EAGAIN, "the reader does not read"), "the reader does not read"),
        (UnsafeFileError("/x", "is a symbolic link"), "/x is a symbolic link"),
        (OSError("as it is"), "as it is"),
    ],
)
def test_an_error_says_what_failed_and_what_to_do(error: OSError, words: str) -> None:
    assert describe(error) == words


def test_a_shortage_ends_by_itself_and_a_missing_file_does_not() -> None:
    assert is_shortage(system_error(errno.EMFILE))
    assert not is_shortage(system_error(errno.ENOENT))
    assert advice(system_error(errno.ENOENT)) == ""


def test_a_full_disk_may_have_room_later_and_a_broken_one_stays_broken() -> None:
    assert may_pass(system_error(errno.ENOSPC))
    assert not may_pass(system_error(errno.EIO))
