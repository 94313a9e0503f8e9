"""The view of the file system that a step in a sandbox has.

Hidden are the user's home, /run with the sockets and keys of services, and Weft's files of other slices. The
directories for temporary files are private. Visible inside them is what a step needs: its workspace, its home, the
directory of its report, the project's checkout, and the programs of its PATH. The settings of the plan come last.
"""

import os
import pwd
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from weft.plan.sandbox import Sandbox
from weft.runtime.sandbox.call import PathAccess, SandboxPath, seen_at
from weft.runtime.sandbox.git import git_places, top_of
from weft.runtime.sandbox.programs import is_hidden, program_folders

PRIVATE = (Path("/tmp"), Path("/var/tmp"))  # noqa: S108 - each sandbox has its own
_RUN = Path("/run")
_OF_RUN = tuple(
    _RUN / name
    for name in (
        "systemd/resolve",
        "resolvconf",
        "NetworkManager",
        "current-system",
        "booted-system",
        "wrappers",
    )
)
"""Visible parts of /run: the resolver of host names, and the programs of NixOS."""


class SandboxContext(Struct, frozen=True, kw_only=True):
    """The directories that are the same for all steps of a run."""

    homes: tuple[Path, ...]
    """The user's homes, resolved."""
    project: Path
    weft: Path
    plan_dir: Path

    @property
    def hidden(self) -> tuple[Path, ...]:
        return (*self.homes, *PRIVATE, _RUN)


class StepNeeds(Struct, frozen=True, kw_only=True):
    """The directories and programs of one step."""

    workspace: Path
    home: Path
    output: Path
    """The directory for its report and other files of its agent."""
    programs: tuple[str, ...]
    """The programs that the step starts."""
    search: str
    """Its PATH."""


def users_homes(environ: Mapping[str, str]) -> tuple[Path, ...]:
    """Returns the resolved homes of the user. The root directory is left out: hiding it would hide everything."""
    candidates = [environ.get("HOME", "")]
    with suppress(KeyError):  # the user has no entry in the system's database
        candidates.append(pwd.getpwuid(os.getuid()).pw_dir)
    homes = (Path(home).resolve() for home in candidates if home.startswith("/"))
    return tuple(dict.fromkeys(home for home in homes if home != Path("/") and home.is_dir()))


def view(context: SandboxContext, needs: StepNeeds, sandbox: Sandbox) -> tuple[SandboxPath, ...]:
    """Returns the existing places of the view.

    Of two places with the same path the later one counts, so the order below is from general to specific.
    """
    programs = program_folders(needs.search, needs.programs, context.hidden)
    visible = (context.project, context.plan_dir)
    top = top_of(needs.workspace.resolve())
    writable = (top, needs.home, needs.output)
    requested = tuple(_requested_paths(sandbox, needs.workspace, context.homes))
    places = [
        *_real(context.homes, PathAccess.EMPTY),
        *_real(PRIVATE, PathAccess.SCRATCH),
        *_real((_RUN,), PathAccess.EMPTY),
        *_real((*_OF_RUN, *_apart(programs, writable), *visible), PathAccess.READ),
        # After the project, which contains it: the files of other slices and runs are hidden.
        *_real((context.weft,), PathAccess.EMPTY),
        *_real(writable, PathAccess.WRITE),
        *_existing(git_places(top)),
        *(place for path, access in requested for place in _real((path,), _hiding(path, access))),
        # Once more, after the plan's settings: `sandbox.read: /` in a plan must not uncover the repository, nor
        # make the clone read-only.
        *_existing(place for place in git_places(top) if place.seen is not PathAccess.READ),
    ]
    ways = (*programs, *visible, needs.workspace, *writable, *(path for path, _ in requested))
    return (*places, *_links(ways, places, context.hidden))


def _apart(paths: Iterable[Path], from_these: Sequence[Path]) -> Iterator[Path]:
    """Yields the paths in none of these directories, so that a writable directory does not become read-only."""
    for path in paths:
        if not any(path.resolve().is_relative_to(folder.resolve()) for folder in from_these):
            yield path


def _real(paths: Iterable[Path], access: PathAccess) -> Iterator[SandboxPath]:
    return _existing(SandboxPath(str(path.resolve()), access) for path in paths)


def _existing(places: Iterable[SandboxPath]) -> Iterator[SandboxPath]:
    return (place for place in places if os.path.lexists(place.path))


def _requested_paths(
    sandbox: Sandbox, workspace: Path, homes: Sequence[Path]
) -> Iterator[tuple[Path, PathAccess]]:
    """Yields the places that the plan sets. The strictest access comes last, so it counts for a path set twice."""
    for access, paths in (
        (PathAccess.WRITE, sandbox.write),
        (PathAccess.READ, sandbox.read),
        (PathAccess.EMPTY, sandbox.hide),
    ):
        for written in paths:
            if written.startswith("~"):
                yield from ((home / written[1:].lstrip("/"), access) for home in homes[:1])
            elif written.startswith("/") or _stays_in(workspace, written):
                yield workspace / written, access


def _stays_in(workspace: Path, written: str) -> bool:
    """Returns whether the path stays in the workspace.

    A link that a step has created there must not make anything else visible.
    """
    return (workspace / written).resolve().is_relative_to(workspace.resolve())


def _hiding(path: Path, access: PathAccess) -> PathAccess:
    return PathAccess.BLANK if access is PathAccess.EMPTY and not path.is_dir() else access


def _links(
    paths: Iterable[Path], places: Sequence[SandboxPath], hidden: Sequence[Path]
) -> Iterator[SandboxPath]:
    """Yields the hidden symbolic links that lead to visible places."""
    for path in paths:
        for step in (*reversed(path.parents), path):
            if step.is_symlink() and is_hidden(step.parent, hidden):
                at = str(step.parent.resolve() / step.name)
                if seen_at(places, at) in {PathAccess.EMPTY, PathAccess.SCRATCH}:
                    yield SandboxPath(at, PathAccess.LINK, str(step.readlink()))
