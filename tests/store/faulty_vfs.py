"""SQLite's own way to the disk, with faults: the n-th write, truncation or flush fails, or is watched.

SQLite reaches the system through a table of functions. Here a copy of that table becomes the default for a while;
of each file that is opened by it three functions are ours, and they call the true ones unless a fault is due.
"""

import _sqlite3
import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from ctypes import CFUNCTYPE, POINTER, byref, c_char_p, c_int, c_int64, c_void_p, cast, memmove, sizeof
from functools import cache
from sqlite3 import SQLITE_IOERR, SQLITE_OK
from typing import Any

import pytest

_OPEN = CFUNCTYPE(c_int, c_void_p, c_void_p, c_void_p, c_int, c_void_p)
_WRITE = CFUNCTYPE(c_int, c_void_p, c_void_p, c_int, c_int64)
_TRUNCATE = CFUNCTYPE(c_int, c_void_p, c_int64)
_SYNC = CFUNCTYPE(c_int, c_void_p, c_int)


class _Vfs(ctypes.Structure):
    _fields_ = (
        ("version", c_int),
        ("size_of_file", c_int),
        ("longest_path", c_int),
        ("next", c_void_p),
        ("name", c_char_p),
        ("data", c_void_p),
        ("open", _OPEN),
        ("rest", c_void_p * 15),
    )


class _Methods(ctypes.Structure):
    _fields_ = (
        ("version", c_int),
        ("close", c_void_p),
        ("read", c_void_p),
        ("write", _WRITE),
        ("truncate", _TRUNCATE),
        ("sync", _SYNC),
        ("rest", c_void_p * 13),
    )


class _File(ctypes.Structure):
    _fields_ = (("methods", POINTER(_Methods)),)


@cache
def _sqlite() -> ctypes.CDLL:
    """The library that Python's module has loaded, and no other of that name."""
    library = ctypes.CDLL(getattr(_sqlite3, "__file__", None))
    if not hasattr(library, "sqlite3_vfs_find"):
        pytest.skip("the SQLite within this Python cannot be reached")
    library.sqlite3_vfs_find.restype = POINTER(_Vfs)
    library.sqlite3_vfs_find.argtypes = [c_char_p]
    library.sqlite3_vfs_register.argtypes = [c_void_p, c_int]
    library.sqlite3_vfs_unregister.argtypes = [c_void_p]
    return library


class Disk:
    """Counts operations on files, and fails on request."""

    def __init__(self) -> None:
        self.done = 0
        self.watch: Callable[[], None] = lambda: None
        """Called before and after each thing that is done."""
        self._fails_at = 0
        self._until = 0
        self._code = SQLITE_OK
        self._methods: dict[int, _Methods] = {}

    def fail(self, nth: int, *, times: int = 1, code: int = SQLITE_IOERR) -> None:
        """From the n-th thing on that is done from now on."""
        self._fails_at, self._until, self._code = self.done + nth, self.done + nth + times, code

    def heal(self) -> None:
        self._until = 0

    def faulty(self, methods: "ctypes._Pointer[_Methods]") -> _Methods:
        address = ctypes.addressof(methods.contents)
        if address not in self._methods:
            self._methods[address] = self._copy(methods.contents)
        return self._methods[address]

    def _copy(self, true: _Methods) -> _Methods:
        copy = _Methods()
        memmove(byref(copy), byref(true), sizeof(_Methods))
        copy.write = _WRITE(lambda file, data, size, at: self._write(true, file, data, size, at))
        copy.truncate = _TRUNCATE(lambda file, size: self._do(lambda: int(true.truncate(file, size))))
        copy.sync = _SYNC(lambda file, flags: self._do(lambda: int(true.sync(file, flags))))
        return copy

    def _write(self, true: _Methods, file: int, data: int, size: int, at: int) -> int:
        """Half of it first, so that what is seen or fails in between is torn."""
        half = size // 2
        code = true.write(file, data, half, at)
        if code != SQLITE_OK:
            return int(code)
        return self._do(lambda: int(true.write(file, data + half, size - half, at + half)))

    def _do(self, true: Callable[[], int]) -> int:
        self.done += 1
        if self._fails_at <= self.done < self._until:
            return self._code
        self.watch()
        code = true()
        self.watch()
        return code


@contextmanager
def faulty_disk() -> Iterator[Disk]:
    """All databases that are opened within are on it, and must be closed within."""
    true = _sqlite().sqlite3_vfs_find(None)
    disk = Disk()

    def open_file(vfs: int, name: int, file: int, flags: int, out: int) -> int:
        code = int(true.contents.open(cast(true, c_void_p), name, file, flags, out))
        opened = cast(file, POINTER(_File)).contents
        if opened.methods:
            opened.methods = ctypes.pointer(disk.faulty(opened.methods))
        return code

    vfs = _Vfs()
    memmove(byref(vfs), true, sizeof(_Vfs))
    vfs.name, vfs.open = b"faulty", _OPEN(open_file)
    with _default(byref(vfs), true):
        yield disk
    _sqlite().sqlite3_vfs_unregister(byref(vfs))


@contextmanager
def disk_without_shared_memory() -> Iterator[None]:
    """As on a file system of a network."""
    with _default(_sqlite().sqlite3_vfs_find(b"unix-dotfile"), _sqlite().sqlite3_vfs_find(None)):
        yield


@contextmanager
def _default(vfs: Any, before: Any) -> Iterator[None]:
    _sqlite().sqlite3_vfs_register(vfs, 1)
    try:
        yield
    finally:
        _sqlite().sqlite3_vfs_register(before, 1)
