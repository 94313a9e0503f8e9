"""The files of a project for decomposition: their paths, their beginnings, and which changed together.

In a repository these are the tracked files; elsewhere all files below the directory except those of tools.
Symbolic links count as files and are never followed, so there are no loops. An unreadable file is still a file of
the project: its references are unknown, and the result says so. A file that gives an agent no work, such as a
picture or a lock file, counts no tokens.
"""

import os
import re
import stat
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct, field, structs

from weft.app.decompose.file_history import history_of, words
from weft.app.decompose.generated_files import is_packed, is_signed, is_squeezed, marked_files
from weft.app.decompose.part_checks import is_test
from weft.app.project.files import failure
from weft.app.project.places import FOLDER, PLAN_NAMES
from weft.decompose.references.manifests import NAMES
from weft.decompose.references.signals import Source, bytes_to_read, is_read
from weft.errors import InputError
from weft.plan.order.globs import glob_fault, matches
from weft.workspaces.git.base.discovery import repository_around
from weft.workspaces.git.base.program import Git, GitError

_NOT_LOOKED_INTO = frozenset(
    {
        *(".git", ".hg", ".svn", FOLDER, "node_modules", "target", "__pycache__", ".venv", "venv", ".tox"),
        *(".mypy_cache", ".pytest_cache", ".ruff_cache"),
    }
)
_METADATA = re.compile(r"(?:^|/)[^/]+\.(?:egg-info|dist-info)/|(?:^|/)PKG-INFO$")
_OF_A_BARE_REPOSITORY = ("HEAD", "objects", "refs")
_SMALL = 2 * 1024  # smaller binary files do not matter
_SAMPLE = 8 * 1024
_LONGEST_MANIFEST = 1024 * 1024
_TOLD_EVERY = 1000

Watch = Callable[[str], None]
"""A function that is called with the current activity, now and then."""


class UnreadFile(Struct, frozen=True):
    path: str
    why: str


class SourceFiles(Struct, frozen=True, kw_only=True):
    """The paths of the files. `sources` reads their contents, one after the other."""

    root: Path
    """The directory that paths are relative to: the top of the repository, else the given directory."""
    paths: tuple[str, ...]
    beside: tuple[str, ...] = ()
    """Other files of the project, which are not selected."""
    commits: Sequence[Sequence[str]] = ()
    """The files that each of the last commits changed."""
    history_fault: str = ""
    """Why the history could not be read; empty if it could."""
    metadata: tuple[str, ...] = ()
    """Files in `beside` in which a build tool describes the package."""
    not_by_hand: Collection[str] = ()
    """Files that git attributes mark as generated or vendored."""
    unread: list[UnreadFile] = field(default_factory=list[UnreadFile])
    """Unreadable files. This list and the next ones grow while `sources` is read."""
    left_out: list[str] = field(default_factory=list[str])
    """Paths that are not files: deleted, another repository, or a pipe."""
    tests: list[str] = field(default_factory=list[str])
    """Files with a test."""

    def sources(self, watch: Watch = lambda _said: None) -> Iterator[Source]:
        most = bytes_to_read(len(self.paths))
        for number, path in enumerate(self.paths):
            if number % _TOLD_EVERY == 0:
                watch(f"reading files: {number:,} of {len(self.paths):,}")
            try:
                source = _source(f"{self.root}/{path}", path, most)
            except OSError as error:
                self.unread.append(UnreadFile(path, (error.strerror or str(error)).lower()))
                source = Source(path=path, size=0)
            if source is None:
                self.left_out.append(path)
                continue
            if is_test(path, source.text):
                self.tests.append(path)
            if path in self.not_by_hand:
                yield Source(path=path, size=0, text=source.text, is_asset=True)
            else:
                yield source
        watch("looking up what files refer to")

    def manifests(self) -> dict[str, bytes]:
        """Returns all manifests, selected or not: the name of a Go module is at the top of the repository."""
        contents = dict[str, bytes]()
        for path in (*self.paths, *self.beside):
            if path.rpartition("/")[2] in NAMES:
                try:
                    contents[path] = _beginning(f"{self.root}/{path}", _LONGEST_MANIFEST)
                except OSError:
                    continue  # a selected file is among the sources as well, and reported there
        return contents


def files_below(
    folder: Path, globs: Sequence[str], environ: Mapping[str, str], *, exclude: Sequence[str] = ()
) -> SourceFiles:
    """Returns the files that match one of `globs`, if any are given, and none of `exclude`.

    Raises `InputError` if there is no such directory, or no matching file.
    """
    for glob in (*globs, *exclude):
        if fault := glob_fault(glob):
            raise InputError(fault)
    try:
        place = Path(os.path.realpath(folder, strict=True))
        os.scandir(folder).close()
    except NotADirectoryError:
        raise InputError(f"{folder} is not a directory; write a pattern in quotes, after --files") from None
    except OSError as error:
        raise failure(f"cannot read {folder}", error) from None
    is_repository = repository_around(place) is not None
    files = _tracked_files(folder, environ) if is_repository else _files_without_git(folder, place)
    files = structs.replace(files, paths=tuple(path for path in files.paths if not _is_of_weft(path)))
    metadata = tuple(path for path in files.paths if _is_metadata(path))
    # If there is nothing but metadata, that is what the user wants to decompose.
    if len(metadata) < len(files.paths):
        sources = tuple(path for path in files.paths if not _is_metadata(path))
        files = structs.replace(files, paths=sources, beside=(*files.beside, *metadata), metadata=metadata)
    chosen = tuple(path for path in files.paths if is_meant(path, globs, exclude))
    if chosen:
        meant = frozenset(chosen)
        others = (path for path in files.paths if path not in meant)
        return structs.replace(files, paths=chosen, beside=(*files.beside, *others))
    if files.paths:
        raise InputError(_no_file_is_meant(folder, globs, exclude, files))
    raise InputError(
        f"git tracks no file in {folder}; to track files, type `git add`"
        if is_repository
        else f"there is no file in {folder}"
    )


def _is_metadata(path: str) -> bool:
    """Returns whether a build tool generates it beside the sources to describe the package."""
    return bool(_METADATA.search(path))


def _is_of_weft(path: str) -> bool:
    """Returns whether it is a plan, a configuration or another file of Weft, which no plan changes."""
    return f"/{FOLDER}/" in f"/{path}" or path.rpartition("/")[2] in PLAN_NAMES


def is_meant(path: str, globs: Sequence[str], exclude: Sequence[str]) -> bool:
    is_selected = not globs or any(matches(glob, path) for glob in globs)
    return is_selected and not any(matches(glob, path) for glob in exclude)


def _no_file_is_meant(folder: Path, globs: Sequence[str], exclude: Sequence[str], found: SourceFiles) -> str:
    """Returns the error message.

    Patterns are relative to the top of the repository, as in plans; a user in a subdirectory may not expect that.
    """
    inside = os.path.relpath(os.path.realpath(folder), os.path.realpath(found.root))
    only = " or ".join(globs) if globs else "**"
    problem = f"no file in {folder} matches {only}" + (f" without {' and '.join(exclude)}" if exclude else "")
    from_here = [f"{inside}/{glob}" for glob in globs]
    if any(is_meant(path, from_here, exclude) for path in found.paths if globs):
        return f"{problem}; patterns start at the top of the repository: type --files '{from_here[0]}'"
    return problem


# Without git


def _files_without_git(folder: Path, place: Path) -> SourceFiles:
    for above in (place, *place.parents):
        # Decomposing the objects of a bare repository would give a plan that destroys it.
        if all(os.path.lexists(above / name) for name in _OF_A_BARE_REPOSITORY):
            raise InputError(
                f"{folder} is in a git repository without checked-out files; name a checkout of it"
            )
    return SourceFiles(root=folder, paths=tuple(sorted(walk_files(folder))))


def walk_files(folder: Path) -> Iterator[str]:
    def unreadable(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError):  # it was deleted after it was listed
            raise failure(f"cannot read {error.filename}", error)

    begin = len(os.fspath(folder).rstrip("/")) + 1
    for place, folders, names in os.walk(folder, onerror=unreadable):
        links = [name for name in folders if os.path.islink(f"{place}/{name}")]  # noqa: PTH114 - as below
        folders[:] = [name for name in folders if name not in _NOT_LOOKED_INTO]
        yield from (f"{place.rstrip('/')}/{name}"[begin:] for name in (*names, *links))


# With git


def _tracked_files(folder: Path, environ: Mapping[str, str]) -> SourceFiles:
    git = Git(folder, environ=environ)
    try:
        root = Path(git.line("rev-parse", "--show-toplevel"))
        inside = git.line("rev-parse", "--show-prefix")
        top = git.at(root)
        # A file in conflict is listed three times.
        paths = sorted(set(top.fields("ls-files", "-z", "--cached")))
        not_by_hand = marked_files(top)
    except FileNotFoundError:
        raise InputError(f"{folder} is in a git repository, and there is no program git here") from None
    except GitError as error:
        raise InputError(f"git cannot list the files in {folder}: {words(error)}") from None
    history = history_of(git)
    return SourceFiles(
        root=root,
        paths=tuple(path for path in paths if path.startswith(inside)),
        beside=tuple(path for path in paths if not path.startswith(inside)),
        commits=history.commits,
        history_fault=history.fault,
        not_by_hand=not_by_hand,
    )


# The content of a file


def _source(file: str, path: str, most: int) -> Source | None:
    """Returns the source; None if it is not a file: a tracked path may be another repository, or deleted.

    Names are plain strings, because creating a `Path` for each would dominate the run time.
    """
    try:
        status = os.lstat(file)
    except (FileNotFoundError, NotADirectoryError):
        return None
    if stat.S_ISLNK(status.st_mode):
        return Source(path=path, size=0, is_asset=True)
    if not stat.S_ISREG(status.st_mode):
        return None
    if is_packed(path):
        return Source(path=path, size=0, is_asset=True)
    has_text = is_read(path)
    is_empty = status.st_size == 0  # such as an `__init__.py` that only marks a folder
    if not has_text and status.st_size < _SMALL:
        return Source(path=path, size=status.st_size, is_asset=is_empty)
    # `read` allocates as many bytes as requested, so no more than the file has are requested.
    text = _beginning(file, min(status.st_size + 1, most if has_text else _SAMPLE))
    if b"\0" in text or is_squeezed(text):  # no agent reads it
        return Source(path=path, size=0, is_asset=True)
    is_generated = is_signed(text)
    return Source(
        path=path,
        size=0 if is_generated else status.st_size,
        text=text if has_text else b"",
        is_asset=is_generated or is_empty,
    )


def _beginning(file: str, most: int) -> bytes:
    # `O_NONBLOCK`: the path may have become a pipe since `lstat`, and opening that would wait forever.
    descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        return os.read(descriptor, most)
    finally:
        os.close(descriptor)
