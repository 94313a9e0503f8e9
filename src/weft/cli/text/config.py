"""How `weft config` tells which settings are in force, where they come from, and what is approved."""

from collections.abc import Iterator, Sequence
from typing import Any

from weft.app.project.approval import ApprovalRequest, approve_command, change_lines
from weft.app.project.approval_book import Approval
from weft.app.project.configuration import Configuration, KeyExplained, ReadFile, SetValue
from weft.cli.text.explain import table, value_text

_WHAT = {"plan": "plan", "project": "project's configuration", "user": "user's configuration"}


def configured_lines(found: Configuration) -> Iterator[str]:
    plan = "without a plan" if found.plan is None else f"with the plan {found.plan}"
    yield f"In force here, {plan}:"
    yield from table([*found.settings(), *found.others()])


def configured_data(found: Configuration) -> dict[str, Any]:
    return {
        "plan": found.plan,
        "settings": [row.to_json() for row in found.settings()],
        "others": [row.to_json() for row in found.others()],
    }


def key_lines(one: KeyExplained) -> Iterator[str]:
    yield f"{one.name}: {one.key.doc}"
    yield f"  allowed: {one.key.kind.words}"
    if one.key.default is not None:
        yield f"  default: {one.key.default}"
    if one.variable is not None:
        yield f"  variable: {one.variable}"
    if one.places:
        yield "Set, the one that counts first:"
        yield from (_place_line(place, one.name) for place in one.places)
    else:
        yield "Nobody sets it here."


def _place_line(place: SetValue, key: str) -> str:
    """With its name, if the key is a mapping of names."""
    name = "" if place.row.name == key else f"{place.row.name}: "
    counts = "" if place.wins else " (does not count)"
    return f"  {name}{value_text(place.row.value, most=None)}  {place.row.origin}{counts}"


def key_data(one: KeyExplained) -> dict[str, Any]:
    default = one.key.default
    return {
        "name": one.name,
        "meaning": one.key.doc,
        "allowed": one.key.kind.words,
        "default": None if default is None else str(default),
        "variable": one.variable,
        "places": [{**place.row.to_json(), "counts": place.wins} for place in one.places],
    }


def file_lines(found: Sequence[ReadFile]) -> Iterator[str]:
    width = max(len(_WHAT[one.what]) for one in found)
    for one in found:
        yield f"{_WHAT[one.what]:<{width}}  {one.path}{'' if one.there else '  (not there)'}"


def file_data(one: ReadFile) -> dict[str, Any]:
    return {"what": one.what, "path": str(one.path), "there": one.there}


# --- approval ---


def approval_lines(known: Sequence[Approval]) -> Iterator[str]:
    for one in known:
        count = "1 command" if len(one.commands) == 1 else f"{len(one.commands):,} commands"
        yield f"{one.at}  {one.hash}  {count}  {one.project}"


def here_lines(here: ApprovalRequest | None) -> Iterator[str]:
    """How it is with the project around here."""
    if here is None:
        yield "this project's configuration names no commands"
    elif here.is_approved:
        yield f"{here.file} is approved: {here.hash}"
    else:
        yield f"{here.file} is not approved: {here.hash}"
        yield from change_lines(here)
        yield f"to approve this, type: {approve_command(here.project)}"


def approvals_data(here: ApprovalRequest | None, known: Sequence[Approval]) -> dict[str, Any]:
    return {
        "here": None
        if here is None
        else {
            "project": str(here.project),
            "file": here.file,
            "hash": here.hash,
            "approved": here.is_approved,
            "commands": [one.to_json() for one in here.commands],
        },
        "approvals": [
            {
                "project": one.project,
                "hash": one.hash,
                "at": one.at,
                "commands": [{"path": path, "value": value} for path, value in one.commands],
            }
            for one in known
        ],
    }
