"""Whether tests that need real sandboxes can be run."""

import os

import pytest

from weft.runtime.sandbox.probe import probe


def need_sandboxes() -> str:
    """Returns the program; skips the test if bubblewrap is missing or cannot make a sandbox without a network."""
    found = probe(os.environ, network=False)
    if found.trouble:
        pytest.skip(f"{found.trouble}; to fix it, type: {found.command}")
    return found.program
