"""A git repository of a package: each release is a commit, so what differs between two releases changed together.

Two thirds of the differences are the history of what is checked out. The newest third is on a branch of its own:
there it is counted whether files that change together were put together by who could not know.
"""

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from weft.workspaces.git.base.history import files_of_commits
from weft.workspaces.git.base.program import Git

NOW, LATER = "refs/heads/main", "refs/heads/later"
_BEGIN, _DAY = 1_700_000_000, 86_400

Tree = Mapping[str, bytes]


def surroundings() -> dict[str, str]:
    """Nobody's configuration counts."""
    return {"PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}


def seen(releases: int) -> int:
    """How many of so many releases are the history; the first one differs from nothing."""
    return 1 + round((releases - 1) * 2 / 3)


def build(top: Path, trees: Iterator[Tree]) -> None:
    partial = top.with_name(f"{top.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    git = Git(partial, environ=surroundings())
    git.do("init", "--quiet", "--initial-branch=main")
    count = 0
    for count, tree in enumerate(trees, 1):
        git.do("fast-import", "--quiet", stdin=b"".join(_commit(count, tree)))
    git.do("update-ref", NOW, f"{LATER}~{count - seen(count)}")
    git.do("reset", "--quiet", "--hard")
    partial.rename(top)


def later_commits(top: Path) -> Sequence[Sequence[str]]:
    """The files of each commit that what is checked out does not know of."""
    log = Git(top, environ=surroundings()).do(
        "log", "--format=%x00", "--name-only", "-z", "--no-renames", f"{NOW}..{LATER}", "--"
    )
    return list(files_of_commits(log))


def _commit(number: int, tree: Tree) -> Iterator[bytes]:
    time = _BEGIN + number * _DAY
    after = f"from {LATER}^0\n" if number > 1 else ""
    yield f"commit {LATER}\ncommitter Ada <ada@example.org> {time} +0000\ndata 0\n{after}deleteall\n".encode()
    for path, content in sorted(tree.items()):
        yield f"M 100644 inline {path}\ndata {len(content)}\n".encode() + content + b"\n"
