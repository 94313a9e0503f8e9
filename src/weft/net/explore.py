"""Explore all reachable markings of a small net, breadth first.

The result is exact or says that it is not: a search that reaches a limit has `complete` False, and its counts
cover what was seen until then. Two engines do the same search in the same order. The engine in plain Python
starts, because small nets are finished before numpy is imported. The numpy engine takes over, from the
beginning, when many markings have been found and many are pending, because it processes these together.
"""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from types import MappingProxyType

from weft.errors import ConfigError
from weft.ids import PlaceId, TransitionId
from weft.net.explore_python import PythonEngine
from weft.net.model import Marking, Net
from weft.net.packing import FieldTooWideError
from weft.net.plain import PlainNet, unfold
from weft.net.trace import Search, trace_to

MAX_STATES = 10_000_000
MAX_BYTES = 2 << 30

HANDOVER_STATES = 2_000
"""The number of markings from which a restart with numpy pays off."""
HANDOVER_STATES_WITH_IMPORT = 20_000
"""The same if numpy has not been imported yet."""
HANDOVER_WAITING = 256
"""With fewer pending markings, numpy is slower than Python."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exploration:
    """The result of a search. Places and transitions are those of the plain net, see `unfold`."""

    states: int
    edges: int
    """Firings: pairs of a marking and a transition enabled in it."""
    deadlocks: int
    """Markings in which no transition is enabled; the intended end of a net is one."""
    first_deadlock: Marking | None
    """The one nearest to the initial marking."""
    deadlock_trace: tuple[TransitionId, ...] | None
    """A shortest trace to it."""
    found: Marking | None
    """The nearest marking of the kind that was searched for."""
    found_trace: tuple[TransitionId, ...] | None
    place_bounds: Mapping[PlaceId, int]
    """Most tokens seen in each place."""
    place_bound: int
    """Most tokens seen in any place."""
    marking_bound: int
    """Most tokens seen in a marking."""
    dead_transitions: tuple[TransitionId, ...]
    """Transitions enabled in no reachable marking; empty if the search is incomplete, as none is then certain."""
    complete: bool
    why: str


def explore(
    net: Net | PlainNet,
    *,
    find: Callable[[Marking], bool] | None = None,
    max_states: int = MAX_STATES,
    max_bytes: int = MAX_BYTES,
    use_numpy: bool | None = None,
    progress: Callable[[int], None] | None = None,
) -> Exploration:
    """Explore the reachable markings until all are seen, `find` holds of one, or a limit is met.

    `use_numpy`: None lets the size decide, True requires numpy, False does without it. `progress` is called from
    time to time with the number of markings.
    """
    search = _Search(net, max_states=max_states, max_bytes=max_bytes, use_numpy=use_numpy, progress=progress)
    search.run(lambda: search.look_for(find) if find else False)
    return search.result()


def find_deadlock(
    net: Net | PlainNet,
    *,
    max_states: int = MAX_STATES,
    max_bytes: int = MAX_BYTES,
    use_numpy: bool | None = None,
    progress: Callable[[int], None] | None = None,
) -> Exploration:
    """Explore until the nearest marking without an enabled transition, which is then `found`."""
    search = _Search(net, max_states=max_states, max_bytes=max_bytes, use_numpy=use_numpy, progress=progress)
    search.run(search.look_for_deadlock)
    return search.result()


class _Search:
    def __init__(
        self,
        net: Net | PlainNet,
        *,
        max_states: int,
        max_bytes: int,
        use_numpy: bool | None,
        progress: Callable[[int], None] | None,
    ) -> None:
        _check_limits(max_states, max_bytes)
        self._net = unfold(net) if isinstance(net, Net) else net
        self._max_states, self._max_bytes = max_states, max_bytes
        self._numpy = _numpy_allowed(use_numpy=use_numpy)
        self._handover_states = HANDOVER_STATES if "numpy" in sys.modules else HANDOVER_STATES_WITH_IMPORT
        self._progress = progress
        self._examined = 0
        self._match: int | None = None
        self._engine: Search = self._start_numpy() if use_numpy else self._start_python()

    def _start_python(self) -> Search:
        return PythonEngine(self._net, max_states=self._max_states, max_bytes=self._max_bytes)

    def _start_numpy(self) -> Search:
        self._numpy = False  # there is nothing more to hand over to
        from weft.net.explore_numpy import NumpyEngine  # noqa: PLC0415 - numpy is optional, and slow to import

        try:
            return NumpyEngine(self._net, max_states=self._max_states, max_bytes=self._max_bytes)
        except FieldTooWideError:
            return self._start_python()

    def run(self, is_finished: Callable[[], bool]) -> None:
        while not is_finished() and self._engine.full is None and self._waiting:
            if (
                self._numpy
                and self._engine.states >= self._handover_states
                and self._waiting >= HANDOVER_WAITING
            ):
                # From the beginning again: both engines number markings alike, so nothing that was found has to
                # be converted.
                self._engine = self._start_numpy()
            try:
                self._engine.step()
            except FieldTooWideError:
                self._engine = self._start_python()  # its integers have no limit
            if self._progress:
                self._progress(self._engine.states)

    @property
    def _waiting(self) -> int:
        return self._engine.states - self._engine.expanded

    def look_for(self, find: Callable[[Marking], bool]) -> bool:
        # Both engines number the markings alike, so a handover does not repeat this check.
        for number in range(self._examined, self._engine.states):
            if find(self._marking(number)):
                self._match = number
                return True
        self._examined = max(self._examined, self._engine.states)
        return False

    def look_for_deadlock(self) -> bool:
        self._match = self._engine.first_dead
        return self._match is not None

    def _marking(self, number: int) -> Marking:
        return self._net.marking(self._engine.tokens(number))

    def _with_trace(self, number: int | None) -> tuple[Marking, tuple[TransitionId, ...]] | tuple[None, None]:
        if number is None:
            return None, None
        return self._marking(number), trace_to(self._net, self._engine, number)

    def result(self) -> Exploration:
        engine, net = self._engine, self._net
        complete = self._match is None and engine.full is None
        place_bounds, marking_bound = engine.bounds()
        first_deadlock, deadlock_trace = self._with_trace(engine.first_dead)
        found_marking, found_trace = self._with_trace(self._match)
        return Exploration(
            states=engine.states,
            edges=engine.edges,
            deadlocks=engine.dead,
            first_deadlock=first_deadlock,
            deadlock_trace=deadlock_trace,
            found=found_marking,
            found_trace=found_trace,
            place_bounds=MappingProxyType(dict(zip(net.place_ids, place_bounds, strict=True))),
            place_bound=max(place_bounds, default=0),
            marking_bound=marking_bound,
            dead_transitions=tuple(net.transition_ids[t] for t in engine.unfired()) if complete else (),
            complete=complete,
            why=self._why(),
        )

    def _why(self) -> str:
        states = f"{self._engine.states:,} states"
        if self._match is not None:
            return f"found after {states}"
        if self._engine.full is None:
            return f"all {states}"
        size = f": {_size(self._max_bytes)}" if self._engine.full == "memory" else ""
        return f"unknown after {states} (the limit on {self._engine.full}{size})"


def _size(count: int) -> str:
    mebibytes = count / (1 << 20)
    return f"{count:,} bytes" if mebibytes < 1 else f"{mebibytes:,.1f}".removesuffix(".0") + " MiB"


def _check_limits(max_states: int, max_bytes: int) -> None:
    for name, value in (("max_states", max_states), ("max_bytes", max_bytes)):
        if value < 1:
            raise ConfigError(f"{name} is {value}; a whole number ≥ 1 is needed")


def _numpy_allowed(*, use_numpy: bool | None) -> bool:
    if use_numpy is False:
        return False
    installed = find_spec("numpy") is not None
    if use_numpy and not installed:
        raise ConfigError("use_numpy=True needs numpy, which is not installed: pip install 'weft[analysis]'")
    return installed
