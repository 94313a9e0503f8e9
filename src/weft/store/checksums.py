"""Checksums of the rows of the journal.

SQLite notices a malformed page, but not a changed letter within a row. Each event and each run therefore has a
CRC-32 of its whole row, including its number, which every reader verifies before it uses the row. The checksum of
an event has two halves, because recovery reads only the facts, and a view of a run everything except the facts.
The upper half covers the fact, the lower half everything else.
"""

from zlib import crc32

_FACT_BITS = 0x7FFFFFFF
"""31 bits, because an integer of SQLite has a sign."""
_REST_BITS = 0xFFFFFFFF


def row_checksum(values: tuple[object, ...]) -> int:
    """Returns the checksum of values as SQLite returns them; a damaged row may have values of any type."""
    return crc32("\0".join(map(str, values)).encode(errors="surrogatepass"))


def fact_checksum(seq: int, fact: object) -> int:
    return 0 if fact is None else row_checksum((seq, fact)) & _FACT_BITS


def event_checksum(seq: int, values: tuple[object, ...]) -> int:
    """`values` in the order of the query `add_event`."""
    return fact_checksum(seq, values[-1]) << 32 | row_checksum((seq, *values[:-1]))


def rest_checksum(checksum: int) -> int:
    """Returns the half that does not cover the fact."""
    return checksum & _REST_BITS
