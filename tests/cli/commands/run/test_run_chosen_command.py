"""`weft run ID…`: the subplans that were chosen and what they need, and what a later run makes of that."""

from pathlib import Path

import pytest

from cli.running import Project
from weft.cli.run_options import plan_and_ids

PLAN = """
verify: "MARK"
subplans:
  - {id: a, steps: [{id: work, run: "MARK; echo one > a.txt"}]}
  - id: store
    verify: "MARK"
    subplans:
      - {id: model, depends_on: [/a], steps: [{id: work, run: "MARK; cat a.txt"}]}
      - {id: disk, depends_on: [model], steps: [{id: work, run: MARK}]}
  - {id: cli, depends_on: [store], steps: [{id: work, run: MARK}]}
"""
KNOWN = "a, store, store/model, store/disk, cli, model, disk"
GATED = """
subplans:
  - {id: a, steps: [{id: work, run: MARK}]}
  - {id: b, depends_on: [a], steps: [{id: work, run: "MARK; GATE x"}]}
  - {id: c, steps: [{id: work, run: MARK}]}
"""


def stopped(project: Project, *arguments: str) -> None:
    """A run that is killed while b works."""
    run = project.start("run", *arguments)
    project.reached()
    run.kill()
    run.communicate()


# What is run.


def test_what_is_chosen_is_run_with_what_it_needs_and_nothing_else(project: Project) -> None:
    done = project.plan(PLAN).weft("run", "store/model")
    assert done.exit_code == 0
    assert project.marks() == ["a:work", "store/model:work"]
    assert project.told(done.stderr)[:2] == [
        "note: 2 of 4 slices are run: store/model, with what it needs",
        "note: only parts of these are run, so their verify is not run: the plan, store",
    ]


def test_a_group_is_run_as_a_whole_and_verified(project: Project) -> None:
    assert project.plan(PLAN).weft("run", "store", "-q").exit_code == 0
    assert project.marks() == ["a:work", "store/model:work", "store/disk:work", "store:@verify"]


@pytest.mark.parametrize("words", [["weft.yaml", "disk"], ["disk"], ["./weft.yaml", "disk"]])
def test_a_plan_may_be_named_before_and_a_last_part_will_do(project: Project, words: list[str]) -> None:
    assert project.plan(PLAN).weft("run", *words, "-q").exit_code == 0
    assert project.marks() == ["a:work", "store/model:work", "store/disk:work", "store:@verify"]


def test_a_plan_may_come_through_a_pipe(project: Project) -> None:
    assert project.weft("run", "-", "a", "-q", input=project.filled(PLAN)).exit_code == 0
    assert project.marks() == ["a:work"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["stoer"], "the plan has no subplan 'stoer'; did you mean 'store'?"),
        (["weft.yaml", "a", "modle"], "the plan has no subplan 'modle'; did you mean 'model'?"),
        (["a", "weft.yaml"], f"the plan has no subplan 'weft.yaml'; known: {KNOWN}"),
        (["other.yaml", "a"], "cannot read other.yaml: no such file or directory"),
    ],
)  # fmt: skip
def test_what_is_not_there_is_reported_and_nothing_is_run(
    project: Project, words: list[str], said: str
) -> None:
    done = project.plan(PLAN).weft("run", *words)
    assert (done.exit_code, done.stdout, done.stderr) == (2, "", f"error: {said}\n")
    assert not (project.root / ".weft").exists()


def test_the_first_word_is_a_plan_if_it_names_a_file_or_looks_like_one(tmp_path: Path) -> None:
    (tmp_path / "weft.yaml").touch()
    (tmp_path / "plan").touch()
    (tmp_path / "store").mkdir()
    by_name = {
        word: plan_and_ids([word, "x"], tmp_path)[0]
        for word in ("plan", "store", "a", "-", "b.yml", "c.json")
    }
    assert by_name == {
        "plan": "plan",
        "store": None,
        "a": None,
        "-": "-",
        "b.yml": "b.yml",
        "c.json": "c.json",
    }
    assert plan_and_ids([], tmp_path) == (None, ())


def test_where_there_is_no_plan_the_first_word_can_only_be_one(tmp_path: Path) -> None:
    assert plan_and_ids(["store", "a"], tmp_path) == ("store", ("a",))


# What comes after it.


def test_a_run_of_the_whole_plan_takes_over_what_was_completed(project: Project) -> None:
    project.plan(PLAN).weft("run", "store/model", "-q")
    again = project.weft("run", "-q")
    assert project.told(again.stderr)[0] == "All 4 slices completed in N s (2 by an earlier run)."
    assert project.marks()[2:] == ["store/disk:work", "store:@verify", "cli:work", ":@verify"]


def test_so_it_does_what_an_earlier_run_had_completed_of_the_rest(project: Project) -> None:
    project.plan(f"""
failure_mode: continue_on_error
subplans:
  - {{id: a, steps: [{{id: work, run: MARK}}]}}
  - {{id: b, depends_on: [a], steps: [{{id: work, run: "MARK; [ -e {project.outside}/fixed ]"}}]}}
  - {{id: c, steps: [{{id: work, run: MARK}}]}}
""")
    assert project.weft("run", "-q").exit_code == 1
    (project.outside / "fixed").touch()
    assert project.weft("run", "b", "-q").exit_code == 0
    again = project.weft("run", "-q")
    assert project.told(again.stderr)[0] == "All 3 slices completed in N s (3 by an earlier run)."
    assert sorted(project.marks()) == ["a:work", "b:work", "b:work", "c:work"]


def test_but_not_if_the_few_were_done_again(project: Project) -> None:
    project.plan(
        "subplans: [{id: a, steps: [{id: work, run: MARK}]}, {id: b, steps: [{id: work, run: MARK}]}]"
    )
    project.weft("run", "-q")
    project.weft("run", "a", "--fresh", "-q")
    project.weft("run", "-q")
    assert sorted(project.marks()) == ["a:work", "a:work", "b:work", "b:work"]


def test_what_is_completed_already_is_not_run(project: Project) -> None:
    project.plan(PLAN).weft("run", "-q")
    marks = project.marks()
    (run,) = project.runs()
    done = project.weft("run", "a", "model")
    assert done.exit_code == 0
    assert done.stderr.splitlines()[0] == (
        f"nothing to do: a, store/model were completed by run {run}; --fresh repeats everything"
    )
    assert project.weft("run", "cli").stderr.startswith("nothing to do: all 5 subplans were completed")
    assert (project.marks(), project.runs()) == (marks, [run])


def test_what_was_stopped_continues_if_the_same_is_chosen(project: Project) -> None:
    stopped(project.plan(GATED), "b")
    again = project.start("run", "b", "a")
    project.let_through()
    assert project.told(again.communicate()[1])[0] == "run RUN resumes"
    assert again.returncode == 0
    assert len(project.runs()) == 1
    assert project.marks() == ["a:work", "b:work"]


def test_for_the_whole_plan_a_new_run_begins_and_says_what_the_old_one_was_for(project: Project) -> None:
    stopped(project.plan(GATED), "b")
    project.plan(GATED.replace("; GATE x", ""))
    first, *_ = project.runs()
    again = project.weft("run", "-q")
    assert again.stderr.splitlines()[0] == f"run {first} was for b only, and unfinished; a new run starts"
    assert sorted(project.marks()) == ["a:work", "b:work", "b:work", "c:work"]


def test_for_a_few_a_new_run_begins_after_one_for_the_whole_plan(project: Project) -> None:
    stopped(project.plan(GATED))
    first, *_ = project.runs()
    again = project.weft("run", "c", "a", "-q")
    assert (
        again.stderr.splitlines()[0]
        == f"run {first} was for the whole plan, and unfinished; a new run starts"
    )
    assert again.exit_code == 0
    assert project.step_processes() == []


def test_what_to_type_next_names_what_was_chosen(project: Project) -> None:
    project.plan(
        "subplans: [{id: a, steps: [{id: work, run: exit 1}]}, {id: b, steps: [{id: work, run: MARK}]}]"
    )
    done = project.weft("run", "weft.yaml", "a", "-q")
    assert done.exit_code == 1
    assert project.told(done.stderr)[-1] == "           weft run weft.yaml a  resumes; completed work is kept"


def test_after_an_answer_the_next_command_is_shown(project: Project) -> None:
    project.plan("""
subplans:
  - {id: a, steps: [{id: sure, action: ask, question: Really?}]}
  - {id: b, steps: [{id: work, run: MARK}]}
""")
    assert project.process("run", "a").returncode == 4
    value = project.process("answer", "a", "yes")
    assert value.stderr.endswith("to resume it, type: weft run a\n")
    assert project.weft("run", "a", "-q").exit_code == 0
    assert project.marks() == []


def test_other_commands_know_only_of_what_was_chosen(project: Project) -> None:
    project.plan(PLAN).weft("run", "a", "-q")
    (run,) = project.runs()
    assert project.weft("logs", "a").exit_code == 0
    done = project.weft("logs", "cli")
    assert (done.exit_code, done.stderr) == (
        2,
        f"error: the plan has no subplan 'cli'; known: a, / (run {run} was for a only)\n",
    )
    assert project.weft("replay").exit_code == 0
