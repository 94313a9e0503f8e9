"""Read JSON values that a server sent. A value of an unexpected type counts as empty, zero or None."""

from typing import Any, cast


def as_object(value: object) -> dict[str, Any]:
    return dict(cast("dict[str, object]", value)) if isinstance(value, dict) else {}


def as_objects(value: object) -> list[dict[str, Any]]:
    return [as_object(entry) for entry in cast("list[object]", value)] if isinstance(value, list) else []


def as_text(value: object) -> str:
    """Returns a string that can be encoded as UTF-8: JSON may contain lone surrogates, and files may not."""
    return value.encode(errors="replace").decode() if isinstance(value, str) else ""


def as_count(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def as_amount(value: object) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and 0 <= value < 10**6 else None  # type: ignore[operator, arg-type]
