"""`isolation: worktree`: conflicts are opened in the worktree of a slice for an agent, and closed again."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from weft.engine.messages.facts import RefMove
from weft.errors import WeftError
from weft.ports.workspaces import ClosedConflict, HeldError, OpenConflict, WorkspaceRequest
from weft.workspaces.errors import WorkspaceError
from workspaces.git.repositories import KilledError, commit, contents
from workspaces.trees import put
from workspaces.worlds import NAMES, World, heads

LINES = "".join(f"{number}\n" for number in range(20))
INTO, BRANCH = "heads/weft/notes/_plan", "heads/weft/notes/a"


def with_line(number: int, text: str) -> str:
    lines = LINES.splitlines()
    return "\n".join((*lines[:number], text, *lines[number + 1 :], ""))


def clash(
    world: World, ours: dict[str, object] | None = None, theirs: dict[str, object] | None = None
) -> None:
    """The slice `a` is done, and `b` has been merged meanwhile."""
    world.do("a", {"lines": with_line(5, "a"), "mine": "a\n"} if ours is None else ours)  # type: ignore[arg-type]
    world.done("b", {"lines": with_line(5, "b"), "new": "b\n"} if theirs is None else theirs)  # type: ignore[arg-type]


def opened(world: World) -> World:
    clash(world)
    world.open_conflict("a")
    return world


def resolve(world: World, text: str = "both") -> None:
    put(world.place("a"), {"lines": with_line(5, text)})


def state(world: World) -> dict[str, object]:
    """Returns all refs except notes about reports."""
    return {name: made for name, made in world.everything().items() if "refs/weft/told" not in name}


# Opening


def test_what_git_would_leave_of_such_a_merge_is_in_the_worktree(world: World) -> None:
    clash(world)
    before, integrated = world.tip("a"), world.tip("")
    world.open_conflict("a")
    base = world.git.line("rev-parse", "--short", world.base)
    marked = f"<<<<<<< {INTO}\nb\n||||||| {base}\n5\n=======\na\n>>>>>>> {BRANCH}"
    result = contents(world.place("a"))
    assert result["lines"] == with_line(5, marked).encode()
    assert (result["mine"], result["new"]) == (b"a\n", b"b\n")
    git = world.at("a")
    stages = [git.line("cat-file", "-p", f":{stage}:lines") for stage in (1, 2, 3)]
    assert stages == [LINES.strip(), with_line(5, "a").strip(), with_line(5, "b").strip()]
    assert git.line("status", "--porcelain") == "UU lines\nA  new"
    assert git.line("rev-parse", "HEAD", "MERGE_HEAD") == f"{before}\n{integrated}"
    assert (world.tip("a"), world.tip("")) == (before, integrated)


def test_the_conflict_is_reported_with_the_commits_of_both_sides(world: World) -> None:
    clash(world)
    assert world.open_conflict("a") == OpenConflict(
        files=("lines",), into=INTO, branch=BRANCH, others=("b: code",), own=("a: code",)
    )


def test_a_tag_with_the_name_of_a_branch_is_not_meant(world: World) -> None:
    clash(world)
    world.git.do("tag", "weft/notes/_plan", world.base)
    assert world.open_conflict("a").files == ("lines",)


def test_files_that_are_taken_as_the_branch_has_them_are_not_in_conflict(world: World) -> None:
    clash(world, {"lines": "a\n", "x.lock": "a\n"}, {"lines": "b\n", "x.lock": "b\n"})
    assert world.open_conflict("a", take=("*.lock",)).files == ("lines",)
    assert contents(world.place("a"))["x.lock"] == b"a\n"
    assert world.open_conflict("a", take=("*.lock", "lines")) == OpenConflict()
    assert world.at("a").line("status", "--porcelain") == ""


def test_where_nothing_is_in_conflict_any_more_nothing_is_put_anywhere(world: World) -> None:
    clash(world, {"mine": "a\n"})
    before = state(world)
    assert world.open_conflict("a") == OpenConflict()
    assert state(world) == before


def test_hooks_and_settings_of_the_user_have_no_say(world: World) -> None:
    hooks = world.top / ".git" / "hooks"
    hooks.mkdir()
    for name in ("post-checkout", "pre-merge-commit", "commit-msg", "post-merge", "reference-transaction"):
        (hooks / name).write_text(f"#!/bin/sh\ntouch {world.top.parent}/hooked\nexit 1\n")
        (hooks / name).chmod(0o755)
    world.git.do("config", "merge.conflictStyle", "merge")
    opened(world)
    assert b"\n||||||| " in contents(world.place("a"))["lines"]
    resolve(world)
    assert world.close_conflict("a").message == ""
    assert not (world.top.parent / "hooked").exists()


def test_a_worktree_with_changes_that_are_not_committed_is_left_as_it_is(world: World) -> None:
    clash(world)
    put(world.place("a"), {"draft": "x"})
    before = state(world)
    with pytest.raises(WorkspaceError, match="has changes that are not committed: draft"):
        world.open_conflict("a")
    assert state(world) == before


def test_a_merge_that_a_person_has_started_is_left_as_it_is(world: World) -> None:
    clash(world)
    assert world.at("a").ask("merge", "weft/notes/_plan").exit_code == 1
    before = state(world)
    with pytest.raises(WorkspaceError, match="a `git merge` is unfinished"):
        world.open_conflict("a")
    assert state(world) == before


def test_a_worktree_that_is_gone_is_reported(world: World) -> None:
    clash(world)
    shutil.rmtree(world.place("a"))
    with pytest.raises(WorkspaceError, match="does not exist; put it back"):
        world.open_conflict("a")
    with pytest.raises(WorkspaceError, match="no conflict was opened in"):
        world.close_conflict("a")


def test_a_conflict_that_files_cannot_show_is_for_a_person(world: World) -> None:
    clash(world, {"lines": None, "lines/inside": "a\n"}, {"lines": "b\n"})
    before = state(world)
    with pytest.raises(WorkspaceError, match=r"only a person can settle this: lines \(file/directory\)"):
        world.open_conflict("a")
    assert state(world) == before


def test_a_conflict_in_files_that_the_worktree_does_not_have_is_for_a_person(world: World) -> None:
    world.commit({"far/x": LINES, "near/y": LINES})
    world = anew(world)
    world.workspaces.prepare(WorkspaceRequest(path="a", sparse=("near",)))
    world.step("a", {"near/y": with_line(5, "a")})
    world.at("a").do("checkout", "--ignore-skip-worktree-bits", "HEAD", "--", "far")
    world.step("a", {"far/x": with_line(5, "a")})
    shutil.rmtree(world.place("a") / "far")
    world.at("a").do("update-index", "--skip-worktree", "far/x")
    world.done("b", {"far/x": with_line(5, "b")})
    before = state(world)
    with pytest.raises(WorkspaceError, match="these files are not in the sparse worktree: far/x"):
        world.open_conflict("a")
    assert state(world) == before


def anew(world: World) -> World:
    world.git.do("update-ref", "refs/weft-test/base", "main")
    return World(world.top)


def test_a_branch_that_another_program_moves_all_the_time_is_reported(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    clash(world)
    monkeypatch.setattr("weft.workspaces.git.merges.conflict_resolution.tips_of", lambda *_: {})
    with pytest.raises(
        WorkspaceError, match="weft/notes/_plan keeps moving; find the other program that moves it"
    ):
        world.open_conflict("a")


# Resolved


def test_what_is_settled_becomes_a_merge_on_the_branch_of_the_slice(world: World) -> None:
    opened(world)
    before, integrated, group = world.tip("a"), world.tip(""), world.tip("")
    resolve(world)
    put(world.place("a"), {"also": "needed\n"})
    closed = world.close_conflict("a")
    made = world.tip("a")
    assert closed == ClosedConflict(moves=(RefMove(ref=NAMES.head("a"), before=before, after=made),))
    assert world.git.line("show", "--no-patch", "--format=%P", made) == f"{before} {integrated}"
    message = world.git.line("show", "--no-patch", "--format=%B", made).splitlines()
    trailers = ["Weft-Plan: notes", "Weft-Subplan: a", "Weft-Step: @resolve", "Weft-Attempt: 1"]
    assert message == ["a: resolve", "", *trailers]
    files = {
        "README": "hello\n",
        "lines": with_line(5, "both"),
        "mine": "a\n",
        "new": "b\n",
        "also": "needed\n",
    }
    assert world.files(made) == files
    assert world.at("a").line("status", "--porcelain") == ""
    assert world.tip("") == group
    world.workspaces.prove("a")
    assert world.close_conflict("a") == closed


def test_what_was_resolved_is_verified_before_it_moves_and_then_it_is_merged(world: World) -> None:
    opened(world)
    resolve(world)
    world.close_conflict("a")
    assert world.merge("a", verifies=True, resolved=True).verify_in == world.place("_check.a")
    assert heads(world.publish("a").moves) == ["weft/notes/_plan"]
    assert world.files("weft/notes/_plan")["lines"] == with_line(5, "both")
    assert heads(world.land("b").moves) == heads(world.land("a").moves) == ["main"]


def test_it_is_verified_also_if_the_slice_has_passed_on_the_same_files(world: World) -> None:
    clash(world, {"lines": with_line(5, "a")}, {"lines": with_line(5, "b")})
    world.open_conflict("a")
    resolve(world, "a")
    assert world.close_conflict("a").message == ""
    assert world.merge("a", verifies=True, resolved=True).verify_in == world.place("_check.a")


def test_commits_that_the_agent_made_stay(world: World) -> None:
    opened(world)
    before, integrated = world.tip("a"), world.tip("")
    resolve(world)
    git = world.at("a")
    git.do("commit", "--quiet", "--all", "--message", "mine")
    own = world.tip("a")
    resolve(world, "better")
    assert heads(world.close_conflict("a").moves) == ["weft/notes/a"]
    parents = world.git.line("show", "--no-patch", "--format=%P", world.tip("a"))
    assert parents == f"{own} {integrated}"
    assert world.subjects("--first-parent", f"{before}..weft/notes/a") == ["mine", "a: resolve"]
    assert world.files(world.tip("a"))["lines"] == with_line(5, "better")


def test_a_merge_that_the_agent_has_committed_as_it_was_prepared_is_taken_as_it_is(world: World) -> None:
    opened(world)
    before, integrated = world.tip("a"), world.tip("")
    resolve(world)
    world.at("a").do("commit", "--quiet", "--all", "--no-edit")
    own = world.tip("a")
    assert world.close_conflict("a").moves == (RefMove(ref=NAMES.head("a"), before=before, after=own),)
    assert world.git.line("show", "--no-patch", "--format=%P", own) == f"{before} {integrated}"


def test_an_agent_that_gave_the_merge_up_and_did_it_by_hand_has_resolved_it(world: World) -> None:
    opened(world)
    world.at("a").do("merge", "--abort")
    put(world.place("a"), {"lines": with_line(5, "both"), "new": "b\n"})
    assert world.close_conflict("a").message == ""
    assert world.merge("a").moves != ()


def test_lines_that_look_like_marks_and_were_there_before_may_stay(world: World) -> None:
    start = f"=======\n<<<<<<< HEAD\n{LINES}"
    world.commit({"lines": start})
    world = anew(world)
    clash(world, {"lines": start.replace("5\n", "a\n")}, {"lines": start.replace("5\n", "b\n")})
    world.open_conflict("a")
    put(world.place("a"), {"lines": start.replace("5\n", "both\n")})
    assert world.close_conflict("a").message == ""


def test_a_file_without_an_end_of_its_last_line_can_be_settled(world: World) -> None:
    clash(world, {"short": "a"}, {"short": "b"})
    world.open_conflict("a")
    put(world.place("a"), {"short": "both\n"})
    assert world.close_conflict("a").message == ""


def test_a_file_with_other_ends_of_lines_can_be_settled_and_not(world: World) -> None:
    clash(world, {"short": "1\r\na\r\n"}, {"short": "1\r\nb\r\n"})
    world.open_conflict("a")
    put(world.place("a"), {"short": "1\r\n=======\r\nboth\r\n"})
    assert "it left the conflict in short" in world.close_conflict("a").message
    world.open_conflict("a")
    put(world.place("a"), {"short": "1\r\nboth\r\n"})
    assert world.close_conflict("a").message == ""


def test_a_file_that_goes_is_settled(world: World) -> None:
    opened(world)
    put(world.place("a"), {"lines": None})
    assert world.close_conflict("a").message == ""
    assert "lines" not in world.files(world.tip("a"))


# Where there are no marks

Deed = Callable[[World], object]


def binary(world: World) -> None:
    clash(world, {"image": "\0a"}, {"image": "\0b"})


def removed(world: World) -> None:
    clash(world, {"lines": None}, {"lines": with_line(5, "b")})


@pytest.mark.parametrize(("before", "file"), [(binary, "image"), (removed, "lines")])
def test_what_has_no_marks_and_was_not_touched_is_not_settled(world: World, before: Deed, file: str) -> None:
    before(world)
    world.open_conflict("a")
    assert world.close_conflict("a").message == f"it left the conflict in {file}"


@pytest.mark.parametrize(("before", "file"), [(binary, "image"), (removed, "lines")])
@pytest.mark.parametrize("deed", ["change", "add", "rm", "delete"])
def test_a_file_without_marks_is_settled_by_a_change_or_by_git_add(
    world: World, before: Deed, file: str, deed: str
) -> None:
    before(world)
    world.open_conflict("a")
    deeds: dict[str, Callable[[], object]] = {
        "change": lambda: put(world.place("a"), {file: "changed"}),
        "add": lambda: world.at("a").do("add", file),
        "rm": lambda: world.at("a").do("rm", "--quiet", file),
        "delete": lambda: put(world.place("a"), {file: None}),
    }
    deeds[deed]()
    assert world.close_conflict("a").message == ""
    assert (file in world.files(world.tip("a"))) == (deed in {"change", "add"})


def test_a_file_that_both_have_renamed_is_settled_by_git_add(world: World) -> None:
    clash(world, {"lines": None, "ours": LINES}, {"lines": None, "theirs": LINES})
    world.open_conflict("a")
    assert world.close_conflict("a").message == "it left the conflict in ours, theirs"
    world.open_conflict("a")
    world.at("a").do("rm", "--quiet", "theirs")
    world.at("a").do("add", "ours")
    assert world.close_conflict("a").message == ""


# Not resolved


def leaves_marks(world: World) -> None:
    put(world.place("a"), {"other": "x\n"})


def commits_marks(world: World) -> None:
    world.at("a").do("commit", "--quiet", "--all", "--message", "with marks")


def detaches(world: World) -> None:
    resolve(world)
    world.at("a").do("commit", "--quiet", "--all", "--message", "mine")
    world.at("a").do("switch", "--quiet", "--detach")
    commit(world.at("a"), {"more": "1"})


def rewrites(world: World) -> None:
    resolve(world)
    world.at("a").do("merge", "--quit")
    world.at("a").do("commit", "--quiet", "--all", "--amend", "--message", "rewritten")


def removes_the_branch(world: World) -> None:
    resolve(world)
    world.at("a").do("update-ref", "-d", NAMES.head("a"))


def begins_a_rebase(world: World) -> None:
    world.at("a").do("merge", "--abort")
    assert world.at("a").ask("rebase", "weft/notes/_plan").exit_code == 1


BADLY: dict[Deed, str] = {
    leaves_marks: "it left the conflict in lines",
    commits_marks: "it left the conflict in lines",
    detaches: "it left the branch weft/notes/a",
    rewrites: "it changed commits that were there before",
    removes_the_branch: "it removed the branch weft/notes/a",
    begins_a_rebase: "it left a `git rebase` unfinished",
}


@pytest.mark.parametrize("deed", BADLY)
def test_what_is_not_settled_is_undone_and_nothing_of_it_is_lost(world: World, deed: Deed) -> None:
    clash(world)
    before = state(world)
    world.open_conflict("a")
    deed(world)
    made = contents(world.place("a"))
    log = Path(world.at("a").line("rev-parse", "--absolute-git-dir")) / "logs" / "HEAD"
    seen = {line.split(" ")[1] for line in log.read_text().splitlines()} - {"0" * 40}
    closed = world.close_conflict("a")
    (kept,) = closed.moves
    assert closed.message == f"{BADLY[deed]}; its work is kept as {kept.ref}"
    assert kept.ref == NAMES.kept("a", kept.after)
    assert {name: text.encode() for name, text in world.files(kept.after).items()} == made
    reachable = set(world.git.line("rev-list", "--all").split())
    assert seen <= reachable
    by_name = {name: item for name, item in state(world).items() if "refs/weft/kept" not in name}
    assert by_name == before
    world.workspaces.prove("a")
    assert world.close_conflict("a") == closed


def test_what_an_agent_left_that_failed_is_undone_also_if_all_is_settled(world: World) -> None:
    opened(world)
    before = world.tip("a")
    resolve(world)
    closed = world.close_conflict("a", failed="exit code 3")
    assert closed.message.startswith("exit code 3; its work is kept as refs/weft/kept/notes/a/")
    assert world.tip("a") == before
    assert world.files(closed.moves[0].after)["lines"] == with_line(5, "both")


def test_of_an_agent_that_did_nothing_nothing_is_kept(world: World) -> None:
    opened(world)
    assert world.close_conflict("a", failed="exit code 3") == ClosedConflict(message="exit code 3")
    assert world.kept("a") == set()


def test_what_was_not_resolved_is_in_conflict_as_before_and_a_person_hears_of_the_agent(world: World) -> None:
    opened(world)
    leaves_marks(world)
    closed = world.close_conflict("a")
    with pytest.raises(HeldError) as held:
        world.merge("a", resolved=True)
    lines = str(held.value).splitlines()
    assert lines[-1] == f"An agent tried to resolve it and failed: {closed.message}"
    assert lines[-2] == "  weft merge a"
    assert (held.value.files, held.value.conflict) == (("lines",), True)


def test_a_repository_that_the_agent_made_is_left_for_a_person_to_look_at(world: World) -> None:
    opened(world)
    world.at("a").do("init", "--quiet", "inner")
    put(world.place("a"), {"inner/x": "1"})
    before = contents(world.place("a"))
    with pytest.raises(WorkspaceError, match="contains other repositories"):
        world.close_conflict("a")
    with pytest.raises(
        HeldError, match=r"a cannot be merged: .* contains other repositories.*: weft merge a"
    ):
        world.merge("a", resolved=True)
    assert contents(world.place("a")) == before


def test_a_branch_that_another_program_moves_meanwhile_is_not_moved_back(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened(world)
    resolve(world)
    monkeypatch.setattr("weft.workspaces.git.merges.conflict_resolution.move", lambda *_, **__: False)
    monkeypatch.setattr("weft.workspaces.git.worktrees.reset.move", lambda *_, **__: False)
    with pytest.raises(WorkspaceError, match="branch weft/notes/a was moved by another process"):
        world.close_conflict("a")
    world.at("a").do("commit", "--quiet", "--all", "--message", "mine")
    with pytest.raises(WorkspaceError, match="branch weft/notes/a was moved by another process"):
        world.close_conflict("a", failed="no")


# Left behind


@pytest.mark.parametrize("again", ["open_conflict", "merge"])
def test_one_that_was_left_open_is_undone_before_it_is_opened_again_and_before_a_merge(
    world: World, again: str
) -> None:
    opened(world)
    put(world.place("a"), {"half": "done"})
    if_asked = {"open_conflict": lambda: world.open_conflict("a"), "merge": lambda: merges(world)}
    if_asked[again]()
    (kept,) = world.kept("a")
    assert world.files(kept)["half"] == "done"
    assert not (world.place("a") / "half").exists()


def merges(world: World) -> None:
    with pytest.raises(HeldError, match="1 file in conflict"):
        world.merge("a")
    world.workspaces.prove("a")


def test_what_was_brought_into_the_worktree_stays_there(world: World) -> None:
    put(world.top, {"data.ignored": "1", "local": "2"})
    (world.top / ".git" / "info" / "exclude").write_text(".weft\n*.ignored\nlocal\n")
    world.workspaces.prepare(WorkspaceRequest(path="a", copy=("local", "data.ignored")))
    (world.top / ".git" / "info" / "exclude").write_text(".weft\n*.ignored\n")
    world.step("a", {"lines": with_line(5, "a")})
    world.done("b", {"lines": with_line(5, "b")})
    world.open_conflict("a")
    world.close_conflict("a", failed="no")
    assert {"data.ignored", "local"} <= contents(world.place("a")).keys()
    world.open_conflict("a")
    resolve(world)
    assert world.close_conflict("a").message == ""
    assert world.files(world.tip("a")).keys() == {"README", "lines"}


def test_a_person_finds_nothing_changed_in_the_checkout(world: World) -> None:
    before = world.checkout()
    opened(world)
    resolve(world)
    world.close_conflict("a")
    assert world.checkout() == before


def test_errors_are_of_a_kind_that_is_reported(world: World) -> None:
    with pytest.raises(WeftError):
        world.open_conflict("never")


def test_where_the_branch_has_moved_meanwhile_and_there_is_another_conflict_a_person_hears_of_that_one(
    world: World,
) -> None:
    opened(world)
    resolve(world)
    world.close_conflict("a")
    world.done("c", {"lines": with_line(5, "c")}, "b")
    with pytest.raises(HeldError, match="1 file in conflict") as held:
        world.merge("a", resolved=True)
    assert "An agent" not in str(held.value)


def test_one_whose_end_was_cut_off_is_undone_to_its_end(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened(world)
    leaves_marks(world)
    before = world.tip("a")
    with monkeypatch.context() as patch:
        patch.setattr("weft.workspaces.git.merges.conflict_resolution.keep_logged", dies)
        with pytest.raises(KilledError):
            world.close_conflict("a")
    closed = world.close_conflict("a", failed="another reason")
    assert closed.message.startswith("it left the conflict in lines; its work is kept as ")
    assert (world.tip("a"), world.at("a").line("status", "--porcelain")) == (before, "")


def dies(*_: object) -> None:
    raise KilledError
