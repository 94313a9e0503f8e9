"""The state of a directory with repositories in it, as a digest: equal digests mean equal futures.

Left out is when a file changed, and what an index of git and the note of a clone remember about that. And what a
process left that died while foreign work entered, which the next one removes; and Weft's records of its gits,
which have other names each time.
"""

import json
import os
import stat
import struct
from hashlib import blake2b
from pathlib import Path

_HEADER = struct.Struct(">4sLL")
_ENTRY = struct.Struct(">10L20sH")
_SIGNATURE, _VERSION = b"DIRC", 2
_CHECKSUM = 20
_NOT_COMPARED = (".git/weft/incoming", ".git/weft/children")


def digest(folder: Path) -> bytes:
    total = blake2b()
    # Plain strings: this reads every file of hundreds of directories, and a `Path` costs more than reading it.
    top = str(folder)
    for place, folders, files in os.walk(top):
        folders[:] = sorted(name for name in folders if not f"{place}/{name}".endswith(_NOT_COMPARED))
        for name in sorted([*files, *folders]):
            path = f"{place}/{name}"
            mode = os.lstat(path).st_mode
            total.update(f"{path.removeprefix(top)}\0{mode:o}\0".encode())
            content = _content(path, mode)
            total.update(len(content).to_bytes(8, "big") + content)
    return total.digest()


def _content(path: str, mode: int) -> bytes:
    if stat.S_ISLNK(mode):
        return os.fsencode(os.readlink(path))  # noqa: PTH115
    if not stat.S_ISREG(mode):
        return b""
    with open(path, "rb", buffering=0) as file:  # noqa: PTH123
        content = file.read()
    if path.endswith("/weft-clone/handed"):
        return _note(content)
    return _entries(content) if path.endswith("/index") else content


def _note(content: bytes) -> bytes:
    """What a clone was handed, but for the number and the time of the index."""
    note = json.loads(content)
    note["given"][2:3] = []
    return json.dumps(note).encode()


def _entries(index: bytes) -> bytes:
    """An index without what it remembers about files, which is different in each copy of a repository."""
    signature, version, count = _HEADER.unpack_from(index)
    assert (signature, version) == (_SIGNATURE, _VERSION)
    kept, at = [index[: _HEADER.size]], _HEADER.size
    for _ in range(count):
        fields = _ENTRY.unpack_from(index, at)
        mode, name, flags = fields[6], fields[10], fields[11]
        end = index.index(b"\0", at + _ENTRY.size)
        kept.append(b"%o %s %d %s\0" % (mode, name, flags, index[at + _ENTRY.size : end]))
        at += (end - at + 8) & ~7  # entries are padded with 1 to 8 NUL bytes
    return b"".join([*kept, index[at:-_CHECKSUM]])
