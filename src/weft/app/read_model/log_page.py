"""Pages of the output of a step, by byte offsets. Only what is asked for is read, however long the output is.

The stream of an agent is shown as its activities, unless the raw stream is asked for.
"""

import time

from weft.app.project.hosts import records_of
from weft.app.read_model.activity_lines import ActivityLines
from weft.app.read_model.execution_table import ExecutionRecord
from weft.app.read_model.live_run import LiveRun
from weft.app.read_model.log_lines import LineSource, WrittenLines
from weft.app.read_model.stored_stream import PARTS, StoredStream, Stream
from weft.app.read_model.subplan_shapes import LogLine, LogMatches, LogPage, LogPart
from weft.app.record.activity import describer, workspace_roots
from weft.engine.messages.internal_steps import is_internal
from weft.engine.messages.step_refs import StepRef
from weft.errors import InputError
from weft.runtime.job_ids import output_name

MOST_LINES = 5_000
_SEARCH_SECONDS = 5.0
_MOST_MATCHES = 500


class LogReader:
    """Reads the outputs of one subplan."""

    def __init__(self, live: LiveRun, row: int) -> None:
        self._plan = live.view.plan
        self._path = live.view.outline.paths[row]
        self._places = live.recorded.places
        self._records = records_of(self._places, live.id)
        self._executions = {self._output(record): record for record in live.history.of(row)}

    def _output(self, record: ExecutionRecord) -> str:
        # Weft's own steps are not retried as attempts, and the name of their output says 1.
        attempt = 1 if is_internal(record.step) else record.attempt
        return output_name(StepRef(self._path, record.step, attempt, record.key))

    def parts(self) -> list[LogPart]:
        """Returns the outputs that there are, the newest last."""
        return [
            self._part(output, record)
            for output, record in self._executions.items()
            if self._has(output, record)
        ]

    def _has(self, output: str, record: ExecutionRecord) -> bool:
        return bool(record.agent or record.command) or self._bytes(output) > 0

    def _bytes(self, output: str) -> int:
        return sum(StoredStream(self._records, output, stream).size for stream in PARTS)

    def _part(self, output: str, record: ExecutionRecord) -> LogPart:
        return LogPart(
            step=record.step,
            attempt=record.attempt,
            part=f"{record.key.firing}-{record.key.execution}",
            outcome=record.outcome,
            started_at=record.started_at,
            bytes=self._bytes(output),
        )

    def _find(self, part: str) -> tuple[str, ExecutionRecord]:
        for output, record in reversed(self._executions.items()):
            name = f"{record.key.firing}-{record.key.execution}"
            if name == part or (not part and self._has(output, record)):
                return output, record
        raise InputError(
            f"there is no output {part!r} of {self._path}"
            if part
            else f"{self._path or 'the plan'} has no output yet"
        )

    def page(
        self,
        part: str,
        stream: Stream,
        *,
        start: int | None,
        before: int | None,
        lines: int,
        is_raw: bool = False,
    ) -> LogPage:
        """Returns lines from a byte on, the lines before a byte, or the last lines."""
        output, record = self._find(part)
        stored = StoredStream(self._records, output, stream)
        source = self._source(record, stored, stream, is_raw=is_raw)
        lines = min(lines, MOST_LINES)
        if start is not None:
            page = source.forward(min(start, stored.size), lines)
        else:
            page = source.backward(stored.size if before is None else min(before, stored.size), lines)
        is_ended = record.ended_at is not None
        written = record.out_bytes if stream == "out" else record.err_bytes
        return LogPage(
            path=self._path,
            part=f"{record.key.firing}-{record.key.execution}",
            parts=self.parts(),
            stream=stream,
            start=page.start,
            end=page.end,
            size=stored.size,
            left_out=max(0, written - stored.size) if is_ended else None,
            gap_at=stored.gap_at,
            is_ended=is_ended,
            is_raw=is_raw,
            lines=page.lines,
        )

    def _source(
        self, record: ExecutionRecord, stored: StoredStream, stream: Stream, *, is_raw: bool
    ) -> LineSource:
        is_ended = record.ended_at is not None
        agent = self._plan.agents.get(record.agent)
        describe = None if is_raw or agent is None else describer(agent.use, PARTS[stream][0])
        if describe is None:
            return WrittenLines(stored, stream, is_ended=is_ended)
        worktrees = self._plan.scopes[record.row].settings.worktrees
        roots = workspace_roots(self._places, self._plan.id, self._path, worktrees)
        return ActivityLines(stored, stream, describe, roots, is_ended=is_ended)

    def search(self, part: str, stream: Stream, text: str, start: int, *, is_raw: bool = False) -> LogMatches:
        """Counts the lines that contain a text, in any case, and returns the first of them."""
        output, record = self._find(part)
        stored = StoredStream(self._records, output, stream)
        wanted, total, matches, searched = text.lower(), 0, list[LogLine](), 0
        until = time.monotonic() + _SEARCH_SECONDS
        source = self._source(record, stored, stream, is_raw=is_raw)
        for end, lines in source.all_lines(text.encode("utf-8", "replace").lower()):
            for line in lines:
                if wanted in line.text.lower():
                    total += 1
                    if line.at >= start and len(matches) < _MOST_MATCHES:
                        matches.append(line)
            searched = end
            if time.monotonic() > until:
                break
        return LogMatches(
            part=f"{record.key.firing}-{record.key.execution}",
            stream=stream,
            total=total,
            is_whole=searched >= stored.size,
            lines=matches,
        )

    def raw(self, part: str, stream: Stream, most: int) -> bytes:
        """Returns the end of the output as it is."""
        output, _ = self._find(part)
        stored = StoredStream(self._records, output, stream)
        return stored.read_all(max(0, stored.size - most), stored.size)
