"""What a process wrote for a terminal, as words in a message."""

import re

_CONTROL = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~])")
"""Colours and movements, titles of windows, and shorter ones."""
_LONGEST = 300


def plain(text: str) -> str:
    """Without what a terminal would not show."""
    return _CONTROL.sub("", text) if "\x1b" in text else text


def one_line(text: str) -> str:
    """No longer than anybody reads, and with nothing in it that would move a cursor."""
    line = "".join(sign if sign.isprintable() else " " for sign in plain(text)).strip()
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"


def last_line(text: str) -> str:
    return one_line(plain(text).rstrip().rpartition("\n")[2])
