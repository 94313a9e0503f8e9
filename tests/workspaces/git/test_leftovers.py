"""What a plan has left in a repository, and what of it goes."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from weft.engine.messages.facts import RefMove
from weft.workspaces.errors import WorkspaceError
from weft.workspaces.git.base.names import RefNames
from weft.workspaces.git.base.program import Git
from weft.workspaces.git.base.refs import tip, tips
from weft.workspaces.git.leftovers import (
    LeftoverJudge,
    LeftoverJudgement,
    PlanLeftovers,
    RetainedRef,
    RetentionReason,
    SubplanLeftovers,
    remove,
)
from weft.workspaces.git.worktrees.worktrees import Worktrees
from workspaces.git.repositories import DyingGit, KilledError, commit, repository

NAMES = RefNames(plan="notes")
MAIN = "refs/heads/main"


class Place:
    """A repository in which a plan was run."""

    def __init__(self, top: Path, git: Git | None = None) -> None:
        self.top = top
        self.git = git or repository(top, {"README": "hello\n", ".gitignore": ".weft\nignored\n"})
        self.worktrees = Worktrees(self.git, top / ".git")

    def at(self, name: str) -> Path:
        return self.top / ".weft" / "worktrees" / "notes" / name

    def begin(self, path: str) -> Path:
        """Creates what a slice starts with: a branch, notes, a worktree."""
        start = self.git.line("rev-parse", "main")
        refs = (NAMES.head(path), NAMES.start(path), NAMES.reported(path), NAMES.tip(path))
        self.git.do(
            "update-ref", "--stdin", stdin="".join(f"create {ref} {start}\n" for ref in refs).encode()
        )
        self.worktrees.make(self.at(path), branch=NAMES.head(path), commit=start)
        return self.at(path)

    def work(self, path: str, **files: str) -> str:
        """Starts a slice and makes one commit."""
        made = commit(self.git.at(self.begin(path)), files or {path: path})
        self.git.do("update-ref", NAMES.tip(path), made)
        return made

    def land(self, *paths: str) -> None:
        for path in paths:
            self.git.do("merge", "--quiet", "--no-ff", "--message", f"land {path}", NAMES.branch(path))

    def keep(self, path: str, made: str) -> str:
        ref = NAMES.kept(path, made)
        self.git.do("update-ref", ref, made)
        return ref

    # --- cleaning ---

    def left(self, known: Sequence[str] = ()) -> list[SubplanLeftovers]:
        return PlanLeftovers(
            git=self.git,
            worktrees=self.worktrees,
            names=NAMES,
            places=lambda name: [self.at(name)],
            known=frozenset(known),
        ).all()

    def judged(self, known: Sequence[str] = ()) -> LeftoverJudgement:
        target = self.git.line("rev-parse", "main")
        return LeftoverJudge(self.git, "main", target, self.worktrees.listed()).judge(self.left(known))

    def clean(self, known: Sequence[str] = ()) -> LeftoverJudgement:
        target = self.git.line("rev-parse", "main")
        unmoved = RefMove(ref=MAIN, before=target, after=target)
        return remove(self.git, self.worktrees, self.judged(known), target=unmoved)

    def refs(self) -> list[str]:
        return sorted(tips(self.git, "refs/heads/weft", "refs/weft"))

    def places(self) -> list[str]:
        return sorted(item.path.name for item in self.worktrees.listed()[1:])


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path / "top")


def only(found: LeftoverJudgement) -> RetainedRef:
    (item,) = found.stays
    return item


# What goes


def test_what_has_landed_goes_with_all_its_names(place: Place) -> None:
    place.work("a")
    place.land("a")
    done = place.clean()
    assert done.stays == []
    assert [(item.kind, item.name.removeprefix(str(place.top))) for item in done.list_removable()] == [
        ("worktree", "/.weft/worktrees/notes/a"),
        ("branch", "weft/notes/a"),
        ("note", "refs/weft/start/notes/a"),
        ("note", "refs/weft/tip/notes/a"),
        ("note", "refs/weft/told/notes/a"),
    ]
    assert (place.refs(), place.places(), place.at("a").exists()) == ([], [], False)
    assert (place.top / "a").read_text() == "a"


def test_done_again_there_is_nothing_left_to_do(place: Place) -> None:
    place.work("a")
    place.land("a")
    place.clean()
    assert place.clean() == LeftoverJudgement()


def test_what_was_only_looked_at_is_as_it_was(place: Place) -> None:
    place.work("a")
    place.land("a")
    before = place.refs()
    assert len(place.judged().list_removable()) == 5
    assert (place.refs(), place.places()) == (before, ["a"])


def test_files_that_git_ignores_keep_nothing(place: Place) -> None:
    place.work("a")
    place.land("a")
    (place.at("a") / "ignored").write_text("x")
    assert place.clean().stays == []
    assert not place.at("a").exists()


def test_a_kept_commit_goes_if_it_has_landed_all_the_same(place: Place) -> None:
    ref = place.keep("a", place.work("a"))
    place.land("a")
    assert [item.name for item in place.clean().list_removable() if item.kind == "kept"] == [ref]
    assert place.refs() == []


def test_a_merge_that_was_to_be_verified_goes_with_its_branch(place: Place) -> None:
    made, main = place.work("a"), place.git.line("rev-parse", "main")
    place.land("a")
    trial = place.git.line("commit-tree", "-p", main, "-p", made, "-m", "trial", f"{main}^{{tree}}")
    place.git.do("update-ref", NAMES.merging("a"), trial)
    assert place.clean().stays == []
    assert place.refs() == []


def test_scratch_worktrees_always_go(place: Place) -> None:
    made = place.work("a")
    place.worktrees.make(place.at("_check.a"), branch=None, commit=made)
    (place.at("_check.a") / "made.by.a.verify").write_text("x")
    done = place.clean()
    assert [item.name for item in done.list_removable()] == [str(place.at("_check.a"))]
    assert only(done).why is RetentionReason.UNMERGED
    assert (place.places(), place.at("_check.a").exists()) == (["a"], False)


def test_a_worktree_without_any_ref_is_known_by_its_place(place: Place) -> None:
    place.worktrees.make(place.at("_check.a"), branch=None, commit=place.git.line("rev-parse", "main"))
    assert place.clean() == LeftoverJudgement()
    assert len(place.clean(["a"]).goes) == 1
    assert place.places() == []


def test_a_worktree_that_was_not_made_to_its_end_goes(place: Place) -> None:
    place.work("a")
    place.land("a")
    place.git.do("worktree", "lock", "--reason", "Weft is making it", str(place.at("a")))
    (place.at("a") / "README").unlink()
    assert place.clean().stays == []
    assert place.refs() == []


def test_a_worktree_whose_directory_is_gone_is_forgotten(place: Place) -> None:
    place.work("a")
    place.land("a")
    place.at("a").rename(place.top / "elsewhere")
    assert place.clean().stays == []
    assert (place.refs(), place.places()) == ([], [])


def test_a_branch_that_only_looks_like_one_of_ours_is_not_touched(place: Place) -> None:
    place.git.do("branch", "weft/notes/mine")
    assert place.clean() == LeftoverJudgement()
    assert [item.name for item in place.clean(["mine"]).list_removable()] == ["weft/notes/mine"]


def test_other_plans_are_not_touched(place: Place) -> None:
    place.git.do("update-ref", "refs/weft/start/notes2/a", "main")
    place.git.do("update-ref", "refs/heads/weft/notes2/a", "main")
    assert place.clean(["a"]) == LeftoverJudgement()


# What stays


def test_what_has_not_landed_stays_with_all_that_belongs_to_it(place: Place) -> None:
    place.work("a")
    commit(place.git.at(place.at("a")), {"more": "x"})
    before = place.refs()
    stays = only(place.clean())
    assert (stays.why, stays.name, stays.commits, stays.is_branch) == (RetentionReason.UNMERGED, "a", 2, True)
    assert stays.message == "2 commits are not on main"
    assert stays.command == "git log main..weft/notes/a"
    assert (place.refs(), place.places()) == (before, ["a"])


def test_a_kept_commit_that_is_nowhere_else_stays(place: Place) -> None:
    ref = place.keep("a", place.work("a"))
    place.git.do("worktree", "remove", "--force", str(place.at("a")))
    for item in (NAMES.head("a"), NAMES.tip("a")):
        place.git.do("update-ref", "-d", item)
    stays = only(place.clean())
    assert stays.message == "1 commit of an earlier try is not on main"
    assert stays.command == f"git log main..{ref}"
    assert place.refs() == [ref]


def test_a_note_of_a_branch_that_a_person_deleted_stays(place: Place) -> None:
    place.work("a")
    place.git.do("worktree", "remove", "--force", str(place.at("a")))
    place.git.do("branch", "-D", NAMES.branch("a"))
    stays = only(place.clean())
    assert stays.message == "1 commit that refs/weft/tip/notes/a leads to is not on main"
    assert len(place.refs()) == 3


@pytest.mark.parametrize(("file", "text"), [("new", "x"), ("README", "changed\n")])
def test_what_is_not_committed_is_named_and_stays(place: Place, file: str, text: str) -> None:
    place.work("a")
    place.land("a")
    (place.at("a") / file).write_text(text)
    before = place.refs()
    stays = only(place.clean())
    assert (stays.why, stays.files) == (RetentionReason.UNCOMMITTED, (file,))
    assert stays.message == f"not committed in its worktree: {file}"
    assert stays.command == f"git -C {place.at('a')} status"
    assert (place.refs(), (place.at("a") / file).read_text()) == (before, text)


def test_an_unfinished_merge_in_a_worktree_stays(place: Place) -> None:
    place.work("a")
    place.land("a")
    (place.top / ".git" / "worktrees" / "a" / "MERGE_HEAD").write_text("0" * 40)
    assert only(place.clean()).message == "not committed in its worktree: an unfinished `git merge`"


def test_a_commit_without_a_branch_in_a_worktree_stays(place: Place) -> None:
    place.work("a")
    place.land("a")
    place.git.at(place.at("a")).do("checkout", "--quiet", "--detach")
    made = commit(place.git.at(place.at("a")), {"more": "x"})
    stays = only(place.clean())
    assert stays.message == "1 commit that its worktree is at is not on main"
    assert stays.command == f"git log main..{made[:12]}"
    assert tip(place.git, NAMES.head("a")) is not None


@pytest.mark.parametrize(("reason", "said"), [("mine", " (mine)"), ("", "")])
def test_what_is_locked_stays(place: Place, reason: str, said: str) -> None:
    place.work("a")
    place.land("a")
    place.git.do("worktree", "lock", "--reason", reason, str(place.at("a")))
    stays = only(place.clean())
    assert (stays.why, stays.message) == (RetentionReason.LOCKED, f"its worktree is locked{said}")
    assert stays.command == f"git worktree unlock {place.at('a')}"
    assert place.places() == ["a"]


def test_a_branch_that_is_checked_out_elsewhere_stays(place: Place) -> None:
    place.work("a")
    place.land("a")
    place.git.do("worktree", "move", str(place.at("a")), str(place.top.parent / "my place"))
    stays = only(place.clean())
    assert (stays.why, stays.message) == (
        RetentionReason.ELSEWHERE,
        f"its branch is checked out in {place.top.parent}/my place",
    )
    assert stays.command == f"git -C '{place.top.parent}/my place' switch main"
    assert place.places() == ["my place"]


def test_a_branch_that_is_lent_to_a_rebase_stays(place: Place) -> None:
    place.work("a")
    place.land("a")
    place.git.do("worktree", "remove", str(place.at("a")))
    mine = place.top.parent / "mine"
    place.git.do("worktree", "add", "--quiet", str(mine), NAMES.branch("a"))
    folder = place.top / ".git" / "worktrees" / "mine" / "rebase-merge"
    folder.mkdir()
    (folder / "head-name").write_text(NAMES.head("a") + "\n")
    place.git.at(mine).do("checkout", "--quiet", "--detach")
    assert only(place.clean()).message == f"its branch is checked out in {mine}"


def test_a_worktree_elsewhere_that_is_gone_keeps_nothing(place: Place) -> None:
    place.work("a")
    place.land("a")
    place.git.do("worktree", "move", str(place.at("a")), str(place.top.parent / "mine"))
    (place.top.parent / "mine").rename(place.top.parent / "moved by hand")
    assert place.clean().stays == []
    assert place.refs() == []


def test_a_directory_that_is_no_worktree_any_more_stays(place: Place) -> None:
    place.work("a")
    place.land("a")
    (place.at("a") / ".git").unlink()
    (place.at("a") / ".git").write_text("gone")
    stays = only(place.clean())
    assert stays.why is RetentionReason.UNCLEAR
    assert "does not name its repository" in stays.message
    assert tip(place.git, NAMES.head("a")) is not None


def test_repositories_in_a_worktree_stay(place: Place, tmp_path: Path) -> None:
    """What git takes for clean may hold commits of a submodule."""
    inner = repository(place.top / "inner")
    place.git.do(
        "-c", "protocol.file.allow=always", "submodule", "add", "--quiet", str(inner.directory), "inner"
    )
    place.git.do("commit", "--quiet", "--message", "inner")
    place.work("a")
    place.land("a")
    place.git.at(place.at("a")).do(
        "-c", "protocol.file.allow=always", "submodule", "update", "--init", "--quiet"
    )
    stays = only(place.clean())
    assert (stays.why, "contains other repositories: inner" in stays.message) == (
        RetentionReason.UNCLEAR,
        True,
    )
    assert tip(place.git, NAMES.head("a")) is not None


def test_if_the_target_moves_meanwhile_no_branch_goes(place: Place) -> None:
    place.work("a")
    place.land("a")
    judged = place.judged()
    was = RefMove(
        ref=MAIN, before=place.git.line("rev-parse", "main^"), after=place.git.line("rev-parse", "main^")
    )
    with pytest.raises(
        WorkspaceError, match="moved by another process at this moment, so no branch was removed"
    ):
        remove(place.git, place.worktrees, judged, target=was)
    assert len(place.refs()) == 4


def test_if_a_branch_moves_meanwhile_no_branch_goes(place: Place) -> None:
    place.work("a")
    place.work("b")
    place.land("a", "b")
    judged = place.judged()
    made = commit(place.git.at(place.at("a")), {"more": "x"})
    main = place.git.line("rev-parse", "main")
    with pytest.raises(WorkspaceError, match="no branch was removed"):
        remove(place.git, place.worktrees, judged, target=RefMove(ref=MAIN, before=main, after=main))
    assert len(place.refs()) == 8
    assert tip(place.git, NAMES.head("a")) == made


# Killed in the middle


def test_killed_before_any_call_of_git_nothing_is_lost_and_the_next_time_finishes(tmp_path: Path) -> None:
    """A judgement changes nothing, so it is not killed there."""
    deaths = 0
    while dies(Place(tmp_path / str(deaths)), deaths):
        deaths += 1
    assert deaths > 3


def dies(place: Place, calls: int) -> bool:
    place.work("a")
    place.keep("b", place.work("b"))
    place.land("a")
    judged, main = place.judged(), place.git.line("rev-parse", "main")
    dying = Place(place.top, DyingGit(place.git, calls))
    before = place.git.line("rev-list", "--all").split()
    try:
        remove(dying.git, dying.worktrees, judged, target=RefMove(ref=MAIN, before=main, after=main))
    except KilledError:
        assert place.git.line("rev-list", "--all").split() == before
    else:
        return False
    assert [stay.name for stay in place.clean().stays] == ["b", "b"]
    assert [ref for ref in place.refs() if ref.endswith("/a")] == []
    assert (place.places(), [path.name for path in place.at("a").parent.iterdir()]) == (["b"], ["b"])
    return True
