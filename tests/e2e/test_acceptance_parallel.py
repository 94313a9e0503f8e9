"""What may be under way at once is, and not more: counted by the processes, held until enough are in."""

import os
import signal
import threading
from collections import Counter
from pathlib import Path

import pytest

from e2e.projects import Outcome, Project
from e2e.turnstile import Turnstile
from hosts.places import pids, proc
from stored_events import StoredEvent


def slices(count: int, run: str, *, more: str = "") -> str:
    lines = [f"  - {{id: s{number}, steps: [{{id: x, run: '{run}'{more}}}]}}" for number in range(count)]
    return "\n".join(["subplans:", *lines])


def peak_claimed(outcome: Outcome) -> int:
    """Returns the most steps of the plan that ran at once, according to the journal."""
    open_now: Counter[str] = Counter()
    peak = 0
    for event in outcome.events:
        if not event.step.startswith("@"):
            open_now["all"] += (event.kind == "step_started") - (event.kind == "step_finished")
        peak = max(peak, open_now["all"])
    return peak


def run_through(project: Project, text: str, count: int, expected: int, **wish: object) -> Turnstile:
    """No step ends before the expected number is inside; so it is reached, or the test never ends."""
    with Turnstile(project.outside / "turnstile", hold_until=expected) as turnstile:
        outcome = project.plan(text.replace("THROUGH", turnstile.command)).run(**wish)  # type: ignore[arg-type]
    assert outcome.state == "completed"
    assert (turnstile.peak, turnstile.entered, turnstile.inside) == (expected, count, 0)
    assert peak_claimed(outcome) == expected
    return turnstile


def test_serial_does_one_thing_at_a_time_in_the_order_of_the_plan(project: Project) -> None:
    run_through(project, f"policy: serial\n{slices(4, 'MARK; THROUGH')}", 4, 1)
    assert [mark.split()[0] for mark in project.marks()] == ["s0", "s1", "s2", "s3"]


def test_three_independent_slices_are_done_together(project: Project) -> None:
    run_through(project, slices(3, "THROUGH"), 3, 3)


@pytest.mark.parametrize("size", [1, 2])
def test_no_more_than_the_pool_has(project: Project, size: int) -> None:
    text = f"pools: {{db: {size}}}\nmax_parallel: 8\n{slices(6, 'THROUGH', more=', pool: db')}"
    run_through(project, text, 6, size)


def test_by_default_four_at_once(project: Project) -> None:
    run_through(project, slices(9, "THROUGH"), 9, 4)


def test_fifteen_with_ten_at_once(project: Project) -> None:
    run_through(project, f"max_parallel: 10\n{slices(15, 'THROUGH')}", 15, 10)


def test_two_hundred_with_thirty_two_at_once_and_nothing_is_left(project: Project) -> None:
    threads = set(threading.enumerate())
    descriptors = len([*Path("/proc/self/fd").iterdir()])
    run_through(project, f"max_parallel: 32\n{slices(200, 'THROUGH')}", 200, 32)
    for thread in set(threading.enumerate()) - threads:
        thread.join()  # each has been told to end
    assert len([*Path("/proc/self/fd").iterdir()]) == descriptors
    assert project.processes() == []


def test_a_step_that_needs_two_pools_holds_none_while_it_waits(project: Project) -> None:
    """The step that needs both waits for `a`; so `b` is free, and a step that needs only `b` continues."""
    with Turnstile(project.outside / "t", hold_until=2) as turnstile:
        project.plan(f"""
pools: {{a: 1, b: 1}}
subplans:
  - {{id: only-a, steps: [{{id: x, run: '{turnstile.command}', pool: a}}]}}
  - {{id: both, steps: [{{id: x, run: MARK, pools: [a, b]}}]}}
  - {{id: only-b, steps: [{{id: x, run: '{turnstile.command}', pool: b}}]}}
""")
        outcome = project.run()
    assert outcome.state == "completed"
    assert turnstile.peak == 2


def test_there_is_no_barrier_between_those_that_started_together(project: Project) -> None:
    """The slow one ends only when the successor of a successor of a fast one has been there."""
    project.plan("""
subplans:
  - {id: slow, steps: [{id: x, run: 'until test -e OUTSIDE/third; do sleep 0.02; done'}]}
  - {id: first, steps: [{id: x, run: 'true'}]}
  - {id: second, depends_on: [first], steps: [{id: x, run: 'true'}]}
  - {id: third, depends_on: [second], steps: [{id: x, run: touch OUTSIDE/third}]}
""")
    assert project.run().state == "completed"


# --- caps within caps ---

NESTED = """
max_parallel: 4
subplans:
  - id: g
    max_parallel: 3
    verify: 'true'
    subplans:
      - id: h
        max_parallel: 2
        verify: 'true'
        subplans:
          - id: i
            max_parallel: 1
            verify: 'true'
            subplans:
              - {id: a, steps: [{id: x, run: 'IN4; IN3; IN2; IN1; OUT1; OUT2; OUT3; OUT4'}]}
              - {id: b, steps: [{id: x, run: 'IN4; IN3; IN2; IN1; OUT1; OUT2; OUT3; OUT4'}]}
          - {id: c, steps: [{id: x, run: 'IN4; IN3; IN2; OUT2; OUT3; OUT4'}]}
          - {id: d, steps: [{id: x, run: 'IN4; IN3; IN2; OUT2; OUT3; OUT4'}]}
      - {id: e, steps: [{id: x, run: 'IN4; IN3; OUT3; OUT4'}]}
      - {id: f, steps: [{id: x, run: 'IN4; IN3; OUT3; OUT4'}]}
  - {id: j, steps: [{id: x, run: 'IN4; OUT4'}]}
  - {id: k, steps: [{id: x, run: 'IN4; OUT4'}]}
"""


def test_limits_hold_at_each_of_four_levels_and_overall(project: Project, tmp_path: Path) -> None:
    stiles = {level: Turnstile(tmp_path / f"t{level}") for level in (1, 2, 3)}
    stiles[4] = Turnstile(tmp_path / "t4", hold_until=4)
    text = NESTED
    for level, stile in stiles.items():
        text = text.replace(f"IN{level}", stile.enter).replace(f"OUT{level}", stile.leave)
    with stiles[1], stiles[2], stiles[3], stiles[4]:
        outcome = project.plan(text).run()
    assert outcome.state == "completed"
    assert {level: stile.entered for level, stile in stiles.items()} == {1: 2, 2: 4, 3: 6, 4: 8}
    assert stiles[4].peak == 4
    assert [level for level, stile in stiles.items() if stile.peak > level] == []


# --- failures ---

FAST = """
grace: 1s
pools: {db: 2}
subplans:
  - {id: bad, steps: [{id: x, run: 'IN; exit 5'}]}
  - {id: deaf, steps: [{id: x, pool: db, run: 'trap "" TERM; IN; while :; do sleep 0.05; done'}]}
  - {id: kind, steps: [{id: x, pool: db, run: 'IN; sleep 1000'}]}
  - {id: later, depends_on: [kind], steps: [{id: x, run: MARK}]}
"""


def test_with_fail_fast_a_failure_ends_its_siblings_processes(project: Project) -> None:
    with Turnstile(project.outside / "t", hold_until=3) as turnstile:
        outcome = project.plan(FAST.replace("IN", turnstile.enter)).run()
    assert project.processes() == []
    assert outcome.state == "failed"
    assert outcome.states() == {
        "bad": "failed error",
        "deaf": "failed cancelled",
        "kind": "failed cancelled",
        "later": "failed cancelled",
    }
    assert [actual.data["cause"] for actual in outcome.of("step_cancelled")] == ["bad", "bad"]
    assert project.marks() == []
    opened = {(item.data["firing"], item.data["execution"]) for item in outcome.of("step_started")}
    closed = {(entry.data["firing"], entry.data["execution"]) for entry in outcome.of("step_finished")}
    assert opened == closed


def test_with_continue_on_error_all_are_done_and_all_failures_reported(project: Project) -> None:
    project.plan("""
failure_mode: continue_on_error
subplans:
  - {id: a, steps: [{id: x, run: exit 3}]}
  - {id: b, steps: [{id: x, run: echo b > b}]}
  - {id: c, steps: [{id: x, run: exit 4}]}
  - {id: d, depends_on: [a], steps: [{id: x, run: MARK}]}
  - {id: e, depends_on: [b], steps: [{id: x, run: cat b > e}]}
""")
    outcome = project.run()
    assert outcome.states() == {
        "a": "failed error",
        "b": "completed",
        "c": "failed error",
        "d": "failed blocked",
        "e": "completed",
    }
    assert ("exit code 3" in outcome.message("a"), "exit code 4" in outcome.message("c")) == (True, True)
    assert project.result() == {"b": "b\n", "e": "b\n"}


def test_each_level_has_its_own_mode(project: Project) -> None:
    """A failure ends its siblings in the inner group, and not those of that group."""
    with Turnstile(project.outside / "t", hold_until=2) as turnstile:
        project.plan(f"""
failure_mode: continue_on_error
grace: 1s
subplans:
  - id: inner
    failure_mode: fail_fast
    verify: MARK
    subplans:
      - {{id: bad, steps: [{{id: x, run: '{turnstile.enter}; exit 1'}}]}}
      - {{id: long, steps: [{{id: x, run: '{turnstile.enter}; sleep 1000'}}]}}
  - {{id: outer, steps: [{{id: x, run: 'true'}}]}}
  - {{id: after, depends_on: [inner], steps: [{{id: x, run: MARK}}]}}
""")
        outcome = project.run()
    assert outcome.states() == {
        "inner": "failed error",
        "inner/bad": "failed error",
        "inner/long": "failed cancelled",
        "outer": "completed",
        "after": "failed blocked",
    }
    assert project.marks() == []


# --- stopping ---


def test_stopping_the_run_ends_everything_and_it_can_continue(project: Project) -> None:
    def stop(event: StoredEvent) -> None:
        if event.kind == "step_started" and event.step == "x":
            os.kill(os.getpid(), signal.SIGINT)

    project.plan("""
grace: 1s
subplans:
  - {id: a, steps: [{id: x, run: 'test -e OUTSIDE/on || sleep 1000; echo a > a'}, {id: y, run: MARK}]}
""")
    first = project.run(stop)
    assert first.state == "stopped"
    assert project.processes() == []
    assert [item.outcome for item in first.of("step_finished", "a", "x")] == ["stopped"]
    (project.outside / "on").touch()
    second = project.run()
    assert second.state == "completed"
    assert len(project.marks()) == 1
    assert project.result() == {"a": "a\n"}


def test_a_second_signal_ends_at_once_what_is_deaf(project: Project) -> None:
    signals = iter([("step_started", "x"), ("stopping", "")])
    awaited = next(signals)

    def stop(event: StoredEvent) -> None:
        nonlocal awaited
        if (event.kind, event.step) == awaited:
            awaited = next(signals, ("", ""))
            os.kill(os.getpid(), signal.SIGTERM)

    project.plan("""
grace: 1h
subplans: [{id: a, steps: [{id: x, run: 'trap "" TERM; while :; do sleep 0.05; done'}]}]
""")
    outcome = project.run(stop)
    assert outcome.state == "stopped"
    assert project.processes() == []


# --- directories ---


def test_a_group_s_verify_sees_the_work_of_all_its_slices_merged(project: Project) -> None:
    project.plan("""
subplans:
  - id: g
    verify: cat a b/c > OUTSIDE/seen && ls >> OUTSIDE/seen
    subplans:
      - {id: a, steps: [{id: x, run: echo a > a}]}
      - {id: b, steps: [{id: x, run: mkdir b && echo c > b/c && test ! -e a}]}
""")
    assert project.run().state == "completed"
    assert project.lines("seen") == ["a", "c", "a", "b"]


def test_a_slice_sees_the_work_of_its_dependencies_near_and_far(project: Project) -> None:
    project.plan("""
subplans:
  - {id: a, steps: [{id: x, run: echo a > a}]}
  - {id: b, depends_on: [a], steps: [{id: x, run: cat a > b}]}
  - {id: other, steps: [{id: x, run: echo o > o}]}
  - {id: c, depends_on: [b], steps: [{id: x, run: 'cat a b > c; test ! -e o'}]}
""")
    assert project.run().state == "completed"
    assert project.result() == {"a": "a\n", "b": "a\n", "c": "a\na\n", "o": "o\n"}


def test_two_that_wrote_one_file_differently_are_in_conflict(project: Project) -> None:
    with Turnstile(project.outside / "t", hold_until=2) as turnstile:
        project.plan(f"""
failure_mode: continue_on_error
subplans:
  - {{id: a, steps: [{{id: x, run: 'echo a > same; {turnstile.command}'}}]}}
  - {{id: b, steps: [{{id: x, run: 'echo b > same; {turnstile.command}'}}]}}
  - {{id: c, steps: [{{id: x, run: echo c > c}}]}}
""")
        outcome = project.run()
    assert sorted(outcome.states().values()) == ["completed", "completed", "failed conflict"]
    (conflict,) = [item for item in outcome.of("step_finished") if item.outcome == "conflict"]
    assert conflict.data["files"] == ["same"]
    assert set(project.result()) == {"same", "c"}


def test_two_groups_that_wrote_one_file_differently_are_in_conflict(project: Project) -> None:
    project.plan("""
failure_mode: continue_on_error
subplans:
  - {id: g, verify: 'true', subplans: [{id: a, steps: [{id: x, run: echo a > same}]}]}
  - {id: h, verify: 'true', subplans: [{id: b, steps: [{id: x, run: echo b > same}]}]}
""")
    outcome = project.run()
    assert outcome.state == "failed"
    assert sorted(outcome.states().values()) == ["completed", "completed", "completed", "failed conflict"]
    assert set(project.result()) == {"same"}


# --- processes from outside ---


def test_a_step_that_is_killed_from_outside_has_failed_and_is_tried_again_by_its_rules(
    project: Project,
) -> None:
    project.plan("""
infra_retries: 0
subplans:
  - id: a
    steps:
      - id: x
        run: 'MARK; test -e OUTSIDE/on || { touch OUTSIDE/on; kill -9 $$; }; echo a > a'
        on_error: retry
        max_retries: 1
""")
    outcome = project.run()
    assert outcome.state == "completed"
    first, second = outcome.of("step_finished", "a", "x")
    assert (first.outcome, first.data["signal"], first.data["message"]) == ("failed", 9, "killed by SIGKILL")
    assert second.outcome == "done"
    assert len(project.marks()) == 2


def test_what_a_step_leaves_behind_ends_with_it(project: Project) -> None:
    project.plan("""
grace: 1s
subplans:
  - {id: a, steps: [{id: x, run: '(setsid sleep 1000 >/dev/null 2>&1 &) ; exit 0'}]}
""")
    outcome = project.run()
    assert outcome.state == "completed"
    assert project.processes() == []
    (end,) = outcome.of("step_finished", "a", "x")
    assert "it left 1 process running" in end.data["message"]


def test_no_process_of_a_run_is_left(project: Project) -> None:
    outcome = project.plan(slices(3, "sleep 0 & true")).run()
    assert outcome.begun is not None
    token = f"WEFT_RUN={outcome.begun.run}".encode()
    assert [pid for pid in pids() if token in proc(pid, "environ").split(b"\0")] == []
