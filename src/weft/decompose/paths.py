"""Paths of files inside the set: plain text, with `/`."""

from collections.abc import Iterator, Sequence
from posixpath import join, normpath


def folder_of(path: str) -> str:
    return path.rpartition("/")[0]


def below(folder: str, path: str) -> str:
    """Without `.` and `..`; empty for the top. What leaves the set is found nowhere in it."""
    found = normpath(join(folder, path))
    return "" if found == "." else found


def around(folder: str) -> Iterator[str]:
    """It and those it is in, up to the top, which is empty."""
    while folder:
        yield folder
        folder = folder_of(folder)
    yield ""


def inside(folder: str, path: str) -> str:
    return f"{folder}/{path}" if folder else path


def ends(path: str, end: str) -> bool:
    return path == end or path.endswith("/" + end)


def nearest(path: str, found: Sequence[str]) -> str | None:
    """What has the longest way in common; none if two have."""
    if len(found) <= 1:
        return found[0] if found else None
    ranked = sorted(((_shared(path, other), other) for other in found), reverse=True)
    return ranked[0][1] if ranked[0][0] > ranked[1][0] else None


def _shared(one: str, other: str) -> int:
    shared = 0
    for mine, yours in zip(one.split("/"), other.split("/"), strict=False):
        if mine != yours:
            break
        shared += 1
    return shared
