"""Python's search for garbage that holds on to itself, and when to do without it."""

import gc
from collections.abc import Generator
from contextlib import contextmanager

_OBJECTS_PER_SEARCH = 100_000
"""How many new objects start a search. Most objects of a command live until it ends."""


def search_rarely() -> None:
    """Makes the search rare for the rest of the process."""
    gc.set_threshold(_OBJECTS_PER_SEARCH)


@contextmanager
def without_gc() -> Generator[None]:
    """Pauses the search, and then leaves it as it was.

    To load, compile and prove a large plan, or to run it, makes many objects that stay, and hardly any garbage; to
    look through them again and again takes a fifth of a run, and half of what a plan file takes.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
