"""The stream of an agent as readable lines: what it reads, edits, runs and says.

An activity is found at the byte at which it starts in the stream, and all its lines have this byte. A page that
follows a running agent ends before the first tool call without a result, so the next page has the call again, and
replaces it.
"""

from collections.abc import Iterator, Sequence

from weft.agents.shared.activity_reader import ActivityReader
from weft.app.read_model.log_lines import CHUNK, ERROR, LONGEST, MOST_BYTES, LinePage, blocks
from weft.app.read_model.stored_stream import StoredStream, Stream
from weft.app.read_model.subplan_shapes import LogLine
from weft.app.record.activity import in_last_state
from weft.app.views.wording.activities import activity_lines
from weft.ports.activity import TEXTS, Activity, DescribeLine, Verb

TOOL = "tool"
DETAIL = "detail"
"""The further lines of a thought, which pages fold."""


class ActivityLines:
    """The activities in a stream, as lines."""

    def __init__(
        self,
        stored: StoredStream,
        stream: Stream,
        describe: DescribeLine,
        roots: Sequence[str],
        *,
        is_ended: bool,
    ) -> None:
        """`roots` are directories to which paths are shown relative."""
        self._stored = stored
        self._stream: Stream = stream
        self._describe = describe
        self._roots = roots
        self._is_ended = is_ended

    def forward(self, start: int, most: int) -> LinePage:
        end = min(self._stored.size, start + MOST_BYTES)
        activities, following = self._read(start, end)
        if following <= start and end < self._stored.size:  # one line fills the page
            following = end
        lines = self._lines(activities)
        if len(lines) > most and (cut := lines[most].at) > lines[0].at:
            lines, following = [line for line in lines if line.at < cut], cut
        return LinePage(lines, start, following)

    def backward(self, end: int, most: int) -> LinePage:
        end = self._stored.line_end(end)
        start = max(0, end - CHUNK)
        while True:
            first = self._stored.line_end(start)
            if first >= end:  # a long line; what is kept of an output is bounded
                first = self._stored.line_start(end)
            # The results of the last calls may follow the calls at some distance.
            activities, following = self._read(first, min(self._stored.size, end + CHUNK))
            lines = self._lines([activity for activity in activities if activity.start < end])
            if start == 0 or len(lines) >= most or end - start >= MOST_BYTES:
                break
            start = max(0, end - 4 * (end - start))
        if len(lines) > most:
            # All lines of an activity are on one page.
            lines = [line for line in lines if line.at >= lines[-most].at]
            first = lines[0].at
        return LinePage(lines, first, end if end < self._stored.size else max(first, following))

    def all_lines(self, text: bytes) -> Iterator[tuple[int, Sequence[LogLine]]]:
        del text  # it may be in the words of an activity without being in the stream
        reader = ActivityReader(self._describe, self._roots)
        open_calls: dict[tuple[int, int], Activity] = {}
        for at, block in blocks(self._stored):
            ended: list[Activity] = []
            for activity in reader.feed(block):
                key = activity.start, activity.index
                if activity.is_open:
                    open_calls[key] = activity
                else:
                    open_calls.pop(key, None)
                    ended.append(activity)
            yield at + len(block), self._lines(ended)
        yield self._stored.size, self._lines([*open_calls.values(), *reader.flush()])

    def _read(self, start: int, end: int) -> tuple[list[Activity], int]:
        """Returns the activities in some bytes, and where to continue."""
        reader = ActivityReader(self._describe, self._roots, offset=start)
        updates = reader.feed(self._stored.read_all(start, end))
        if end < self._stored.size:
            following = reader.line_offset
        elif self._is_ended:
            following = end
            updates += reader.flush()
        else:
            following = reader.resume_offset
        activities = in_last_state(reader, updates)
        return [activity for activity in activities if not self._is_in_gap(activity)], following

    def _is_in_gap(self, activity: Activity) -> bool:
        """Returns whether it consists of the rests of two lines, with bytes between them that were not kept."""
        gap = self._stored.gap_at
        return gap is not None and activity.verb is Verb.PRINTS and activity.start < gap < activity.end

    def _lines(self, activities: Sequence[Activity]) -> list[LogLine]:
        lines: list[LogLine] = []
        for activity in activities:
            for number, text in enumerate(activity_lines(activity)):
                # Several activities may start at one byte.
                before = lines[-1] if lines and lines[-1].at == activity.start else None
                lines.append(
                    LogLine(
                        at=activity.start,
                        index=0 if before is None else before.index + 1,
                        text=text[:LONGEST],
                        stream=self._stream,
                        kind=_kind(activity.verb, number),
                        is_error=_is_error(activity, text),
                        is_cut=len(text) > LONGEST,
                    )
                )
        return lines


def _kind(verb: Verb, number: int) -> str:
    if verb not in TEXTS:
        return TOOL
    return DETAIL if verb is Verb.THINKS and number else verb.value


def _is_error(activity: Activity, text: str) -> bool:
    match activity.verb:
        case Verb.REPORTS:
            return True
        case Verb.PRINTS:
            return ERROR.search(text) is not None
        case _:
            return activity.is_bad
