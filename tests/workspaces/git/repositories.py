"""Small, real repositories. Their git does not read the configuration of the user who runs the tests."""

import os
from collections.abc import Mapping
from pathlib import Path

from weft.workspaces.git.base.program import Git, GitOutput


def surroundings(home: Path) -> dict[str, str]:
    """An environment for git, without anyone's name; repositories are sought below this directory only."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CEILING_DIRECTORIES": str(home.parent),
    }


def empty_repository(top: Path, *options: str) -> Git:
    """Without a commit; its branch is `main`. The directory around it is the home."""
    top.mkdir(parents=True, exist_ok=True)
    git = Git(top, environ=surroundings(top.parent), works=True)
    git.do("init", "--quiet", "--initial-branch=main", *options)
    with Path(git.line("rev-parse", "--absolute-git-dir"), "config").open("a") as config:
        config.write("[user]\n\tname = Ada\n\temail = ada@example.org\n")
    return git


def repository(top: Path, files: Mapping[str, str] | None = None) -> Git:
    """With one commit on `main`."""
    git = empty_repository(top)
    commit(git, {"README": "hello\n"} if files is None else files)
    return git


def write(top: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        place = top / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)


def commit(git: Git, files: Mapping[str, str], message: str = "more") -> str:
    """The id of a commit with these files, on the branch that is checked out."""
    write(git.directory, files)
    git.do("add", "--", *files)
    git.do("commit", "--quiet", "--message", message)
    return git.line("rev-parse", "HEAD")


Made = str | bytes | list[str] | tuple[str, ...] | None
"""A file; a program, as a list with its text; a link to (a name,); an entry of (a mode, an id); None: it goes."""


def grow(git: Git, branch: str, files: Mapping[str, Made], *parents: str, message: str = "") -> str:
    """The id of a new commit on a branch, which is made or moved there; no checkout takes notice.

    Without parents it follows on `main`; one that is empty is none.
    """
    begun = [f"commit refs/heads/{branch}", "mark :1", "committer Ada <ada@example.org> 1700000000 +0000"]
    words = zip(("from", "merge", "merge"), filter(None, parents or ("refs/heads/main^0",)), strict=False)
    lines = [
        *(line.encode() for line in begun),
        _data(message or branch),
        *(f"{word} {parent}".encode() for word, parent in words),
        *(_entry(path, made) for path, made in files.items()),
        b"get-mark :1\n",
    ]
    return git.do("fast-import", "--quiet", "--force", stdin=b"\n".join(lines)).decode().strip()


def _entry(path: str, made: Made) -> bytes:
    name = b'"' + os.fsencode(path).replace(b"\n", b"\\n") + b'"'
    if made is None:
        return b"D " + name
    if isinstance(made, tuple) and len(made) == 2:
        return f"M {made[0]} {made[1]} ".encode() + name
    mode = b"120000" if isinstance(made, tuple) else b"100755" if isinstance(made, list) else b"100644"
    return b"M " + mode + b" inline " + name + b"\n" + _data(made)


def _data(made: str | bytes | list[str] | tuple[str, ...]) -> bytes:
    data = made if isinstance(made, bytes) else "".join(made).encode()
    return f"data {len(data)}\n".encode() + data


def files_of(git: Git, tree: str) -> dict[str, str]:
    """All files of a tree or commit, each with its text."""
    listed = git.fields("ls-tree", "-r", "-z", "--name-only", tree)
    return {path: os.fsdecode(git.do("cat-file", "-p", f"{tree}:{path}")) for path in listed}


def contents(top: Path) -> dict[str, bytes | str]:
    """All that is in a checkout, byte for byte; of a link, where it leads."""
    result: dict[str, bytes | str] = {}
    # git's own files are not even listed: there are many more of them.
    for folder, folders, files in os.walk(top):
        folders[:] = [name for name in folders if name != ".git"]
        for name in (*folders, *files):
            place = Path(folder, name)
            if name != ".git" and place.is_symlink():
                result[str(place.relative_to(top))] = str(place.readlink())
            elif name != ".git" and place.is_file():
                result[str(place.relative_to(top))] = place.read_bytes()
    return dict(sorted(result.items()))


class DyingGit(Git):
    """A process that is killed before its n-th call of git."""

    def __init__(self, git: Git, calls: int) -> None:
        super().__init__(git.directory, environ=git._environ, works=True)
        self.left = [calls]

    def at(self, directory: Path) -> Git:
        other = DyingGit(Git(directory, environ=self._environ, works=True), 0)
        other.left = self.left
        return other

    def ask(
        self, *command: str, stdin: bytes | None = None, env: Mapping[str, str] | None = None
    ) -> GitOutput:
        self.left[0] -= 1
        if self.left[0] < 0:
            raise KilledError
        return super().ask(*command, stdin=stdin, env=env)


class KilledError(BaseException):
    """Nothing catches this."""
