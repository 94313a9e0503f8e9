"""The first execution of each work of a plan, drawn for all of them at once.

Most works are executed once in a replication. To draw them one by one takes longer than all else that happens at
an execution. The numbers are those that `World.execution` draws.
"""

from collections.abc import Sequence
from math import exp

from msgspec import Struct

from weft.forecast.estimates import WorkEstimate
from weft.forecast.streams import Streams, normal_quantile
from weft.forecast.world import COSTS, FAILS, LIMITS, World


class Draws(Struct, frozen=True, gc=False):
    """The first executions of one replication, by number of the work."""

    seconds: list[float]
    costs: list[int | None]
    unusual: set[int]
    """The works whose first execution fails, meets a usage limit or takes too long: `World` says how they end."""


class FirstDraws:
    """What is the same in all replications."""

    def __init__(self, works: Sequence[tuple[WorkEstimate, float]]) -> None:
        """`works`: estimates, each with its timeout."""
        estimates = [estimate for estimate, _ in works]
        numbers = range(len(works))
        self._spreads = [(estimate.seconds.median, estimate.seconds.sigma) for estimate in estimates]
        self._timeouts = [timeout for _, timeout in works]
        self._streams = Streams([estimate.shared or estimate.stream for estimate in estimates])
        self._priced = [number for number in numbers if estimates[number].has_cost]
        self._costs = [estimates[number].cost for number in self._priced]
        self._cost_streams = Streams([estimates[number].stream for number in self._priced])
        self._failing = _Chances(estimates, [estimate.fail for estimate in estimates], FAILS)
        self._limited = _Chances(estimates, [estimate.limit.share for estimate in estimates], LIMITS)

    def of(self, world: World) -> Draws:
        """Returns the first executions of a replication."""
        night, prices, luck = world.night, world.prices, world.luck
        normals = map(normal_quantile, luck.uniforms(self._streams))
        seconds = [
            median * night * exp(sigma * normal) if sigma else median * night
            for (median, sigma), normal in zip(self._spreads, normals, strict=True)
        ]
        costs: list[int | None] = [None] * len(seconds)
        uniforms = luck.uniforms(self._cost_streams, COSTS)
        for number, cost, uniform in zip(self._priced, self._costs, uniforms, strict=True):
            assert cost is not None
            costs[number] = round(cost.at(normal_quantile(uniform) if cost.sigma else 0.0) * prices)
        late = {
            number
            for number, (each, timeout) in enumerate(zip(seconds, self._timeouts, strict=True))
            if each > timeout
        }
        return Draws(seconds, costs, late | self._failing.of(world) | self._limited.of(world))


class _Chances:
    """What happens to some works with a probability."""

    def __init__(self, estimates: Sequence[WorkEstimate], shares: Sequence[float], offset: int) -> None:
        self._offset = offset
        self._numbers = [number for number, share in enumerate(shares) if share]
        self._shares = [share for share in shares if share]
        self._streams = Streams([estimates[number].stream for number in self._numbers])

    def of(self, world: World) -> set[int]:
        """Returns the works to which it happens."""
        if not self._numbers:
            return set()
        uniforms = world.luck.uniforms(self._streams, self._offset)
        chances = zip(self._numbers, self._shares, uniforms, strict=True)
        return {number for number, share, uniform in chances if uniform < share}
