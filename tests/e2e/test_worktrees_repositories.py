"""Repositories as they are: without a name, with hooks, in a linked worktree; and those that cannot be used."""

import subprocess
import sys
from pathlib import Path

import pytest

from e2e.projects import Project
from e2e.repositories import GIT_ENVIRON, Repository
from weft.errors import WeftError
from weft.workspaces.git.base.program import Git
from workspaces.git.signing import sign_with_ssh

SMALL = """
merge: {mode: auto}
subplans:
  - id: g
    verify: cat a b
    subplans:
      - {id: a, steps: [{id: x, run: echo a > a}]}
      - {id: b, steps: [{id: x, run: echo b > b}]}
  - {id: c, depends_on: [g], steps: [{id: x, run: cat a b > c}]}
"""
RESULT = {"README": "hello", "a": "a", "b": "b", "c": "a\nb"}
HOOKS = (
    *("pre-commit", "prepare-commit-msg", "commit-msg", "post-commit", "pre-merge-commit", "post-merge"),
    *("post-checkout", "post-index-change", "post-rewrite", "reference-transaction", "pre-auto-gc"),
)


def test_hooks_do_not_run(repository: Repository) -> None:
    for name in HOOKS:
        hook = repository.root / ".git" / "hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\necho {name} >> {repository.outside}/hooks\nexit 1\n")
        hook.chmod(0o755)
    repository.git("config", "merge.ff", "false")
    assert repository.plan(SMALL).run().state == "completed"
    assert repository.files() == RESULT
    assert repository.lines("hooks") == []


def test_without_a_configured_identity_commits_have_one_nevertheless(repository: Repository) -> None:
    repository.git("config", "--remove-section", "user")
    repository.git("config", "user.useConfigOnly", "true")
    assert repository.plan(SMALL).run().state == "completed"
    assert repository.files() == RESULT
    people = {*repository.git("log", "--all", "--format=%an %ae|%cn %ce").splitlines()}
    assert people == {"Ada ada@example.org|Ada ada@example.org", "Weft weft@localhost|Weft weft@localhost"}


def test_from_a_linked_worktree_it_lands_on_the_branch_there(repository: Repository) -> None:
    place = repository.outside / "linked"
    repository.git("worktree", "add", "--quiet", "-b", "feature", str(place))
    before = repository.tip()
    linked = Repository(place)
    linked.plan(SMALL)
    try:
        assert linked.run().state == "completed"
    finally:
        linked.end()
    assert repository.files("feature") == RESULT
    assert repository.tip() == before
    assert (place / "c").read_text() == "a\nb\n"
    assert repository.git("status", "--porcelain") == ""
    assert linked.git("status", "--porcelain") == ""


def test_a_plan_in_a_subdirectory_works_in_that_of_each_worktree(repository: Repository) -> None:
    repository.commit(sub___here="h\n")
    inside = Project.plan(Inside(repository.root / "sub"), SMALL)
    repository.git("add", "sub/weft.yaml")
    repository.commit(done="d\n")
    ran = repository.weft("run", at=inside.root)
    assert ran.returncode == 0
    landed = {
        name.removeprefix("sub/"): text
        for name, text in repository.files().items()
        if name.startswith("sub/")
    }
    assert {name: landed[name] for name in ("a", "b", "c", "here")} == {
        "a": "a",
        "b": "b",
        "c": "a\nb",
        "here": "h",
    }
    assert repository.worktree("g/a").is_dir()
    assert repository.weft("run", "sub/weft.yaml").returncode == 0
    assert repository.is_whole()


class Inside(Project):
    head = Repository.head


# --- what cannot be ---


def complaint(project: Project, *, fresh: bool = False) -> str:
    with pytest.raises(WeftError) as raised:
        project.run(fresh=fresh)
    return str(raised.value)


def state_of(repository: Repository) -> tuple[str, dict[str, bytes], list[str]]:
    return (
        repository.git("for-each-ref"),
        repository.checkout(),
        repository.git("worktree", "list").splitlines(),
    )


REFUSED = {
    "target: mian": "did you mean 'main'",
    "base: nowhere": "neither a branch nor a tag nor a commit",
    "target: weft/tried/a": "weft/tried/a",
    "branch_prefix: 'a..b/'": "branch_prefix",
}


@pytest.mark.parametrize(("line", "said"), REFUSED.items())
def test_ends_that_cannot_be_are_refused_before_anything_is_made(
    repository: Repository, line: str, said: str
) -> None:
    repository.plan(f"{line}\n{SMALL}")
    before = state_of(repository)
    assert said in complaint(repository)
    assert state_of(repository) == before


def test_it_is_the_user_s_mistake_on_the_command_line(repository: Repository) -> None:
    ran = repository.plan(f"target: mian\n{SMALL}").weft("run")
    assert (ran.returncode, "git branch mian" in ran.stderr) == (2, True)


def test_submodules_are_refused(repository: Repository) -> None:
    repository.write(__gitmodules='[submodule "lib"]\n\tpath = lib\n\turl = ../lib\n')
    repository.git("update-index", "--add", "--cacheinfo", f"160000,{repository.tip()},lib")
    repository.git("add", ".gitmodules")
    repository.git("commit", "--quiet", "--message", "a library")
    repository.plan(SMALL)
    before = state_of(repository)
    assert "git submodule update --init" in complaint(repository)
    assert state_of(repository) == before


def test_a_repository_without_a_commit_is_refused(tmp_path: Path) -> None:
    project = NoCommit(tmp_path / "project")
    project.git("init", "--quiet", "--initial-branch=main")
    assert "has no commit yet" in complaint(project.plan(SMALL))
    assert project.git("for-each-ref") == ""


class NoCommit(Repository):
    def __init__(self, root: Path) -> None:
        Project.__init__(self, root)


def test_a_directory_without_a_repository_is_refused_if_worktrees_are_wanted(tmp_path: Path) -> None:
    project = Inside(tmp_path / "project")
    project.environ = {**GIT_ENVIRON, "GIT_CEILING_DIRECTORIES": str(tmp_path)}
    project.plan(f"isolation: worktree\n{SMALL}")
    text = complaint(project)
    assert ("git init" in text, "isolation: dir" in text) == (True, True)


# --- what a dead git left ---


def test_a_lock_in_the_checkout_of_the_target_holds_what_would_land(repository: Repository) -> None:
    lock = repository.root / ".git" / "index.lock"
    lock.touch()
    repository.plan(SMALL)
    outcome = repository.run()
    assert outcome.state == "waiting"
    assert outcome.states() == dict.fromkeys(["g", "g/a", "g/b", "c"], "completed")
    (held,) = outcome.of("merge", "g", "@land")
    assert (held.outcome, str(lock) in held.data["message"]) == ("held", True)
    assert repository.landed() == []
    lock.unlink()
    assert repository.run().state == "completed"
    assert repository.files() == RESULT
    assert repository.is_whole()


def test_a_lock_of_all_refs_is_named_and_nothing_has_changed(repository: Repository) -> None:
    """A fresh run removes branches, for which git needs the lock."""
    repository.plan(SMALL.replace("auto", "manual")).run()
    lock = repository.root / ".git" / "packed-refs.lock"
    lock.touch()
    before = state_of(repository)
    assert str(lock) in complaint(repository, fresh=True)
    assert state_of(repository) == before
    lock.unlink()
    assert repository.run(fresh=True).state == "waiting"
    assert repository.lost() == []


def test_where_the_users_git_signs_all_that_lands_is_signed(repository: Repository) -> None:
    sign_with_ssh(Git(repository.root, environ=repository.environ), repository.outside)
    before = repository.tip()
    assert repository.plan(SMALL).run().state == "completed"
    assert repository.files() == RESULT
    assert {*repository.git("log", f"{before}..main", "--format=%G?").split()} == {"G"}


def test_a_broken_slice_of_a_project_that_is_installed_as_a_link_does_not_land(
    repository: Repository,
) -> None:
    """`pip install -e` makes Python import the checkout, wherever it is started."""
    repository.commit(src___shop__py="GOOD = True\n", check__py="import shop\nassert shop.GOOD\n")
    prefix = repository.outside / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(prefix)], check=True)
    (site,) = prefix.glob("lib/python3*/site-packages")
    (site / "__editable__.shop-0.pth").write_text(f"{repository.root}/src\n")
    repository.environ["PATH"] = f"{prefix}/bin:{repository.environ['PATH']}"
    repository.plan("""
merge: {mode: auto}
failure_mode: continue_on_error
pipelines: {write: [{id: x, run: "echo GOOD = {{ slice.prompt }} > src/shop.py"}, {id: v, action: verify}]}
subplans:
  - {id: a, prompt: 'False', verify: python -B check.py, pipeline: write}
  - {id: b, prompt: '1', verify: python -B check.py, pipeline: write}
""")
    assert repository.run().states() == {"a": "failed error", "b": "completed"}
    assert repository.files()["src/shop.py"] == "GOOD = 1"
