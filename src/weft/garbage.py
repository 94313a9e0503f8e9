"""Switches for Python's cyclic garbage collector, and for the memory that the C library holds back."""

import gc
from collections.abc import Generator
from contextlib import contextmanager, suppress

_OBJECTS_PER_SEARCH = 100_000
"""How many new objects start a search. Most objects of a command live until it ends."""


def search_rarely() -> None:
    """Makes the search rare for the rest of the process."""
    gc.set_threshold(_OBJECTS_PER_SEARCH)


@contextmanager
def without_gc() -> Generator[None]:
    """Turns the collector off within the block, and restores its setting afterwards.

    Loading, compiling and proving a large plan, or running it, creates many objects that stay, and hardly any
    cycles. Scanning them again and again takes a fifth of the time of a run, and half of that of loading a plan
    file.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def return_memory() -> None:
    """Returns freed memory to the system. The C library keeps it, and each thread has a store of its own."""
    import ctypes  # noqa: PLC0415 - needed by servers alone

    with suppress(OSError, AttributeError):  # only glibc has it
        ctypes.CDLL(None).malloc_trim(0)
