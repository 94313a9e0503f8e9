"""The activities of an agent as lines of a log.

A tool call is printed when it starts, without the end of its line, so that a reader who follows the log sees what
the agent waits for. Its outcome completes the line, unless something else was printed in between; it then gets a
line of its own.
"""

from collections.abc import Iterator
from typing import NamedTuple

import click

from weft.agents.shared.activity_reader import ActivityReader
from weft.app.inspect.logs import Piece, StepLog
from weft.app.record.activity import describer
from weft.app.views.wording.activities import activity_head, activity_lines, outcome_words
from weft.ports.activity import TEXTS, Activity, Verb
from weft.ports.host import OutputPart


class LogText(NamedTuple):
    """Text for the log."""

    text: str
    continues: bool = False
    """Whether it belongs to the line that the text before left open."""


class ActivityLog:
    """The activities of the steps of a run."""

    def __init__(self, *, colours: bool) -> None:
        self._colours = colours
        self._readers: dict[tuple[str, str], ActivityReader] = {}
        self._last: tuple[str, int, int] | None = None
        """The activity whose line is open: the name of its output, its offset and its index."""

    def shows(self, log: StepLog, stream: str) -> bool:
        """Returns whether this stream consists of activities, and is not text that people can read."""
        return bool(log.use) and describer(log.use, OutputPart(stream)) is not None

    def add(self, piece: Piece) -> Iterator[LogText]:
        """Yields the text for a piece of output."""
        for activity in self._reader(piece).feed(piece.data):
            yield from self._show(piece.log, activity)

    def end(self, log: StepLog, stream: str) -> Iterator[LogText]:
        """Yields the rest of a stream that has ended or has a gap."""
        reader = self._readers.pop((log.output, stream), None)
        for activity in [] if reader is None else reader.flush():
            yield from self._show(log, activity)
        self._last = None

    def interrupt(self) -> bool:
        """Notes that something else is printed, and returns whether a line was open."""
        was_open, self._last = self._last is not None, None
        return was_open

    def _reader(self, piece: Piece) -> ActivityReader:
        key = (piece.log.output, piece.stream)
        if key not in self._readers:
            describe = describer(piece.log.use, OutputPart(piece.stream))
            assert describe is not None, "the stream is text"
            self._readers[key] = ActivityReader(describe, piece.log.roots, offset=piece.offset)
        return self._readers[key]

    def _show(self, log: StepLog, activity: Activity) -> Iterator[LogText]:
        key = (log.output, activity.start, activity.index)
        outcome = self._paint_outcome(activity)
        if key == self._last:
            if not activity.is_open:
                self._last = None
                yield LogText(f"{outcome}\n", continues=True)
        elif activity.is_open:
            self._last = key
            yield LogText(activity_head(activity))
        elif activity.verb in TEXTS:
            self._last = None
            yield LogText(
                "".join(f"{self._paint(activity.verb, line)}\n" for line in activity_lines(activity))
            )
        else:
            self._last = None
            yield LogText(f"{activity_head(activity)}{outcome}\n")

    def _paint(self, verb: Verb, line: str) -> str:
        if not self._colours:
            return line
        return click.style(line, fg="red" if verb is Verb.REPORTS else None, dim=verb is Verb.THINKS)

    def _paint_outcome(self, activity: Activity) -> str:
        words = outcome_words(activity)
        return click.style(words, fg="red") if words and activity.is_bad and self._colours else words
