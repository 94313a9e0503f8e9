"""Read untrusted JSON values. A value of an unexpected type counts as empty."""

from typing import Any, cast


def list_of(value: object) -> list[Any]:
    return list(cast("list[object]", value)) if isinstance(value, list) else []


def table(value: object) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def tables(value: object) -> list[dict[str, Any]]:
    return [table(entry) for entry in list_of(value)]
