"""The keyboard of a terminal while the live view is on it.

Typed text is not echoed, because it would be written into the view. Where keys do something, they arrive at once
and not line by line. Ctrl-C and Ctrl-Z work as always.
"""

import os
import re
import select
import termios
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import Any, TextIO

_LOCAL_FLAGS, _CHARACTERS = 3, 6
"""Indexes in the list that `termios.tcgetattr` returns."""
_KEY = re.compile(r"\x1b[\[O][0-9;]*[A-Za-z~]|\x1b|[^\x1b]")
_NAMES = {
    "\x1b": "escape",
    "\x1b[A": "up",
    "\x1b[B": "down",
    "\x1bOA": "up",
    "\x1bOB": "down",
    "\x1b[5~": "pageup",
    "\x1b[6~": "pagedown",
    "\r": "enter",
    "\n": "enter",
    "\t": "tab",
}


@contextmanager
def no_echo(stream: TextIO, *, single_keys: bool = False) -> Generator[None]:
    """Turns off the echo while the context is active. Ctrl-C still works.

    Typed text is discarded at the end: the user could not see it, and the shell would run it. With `single_keys`,
    each key can be read as soon as it is pressed.
    """
    try:
        terminal = stream.fileno()
        before = termios.tcgetattr(terminal)
    except (OSError, ValueError, termios.error):  # no terminal
        yield
        return
    if _is_ours(terminal):
        set_quiet(terminal, before, single_keys=single_keys)
    try:
        yield
    finally:
        if _is_ours(terminal):
            with suppress(termios.error):  # the terminal may have gone
                # `TCSAFLUSH` discards what was typed.
                termios.tcsetattr(terminal, termios.TCSAFLUSH, before)


def set_quiet(terminal: int, before: list[Any], *, single_keys: bool) -> None:
    """Turns off the echo. `before` are the terminal's attributes, which stay as they are."""
    quiet = [*before]
    quiet[_LOCAL_FLAGS] &= ~termios.ECHO
    if single_keys:
        quiet[_LOCAL_FLAGS] &= ~termios.ICANON
        quiet[_CHARACTERS] = [*before[_CHARACTERS]]
        quiet[_CHARACTERS][termios.VMIN], quiet[_CHARACTERS][termios.VTIME] = 1, 0
    termios.tcsetattr(terminal, termios.TCSANOW, quiet)


def read_keys(terminal: int) -> list[str]:
    """Returns the keys that were pressed, without waiting: characters, or names such as `escape`.

    Raises `EOFError` if the terminal has gone.
    """
    if not select.select([terminal], [], [], 0)[0]:
        return []
    try:
        data = os.read(terminal, 1024)
    except OSError:
        data = b""
    if not data:
        raise EOFError
    text = data.decode(errors="ignore")
    keys: list[str] = _KEY.findall(text)
    return [_NAMES.get(key, key) for key in keys if key in _NAMES or (len(key) == 1 and key.isprintable())]


def _is_ours(terminal: int) -> bool:
    """Returns whether this process is in the foreground.

    The kernel stops a background process that changes a terminal.
    """
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:  # not our controlling terminal, where job control does not apply
        return True
