"""Values of JSON that anybody may have sent: what is not of the kind that is wanted counts as nothing."""

from typing import Any, cast


def listed(value: object) -> list[Any]:
    return list(cast("list[object]", value)) if isinstance(value, list) else []


def table(value: object) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def tables(value: object) -> list[dict[str, Any]]:
    return [table(one) for one in listed(value)]
