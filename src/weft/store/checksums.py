"""Checksums of the rows of the journal.

SQLite notices a page that makes no sense, and not a letter that has changed within a row. So each event and each
run has a CRC-32 of all that is in its row, its number included, which each reader verifies before it believes the
row. That of an event has two halves, as recovery reads only the facts and a picture of a run all but the facts.
The upper half is of the fact, the lower of everything else.
"""

from zlib import crc32

_FACT_BITS = 0x7FFFFFFF
"""31 of them, as an integer of SQLite has a sign."""
_REST_BITS = 0xFFFFFFFF


def row_checksum(values: tuple[object, ...]) -> int:
    """Of values as SQLite returns them: text, whole numbers, floats, None. From a damaged row, of any type."""
    return crc32("\0".join(map(str, values)).encode(errors="surrogatepass"))


def fact_checksum(seq: int, fact: object) -> int:
    return 0 if fact is None else row_checksum((seq, fact)) & _FACT_BITS


def event_checksum(seq: int, values: tuple[object, ...]) -> int:
    """`values` in the order of the query `add_event`."""
    return fact_checksum(seq, values[-1]) << 32 | row_checksum((seq, *values[:-1]))


def rest_checksum(checksum: int) -> int:
    """The half that is not of the fact."""
    return checksum & _REST_BITS
