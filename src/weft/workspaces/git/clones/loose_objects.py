"""The loose objects in an object directory that a step can write, and packs of them.

File names are not trusted: a pack holds only contents, and the git that reads it computes the ids. An object under
a wrong name is therefore merely an object that nothing refers to.
"""

import os
import re
import zlib
from collections.abc import Generator, Iterable, Iterator, Sequence
from hashlib import new
from typing import BinaryIO

from msgspec import Struct

from weft.safe_files import Tree
from weft.workspaces.clone_files import UntrustedError, names_in, open_file

_PIECE = 1 << 18
_KINDS = {b"commit": 1, b"tree": 2, b"blob": 3, b"tag": 4}
_HEADER = re.compile(rb"(commit|tree|blob|tag) (\d{1,12})\0")
_LONGEST_HEADER = 32
_FOLDER = b"40000"
_SUBMODULE = b"160000"
_BLOB = b"blob"
_SHA1 = 40
"""The digits of a SHA-1 id; other repositories use SHA-256."""


class IntakeLimits(Struct, frozen=True, kw_only=True):
    """The limits of one admission."""

    objects: int = 1_000_000
    bytes_of_one: int = 512 * 1024 * 1024
    bytes_of_all: int = 4 * 1024 * 1024 * 1024
    bytes_of_links: int = 64 * 1024 * 1024
    """For one commit or tree, which is read as a whole."""
    seconds: float = 600.0
    """For each git process."""


class LooseObjects:
    """The loose objects of a git directory."""

    def __init__(self, tree: Tree, limits: IntakeLimits) -> None:
        self._tree = tree
        self._limits = limits
        self._names: dict[str, frozenset[str]] = {}

    def has(self, oid: str) -> bool:
        first = oid[:2]
        if first not in self._names:
            self._names[first] = frozenset(names_in(self._tree, f"objects/{first}"))
        return oid[2:] in self._names[first]

    def all(self) -> list[str]:
        """Returns every file name that could be an object id."""
        firsts = [f"{number:02x}" for number in range(256)]
        oids = [first + rest for first in firsts for rest in names_in(self._tree, f"objects/{first}")]
        return [oid for oid in oids if is_oid(oid)]

    def reachable(self, wanted: Iterable[str]) -> list[str]:
        """Returns the loose objects that these commits lead to through other loose objects.

        Missing objects may be in the repository; git checks that later.
        """
        oids: list[str] = []
        visited: set[str] = set()
        # The kind travels with the id, because a tree says which of its entries are blobs: these need not be
        # opened to look for links.
        waiting = [(oid, b"") for oid in wanted]
        while waiting:
            oid, kind = waiting.pop()
            if oid in visited or not self.has(oid):
                continue
            visited.add(oid)
            oids.append(oid)
            if len(oids) > self._limits.objects:
                raise UntrustedError(f"there are more than {self._limits.objects:,} new objects")
            if kind != _BLOB:
                waiting += self._links(oid)
        return oids

    def _links(self, oid: str) -> list[tuple[str, bytes]]:
        with self.opened(oid) as (kind, size, pieces):
            if kind == _BLOB:
                return []
            if size > self._limits.bytes_of_links:
                raise UntrustedError(f"the {kind.decode()} {oid} has {size:,} bytes")
            data = b"".join(pieces)
        return list(_in_tree(oid, data) if kind == b"tree" else _in_header(data))

    def opened(self, oid: str) -> "_ObjectReader":
        return _ObjectReader(self._tree, oid, self._limits)


class _ObjectReader:
    """An object that is being read: its kind, its size and its content in pieces."""

    def __init__(self, tree: Tree, oid: str, limits: IntakeLimits) -> None:
        self._oid = oid
        self._limits = limits
        self._file = open_file(tree, f"objects/{oid[:2]}/{oid[2:]}", most=limits.bytes_of_one)
        self._inflating = zlib.decompressobj()

    def __enter__(self) -> tuple[bytes, int, Iterator[bytes]]:
        file = self._file.__enter__()
        try:
            return self._read(file)
        except BaseException:
            self._file.__exit__(None, None, None)
            raise

    def __exit__(self, *_: object) -> None:
        self._file.__exit__(None, None, None)

    def _read(self, file: int | None) -> tuple[bytes, int, Iterator[bytes]]:
        if file is None:
            raise UntrustedError(f"the object {self._oid} disappeared while it was read")
        first = self._inflate(os.read(file, _PIECE), _PIECE)
        header = _HEADER.match(first[:_LONGEST_HEADER])
        if header is None:
            raise self._broken("has no header")
        kind, size = header[1], int(header[2])
        if size > self._limits.bytes_of_one:
            raise UntrustedError(
                f"the object {self._oid} has {size:,} bytes; at most {self._limits.bytes_of_one:,} are accepted"
            )
        return kind, size, self._pieces(file, first[header.end() :], size)

    def _pieces(self, file: int, first: bytes, size: int) -> Generator[bytes]:
        remaining = size
        piece = first
        while True:
            remaining -= len(piece)
            # A zlib stream can expand a thousandfold. The size in the header was checked against the limit, so
            # no more than that is ever produced.
            if remaining < 0:
                raise self._broken("is larger than it says")
            yield piece
            rest = self._inflating.unconsumed_tail or os.read(file, _PIECE)
            if not rest:
                break
            piece = self._inflate(rest, _PIECE)
        if remaining or not self._inflating.eof or self._inflating.unused_data:
            raise self._broken("does not end where it should")

    def _inflate(self, data: bytes, most: int) -> bytes:
        if self._inflating.eof and data:
            raise self._broken("continues after its end")
        try:
            return self._inflating.decompress(data, most)
        except zlib.error as error:
            raise self._broken(str(error)) from error

    def _broken(self, problem: str) -> UntrustedError:
        return UntrustedError(f"the object {self._oid} is broken: it {problem}")


def is_oid(text: str) -> bool:
    return re.fullmatch(r"[0-9a-f]{40}|[0-9a-f]{64}", text) is not None


def _in_tree(oid: str, data: bytes) -> Iterator[tuple[str, bytes]]:
    """Yields the entries of a tree with their kinds; submodules are left out."""
    width = len(oid) // 2
    at = 0
    while at < len(data):
        end = data.find(b"\0", at)
        if end < 0 or end + 1 + width > len(data):
            raise UntrustedError(f"the tree {oid} is broken: it ends within an entry")
        mode = data[at:end].split(b" ", 1)[0].lstrip(b"0")
        if mode != _SUBMODULE:
            yield data[end + 1 : end + 1 + width].hex(), b"" if mode == _FOLDER else _BLOB
        at = end + 1 + width


def _in_header(data: bytes) -> Iterator[tuple[str, bytes]]:
    """Yields the objects that a commit or tag names."""
    for line in data.split(b"\n\n", 1)[0].split(b"\n"):
        word, _, oid = line.partition(b" ")
        if word in {b"tree", b"parent", b"object"}:
            yield oid.decode(errors="replace"), b""


def write_pack(
    objects: LooseObjects, oids: Sequence[str], target: BinaryIO, limits: IntakeLimits
) -> dict[str, bytes]:
    """Writes a pack of these objects, without deltas; returns the kind of each by its computed id."""
    algorithm = "sha1" if not oids or len(oids[0]) == _SHA1 else "sha256"
    pack_hash = new(algorithm, usedforsecurity=False)
    kinds: dict[str, bytes] = {}

    def put(data: bytes) -> None:
        pack_hash.update(data)
        target.write(data)

    put(b"PACK" + (2).to_bytes(4, "big") + len(oids).to_bytes(4, "big"))
    total = 0
    for oid in oids:
        with objects.opened(oid) as (kind, size, pieces):
            total += size
            if total > limits.bytes_of_all:
                raise UntrustedError(f"the new objects have more than {limits.bytes_of_all:,} bytes")
            put(_entry_header(_KINDS[kind], size))
            object_hash = new(algorithm, b"%b %d\0" % (kind, size), usedforsecurity=False)
            # git only reads this pack once, from a temporary file, so speed matters more than size.
            compressor = zlib.compressobj(1)
            for piece in pieces:
                object_hash.update(piece)
                put(compressor.compress(piece))
            put(compressor.flush())
            # By the computed id, not by the file name: only this proves that the wanted id is a commit.
            kinds[object_hash.hexdigest()] = kind
    target.write(pack_hash.digest())
    return kinds


def _entry_header(kind: int, size: int) -> bytes:
    """Returns the header of a pack entry: kind and size, with 7 bits of the size per further byte."""
    first, rest = (kind << 4) | (size & 15), size >> 4
    header = bytearray()
    while rest:
        header.append(first | 0x80)
        first, rest = rest & 0x7F, rest >> 7
    header.append(first)
    return bytes(header)
