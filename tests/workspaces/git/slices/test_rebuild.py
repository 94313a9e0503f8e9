"""A slice that holds the work of another one by chance is rebuilt from its own commits."""

from pathlib import Path

import pytest

from weft.ports.workspaces import WorkspaceRequest
from workspaces.git.repositories import commit
from workspaces.trees import put
from workspaces.worlds import NAMES, World, repository_in

LINES = "1\n2\n3\n4\n5\n"


@pytest.fixture
def world(tmp_path: Path) -> World:
    repository_in(tmp_path / "repository", {"README": "hello\n", "lines": LINES})
    return World(tmp_path / "repository")


def rebuild(
    world: World, path: str, *without: str, after: tuple[str, ...] = (), releases: bool = False
) -> str:
    request = WorkspaceRequest(path=path, after=after, without=without)
    return world.workspaces.target.rebuild(request, releases=releases)


def finish(world: World, path: str, edits: dict[str, str], *after: str) -> None:
    """The slice is merged, and its worktree is gone."""
    world.done(path, edits, *after)
    assert world.workspaces.release(path)


def refuses(world: World, path: str, *without: str, after: tuple[str, ...] = ()) -> bool:
    before = world.everything()
    return rebuild(world, path, *without, after=after) == "" and world.everything() == before


def test_the_branch_has_the_same_commits_without_the_other_work(world: World) -> None:
    finish(world, "red", {"bad": "x"})
    world.do("b", {"one": "1"})
    world.step("b", {"lines": LINES.replace("3", "three")}, step="more")
    world.merge("b")
    world.workspaces.release("b")
    old = world.tip("b")
    assert rebuild(world, "b", "red") == NAMES.kept("b", old)
    assert world.files("weft/notes/b") == {
        "README": "hello\n",
        "one": "1",
        "lines": LINES.replace("3", "three"),
    }
    assert world.subjects(f"{world.base}..weft/notes/b") == ["b: code", "b: more"]
    assert world.kept("b") == {old}
    fields = "--format=%an %ae %aI %cn %ce %cI"
    assert world.git.line("log", "-1", fields, old) == world.git.line("log", "-1", fields, "weft/notes/b")


def test_it_lands_by_itself_and_what_starts_on_the_branch_around_it_lands_after_the_other(
    world: World,
) -> None:
    finish(world, "red", {"bad": "x"})
    finish(world, "b", {"one": "1"})
    rebuild(world, "b", "red")
    world.land("b", not_landed=("red",))
    assert "bad" not in world.files("main")
    world.commit({"one": "changed by a person"})
    finish(world, "c", {"two": "2"})
    world.land("red", not_landed=("c",))
    world.land("c")
    assert world.files("main")["one"] == "changed by a person"
    assert world.files("main").keys() == {"README", "lines", "bad", "one", "two"}


def test_its_dependencies_stay_in_it(world: World) -> None:
    finish(world, "red", {"bad": "x"})
    finish(world, "a", {"one": "1"})
    finish(world, "b", {"two": "2"}, "a")
    assert rebuild(world, "a", "red")
    assert rebuild(world, "b", "red", after=("a",))
    assert world.files("weft/notes/b").keys() == {"README", "lines", "one", "two"}
    chain = world.build("a", "b", not_landed=("red",))
    assert [link.path for link in chain.links] == ["a", "b"]


def test_a_slice_in_a_group_is_rebuilt_on_the_branch_of_the_group(world: World) -> None:
    finish(world, "group/red", {"bad": "x"})
    finish(world, "group/b", {"one": "1"})
    assert rebuild(world, "group/b", "group/red")
    assert world.files("weft/notes/group.b").keys() == {"README", "lines", "one"}
    assert world.files("weft/notes/group").keys() == {"README", "lines", "bad", "one"}


def test_work_that_does_not_apply_without_the_other_stays_as_it_is(world: World) -> None:
    finish(world, "red", {"lines": LINES.replace("3", "red")})
    finish(world, "b", {"lines": LINES.replace("3", "red and b")})
    assert refuses(world, "b", "red")


def test_a_slice_that_depends_on_the_other_stays_as_it_is(world: World) -> None:
    finish(world, "red", {"bad": "x"})
    finish(world, "a", {"one": "1"}, "red")
    finish(world, "b", {"two": "2"}, "a")
    assert refuses(world, "b", "red", after=("red", "a"))


def test_a_slice_without_the_work_of_the_other_stays_as_it_is(world: World) -> None:
    finish(world, "b", {"two": "2"})
    finish(world, "red", {"bad": "x"})
    assert refuses(world, "b", "red")
    finish(world, "c", {"three": "3"})
    assert rebuild(world, "c", "red")
    assert refuses(world, "c", "red")


def test_a_branch_that_is_checked_out_stays_as_it_is(world: World) -> None:
    finish(world, "red", {"bad": "x"})
    world.done("b", {"one": "1"})
    assert refuses(world, "b", "red")
    put(world.place("b"), {"unsaved": "1"})
    assert rebuild(world, "b", "red", releases=True) == ""
    put(world.place("b"), {"unsaved": None})
    assert rebuild(world, "b", "red", releases=True)
    assert not world.place("b").exists()


def test_a_branch_with_a_merge_of_a_person_stays_as_it_is(world: World) -> None:
    finish(world, "red", {"bad": "x"})
    world.do("b", {"one": "1"})
    world.commit({"mine": "1"})
    world.at("b").do("merge", "--quiet", "--no-edit", "main")
    world.merge("b")
    world.workspaces.release("b")
    assert refuses(world, "b", "red")


def test_commits_of_a_person_are_repeated_as_they_are(world: World) -> None:
    finish(world, "red", {"bad": "x"})
    world.do("b", {"one": "1"})
    commit(world.at("b"), {"mine": "1"}, "by hand")
    world.merge("b")
    world.workspaces.release("b")
    assert rebuild(world, "b", "red")
    assert world.subjects(f"{world.base}..weft/notes/b") == ["b: code", "by hand"]
    assert "Weft-Without" not in world.git.line("log", "-1", "--format=%B", "weft/notes/b")


def test_a_branch_with_a_resolved_conflict_stays_as_it_is(world: World) -> None:
    """The merge that resolves it carries the trailers of the slice, as the merge that a slice starts with may."""
    world.do("b", {"lines": LINES.replace("3", "b")})
    finish(world, "red", {"lines": LINES.replace("3", "red")})
    world.open_conflict("b")
    put(world.place("b"), {"lines": LINES.replace("3", "red and b")})
    world.close_conflict("b")
    world.merge("b", resolved=True)
    world.workspaces.release("b")
    assert refuses(world, "b", "red")


def test_a_branch_that_a_person_forwarded_to_the_branch_around_it_stays_as_it_is(world: World) -> None:
    finish(world, "red", {"bad": "x"})
    finish(world, "b", {"one": "1"})
    world.git.do("update-ref", NAMES.head("b"), world.tip(""))
    assert refuses(world, "b", "red")
