"""What is typed while a picture is on the terminal would be written into it; so the terminal does not echo it."""

import os
import termios
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import TextIO

_LOCAL_FLAGS = 3
"""Where they stand in what termios tells."""


@contextmanager
def no_echo(stream: TextIO) -> Generator[None]:
    """Ctrl-C works as always. What was typed is thrown away: nobody saw what it would do in the shell."""
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
                termios.tcsetattr(terminal, termios.TCSAFLUSH, before)


def _is_ours(terminal: int) -> bool:
    """A process in the background would be stopped for changing the terminal of another."""
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:  # not the terminal that we were started from: nobody minds
        return True
