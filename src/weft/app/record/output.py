"""The output of steps, as the host has stored it."""

from collections.abc import Iterator

from weft.ports.host import JobRecords, OutputPart

CHUNK = 1 << 16
LOOKED_AT = 4_096
"""Bytes at the end of a part in which `last_line` searches."""
# Tails first: once output exceeds its limit, the supervisor stores the end in a tail, and that is the newer part.
_TEXTS = (OutputPart.OUT_TAIL, OutputPart.ERR_TAIL, OutputPart.OUT, OutputPart.ERR)


def size(records: JobRecords, output: str, part: OutputPart) -> int:
    state = records.state(output, part)
    return 0 if state is None else state.size


def chunks(records: JobRecords, output: str, part: OutputPart, start: int) -> Iterator[bytes]:
    """Yields the contents of a part from the offset `start`."""
    while data := records.read(output, part, start, CHUNK):
        start += len(data)
        yield data


def last_line(records: JobRecords, output: str) -> str:
    """Returns the last line that is not blank, from the stream that was written to last."""
    newest, newest_line = -1, ""
    for part in _TEXTS:
        state = records.state(output, part)
        if state is None:
            continue
        if state.changed_at > newest and (line := _last(records, output, part, state.size)):
            newest, newest_line = state.changed_at, line
    return newest_line


def _last(records: JobRecords, output: str, part: OutputPart, length: int) -> str:
    data = records.read(output, part, max(0, length - LOOKED_AT), LOOKED_AT)
    lines = data.decode(errors="replace").splitlines()
    return next((line.strip() for line in reversed(lines) if line.strip()), "")
