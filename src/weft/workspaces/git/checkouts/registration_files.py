"""The files that register a worktree, written without a git process.

`git worktree add` writes five small files under `worktrees/`, and a `.git` file in the new directory, and starts a
second git for one of them. Here the files are written to a directory beside their place, which is then renamed:
the registration appears at once and complete, so no other git ever reads a half-written one.

Some repositories need more than these files: those with settings per worktree, with a sparse checkout, which git
copies, with relative paths, or with refs in other places. They are left to git.
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path

from weft.safe_files import Tree, replace_file
from weft.workspaces.git.base.commit_file import committer, has_common_settings
from weft.workspaces.git.base.program import Git
from weft.workspaces.git.base.worktree_links import MAKING

_NAME = re.compile(r"\w[\w-]*(?:\.[\w-]+)*", re.ASCII)
"""A name that git takes for an entry as it is."""
_SUFFIX = ".lock"
_OID = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_ENTRIES = "worktrees"
_DRAFT = "weft/new-worktree"
"""The place of an entry before it is complete, where no other git looks, for the holder of the lock."""
_OWN_FILES = ("core.sparsecheckout", "core.bare", "worktree.userelativepaths")
"""Settings with which git writes other files."""


def write_registration(git: Git, common: Path, directory: Path, head: str, commit: str) -> bool:
    """Registers a worktree without files, locked until it has them; returns False if only git can do it.

    `head` is the contents of its HEAD; `commit` is the commit that it leads to. The caller holds the lock of the
    registrations.
    """
    person = committer(git)
    if person is None or not _OID.fullmatch(commit) or not _is_simple(git, common, directory):
        return False
    place = directory.parent.resolve() / directory.name
    tree = Tree(common)
    entry = _free_entry(tree, directory.name)
    files = {
        "locked": MAKING,
        "gitdir": f"{place / '.git'}",
        "commondir": "../..",
        "HEAD": head,
        # Without a reflog, no commit that an agent undoes could be found again.
        "logs/HEAD": f"{'0' * len(commit)} {commit} {person}",
    }
    _publish(tree, entry, files)
    # The directory follows the registration: after a crash in between there is a locked entry, which the next
    # creation removes, and never a directory that nothing explains.
    place.mkdir(parents=True, exist_ok=True)
    replace_file(place / ".git", os.fsencode(f"gitdir: {common.resolve() / entry}\n"))
    return True


def _is_simple(git: Git, common: Path, directory: Path) -> bool:
    settings = git.root.settings
    extensions = set(settings.keys("extensions.")) - {"extensions.objectformat"}
    return (
        _NAME.fullmatch(directory.name) is not None
        and not directory.name.endswith(_SUFFIX)
        and has_common_settings(git)
        and not extensions
        and not any(settings.is_true(key) for key in _OWN_FILES)
        and not (common / "reftable").exists()
    )


def _free_entry(tree: Tree, name: str) -> str:
    """Returns the place of the new entry; git adds a number to a name that is in use, too."""
    entry, number = f"{_ENTRIES}/{name}", 0
    while tree.exists(entry):
        number += 1
        entry = f"{_ENTRIES}/{name}{number}"
    return entry


def _publish(tree: Tree, entry: str, files: Mapping[str, str]) -> None:
    """Writes the files of an entry, then moves them to its place at once."""
    tree.folder(_ENTRIES, make=True).close()
    if tree.exists(_DRAFT):  # a Weft that was killed left it
        tree.remove_tree(_DRAFT)
    tree.folder(f"{_DRAFT}/logs", make=True).close()
    for name, text in files.items():
        tree.replace(f"{_DRAFT}/{name}", os.fsencode(f"{text}\n"))
    tree.move(_DRAFT, entry)
