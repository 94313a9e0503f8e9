"""Ids: Weft's are `[a-z0-9][a-z0-9_-]{0,63}`; what does not fit is changed, and no two become the same."""

import re
from collections.abc import Iterable

from weft.plan.language.values import ID_PATTERN

LONGEST = 64
_FITS = re.compile(ID_PATTERN)


def fitting_ids(names: Iterable[str], *, otherwise: str) -> dict[str, str]:
    """An id for each name: itself if it fits, else one made of it, or of `otherwise`, that no other name has."""
    every = list(names)
    ids = {name: name for name in every if _FITS.fullmatch(name)}
    for name in every:
        if name not in ids:
            ids[name] = free_id(_fitted(name) or otherwise, ids.values())
    return {name: ids[name] for name in every}


def fitting_id(name: str, *, otherwise: str) -> str:
    return fitting_ids([name], otherwise=otherwise)[name]


def free_id(wanted: str, used: Iterable[str]) -> str:
    """The id, or it with the first number that makes it new."""
    taken, number, found = set(used), 2, wanted
    while found in taken:
        end = f"-{number}"
        found, number = wanted[: LONGEST - len(end)] + end, number + 1
    return found


def _fitted(name: str) -> str:
    return re.sub(r"[^a-z0-9_-]", "-", name.lower()).lstrip("_-")[:LONGEST]
