"""Short nights, with fixed seeds. `make soak` spends long ones.

They take half a minute and depend on how processes are scheduled, so they run on request: WEFT_NIGHTS=1.
"""

import os
import sys
from pathlib import Path

import pytest

from e2e.night_verdict import violations
from e2e.nights import make_night

SLICES = 8

pytestmark = pytest.mark.skipif(
    not os.environ.get("WEFT_NIGHTS"), reason="nights take long; set WEFT_NIGHTS=1, or type: make soak"
)


@pytest.mark.parametrize("seed", [3, 4])
def test_a_disturbed_run_loses_nothing_and_does_nothing_twice(folder: Path, seed: int) -> None:
    sys.stdout.write(f"to do this again: make soak CAMPAIGNS=nights SEEDS={seed} SLICES={SLICES}\n")
    night = make_night(folder / "project", seed, SLICES)
    night.run()
    assert violations(night) == []
