"""A reader of git's index file that finds the paths in conflict, and whether there may be submodules.

A step with a clone may have written the index, so Weft does not let git read that.
"""

from collections.abc import Iterator
from pathlib import Path

from weft.safe_files import UnsafeFileError, read_file
from weft.workspaces.clone_files import UntrustedError

_HEADER = 12
_FIXED = 40
"""The bytes of an entry before its object id."""
_EXTENDED = 0x4000
_VERSIONS = (2, 3, 4)
_COMPRESSED = 4
_SUBMODULE = (0o160000).to_bytes(4, "big")
_SPLIT, _COLLAPSED = b"link", b"sdir"
"""The extensions of a split index and of a sparse one, which does not list all paths."""
_LARGEST = 1 << 30


def unmerged(index: bytes, *, digits: int = 40) -> frozenset[bytes]:
    """Returns the paths in conflict. Raises `UntrustedError` if the data is no index.

    `digits` is the length of an object id in hexadecimal.
    """
    try:
        return frozenset(path for stage, path in _entries(index, digits // 2) if stage)
    except (IndexError, ValueError) as error:
        raise UntrustedError(f"the index is broken: {error}") from error


def may_have_submodules(file: Path) -> bool:
    """Returns whether an index may list a submodule; False only if it certainly does not.

    The mode of a submodule is the same four bytes in all versions of the format. They may also be part of
    something else, so their presence proves nothing, and neither does their absence if other files hold a part of
    the index.
    """
    try:
        index = read_file(file, most=_LARGEST)
    except (OSError, UnsafeFileError):
        return True
    return index[:4] != b"DIRC" or _SUBMODULE in index or _SPLIT in index or _COLLAPSED in index


def _entries(index: bytes, width: int) -> Iterator[tuple[int, bytes]]:
    version, count = (int.from_bytes(index[at : at + 4], "big") for at in (4, 8))
    if index[:4] != b"DIRC" or version not in _VERSIONS:
        raise ValueError("it has no header")
    at, path = _HEADER, b""
    for _ in range(count):
        start = at
        # Layout of an entry: ten 32-bit fields of stat data, the object id, 16 bits of flags (with the stage in
        # bits 12 and 13), 16 more if the extended bit is set, then the path up to a NUL.
        flags = int.from_bytes(_cut(index, at + _FIXED + width, 2), "big")
        at += _FIXED + width + (4 if flags & _EXTENDED else 2)
        if version == _COMPRESSED:
            # Version 4 stores how many bytes to drop from the end of the previous path, then the rest of this
            # one, unpadded.
            removed, at = _number(index, at)
            if removed > len(path):
                raise ValueError("a path is cut too short")
            end = index.index(b"\0", at)
            path = path[: len(path) - removed] + index[at:end]
            at = end + 1
        else:
            end = index.index(b"\0", at)
            path = index[at:end]
            # Entries are padded with 1 to 8 zeros to a multiple of 8 bytes.
            at = start + (end - start + 8) // 8 * 8
        yield (flags >> 12) & 3, path


def _cut(index: bytes, at: int, length: int) -> bytes:
    part = index[at : at + length]
    if len(part) != length:
        raise ValueError("it ends within an entry")
    return part


def _number(index: bytes, at: int) -> tuple[int, int]:
    """Reads a variable-length number, as in git's pack files; returns it and the offset after it."""
    byte = index[at]
    value = byte & 127
    while byte & 128:
        at += 1
        byte = index[at]
        value = ((value + 1) << 7) | (byte & 127)
    return value, at + 1
