"""The last word about a run: exact texts, since their wording is designed."""

from inline_snapshot import snapshot

from app.run_stories import Story, group, slices
from weft.cli.text.run_summary import FAILURES, TAIL_LINES, summary_lines


def notes(*more) -> Story:
    store = group("store", *slices("model"), *slices("disk", depends_on=["model"]))
    story = Story(store, *slices("cli", depends_on=["store"]), *more)
    story.start()
    story.begin("store")
    return story


def summary(story: Story, **more) -> str:
    return "\n".join(summary_lines(story.view, story.at, **more))


def fails(story: Story, path: str, tail: str = "", **more) -> None:
    story.begin(path)
    story.step(path, "check", attempt=4, command="pytest -q")
    story.end(path, "check", "failed", attempt=4, exit_code=1, tail=tail)
    story.fail(path, "exhausted", **more)


def test_a_run_that_completed_is_reported_in_a_few_lines() -> None:
    story = notes()
    for path in ("store/model", "store/disk", "cli"):
        story.run(path, seconds=61, cost=400_000)
    story.finish()
    assert summary(story, results=".weft/runs/r1/result", plan="plan.yaml") == snapshot("""\
All 3 slices completed in 3 min 3 s.

Cost       $1.20
Results    .weft/runs/r1/result\
""")


def test_one_slice_is_reported_as_one() -> None:
    story = Story(*slices("only"))
    story.start()
    story.run("only")
    story.finish()
    assert summary(story).splitlines()[0] == snapshot("The one slice completed in 0.0 s.")


def test_a_run_of_commands_only_says_nothing_about_cost() -> None:
    story = Story(*slices("only"))
    story.start()
    story.begin("only")
    story.complete("only")
    story.finish()
    assert summary(story) == snapshot("The one slice completed in 0.0 s.")


def test_what_an_earlier_run_did_is_counted_apart() -> None:
    story = notes()
    story.begin("store/model")
    story.complete("store/model", carried=True)
    story.run("store/disk")
    story.run("cli")
    story.finish()
    assert summary(story).splitlines()[0] == snapshot(
        "All 3 slices completed in 0.0 s (1 by an earlier run)."
    )


def test_a_failure_is_reported_with_the_end_of_its_output_and_what_to_type() -> None:
    story = notes()
    fails(story, "store/model", tail="E   \x1b[31massert 1 == 2\x1b[0m\n\n1 failed in 0.1 s\n")
    story.fail("store/disk", "blocked", cause="store/model", message="blocked by store/model")
    story.fail("store", cause="store/model", message="store/model failed")
    story.fail("cli", "blocked", cause="store", message="blocked by store")
    story.wait(12)
    story.finish("failed")
    assert summary(story, results="result", plan="plan.yaml") == snapshot("""\
Failed after 12 s: 0 of 3 slices completed, 1 failed, 2 cancelled or blocked.

Failed     store/model: step check, attempt 4: exit code 1 (pytest -q)
             | E   assert 1 == 2
             | 1 failed in 0.1 s
Blocked    1 by store/model: store/disk
           1 by store: cli
Next       weft logs store/model  shows all output of its steps
           weft run plan.yaml     resumes; completed work is kept\
""")


def test_long_output_is_reported_from_its_end_and_long_lines_from_their_beginning() -> None:
    story = notes()
    fails(story, "cli", tail="\n".join(f"line {number} " + "x" * 1_000 for number in range(100)))
    tail = [line for line in summary(story).splitlines() if "| " in line]
    assert [line.split()[2] for line in tail] == [str(number) for number in range(100 - TAIL_LINES, 100)]
    assert max(map(len, tail)) < 330


def test_failures_that_name_no_step_say_why() -> None:
    story = notes()
    story.fail("cli", "lost", message="nobody knows what became of it")
    assert "Failed     cli: nobody knows what became of it" in summary(story).splitlines()


def test_what_never_started_has_no_logs_to_look_at() -> None:
    story = notes()
    story.begin("cli")
    story.fail("cli", "budget", message="the budget of the plan is used up: $1.00 of $1.00 spent")
    story.finish("failed")
    assert summary(story).splitlines()[-1] == (
        "Next       weft run --fresh-budget  resumes, and counts budgets from zero"
    )


def test_the_verify_of_the_whole_plan_is_reported_by_the_plan_s_name_and_has_no_logs_of_its_own() -> None:
    story = Story(*slices("a"), verify="make")
    story.start()
    story.run("a")
    story.step("", "@verify", command="make")
    story.end("", "@verify", "failed", exit_code=2)
    story.tell("run_finished", outcome="failed", reason="error", message="@verify: failed (make)", cause="")
    assert summary(story) == snapshot("""\
Failed after 0.0 s: 1 of 1 slice completed.

Failed     notes: step verify: exit code 2 (make)
Cost       unknown: 1 agent call did not report its cost
Next       weft run  resumes; completed work is kept\
""")


def test_of_many_failures_the_first_are_reported_and_the_rest_is_counted() -> None:
    names = [f"s{number:02}" for number in range(FAILURES + 5)]
    story = Story(*slices(*names))
    story.start()
    for name in names:
        fails(story, name)
    lines = summary(story).splitlines()
    assert [line for line in lines if "pytest" in line or "more" in line][-2:] == snapshot(
        ["           s09: step check, attempt 4: exit code 1 (pytest -q)", "           … and 5 more"]
    )


def test_blocked_and_cancelled_subplans_are_grouped_by_cause() -> None:
    names = [f"s{number}" for number in range(9)]
    story = Story(*slices(*names))
    story.start()
    for name in names[:6]:
        story.fail(name, "blocked", cause="store")
    story.fail("s6", "cancelled", cause="store")
    for name in names[7:]:
        story.fail(name, "cancelled")
    story.finish("failed")
    assert summary(story) == snapshot("""\
Failed after 0.0 s: 0 of 9 slices completed, 9 cancelled or blocked.

Blocked    6 by store: s0, s1, s2, s3 … and 2 more
Cancelled  1 because of store: s6
           2: s7, s8
Next       weft run  resumes; completed work is kept\
""")


def test_of_many_causes_the_first_are_named_and_the_rest_is_counted() -> None:
    names = [f"s{number}" for number in range(9)]
    story = Story(*slices(*names))
    for number, name in enumerate(names):
        story.fail(name, "blocked", cause=f"c{min(number, 7)}")
    assert [line for line in summary(story).splitlines() if "s4" in line or "more" in line] == snapshot(
        ["           1 by c4: s4", "           … and 4 more"]
    )


def test_open_questions_come_with_the_commands_that_answer_them() -> None:
    story = notes()
    for path in ("store/model", "cli"):
        story.begin(path)
        story.tell("ask", path, "gate", question="May I?", firing=1)
    story.wait(30)
    assert summary(story, plan="plan.yaml") == snapshot("""\
Needs you after 30 s: 0 of 3 slices completed, 2 under way, 1 not started.

Question   store/model: May I?
           cli: May I?
Next       weft answer store/model:gate yes  or no
           weft answer cli:gate yes          or no
           weft run plan.yaml                resumes; completed work is kept\
""")


def test_of_many_questions_the_first_are_reported_and_the_rest_is_counted() -> None:
    names = [f"s{number:02}" for number in range(12)]
    story = Story(*slices(*names))
    story.start()
    for name in names:
        story.begin(name)
        story.tell("ask", name, "gate", question="May I?", firing=1)
    lines = summary(story).splitlines()
    assert [line for line in lines if "May I?" in line or "more" in line][-2:] == snapshot(
        ["           s09: May I?", "           … and 2 more"]
    )


def test_a_run_that_was_stopped_says_how_it_continues() -> None:
    story = notes()
    story.run("store/model")
    story.begin("store/disk")
    story.wait(5)
    story.finish("stopped")
    assert summary(story, results="result") == snapshot("""\
Stopped after 5.0 s: 1 of 3 slices completed, 1 under way, 1 not started.

Cost       unknown: 1 agent call did not report its cost
Results    result
Next       weft run  resumes; completed work is kept\
""")


def held(story: Story, path: str, step: str, **why) -> None:
    story.step(path, step)
    story.end(path, step, "held", **why)


CONFLICT = """\
cli cannot be merged into weft/notes/_plan: 1 file in conflict. Nothing has moved.
f.txt (content)
  weft/notes/_plan changed it: 1234567 store: code [store]
    <<<<<<< weft/notes/_plan
    D
    >>>>>>> weft/notes/cli
To settle it, merge the other way round, in the worktree of the subplan:
  git -C place merge weft/notes/_plan
  (fix the files that git names, and `git add` them)
  git -C place commit
  weft merge cli"""


def lands_on(story: Story, target: str) -> None:
    story.view.landings_by_path.target = target


def test_a_conflict_is_explained_and_what_to_type_comes_last() -> None:
    story = notes()
    lands_on(story, "main")
    for path in ("store/model", "store/disk"):
        story.run(path, cost=0)
    story.complete("store")
    moves = [{"ref": "refs/heads/main", "before": "", "after": "x"}]
    story.tell("merge", "store", "@land", outcome="merged", moves=moves)
    story.begin("cli")
    held(story, "cli", "@merge", message=CONFLICT, files=["f.txt"], conflict=True)
    story.view.state = "waiting"
    assert summary(story) == snapshot("""\
Needs you after 0.0 s: 2 of 3 slices completed, 1 held.

Conflict   cli cannot be merged into weft/notes/_plan: 1 file in conflict. Nothing has moved.
             f.txt (content)
               weft/notes/_plan changed it: 1234567 store: code [store]
                 <<<<<<< weft/notes/_plan
                 D
                 >>>>>>> weft/notes/cli
Landed     1 on main: store
Next       git -C place merge weft/notes/_plan
           (fix the files that git names, and `git add` them)
           git -C place commit
           weft merge cli  merges it then\
""")


def test_when_all_is_completed_and_only_waits_to_land_that_is_said() -> None:
    story = notes()
    lands_on(story, "main")
    for path in ("store/model", "store/disk", "cli"):
        story.run(path, cost=0)
    story.complete("store")
    held(story, "store", "@land", message="store is ready", asks=True)
    held(story, "cli", "@land", message="built on store", waits_for=["store"])
    story.view.state = "waiting"
    assert summary(story, changed={"store": 2}) == snapshot("""\
All 3 slices completed in 0.0 s; 2 results wait to land on main.

To land    store (2 files), cli
Next       weft merge  lands the 2 results on main\
""")
    assert summary(story, has_next=False).splitlines()[-1] == snapshot("To land    store, cli")


def test_one_result_that_waits_to_land_is_reported_as_one() -> None:
    story = Story(*slices("only"))
    story.start()
    story.run("only", cost=0)
    held(story, "only", "@land", message="it is ready", asks=True)
    story.view.state = "waiting"
    assert summary(story) == snapshot("""\
The one slice completed in 0.0 s; 1 result waits to land.

To land    only
Next       weft merge  lands the result\
""")


def test_what_is_in_the_way_is_reported_and_what_failed_has_its_logs() -> None:
    story = Story(*slices("a", "b", "c", "d"))
    story.start()
    for path in "ab":
        story.run(path, cost=0)
        held(story, path, "@land", message=f"main is checked out; then type: weft merge {path}", files=["f"])
    fails(story, "c")
    story.view.state = "waiting"
    assert summary(story) == snapshot("""\
Needs you after 0.0 s: 2 of 4 slices completed, 1 failed, 1 not started, 2 results wait to land.

Failed     c: step check, attempt 4: exit code 1 (pytest -q)
Held       a: main is checked out; then type: weft merge a
           b: main is checked out; then type: weft merge b
Next       weft merge a b  tries to land again
           weft logs c     shows all output of its steps
           weft retry      retries what failed, in the background\
""")


def test_of_many_conflicts_the_first_are_reported_and_long_messages_are_cut() -> None:
    names = [f"s{number}" for number in range(7)]
    story = Story(*slices(*names))
    story.start()
    more = "\n".join(f"line {number} {'x' * 400}" for number in range(60))
    for name in names:
        story.begin(name)
        held(story, name, "@merge", message=f"{name} cannot be merged\n{more}", files=["f"], conflict=True)
    story.view.state = "waiting"
    lines = summary(story).splitlines()
    assert [line for line in lines if "xxx" not in line] == snapshot(
        [
            "Needs you after 0.0 s: 0 of 7 slices completed, 7 held.",
            "",
            "Conflict   s0 cannot be merged",
            "             … 36 lines more; weft merge --list shows all",
            "           s1 cannot be merged",
            "             … 36 lines more; weft merge --list shows all",
            "           s2 cannot be merged",
            "             … 36 lines more; weft merge --list shows all",
            "           s3 cannot be merged",
            "             … 36 lines more; weft merge --list shows all",
            "           s4 cannot be merged",
            "             … 36 lines more; weft merge --list shows all",
            "           … and 2 more; weft merge --list shows all",
            "Next       weft merge s0      merges it then",
            "           weft merge --list  shows how to settle the other 6",
        ]
    )
    assert max(map(len, lines)) < 330


def test_of_many_results_that_wait_to_land_a_few_are_named() -> None:
    names = [f"s{number:02}" for number in range(12)]
    story = Story(*slices(*names))
    story.start()
    for name in names:
        story.run(name, cost=0)
        held(story, name, "@land", message="it is ready", asks=True)
    story.view.state = "waiting"
    assert summary(story) == snapshot("""\
All 12 slices completed in 0.0 s; 12 results wait to land.

To land    s00, s01, s02, s03 … and 8 more
Next       weft merge  lands the 12 results\
""")


def test_costs_that_are_partly_unknown_are_reported_as_such() -> None:
    story = notes()
    story.run("store/model", cost=1_250_000)
    story.run("store/disk")
    story.run("cli")
    assert [line for line in summary(story).splitlines() if line.startswith("Cost")] == snapshot(
        ["Cost       $1.25 and more: 2 agent calls did not report their cost"]
    )


def test_costs_that_are_all_unknown_are_no_sum() -> None:
    story = notes()
    story.run("cli")
    assert [line for line in summary(story).splitlines() if line.startswith("Cost")] == snapshot(
        ["Cost       unknown: 1 agent call did not report its cost"]
    )


def test_agents_that_changed_nothing_in_the_end_are_named() -> None:
    story = notes()
    story.run("store/model", changed=False)
    story.begin("store/disk")
    for changed in (False, True):
        story.step("store/disk", "code", agent="coder")
        story.end("store/disk", "code", changed=changed)
    story.finish("failed")
    assert [line for line in summary(story).splitlines() if "changed nothing" in line] == [
        "Unchanged  store/model: code changed nothing"
    ]


def test_of_many_agents_that_changed_nothing_the_first_are_named() -> None:
    names = [f"s{number}" for number in range(FAILURES + 2)]
    story = Story(*slices(*names))
    story.start()
    for name in names:
        story.run(name, changed=False)
    lines = summary(story).splitlines()
    assert sum("changed nothing" in line for line in lines) == FAILURES
    assert "           … and 2 more" in lines


def test_changes_outside_of_worktrees_are_listed() -> None:
    story = Story(*slices("only"))
    story.start()
    story.run("only")
    story.tell("outside_changed", "only", "code", place="other", files=["x"], during=["only:code"])
    story.finish()
    assert "Outside    changed in the worktree of other while only:code ran: x" in summary(story)


def test_what_is_not_pushed_is_reported_with_the_reason_and_the_command() -> None:
    story = Story(*slices("only"))
    story.start()
    story.begin("only")
    story.complete("only")
    story.finish()
    data = {"remote": "origin", "message": "remote: no\nerror: failed", "command": "git push origin main"}
    story.tell("push", outcome="failed", final=True, **data)
    assert summary(story).splitlines()[2:] == [
        "Push       landed, not pushed: remote: no",
        "             | error: failed",
        "Next       git push origin main  pushes what has landed",
    ]
    story.tell("push", outcome="pushed", remote="origin", commit="0123456789")
    assert summary(story).splitlines()[2:] == ["Push       landed, pushed to origin (0123456)"]
