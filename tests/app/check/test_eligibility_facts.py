"""What is read of the past of a plan: the journal, and git if something is to land."""

import os
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from app.pasts import Past, a_group, a_plan, a_slice, past
from store.books import sign
from stored_events import make_event
from weft.app.check.eligibility import eligibility_of
from weft.app.check.eligibility_rules import Eligibility
from weft.engine.messages.events import AnyEvent
from weft.plan.compile.compile import compile_plan
from weft.plan.model import Plan

IN_GIT = {"isolation": "worktree"}
PLAN = a_plan(a_group("store", a_slice("model"), a_slice("disk")), a_slice("cli", "store"), **IN_GIT)
STORE = ("store/model", "store/disk", "store")
HELD = make_event(kind="step_finished", subplan="store", step="@land", outcome="held")
GIT = {name: os.environ[name] for name in ("PATH",)} | {
    "GIT_CONFIG_NOSYSTEM": "1", "HOME": "/dev/null/home", "GIT_AUTHOR_NAME": "Ada", "GIT_AUTHOR_EMAIL": "a@b",
    "GIT_COMMITTER_NAME": "Ada", "GIT_COMMITTER_EMAIL": "a@b",
}  # fmt: skip


@pytest.fixture
def story(tmp_path: Path) -> Iterator[Past]:
    with past(tmp_path) as item:
        yield item


def git(story: Past, *command: str) -> None:
    subprocess.run(["git", *command], cwd=story.root, env=GIT, check=True, capture_output=True)


@pytest.fixture
def repository(story: Past) -> Past:
    """With the branches of a group and a slice, each of which has a commit that the target has not."""
    git(story, "init", "-b", "main")
    git(story, "commit", "--allow-empty", "-m", "first")
    for branch in ("weft/tried/store", "weft/tried/cli"):
        git(story, "checkout", "-b", branch, "main")
        git(story, "commit", "--allow-empty", "-m", "work")
    git(story, "checkout", "main")
    return story


def found(story: Past, plan: Plan = PLAN) -> Eligibility:
    return eligibility_of(compile_plan(plan), story.root, environ=GIT)


def reasons(story: Past, plan: Plan = PLAN) -> dict[str, str]:
    return {refusal.path: refusal.reason for refusal in found(story, plan).ineligible}


# The journal.


def test_where_nothing_was_ever_run_nothing_is_made(tmp_path: Path) -> None:
    seen = eligibility_of(compile_plan(PLAN), tmp_path)
    assert [candidate.path for candidate in seen.eligible] == ["store/model", "store/disk"]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", [b"", None])
def test_a_journal_without_runs_tells_nothing(tmp_path: Path, content: bytes | None) -> None:
    with past(tmp_path) as story:
        if content is not None:
            story.journal.close()
            (tmp_path / ".weft" / "weft.db").write_bytes(content)
        assert reasons(story) == {"cli": "blocked by store"}


def test_an_invalid_journal_is_reported_for_each_slice(story: Past) -> None:
    story.spoil()
    file = story.root / ".weft" / "weft.db"
    for item in reasons(story).values():
        assert item.startswith(f"cannot read: the journal {file}: it is not a journal of Weft; ")
    assert len(reasons(story)) == 3


def test_so_is_one_in_which_a_row_is_broken(story: Past) -> None:
    story.ran("r1", PLAN, done=["store/model"])
    with closing(sqlite3.connect(story.root / ".weft" / "weft.db")) as database, database:
        database.execute("UPDATE events SET data = '{' WHERE kind = 'subplan_state'")
    sign(story.root / ".weft" / "weft.db")
    assert {item[:35] for item in reasons(story).values()} == {"cannot read: entry 2 of the journal"}


def test_and_one_whose_plan_cannot_be_read_any_more(story: Past) -> None:
    story.ran("r1", PLAN, done=["store/model"])
    with closing(sqlite3.connect(story.root / ".weft" / "weft.db")) as database, database:
        database.execute("UPDATE runs SET text = 'weft: 1'")
    sign(story.root / ".weft" / "weft.db")
    text = f"cannot read: the plan of an earlier run, in {story.root}/.weft/weft.db: "
    assert [item.startswith(text) for item in reasons(story).values()] == [True] * 3
    assert not found(story).is_known


def test_a_running_coordinator_is_not_disturbed(story: Past) -> None:
    story.ran("r1", PLAN, done=["store/model"], state="running")
    assert "store/model" in reasons(story)
    story.journal.append(
        "r1", [(0.0, make_event(kind="subplan_state", subplan="store/disk", outcome="completed"))]
    )
    assert "store/disk" in reasons(story)


def test_the_plan_may_lie_deeper_in_the_project(story: Past) -> None:
    story.ran("r1", PLAN, done=["store/model"])
    inner = story.root / "deep" / "er"
    inner.mkdir(parents=True)
    seen = eligibility_of(compile_plan(PLAN), inner, environ=GIT)
    assert "store/model" in {refusal.path for refusal in seen.ineligible}


def test_runs_of_other_plans_tell_nothing(story: Past) -> None:
    story.ran("r1", a_plan(a_slice("cli"), plan="other"), done=["cli"])
    assert reasons(story) == {"cli": "blocked by store"}


def test_without_worktrees_nothing_is_to_land_and_git_is_not_asked(story: Past) -> None:
    plan = a_plan(a_slice("a"), a_slice("b"))
    story.ran("r1", plan, done=["a"])
    assert reasons(story, plan) == {"a": "already complete: by run r1, and the plan has not changed it since"}


# Git.


def test_what_waits_to_be_agreed_to_is_unmerged(repository: Past) -> None:
    repository.ran("r1", PLAN, done=STORE, target="main", state="waiting", events=[HELD])
    text = "unmerged: complete, and has not landed; it is on weft/tried/store; to land it, type: weft merge store"
    assert reasons(repository) == {"store/model": text, "store/disk": text}


def test_a_later_run_of_another_plan_has_the_run_named(repository: Past) -> None:
    repository.ran("r1", PLAN, done=STORE, target="main", state="waiting", events=[HELD])
    repository.ran("r2", a_plan(a_slice("x"), plan="other"))
    assert reasons(repository)["store/disk"].endswith("type: weft merge store --run r1")


@pytest.mark.parametrize(("state", "events"), [("stopped", []), ("abandoned", [HELD])])
def test_results_that_are_not_held_land_with_the_next_run(
    repository: Past, state: str, events: list[AnyEvent]
) -> None:
    repository.ran("r1", PLAN, done=STORE, target="main", state=state, events=events)
    assert reasons(repository)["store/disk"].endswith("it waits for the next run of the plan")


def test_what_has_landed_is_complete(repository: Past) -> None:
    repository.ran("r1", PLAN, done=STORE, landed=["store"], target="main")
    assert reasons(repository)["store/disk"].startswith("already complete: by run r1")


def test_what_a_person_has_merged_has_landed(repository: Past) -> None:
    repository.ran("r1", PLAN, done=STORE, target="main", state="waiting", events=[HELD])
    git(repository, "merge", "--no-ff", "-m", "by hand", "weft/tried/store")
    assert reasons(repository)["store/disk"].startswith("already complete: by run r1")


def test_a_slice_that_is_complete_in_a_group_that_is_not_does_not_wait_to_land(repository: Past) -> None:
    repository.ran("r1", PLAN, done=["store/model"], target="main")
    assert reasons(repository)["store/model"].startswith("already complete: by run r1")


@pytest.mark.parametrize(
    ("plan", "kinds"),
    [(PLAN, "unmerged"), (a_plan(a_slice("cli"), **IN_GIT, max_parallel=7), "eligible")],
    ids=["the same plan", "another plan"],
)
def test_what_is_held_before_its_merge_is_unmerged_unless_it_is_done_again(
    repository: Past, plan: Plan, kinds: str
) -> None:
    held = make_event(kind="step_finished", subplan="cli", step="@merge", outcome="held")
    repository.ran("r1", PLAN, done=STORE, landed=["store"], target="main", state="waiting", events=[held])
    seen = found(repository, plan)
    text = {refusal.path: str(refusal.kind) for refusal in seen.ineligible} | {
        candidate.path: "eligible" for candidate in seen.eligible
    }
    assert text["cli"] == kinds


def test_what_is_held_before_its_merge_is_so_even_if_a_person_has_landed_it(repository: Past) -> None:
    held = make_event(kind="step_finished", subplan="cli", step="@merge", outcome="held")
    repository.ran("r1", PLAN, done=STORE, landed=["store"], target="main", state="waiting", events=[held])
    git(repository, "merge", "--no-ff", "-m", "by hand", "weft/tried/cli")
    assert reasons(repository)["cli"].startswith("unmerged: done, and is held before it is merged; ")


def test_with_merge_when_slice_each_slice_of_a_group_lands_by_itself(repository: Past) -> None:
    git(repository, "branch", "weft/tried/store.disk", "weft/tried/store")
    plan = a_plan(a_group("store", a_slice("model"), a_slice("disk")), **IN_GIT, merge={"when": "slice"})
    repository.ran("r1", plan, done=STORE, landed=["store/model"], target="main")
    messages = reasons(repository, plan)
    assert messages["store/model"].startswith("already complete: by run r1")
    assert messages["store/disk"] == (
        "unmerged: complete, and has not landed; it is on weft/tried/store.disk; "
        "it waits for the next run of the plan"
    )


def test_a_branch_that_is_gone_is_reported(repository: Past) -> None:
    repository.ran("r1", PLAN, done=STORE, target="main", state="waiting", events=[HELD])
    git(repository, "branch", "-D", "weft/tried/store")
    assert reasons(repository)["store/disk"] == "cannot read: the branch weft/tried/store: it is gone"
    assert [candidate.path for candidate in found(repository).eligible] == ["cli"]


@pytest.mark.parametrize("loss", ["the target", "the repository", "git"])
def test_where_git_cannot_tell_nothing_is_guessed(repository: Past, loss: str, tmp_path: Path) -> None:
    repository.ran("r1", PLAN, done=STORE, target="main", state="waiting", events=[HELD])
    environ = dict(GIT)
    match loss:
        case "the target":
            git(repository, "checkout", "--detach")
            git(repository, "branch", "-D", "main")
        case "the repository":
            (tmp_path / ".git" / "HEAD").write_text("nonsense")
        case _:
            environ["PATH"] = str(tmp_path / "nowhere")
    seen = eligibility_of(compile_plan(PLAN), repository.root, environ=environ)
    by_name = {refusal.path: refusal.reason for refusal in seen.ineligible}
    assert by_name["store/disk"].startswith(f"cannot read: the repository of {repository.root}: ")
    assert not seen.is_known
