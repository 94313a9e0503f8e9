"""Random numbers that belong to a piece of work, not to the order in which work happens.

Each number is a function of the seed, the replication, the work and the attempt. So two plans that differ only in
the size of a pool meet the same luck at every step, and the difference between their runs is the effect of the
pool. A generator with a state, such as `random.Random`, would give its numbers out in the order of events, which
differs between the two.
"""

from collections.abc import Callable, Sequence
from hashlib import blake2b
from importlib.util import find_spec
from statistics import NormalDist

_MASK = (1 << 64) - 1
_GOLDEN = 0x9E3779B97F4A7C15
_STEPS = 1 << 52
_MANY = 200
"""The number of streams from which numpy, which takes a while to import, pays off."""

normal_quantile = NormalDist().inv_cdf


def key_of(*names: str) -> int:
    """Returns the number of a stream: the same for the same names, in every process."""
    digest = blake2b("\0".join(names).encode("utf-8", "surrogateescape"), digest_size=8).digest()
    return int.from_bytes(digest, "little")


def _mix(value: int) -> int:
    """Returns the output of splitmix64 for a state; each bit depends on all bits of the state."""
    value = (value + _GOLDEN) & _MASK
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & _MASK
    return value ^ (value >> 31)


class Luck:
    """The random numbers of one replication."""

    __slots__ = ("_start",)

    def __init__(self, seed: int, replication: int) -> None:
        self._start = _mix(_mix(seed & _MASK) ^ replication)

    def uniform(self, key: int, count: int = 0) -> float:
        """Returns a number between 0 and 1, neither of them included; `count` numbers the draws of a stream."""
        # `_mix(_mix(start ^ key) ^ count)`, written out: this is the innermost loop of a forecast.
        draw = ((self._start ^ key) + _GOLDEN) & _MASK
        draw = ((draw ^ (draw >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        draw = ((draw ^ (draw >> 27)) * 0x94D049BB133111EB) & _MASK
        draw = ((draw ^ (draw >> 31) ^ count) + _GOLDEN) & _MASK
        draw = ((draw ^ (draw >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        draw = ((draw ^ (draw >> 27)) * 0x94D049BB133111EB) & _MASK
        draw ^= draw >> 31
        # The middle of one of 2**52 equal intervals, so that the quantile function is finite. With one bit more,
        # the middle of the last interval would round to 1.
        return ((draw >> 12) + 0.5) / _STEPS

    def normal(self, key: int, count: int = 0) -> float:
        """Returns a number from the standard normal distribution."""
        return normal_quantile(self.uniform(key, count))

    def uniforms(self, streams: "Streams", count: int = 0) -> list[float]:
        """Returns a number from each stream, the same as `uniform`."""
        return (
            streams.draw(self._start, count)
            if streams.draw
            else [self.uniform(key, count) for key in streams.keys]
        )


class Streams:
    """Streams from which numbers are drawn together; on numpy, if it is there and they are many."""

    __slots__ = ("draw", "keys")

    def __init__(self, keys: Sequence[int], *, use_numpy: bool | None = None) -> None:
        """`use_numpy`: None lets the number of streams decide."""
        self.keys = keys
        self.draw: Callable[[int, int], list[float]] | None = None
        if use_numpy is None:
            use_numpy = len(keys) >= _MANY and find_spec("numpy") is not None
        if use_numpy:
            from weft.forecast.streams_numpy import NumpyStreams  # noqa: PLC0415 - optional, and slow to import

            self.draw = NumpyStreams(keys).uniforms
