"""Where the slices of a run work, by what its plan says; and what git is asked for, if anything."""

from pathlib import Path
from typing import Any

import pytest

from weft.app.preflight.preflight import Preflight
from weft.app.preflight.repository import examine_repository
from weft.app.project.places import Places
from weft.app.run.workspaces import RunWorkspaces, WorkspaceFactory
from weft.engine.messages.facts import RunStarted
from weft.errors import InputError
from weft.plan.loader.load import load_plan
from weft.plan.model import Plan
from weft.ports.target import LandingEntry
from weft.ports.workspaces import MergeRequest, StepWork, WorkspaceRequest
from weft.workspaces.git.base.program import Git
from workspaces.git.repositories import commit, repository, surroundings

SLICES = "subplans: [{id: a, steps: [{id: w, run: x}]}, {id: b, ISOLATION steps: [{id: w, run: x}]}]\n"


def plan_of(isolation: str, other: str = "") -> Plan:
    other = f"isolation: {other}," if other else ""
    return load_plan(f"weft: 1\nplan: notes\nisolation: {isolation}\n{SLICES.replace('ISOLATION', other)}")


def workplaces(folder: Path, isolation: str, other: str = "") -> WorkspaceFactory:
    plan = plan_of(isolation, other)
    return WorkspaceFactory(plan, Places(folder), folder, surroundings(folder.parent))


def new(folder: Path, isolation: str, other: str = "", **more: Any) -> RunWorkspaces:
    """For a run that begins, after its preflight."""
    preflight = Preflight(findings=())
    if isolation == "worktree":
        state = examine_repository(plan_of(isolation, other), folder, surroundings(folder.parent))
        preflight = Preflight(findings=state.findings, state=state).require()
    return workplaces(folder, isolation, other).new(preflight, **more)


def started(**more: object) -> RunStarted:
    return RunStarted(at=0.0, run="r", **more)  # type: ignore[arg-type]


@pytest.fixture
def top(tmp_path: Path) -> Path:
    made = tmp_path / "project"
    git = repository(made)
    (made / ".git" / "info").mkdir(exist_ok=True)
    (made / ".git" / "info" / "exclude").write_text(".weft\n")
    assert git.line("status", "--porcelain") == ""
    return made


@pytest.mark.parametrize("isolation", ["dir", "none"])
def test_without_worktrees_no_repository_is_needed(tmp_path: Path, isolation: str) -> None:
    for workplace in (new(tmp_path, isolation), workplaces(tmp_path, isolation).resumed(started())):
        assert (workplace.target, workplace.base, workplace.notes) == ("", "", ())
        assert list(workplace.discard_groups()) == list(workplace.follow_base()) == []
        assert not workplace.workspaces.has_history("a")


def test_slices_have_directories_of_their_own_or_work_in_the_plan_s(tmp_path: Path) -> None:
    workspaces = new(tmp_path, "dir", "none").workspaces
    assert workspaces.place("a") == tmp_path / ".weft" / "workspaces" / "notes" / "a"
    assert workspaces.place("b") == tmp_path


def test_worktrees_need_a_repository(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not in a git repository"):
        new(tmp_path, "worktree")


def test_a_new_run_starts_from_what_is_checked_out_and_lands_there(top: Path) -> None:
    (top / "new").touch()
    workplace = new(top, "worktree")
    git = repository_at(top)
    assert [note.startswith("1 untracked") for note in workplace.notes] == [True]
    assert (workplace.target, workplace.base) == ("main", git.line("rev-parse", "main"))
    workplace.workspaces.prepare(WorkspaceRequest(path="a"))
    assert git.line("rev-parse", "weft/notes/a") == workplace.base
    assert workplace.workspaces.has_history("a")


def repository_at(top: Path) -> Git:
    return Git(top, environ=surroundings(top.parent))


def test_all_that_stands_in_the_way_of_a_run_is_reported_at_once(top: Path) -> None:
    git = repository_at(top)
    git.do("branch", "weft")
    git.do("update-index", "--add", "--cacheinfo", f"160000,{git.line('rev-parse', 'main')},module")
    commit(git, {"more": ""})
    with pytest.raises(InputError) as refused:
        new(top, "worktree")
    lines = str(refused.value).splitlines()
    assert [line.split(",")[0].split(" (")[0] for line in lines] == [
        "there is a branch 'weft'",
        "there are repositories in the repository",
    ]


def test_a_run_that_continues_has_the_ends_that_it_had(top: Path) -> None:
    git = repository_at(top)
    base = git.line("rev-parse", "main")
    git.do("branch", "release")
    commit(git, {"more": ""})
    workplace = workplaces(top, "worktree").resumed(started(target="release", base=base))
    assert (workplace.target, workplace.base) == ("release", base)
    workspaces = workplace.workspaces
    workspaces.prepare(WorkspaceRequest(path="a"))
    assert git.line("rev-parse", "weft/notes/a") == base
    (workspaces.place("a") / "one").write_text("1")
    workspaces.record(StepWork(path="a", step="w", attempt=1, subject="a: w"))
    target = workplace.landing_target
    assert target is not None
    assert target.advance(
        target.build([LandingEntry(path="a", subject="Land a")], is_to_land={"a"}.__contains__)
    )
    assert git.line("ls-tree", "--name-only", "release").split() == ["README", "one"]


def test_a_run_that_continues_where_things_have_changed_is_not_refused(top: Path) -> None:
    git = repository_at(top)
    base = git.line("rev-parse", "main")
    git.do("switch", "--quiet", "--detach")
    workplaces(top, "worktree").resumed(started(target="main", base=base)).workspaces.prepare(
        WorkspaceRequest(path="a")
    )
    with pytest.raises(InputError, match="HEAD is detached"):
        new(top, "worktree")


def test_what_earlier_runs_left_can_be_put_aside(top: Path) -> None:
    workplace = new(top, "worktree")
    workplace.workspaces.prepare(WorkspaceRequest(path="a"))
    assert [move.ref for move in workplace.discard_groups()] == ["refs/heads/weft/notes/_plan"]


def test_what_has_landed_counts_only_for_the_branch_that_it_landed_on(top: Path) -> None:
    assert new(top, "worktree", landed=("a",), target="main").landed == ("a",)
    assert new(top, "worktree", landed=("a",), target="release").landed == ()


def test_slices_in_the_plan_s_own_directory_are_proven_there_and_leave_nothing_to_merge(top: Path) -> None:
    workspaces = new(top, "worktree", "none").workspaces
    workspaces.prepare(WorkspaceRequest(path="b"))
    assert workspaces.place("b") == top
    assert workspaces.merge(MergeRequest(path="b", subject="Merge b")).moves == ()
    assert not workspaces.has_history("b")
