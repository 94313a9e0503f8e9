"""What a subplan has changed: which commits are compared, and what of its worktree counts."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.repositories import Repository
from weft.app.inspect.change_counts import count_changes
from weft.app.inspect.diffs import Diff, FileChange, find_diff, open_view
from weft.app.record.journal import open_book
from weft.app.record.run_plan import plan_of
from weft.app.views.change_count import ChangeCount
from weft.errors import InputError

PLAN = """
merge: {mode: auto}
failure_mode: continue_on_error
subplans:
  - id: store
    subplans:
      - {id: model, steps: [{id: work, run: "echo m > model; rm README"}]}
      - {id: disk, depends_on: [model], steps: [{id: work, run: "echo d > disk"}]}
  - {id: bad, steps: [{id: one, run: "echo 1 > one"}, {id: two, run: "echo 2 > two; false"}]}
  - {id: late, depends_on: [bad], steps: [{id: work, run: "true"}]}
  - {id: here, isolation: none, steps: [{id: work, run: "true"}]}
"""


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Repository]:
    """Has been run; `bad` has failed."""
    repository = Repository(tmp_path_factory.mktemp("ran") / "project")
    repository.plan(PLAN)
    assert repository.run().state == "failed"
    yield repository
    repository.end()


@pytest.fixture
def repository(tmp_path: Path) -> Iterator[Repository]:
    repository = Repository(tmp_path / "project")
    yield repository
    repository.end()


def diff_of(repository: Repository, name: str | None, run: str | None = None) -> Diff:
    with open_book(repository.root, run) as recorded_run:
        return find_diff(recorded_run, name, environ=repository.environ)


def refusal(repository: Repository, name: str | None, run: str | None = None) -> str:
    with pytest.raises(InputError) as caught:
        diff_of(repository, name, run)
    return str(caught.value)


def changed(repository: Repository, name: str | None, run: str | None = None) -> dict[str, str]:
    with open_view(diff_of(repository, name, run)) as view:
        return {item.path: item.status for item in view.changes()}


# From where to where


def test_of_a_slice_all_is_shown_since_it_began(ran: Repository) -> None:
    diff = diff_of(ran, "bad")
    assert (diff.subplan, diff.branch) == ("bad", "weft/tried/bad")
    assert (diff.start, diff.head) == (ran.tip("main~1"), ran.tip("weft/tried/bad"))
    assert changed(ran, "bad") == {"one": "added", "two": "added"}


def test_what_a_slice_started_with_is_not_its_own(ran: Repository) -> None:
    assert changed(ran, "store/disk") == {"disk": "added"}


def test_of_a_group_what_came_together_in_it_is_shown(ran: Repository) -> None:
    assert changed(ran, "store") == {"README": "deleted", "disk": "added", "model": "added"}


@pytest.mark.parametrize("name", [None, "/"])
def test_without_a_name_it_is_the_whole_plan(ran: Repository, name: str | None) -> None:
    assert diff_of(ran, name).branch == "weft/tried/_plan"
    assert changed(ran, name) == changed(ran, "store")


ATTEMPTS = """
merge: {mode: auto}
subplans:
  - id: a
    steps:
      - {id: work, run: "echo more >> text; test $(wc -l < text) -ge 3", on_error: retry, max_retries: 2}
"""


def test_what_the_last_attempt_has_changed_is_shown_alone(repository: Repository) -> None:
    repository.plan(ATTEMPTS)
    assert repository.run().state == "completed"
    whole = diff_of(repository, "a")
    last = whole.since_last_attempt()
    with open_view(whole) as all_of_it, open_view(last) as newest:
        assert [change.added for change in all_of_it.changes()] == [3]
        assert [change.added for change in newest.changes()] == [1]
    assert last.start == repository.tip("weft/tried/a~1")


def test_of_one_attempt_there_is_no_earlier_one(ran: Repository) -> None:
    diff = diff_of(ran, "bad")
    with pytest.raises(InputError, match="bad has had one attempt"):
        diff.since_last_attempt()


def test_lines_are_counted_and_what_is_no_text_has_none(repository: Repository) -> None:
    repository.plan(
        "subplans: [{id: a, steps: [{id: work, run: 'printf \"\\\\0\\n\" > b; echo 2 >> README'}]}]"
    )
    repository.run(waits=False)
    with open_view(diff_of(repository, "a")) as view:
        assert view.changes() == [
            FileChange("README", "changed", 1, 0),
            FileChange("b", "added", None, None),
        ]


# What cannot be compared


def test_an_unknown_subplan_is_refused_with_the_nearest(ran: Repository) -> None:
    assert refusal(ran, "stor/model") == "the plan has no subplan 'stor/model'; did you mean 'store/model'?"


def test_a_step_is_refused(ran: Repository) -> None:
    message = "changes are recorded for subplans, not for steps; type: weft diff bad"
    assert refusal(ran, "bad:one") == message


def test_what_has_not_started_is_said_to_have_changed_nothing(ran: Repository) -> None:
    assert refusal(ran, "late") == (
        "late has not started in this run, so it has changed nothing; to see what happened, type: weft events"
    )


def test_what_works_in_place_has_no_branch(ran: Repository) -> None:
    assert refusal(ran, "here").startswith(
        "there is no branch of here to compare, as it works in the plan's own"
    )


def test_what_works_in_a_directory_has_no_branch(repository: Repository) -> None:
    repository.plan("isolation: dir\nsubplans: [{id: a, steps: [{id: work, run: 'true'}]}]")
    repository.run()
    place = repository.root / ".weft" / "workspaces" / "tried"
    message = f"as it is run with `isolation: dir`; what it did is in {place}"
    assert refusal(repository, "a") == f"there is no branch of a to compare, {message}"
    assert refusal(repository, None) == f"there is no branch of this plan to compare, {message}"


# Other runs


AGAIN = "subplans: [{id: g, subplans: [{id: a, steps: [{id: work, run: 'echo N > n; false'}]}]}]"


def test_of_an_earlier_run_the_journal_knows_what_a_slice_did(repository: Repository) -> None:
    runs = []
    for number in "12":
        outcome = repository.plan(AGAIN.replace("N", number)).run()
        assert outcome.begun is not None
        runs.append(outcome.begun.run)
    first, second = (diff_of(repository, "g/a", run) for run in runs)
    assert [repository.git("show", f"{item.head}:n") for item in (first, second)] == ["1", "2"]
    assert changed(repository, "g/a", runs[0]) == {"n": "added"}
    gone = "is gone, or not this run's any more; to find what landed of it, type: git log"
    assert refusal(repository, "g", runs[0]) == (
        f"the branch weft/tried/g of g {gone} --grep='^Weft-Subplan: g$'"
    )
    assert refusal(repository, None, runs[0]) == (
        f"the branch weft/tried/_plan of the plan {gone} --grep='^Weft-Plan: tried$'"
    )


def test_what_an_earlier_run_completed_is_still_shown(repository: Repository) -> None:
    plan = """
subplans:
  - id: g
    subplans:
      - {id: a, steps: [{id: work, run: 'echo a > a'}]}
      - {id: b, depends_on: [a], steps: [{id: work, run: 'N; false'}]}
"""
    for number in ("true", ":"):
        repository.plan(plan.replace("N", number)).run()
    assert changed(repository, "g/a") == {"a": "added"}


def test_when_the_branch_is_gone_the_journal_still_knows(repository: Repository) -> None:
    repository.plan("merge: {mode: auto}\nsubplans: [{id: a, steps: [{id: work, run: 'echo a > a'}]}]").run()
    repository.git("worktree", "remove", "--force", str(repository.worktree("a")))
    repository.git("branch", "-D", "weft/tried/a")
    assert changed(repository, "a") == {"a": "added"}


# What is in the worktree


@pytest.fixture
def at_work(repository: Repository) -> Repository:
    """Its worktree is there, and somebody works in it."""
    repository.commit(__gitignore="*.o\n")
    (repository.root / "data").write_text("brought")
    repository.plan("""
copy: [data]
subplans: [{id: a, steps: [{id: work, run: "mkdir d; echo a > d/a; echo more >> README"}]}]
""").run(waits=False)
    place = repository.worktree("a")
    (place / "d" / "a").write_text("a\nb\n")
    (place / "d" / "new").write_text("x\ny\n")
    (place / "x.o").write_text("ignored")
    (place / "README").unlink()
    return repository


def test_what_is_not_committed_counts_too(at_work: Repository) -> None:
    with open_view(diff_of(at_work, "a")) as view:
        assert view.changes() == [
            FileChange("README", "deleted", 0, 1),
            FileChange("d/a", "added", 2, 0),
            FileChange("d/new", "added", 2, 0),
        ]
        assert view.uncommitted() == ["README", "d/a", "d/new"]
        assert view.plain("--name-only") == b"README\nd/a\nd/new\n"
        assert b"+++ b/d/new\n@@ -0,0 +1,2 @@\n+x\n+y\n" in view.plain()


def test_to_look_changes_nothing(at_work: Repository) -> None:
    place = at_work.worktree("a")
    index = at_work.root / ".git" / "worktrees" / "a" / "index"
    before = (index.read_bytes(), at_work.git("status", "--porcelain", at=place))
    with open_view(diff_of(at_work, "a")) as view:
        view.plain()
        copy = Path(view.env["GIT_INDEX_FILE"])
        assert copy.exists()
    assert (index.read_bytes(), at_work.git("status", "--porcelain", at=place)) == before
    assert not copy.parent.exists()


def test_a_nested_repository_does_not_hide_the_rest(at_work: Repository) -> None:
    inner = at_work.worktree("a") / "inner"
    inner.mkdir()
    at_work.git("init", "--quiet", at=inner)
    (inner / "file").write_text("x")
    assert changed(at_work, "a") == {"README": "deleted", "d/a": "added", "d/new": "added"}


def test_names_that_are_no_text_are_shown(at_work: Repository) -> None:
    Path(os.fsdecode(os.fsencode(at_work.worktree("a")) + b"/\xff\n")).write_text("x")
    assert changed(at_work, "a")["\udcff\n"] == "added"


def test_with_a_conflict_in_it_each_file_is_reported_once(at_work: Repository) -> None:
    place = at_work.worktree("a")
    at_work.git("add", "--all", at=place)
    at_work.commit(at=place)
    at_work.commit(README="another\n")
    at_work.ask_git("merge", "main", at=place)
    assert changed(at_work, "a")["README"] == "changed"


def test_without_a_worktree_the_branch_counts(at_work: Repository) -> None:
    at_work.git("worktree", "remove", "--force", str(at_work.worktree("a")))
    assert changed(at_work, "a") == {"README": "changed", "d/a": "added"}


def test_a_branch_in_the_users_own_checkout_counts_as_it_is(at_work: Repository) -> None:
    """What the user has changed there is not the subplan's."""
    at_work.git("worktree", "remove", "--force", str(at_work.worktree("a")))
    at_work.git("switch", "--quiet", "weft/tried/a")
    (at_work.root / "mine").write_text("x")
    assert changed(at_work, "a") == {"README": "changed", "d/a": "added"}


# The sizes of changes


def counts(repository: Repository, *paths: str) -> dict[str, ChangeCount]:
    with open_book(repository.root, None) as recorded_run:
        return count_changes(plan_of(recorded_run), repository.root, paths, environ=repository.environ)


def test_the_changes_of_many_slices_are_counted_as_weft_diff_shows_them(ran: Repository) -> None:
    paths = ("store/model", "store/disk", "bad")
    sizes = counts(ran, *paths)
    for path in paths:
        with open_view(diff_of(ran, path)) as view:
            changes = view.changes()
        assert sizes[path] == ChangeCount(
            len(changes),
            sum(change.added or 0 for change in changes),
            sum(change.removed or 0 for change in changes),
        )
    assert sizes["store/disk"] == ChangeCount(1, 1, 0)


def test_slices_without_a_branch_are_not_counted(ran: Repository) -> None:
    assert counts(ran, "late", "here") == {}


def test_a_slice_that_changed_nothing_and_binary_files_are_counted(repository: Repository) -> None:
    repository.plan("""
merge: {mode: auto}
subplans:
  - {id: idle, steps: [{id: work, run: "true"}]}
  - {id: bytes, steps: [{id: work, run: "printf '\\\\0' > data; printf 'a\\\\nb\\\\n' > 'a\ttab'"}]}
""")
    assert repository.run().state == "completed"
    assert counts(repository, "idle", "bytes") == {"idle": ChangeCount(), "bytes": ChangeCount(2, 2, 0)}


def test_changes_that_git_cannot_count_are_left_out(ran: Repository, tmp_path: Path) -> None:
    with open_book(ran.root, None) as recorded_run:
        assert count_changes(plan_of(recorded_run), tmp_path, ["bad"], environ=ran.environ) == {}
