"""What a quick run knows of a subplan that has started, and of a request for room."""

from msgspec import Struct

from weft.engine.pools.lanes import Claims
from weft.forecast.quick.quick_tables import QuickMove, QuickWork


class QuickRequest(Struct, eq=False, gc=False):
    """A transition that waits for room in the pools."""

    subplan: "QuickSubplan"
    move: QuickMove
    claims: Claims
    with_slots: bool = False
    """Whether it asks for the slots of the slice as well."""


class QuickSubplan(Struct, eq=False, kw_only=True):
    """A slice, the own work of a group, or a landing, from its start to its end."""

    node: int
    """The row; a landing has the number of rows plus its own."""
    row: int
    is_slice: bool
    is_carried: bool
    """Whether an earlier run has completed it."""
    moves: list[QuickMove | None]
    works: dict[int, QuickWork]
    running: int = 0
    """How many executions are under way."""
    has_slots: bool = False
    has_lent: bool = False
    """Whether it has lent its slots to others while it waits."""
    hurries: bool = False
    """Whether its first request gets a hold-back."""
    arrived: dict[int, int] = {}
    """By transition with several inputs: the number of tokens that have arrived."""
    pools: dict[int, int] = {}
    """Its own pools: by place in its shape, the number in the allocator."""
    requests: dict[int, QuickRequest] = {}


class TroubleError(Exception):
    """The run needs rules that only the engine has."""
