"""Prepare the terminal output of a process for use in a one-line message."""

import re

_CONTROL = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~])")
"""Escape sequences: colours and cursor movements, window titles, and two-character sequences."""
_LONGEST = 300


def strip_control_codes(text: str) -> str:
    """Removes the escape sequences that a terminal interprets and does not show."""
    return _CONTROL.sub("", text) if "\x1b" in text else text


def one_line(text: str) -> str:
    """Returns the text as one printable line of at most 300 characters."""
    line = "".join(char if char.isprintable() else " " for char in strip_control_codes(text)).strip()
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"


def last_line(text: str) -> str:
    """Returns the last line that is not blank, shortened like `one_line`."""
    return one_line(strip_control_codes(text).rstrip().rpartition("\n")[2])
