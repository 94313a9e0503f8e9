"""Steps that are watched in a worktree: what a reader did is undone and kept; what others changed is known."""

import pytest
from msgspec.structs import replace

from weft.ports.workspaces import Breach
from weft.workspaces.errors import WorkspaceError
from weft.workspaces.git.base.worktree_links import git_dir_of
from weft.workspaces.git.slices import step_changes
from weft.workspaces.git.slices.watch_note import note_watched, watched_in
from workspaces.git.repositories import commit, contents
from workspaces.trees import put
from workspaces.worlds import NAMES, World


@pytest.fixture
def reading(world: World) -> World:
    """A reader is under way, after a step that wrote a file."""
    world.do("a", {"one": "1"})
    world.workspaces.prove("a")
    world.watch("a", "job")
    return world


def broken(world: World, job: str = "job") -> Breach:
    breach = world.restore("a", job)
    assert breach is not None
    return breach


def is_as_before(world: World, before: str, files: dict[str, bytes | str]) -> bool:
    at = world.at("a")
    return (world.tip("a"), contents(world.place("a")), at.line("status", "--porcelain")) == (
        before,
        files,
        "",
    ) and at.line("symbolic-ref", "HEAD") == NAMES.head("a")


def kept_files(world: World, breach: Breach) -> dict[str, str]:
    (move,) = breach.moves
    assert world.refs(move.ref) == {move.ref: move.after}
    return world.files(move.after)


# What a reader did


def test_files_are_undone_and_kept_on_the_side(reading: World) -> None:
    before, files = reading.tip("a"), contents(reading.place("a"))
    put(reading.place("a"), {"new": "of the reader", "README": None, "one": ["program"]})
    breach = broken(reading)
    assert is_as_before(reading, before, files)
    kept = kept_files(reading, breach)
    assert (kept["new"], kept["one"], "README" in kept) == ("of the reader", "program", False)
    (move,) = breach.moves
    assert breach.message == (
        f"it may only read, and changed README, new, one; that was undone, and is kept as {move.ref}"
    )
    assert reading.subjects("-1", move.after) == ["a: read, which may only read"]


def test_what_it_did_is_not_recorded_as_work_of_the_slice(reading: World) -> None:
    put(reading.place("a"), {"new": "of the reader"})
    broken(reading)
    assert reading.record("a", step="read") == []
    assert "new" not in reading.files(reading.tip("a"))


def test_commits_are_undone_and_kept(reading: World) -> None:
    before, files = reading.tip("a"), contents(reading.place("a"))
    made = commit(reading.at("a"), {"new": "1"})
    breach = broken(reading)
    assert is_as_before(reading, before, files)
    assert reading.kept("a") == {made}
    assert "changed new, moved the branch to another commit; that was undone" in breach.message


def test_a_commit_without_a_change_is_one_too(reading: World) -> None:
    reading.at("a").do("commit", "--quiet", "--allow-empty", "--message", "nothing")
    breach = broken(reading)
    assert breach.files == ()
    assert "it may only read, and moved the branch to another commit; that was undone" in breach.message


def test_commits_that_it_undid_are_back(reading: World) -> None:
    before, files = reading.tip("a"), contents(reading.place("a"))
    reading.at("a").do("reset", "--quiet", "--hard", "HEAD~1")
    breach = broken(reading)
    assert is_as_before(reading, before, files)
    assert (breach.files, breach.moves) == (("one",), ())
    assert breach.message.endswith("; that was undone")


def test_all_lines_of_commits_are_kept(reading: World) -> None:
    before, files = reading.tip("a"), contents(reading.place("a"))
    first = commit(reading.at("a"), {"new": "1"})
    reading.at("a").do("switch", "--quiet", "--detach", before)
    second = commit(reading.at("a"), {"new": "2"})
    breach = broken(reading)
    assert is_as_before(reading, before, files)
    assert reading.kept("a") == {first, second}
    assert "changed new, left the branch weft/notes/a; that" in breach.message


def test_a_branch_that_it_moved_from_elsewhere_is_back_and_what_it_led_to_is_kept(reading: World) -> None:
    before, files = reading.tip("a"), contents(reading.place("a"))
    reading.at("a").do("switch", "--quiet", "--detach")
    tree = reading.git.line("rev-parse", "HEAD^{tree}")
    elsewhere = reading.git.line("commit-tree", tree, "-m", "hidden")
    reading.git.do("update-ref", NAMES.head("a"), elsewhere)
    broken(reading)
    assert is_as_before(reading, before, files)
    assert reading.kept("a") == {elsewhere}


def test_a_branch_that_it_removed_is_back(reading: World) -> None:
    before, files = reading.tip("a"), contents(reading.place("a"))
    reading.git.do("update-ref", "-d", NAMES.head("a"))
    assert "removed the branch weft/notes/a" in broken(reading).message
    assert is_as_before(reading, before, files)


def test_a_merge_that_it_left_unfinished_is_over(reading: World) -> None:
    before, files = reading.tip("a"), contents(reading.place("a"))
    other = reading.git.line("commit-tree", f"{reading.base}^{{tree}}", "-p", reading.base, "-m", "other")
    reading.at("a").do("merge", "--quiet", "--no-commit", "--no-ff", other)
    assert "left a `git merge` unfinished" in broken(reading).message
    assert is_as_before(reading, before, files)


def test_files_that_it_had_git_ignore_are_undone_and_kept_too(reading: World) -> None:
    before, files = reading.tip("a"), contents(reading.place("a"))
    put(reading.place("a"), {".gitignore": "hidden\n", "hidden": "secret"})
    breach = broken(reading)
    assert is_as_before(reading, before, files)
    assert breach.files == (".gitignore", "hidden")
    kept = [reading.files(move.after) for move in breach.moves]
    assert [(".gitignore" in item, item.get("hidden")) for item in kept] == [(True, None), (False, "secret")]


def test_what_comes_again_and_again_is_an_error(reading: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(step_changes, "reset_worktree", lambda *_, **__: None)
    put(reading.place("a"), {"new": "1"})
    with pytest.raises(WorkspaceError, match="keeps changing; end the processes that work there"):
        reading.restore("a", "job")


def test_what_is_ignored_or_was_brought_is_no_change(world: World) -> None:
    world.prepare("a")
    put(world.place("a"), {"set-up": "1"})
    world.workspaces.accept("a")
    world.watch("a", "job")
    put(world.place("a"), {"set-up": "2", "a.ignored": "1"})
    assert world.restore("a", "job") is None
    assert (world.place("a") / "set-up").read_text() == "2"


def test_another_index_alone_is_no_change(reading: World) -> None:
    reading.at("a").do("rm", "--quiet", "--cached", "one")
    assert reading.restore("a", "job") is None


def test_a_repository_that_it_made_is_reported_and_nothing_is_lost(reading: World) -> None:
    reading.git.do("init", "--quiet", str(reading.place("a") / "inner"))
    put(reading.place("a"), {"inner/file": "1"})
    with pytest.raises(WorkspaceError, match="contains other repositories"):
        reading.restore("a", "job")
    assert (reading.place("a") / "inner" / "file").exists()


# What was there before


def test_what_a_person_left_is_recorded_before_the_reader_starts(world: World) -> None:
    world.do("a", {"one": "1"})
    world.workspaces.prove("a")
    put(world.place("a"), {"mine": "a person's"})
    world.watch("a", "job")
    assert world.subjects("-1", world.tip("a")) == ["a: what was there before read"]
    put(world.place("a"), {"mine": "the reader's"})
    broken(world)
    assert world.files(world.tip("a"))["mine"] == "a person's"
    assert [(move.ref, move.after) for move in world.record("a", step="read")] == [
        (NAMES.head("a"), world.tip("a"))
    ]


# Killed in the middle


def test_an_interrupted_undo_is_finished_before_another_step_starts(reading: World) -> None:
    before, files = reading.tip("a"), contents(reading.place("a"))
    put(reading.place("a"), {"new": "1", "newer": "2"})
    breach = broken(reading)
    # As if it had been killed when one of the files was gone.
    git_dir = git_dir_of(reading.place("a"))
    note_watched(git_dir, [replace(item, undone=False) for item in watched_in(git_dir)])
    put(reading.place("a"), {"newer": "2"})
    reading.workspaces.unwatch("a", ["job"])
    assert is_as_before(reading, before, files)
    assert broken(reading) == breach
    assert len(reading.kept("a")) == 1


# Who is to change files


@pytest.mark.parametrize(
    ("edits", "changed"), [({}, False), ({"one": "1"}, False), ({"new": "1"}, True), ({"README": None}, True)]
)
def test_it_is_known_whether_files_were_changed(
    world: World, edits: dict[str, str | None], changed: bool
) -> None:
    world.do("a", {"one": "1"})
    world.workspaces.prove("a")
    world.watch("a", "job", reads=False)
    put(world.place("a"), edits)
    world.record("a")
    assert world.has_changed("a", "job") is changed
    assert world.has_changed("a", "job") is changed


def test_an_agent_s_own_commit_is_a_change_and_an_empty_one_is_none(world: World) -> None:
    world.prepare("a")
    for job, command in {"one": ("--all",), "two": ("--allow-empty",)}.items():
        world.watch("a", job, reads=False)
        put(world.place("a"), {"README": "changed"})
        world.at("a").do("commit", "--quiet", *command, "--message", "mine")
        world.record("a")
    assert world.has_changed("a", "one") is None  # nobody asks any more once another has begun
    assert world.has_changed("a", "two") is False


def test_that_nothing_was_changed_stays_known_while_others_start(world: World) -> None:
    world.prepare("a")
    world.watch("a", "one", reads=False)
    assert world.has_changed("a", "one") is False
    world.workspaces.unwatch("a", ["one"])
    world.step("a", {"new": "1"})
    assert world.has_changed("a", "one") is False


def test_a_step_beside_another_may_have_changed_anything(world: World) -> None:
    world.prepare("a")
    world.watch("a", "one", reads=False)
    world.workspaces.unwatch("a", ["one"])
    assert world.has_changed("a", "one") is None
    assert world.restore("a", "one") is None


def test_only_readers_are_undone(world: World) -> None:
    world.prepare("a")
    world.watch("a", "one", reads=False)
    put(world.place("a"), {"new": "1"})
    assert world.restore("a", "one") is None
    assert (world.place("a") / "new").exists()
