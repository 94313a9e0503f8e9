"""The target branch: chains of results built on it, and how it moves to their end."""

import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from weft.engine.messages.facts import RefMove
from weft.ports.workspaces import HeldError, MergeRequest, MergeResult
from workspaces.git.repositories import contents
from workspaces.test_worktrees_merging import LINES, settle, with_line
from workspaces.trees import Tree, put
from workspaces.worlds import TARGET, World, heads, repository_in


@pytest.fixture
def world(tmp_path: Path) -> World:
    repository_in(tmp_path / "repository", {"README": "hello\n", "lines": LINES})
    return World(tmp_path / "repository")


def held(world: World, *paths: str, not_landed: tuple[str, ...] = ()) -> dict[str, str]:
    return {path: str(error) for path, error in world.build(*paths, not_landed=not_landed).held.items()}


# Chains


def test_a_chain_has_a_merge_commit_for_each_entry_and_nothing_moves_before_it_lands(world: World) -> None:
    for path in ("a", "b", "c"):
        world.do(path, {path: path})
    before = world.everything()
    chain = world.build("a", "b", "c")
    assert world.everything() == before
    assert [link.path for link in chain.links] == ["a", "b", "c"]
    assert [link.before for link in chain.links] == [chain.base, *(link.commit for link in chain.links[:-1])]
    assert chain.tree == world.git.line("rev-parse", f"{chain.commit}^{{tree}}")
    assert world.files(chain.commit).keys() == {"README", "lines", "a", "b", "c"}
    assert world.workspaces.target.advance(chain)
    first_parents = world.git.line("log", "--first-parent", "--format=%s", f"{chain.base}..main").splitlines()
    assert first_parents == ["Land c", "Land b", "Land a"]


def test_an_entry_that_conflicts_with_another_link_is_deferred_and_the_others_are_linked(
    world: World,
) -> None:
    world.do("a", {"lines": with_line(3, "a")})
    world.do("b", {"lines": with_line(3, "b")})
    world.do("c", {"c": "c"})
    chain = world.build("a", "b", "c")
    assert [link.path for link in chain.links] == ["a", "c"]
    assert chain.deferred == ("b",)
    assert chain.held == {}


def test_what_is_built_on_a_deferred_entry_is_deferred_too(world: World) -> None:
    world.do("x", {"lines": with_line(3, "x")})
    world.done("b", {"lines": with_line(3, "b")})
    world.do("a", {"c": "c"}, "b")
    assert world.build("x", "b", "a").deferred == ("b", "a")


def test_a_link_knows_the_links_that_it_is_built_on(world: World) -> None:
    world.done("a", {"one": "1"})
    world.done("b", {"two": "2"}, "a")
    chain = world.build("a", "b")
    assert chain.built_on == {"a": (), "b": ("a",)}


def test_an_entry_comes_after_those_whose_work_it_holds(world: World) -> None:
    world.done("a", {"one": "1"})
    world.done("b", {"two": "2"}, "a")
    assert [link.path for link in world.build("b", "a").links] == ["a", "b"]


def test_a_chain_can_be_built_on_an_older_tip(world: World) -> None:
    world.do("a", {"one": "1"})
    world.commit({"two": "2"})
    entries = world.build("a")
    old = world.workspaces.target.build([], is_to_land=lambda _path: False, onto=world.base)
    assert (old.base, old.commit, old.links) == (world.base, world.base, ())
    assert entries.base != world.base


# Landing


def test_what_lands_reaches_the_target_and_its_checkout(world: World) -> None:
    made = world.do("a", {"one": "1", "README": None})
    landed = world.land("a")
    assert landed == MergeResult(moves=(RefMove(ref=TARGET, before=world.base, after=world.target),))
    assert contents(world.top).keys() >= {"one", "lines"}
    assert not (world.top / "README").exists()
    assert world.git.line("status", "--porcelain") == ""
    assert world.subjects(f"{world.base}..main") == ["a: code", "Land a"]
    assert world.land("a") == landed, "it is found in the history"
    assert made in world.git.line("rev-list", "main").split()


def test_what_landed_in_a_chain_is_found_again_with_its_own_move(world: World) -> None:
    for path in ("a", "b"):
        world.do(path, {path: path})
    first, second = world.land("a", "b").moves
    assert (world.land("a").moves, world.land("b").moves) == ((first,), (second,))


def test_what_lands_is_the_very_commit_that_was_merged_if_nothing_else_has_landed(world: World) -> None:
    world.do("a", {"one": "1"})
    merged = world.workspaces.merge(MergeRequest(path="a", subject="Land a"))
    assert merged.moves[0].after == world.land("a").moves[0].after
    assert world.git.line("rev-parse", TARGET) == world.tip("")


def test_a_target_that_is_not_checked_out_moves_too(world: World) -> None:
    world.do("a", {"one": "1"})
    world.git.do("switch", "--quiet", "--create", "elsewhere")
    before = contents(world.top)
    world.land("a")
    assert world.files("main")["one"] == "1"
    assert contents(world.top) == before


def test_what_a_person_commits_after_a_chain_was_built_is_not_overwritten(world: World) -> None:
    world.do("a", {"one": "1"})
    chain = world.build("a")
    person = world.commit({"three": "3"})
    assert not world.workspaces.target.advance(chain)
    assert world.target == person
    world.land("a")
    assert world.files("main").keys() == {"README", "lines", "one", "three"}


def test_a_change_in_the_way_is_held_with_its_file_and_the_bytes_stay(world: World) -> None:
    world.do("a", {"lines": with_line(3, "mine")})
    put(world.top, {"lines": with_line(7, "being written")})
    before = contents(world.top)
    with pytest.raises(HeldError, match=r"main is checked out in .* lines.*weft merge a") as error:
        world.land("a")
    assert error.value.files == ("lines",)
    assert (contents(world.top), world.target) == (before, world.base)
    world.git.do("stash", "--quiet")
    world.land("a")
    world.git.do("stash", "pop", "--quiet")
    assert (world.top / "lines").read_text() == with_line(3, "mine").replace("\n7\n", "\nbeing written\n")


def test_the_links_that_touch_a_file_in_the_way_are_known(world: World) -> None:
    world.do("a", {"lines": with_line(3, "mine")})
    world.do("b", {"new": "1"})
    chain = world.build("a", "b")
    assert world.workspaces.target.touched(chain, ["lines"]) == ["a"]


def test_an_unfinished_file_elsewhere_stays_as_it_is(world: World) -> None:
    world.do("a", {"one": "1"})
    put(world.top, {"lines": "being written", "untracked": "mine"})
    world.land("a")
    assert contents(world.top)["lines"] == b"being written"
    assert contents(world.top)["untracked"] == b"mine"
    assert (world.top / "one").read_text() == "1"


def test_an_untracked_file_in_the_way_is_held(world: World) -> None:
    world.do("a", {"one": "1"})
    put(world.top, {"one": "mine"})
    with pytest.raises(HeldError, match="one") as error:
        world.land("a")
    assert error.value.files == ("one",)
    assert (world.top / "one").read_text() == "mine"


def test_a_target_that_is_gone_is_held(world: World) -> None:
    world.do("a", {"one": "1"})
    world.git.do("switch", "--quiet", "--detach")
    world.git.do("branch", "--quiet", "-D", "main")
    with pytest.raises(
        HeldError, match=r"the target branch main does not exist; create it again .* weft merge"
    ):
        world.build("a")


def test_a_branch_that_is_gone_is_held_with_the_way_to_get_it_back(world: World) -> None:
    made = world.do("a", {"one": "1"})
    world.git.do("update-ref", "-d", "refs/heads/weft/notes/a")
    assert f"git branch weft/notes/a {made[:12]}" in held(world, "a")["a"]


def test_uncommitted_changes_in_the_worktree_hold_an_entry(world: World) -> None:
    world.do("a", {"one": "1"})
    put(world.place("a"), {"forgotten": "?"})
    assert "has changes that are not committed: forgotten" in held(world, "a")["a"]


def test_files_outside_of_those_allowed_hold_an_entry(world: World) -> None:
    world.do("a", {"one": "1"})
    assert "strict_files" in str(world.build("a", files=("src/**",)).held["a"])


# What is built on others


def test_what_is_built_on_others_is_held_until_they_have_landed(world: World) -> None:
    world.done("a", {"one": "1"})
    world.done("b", {"two": "2"}, "a")
    world.do("c", {"three": "3"})
    with pytest.raises(HeldError, match=r"b is built on the work of a, which .* weft merge a b") as error:
        world.land("b", not_landed=("a", "c"))
    assert error.value.waits_for == ("a",)
    world.land("a", not_landed=("b", "c"))
    assert heads(world.land("b", not_landed=("c",)).moves) == ["main"]


def test_a_result_does_not_wait_for_a_subplan_that_changed_nothing(world: World) -> None:
    world.done("a", {"one": "1"})
    world.prepare("c")
    world.do("b", {"two": "2"})
    world.land("a", not_landed=("b", "c"))
    assert heads(world.land("b", not_landed=("c",)).moves) == ["main"]


def test_a_part_of_a_group_does_not_land_before_the_group(world: World) -> None:
    world.done("group/a", {"one": "1"})
    world.do("b", {"two": "2"}, "group/a")
    world.done("group/c", {"three": "3"})
    with pytest.raises(HeldError) as error:
        world.land("b", not_landed=("group",))
    assert error.value.waits_for == ("group",)


def test_work_that_a_person_changed_after_others_were_built_on_it_is_waited_for(world: World) -> None:
    world.done("a", {"one": "1"})
    world.do("b", {"two": "2"}, "a")
    world.step("a", {"more": ""})
    with pytest.raises(HeldError) as error:
        world.land("b", not_landed=("a",))
    assert error.value.waits_for == ("a",)


def test_results_that_hold_each_others_work_are_linked_together(world: World) -> None:
    person_takes(world, "a", "b")
    chain = world.build("a", "b")
    assert [link.path for link in chain.links] == ["a", "b"]
    assert chain.together == {"a": ("a", "b"), "b": ("a", "b")}
    assert heads(world.land("a", "b").moves) == ["main", "main"]
    assert world.files("main").keys() >= {"one", "two"}


def test_one_of_them_alone_is_held_with_the_command_that_lands_both(world: World) -> None:
    person_takes(world, "a", "b")
    assert held(world, "a", not_landed=("b",))["a"].endswith("type: weft merge b a")
    assert held(world, "b", not_landed=("a",))["b"].endswith("type: weft merge a b")


def test_three_that_hold_each_others_work_in_a_ring_are_linked_together(world: World) -> None:
    person_takes(world, "a", "b")
    world.done("c", {"three": "3"}, "a")
    merge_in(world, "b", "c")
    world.do("d", {"four": "4"}, "c")
    chain = world.build("d", "c", "b", "a", not_landed=("d",))
    assert {link.path for link in chain.links[:3]} == {"a", "b", "c"}
    assert {path: set(unit) for path, unit in chain.together.items()} == {path: {*"abc"} for path in "abc"}
    assert set(chain.built_on["d"]) >= {"c"}


def test_none_of_them_is_linked_if_one_is_in_conflict_with_the_target(world: World) -> None:
    person_takes(world, "a", "b", {"lines": with_line(3, "mine")})
    world.commit({"lines": with_line(3, "person")})
    chain = world.build("a", "b")
    assert chain.links == ()
    assert [chain.held["a"].conflict, chain.held["b"].conflict] == [True, True]
    settle(world, "a", "main", "both")
    assert [link.path for link in world.build("a", "b").links] == ["a", "b"]


def test_none_of_them_is_linked_if_one_has_uncommitted_changes(world: World) -> None:
    person_takes(world, "a", "b")
    put(world.place("b"), {"forgotten": "?"})
    chain = world.build("a", "b")
    assert (chain.links, chain.commit) == ((), chain.base)
    assert "not committed" in str(chain.held["b"])
    assert chain.held["a"].waits_for == ("b",)


def test_all_of_them_are_deferred_if_one_is_in_conflict_with_another_link(world: World) -> None:
    world.do("c", {"lines": with_line(3, "c")})
    person_takes(world, "a", "b", {"lines": with_line(3, "mine")})
    chain = world.build("c", "a", "b")
    assert [link.path for link in chain.links] == ["c"]
    assert (chain.deferred, chain.held, chain.together) == (("a", "b"), {}, {})


def test_all_of_them_are_held_if_one_holds_the_work_of_another_that_is_not_named(world: World) -> None:
    world.done("c", {"three": "3"})
    person_takes(world, "a", "b")
    chain = world.build("a", "b", not_landed=("c",))
    assert chain.links == ()
    assert {error.waits_for for error in chain.held.values()} == {("c",)}


def person_takes(world: World, first: str, second: str, edits: Tree | None = None) -> None:
    """The second starts on the work of the first, and a person merges the second into the first."""
    world.done(first, {"one": "1", **(edits or {})})
    world.do(second, {"two": "2"}, first)
    merge_in(world, first, second)


def merge_in(world: World, path: str, other: str) -> None:
    world.at(path).do("commit", "--quiet", "--allow-empty", "--message", "a person")
    world.at(path).do("merge", "--quiet", "--no-edit", f"weft/notes/{other}")


def test_a_conflict_with_the_target_is_held_and_settled_with_the_target(world: World) -> None:
    world.do("a", {"lines": with_line(3, "mine")})
    world.commit({"lines": with_line(3, "person")})
    with pytest.raises(HeldError, match="a cannot be merged into main"):
        world.land("a")
    settle(world, "a", "main", "both")
    world.land("a")
    assert (world.top / "lines").read_text() == with_line(3, "both")


# What has passed


def test_the_trees_that_have_passed_are_known_by_subplan(world: World) -> None:
    world.do("a", {"one": "1"})
    world.done("b", {"two": "2"})
    world.merge("a", verifies=True)
    world.publish("a")
    trees = world.workspaces.target.passed_trees({"a": False, "b": False, "c": True})
    assert trees == {
        "a": {world.git.line("rev-parse", "refs/weft/passed/notes/a^{tree}")},
        "b": set(),
        "c": set(),
    }
    by_steps = world.workspaces.target.passed_trees({"b": True})["b"]
    assert by_steps == {world.git.line("rev-parse", f"{world.tip('b')}^{{tree}}")}


def test_slices_start_while_others_land(world: World) -> None:
    paths = [f"s{number}" for number in range(4)]
    for path in paths:
        world.do(path, {path: path})
    barrier = Barrier(5)

    def land() -> None:
        barrier.wait()
        world.land(*paths)

    def prepare(path: str) -> None:
        barrier.wait()
        world.prepare(path)

    with ThreadPoolExecutor(5) as pool:
        ends = [pool.submit(land), *(pool.submit(prepare, f"group/{path}") for path in paths)]
        for end in ends:
            end.result()
    assert contents(world.top).keys() >= set(paths)
    assert world.git.line("status", "--porcelain") == ""


# What landed long before


def test_a_landing_does_not_read_the_landings_long_before_it(world: World) -> None:
    world.commit(
        {"README": "by a person\n"}
    )  # so that the target and the plan's branch have no merge in common
    for number in range(6):
        later = _at_minute(world, number)
        later.done(f"s{number}", {f"file{number}": "text\n"})
        later.land(f"s{number}")
    long_before = world.git.line("rev-parse", f"{TARGET}~4")
    (world.top / ".git" / "objects" / long_before[:2] / long_before[2:]).unlink()
    assert world.git.ask("merge-base", TARGET, world.tip("s5")).exit_code, "git itself reads it"
    last = _at_minute(world, 6)
    last.done("last", {"last": "text\n"})
    assert heads(last.land("last").moves) == ["main"]
    assert world.git.line("show", f"{TARGET}:last") == "text"


def _at_minute(world: World, number: int) -> World:
    """The same repository. All that is done in it by this has the same time."""
    date = f"@{10**9 + 60 * number} +0000"
    return World(world.top, environ={"GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date})


# Cost


def counted_git(folder: Path) -> tuple[dict[str, str], Path]:
    """An environment whose git adds a line to a file, and the file."""
    folder.mkdir()
    calls, program = folder / "calls", shutil.which("git")
    calls.touch()
    wrapper = folder / "git"
    wrapper.write_text(f'#!/bin/sh\necho "$*" >> {calls}\nexec {program} "$@"\n')
    wrapper.chmod(0o755)
    return {"PATH": f"{folder}:{os.environ['PATH']}"}, calls


@pytest.mark.parametrize("entries", [1, 8])
def test_an_entry_takes_at_most_four_git_processes_to_land_on_a_branch_that_is_not_checked_out(
    tmp_path: Path, entries: int
) -> None:
    repository_in(tmp_path / "repository", {"README": "hello\n"}).do("switch", "--quiet", "--create", "other")
    environ, calls = counted_git(tmp_path / "programs")
    world = World(tmp_path / "repository", environ=environ)
    paths = [f"s{number}" for number in range(entries)]
    for path in paths:
        world.do(path, {path: path})
    before = len(calls.read_text().splitlines())
    chain = world.build(*paths)
    assert world.workspaces.target.advance(chain)
    processes = len(calls.read_text().splitlines()) - before
    assert len(chain.links) == entries
    assert 0 < processes <= 4 * entries, calls.read_text()
