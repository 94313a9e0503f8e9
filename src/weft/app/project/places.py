"""Where Weft keeps its things: all in `.weft`, in the directory that is the project.

.weft/
  weft.db             the journal
  coordinator.lock    held by whoever may write it
  coordinator.log     what a coordinator in the background says; .1, .2, .3 are older
  config.yaml         the project's own settings; git keeps it
  notify.log          who could not be told of what happens in runs
  schema.json         what may be in a plan, for editors; git keeps it, as plans refer to it
  run/                a status file for each subplan, for people and scripts
  runs/<run>/logs/    what steps wrote
  runs/<run>/host/    what the supervisor keeps
  runs/<run>/homes/   homes of steps that have one of their own
  runs/<run>/gathered is there when the results of the run have been brought together
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
"""The files that hold a plan where none is named."""
_WITHOUT_LINKS = (FOLDER, *(f"{FOLDER}/{name}" for name in ("run", "runs", "workspaces", "worktrees")))
_MAY_BE_LINKS = frozenset({f"{FOLDER}/config.yaml", f"{FOLDER}/schema.json"})
"""Weft only reads them."""
IGNORED = (
    "# Git keeps the settings and the schema, and nothing else in here.\n*\n!config.yaml\n!schema.json\n"
)
"""The text of `.weft/.gitignore`."""
_EARLIER_IGNORED = frozenset({"# Nothing in here belongs into git but the settings.\n*\n!config.yaml\n"})
"""What earlier versions wrote there."""


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

    def homes(self, run: str) -> Path:
        return self.weft / "runs" / run / "homes"

    def gathered(self, run: str) -> Path:
        """Is there when the results of the run have been brought together."""
        return self.weft / "runs" / run / "gathered"

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
        """The directory, with the `.gitignore` of this version; one that a person has changed is kept.

        It comes with a clone, so it may hold anything; what Weft would write to must not lead elsewhere.
        """
        if os.path.lexists(self.weft) and not self.weft.is_dir():
            raise InputError(
                f"{self.weft} is no directory, and Weft keeps its things in one of that name; move it away"
            )
        refuse_link(self.weft)
        tree = Tree(self.project)
        try:
            tree.make(FOLDER)
            for folder in _WITHOUT_LINKS:
                for name in tree.names(folder):
                    if f"{folder}/{name}" not in _MAY_BE_LINKS:
                        refuse_link(self.project / folder / name)
            if self.ignores_too_much or not os.path.lexists(self.ignore):
                tree.replace(f"{FOLDER}/.gitignore", IGNORED.encode())
        except OSError as error:
            raise failure(f"cannot make {self.weft}", error) from None


def refuse_link(path: Path) -> None:
    """Raises `InputError` if it is a symbolic link."""
    if path.is_symlink():
        raise InputError(
            f"{path} is a symbolic link, and Weft follows none there, as it could lead to any file of yours; "
            f"to remove the link, type: rm {quote(str(path))}"
        )


def project_around(folder: Path) -> Path | None:
    """The nearest directory, upwards, that has `.weft` or in which a repository begins."""
    places = (folder, *folder.parents)
    return next((place for place in places if os.path.lexists(place / FOLDER) or has_repository(place)), None)


def project_of(folder: Path) -> Places:
    """The project that a plan's directory belongs to, else itself."""
    return Places(project_around(folder) or folder)


def used_project(folder: Path) -> Places:
    """The project in which something has been run; raises `InputError` if there is none."""
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
    """Of the repository whose worktree we are in, as its `.git` says: worktrees may be anywhere."""
    place = repository_around(folder)
    try:
        said = "" if place is None else read_text(place / ".git")
    except (OSError, UnicodeDecodeError):  # mostly as it is a directory: then we are in the checkout itself
        return
    path = Path(said.removeprefix("gitdir:").strip())
    if said.startswith("gitdir:") and path.parent.name == "worktrees":
        yield path.parents[2]


def user_folder(environ: Mapping[str, str], variable: str, usual: str) -> Path:
    """Ours in one of the user's folders, where the XDG standard says that it is."""
    named = environ.get(variable, "")
    base = Path(named) if os.path.isabs(named) else _home(environ) / usual  # noqa: PTH117 - it ignores others
    return base / "weft"


def with_tilde(path: Path, environ: Mapping[str, str]) -> str:
    """A path for people, who know their home by this sign."""
    home = _home(environ)
    return f"~/{path.relative_to(home)}" if path.is_relative_to(home) else str(path)


def _home(environ: Mapping[str, str]) -> Path:
    return Path(environ.get("HOME") or os.path.expanduser("~"))  # noqa: PTH111 - knows it without the variable


def absolute(folder: Path) -> Path:
    """Where it is. A link's own place counts, not what it leads to."""
    try:
        return Path(os.path.abspath(folder))  # noqa: PTH100
    except FileNotFoundError:
        raise InputError("the directory that you are in has been deleted; go to another one") from None
