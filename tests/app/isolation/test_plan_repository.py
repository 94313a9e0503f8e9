"""The repository of a plan whose slices work in worktrees: what is refused, and how things are called."""

from pathlib import Path

import pytest

from weft.app.isolation import plan_repository
from weft.app.project.places import Places
from weft.errors import InputError
from weft.plan.loader.load import load_plan
from weft.plan.model import Plan
from weft.ports.workspaces import WorkspaceRequest
from weft.workspaces.git.base.repository import Repository
from weft.workspaces.git.preflight import uncommitted
from workspaces.git.repositories import commit, repository, surroundings

SLICES = """
subplans:
  - {id: store, subplans: [{id: model, steps: [{id: w, run: x}]}, {id: disk, steps: [{id: w, run: x}]}]}
  - {id: cli, steps: [{id: w, run: x}]}
"""


def plan_of(top: str = "", slices: str = SLICES) -> Plan:
    return load_plan(f"weft: 1\nplan: notes\nisolation: worktree\n{top}{slices}")


@pytest.fixture
def top(tmp_path: Path) -> Path:
    made = tmp_path / "project"
    repository(made)
    return made


def opened(plan: Plan, folder: Path) -> Repository:
    return plan_repository.repository_of(plan, folder, surroundings(folder.parent))


def test_a_plan_s_repository_is_the_one_around_it(top: Path) -> None:
    (top / "sub").mkdir()
    result = plan_repository.repository_of(plan_of(), top / "sub", surroundings(top.parent))
    assert (result.top, result.inside) == (top, Path("sub"))


def test_a_plan_outside_of_a_repository_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not in a git repository"):
        opened(plan_of(), tmp_path)


def test_slices_in_worktrees_beside_slices_in_directories_are_refused(top: Path) -> None:
    mixed = SLICES.replace("id: cli,", "id: cli, isolation: dir,")
    with pytest.raises(
        InputError, match=r"weft.yaml: some slices have `isolation: worktree` or `clone`, others .* for all"
    ):
        opened(plan_of(slices=mixed), top)


def test_slices_in_the_plan_s_own_directory_may_be_among_them(top: Path) -> None:
    mixed = SLICES.replace("id: cli,", "id: cli, isolation: none,")
    assert opened(plan_of(slices=mixed), top).top == top


def test_a_group_without_a_directory_of_its_own_is_no_reason_to_refuse(top: Path) -> None:
    mixed = SLICES.replace("id: store,", "id: store, isolation: dir,").replace(
        "steps:", "isolation: worktree, steps:"
    )
    assert opened(plan_of(slices=mixed), top).top == top


def test_a_prefix_of_branches_is_for_the_whole_plan(top: Path) -> None:
    with pytest.raises(
        InputError, match="cli sets `branch_prefix`, which is one for the whole plan; write it at"
    ):
        opened(plan_of(slices=SLICES.replace("id: cli,", "id: cli, branch_prefix: my/,")), top)


def test_work_starts_from_what_is_checked_out_and_lands_there(top: Path) -> None:
    opened_file = opened(plan_of(), top)
    ends = plan_repository.ends_of(plan_of(), opened_file)
    assert (ends.target, ends.target_ref) == ("main", "refs/heads/main")
    assert ends.base == opened_file.git.line("rev-parse", "main")


def test_the_plan_may_name_base_and_target(top: Path) -> None:
    opened_file = opened(plan_of(), top)
    opened_file.git.do("branch", "release")
    first = opened_file.git.line("rev-parse", "main")
    commit(opened_file.git, {"more": ""})
    ends = plan_repository.ends_of(plan_of(f"base: {first}\ntarget: release\n"), opened_file)
    assert (ends.target, ends.base) == ("release", first)


def test_results_cannot_land_on_a_branch_of_the_plan_s_own_prefix(top: Path) -> None:
    opened_file = opened(plan_of(), top)
    opened_file.git.do("switch", "--quiet", "--create", "my/branch")
    assert plan_repository.ends_of(plan_of(), opened_file).target == "my/branch"
    with pytest.raises(InputError, match="'my/branch' is one of Weft's own branches, which start with 'my/'"):
        plan_repository.ends_of(plan_of("branch_prefix: my/\n"), opened_file)


def test_what_a_person_should_know_is_reported(top: Path) -> None:
    (top / "new").touch()
    opened_file = opened(plan_of(), top)
    concerns_of = plan_repository.concerns_of(
        plan_of(), opened_file, plan_repository.ends_of(plan_of(), opened_file)
    )
    assert (concerns_of.refusals, concerns_of.notes) == ((), ())
    assert [note.split(";")[0] for note in uncommitted(opened_file)] == [
        f"1 untracked in {top} (new): slices start from commits and do not see uncommitted files"
    ]


@pytest.mark.parametrize(
    "setup", ["", "setup: git submodule update --init\n", "setup: [[git, submodule, update]]\n"]
)
def test_submodules_need_a_command_that_sets_them_up(top: Path, setup: str) -> None:
    opened_file = opened(plan_of(), top)
    tip = opened_file.git.line("rev-parse", "main")
    opened_file.git.do("update-index", "--add", "--cacheinfo", f"160000,{tip},module")
    commit(opened_file.git, {".gitmodules": "[submodule]\n"})
    plan = plan_of(setup)
    concerns_of = plan_repository.concerns_of(plan, opened_file, plan_repository.ends_of(plan, opened_file))
    assert len(concerns_of.refusals) == (not setup)


def test_worktrees_are_where_the_plan_says(top: Path) -> None:
    plan = plan_of("worktrees: ../trees/{{ plan.id }}-{{ slice.path }}\nbranch_prefix: my/\n")
    opened_file = opened(plan, top)
    made = plan_repository.worktrees_of(
        plan, Places(top), opened_file, plan_repository.ends_of(plan, opened_file), ()
    )
    trees = top / ".." / "trees"
    assert made.place("store/model") == trees / "notes-store.model"
    assert made.place("store") == made.scratch("store") == trees / "notes-_check.store"
    assert made.place("") == trees / "notes-_check._plan"
    made.prepare(WorkspaceRequest(path="store/model"))
    assert (trees / "notes-store.model" / "README").is_file()
    assert opened_file.git.line("rev-parse", "my/notes/store.model") == opened_file.git.line(
        "rev-parse", "main"
    )


def test_where_nothing_is_said_they_are_among_weft_s_things_and_apart_from_other_plans(top: Path) -> None:
    opened_file = opened(plan_of(), top)
    ends = plan_repository.ends_of(plan_of(), opened_file)
    made = plan_repository.worktrees_of(plan_of(), Places(top), opened_file, ends, ())
    assert made.place("cli") == top / ".weft" / "worktrees" / "notes" / "cli"


def test_what_an_earlier_run_has_landed_need_not_have_a_branch(top: Path) -> None:
    opened_file = opened(plan_of(), top)
    ends = plan_repository.ends_of(plan_of(), opened_file)
    made = plan_repository.worktrees_of(plan_of(), Places(top), opened_file, ends, ("store",))
    made.prepare(WorkspaceRequest(path="cli", after=("store/model", "store/disk")))
    assert opened_file.git.line("rev-parse", "weft/notes/cli") == ends.base
