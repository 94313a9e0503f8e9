"""Output of commands: data on standard output, as text or as JSON in an envelope; everything else on stderr."""

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

from weft.cells import clean
from weft.cli.terminal import takes_colours, terminal_size, text_width, wrap_lines

SHAPE = 1
"""Version of the output of `--json`. A change that could break a script raises it."""

PROGRESS_AFTER = 0.5
"""Seconds until progress is first shown; shorter work shows none."""
PROGRESS_EVERY = 0.2

_PROBLEM = re.compile(r"(?P<place>\S.*?:\d+:\d+): (?P<severity>error|warning)(?=: )")


def examples(*commands: str) -> str:
    """Returns the end of a help text. The character at its start makes click keep the line breaks."""
    return "\n".join(("\b", "Example:" if len(commands) == 1 else "Examples:", *(f"  {c}" for c in commands)))


def write_text(text: str) -> None:
    """Writes the contents of a file: always as UTF-8, independent of the terminal's encoding."""
    _write(text.encode())


def write_bytes(data: bytes) -> None:
    """Writes output of other programs unchanged."""
    _write(data)


def show_json(data: Mapping[str, Any]) -> None:
    """Writes the data in the envelope of `--json`."""
    write_text(json.dumps({"weft": SHAPE, "data": data}) + "\n")


def show_lines(lines: Iterable[str]) -> None:
    """Writes text for people; paragraphs and rows are folded to the width of the terminal."""
    text = "".join(f"{clean(line)}\n" for line in wrap_lines(lines, text_width(sys.stdout)))
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    _write(text.encode(encoding, "backslashreplace"))


def _write(data: bytes) -> None:
    if sys.stdout is None:  # closed when the process started
        return
    sys.stdout.flush()
    # Where Python runs unbuffered (-u, PYTHONUNBUFFERED), a pipe may take a part, and print would lose the rest.
    unwritten = memoryview(data)
    while unwritten:
        written = sys.stdout.buffer.write(unwritten)
        if written is None:
            raise BlockingIOError(errno.EAGAIN, "Standard output does not wait for its reader")
        unwritten = unwritten[written:]
    sys.stdout.buffer.flush()


def forget_broken_outputs() -> None:
    """Redirects broken streams to /dev/null. Otherwise the interpreter would retry and complain at exit."""
    for stream in filter(None, (sys.stdout, sys.stderr)):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def note(message: str) -> None:
    """Prints one line for the user on standard error."""
    click.echo(clean(message), err=True)


def note_lines(lines: Iterable[str]) -> None:
    """Prints lines for the user on standard error; on a terminal, locations and severities are coloured."""
    colours = takes_colours(sys.stderr)
    for line in map(clean, wrap_lines(lines, text_width(sys.stderr))):
        click.echo(_coloured(line) if colours else line, err=True, color=colours)


def _coloured(line: str) -> str:
    """Returns the line of a problem with its location in bold and its severity in red or yellow."""
    match = _PROBLEM.match(line)
    if match is None:
        return line
    colour = "red" if match["severity"] == "error" else "yellow"
    severity = click.style(match["severity"], fg=colour, bold=True)
    return f"{click.style(match['place'], bold=True)}: {severity}{line[match.end() :]}"


class ProgressLine:
    """A line on a terminal that shows the progress of a search and is erased at the end."""

    def __init__(
        self, stream: TextIO, *, noun: str = "states", clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._stream = stream
        self._noun = noun
        self._clock = clock
        self._next = clock() + PROGRESS_AFTER
        self._width = 0

    def __call__(self, number: int) -> None:
        now = self._clock()
        if now < self._next:
            return
        self._next = now + PROGRESS_EVERY
        self._draw(f"{number:,} {self._noun} so far")

    def _draw(self, text: str) -> None:
        size = terminal_size(self._stream)
        if size is not None:  # a carriage return cannot go back over a wrapped line
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
def progress_on_terminal(noun: str = "states") -> Generator[Callable[[int], None] | None]:
    """Yields the function to report progress to; None without a terminal."""
    stream = sys.stderr
    if stream is None or not stream.isatty():
        yield None
        return
    progress = ProgressLine(stream, noun=noun)
    try:
        yield progress
    finally:
        progress.clear()
