"""Python's search for garbage that holds on to itself, and when to do without it."""

import gc
from collections.abc import Generator
from contextlib import contextmanager


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
