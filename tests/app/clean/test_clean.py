"""What is removed of plans that were run, and what is kept because a run, a target or a person needs it."""

import fcntl
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from msgspec import structs

from e2e.repositories import Repository
from weft.app.clean.clean import CleanResult, clean
from weft.errors import InputError
from weft.store.sqlite import open_journal
from weft.workspaces.git.leftovers import RetentionReason

LANDS = """
merge: {mode: auto}
subplans:
  - id: store
    verify: "test -e model"
    subplans:
      - {id: model, steps: [{id: work, run: "echo m > model"}]}
      - {id: disk, depends_on: [model], steps: [{id: work, run: "echo d > disk"}]}
  - {id: docs, steps: [{id: work, run: "echo x > docs"}]}
  - {id: idle, depends_on: [docs], steps: [{id: work, run: "true"}]}
"""
SMALL = "merge: {mode: auto}\nsubplans: [{id: a, steps: [{id: work, run: 'echo a > a'}]}]"
WAITS = SMALL.replace("auto", "manual")
SMALL_FAILS = "subplans: [{id: bad, steps: [{id: one, run: 'echo 1 > one'}, {id: two, run: 'false'}]}]"
FAILS = (
    LANDS
    + """
  - {id: bad, depends_on: [store, idle], steps: [{id: one, run: "echo 1 > one"}, {id: two, run: "false"}]}
"""
)


@pytest.fixture
def repository(tmp_path: Path) -> Iterator[Repository]:
    repository = Repository(tmp_path / "project")
    yield repository
    repository.end()


def cleaned(repository: Repository, *plans: str, dry_run: bool = False) -> list[CleanResult]:
    return clean(repository.root, plans, dry_run=dry_run, environ=repository.environ)


def only(found: list[CleanResult]) -> CleanResult:
    (item,) = found
    return item


def refs(repository: Repository) -> list[str]:
    return repository.git("for-each-ref", "--format=%(refname)", "refs/heads/weft", "refs/weft").splitlines()


def worktrees(repository: Repository) -> list[str]:
    listed = repository.git("worktree", "list", "--porcelain").splitlines()[1:]
    return sorted(Path(line.split(" ", 1)[1]).name for line in listed if line.startswith("worktree "))


# What goes


def test_of_a_run_that_landed_nothing_is_left(repository: Repository) -> None:
    assert repository.plan(LANDS).run().state == "completed"
    files = repository.files()
    done = only(cleaned(repository))
    assert (done.plan, done.target, done.kept, done.waits) == ("tried", "main", (), False)
    assert [path.name for path in done.removed if path.kind == "branch"] == [
        f"weft/tried/{name}" for name in ("_plan", "docs", "idle", "store", "store.disk", "store.model")
    ]
    assert (refs(repository), worktrees(repository), repository.files()) == ([], [], files)
    assert repository.lost() == []
    assert repository.is_whole()


def test_a_second_time_there_is_nothing_to_do(repository: Repository) -> None:
    repository.plan(SMALL).run()
    cleaned(repository)
    done = only(cleaned(repository))
    assert (done.removed, done.kept) == ((), ())


def test_a_dry_run_tells_the_same_and_does_nothing(repository: Repository) -> None:
    repository.plan(SMALL).run()
    before = refs(repository), worktrees(repository)
    cleaned_text = cleaned(repository, dry_run=True)
    assert (refs(repository), worktrees(repository)) == before
    assert cleaned_text == cleaned(repository)


def test_worktrees_are_found_where_the_plan_has_them(repository: Repository) -> None:
    place = "worktrees: '../places/{{ plan.id }}-{{ slice.path }}'\n"
    repository.plan(
        place + "merge: {mode: auto}\nsubplans: [{id: a, steps: [{id: work, run: 'echo a > a'}]}]"
    ).run()
    assert worktrees(repository) == ["tried-a"]
    cleaned(repository)
    assert worktrees(repository) == []


def test_what_an_earlier_plan_of_that_name_left_goes_too(repository: Repository) -> None:
    plan = "merge: {mode: auto}\nsubplans: [{id: ID, steps: [{id: work, run: 'echo x > ID'}]}]"
    for name in ("old", "new"):
        repository.plan(plan.replace("ID", name)).run()
    cleaned(repository)
    assert (refs(repository), worktrees(repository)) == ([], [])


# What is kept


def test_what_has_not_landed_is_kept_and_the_command_that_shows_it_is_reported(
    repository: Repository,
) -> None:
    assert repository.plan(FAILS).run().state == "failed"
    done = only(cleaned(repository))
    (stays,) = done.kept
    assert (stays.name, stays.why, stays.commits) == ("bad", RetentionReason.UNMERGED, 1)
    assert (stays.message, stays.command) == ("1 commit is not on main", "weft diff bad")
    assert done.waits
    assert [ref.rpartition("/")[2] for ref in refs(repository)] == ["bad"] * 4
    assert worktrees(repository) == ["bad"]
    assert repository.lost() == []


def test_of_a_plan_that_was_not_the_last_to_be_run_the_command_names_the_run(repository: Repository) -> None:
    run = repository.plan(SMALL_FAILS).run().begun
    other = "plan: other\nsubplans: [{id: a, steps: [{id: work, run: 'true'}]}]"
    (repository.root / "weft.yaml").write_text(f"weft: 1\n{other}")
    repository.run(waits=False)
    (stays,) = only(cleaned(repository, "tried")).kept
    assert run is not None
    assert stays.command == f"weft diff bad --run {run.run}"


def test_what_the_plan_does_not_have_any_more_is_shown_by_git(repository: Repository) -> None:
    repository.plan(SMALL_FAILS).run()
    repository.plan(SMALL).run()
    (stays,) = only(cleaned(repository)).kept
    assert (stays.name, stays.command) == ("bad", "git log main..weft/tried/bad")


def test_what_is_not_committed_is_kept(repository: Repository) -> None:
    repository.plan(SMALL).run()
    (repository.worktree("a") / "mine").write_text("x")
    done = only(cleaned(repository))
    (stays,) = done.kept
    assert (stays.name, stays.why, stays.files) == ("a", RetentionReason.UNCOMMITTED, ("mine",))
    assert done.waits
    assert worktrees(repository) == ["a"]


def test_a_locked_worktree_is_kept_and_waits_for_no_person(repository: Repository) -> None:
    repository.plan(SMALL).run()
    repository.git("worktree", "lock", str(repository.worktree("a")))
    done = only(cleaned(repository))
    assert ([item.why for item in done.kept], done.waits) == ([RetentionReason.LOCKED], False)


@pytest.mark.parametrize(
    ("state", "said", "command"),
    [
        ("waiting", "it is waiting", "weft merge"),
        ("stopped", "it is stopped", "weft run PLAN"),
        ("running", "its process died", "weft run PLAN"),
    ],
)
def test_what_a_run_needs_that_has_not_ended_is_kept(
    repository: Repository, state: str, said: str, command: str
) -> None:
    begun = repository.plan(WAITS).run(waits=False).begun
    assert begun is not None
    with closing(open_journal(repository.root / ".weft" / "weft.db", now=0.0)) as journal:
        journal.set_run_state(begun.run, state)
    before = refs(repository)
    done = only(cleaned(repository))
    (stays,) = done.kept
    assert (stays.why, stays.name) == (RetentionReason.UNFINISHED, "")
    assert (
        stays.message == f"run {begun.run} has not ended ({said}) and still needs its worktrees and branches"
    )
    assert stays.command == command.replace("PLAN", str(repository.root / "weft.yaml"))
    assert done.waits
    assert (refs(repository), done.removed) == (before, ())


def test_a_run_that_died_before_anything_happened_never_was(repository: Repository) -> None:
    repository.plan(SMALL).run()
    with closing(open_journal(repository.root / ".weft" / "weft.db", now=0.0)) as journal:
        journal.add_run(structs.replace(journal.runs()[0], run="dead", state="running"))
    assert only(cleaned(repository)).kept == ()
    assert refs(repository) == []


def test_if_the_target_is_gone_all_is_kept_and_that_is_said_once(repository: Repository) -> None:
    repository.git("branch", "there")
    repository.plan(f"target: there\n{SMALL_FAILS}").run()
    repository.git("branch", "-D", "there")
    before = refs(repository)
    (stays,) = only(cleaned(repository)).kept
    assert (stays.why, stays.command) == (RetentionReason.NO_TARGET, "git branch there COMMIT")
    assert stays.message.startswith("the branch there, the target of its work, does not exist in")
    assert refs(repository) == before


def test_if_the_repository_is_gone_that_is_said(repository: Repository) -> None:
    repository.plan(SMALL).run()
    (repository.root / ".git").rename(repository.root / "git")
    (stays,) = only(cleaned(repository)).kept
    assert stays.why is RetentionReason.UNCLEAR
    assert "is not in a git repository" in stays.message


# What is not looked at


def test_plans_without_worktrees_are_not_looked_at(repository: Repository) -> None:
    repository.plan("isolation: dir\nsubplans: [{id: a, steps: [{id: work, run: 'echo a > a'}]}]").run()
    assert cleaned(repository) == []
    assert cleaned(repository, "tried") == []
    assert repository.result() == {"a": "a\n"}


def test_a_plan_that_has_worktrees_no_more_is_cleaned_all_the_same(repository: Repository) -> None:
    plan = "subplans: [{id: a, steps: [{id: work, run: 'echo a > a'}]}]"
    repository.plan(f"merge: {{mode: auto}}\n{plan}").run()
    begun = repository.plan(f"isolation: none\n{plan}").run().begun
    assert begun is not None
    done = only(cleaned(repository))
    assert (done.run, done.kept) == (begun.run, ())
    assert refs(repository) == []


def test_a_plan_that_was_never_run_is_refused_with_the_nearest(repository: Repository) -> None:
    repository.plan(SMALL).run()
    with pytest.raises(InputError, match="no plan 'tied' has been run here; did you mean 'tried'"):
        cleaned(repository, "tied")


def test_while_a_plan_is_run_nothing_is_removed(repository: Repository) -> None:
    repository.plan(SMALL).run()
    before = refs(repository)
    with (repository.root / ".weft" / "coordinator.lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(InputError, match="nothing is removed while a plan runs: another Weft"):
            cleaned(repository)
    assert refs(repository) == before
    assert only(cleaned(repository)).kept == ()


def test_where_nothing_was_run_that_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nothing has been run in"):
        clean(tmp_path)
