"""Python's search for garbage that holds on to itself, and when to do without it."""

import gc
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def without_gc() -> Generator[None]:
    """Pauses the search, and then leaves it as it was.

    To load, compile and prove a large plan makes millions of objects and hardly any garbage; to look through them
    again and again takes as long as all the rest.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
