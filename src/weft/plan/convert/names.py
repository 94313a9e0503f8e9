"""Ids of Weft match `[a-z0-9][a-z0-9_-]{0,63}`. Names that do not are changed, and stay distinct."""

import re
from collections.abc import Iterable

from weft.plan.language.values import ID_PATTERN

LONGEST = 64
_FITS = re.compile(ID_PATTERN)


def valid_ids(names: Iterable[str], *, otherwise: str) -> dict[str, str]:
    """Returns a unique id for each name: the name if it is valid, or one made of it or of `otherwise`."""
    every = list(names)
    # Valid names are kept, so that made-up ids never take one of them.
    ids = {name: name for name in every if _FITS.fullmatch(name)}
    for name in every:
        if name not in ids:
            ids[name] = free_id(_normalize(name) or otherwise, ids.values())
    return {name: ids[name] for name in every}


def valid_id(name: str, *, otherwise: str) -> str:
    return valid_ids([name], otherwise=otherwise)[name]


def free_id(proposed: str, used: Iterable[str]) -> str:
    """Returns the id, with the first number that makes it unique if necessary."""
    used_ids, number, candidate = set(used), 2, proposed
    while candidate in used_ids:
        end = f"-{number}"
        candidate, number = proposed[: LONGEST - len(end)] + end, number + 1
    return candidate


def _normalize(name: str) -> str:
    return re.sub(r"[^a-z0-9_-]", "-", name.lower()).lstrip("_-")[:LONGEST]
