"""Plans of any shape whose slices do anything: what is on the disk is what a model without a disk says."""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from weft.ports.workspaces import ConflictError
from weft.workspaces.directories import DirectoryWorkspaces
from workspaces.faults import machine, quick_folder
from workspaces.trees import Made, gather, keep, prepare, put, tree

Files = dict[str, Made]
Edit = tuple[str, Made]

NAMES = st.sampled_from(["a", "b", os.fsdecode(b"\xff\n")])
PATHS = st.lists(NAMES, min_size=1, max_size=3).map("/".join)
MADE = st.one_of(
    st.none(),
    st.sampled_from(["", "1", "2"]),
    st.sampled_from(["1", "2"]).map(lambda text: [text]),
    st.sampled_from(["a", "../outside", "/"]).map(lambda target: (target,)),
)


class Slice:
    """What is known of a slice in the model."""

    def __init__(self, after: tuple[str, ...], start: Files, end: Files) -> None:
        self.after = after
        self.changes = {
            path: (start.get(path), end.get(path))
            for path in {*start, *end}
            if start.get(path) != end.get(path)
        }


@st.composite
def plans(draw: st.DrawFn) -> list[tuple[str, list[int], list[Edit]]]:
    """Slices with those that they directly come after, and what they do."""
    count = draw(st.integers(1, 5))
    return [
        (
            f"s{number}",
            draw(st.lists(st.integers(0, number - 1), unique=True, max_size=2)) if number else [],
            draw(st.lists(st.tuples(PATHS, MADE), max_size=4)),
        )
        for number in range(count)
    ]


def edited(files: Files, edits: list[Edit]) -> Files:
    """What is in the way goes: files where a directory is needed, and all that is below a name."""
    table = dict(files)
    for path, made in edits:
        table = {
            other: was
            for other, was in table.items()
            if other != path and not other.startswith(f"{path}/") and not path.startswith(f"{other}/")
        }
        if made is not None:
            table[path] = made
    return table


def edit_on_disk(top: Path, edits: list[Edit]) -> None:
    for path, made in edits:
        parts = path.split("/")
        for length in range(1, len(parts) + 1):
            place = top.joinpath(*parts[:length])
            if place.is_symlink() or place.is_file():
                place.unlink()
            elif place.is_dir() and length == len(parts):
                shutil.rmtree(place)
        put(top, {path: made})


def folded(slices: Mapping[str, Slice]) -> Files | None:
    """None: a conflict."""
    files: Files = {}
    for path in {path for item in slices.values() for path in item.changes}:
        writers = {name: entry for name, entry in slices.items() if path in entry.changes}
        seen = {name for writer in writers.values() for name in writer.after}
        latest = [name for name in writers if name not in seen]
        new = [
            name
            for name in latest
            if not any(
                writers[other].changes[path] == writers[name].changes[path]
                for other in seen & writers.keys()
                if other not in writers[name].after
            )
        ]
        results = [writers[name].changes[path][1] for name in new or latest]
        if any(result != results[0] for result in results):
            return None
        files |= {path: results[0]} if results[0] is not None else {}
    return None if any(file.startswith(f"{other}/") for file in files for other in files) else files


def result(workspaces: DirectoryWorkspaces, name: str, after: tuple[str, ...]) -> Files | None:
    try:
        return tree(prepare(workspaces, name, after=after))
    except ConflictError:
        return None


@given(plans())
@settings(max_examples=60)
def test_every_slice_starts_and_everything_ends_as_the_model_says(
    plan: list[tuple[str, list[int], list[Edit]]],
) -> None:
    with quick_folder() as top, machine(0, dies=False):
        workspaces = DirectoryWorkspaces(top / "root", top)
        done: dict[str, Slice] = {}
        for name, near, edits in plan:
            direct = [f"s{number}" for number in near]
            if not done.keys() >= set(direct):
                continue  # it comes after one that was in conflict
            after = tuple(sorted({*direct, *(far for item in direct for far in done[item].after)}))
            start = folded({entry: done[entry] for entry in after})
            assert result(workspaces, name, after) == start
            if start is None:
                continue
            edit_on_disk(workspaces.place(name), edits)
            keep(workspaces, name)
            done[name] = Slice(after, start, edited(start, edits))
            assert tree(workspaces.place(name)) == edited(start, edits)
        assert result(workspaces, "end", tuple(done)) == folded(done)
        assert result(workspaces, "end", tuple(reversed(done))) == folded(done)


@given(st.lists(st.tuples(PATHS, MADE), max_size=6), st.lists(st.tuples(PATHS, MADE), max_size=6))
@settings(max_examples=40)
def test_what_is_kept_is_what_the_next_one_starts_with(first: list[Edit], second: list[Edit]) -> None:
    with quick_folder() as top, machine(0, dies=False):
        workspaces = DirectoryWorkspaces(top / "root", top)
        for name, after, edits in (("a", (), first), ("b", ("a",), second)):
            edit_on_disk(prepare(workspaces, name, after=after), edits)
            keep(workspaces, name)
        assert tree(gather(workspaces, "", ["a", "b"])) == tree(workspaces.place("b"))
