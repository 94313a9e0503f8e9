"""Read the stream of an agent as activities, piece by piece.

The reader takes bytes as they arrive. It cuts them into lines, lets the adapter describe each line, joins the
result of a tool call with the call and the pieces of a message with each other, and makes paths relative to the
workspace. Its memory is bounded, whatever the agent writes: a line has a longest length, and so have a text and
the list of open calls.
"""

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from weft.agents.shared.text import strip_control_codes
from weft.ports.activity import PATHS, TEXTS, Activity, CallResult, DescribeLine, Verb

LONGEST_LINE = 1 << 20
"""Bytes. A longer line is data, such as a picture that was read, and is not parsed."""
LONGEST_TEXT = 20_000
"""Characters of a message."""
LONGEST_OBJECT = 500
"""Characters of a path, a command or a pattern."""
LONGEST_OUTCOME = 200
MOST_OPEN_CALLS = 200


class ActivityReader:
    """The state of reading one stream."""

    def __init__(self, describe: DescribeLine, roots: Sequence[str] = (), *, offset: int = 0) -> None:
        """`roots` are directories to which paths are shown relative. `offset` is that of the first byte."""
        self._describe = describe
        # Longest first: a worktree usually lies in the project, and both may be roots.
        self._roots = tuple(sorted({root.rstrip("/") for root in roots} - {""}, key=len, reverse=True))
        self._offset = offset
        """The offset of the first byte that has not been cut into a line."""
        self._rest = bytearray()
        self._skipped = 0
        """Bytes of a line that is too long and was dropped so far."""
        self._open: dict[str, Activity] = {}
        self._text: Activity | None = None
        """A message that may continue."""

    def feed(self, data: bytes) -> list[Activity]:
        """Returns the activities that the bytes complete.

        An activity with the `start` and `index` of an earlier one replaces it: its result has arrived.
        """
        activities: list[Activity] = []
        lines = data.split(b"\n")
        for line in lines[:-1]:
            self._keep(line)
            activities += self._end_line(1)
        self._keep(lines[-1])
        return activities

    def flush(self) -> list[Activity]:
        """Returns what is left at the end of the stream: a line without an end, and the last message."""
        activities = self._end_line(0) if self._rest or self._skipped else []
        return [*activities, *self._end_text()]

    @property
    def unfinished(self) -> Activity | None:
        """The message so far that the stream may still continue."""
        return self._text

    @property
    def line_offset(self) -> int:
        """The offset of the first line that is not complete."""
        return self._offset

    @property
    def resume_offset(self) -> int:
        """The offset from which another reader gives the results that are still missing here."""
        starts = [activity.start for activity in self._open.values()]
        return min([self._offset, *starts, *([] if self._text is None else [self._text.start])])

    # --- lines ---

    def _keep(self, data: bytes) -> None:
        if self._skipped or len(self._rest) + len(data) > LONGEST_LINE:
            self._skipped += len(self._rest) + len(data)
            self._rest.clear()
        else:
            self._rest += data

    def _end_line(self, newline: int) -> list[Activity]:
        start, length = self._offset, len(self._rest) + self._skipped
        self._offset = end = start + length + newline
        if self._skipped:
            self._skipped = 0
            return self._add([_long_line(length)], start, end)
        line = self._rest.decode(errors="replace").removesuffix("\r")
        self._rest.clear()
        if not line.strip():
            return []
        descriptions = self._describe(line)
        if descriptions is None:
            descriptions = (Activity(verb=Verb.PRINTS, object=line),)
        return self._add(descriptions, start, end)

    # --- activities ---

    def _add(self, descriptions: Sequence[Activity | CallResult], start: int, end: int) -> list[Activity]:
        activities: list[Activity] = []
        for index, description in enumerate(descriptions):
            if isinstance(description, CallResult):
                activities += [*self._end_text(), *self._close(description, end)]
            else:
                placed = replace(description, start=start, end=end, index=index)
                activities += self._add_activity(self._tidied(placed))
        return activities

    def _add_activity(self, activity: Activity) -> Iterator[Activity]:
        if activity.is_part:
            yield from self._add_text(activity)
            return
        yield from self._end_text()
        if activity.is_open and activity.call:
            earlier = self._open.get(activity.call)
            if earlier is not None:
                # Some agents report a call again when it ends, or with more detail.
                activity = replace(activity, start=earlier.start, index=earlier.index)
            elif len(self._open) >= MOST_OPEN_CALLS:
                del self._open[next(iter(self._open))]
            self._open[activity.call] = activity
        elif activity.call and (earlier := self._open.pop(activity.call, None)) is not None:
            activity = replace(activity, start=earlier.start, index=earlier.index)
        yield activity

    def _close(self, result: CallResult, end: int) -> Iterator[Activity]:
        activity = self._open.pop(result.call, None)
        if activity is None:  # the call lies before the offset at which reading started
            return
        # The result of other tools, such as the contents of a file, says nothing unless they failed.
        is_shown = result.is_bad or activity.verb is Verb.RUNS
        yield replace(
            activity,
            outcome=_one_line(result.outcome, LONGEST_OUTCOME) if is_shown else "",
            is_bad=result.is_bad,
            is_open=False,
            added=activity.added if result.added is None else result.added,
            removed=activity.removed if result.removed is None else result.removed,
            end=end,
        )

    def _add_text(self, part: Activity) -> Iterator[Activity]:
        text = self._text
        if text is not None and (text.verb, text.call) == (part.verb, part.call):
            self._text = replace(text, object=(text.object + part.object)[:LONGEST_TEXT], end=part.end)
            return
        yield from self._end_text()
        self._text = part

    def _end_text(self) -> Iterator[Activity]:
        text, self._text = self._text, None
        if text is not None and text.object.strip():
            yield replace(text, object=text.object.strip(), is_part=False)

    # --- tidying ---

    def _tidied(self, activity: Activity) -> Activity:
        if activity.verb in TEXTS:
            # Half a word of a message may end in a space, which belongs to it.
            text = activity.object if activity.is_part else activity.object.strip()
            return replace(activity, object=_printable(text)[:LONGEST_TEXT])
        shown = _one_line(activity.object, LONGEST_OBJECT * 4)
        shown = self._relative(shown) if activity.verb in PATHS else self._without_roots(shown)
        return replace(
            activity,
            object=_cut(shown, LONGEST_OBJECT),
            outcome=_one_line(activity.outcome, LONGEST_OUTCOME)
            if activity.is_bad or activity.verb is Verb.RUNS
            else "",
        )

    def _relative(self, path: str) -> str:
        for root in self._roots:
            if path == root:
                return "."
            if path.startswith(f"{root}/"):
                return path[len(root) + 1 :]
        return path.removeprefix("./") or path

    def _without_roots(self, text: str) -> str:
        for root in self._roots:
            if root in text:
                text = text.replace(f"cd {root} && ", "").replace(f"{root}/", "").replace(root, ".")
        return text


def _long_line(length: int) -> Activity:
    return Activity(verb=Verb.PRINTS, object=f"[a line of {length:,} bytes]")


def _printable(text: str) -> str:
    """Returns the text without control characters, except the ends of lines."""
    text = strip_control_codes(text)
    if text.isprintable():
        return text
    text = text.replace("\r\n", "\n").replace("\t", "    ")
    return "".join(char if char.isprintable() or char == "\n" else "�" for char in text)


def _one_line(text: str, most: int) -> str:
    """Returns the text on one line without control characters."""
    # Cut first: the text may be long, and the rest of the work is proportional to its length.
    shown = _printable(" ".join(text[: most * 2].split()))
    return _cut(shown, most)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
