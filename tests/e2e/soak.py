"""`make soak`: long nights, one after another, with a line for each; the exit code is 1 after a violation."""

import argparse
import random
import shutil
import sys
import tempfile
from pathlib import Path
from time import monotonic

from e2e.night_verdict import violations
from e2e.nights import make_night


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("seeds", nargs="*", type=int, help="one night for each; without any, random ones")
    parser.add_argument("--slices", type=int, default=40)
    parser.add_argument("--minutes", type=float, default=10.0, help="no random night starts after that")
    options = parser.parse_args()
    end = monotonic() + options.minutes * 60
    failed = 0
    seeds = list(options.seeds)
    while seeds or (not options.seeds and monotonic() < end):
        seed = seeds.pop(0) if seeds else random.randrange(10**6)
        failed += not spend_night(seed, options.slices)
    return 1 if failed else 0


def spend_night(seed: int, count: int) -> bool:
    """Whether nothing was violated. What a violated night leaves is kept, to be looked at."""
    folder = Path(tempfile.mkdtemp(prefix=f"weft-night-{seed}-"))
    since = monotonic()
    night = make_night(folder / "project", seed, count)
    night.run()
    problems = violations(night)
    landed, seconds = len(night.repository.landed()), monotonic() - since
    verdict = f"{len(problems)} violations, kept in {folder}" if problems else "nothing violated"
    sys.stdout.write(
        f"seed {seed}: {count} slices, {len(night.done)} disturbances, {landed} commits on main, "
        f"{seconds:.0f} s: {verdict}\n"
    )
    for problem in problems:
        sys.stdout.write(f"  - {problem}\n")
    sys.stdout.flush()
    if not problems:
        shutil.rmtree(folder)
    return not problems


if __name__ == "__main__":
    sys.exit(main())
