"""The newest forecast of a run, as views show it."""

from msgspec import Struct


class FinishForecast(Struct, frozen=True, kw_only=True):
    """When a run will be over and what it will have cost, as P50 and P90."""

    at: float
    """When it was computed."""
    finish: tuple[float, float]
    cost: tuple[int, int]
    """The spending of the whole run by then; zeros if nothing costs anything, or its price is unknown."""
