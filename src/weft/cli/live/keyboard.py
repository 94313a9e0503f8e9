"""Turns off the echo of a terminal, because typed text would be written into the live view."""

import os
import termios
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import TextIO

_LOCAL_FLAGS = 3
"""Index of the local flags in the list that `termios.tcgetattr` returns."""


@contextmanager
def no_echo(stream: TextIO) -> Generator[None]:
    """Turns off the echo while the context is active. Ctrl-C still works.

    Typed text is discarded at the end: the user could not see it, and the shell would run it.
    """
    try:
        terminal = stream.fileno()
        before = termios.tcgetattr(terminal)
    except (OSError, ValueError, termios.error):  # no terminal
        yield
        return
    if _is_ours(terminal):
        quiet = [*before]
        quiet[_LOCAL_FLAGS] &= ~termios.ECHO
        termios.tcsetattr(terminal, termios.TCSANOW, quiet)
    try:
        yield
    finally:
        if _is_ours(terminal):
            with suppress(termios.error):  # the terminal may have gone
                # `TCSAFLUSH` discards what was typed.
                termios.tcsetattr(terminal, termios.TCSAFLUSH, before)


def _is_ours(terminal: int) -> bool:
    """Returns whether this process is in the foreground.

    The kernel stops a background process that changes a terminal.
    """
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:  # not our controlling terminal, where job control does not apply
        return True
