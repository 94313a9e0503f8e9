"""Short nights, with fixed seeds. `make soak` spends long ones.

One is always spent; the others take long and run on request: WEFT_NIGHTS=1.
"""

import os
import sys
from pathlib import Path

import pytest

from e2e.night_verdict import violations
from e2e.nights import make_night

SLICES = 8
SEEDS = [3, 4] if os.environ.get("WEFT_NIGHTS") else [3]


@pytest.mark.timeout(600)  # a night is stuck only after a long time without any event
@pytest.mark.parametrize("seed", SEEDS)
def test_a_disturbed_run_loses_nothing_and_does_nothing_twice(folder: Path, seed: int) -> None:
    sys.stdout.write(f"to do this again: make soak CAMPAIGNS=nights SEEDS={seed} SLICES={SLICES}\n")
    night = make_night(folder / "project", seed, SLICES)
    night.run()
    assert violations(night) == []
