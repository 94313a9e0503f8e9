"""Choices before the prompt: a model, and a mode that does not write. Pure.

Servers offer them in two ways: in the older lists `modes` and `models`, and in `configOptions`, where a category
marks the options that are a model or a mode.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from weft.agents.shared.streams import list_objects, value_at

CAUTIOUS = ("plan", "read-only", "read_only", "smart_approve", "approve", "ask", "default")
"""Names of modes, the most restrictive first. The last ones ask before they write."""


class SessionChoice(NamedTuple):
    """A request that selects a model or a mode."""

    method: str
    params: Mapping[str, Any]
    """The parameters except the session id."""
    is_optional: bool = False
    """Whether the work can continue if the server rejects the request."""


class Offer(NamedTuple):
    """The values of a setting, and the request that changes it."""

    values: tuple[str, ...]
    current: str | None
    method: str
    key: str
    params: Mapping[str, Any]

    def choose(self, value: str) -> SessionChoice | None:
        """Returns the request that selects the value; None if it is selected already."""
        return None if value == self.current else SessionChoice(self.method, {**self.params, self.key: value})


def list_offers(session: object, setting: str) -> list[Offer]:
    """Returns the offers for `model` or `mode` in the server's response to `session/new` and its siblings."""
    offers = list(_offers_from_options(session, setting))
    plural, capitalized = f"{setting}s", f"{setting.capitalize()}s"
    entries = list_objects(value_at(session, plural, f"available{capitalized}"))
    key = "modelId" if setting == "model" else "id"
    if entries:
        current = value_at(session, plural, f"current{setting.capitalize()}Id")
        offers.append(Offer(_values_of(entries, key), current, f"session/set_{setting}", f"{setting}Id", {}))
    return offers


def _offers_from_options(session: object, setting: str) -> Iterator[Offer]:
    for option in list_objects(value_at(session, "configOptions")):
        if setting in (option.get("category"), option.get("id")) and isinstance(option.get("id"), str):
            entries = list_objects(option.get("options"))
            # Entries may be grouped, one level deep.
            all_entries = [
                *entries,
                *(entry for group in entries for entry in list_objects(group.get("options"))),
            ]
            yield Offer(
                _values_of(all_entries, "value"),
                option.get("currentValue"),
                "session/set_config_option",
                "value",
                {"configId": option["id"]},
            )


def _values_of(entries: list[Mapping[str, Any]], key: str) -> tuple[str, ...]:
    return tuple(entry[key] for entry in entries if isinstance(entry.get(key), str))


def choose_cautious_mode(session: object) -> SessionChoice | None:
    """Returns the choice of the most restrictive mode; None if there is none, or if it is selected already."""
    for name in CAUTIOUS:
        for offer in list_offers(session, "mode"):
            if name in offer.values:
                choice = offer.choose(name)
                return None if choice is None else choice._replace(is_optional=True)
    return None
