"""How commands speak: data on standard output, as JSON in an envelope or as sentences; the rest on stderr."""

import errno
import json
import os
import re
import sys
import time
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from typing import Any, TextIO

import click

from weft.cli.terminal import folded, takes_colours, terminal_size, text_width

SHAPE = 1
"""Version of what `--json` prints; a change that a script could notice raises it."""

PROGRESS_AFTER = 0.5
"""Seconds until the first sign of life: what is done by then needs none."""
PROGRESS_EVERY = 0.2

_PROBLEM = re.compile(r"(?P<place>\S.*?:\d+:\d+): (?P<severity>error|warning)(?=: )")


def examples(*commands: str) -> str:
    """The end of a help text; the sign at its beginning tells click to leave the lines as they are."""
    return "\n".join(("\b", "Example:" if len(commands) == 1 else "Examples:", *(f"  {c}" for c in commands)))


def write_text(text: str) -> None:
    """Text that is itself a file: always UTF-8, whatever the terminal speaks."""
    _write(text.encode())


def write_bytes(data: bytes) -> None:
    """What somebody else wrote, as it is."""
    _write(data)


def show_json(data: Mapping[str, Any]) -> None:
    write_text(json.dumps({"weft": SHAPE, "data": data}) + "\n")


def show_lines(lines: Iterable[str]) -> None:
    """Text for people; paragraphs and rows are folded to the width of the terminal."""
    text = "".join(f"{clean(line)}\n" for line in folded(lines, text_width(sys.stdout)))
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    _write(text.encode(encoding, "backslashreplace"))


def _write(data: bytes) -> None:
    if sys.stdout is None:  # closed when we were started: nobody wants to know
        return
    sys.stdout.flush()
    # Where Python runs unbuffered (-u, PYTHONUNBUFFERED), a pipe may take a part, and print would lose the rest.
    left = memoryview(data)
    while left:
        taken = sys.stdout.buffer.write(left)
        if taken is None:
            raise BlockingIOError(errno.EAGAIN, "Standard output does not wait for its reader")
        left = left[taken:]
    sys.stdout.buffer.flush()


def forget_broken_outputs() -> None:
    """What could not be written would be tried again, and complained about, when the interpreter ends."""
    for stream in filter(None, (sys.stdout, sys.stderr)):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def note(message: str) -> None:
    """One line for the person, beside the data."""
    click.echo(clean(message), err=True)


def note_lines(lines: Iterable[str]) -> None:
    """Several lines for the person; the places and words of problems stand out on a terminal."""
    colours = takes_colours(sys.stderr)
    for line in map(clean, folded(lines, text_width(sys.stderr))):
        click.echo(_coloured(line) if colours else line, err=True, color=colours)


def _coloured(line: str) -> str:
    """The line of a problem with its place bold, and the word for how bad it is red or yellow."""
    found = _PROBLEM.match(line)
    if found is None:
        return line
    colour = "red" if found["severity"] == "error" else "yellow"
    severity = click.style(found["severity"], fg=colour, bold=True)
    return f"{click.style(found['place'], bold=True)}: {severity}{line[found.end() :]}"


def clean(text: str) -> str:
    """The text on one line and without what would command a terminal: names come from anywhere."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


class Progress:
    """A line on a terminal that says how far a search is, and then goes away."""

    def __init__(self, stream: TextIO, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream
        self._clock = clock
        self._next = clock() + PROGRESS_AFTER
        self._width = 0

    def __call__(self, states: int) -> None:
        now = self._clock()
        if now < self._next:
            return
        self._next = now + PROGRESS_EVERY
        self._draw(f"{states:,} states so far")

    def _draw(self, text: str) -> None:
        size = terminal_size(self._stream)
        if size is not None:  # in a line that wraps, a carriage return goes to the beginning of the last part
            text = text[: size[0] - 1]
        # Blanks, not an escape sequence, cover what was there: that works on any terminal.
        self._stream.write(f"\r{text:<{self._width}}")
        self._stream.flush()
        self._width = len(text)

    def clear(self) -> None:
        if self._width:
            self._draw("")
            self._stream.write("\r")
            self._stream.flush()


@contextmanager
def progress_on_terminal() -> Generator[Callable[[int], None] | None]:
    """What to report progress to; None if nobody watches."""
    stream = sys.stderr
    if stream is None or not stream.isatty():
        yield None
        return
    progress = Progress(stream)
    try:
        yield progress
    finally:
        progress.clear()
