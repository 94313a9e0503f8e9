"""Operations on paths inside the set of files. Paths are strings with `/`."""

from collections.abc import Iterator, Sequence
from posixpath import join, normpath


def folder_of(path: str) -> str:
    return path.rpartition("/")[0]


def resolve_path(folder: str, path: str) -> str:
    """Joins and normalizes a path; the top is an empty string. A path that leaves the set matches no file."""
    resolved = normpath(join(folder, path))
    return "" if resolved == "." else resolved


def folder_with_parents(folder: str) -> Iterator[str]:
    """Yields the folder and its parents up to the top, which is an empty string."""
    while folder:
        yield folder
        folder = folder_of(folder)
    yield ""


def inside(folder: str, path: str) -> str:
    return f"{folder}/{path}" if folder else path


def ends_with_path(path: str, end: str) -> bool:
    return path == end or path.endswith("/" + end)


def find_nearest(path: str, candidates: Sequence[str]) -> str | None:
    """Returns the candidate that shares the most folders with the path; None if two share as many."""
    if len(candidates) <= 1:
        return candidates[0] if candidates else None
    ranked = sorted(
        ((_count_shared_folders(path, candidate), candidate) for candidate in candidates), reverse=True
    )
    return ranked[0][1] if ranked[0][0] > ranked[1][0] else None


def _count_shared_folders(first: str, second: str) -> int:
    shared = 0
    for first_name, second_name in zip(first.split("/"), second.split("/"), strict=False):
        if first_name != second_name:
            break
        shared += 1
    return shared
