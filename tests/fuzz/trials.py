"""Trials of one target: Hypothesis makes the inputs from a seed, and shrinks one that fails."""

from pathlib import Path

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.errors import FlakyFailure, HypothesisException
from msgspec import Struct

from fuzz.targets import HangError, Target, time_limit

HEALTH = (
    HealthCheck.too_slow,
    HealthCheck.data_too_large,
    HealthCheck.filter_too_much,
    HealthCheck.large_base_example,
)
"""Trials are slow, and a machine that is busy makes them slower."""


class Outcome(Struct, frozen=True):
    trials: int
    violation: str = ""


def run_trials(target: Target, folder: Path, number: int, *, most: int) -> Outcome:
    """So many trials, fewer if one fails; the same number gives the same inputs."""
    count = 0
    last: object = None

    @seed(number)
    @settings(
        max_examples=most, database=None, deadline=None, derandomize=False, print_blob=False,
        report_multiple_bugs=False, phases=(Phase.generate, Phase.shrink),
        suppress_health_check=HEALTH,
    )  # fmt: skip
    @given(target.inputs)
    def trial(value: object) -> None:
        nonlocal count, last
        count += 1
        last = value
        with time_limit():
            target.trial(folder, value)

    folder.mkdir(parents=True, exist_ok=True)
    try:
        trial()
    except FlakyFailure as error:
        return Outcome(count, f"{target.name}: once only: {last!r}: {error.exceptions[0]}"[:4000])
    except HypothesisException:
        raise
    except (Exception, HangError) as error:
        return Outcome(count, f"{target.name}: {last!r}: {type(error).__name__}: {error}"[:4000])
    return Outcome(count)
