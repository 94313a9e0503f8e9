"""Output of `weft logs`: a page with headings, the raw bytes of each stream, or JSON.

Headings are part of the page, so that they reach a pager, a file or a search together with the output. The page
has all output of a step, from both streams. The stream of an agent is shown as its activities, one per line.
"""

import json
import sys
from codecs import IncrementalDecoder, getincrementaldecoder
from collections.abc import Iterable, Iterator
from typing import Any

import click

from weft.app.inspect.logs import STREAMS, LogStreams, Piece, StepLog
from weft.cells import clean
from weft.cli.logs.activity_log import ActivityLog, LogText
from weft.cli.output import note, show_lines, write_bytes, write_text
from weft.cli.terminal import takes_colours
from weft.engine.messages.events import StepFinishedEvent

_RULE = "──"
_NOT_RUN = "infra"
"""The outcome of a step with a program that could not be started or was not found."""


class LogPage:
    """Prints all output on standard output, with a line before and after each step and at each change of step."""

    def __init__(self) -> None:
        self._speaker: StepLog | None = None
        self._is_within_line = False
        self._colours = takes_colours(sys.stdout)
        self._activities = ActivityLog(colours=self._colours)

    def show(self, piece: Piece) -> None:
        log = piece.log
        if piece.what is LogStreams.STARTED:
            self._print_heading(f"{_name(log)}: {log.command}")
        elif log is not self._speaker:
            # The output of parallel steps is interleaved, so each change of the step gets a heading.
            self._print_heading(_name(log))
        self._speaker = log
        if piece.what is LogStreams.OUTPUT:
            self._print_output(piece)
        elif piece.what is LogStreams.LEFT_OUT:
            self._print_texts(self._activities.end(log, piece.stream))
            self._print_heading(f"{_name(log)}: {_left_out(piece)}")
        elif piece.what is LogStreams.ENDED:
            for stream in STREAMS:
                self._print_texts(self._activities.end(log, stream))
            self._print_heading(f"{_name(log)} {_ending(log)}")

    def _print_output(self, piece: Piece) -> None:
        if self._activities.shows(piece.log, piece.stream):
            self._print_texts(self._activities.add(piece))
            return
        self._end_activity()
        write_bytes(piece.data)
        self._is_within_line = not piece.data.endswith(b"\n")

    def _print_texts(self, texts: Iterable[LogText]) -> None:
        for text in texts:
            if not text.continues:
                self._end_line()
            write_text(text.text)
            self._is_within_line = not text.text.endswith("\n")

    def _end_activity(self) -> None:
        """Ends the line of a tool call, before text that does not belong to it."""
        if self._activities.interrupt():
            self._end_line()

    def _end_line(self) -> None:
        if self._is_within_line:
            write_text("\n")
            self._is_within_line = False

    def _print_heading(self, text: str) -> None:
        self._end_activity()
        self._end_line()
        line = f"{_RULE} {text}"
        if self._colours:
            write_text(f"{click.style(clean(line), bold=True)}\n")
        else:
            show_lines([line])


class Raw:
    """Prints the bytes that steps wrote, each stream to the same stream, and nothing else on standard output."""

    def show(self, piece: Piece) -> None:
        if piece.what is LogStreams.LEFT_OUT:
            note(f"{_RULE} {_name(piece.log)}: {_left_out(piece)}")
        elif piece.stream == "out":
            write_bytes(piece.data)
        elif (
            piece.stream == "err" and sys.stderr is not None
        ):  # None if it was closed when the process started
            sys.stderr.flush()
            sys.stderr.buffer.write(piece.data)
            sys.stderr.buffer.flush()


def _left_out(piece: Piece) -> str:
    return f"{piece.left_out:,} bytes of its std{piece.stream} were not kept"


def _name(log: StepLog) -> str:
    if log.round > 1:
        return f"{log.name} (round {log.round})"
    return f"{log.name} (attempt {log.attempt})" if log.attempt > 1 else log.name


def _ending(log: StepLog) -> str:
    end = _end(log)
    is_idle = end["outcome"] == "done" and end.get("changed") is False
    detail = "; ".join(filter(None, (end["message"], "it changed nothing" if is_idle else "")))
    outcome = "failed" if end["outcome"] == _NOT_RUN else str(end["outcome"])
    return f"{outcome}: {detail}" if detail else outcome


class ForPrograms:
    """Prints lines of JSON; all texts of a stream together are the bytes written to it."""

    def __init__(self) -> None:
        self._decoders: dict[tuple[str, str], IncrementalDecoder] = {}

    def show(self, piece: Piece) -> None:
        log = piece.log
        about = {"subplan": log.subplan, "step": log.step, "attempt": log.attempt}
        about |= {"round": log.round} if log.round else {}
        for record in self._records(piece):
            write_text(f"{json.dumps({**about, **record})}\n")

    def _records(self, piece: Piece) -> Iterator[dict[str, object]]:
        match piece.what:
            case LogStreams.STARTED:
                yield {"event": "step_started", "command": piece.log.command}
            case LogStreams.OUTPUT:
                yield from self._text(piece.log, piece.stream, piece.data)
            case LogStreams.LEFT_OUT:
                yield from self._text(piece.log, piece.stream, is_last=True)
                yield {"event": "step_output", "stream": piece.stream, "left_out": piece.left_out}
            case LogStreams.ENDED:
                yield from self._text(piece.log, "out", is_last=True)
                yield from self._text(piece.log, "err", is_last=True)
                yield {"event": "step_finished", **_end(piece.log)}

    def _text(
        self, log: StepLog, stream: str, data: bytes = b"", *, is_last: bool = False
    ) -> Iterator[dict[str, object]]:
        """Decodes output. A character may be split between two pieces; invalid bytes become U+FFFD."""
        key = (log.output, stream)
        decoder = self._decoders.pop(key, None) or getincrementaldecoder("utf-8")("replace")
        text = decoder.decode(data, is_last)
        if not is_last:
            self._decoders[key] = decoder
        if text:
            yield {"event": "step_output", "stream": stream, "text": text}


def _end(log: StepLog) -> dict[str, Any]:
    assert log.end is not None
    more: dict[str, Any] = {}
    if isinstance(log.end, StepFinishedEvent):
        details = {"changed": log.end.changed, "session": log.end.session}
        more = {name: value for name, value in details.items() if value is not None}
    return {"outcome": log.end.outcome, "message": log.end.message or None, **more}
