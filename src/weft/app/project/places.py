"""The files of Weft in a project, all below its directory `.weft`.

.weft/
  weft.db             the journal
  coordinator.lock    held by the process that may write the journal
  coordinator.log     output of a coordinator in the background; .1, .2, .3 are older
  config.yaml         the project's settings; committed to git
  notify.log          notifications that could not be delivered
  schema.json         the schema of plans, for editors; committed to git, as plans refer to it
  run/                a status file for each subplan, for people and scripts
  runs/<run>/logs/    output of steps
  runs/<run>/host/    files of the supervisor
  runs/<run>/hosts/   what is known of other machines, for each host
  runs/<run>/homes/   home directories of steps that have their own
  runs/<run>/gathered exists once the results of the run have been gathered
  workspaces/<plan>/  the workspaces of slices
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from shlex import quote

from msgspec import Struct

from weft.app.project.files import failure
from weft.errors import InputError
from weft.safe_files import Tree, read_text
from weft.workspaces.git.base.discovery import has_repository, repository_around

FOLDER = ".weft"
PLAN_NAMES = ("weft.yaml", "weft.yml")
"""The usual names of a plan, for commands without a file argument."""
_WITHOUT_LINKS = (FOLDER, *(f"{FOLDER}/{name}" for name in ("run", "runs", "workspaces", "worktrees")))
_MAY_BE_LINKS = frozenset({f"{FOLDER}/config.yaml", f"{FOLDER}/schema.json"})
"""Files that Weft only reads."""
IGNORED = (
    "# Git keeps the settings and the schema, and nothing else in here.\n*\n!config.yaml\n!schema.json\n"
)
"""The text of `.weft/.gitignore`."""
_EARLIER_IGNORED = frozenset({"# Nothing in here belongs into git but the settings.\n*\n!config.yaml\n"})
"""The texts that earlier versions wrote."""


class Places(Struct, frozen=True):
    project: Path

    @property
    def weft(self) -> Path:
        return self.project / FOLDER

    @property
    def journal(self) -> Path:
        return self.weft / "weft.db"

    @property
    def log(self) -> Path:
        return self.weft / "coordinator.log"

    @property
    def status(self) -> Path:
        return self.weft / "run"

    def logs(self, run: str) -> Path:
        return self.weft / "runs" / run / "logs"

    def host(self, run: str) -> Path:
        return self.weft / "runs" / run / "host"

    def other_hosts(self, run: str) -> Path:
        """Holds a directory for each host that is other machines."""
        return self.weft / "runs" / run / "hosts"

    def homes(self, run: str) -> Path:
        return self.weft / "runs" / run / "homes"

    def gathered(self, run: str) -> Path:
        """The marker file that exists once the results of the run have been gathered."""
        return self.weft / "runs" / run / "gathered"

    def start_forecast(self, run: str) -> Path:
        """The forecast with which the run started."""
        return self.weft / "runs" / run / "start-forecast.json"

    def outlook(self, run: str) -> Path:
        """The newest forecast of the run."""
        return self.weft / "runs" / run / "forecast.json"

    def work(self, plan: str) -> Path:
        return self.weft / "workspaces" / plan

    @property
    def ignore(self) -> Path:
        return self.weft / ".gitignore"

    @property
    def ignores_too_much(self) -> bool:
        """Whether `.gitignore` is as an earlier version wrote it."""
        try:
            return read_text(self.ignore) in _EARLIER_IGNORED
        except (OSError, UnicodeDecodeError):
            return False

    def make(self) -> None:
        """Creates the directory with its `.gitignore`; keeps a `.gitignore` that the user has changed.

        A clone can bring a `.weft` with any content, so symbolic links are refused where Weft writes.
        """
        if os.path.lexists(self.weft) and not self.weft.is_dir():
            raise InputError(
                f"{self.weft} is not a directory, but Weft needs a directory of that name; move it away"
            )
        refuse_link(self.weft)
        tree = Tree(self.project)
        try:
            tree.make(FOLDER)
            for link in self.links():
                refuse_link(link)
            if self.ignores_too_much or not os.path.lexists(self.ignore):
                tree.replace(f"{FOLDER}/.gitignore", IGNORED.encode())
        except OSError as error:
            raise failure(f"cannot make {self.weft}", error) from None

    def links(self) -> Iterator[Path]:
        """Yields the symbolic links where Weft writes; no command that writes follows them."""
        if self.weft.is_symlink():
            yield self.weft
            return
        tree = Tree(self.project)
        # Two levels are enough: everything below them is opened with `safe_files`, which follows no links at all.
        for folder in _WITHOUT_LINKS:
            if not (self.project / folder).is_symlink():
                paths = (f"{folder}/{name}" for name in tree.names(folder))
                yield from (self.project / path for path in paths if self._is_unwanted_link(path))

    def _is_unwanted_link(self, path: str) -> bool:
        return path not in _MAY_BE_LINKS and (self.project / path).is_symlink()


def refuse_link(path: Path) -> None:
    """Raises `InputError` if it is a symbolic link."""
    if path.is_symlink():
        raise InputError(
            f"{path} is a symbolic link, which Weft does not follow, because it could lead to any file of yours; "
            f"to remove the link, type: rm {quote(str(path))}"
        )


def project_around(folder: Path) -> Path | None:
    """Returns the nearest directory, upwards, that has `.weft` or is the top of a repository."""
    places = (folder, *folder.parents)
    return next((place for place in places if os.path.lexists(place / FOLDER) or has_repository(place)), None)


def project_of(folder: Path) -> Places:
    """Returns the project around a plan's directory; without one, the directory itself."""
    return Places(project_around(folder) or folder)


def find_used_project(folder: Path) -> Places:
    """Returns the project that has a journal; raises `InputError` if there is none."""
    # The user may stand in a worktree of a slice, which can lie outside the project.
    for place in (folder, *folder.parents, *_main_checkout(folder)):
        if os.path.lexists(place / FOLDER / "weft.db"):
            refuse_link(place / FOLDER)
            refuse_link(place / FOLDER / "weft.db")
            return Places(place)
    raise InputError(f"nothing has been run in {folder} yet; {_first_step(folder)}")


def _first_step(folder: Path) -> str:
    if any((folder / name).exists() for name in PLAN_NAMES):
        return "to run the plan, type: weft run"
    return "to write a plan, type: weft init"


def _main_checkout(folder: Path) -> Iterator[Path]:
    """Yields the main checkout if the folder is in a worktree, which may be anywhere; its `.git` file names it."""
    place = repository_around(folder)
    try:
        pointer = "" if place is None else read_text(place / ".git")
    except (
        OSError,
        UnicodeDecodeError,
    ):  # usually because `.git` is a directory: the folder is in the main checkout
        return
    path = Path(pointer.removeprefix("gitdir:").strip())
    if pointer.startswith("gitdir:") and path.parent.name == "worktrees":
        yield path.parents[2]


def user_folder(environ: Mapping[str, str], variable: str, usual: str) -> Path:
    """Returns Weft's directory in one of the user's XDG base directories."""
    named = environ.get(variable, "")
    # The XDG specification says that relative paths are invalid and must be ignored.
    base = Path(named) if os.path.isabs(named) else _home(environ) / usual  # noqa: PTH117 - it ignores others
    return base / "weft"


def with_tilde(path: Path, environ: Mapping[str, str]) -> str:
    """Returns a path for messages, with `~` for the user's home."""
    home = _home(environ)
    return f"~/{path.relative_to(home)}" if path.is_relative_to(home) else str(path)


def _home(environ: Mapping[str, str]) -> Path:
    return Path(environ.get("HOME") or os.path.expanduser("~"))  # noqa: PTH111 - knows it without the variable


def absolute(folder: Path) -> Path:
    """Returns the absolute path without resolving symbolic links."""
    try:
        return Path(os.path.abspath(folder))  # noqa: PTH100
    except FileNotFoundError:
        raise InputError("the current directory has been deleted; change to another one") from None
