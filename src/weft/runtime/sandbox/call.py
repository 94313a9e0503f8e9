"""The call of bubblewrap for a view of the file system. Pure.

A view is a list of places, each with how it is seen. They are laid over each other from the root downwards, so the
deepest place that holds a file decides about it. All else is there to be read.

What is inside has no privileges, whoever we are, sees only its own processes, and ends with the first of them. Its
user is the same as outside; nobody can become another.
"""

from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum

from msgspec import Struct


class PathAccess(StrEnum):
    EMPTY = "empty"
    """A directory with nothing in it but what other places put there; nothing can be made in it."""
    SCRATCH = "scratch"
    """The same, but one's own: what is made in it is gone in the end."""
    BLANK = "blank"
    """A file that cannot be opened."""
    READ = "read"
    WRITE = "write"
    LINK = "link"
    """A symbolic link."""
    COVERED = "covered"
    """A file, in whose place another one can be read."""


class SandboxPath(Struct, frozen=True):
    path: str
    """Absolute, and without symbolic links."""
    seen: PathAccess
    leads_to: str = ""
    """Of a link; of what is covered, the other file."""


class SandboxCall(Struct, frozen=True, kw_only=True):
    program: str
    """bubblewrap."""
    places: tuple[SandboxPath, ...]
    """Of one path, the last counts."""
    network: bool = True
    cwd: str


_DEVICES = "/dev/"
NAMESPACES = ("--unshare-user", "--unshare-pid", "--unshare-ipc")
NO_NETWORK = "--unshare-net"
GROUND = ("--cap-drop", "ALL", "--die-with-parent", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc")


def bwrap_argv(box: SandboxCall, command: Sequence[str]) -> tuple[str, ...]:
    """The command, in the box."""
    places = _from_the_root(box.places)
    return (
        box.program,
        *NAMESPACES,
        *(() if box.network else (NO_NETWORK,)),
        *GROUND,
        *(part for place in places for part in _laid(place)),
        # Only now, as the places in it had to be made first.
        *(
            part
            for place in places
            if place.seen is PathAccess.EMPTY
            for part in ("--remount-ro", place.path)
        ),
        "--chdir",
        box.cwd,
        "--",
        *command,
    )


def _from_the_root(places: Iterable[SandboxPath]) -> list[SandboxPath]:
    """One for each path, those that hold others before them."""
    last = {place.path.rstrip("/"): place for place in places}
    return [last[path] for path in sorted(last, key=lambda path: (path.count("/"), path))]


def _laid(place: SandboxPath) -> Iterator[str]:
    path = place.path
    match place.seen:
        case PathAccess.EMPTY | PathAccess.SCRATCH:
            yield from ("--tmpfs", path)
        case PathAccess.BLANK:
            yield from ("--ro-bind", "/dev/null", path)
        case PathAccess.READ:
            yield from ("--ro-bind", path, path)
        case PathAccess.WRITE:
            yield from ("--dev-bind" if path.startswith(_DEVICES) else "--bind", path, path)
        case PathAccess.LINK:
            yield from ("--symlink", place.leads_to, path)
        case PathAccess.COVERED:
            yield from ("--ro-bind", place.leads_to, path)


def holds(outer: str, path: str) -> bool:
    """Whether a path is a place, or in it."""
    return path == outer or path.startswith(outer if outer.endswith("/") else f"{outer}/")


def seen_at(places: Iterable[SandboxPath], path: str) -> PathAccess | None:
    """How a path is seen that is no place itself: as the deepest that holds it; None if none does."""
    around = [place for place in _from_the_root(places) if holds(place.path, path)]
    return around[-1].seen if around else None
