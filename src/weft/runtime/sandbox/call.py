"""The call of bubblewrap for a view of the file system. Pure.

A view is a list of places, each with an access. Places are mounted from the root downwards, so the deepest place
that contains a file decides about it. Every other file can be read.

Processes inside have no privileges, not even those of root, see only each other, and end with the first of them.
They run as the same user as outside and cannot become another.
"""

from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum

from msgspec import Struct


class PathAccess(StrEnum):
    EMPTY = "empty"
    """A directory that contains only other places; nothing can be created in it."""
    SCRATCH = "scratch"
    """A private directory, empty but for other places; files created in it are gone at the end."""
    BLANK = "blank"
    """A file that cannot be opened."""
    READ = "read"
    WRITE = "write"
    LINK = "link"
    """A symbolic link."""
    COVERED = "covered"
    """A file that is replaced by another one, which can be read."""


class SandboxPath(Struct, frozen=True):
    path: str
    """Absolute, and without symbolic links."""
    seen: PathAccess
    leads_to: str = ""
    """The target of a link; for a covered file, the file in its place."""


class SandboxCall(Struct, frozen=True, kw_only=True):
    program: str
    """The path of bubblewrap."""
    places: tuple[SandboxPath, ...]
    """If a path occurs twice, the last one counts."""
    network: bool = True
    cwd: str


_DEVICES = "/dev/"
NAMESPACES = ("--unshare-user", "--unshare-pid", "--unshare-ipc")
NO_NETWORK = "--unshare-net"
# --die-with-parent: if the supervisor is killed, nothing in the sandbox survives it.
BASE_MOUNTS = (
    "--cap-drop",
    "ALL",
    "--die-with-parent",
    "--ro-bind",
    "/",
    "/",
    "--dev",
    "/dev",
    "--proc",
    "/proc",
)


def bwrap_argv(box: SandboxCall, command: Sequence[str]) -> tuple[str, ...]:
    """Returns the command line that runs the command in the sandbox."""
    places = _from_the_root(box.places)
    return (
        box.program,
        *NAMESPACES,
        *(() if box.network else (NO_NETWORK,)),
        *BASE_MOUNTS,
        *(part for place in places for part in _mount(place)),
        # Remounted last, because bubblewrap creates the mount points inside them first.
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
    """Returns one place for each path, outer places before inner ones."""
    # Mounts are applied in order, and a mount hides what was mounted below its path before. So outer places
    # come first.
    last = {place.path.rstrip("/"): place for place in places}
    return [last[path] for path in sorted(last, key=lambda path: (path.count("/"), path))]


def _mount(place: SandboxPath) -> Iterator[str]:
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
    """Returns whether `path` is `outer` or inside it."""
    return path == outer or path.startswith(outer if outer.endswith("/") else f"{outer}/")


def seen_at(places: Iterable[SandboxPath], path: str) -> PathAccess | None:
    """Returns the access of the deepest place that contains the path; None if there is none."""
    around = [place for place in _from_the_root(places) if holds(place.path, path)]
    return around[-1].seen if around else None
