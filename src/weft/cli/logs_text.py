"""How `weft logs` shows what steps wrote: as it is, with a line on standard error where another step speaks."""

import json
import sys
from codecs import IncrementalDecoder, getincrementaldecoder
from collections.abc import Iterator
from typing import Any

from weft.app.run_logs import Piece, StepLog, What
from weft.cli.output import note, write_bytes, write_text

_RULE = "──"


class ForPeople:
    """What a step wrote to standard output goes there, and all else to standard error."""

    def __init__(self) -> None:
        self._speaker: StepLog | None = None

    def show(self, piece: Piece) -> None:
        log = piece.log
        if piece.what is What.STARTED:
            note(f"{_RULE} {_name(log)}: {log.command}")
        elif log is not self._speaker:
            note(f"{_RULE} {_name(log)}")
        self._speaker = log
        if piece.what is What.OUTPUT:
            _write(piece)
        elif piece.what is What.LEFT_OUT:
            note(f"{_RULE} {_name(log)}: {piece.left_out:,} bytes of its std{piece.stream} were not kept")
        elif piece.what is What.ENDED:
            note(f"{_RULE} {_name(log)} {_ending(log)}")


def _write(piece: Piece) -> None:
    if piece.stream == "out":
        write_bytes(piece.data)
    elif sys.stderr is not None:  # closed when we were started
        sys.stderr.flush()
        sys.stderr.buffer.write(piece.data)
        sys.stderr.buffer.flush()


def _name(log: StepLog) -> str:
    if log.round > 1:
        return f"{log.name} (round {log.round})"
    return f"{log.name} (attempt {log.attempt})" if log.attempt > 1 else log.name


def _ending(log: StepLog) -> str:
    end = _end(log)
    is_idle = end["outcome"] == "done" and end.get("changed") is False
    said = "; ".join(filter(None, (end["message"], "it changed nothing" if is_idle else "")))
    return f"{end['outcome']}: {said}" if said else str(end["outcome"])


class ForPrograms:
    """Lines of JSON; all texts of a stream together are what was written to it."""

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
            case What.STARTED:
                yield {"event": "step_started", "command": piece.log.command}
            case What.OUTPUT:
                yield from self._text(piece.log, piece.stream, piece.data)
            case What.LEFT_OUT:
                yield from self._text(piece.log, piece.stream, is_last=True)
                yield {"event": "step_output", "stream": piece.stream, "left_out": piece.left_out}
            case What.ENDED:
                yield from self._text(piece.log, "out", is_last=True)
                yield from self._text(piece.log, "err", is_last=True)
                yield {"event": "step_finished", **_end(piece.log)}

    def _text(
        self, log: StepLog, stream: str, data: bytes = b"", *, is_last: bool = False
    ) -> Iterator[dict[str, object]]:
        """A letter may come in two pieces. What is no text becomes U+FFFD."""
        key = (log.prefix, stream)
        decoder = self._decoders.pop(key, None) or getincrementaldecoder("utf-8")("replace")
        text = decoder.decode(data, is_last)
        if not is_last:
            self._decoders[key] = decoder
        if text:
            yield {"event": "step_output", "stream": stream, "text": text}


def _end(log: StepLog) -> dict[str, Any]:
    assert log.end is not None
    data = log.end.data
    more: dict[str, Any] = {name: data[name] for name in ("changed", "session") if name in data}
    return {"outcome": log.end.outcome, "message": data.get("message"), **more}
