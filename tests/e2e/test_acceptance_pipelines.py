"""Steps that run beside each other, joins, branches that fail, time limits, questions."""

import os
import time

import pytest

from e2e.projects import Outcome, Project
from e2e.turnstile import Turnstile
from stored_events import StoredEvent


def run_steps(project: Project, *steps: str, more: str = "", **wish: object) -> Outcome:
    lines = "\n".join(f"      - {step}" for step in steps)
    return project.plan(f"{more}\nsubplans:\n  - id: s\n    steps:\n{lines}\n").run(**wish)  # type: ignore[arg-type]


def result_of(project: Project, name: str = "out") -> str:
    return project.result()[name]


JOIN = "{id: done, action: join, depends_on: [a, b]}"


def test_a_join_gives_the_results_of_its_branches_in_the_order_it_names_them(project: Project) -> None:
    """The branches end in the other order. Without an agent: there is none in the plan."""
    outcome = run_steps(
        project,
        "{id: a, async: true, run: 'until test -e OUTSIDE/b; do sleep 0.02; done; echo of a'}",
        "{id: b, async: true, run: 'echo of b; touch OUTSIDE/b'}",
        JOIN,
        "{id: use, run: 'echo {{ step.done.result }} > out'}",
    )
    assert outcome.state == "completed"
    assert result_of(project) == "[a]:\nof a\n\n[b]:\nof b\n"
    ends = [outcome.of("step_finished", "s", name)[0].data for name in ("a", "b")]
    assert ends[0]["concurrent_group"] == ends[1]["concurrent_group"]
    assert all(end["launched_at"] <= end["completed_at"] for end in ends)


def test_a_later_prompt_reads_the_join(project: Project) -> None:
    project.plan(
        """
agents: {coder: {use: scripted, script: script.json}}
subplans:
  - id: s
    steps:
      - {id: a, async: true, run: echo one}
      - {id: b, async: true, run: echo two}
      - {id: done, action: join, depends_on: [a, b]}
      - {id: read, prompt: 'say what {{ step.done.result }} means'}
""",
        script__json='[{"do": [{"echo_prompt": "out"}]}]',
    )
    assert project.run().state == "completed"
    assert "say what [a]:\none\n\n[b]:\ntwo means" in result_of(project)


def test_a_branch_that_is_not_wanted_is_not_run_and_the_join_continues(project: Project) -> None:
    outcome = run_steps(
        project,
        "{id: a, async: true, run: MARK, condition: never}",
        "{id: b, async: true, run: echo b}",
        JOIN,
        "{id: use, run: 'echo {{ step.done.result }} > out'}",
    )
    assert outcome.state == "completed"
    assert project.marks() == []
    assert [item.step for item in outcome.of("step_skipped")] == ["a"]
    assert "[b]:\nb" in result_of(project)


@pytest.mark.parametrize(("word", "state"), [("bad", "failed"), ("good", "completed")])
def test_what_a_join_says_can_end_the_pipeline(project: Project, word: str, state: str) -> None:
    outcome = run_steps(
        project,
        f"{{id: a, async: true, run: echo {word}}}",
        "{id: b, async: true, run: echo b}",
        "{id: done, action: join, depends_on: [a, b], "
        "on_result: [{when: \"'bad' in step.done.result\", action: abort}]}",
        "{id: after, run: MARK}",
    )
    assert outcome.state == state
    assert len(project.marks()) == (state == "completed")


def test_without_async_steps_are_done_in_their_order(project: Project) -> None:
    outcome = run_steps(project, "{id: a, run: MARK}", "{id: b, run: MARK}", "{id: c, run: MARK}")
    assert outcome.order() == ["s:a", "s:b", "s:c"]
    assert [mark.split()[1] for mark in project.marks()] == ["a", "b", "c"]


@pytest.mark.parametrize("cap", [1, 2, 3])
def test_no_more_branches_at_once_than_the_cap(project: Project, cap: int) -> None:
    with Turnstile(project.outside / "t", hold_until=cap) as turnstile:
        outcome = run_steps(
            project,
            *(f"{{id: {name}, async: true, run: '{turnstile.command}'}}" for name in "abc"),
            "{id: done, action: join, depends_on: [a, b, c]}",
            more=f"max_concurrency: {cap}",
        )
    assert outcome.state == "completed"
    assert (turnstile.peak, turnstile.entered) == (cap, 3)


def test_an_async_step_waits_for_what_it_depends_on(project: Project) -> None:
    outcome = run_steps(
        project,
        "{id: a, async: true, run: echo a > a}",
        "{id: b, async: true, depends_on: [a], run: cat a > b}",
        "{id: done, action: join, depends_on: [b]}",
    )
    assert outcome.state == "completed"
    assert outcome.order() == ["s:a", "s:b"]


def test_the_first_failure_ends_the_other_branches_of_a_join_that_fails_fast(project: Project) -> None:
    with Turnstile(project.outside / "t", hold_until=2) as turnstile:
        outcome = run_steps(
            project,
            f"{{id: a, async: true, run: '{turnstile.enter}; exit 7'}}",
            f"{{id: b, async: true, run: '{turnstile.enter}; sleep 1000'}}",
            JOIN,
            "{id: after, run: MARK}",
            more="grace: 1s",
        )
    assert project.processes() == []
    assert outcome.states() == {"s": "failed error"}
    assert outcome.ends()[:2] == [("s", "a", "failed"), ("s", "b", "cancelled")]
    (cancelled,) = outcome.of("step_cancelled", "s")
    assert (cancelled.step, cancelled.data["cause"]) == ("b", "s:a")
    assert project.marks() == []


def test_a_join_that_waits_for_all_has_the_error_in_its_place(project: Project) -> None:
    outcome = run_steps(
        project,
        "{id: a, async: true, run: exit 7}",
        "{id: b, async: true, run: echo b}",
        "{id: done, action: join, depends_on: [a, b], on_error: wait_for_all}",
        "{id: use, run: 'echo {{ step.done.result }} > out'}",
    )
    assert outcome.state == "completed"
    assert result_of(project) == "[a]:\n<error: exit code 7>\n\n[b]:\nb\n"


OBJECT = "output_schema: {type: object}"


def test_json_is_merged_by_the_names_of_branches_and_paths_lead_into_it(project: Project) -> None:
    outcome = run_steps(
        project,
        f'{{id: a, async: true, {OBJECT}, run: "echo \'{{\\"list\\": [1, {{\\"deep\\": 17}}]}}\'"}}',
        f'{{id: b, async: true, {OBJECT}, run: "echo \'{{\\"x\\": 2}}\'"}}',
        "{id: done, action: join, depends_on: [a, b], output_schema: {type: object, required: [a, b]}}",
        "{id: use, run: 'echo {{ step.done.a.list[1].deep }} {{ step.done.b.x }} > out'}",
    )
    assert outcome.state == "completed"
    assert result_of(project) == "17 2\n"


def test_a_merged_object_that_does_not_fit_fails_the_join(project: Project) -> None:
    outcome = run_steps(
        project,
        f"{{id: a, async: true, {OBJECT}, run: \"echo '{{}}'\"}}",
        f"{{id: b, async: true, {OBJECT}, run: \"echo '{{}}'\"}}",
        "{id: done, action: join, depends_on: [a, b], "
        "output_schema: {type: object, properties: {a: {type: object, required: [needed]}}}}",
        "{id: after, run: MARK}",
    )
    assert outcome.state == "failed"
    assert "done" in outcome.message("s")
    assert project.marks() == []


def test_of_branches_with_json_a_skipped_one_is_null_and_a_failed_one_an_envelope(project: Project) -> None:
    outcome = run_steps(
        project,
        f"{{id: a, async: true, {OBJECT}, condition: never, run: 'true'}}",
        f"{{id: b, async: true, {OBJECT}, run: exit 4}}",
        "{id: done, action: join, depends_on: [a, b], on_error: wait_for_all, output_schema: {type: object}}",
        "{id: use, run: 'echo {{ step.done.result }} > out'}",
    )
    assert outcome.state == "completed"
    assert '"a":null' in result_of(project).replace(" ", "")
    assert "exit code 4" in result_of(project)


def test_a_path_that_leads_nowhere_is_an_error_that_lists_what_there_is(project: Project) -> None:
    outcome = run_steps(
        project,
        f'{{id: a, {OBJECT}, run: "echo \'{{\\"there\\": 1}}\'"}}',
        "{id: use, run: 'echo {{ step.a.missing }}'}",
    )
    assert outcome.state == "failed"
    assert "missing" in outcome.message("s")
    assert "there" in outcome.message("s")


def test_a_step_that_depends_on_a_failed_branch_does_not_run(project: Project) -> None:
    outcome = run_steps(
        project,
        "{id: a, async: true, run: exit 1}",
        "{id: b, depends_on: [a], run: MARK}",
    )
    assert outcome.state == "failed"
    assert project.marks() == []


def test_two_joins_see_one_branch_and_a_join_may_be_over_sequential_steps(project: Project) -> None:
    outcome = run_steps(
        project,
        "{id: a, async: true, run: echo of a}",
        "{id: b, run: echo of b}",
        "{id: one, action: join, depends_on: [a]}",
        "{id: two, action: join, depends_on: [a, b]}",
        "{id: use, run: 'echo {{ step.one.result }} {{ step.two.result }} > out'}",
    )
    assert outcome.state == "completed"
    assert result_of(project).count("of a") == 2
    assert result_of(project).count("of b") == 1


def test_what_a_branch_says_can_end_the_pipeline(project: Project) -> None:
    outcome = run_steps(
        project,
        "{id: a, async: true, run: echo enough, "
        "on_result: [{when: \"'enough' in step.a.result\", action: abort}]}",
        "{id: b, async: true, run: sleep 1000}",
        JOIN,
        "{id: after, run: MARK}",
        more="grace: 1s",
    )
    assert outcome.state == "failed"
    assert project.marks() == []
    assert project.processes() == []


def test_a_branch_is_tried_again_by_itself(project: Project) -> None:
    outcome = run_steps(
        project,
        "{id: a, async: true, run: 'MARK; test -e OUTSIDE/on || { touch OUTSIDE/on; exit 1; }', "
        "on_error: retry, max_retries: 2}",
        "{id: b, async: true, run: MARK}",
        JOIN,
    )
    assert outcome.state == "completed"
    assert sorted(mark.split()[1] for mark in project.marks()) == ["a", "a", "b"]


def test_a_branch_that_cannot_even_start_leaks_no_slot(project: Project) -> None:
    outcome = run_steps(
        project,
        "{id: a, async: true, run: [/no/such/program], on_error: continue}",
        "{id: b, async: true, run: echo b}",
        "{id: c, async: true, run: echo c}",
        "{id: done, action: join, depends_on: [a, b, c], on_error: wait_for_all}",
        more="max_concurrency: 1\ninfra_retries: 0",
    )
    assert [end for end in outcome.ends() if end[2] == "done"] == [
        ("s", "b", "done"),
        ("s", "c", "done"),
        ("s", "done", "done"),
    ]
    assert outcome.state == "completed"


# --- time ---


def test_a_time_limit_ends_the_whole_group_and_what_fled_from_it(project: Project) -> None:
    outcome = run_steps(
        project,
        "{id: a, timeout: 1s, grace: 1s, run: '(setsid sleep 1000 >/dev/null 2>&1 &); sleep 1000 & sleep 1000'}",
    )
    assert project.processes() == []
    assert outcome.states() == {"s": "failed timeout"}
    assert "time limit of 1 s" in outcome.message("s")


def test_a_silent_agent_is_ended_and_a_silent_command_is_not(project: Project) -> None:
    """The agent writes once and then waits for ever; the command is silent for longer than the limit."""
    outcome = project.plan(
        "agents: {coder: {use: command, command: [sh, -c, 'echo hello; sleep 1000']}}\n"
        "agent: coder\nidle_timeout: 100ms\nretries: 0\nfailure_mode: continue_on_error\nsubplans:\n"
        "  - {id: s, steps: [{id: work, prompt: x}]}\n"
        "  - {id: t, steps: [{id: work, run: sleep 0.3}]}\n"
    ).run()
    assert project.processes() == []
    assert outcome.states() == {"s": "failed timeout", "t": "completed"}
    assert "it wrote nothing for 0.1 s and was ended (idle_timeout)" in outcome.message("s")


# --- people ---

ASKING = """
subplans:
  - id: asks
    steps:
      - {id: before, run: MARK}
      - {id: sure, action: ask, question: "Are you sure of {{ slice.id }}?"}
      - {id: after, run: MARK}
  - {id: other, steps: [{id: x, run: MARK}]}
  - {id: more, depends_on: [other], steps: [{id: x, run: MARK}]}
"""


def test_a_question_holds_up_one_slice_and_nothing_else(project: Project) -> None:
    """It is answered only when all the others are completed; even with room for one slice only."""

    def answer(event: StoredEvent) -> None:
        if (event.kind, event.subplan, event.outcome) == ("subplan_state", "more", "completed"):
            project.answer("asks", text="go")

    outcome = project.plan(f"max_parallel: 1{ASKING}").run(answer)
    assert outcome.state == "completed"
    (ask,) = outcome.of("ask")
    assert ask.data["question"] == "Are you sure of asks?"
    assert project.marks()[-1].split()[:2] == ["asks", "after"]


def test_without_waiting_the_run_ends_with_the_question_open_and_continues_with_its_answer(
    project: Project,
) -> None:
    first = project.plan(ASKING).run(waits=False)
    assert first.state == "waiting"
    project.answer("asks")
    second = project.run(waits=False)
    assert second.state == "completed"
    assert len(project.marks()) == 4


def test_a_no_fails_the_slice(project: Project) -> None:
    def answer(event: StoredEvent) -> None:
        if event.kind == "ask":
            project.answer("asks", accepted=False, text="not like this")

    outcome = project.plan(f"failure_mode: continue_on_error{ASKING}").run(answer)
    assert outcome.states() == {"asks": "failed error", "other": "completed", "more": "completed"}
    assert "not like this" in outcome.message("asks")


# --- limits of agents ---


def test_a_usage_limit_is_waited_for_and_counts_as_no_attempt(project: Project) -> None:
    project.plan(
        """
retries: 0
infra_retries: 0
agents: {coder: {use: scripted, script: script.json}}
subplans: [{id: s, prompt: x}]
""",
        script__json="""[
          {"unless_exists": "once", "do": [{"touch": "once"}, {"run": "MARK"}, {"limit_for": 1}]},
          {"do": [{"run": "MARK"}]}]""",
    )
    outcome = project.run()
    assert outcome.state == "completed"
    assert [mark.split()[2] for mark in project.marks()] == ["1", "1"]
    assert [item.outcome for item in outcome.of("step_finished", "s", "work")] == ["limited", "done"]


def test_a_usage_limit_outlives_the_coordinator(project: Project) -> None:
    def stop(event: StoredEvent) -> None:
        if event.outcome == "limited":
            os.kill(os.getpid(), 2)

    project.plan(
        "agents: {coder: {use: scripted, script: script.json}}\nsubplans: [{id: s, prompt: x}]",
        script__json="""[
          {"unless_exists": "once", "do": [{"touch": "once"}, {"limit_for": 2}]},
          {"do": [{"say": "x"}]}]""",
    )
    assert project.run(stop).state == "stopped"
    (until,) = [
        item.data["until"] for item in project.story().of("step_finished") if item.outcome == "limited"
    ]
    outcome = project.run()
    assert outcome.state == "completed"
    assert time.time() >= until
