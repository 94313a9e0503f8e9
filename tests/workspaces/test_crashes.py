"""Whatever fails in the middle, and wherever: done again, the result is the same."""

import os
import random
import shutil
from collections.abc import Callable, Iterator
from hashlib import blake2b
from itertools import groupby
from pathlib import Path

import msgspec
import pytest

from weft.ports.workspaces import WorkspaceRequest
from weft.workspaces.changes import SliceChanges, VersionKind
from weft.workspaces.directories import DirectoryWorkspaces
from weft.workspaces.errors import WorkspaceError
from workspaces.faults import KilledError, machine, operations_of, quick_folder
from workspaces.trees import Made, do, gather, inside, keep, prepare, put, tree

Action = Callable[[DirectoryWorkspaces], object]

ACTIONS: dict[str, Action] = {
    "prepare": lambda workspaces: prepare(
        workspaces, "c", after=("a", "b"), copy=(".env", "lib/**"), link=("big",)
    ),
    "keep": lambda workspaces: keep(workspaces, "d"),
    "gather": lambda workspaces: gather(workspaces, "", ["a", "b"]),
}
RESULTS = {
    "prepare": {".env": "secret", "lib/tool": ["#!"], "one": "1", "sub/two": ["2"], "old": ("one",)},
    "keep": {"one": "changed", "deep/er/new": "new", "link": ("one",)},
    "gather": {"one": "1", "sub/two": ["2"], "old": ("one",)},
}


@pytest.fixture
def folder() -> Iterator[Path]:
    with quick_folder() as made:
        yield made


@pytest.fixture
def template(folder: Path) -> Path:
    """A world in which two slices are done, one is to be prepared again and one is to be kept."""
    top = folder / "template"
    put(top / "plan", {".env": "secret", "lib/tool": ["#!"], "big/file": "large"})
    workspaces = DirectoryWorkspaces(top / "root", top / "plan")
    do(workspaces, "a", {"one": "1", "old": ("one",)})
    do(workspaces, "b", {"sub/two": ["2"]})
    do(workspaces, "c", {"leftover": "of an earlier go", "sub/leftover": "another"})
    put(gather(workspaces, "", ["b"]), {"leftover/of/verify": ""})
    place = prepare(workspaces, "d", after=("a",))
    put(place, {"one": "changed", "old": None, "deep/er/new": "new", "link": ("one",)})
    return top


@pytest.fixture
def worlds(template: Path, folder: Path) -> Iterator[DirectoryWorkspaces]:
    def one_after_the_other() -> Iterator[DirectoryWorkspaces]:
        number = 0
        while True:
            number += 1
            top = folder / str(number)
            shutil.copytree(template, top, symlinks=True)
            yield DirectoryWorkspaces(top / "root", top / "plan")
            shutil.rmtree(top)

    return one_after_the_other()


PLACES: dict[str, Callable[[DirectoryWorkspaces], Path]] = {
    "prepare": lambda workspaces: workspaces.place("c"),
    "keep": lambda workspaces: gather(workspaces, "", ["d"]),
    "gather": lambda workspaces: workspaces.place(""),
}


def seen(name: str, workspaces: DirectoryWorkspaces) -> dict[str, Made]:
    """The result of an action, once it is done."""
    parts = tree(PLACES[name](workspaces))
    return {path: made for path, made in parts.items() if path != "big"}


def check_that_records_are_whole(workspaces: DirectoryWorkspaces) -> None:
    objects = workspaces.place("").parent / "_objects"
    for file in (objects.parent / "_records").glob("[!_]*"):
        record = msgspec.msgpack.decode(file.read_bytes(), type=SliceChanges)
        for change in record.changes.values():
            if change.after is not None and change.after.kind is not VersionKind.LINK:
                content = (objects / change.after.content.hex()).read_bytes()
                assert blake2b(content, digest_size=32).digest() == change.after.content


def check_that_places_are_whole(workspaces: DirectoryWorkspaces, before: dict[str, Made]) -> None:
    """What is gathered is as before, as it is to be, or not there."""
    assert tree(workspaces.place("")) in [before, RESULTS["gather"], {}]


@pytest.mark.parametrize("dies", [True, False], ids=["killed", "disk full"])
@pytest.mark.parametrize("name", ACTIONS)
def test_a_failure_at_any_point_is_made_good_by_doing_it_again(
    name: str, dies: bool, worlds: Iterator[DirectoryWorkspaces]
) -> None:
    action = ACTIONS[name]
    counted = next(worlds)
    count = operations_of(lambda: action(counted))
    assert count > 40
    for number in range(1, count + 1):
        workspaces = next(worlds)
        before = tree(workspaces.place(""))
        with pytest.raises(KilledError if dies else OSError), machine(number, dies=dies):
            action(workspaces)
        check_that_records_are_whole(workspaces)
        check_that_places_are_whole(workspaces, before)
        with machine(0, dies=False):
            action(workspaces)
            assert seen(name, workspaces) == RESULTS[name]


def kept_or_refused(workspaces: DirectoryWorkspaces) -> dict[str, Made] | str:
    try:
        keep(workspaces, "d")
    except WorkspaceError:
        return "refused"
    return seen("keep", workspaces)


def test_a_workspace_that_is_half_made_again_is_not_kept(worlds: Iterator[DirectoryWorkspaces]) -> None:
    request = WorkspaceRequest(path="d", after=("a", "b"))
    counted = next(worlds)
    outcomes: list[dict[str, Made] | str] = []
    for number in range(1, operations_of(lambda: counted.prepare(request)) + 1):
        workspaces = next(worlds)
        with pytest.raises(KilledError), machine(number, dies=True):
            workspaces.prepare(request)
        outcomes.append(kept_or_refused(workspaces))
    # What was done counts until its start is forgotten; at the end there is a new start, and nothing done since.
    assert [outcome for outcome, _ in groupby(outcomes)] == [RESULTS["keep"], "refused", {}]


@pytest.mark.parametrize("seed", range(5))
def test_it_may_be_killed_many_times(seed: int, worlds: Iterator[DirectoryWorkspaces]) -> None:
    chance = random.Random(seed)
    workspaces = next(worlds)
    for name in chance.choices(sorted(ACTIONS), k=40):
        with pytest.raises(KilledError), machine(chance.randint(1, 20), dies=True):
            ACTIONS[name](workspaces)
    for name, action in ACTIONS.items():
        action(workspaces)
        assert seen(name, workspaces) == RESULTS[name]


@pytest.mark.parametrize("name", ACTIONS)
def test_nothing_of_a_failure_is_left_when_it_was_done_again(
    name: str, worlds: Iterator[DirectoryWorkspaces]
) -> None:
    done = next(worlds)
    ACTIONS[name](done)
    expected = set(inside(done.place("").parent))
    for number in (10, 20, 30, 40):
        workspaces = next(worlds)
        with pytest.raises(KilledError), machine(number, dies=True):
            ACTIONS[name](workspaces)
        ACTIONS[name](workspaces)
        assert set(inside(workspaces.place("").parent)) == expected


def test_contents_are_on_the_disk_before_the_record_that_speaks_of_them(
    worlds: Iterator[DirectoryWorkspaces],
) -> None:
    workspaces = next(worlds)
    values: list[str] = []
    root = workspaces.place("").parent
    with pytest.MonkeyPatch.context() as patch:
        trace(patch, values, root)
        keep(workspaces, "d")
    # Three files were written, one was a link: two contents.
    assert values == [
        *["synced _objects/_d", "renamed _d"] * 2,
        "synced _objects",
        "synced _records/_new.d",
        "renamed _new.d",
        "synced _records",
    ]


def trace(patch: pytest.MonkeyPatch, told: list[str], root: Path) -> None:
    fsync, rename = os.fsync, os.rename

    def traced_fsync(file: int) -> None:
        told.append(f"synced {Path(f'/proc/self/fd/{file}').readlink().relative_to(root)}")
        fsync(file)

    def traced_rename(old: str, new: str, **folders: int) -> None:
        told.append(f"renamed {old}")
        rename(old, new, **folders)

    patch.setattr(os, "fsync", traced_fsync)
    patch.setattr(os, "rename", traced_rename)
