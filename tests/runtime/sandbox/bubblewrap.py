"""Whether tests that need real sandboxes can be run."""

import os

import pytest

from weft.runtime.sandbox.probe import probe


def need_sandboxes() -> str:
    """Returns the program; skips the test if bubblewrap is missing or cannot make a sandbox without a network."""
    replies = probe(os.environ, network=False)
    if replies.trouble:
        pytest.skip(f"{replies.trouble}; to fix it, type: {replies.command}")
    return replies.program
