"""Values of JSON that a server sent: what is not of the kind that is wanted counts as nothing."""

from typing import Any, cast


def table(value: object) -> dict[str, Any]:
    return dict(cast("dict[str, object]", value)) if isinstance(value, dict) else {}


def tables(value: object) -> list[dict[str, Any]]:
    return [table(one) for one in cast("list[object]", value)] if isinstance(value, list) else []


def text(value: object) -> str:
    """JSON can hold halves of characters, and files cannot."""
    return value.encode(errors="replace").decode() if isinstance(value, str) else ""


def count(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def amount(value: object) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and 0 <= value < 10**6 else None  # type: ignore[operator, arg-type]
