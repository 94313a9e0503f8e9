"""What servers say, piece by piece: permissions, things to choose, words."""

from typing import Any

import pytest

from weft.agents.acp.choices import CAUTIOUS, SessionChoice, choose_cautious_mode, list_offers
from weft.agents.acp.last_message import LONGEST, LastMessage
from weft.agents.acp.permissions import CANCELLED, READING, choose_option, is_allowed

# --- permissions ---


def options(*kinds: object) -> dict[str, Any]:
    return {"options": [{"optionId": f"the {kind}", "kind": kind} for kind in kinds]}


@pytest.mark.parametrize(
    ("allowed", "kinds", "option"),
    [
        (True, ("reject_once", "allow_always", "allow_once"), "the allow_once"),
        (True, ("reject_once", "allow_always"), "the allow_always"),
        (False, ("allow_once", "reject_always", "reject_once"), "the reject_once"),
        (False, ("allow_once", "reject_always"), "the reject_always"),
    ],
)
def test_what_binds_least_is_chosen(allowed: bool, kinds: tuple[str, ...], option: str) -> None:
    assert choose_option(options(*kinds), allowed=allowed) == {
        "outcome": {"outcome": "selected", "optionId": option}
    }


@pytest.mark.parametrize("params", [options("allow_once"), {"options": [{"kind": "reject_once"}]}, {}, None])
def test_if_nothing_says_it_nothing_is_chosen(params: object) -> None:
    assert choose_option(params, allowed=False) == CANCELLED


def test_reading_is_always_allowed_and_the_rest_only_if_one_may_write() -> None:
    assert all(is_allowed(kind, read_only=True) for kind in READING)
    others: tuple[object, ...] = ("edit", "switch_mode", None, [], {})
    assert not any(is_allowed(kind, read_only=True) for kind in others)
    assert is_allowed(None, read_only=False)


# --- choices ---

GROUPS = [{"group": "g", "options": [{"value": "a"}, {"value": "b"}]}, {"group": "h", "options": None}]


def test_options_are_found_by_their_category_or_name_also_in_groups() -> None:
    session = {
        "configOptions": [
            {"id": "llm", "category": "model", "currentValue": "a", "options": GROUPS},
            {"id": "model", "options": [{"value": "c"}, {"value": 5}]},
            {"id": "other", "options": [{"value": "d"}]},
            {"id": 5, "category": "model"},
        ]
    }
    offers = list_offers(session, "model")
    assert [offer.values for offer in offers] == [("a", "b"), ("c",)]
    assert offers[0].choose("b") == SessionChoice(
        "session/set_config_option", {"configId": "llm", "value": "b"}
    )
    assert offers[0].choose("a") is None


def modes(*names: str, current: str = "") -> dict[str, Any]:
    return {"modes": {"currentModeId": current, "availableModes": [{"id": name} for name in names]}}


def test_the_most_cautious_mode_is_preferred() -> None:
    for worse, better in zip(CAUTIOUS[1:], CAUTIOUS[:-1], strict=True):
        assert choose_cautious_mode(modes("yolo", worse, better)) == SessionChoice(
            "session/set_mode", {"modeId": better}, is_optional=True
        )


@pytest.mark.parametrize("session", [modes("yolo"), modes("plan", "ask", current="plan"), {}, None])
def test_where_there_is_no_better_one_the_mode_stays(session: object) -> None:
    assert choose_cautious_mode(session) is None


# --- words ---


def said(*pieces: tuple[object, object]) -> str:
    words = LastMessage()
    for text, message in pieces:
        words.add(text, message)
    return words.text


def test_pieces_of_one_message_belong_together() -> None:
    assert said(("a", None), ("b", None)) == "ab"
    assert said(("a", "m"), ("b", "m"), ("", "n"), (5, "n")) == "ab"


def test_another_message_starts_empty() -> None:
    assert said(("a", "m"), ("b", "n")) == "b"


def test_a_long_line_is_shortened() -> None:
    assert said(("a" * LONGEST, None), ("b", None)) == "a" * LONGEST


def test_halves_of_characters_do_no_harm() -> None:
    assert said(("\ud800", None)) == "?"
