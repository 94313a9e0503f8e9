"""What the tests of the allocator share."""

from hypothesis import strategies as st

from weft.engine.pools.allocator import Allocator
from weft.engine.pools.lanes import Claims

NEVER = 10**9
"""So much patience that room is never kept for anybody."""

SEEDS = st.integers(0, 2**32)

NARROW: Claims = ((0, 1),)
WIDE: Claims = ((0, 2),)


def grants(allocator: Allocator) -> list[int]:
    """The tickets of all that can be granted now, in the order in which they are."""
    granted: list[int] = []
    while (ticket := allocator.next()) is not None:
        granted.append(ticket)
    return granted
