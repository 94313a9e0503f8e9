"""Trees as dictionaries: a file is its text, a program a list with its text, a link a tuple with its target."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from weft.ports.workspaces import MergeRequest, WorkspaceRequest, Workspaces

Made = str | list[str] | tuple[str] | None
Tree = Mapping[str, Made]


def put(top: Path, tree: Tree) -> None:
    """None: the file goes."""
    for name, made in tree.items():
        place = top / name
        place.unlink(missing_ok=True)
        if made is None:
            continue
        place.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(made, tuple):
            place.symlink_to(made[0])
        else:
            place.write_text("".join(made))
            place.chmod(0o755 if isinstance(made, list) else 0o644)


def tree(top: Path) -> dict[str, Made]:
    table: dict[str, Made] = {}
    for folder, folders, files in os.walk(top):
        for name in (*folders, *files):
            place = Path(folder, name)
            key = str(place.relative_to(top))
            if place.is_symlink():
                table[key] = (str(place.readlink()),)
            elif place.is_file():
                table[key] = [place.read_text()] if place.stat().st_mode & 0o100 else place.read_text()
    return table


def inside(root: Path) -> dict[str, bytes]:
    """All that a root holds, byte for byte, links not followed."""
    return {
        str(place.relative_to(root)): os.fsencode(place.readlink())
        if place.is_symlink()
        else place.read_bytes()
        for place in sorted(root.rglob("*"))
        if place.is_symlink() or place.is_file()
    }


# What is asked of workspaces, and where that is then


def prepare(
    workspaces: Workspaces,
    path: str,
    *,
    after: Sequence[str] = (),
    copy: Sequence[str] = (),
    link: Sequence[str] = (),
) -> Path:
    workspaces.prepare(WorkspaceRequest(path=path, after=tuple(after), copy=tuple(copy), link=tuple(link)))
    return workspaces.place(path)


def keep(workspaces: Workspaces, path: str, *, files: Sequence[str] | None = None) -> None:
    """A slice is merged, with no other."""
    allowed = None if files is None else tuple(files)
    workspaces.merge(MergeRequest(path=path, subject="done", slices=(path,), files=allowed))


def check(workspaces: Workspaces, slices: Sequence[str]) -> None:
    """A group is merged, in which these slices are."""
    workspaces.merge(MergeRequest(path="group", subject="done", slices=tuple(slices), is_group=True))


def gather(
    workspaces: Workspaces,
    path: str,
    slices: Sequence[str],
    *,
    copy: Sequence[str] = (),
    link: Sequence[str] = (),
) -> Path:
    request = MergeRequest(
        path=path, subject="together", slices=tuple(slices), copy=tuple(copy), link=tuple(link)
    )
    workspaces.gather(request)
    return workspaces.place(path)


def do(workspaces: Workspaces, path: str, edits: Tree, *, after: Sequence[str] = ()) -> Path:
    """A slice from its beginning to its end."""
    place = prepare(workspaces, path, after=after)
    put(place, edits)
    keep(workspaces, path)
    return place
