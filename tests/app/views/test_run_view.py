"""What a view knows after what it was told."""

from hypothesis import given
from hypothesis import strategies as st

from app.run_stories import Story, group, plan_of, slices
from stored_events import make_event
from weft.app.views.run_view import OUTPUT_KEPT, RunView
from weft.engine.messages.event_codec import to_plain
from weft.engine.states import SubplanExecutionState as State
from weft.ids import SubplanPath


def notes() -> Story:
    """store with model and, after it, disk; then cli."""
    store = group("store", *slices("model"), *slices("disk", depends_on=["model"]))
    return Story(store, *slices("cli", depends_on=["store"]))


def shelf(story: Story, name: str) -> list[str]:
    return [story.view.outline.paths[row] for row in getattr(story.view.row_index, name)]


def row_lists(story: Story) -> dict[str, list[str]]:
    names = ("asking", "held", "running", "failed", "waiting", "settled")
    return {name: result for name in names if (result := shelf(story, name))}


# States and counts


def test_at_first_all_slices_are_pending() -> None:
    story = notes()
    assert story.view.state == "pending"
    assert story.view.counts == {"pending": 3, "running": 0, "completed": 0, "failed": 0}


def test_slices_are_counted_by_state_in_each_group_around_them() -> None:
    story = Story(group("a", group("b", *slices("c", "d")), *slices("e")))
    story.begin("a", "a/b", "a/b/c", "a/e")
    story.complete("a/b/c")
    assert [story.view.tallies[row] for row in (0, 1, 2)] == [
        {"pending": 1, "running": 1, "completed": 1, "failed": 0},
        {"pending": 1, "running": 1, "completed": 1, "failed": 0},
        {"pending": 1, "running": 0, "completed": 1, "failed": 0},
    ]


def test_the_run_is_running_then_stopping_then_what_it_ended_as() -> None:
    story = notes()
    states = []
    for happens in (story.start, lambda: story.tell("stopping", now=False), lambda: story.finish("stopped")):
        happens()
        states.append(story.view.state)
    assert states == ["running", "stopping", "stopped"]
    assert story.view.run == "r1"


def test_a_kind_that_is_not_known_changes_nothing() -> None:
    story = notes()
    story.tell("unheard_of", "store/model")
    story.tell("woke")
    assert story.view.state == "pending"


def test_each_event_is_a_new_version() -> None:
    story = notes()
    versions = [story.view.version]
    for happens in (story.start, lambda: story.begin("cli"), lambda: story.tell("woke")):
        happens()
        versions.append(story.view.version)
    assert sorted(set(versions)) == versions


def test_a_slice_that_an_earlier_run_completed_says_so() -> None:
    story = notes()
    story.begin("store/model")
    story.complete("store/model", carried=True)
    assert story.view.row("store/model").carried


# Steps


def test_a_step_is_under_way_from_its_start_to_its_end() -> None:
    story = notes()
    story.begin("store/model")
    story.wait(5)
    story.step("store/model", "code", attempt=2, agent="coder")
    [(path, step)] = story.view.under_way()
    assert (path, step.step, step.attempt) == ("store/model", "code", 2)
    assert (step.started_at, step.execution, step.agent) == (1_005.0, 1, "coder")
    story.end("store/model", "code")
    assert list(story.view.under_way()) == []


def test_how_often_a_step_may_be_tried_can_be_asked() -> None:
    view = notes().view
    row = view.outline.paths.index(SubplanPath("store/model"))
    assert (view.most_attempts(row, "code"), view.most_attempts(row, "@workspace")) == (4, 0)


def test_several_steps_of_a_slice_may_be_under_way_at_once() -> None:
    story = notes()
    story.begin("cli")
    story.step("cli", "tests")
    story.step("cli", "code")
    assert [step.step for _, step in story.view.under_way()] == ["tests", "code"]
    story.end("cli", "tests")
    assert [step.step for _, step in story.view.under_way()] == ["code"]


def test_the_last_line_of_output_belongs_to_its_step() -> None:
    story = notes()
    story.begin("cli")
    story.step("cli", "tests")
    story.step("cli", "code")
    story.view.note_output("cli", "code", "one")
    story.view.note_output("cli", "code", "two")
    assert [step.output for _, step in story.view.under_way()] == ["", "two"]


def test_a_long_line_of_output_is_kept_in_part() -> None:
    story = notes()
    story.step("cli", "code")
    story.view.note_output("cli", "code", "x" * 1_000_000)
    assert [len(step.output) for _, step in story.view.under_way()] == [OUTPUT_KEPT]


def test_output_that_is_the_same_as_before_is_no_change() -> None:
    story = notes()
    story.step("cli", "code")
    story.view.note_output("cli", "code", "x" * 1_000)
    version = story.view.version
    story.view.note_output("cli", "code", "x" * 2_000)
    story.view.note_output("cli", "tests", "of a step that does not run")
    assert story.view.version == version


def test_a_step_that_is_being_ended_names_the_cause() -> None:
    story = notes()
    story.step("cli", "code")
    story.tell("step_cancelled", "cli", "code", firing=1, execution=1, cause="store")
    assert [step.cancelled_by for _, step in story.view.under_way()] == ["store"]


def test_a_step_may_be_ended_without_a_cause() -> None:
    story = notes()
    story.step("cli", "code")
    story.tell("step_cancelled", "cli", "code", firing=1, execution=1, cause="")
    assert [step.cancelled_by for _, step in story.view.under_way()] == ["the run"]


def test_to_end_a_step_that_does_not_run_changes_nothing() -> None:
    story = notes()
    story.tell("step_cancelled", "cli", "code", firing=9, execution=1, cause="store")
    assert list(story.view.under_way()) == []


def test_a_usage_limit_is_waited_for_until_the_step_starts_again() -> None:
    story = notes()
    story.begin("cli")
    story.step("cli", "code")
    story.end("cli", "code", "limited", until=2_000.0)
    assert story.view.row("cli").limited_until == 2_000.0
    story.step("cli", "code")
    assert story.view.row("cli").limited_until is None


# Failure


def test_a_slice_that_failed_says_which_step_and_command_and_how_its_output_ended() -> None:
    story = notes()
    story.begin("cli")
    story.step("cli", "check", attempt=4, command="pytest -q")
    story.end("cli", "check", "failed", attempt=4, exit_code=1, tail="1 failed")
    story.fail("cli", "exhausted")
    row_view = story.view.row("cli")
    assert (row_view.state, row_view.reason, row_view.failed_by_itself) == (State.FAILED, "exhausted", True)
    assert row_view.failure is not None
    assert (row_view.failure.step, row_view.failure.attempt, row_view.failure.command) == (
        "check",
        4,
        "pytest -q",
    )
    assert (row_view.failure.exit_code, row_view.failure.tail) == (1, "1 failed")


def test_the_engine_s_own_word_about_the_failure_counts_most() -> None:
    story = notes()
    story.begin("cli")
    story.step("cli", "check", command="a && b")
    story.end("cli", "check", "failed", exit_code=1)
    table = {"reason": "error", "message": "check: exit code 1 (b)", "step": "check", "command": "b"}
    story.fail("cli", failure=table)
    failure = story.view.row("cli").failure
    assert failure is not None
    assert failure.command == "b"


def test_the_command_of_an_agent_is_its_name() -> None:
    story = notes()
    story.step("cli", "code", agent="coder")
    story.end("cli", "code", "timeout")
    trouble = story.view.row("cli").trouble
    assert trouble is not None
    assert (trouble.command, trouble.how) == ("agent coder", "timeout")


def test_a_step_that_failed_and_was_tried_again_is_no_failure_of_the_slice() -> None:
    story = notes()
    story.begin("cli")
    story.step("cli", "check")
    story.end("cli", "check", "failed", exit_code=1)
    story.step("cli", "check", attempt=2)
    story.end("cli", "check")
    story.complete("cli")
    assert story.view.row("cli").failure is None


def test_what_is_blocked_did_not_fail_by_itself() -> None:
    story = notes()
    story.fail("cli", "blocked", cause="store", message="blocked by store")
    row_view = story.view.row("cli")
    assert (row_view.failed_by_itself, row_view.failure, row_view.cause) == (False, None, "store")


def test_a_group_whose_part_failed_did_not_fail_by_itself_but_one_whose_verify_failed_did() -> None:
    story = Story(group("a", *slices("x")), group("b", *slices("y"), verify="make"))
    story.begin("a", "b")
    story.fail("a", cause="a/x", message="a/x failed")
    story.step("b", "@verify", command="make")
    story.end("b", "@verify", "failed", exit_code=2)
    story.fail("b", message="@verify: failed (make)")
    assert [story.view.row(path).failed_by_itself for path in ("a", "b")] == [False, True]
    failure = story.view.row("b").failure
    assert failure is not None
    assert (failure.step, failure.command) == ("@verify", "make")


def test_the_verify_of_the_whole_plan_fails_with_the_run() -> None:
    story = Story(*slices("a"), verify="make")
    story.step("", "@verify", command="make")
    story.end("", "@verify", "failed", exit_code=2)
    story.tell("run_finished", outcome="failed", reason="error", message="@verify: failed (make)", cause="")
    assert shelf(story, "failed") == [""]


def test_a_run_that_cannot_continue_says_where_it_stands() -> None:
    story = notes()
    story.tell("run_finished", outcome="failed", stuck=["cli: ready", "store: under way"])
    assert story.view.row("").message == "the run is stuck: cli: ready; store: under way"
    assert shelf(story, "failed") == [""]


def test_a_join_that_failed_is_not_the_step_to_blame() -> None:
    story = notes()
    story.step("cli", "check", command="make")
    story.end("cli", "check", "failed", exit_code=1)
    story.tell("step_finished", "cli", "all", outcome="failed", message="check failed")
    trouble = story.view.row("cli").trouble
    assert trouble is not None
    assert trouble.step == "check"


# Cost


def test_costs_add_up_to_the_whole() -> None:
    story = notes()
    story.run("store/model", cost=1_000_000)
    story.run("cli", cost=250_000)
    assert [story.view.row(path).cost for path in ("", "store", "store/model", "cli")] == [
        1_250_000,
        1_000_000,
        1_000_000,
        250_000,
    ]


def test_an_agent_that_does_not_say_its_cost_is_counted_as_unknown_a_command_is_not() -> None:
    story = notes()
    story.run("store/model")
    story.step("cli", "check", command="make")
    story.end("cli", "check")
    assert [story.view.row(path).unknown_costs for path in ("", "store", "cli")] == [1, 1, 0]


def test_an_agent_that_could_not_be_started_cost_nothing_one_that_broke_down_may_have() -> None:
    story = notes()
    for more, unknown in (({}, 0), ({"exit_code": 126}, 1), ({"signal": 9}, 2)):
        story.step("cli", "code", agent="coder")
        story.end("cli", "code", "infra", **more)
        assert story.view.row("cli").unknown_costs == unknown


# Waiting


def test_what_a_slice_waits_for_is_what_it_and_the_groups_around_it_depend_on() -> None:
    story = Story(
        *slices("a", "b"), group("c", *slices("d"), *slices("e", depends_on=["d"]), depends_on=["a", "b"])
    )
    row = [*map(str, story.view.outline.paths)].index("c/e")
    assert list(story.view.blocked_by(row)) == ["c/d", "a", "b"]
    story.complete("b")
    assert list(story.view.blocked_by(row)) == ["c/d", "a"]
    story.complete("a", "c/d")
    assert list(story.view.blocked_by(row)) == []


def test_of_the_dependencies_only_the_completed_ones_are_met() -> None:
    story = Story(*slices("a", "b", "c"), *slices("d", depends_on=["a", "b", "c"]))
    story.complete("a")
    assert list(story.view.blocked_by(4)) == ["b", "c"]
    story.fail("b")
    assert list(story.view.blocked_by(4)) == ["b", "c"]


def test_a_question_is_open_until_it_is_answered() -> None:
    story = notes()
    story.begin("cli")
    story.tell("ask", "cli", "gate", question="Go on?", firing=7)
    assert story.view.row("cli").questions["gate"].text == "Go on?"
    assert row_lists(story)["asking"] == ["cli"]
    story.tell("answered", "cli", "gate", outcome="yes")
    assert "asking" not in row_lists(story)
    assert shelf(story, "running") == ["cli"]


def test_a_question_of_a_slice_that_ended_is_open_no_more() -> None:
    story = notes()
    story.begin("cli")
    story.tell("ask", "cli", "gate", question="Go on?", firing=7)
    story.fail("cli", "cancelled", cause="store")
    assert shelf(story, "asking") == []


def test_a_question_that_is_withdrawn_is_open_no_more() -> None:
    story = notes()
    story.begin("cli")
    story.tell("ask", "cli", "gate", question="Go on?", firing=7)
    story.tell("step_cancelled", "cli", "gate", firing=6, execution=1, cause="x")
    assert shelf(story, "asking") == ["cli"]
    story.tell("step_cancelled", "cli", "gate", firing=7, execution=1, cause="x")
    assert shelf(story, "asking") == []


# Shelves


def test_before_anything_begins_a_group_waits_as_one() -> None:
    assert row_lists(notes()) == {"waiting": ["store", "cli"]}


def test_the_parts_of_a_group_that_began_wait_one_by_one() -> None:
    story = notes()
    story.begin("store")
    assert row_lists(story) == {"waiting": ["cli", "store/model", "store/disk"]}


def test_a_group_counts_as_started_with_its_first_part() -> None:
    story = Story(group("a", group("b", *slices("c", "d"))))
    story.begin("a/b/c")
    assert row_lists(story) == {"running": ["a/b/c"], "waiting": ["a/b/d"]}


def test_a_group_that_ended_stands_for_its_parts() -> None:
    story = notes()
    story.begin("store")
    story.run("store/model")
    assert shelf(story, "settled") == ["store/model"]
    story.run("store/disk")
    story.complete("store")
    assert row_lists(story) == {"waiting": ["cli"], "settled": ["store"]}


def test_what_failed_by_itself_stays_in_sight_when_its_group_has_ended() -> None:
    story = notes()
    story.begin("store", "store/model")
    story.fail("store/model")
    story.fail("store/disk", "blocked", cause="store/model")
    story.fail("store", cause="store/model")
    assert row_lists(story) == {"failed": ["store/model"], "waiting": ["cli"], "settled": ["store"]}


def test_a_group_runs_while_it_is_verified_and_a_slice_that_is_done_while_it_lands() -> None:
    story = notes()
    story.begin("store")
    story.step("store", "@verify")
    story.complete("cli")
    story.step("cli", "@land")
    assert shelf(story, "running") == ["store", "cli"]
    story.end("store", "@verify")
    story.end("cli", "@land")
    assert row_lists(story) == {"waiting": ["store/model", "store/disk"], "settled": ["cli"]}


def test_what_has_ended_is_still_there_when_the_run_has() -> None:
    story = Story(*slices("a", "b"))
    story.run("a")
    story.fail("b", "blocked", cause="x")
    story.finish("failed")
    assert row_lists(story) == {"settled": ["a", "b"]}


def test_a_listed_row_keeps_its_place() -> None:
    story = Story(*slices("a", "b"))
    story.begin("b", "a")
    story.step("b", "code")
    assert shelf(story, "running") == ["b", "a"]


def test_what_has_ended_is_in_the_order_of_ends() -> None:
    story = Story(*slices("a", "b"))
    story.begin("a", "b")
    story.complete("b")
    story.complete("a")
    assert shelf(story, "settled") == ["b", "a"]


# Time


def test_time_counts_from_the_start_and_stands_still_when_the_run_has_ended() -> None:
    story = notes()
    assert story.view.elapsed(5_000.0) == 0.0
    story.start()
    story.wait(10)
    assert story.view.elapsed(story.at) == 10.0
    story.finish()
    assert story.view.elapsed(story.at + 99) == 10.0
    assert story.view.ended_at == story.at


def test_the_time_between_a_stop_and_going_on_does_not_count() -> None:
    story = notes()
    story.start()
    story.begin("cli")
    story.wait(10)
    story.finish("stopped")
    story.wait(1_000)
    story.tell("recovered", epoch=2, running=[])
    story.wait(5)
    assert story.view.state == "running"
    assert story.view.elapsed(story.at) == 15.0
    assert story.view.row("cli").seconds(story.at) == 15.0


def test_a_run_that_has_ended_does_not_continue() -> None:
    story = notes()
    story.start()
    story.finish("failed")
    story.tell("recovered", epoch=2, running=[])
    assert story.view.state == "failed"


def test_after_a_death_with_nothing_under_way_the_time_of_the_last_event_is_the_last_that_counts() -> None:
    story = notes()
    story.start()
    story.wait(10)
    story.begin("cli")
    story.wait(1_000)
    story.tell("recovered", epoch=2, running=[])
    assert story.view.elapsed(story.at) == 10.0


def test_after_a_death_the_time_counts_in_which_steps_ran_on() -> None:
    story = notes()
    story.start()
    story.wait(10)
    story.begin("cli")
    story.step("cli", "code")
    story.wait(1_000)
    story.tell("recovered", epoch=2, running=[1])
    assert story.view.elapsed(story.at) == 1_010.0
    assert story.view.row("cli").seconds(story.at) == 1_000.0, "its step has run all the time"


def test_the_time_in_which_a_person_is_asked_is_none_of_the_slice() -> None:
    story = notes()
    story.begin("cli")
    story.wait(10)
    story.tell("ask", "cli", "gate", question="Go on?", firing=7)
    story.wait(1_000)
    story.tell("answered", "cli", "gate", outcome="yes")
    assert story.view.row("cli").seconds(story.at) == 10.0


def test_a_slice_that_never_began_took_no_time() -> None:
    story = notes()
    story.tell("ask", "cli", "gate", question="Go on?", firing=7)
    story.tell("answered", "cli", "gate", outcome="yes")
    story.tell("answered", "cli", "gate", outcome="yes")
    assert story.view.row("cli").seconds(story.at) is None


def test_the_remaining_time_is_guessed_from_slices_that_ran() -> None:
    story = Story(*slices(*"abcdef"))
    story.start()
    for path in "abc":
        story.run(path, seconds=60)
    story.begin("d")
    assert story.view.remaining(story.at) == 180.0
    assert story.view.progress == 0.5
    story.tell("stopping", now=False)
    assert story.view.remaining(story.at) is None


def test_slices_of_earlier_runs_and_cancelled_ones_say_nothing_about_the_remaining_time() -> None:
    story = Story(*slices(*"abcdef"))
    story.start()
    for path in "abc":
        story.begin(path)
        story.complete(path, carried=True)
    story.begin("d", "e")
    story.fail("d", "cancelled", cause="x")
    assert story.view.remaining(story.at) is None


# Size


SIX_GROUPS = [group(f"g{n}", *slices(*(f"s{m}" for m in range(5)))) for n in range(6)]
THIRTY_SLICES = [f"g{n}/s{m}" for n in range(6) for m in range(5)]


@given(st.permutations(THIRTY_SLICES))
def test_whatever_the_order_each_slice_is_on_the_right_shelf(paths) -> None:
    story = Story(*SIX_GROUPS)
    for path in paths[:10]:
        story.run(path)
    story.begin(*paths[10:15])
    result = row_lists(story)
    begun = {path.partition("/")[0] for path in paths[:15]}
    waiting = {path for path in paths[15:] if path.partition("/")[0] in begun}
    assert (result["settled"], result["running"]) == (paths[:10], paths[10:15])
    assert set(result["waiting"]) == waiting | {f"g{n}" for n in range(6)} - begun


def test_a_view_can_be_made_of_what_a_journal_holds() -> None:
    story = notes()
    story.start()
    story.run("store/model", cost=5)
    again = RunView(plan_of(group("store", *slices("model", "disk")), *slices("cli")))
    for event in story.told:
        again.apply(make_event(**to_plain(event) | {"fact": event.fact}), 0.0)
    assert (again.counts, again.row("").cost) == (story.view.counts, 5)
