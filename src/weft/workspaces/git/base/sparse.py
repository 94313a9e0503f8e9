"""Worktrees that hold a part of the files only: some directories, in git's *cone mode*.

What is to be there is written in the worktree's own git directory, and whether that counts is told to each git
that we start, by its environment. So the configuration of the repository, which is the user's, stays as it is. A
git that does not know, such as an agent's, sees from the index which files are missing on purpose. It does not see
it if somebody makes one of them again; ours does.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

from weft.safe_files import read_file, replace_file
from weft.workspaces.errors import WorkspaceError

_LARGEST = 1 << 26
_OURS = "# Weft"
_SPECIAL = re.compile(r"[\\*?\[]")
_SETTINGS = {
    "GIT_CONFIG_COUNT": "2",
    "GIT_CONFIG_KEY_0": "core.sparseCheckout",
    "GIT_CONFIG_VALUE_0": "true",
    "GIT_CONFIG_KEY_1": "core.sparseCheckoutCone",
    "GIT_CONFIG_VALUE_1": "true",
}


def patterns(folders: Sequence[str]) -> str:
    """For these directories and all that is in them, and the files that lie beside the ways to them."""
    chosen = {_checked(folder) for folder in folders}
    whole = sorted(folder for folder in chosen if chosen.isdisjoint(folder.parents))
    on_the_way = sorted({parent for folder in whole for parent in list(folder.parents)[:-1]})
    lines = [_OURS, "/*", "!/*/"]
    for folder in on_the_way:
        lines += [f"/{_escaped(folder)}/", f"!/{_escaped(folder)}/*/"]
    lines += [f"/{_escaped(folder)}/" for folder in whole]
    return "\n".join(lines) + "\n"


def _checked(folder: str) -> PurePosixPath:
    path = PurePosixPath(folder)
    if path.is_absolute() or not path.parts or ".." in path.parts or "\n" in folder:
        raise WorkspaceError(
            f"{folder!r} is no directory of the repository; name one as it is seen from the top, such as src/app"
        )
    return path


def _escaped(folder: PurePosixPath) -> str:
    return _SPECIAL.sub(r"\\\g<0>", str(folder))


def choose(git_dir: Path, folders: Sequence[str]) -> None:
    if folders:
        replace_file(_file(git_dir), patterns(folders).encode(errors="surrogateescape"))


def is_chosen(git_dir: Path, folders: Sequence[str]) -> bool:
    """Whether these directories are what the worktree has; none: we have not chosen any."""
    return _chosen(git_dir) == (patterns(folders) if folders else None)


def settings(git_dir: Path) -> Mapping[str, str]:
    """Variables for a git that works there."""
    return {} if _chosen(git_dir) is None else _SETTINGS


def _chosen(git_dir: Path) -> str | None:
    """None also if it is the user's choice, which git copies to each new worktree of a sparse checkout."""
    try:
        text = read_file(_file(git_dir), most=_LARGEST).decode(errors="surrogateescape")
    except FileNotFoundError:
        return None
    return text if text.startswith(_OURS) else None


def _file(git_dir: Path) -> Path:
    return git_dir / "info" / "sparse-checkout"
