"""Whether tests that need real sandboxes can be run."""

import os

import pytest

from weft.runtime.sandbox.probe import probe


def need_sandboxes() -> str:
    """The program; skips whoever calls if bubblewrap is not there, or may not make a sandbox without a network."""
    found = probe(os.environ, network=False)
    if found.trouble:
        pytest.skip(f"{found.trouble}; to fix it, type: {found.command}")
    return found.program
