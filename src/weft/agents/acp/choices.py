"""What can be chosen in a conversation before the prompt: a model, and a mode in which nothing is written. Pure.

There are two ways to say it: lists of their own (`modes`, `models`), which came first, and options of all kinds
(`configOptions`), of which some are marked as the same thing.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from weft.agents.streams import inside, objects

CAUTIOUS = ("plan", "read-only", "read_only", "smart_approve", "approve", "ask", "default")
"""Modes by their names, those that write least first; the last of them ask before they write."""


class Choice(NamedTuple):
    method: str
    params: Mapping[str, Any]
    """Besides the conversation."""
    is_optional: bool = False
    """The work can be done without it."""


class Offer(NamedTuple):
    """Something that can be chosen."""

    values: tuple[str, ...]
    current: str | None
    method: str
    key: str
    params: Mapping[str, Any]

    def of(self, value: str) -> Choice | None:
        """None if it is so already."""
        return None if value == self.current else Choice(self.method, {**self.params, self.key: value})


def offers(session: object, what: str) -> list[Offer]:
    """For `model` or `mode`, of the answer to who begins a conversation."""
    found = list(_options(session, what))
    plural, one = f"{what}s", f"{what.capitalize()}s"
    listed = objects(inside(session, plural, f"available{one}"))
    key = "modelId" if what == "model" else "id"
    if listed:
        current = inside(session, plural, f"current{what.capitalize()}Id")
        found.append(Offer(_texts(listed, key), current, f"session/set_{what}", f"{what}Id", {}))
    return found


def _options(session: object, what: str) -> Iterator[Offer]:
    for option in objects(inside(session, "configOptions")):
        if what in (option.get("category"), option.get("id")) and isinstance(option.get("id"), str):
            groups = objects(option.get("options"))
            values = [*groups, *(one for group in groups for one in objects(group.get("options")))]
            yield Offer(
                _texts(values, "value"),
                option.get("currentValue"),
                "session/set_config_option",
                "value",
                {"configId": option["id"]},
            )


def _texts(listed: list[Mapping[str, Any]], key: str) -> tuple[str, ...]:
    return tuple(one[key] for one in listed if isinstance(one.get(key), str))


def cautious(session: object) -> Choice | None:
    """The mode for who may only read; None if there is none, or if it is that already."""
    for name in CAUTIOUS:
        for offer in offers(session, "mode"):
            if name in offer.values:
                choice = offer.of(name)
                return None if choice is None else choice._replace(is_optional=True)
    return None
