"""A group without some of its parts: which parts are suspects, and how the others are merged again."""

import re
from pathlib import Path

import pytest
from msgspec.structs import replace

from weft.engine.suspects import Suspect
from weft.ports.workspaces import ConflictError, GroupPart, HeldError, MergeRequest, MergeResult
from workspaces.worlds import NAMES, World, heads, repository_in


@pytest.fixture
def world(tmp_path: Path) -> World:
    repository_in(tmp_path / "top", {"readme": "hello\n"})
    return World(tmp_path / "top")


def request(*names: str, without: str = "", takes: tuple[str, ...] = ()) -> MergeRequest:
    """Of a group with these parts."""
    parts = tuple(
        GroupPart(path=f"group/{name}", subject=f"Merge {name}", take_branch=takes) for name in names
    )
    left_out = tuple(f"group/{name}" for name in without)
    return MergeRequest(path="group", subject="Merge group", is_group=True, parts=parts, without=left_out)


def side_by_side(world: World, *names: str) -> None:
    """Slices of the group that all began before the first was merged."""
    for name in names:
        world.do(f"group/{name}", {name: name})
    for name in names:
        world.merge(f"group/{name}")


def told_apart(world: World, *names: str) -> list[Suspect]:
    return list(world.workspaces.suspects(request(*names)))


def gathered(world: World, asked: MergeRequest) -> set[str]:
    world.workspaces.gather(asked)
    return {file.name for file in world.workspaces.place("group").iterdir()} - {".git"}


# --- telling apart ---


def test_parts_that_started_side_by_side_are_built_on_no_other(world: World) -> None:
    side_by_side(world, "a", "b")
    assert told_apart(world, "a", "b") == [Suspect("group/a"), Suspect("group/b")]


def test_a_part_that_started_after_another_was_merged_is_built_on_it(world: World) -> None:
    side_by_side(world, "b", "c")
    world.done("group/a", {"a": "a"})
    assert told_apart(world, "a", "b", "c") == [
        Suspect("group/a", ("group/b", "group/c")),
        Suspect("group/b"),
        Suspect("group/c"),
    ]


def test_who_depends_on_another_is_built_on_it_whatever_git_says(world: World) -> None:
    side_by_side(world, "a", "b")
    asked = request("a", "b")
    after = replace(asked, parts=(asked.parts[0], replace(asked.parts[1], after=("group/a",))))
    assert list(world.workspaces.suspects(after)) == [Suspect("group/a"), Suspect("group/b", ("group/a",))]


def test_a_group_in_the_group_is_a_part_like_others(world: World) -> None:
    world.done("group/deep/x", {"x": "x"})
    world.merge("group/deep")
    world.done("group/a", {"a": "a"})
    assert told_apart(world, "deep", "a") == [Suspect("group/deep"), Suspect("group/a", ("group/deep",))]


def test_the_whole_plan_is_a_group_like_others(world: World) -> None:
    world.done("group/a", {"a": "a"})
    world.do("single", {"single": "single"})
    world.merge("group")
    world.merge("single")
    parts = tuple(GroupPart(path=path, subject=f"Merge {path}") for path in ("group", "single"))
    asked = MergeRequest(path="", subject="all", is_group=True, parts=parts)
    assert list(world.workspaces.suspects(asked)) == [Suspect("group"), Suspect("single")]
    world.workspaces.gather(replace(asked, without=("group",)))
    assert {file.name for file in world.workspaces.place("").iterdir()} == {".git", "readme", "single"}


def test_who_changed_nothing_or_was_there_before_is_no_suspect(world: World) -> None:
    world.done("early", {"early": "early"})
    world.prepare("group/idle")
    side_by_side(world, "a", "b")
    world.merge("group/idle")
    asked = request("idle", "a", "b", "never")
    early = replace(asked, parts=(GroupPart(path="early", subject="Merge early"), *asked.parts))
    assert list(world.workspaces.suspects(early)) == [Suspect("group/a"), Suspect("group/b")]


def test_a_part_that_started_on_others_and_changed_nothing_is_no_suspect(world: World) -> None:
    side_by_side(world, "a", "b")
    world.prepare("group/idle")
    world.merge("group/idle")
    assert told_apart(world, "idle", "a", "b") == [Suspect("group/a"), Suspect("group/b")]


def test_there_are_no_suspects_if_a_person_has_added_to_the_branch(world: World) -> None:
    side_by_side(world, "a", "b")
    tree = world.git.line("rev-parse", f"{world.base}^{{tree}}")
    mine = world.git.line("commit-tree", tree, "-p", world.tip("group"), "-m", "mine")
    world.git.do("update-ref", NAMES.head("group"), mine)
    assert told_apart(world, "a", "b") == []


def test_there_are_no_suspects_if_a_person_has_merged_what_changes_no_file(world: World) -> None:
    side_by_side(world, "a", "b")
    world.git.do("branch", "mine", world.base)
    world.git.do("switch", "--quiet", "mine")
    world.commit({"readme": "changed"})
    world.git.do("switch", "--quiet", "weft/notes/group")
    world.git.do("merge", "--quiet", "--strategy=ours", "--no-edit", "mine")
    world.git.do("switch", "--quiet", "main")
    assert told_apart(world, "a", "b") == []


def test_there_are_no_suspects_if_the_merges_cannot_be_repeated(world: World) -> None:
    side_by_side(world, "a", "b")
    for name in ("a", "b"):  # a person has gone on with both
        world.step(f"group/{name}", {"readme": name})
    assert told_apart(world, "a", "b") == []


def test_a_group_that_never_started_has_no_suspects(world: World) -> None:
    assert told_apart(world, "a", "b") == []


# --- bringing together again ---


@pytest.mark.parametrize(
    ("without", "files"),
    [("", {"a", "b", "c"}), ("b", {"a", "c"}), ("ac", {"b"}), ("abc", set[str]())],
)
def test_a_group_is_gathered_without_some(world: World, without: str, files: set[str]) -> None:
    side_by_side(world, "a", "b", "c")
    branches = world.refs("refs/heads")
    assert gathered(world, request("a", "b", "c", without=without)) == {"readme", *files}
    assert world.refs("refs/heads") == branches


def test_made_again_it_is_the_same_commit(world: World) -> None:
    side_by_side(world, "a", "b", "c")
    asked = request("a", "b", "c", without="b")
    made = []
    for again in (world, World(world.top)):
        gathered(again, asked)
        made.append(again.refs(NAMES.passed("group")))
    assert made[0] == made[1]


def test_files_that_one_takes_in_conflicts_are_taken_again(world: World) -> None:
    for name in ("a", "b", "c"):
        world.do(f"group/{name}", {"lock": name, name: name})
    for name in ("a", "b", "c"):
        world.merge(f"group/{name}", take=("lock",))
    assert len(world.workspaces.suspects(request("a", "b", "c", takes=("lock",)))) == 3
    assert gathered(world, request("a", "b", "c", without="c", takes=("lock",))) == {
        "readme",
        "lock",
        "a",
        "b",
    }
    assert (world.workspaces.place("group") / "lock").read_text() == "b"


def test_what_does_not_go_together_without_another_is_in_conflict(world: World) -> None:
    side_by_side(world, "a", "b", "c")
    for name in ("a", "b"):
        world.step(f"group/{name}", {"readme": name})
    with pytest.raises(ConflictError, match="group/b conflicts with the other parts: readme") as error:
        gathered(world, request("a", "b", "c", without="c"))
    assert error.value.files == ("readme",)


# --- slices that hold others by chance ---


def movable(*names: str, without: str = "") -> MergeRequest:
    """Of a group of slices that depend on nothing, and whose worktrees go when they are merged."""
    asked = request(*names, without=without)
    return replace(asked, parts=tuple(replace(part, needs=()) for part in asked.parts))


def one_after_the_other(world: World, *names: str) -> None:
    for name in names:
        world.done(f"group/{name}", {name: name})
        world.workspaces.release(f"group/{name}")


def test_a_slice_that_can_be_repeated_without_another_is_not_built_on_it(world: World) -> None:
    one_after_the_other(world, "a", "b", "c")
    asked = movable("a", "b", "c")
    assert list(world.workspaces.suspects(asked)) == [Suspect(f"group/{name}") for name in "abc"]
    refs = world.refs()
    assert gathered(world, movable("a", "b", "c", without="a")) == {"readme", "b", "c"}
    assert world.refs("refs/heads") == {ref: refs[ref] for ref in world.refs("refs/heads")}


def test_a_slice_that_changed_what_another_made_is_built_on_it(world: World) -> None:
    world.done("group/a", {"a": "a\n"})
    world.done("group/b", {"a": "changed\n", "b": "b"})
    assert list(world.workspaces.suspects(movable("a", "b"))) == [
        Suspect("group/a"),
        Suspect("group/b", ("group/a",)),
    ]


def test_what_depends_on_a_slice_that_is_repeated_is_repeated_with_it(world: World) -> None:
    one_after_the_other(world, "a", "b")
    world.done("group/c", {"c": "c"}, "group/b")
    asked = movable("a", "b", "c")
    on_b = replace(asked.parts[2], after=("group/b",), needs=("group/b",))
    asked = replace(asked, parts=(*asked.parts[:2], on_b))
    assert list(world.workspaces.suspects(asked))[2] == Suspect("group/c", ("group/b",))
    assert gathered(world, replace(asked, without=("group/a",))) == {"readme", "b", "c"}


def test_a_slice_moves_to_its_repeated_work_when_another_is_left_out(world: World) -> None:
    one_after_the_other(world, "a", "b", "c")
    old = world.tip("group/b")
    asked = movable("a", "b", "c", without="a")
    gathered(world, asked)
    moves = world.workspaces.merge(replace(asked, verifies=True)).moves
    assert heads(moves) == [
        "weft/notes/group.b",
        "weft/notes/group.c",
        "weft/notes/group",
        "weft/notes/_plan",
    ]
    assert world.files(world.tip("group/b")).keys() == {"readme", "b"}
    assert world.kept("group/b") == {old}
    assert world.files(world.tip("group")).keys() == world.files(world.tip("")).keys() == {"readme", "b", "c"}
    refs = world.refs()
    World(world.top).workspaces.merge(asked)
    assert world.refs() == refs, "the next coordinator finds it done"


# --- moving on ---


def merge(world: World, without: str, *, verifies: bool = True) -> MergeResult:
    asked = request("a", "b", "c", without=without)
    return world.workspaces.merge(replace(asked, verifies=verifies))


def test_a_group_moves_on_with_what_was_verified_and_what_it_had_is_kept(world: World) -> None:
    side_by_side(world, "a", "b", "c")
    before = world.tip("group")
    gathered(world, request("a", "b", "c", without="ab"))
    merged = merge(world, "ab")
    assert merged.verify_in is None
    assert heads(merged.moves) == ["weft/notes/group", "weft/notes/_plan"]
    assert (merged.moves[0].before, merged.moves[0].after) == (before, world.tip("group"))
    assert set(world.files(world.tip("group"))) == set(world.files(world.tip(""))) == {"readme", "c"}
    assert world.kept("group") == {before}
    assert world.files(world.tip("group/a")) == {"readme": "hello\n", "a": "a"}


def test_what_is_left_is_verified_if_that_was_not_on_what_it_is_merged_with(world: World) -> None:
    side_by_side(world, "a", "b", "c")
    world.done("other/x", {"x": "x"})
    world.merge("other")
    gathered(world, request("a", "b", "c", without="ab"))
    assert merge(world, "ab").verify_in == world.workspaces.scratch("group")
    assert heads(world.publish("group").moves) == ["weft/notes/_plan"]
    assert set(world.files(world.tip(""))) == {"readme", "c", "x"}


def test_what_is_left_lands(world: World) -> None:
    side_by_side(world, "a", "b", "c")
    gathered(world, request("a", "b", "c", without="ab"))
    merge(world, "ab")
    world.land("group")
    assert set(world.files(world.target)) == {"readme", "c"}
    assert world.subjects(f"{world.base}..main").count("Merge c") == 1


def test_leaving_out_twice_happens_once_and_both_calls_report_it(world: World) -> None:
    side_by_side(world, "a", "b", "c")
    gathered(world, request("a", "b", "c", without="ab"))
    first = merge(world, "ab")
    refs = world.refs()
    again = merge(World(world.top), "ab")
    assert (again.moves, world.refs()) == (first.moves, refs)


def test_what_a_person_has_added_since_stays(world: World) -> None:
    side_by_side(world, "a", "b", "c")
    gathered(world, request("a", "b", "c", without="ab"))
    merge(world, "ab")
    mine = world.git.line(
        "commit-tree", f"{world.tip('group')}^{{tree}}", "-p", world.tip("group"), "-m", "mine"
    )
    world.git.do("update-ref", NAMES.head("group"), mine)
    merge(world, "ab", verifies=False)
    assert world.tip("group") == mine


def test_what_a_person_has_committed_meanwhile_stays_and_the_message_says_how_to_move_it(
    world: World,
) -> None:
    side_by_side(world, "a", "b", "c")
    gathered(world, request("a", "b", "c", without="ab"))
    tree = f"{world.tip('group')}^{{tree}}"
    mine = world.git.line("commit-tree", tree, "-p", world.tip("group"), "-m", "mine")
    world.git.do("update-ref", NAMES.head("group"), mine)
    with pytest.raises(HeldError, match="has commits that are not of its parts") as held:
        merge(world, "ab")
    assert world.tip("group") == mine
    for command in re.findall(r"git (branch [^,]+)", str(held.value)):
        world.git.do(*command.split())
    merge(world, "ab")
    assert set(world.files(world.tip("group"))) == {"readme", "c"}
    assert world.git.line("rev-parse", "notes-group") == mine


def test_a_branch_that_a_person_looks_at_does_not_move(world: World) -> None:
    side_by_side(world, "a", "b", "c")
    gathered(world, request("a", "b", "c", without="ab"))
    world.workspaces.discard("group")
    world.git.do("worktree", "add", "--quiet", "../seen", "weft/notes/group")
    before = world.refs()
    with pytest.raises(
        HeldError, match=r"checked out in .*seen, so group/a, group/b cannot be removed from it"
    ):
        merge(world, "ab")
    assert world.refs() == before


def test_a_part_that_was_left_out_starts_again_on_the_others(world: World) -> None:
    side_by_side(world, "a", "b", "c")
    gathered(world, request("a", "b", "c", without="ab"))
    merge(world, "ab")
    old = world.tip("group/a")
    world.done("group/a", {"a": "better"})
    assert world.files(world.tip("group")) == {"readme": "hello\n", "a": "better", "c": "c"}
    assert old in world.kept("group/a")
