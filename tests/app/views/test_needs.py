"""What needs a person, and what the person can do about it."""

from app.run_stories import Story, slices
from weft.app.views.needs import needs_of
from weft.app.views.needs_model import Need

TAIL = "\n".join(f"line {number}" for number in range(40))


def needs(story: Story, *, is_active: bool = True, state: str | None = None) -> list[Need]:
    return needs_of(story.view, story.at, is_active=is_active, state=state)


def commands(need: Need) -> list[str]:
    return [action.command for action in need.actions]


def begun(*ids: str) -> Story:
    story = Story(*slices(*ids))
    story.start()
    story.begin(*ids)
    return story


def hold(story: Story, path: str, step: str = "@land", **more: object) -> None:
    story.step(path, step)
    story.end(path, step, "held", **more)


def test_a_run_that_only_runs_needs_nobody() -> None:
    assert needs(begun("a")) == []


def test_a_question_has_its_text_and_both_answers() -> None:
    story = begun("a")
    story.tell("ask", "a", "gate", firing=1, question="Deploy?\nresult: 3 warnings")
    (need,) = needs(story)
    assert (need.kind, need.path, need.step, need.title) == ("question", "a", "gate", "Deploy?")
    assert list(need.lines) == ["result: 3 warnings"]
    assert commands(need) == ["weft answer a:gate yes", "weft answer a:gate no"]
    assert need.actions[1].body == {"name": "a:gate", "reply": "no"}


def test_questions_are_listed_by_age() -> None:
    story = begun("a", "b")
    story.tell("ask", "b", "gate", firing=1, question="first?")
    story.wait(5)
    story.tell("ask", "a", "gate", firing=2, question="second?")
    assert [need.title for need in needs(story)] == ["first?", "second?"]


def test_a_conflict_names_its_files_and_can_be_tried_again() -> None:
    story = begun("a")
    hold(story, "a", "@merge", message="a cannot be merged", conflict=True, files=["x.py", "y.py"])
    (need,) = needs(story)
    assert (need.kind, list(need.files)) == ("conflict", ["x.py", "y.py"])
    assert commands(need) == ["weft merge a", "weft merge --list a"]


def test_a_result_that_waits_for_consent_can_land() -> None:
    story = Story(*slices("a"), isolation="worktree", merge={"mode": "confirm"})
    story.start()
    story.begin("a")
    story.complete("a")
    hold(story, "a", message="a waits", asks=True)
    (need,) = needs(story)
    assert (need.kind, commands(need), need.actions[0].is_confirmed) == ("landing", ["weft merge a"], True)


def test_a_failed_slice_shows_the_end_of_its_output_and_can_be_retried_once_the_run_has_ended() -> None:
    story = begun("a")
    story.step("a", "check", command="pytest -q")
    story.end("a", "check", "failed", exit_code=1, tail=TAIL)
    story.fail("a")
    (need,) = needs(story)
    assert (need.kind, need.title, need.step) == ("failed", "exit code 1 (pytest -q)", "check")
    assert need.lines[-1] == "line 39"
    assert len(need.lines) == 12
    assert commands(need) == ["weft logs a"]
    story.finish("failed")
    (need,) = needs(story, is_active=False)
    assert commands(need) == ["weft retry a", "weft logs a"]


def test_slices_that_failed_because_of_others_are_not_listed() -> None:
    story = begun("a", "b")
    story.fail("a", message="no")
    story.fail("b", reason="blocked", cause="a")
    assert [need.path for need in needs(story)] == ["a"]


def test_a_hundred_failures_are_listed_and_the_rest_is_counted() -> None:
    names = [f"s{number}" for number in range(120)]
    story = begun(*names)
    for name in names:
        story.fail(name, message="no")
    listed = needs(story)
    assert len(listed) == 101
    assert listed[-1].title == "20 more have failed"


def test_the_budget_is_one_need_for_all_slices_that_it_stops() -> None:
    story = begun("a", "b")
    story.fail("a", reason="budget", message="the budget does not allow it")
    story.fail("b", reason="budget", message="the budget does not allow it")
    story.finish("failed")
    (need,) = needs(story, is_active=False)
    assert (need.kind, list(need.lines)) == ("budget", ["a", "b"])
    assert commands(need) == ["weft retry --fresh-budget"]
    assert need.actions[0].body == {"names": [], "fresh_budget": True}


def test_a_usage_limit_is_told_but_is_not_urgent() -> None:
    story = begun("a")
    story.tell("limited", "a", "code", firing=1, agents=["coder"], until=story.at + 600)
    (need,) = needs(story)
    assert (need.kind, need.is_urgent, commands(need)) == ("limit", False, ["weft resume --limits"])
    story.wait(601)
    assert needs(story) == []


def test_a_failed_verify_is_one_need_for_all_results_that_it_holds() -> None:
    story = begun("a", "b")
    message = "verify (make test) failed with exit code 2\n  | boom\nfix main first"
    for path in ("a", "b"):
        hold(story, path, message=message, red=True)
        story.tell("merge", path, "@land", outcome="held", message=message, red=True)
    (need,) = needs(story)
    assert (need.kind, list(need.lines)) == ("verify", ["boom"])
    assert commands(need) == ["weft merge a b", "weft logs a:@land"]


def test_a_run_without_a_coordinator_says_how_to_resume_it() -> None:
    story = begun("a")
    (need,) = needs(story, is_active=False)
    assert (need.kind, commands(need)) == ("stopped", ["weft start"])
    story.finish("stopped")
    (need,) = needs(story, is_active=False)
    assert need.title == "the run is stopped"


def test_a_run_that_a_newer_one_replaced_asks_nothing() -> None:
    story = begun("a")
    story.tell("ask", "a", "gate", firing=1, question="Deploy?")
    assert needs(story, is_active=False, state="abandoned") == []
