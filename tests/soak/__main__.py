"""`make soak`: campaigns against Weft, each for its share of the time, with figures; 1: something was violated.

A campaign is a row of trials, and each trial follows from its seed. A violation is printed with the campaign and
the seed that repeat it, and what the trial left is kept.
"""

import argparse
import random
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import monotonic

from soak.campaigns import Campaign, campaigns


def main(arguments: Sequence[str] | None = None, known: Mapping[str, Campaign] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, prog="make soak")
    parser.add_argument("campaigns", nargs="*", help="all if none is named")
    parser.add_argument(
        "--seeds", default="", help="one trial for each, separated by blanks; else random ones"
    )
    parser.add_argument(
        "--minutes", type=float, default=10.0, help="for all; no random trial starts after that"
    )
    parser.add_argument("--slices", type=int, default=40, help="of a night")
    options = parser.parse_args(arguments)
    known = known or campaigns(options.slices)
    names = options.campaigns or list(known)
    if unknown := set(names) - set(known):
        parser.error(f"there is no campaign {', '.join(sorted(unknown))}; allowed are {', '.join(known)}")
    seeds = [int(word) for word in options.seeds.split()]
    share = options.minutes * 60 / len(names)
    violated = sum(run_campaign(name, known[name], seeds, share) for name in names)
    return 1 if violated else 0


def run_campaign(name: str, campaign: Campaign, seeds: Sequence[int], seconds: float) -> int:
    """The number of trials with a violation; at least one trial is made."""
    since = monotonic()
    trials = attempts = violated = 0
    left = list(seeds)
    while left or (not seeds and (not trials or monotonic() < since + seconds)):
        seed = left.pop(0) if left else random.randrange(10**6)
        folder = Path(tempfile.mkdtemp(prefix=f"weft-{name}-{seed}-"))
        trial = campaign(seed, folder)
        trials, attempts = trials + 1, attempts + trial.count
        if trial.problems:
            violated += 1
            _write(f'{name}: violated; kept in {folder}; repeat: make soak CAMPAIGNS={name} SEEDS="{seed}"')
            for problem in trial.problems:
                _write(f"  - {problem}")
        else:
            shutil.rmtree(folder, ignore_errors=True)
    spent = monotonic() - since
    _write(f"{name}: {trials} trials ({attempts} attempts), {violated} violations, {spent:.0f} s")
    return violated


def _write(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
