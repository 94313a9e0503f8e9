"""Random numbers of many streams at once, the same as `Luck.uniform` gives one by one."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_STEPS = float(1 << 52)


class NumpyStreams:
    """Streams as an array of their keys."""

    def __init__(self, keys: Sequence[int]) -> None:
        self._keys = np.array(keys, dtype=np.uint64)

    def uniforms(self, start: int, count: int) -> list[float]:
        """Returns a number from each stream."""
        mixed = _mix(_mix(np.uint64(start) ^ self._keys) ^ np.uint64(count))
        # Whole numbers and halves below 2**53 are exact, so nothing is rounded before the division.
        middles = (mixed >> np.uint64(12)).astype(np.float64) + 0.5
        numbers: list[float] = (middles / _STEPS).tolist()
        return numbers


def _mix(words: Words) -> Words:
    """Returns the outputs of splitmix64; overflow is part of it."""
    state = words + _GOLDEN
    state = (state ^ (state >> np.uint64(30))) * _FIRST
    state = (state ^ (state >> np.uint64(27))) * _SECOND
    return state ^ (state >> np.uint64(31))
