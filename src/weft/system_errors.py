"""Messages for errors of the operating system, with advice.

The system's own messages give no advice, and that of a failed fork does not even say what failed. In every case
nothing that Weft has recorded is lost: the same command continues once the shortage is over.
"""

import errno
import os

_MEANINGS = {errno.EAGAIN: "the system starts no further process or thread for this user"}
_ADVICE = {
    errno.EAGAIN: "end some processes, or raise the limit (ulimit -u; in a container: pids.max)",
    errno.EMFILE: "raise the limit of open files (ulimit -n 1024)",
    errno.ENFILE: "close some programs, or raise the system's limit of open files (fs.file-max)",
    errno.ENOMEM: "end some processes, or raise the limit of memory (ulimit -v)",
    errno.ENOSPC: "free some space (df -h, df -i)",
    errno.EDQUOT: "free some space, or get a larger quota (quota)",
    errno.EFBIG: "raise the limit of the size of files (ulimit -f)",
    errno.EROFS: "use a directory that can be written to, or mount the file system for writing",
    errno.EIO: "check the disk (dmesg)",
}


_PASSING = frozenset({errno.EAGAIN, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOSPC, errno.EDQUOT})
"""Shortages that other processes cause, and may end."""


def describe(error: OSError) -> str:
    """Returns what failed, for which file, and what to do if a shortage is the reason."""
    if type(error).__str__ is not OSError.__str__:
        return str(error)
    text = error.strerror or str(error)
    if isinstance(error.filename, str | bytes):
        text = f"{os.fsdecode(error.filename)}: {text}"
    # Errors that Weft raises itself have messages of their own.
    if error.errno is None or error.strerror != os.strerror(error.errno):
        return text
    if error.errno in _MEANINGS:
        text = text.removesuffix(str(error.strerror)) + _MEANINGS[error.errno]
    return f"{text}{advice(error)}"


def advice(error: OSError) -> str:
    """Returns the end of a sentence with what to do about a shortage; empty for other errors."""
    return f"; {_ADVICE[error.errno]}, then type the command again" if error.errno in _ADVICE else ""


def is_shortage(error: OSError) -> bool:
    """Returns whether the machine lacks a resource, so that the same command may work later."""
    return error.errno in _ADVICE


def may_pass(error: OSError) -> bool:
    """Returns whether the machine lacks a resource that other processes may return."""
    return error.errno in _PASSING
