"""`weft answer`: what is asked, and what may be said to it."""

import json
import os
from collections.abc import Iterator, Sequence

import pytest

from cli.running import Project
from weft.app.record.journal import open_book

ASKS = """
subplans:
  - id: release
    steps: [{id: sure, action: ask, question: Really?}, {id: work, run: MARK}]
"""
TWO_ASK = """
subplans:
  - id: release
    steps:
      - {id: sure, action: ask, question: Really?, async: true}
      - {id: tested, action: ask, question: Is it tested?, async: true}
      - {id: both, action: join, depends_on: [sure, tested]}
  - id: notes
    steps: [{id: fine, action: ask, question: Are they fine?}]
"""


@pytest.fixture(scope="module")
def asking(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """Has been run, and asks three things."""
    project = Project(tmp_path_factory.mktemp("asking") / "project")
    project.plan(TWO_ASK).weft("run", "-q")
    yield project
    project.end()


def test_what_is_asked_is_listed(asking: Project) -> None:
    done = asking.weft("answer")
    assert (done.exit_code, done.stderr) == (4, "")
    assert sorted(done.stdout.splitlines()) == [
        "notes:fine      Are they fine?",
        "release:sure    Really?",
        "release:tested  Is it tested?",
    ]


def test_for_programs_it_is_data(project: Project) -> None:
    project.plan(ASKS).process("run", "-q")
    done = project.weft("answer", "xyz", "no")
    assert done.stderr == "error: there is no question 'xyz'; known: release:sure\n"
    (run,) = project.runs()
    done = project.weft("answer", "--json")
    question = {"subplan": "release", "step": "sure", "text": "Really?", "answer": ""}
    assert done.exit_code == 4
    assert json.loads(done.stdout)["data"] == {"run": run, "questions": [question]}
    done = project.weft("answer", "release", "yes", "--json")
    table = {"run": run, "subplan": "release", "step": "sure", "answer": "yes", "heard": False}
    assert (done.exit_code, json.loads(done.stdout)["data"]) == (0, table)


def test_where_nothing_is_asked_that_is_reported(project: Project) -> None:
    project.plan("subplans: [{id: a, steps: [{id: work, run: 'true'}]}]").weft("run", "-q")
    done = project.weft("answer")
    assert (done.exit_code, done.stdout, project.told(done.stderr)) == (
        0,
        "",
        ["run RUN has no open question"],
    )
    done = project.weft("answer", "a", "yes")
    message = ["error: run RUN has no open question; to see its events, type: weft events"]
    assert (done.exit_code, project.told(done.stderr)) == (2, message)


def test_an_answer_that_was_not_taken_up_yet_is_listed_and_no_second_one_is_taken(project: Project) -> None:
    project.plan(ASKS).weft("run", "-q")
    project.weft("answer", "release", "yes")
    listed = project.weft("answer")
    assert (listed.exit_code, listed.stdout) == (0, "release:sure  Really?  (answered: yes)\n")
    done = project.weft("answer", "release", "no")
    message = "error: release:sure has been answered already: yes; the run has not handled it yet\n"
    assert (done.exit_code, done.stderr) == (2, message)


def test_an_answer_for_a_paused_slice_says_how_it_continues(project: Project) -> None:
    project.plan(f"{ASKS}  - {{id: a, steps: [{{id: x, run: 'GATE x'}}]}}\n")
    run = project.start("run", "--no-wait", "-q")
    project.reached()
    assert project.process("pause", "release").returncode == 0
    done = project.process("answer", "release", "yes")
    paused = "release is paused; to resume it, type: weft resume release"
    assert done.stderr.splitlines() == ["answered release:sure: yes", paused]
    assert project.process("resume", "release").returncode == 0
    project.let_through()
    _, errors = run.communicate()
    assert (run.returncode, project.marks()) == (0, ["release:work"]), errors


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["relase", "yes"], "there is no question 'relase'; did you mean 'release:sure'?"),
        (["release:sur", "yes"], "there is no question 'release:sur'; did you mean 'release:sure'?"),
        (["release", "yes"], "release asks several questions; name one of: release:sure, release:tested"),
        (["notes:fin", "no"], "there is no question 'notes:fin'; did you mean 'notes:fine'?"),
    ],
)
def test_what_is_not_asked_cannot_be_answered(asking: Project, arguments: Sequence[str], said: str) -> None:
    done = asking.weft("answer", *arguments)
    assert (done.exit_code, done.stdout, done.stderr) == (2, "", f"error: {said}\n")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["release"], "Error: answer yes or no, as in: weft answer release yes"),
        (["release", "maybe"], "Error: Invalid value for '[yes|no]': 'maybe' is not one of 'yes', 'no'."),
    ],
)
def test_an_answer_is_yes_or_no(asking: Project, arguments: Sequence[str], said: str) -> None:
    done = asking.weft("answer", *arguments)
    assert done.exit_code == 2
    assert done.stderr.splitlines()[-1] == said


def test_the_words_of_an_answer_are_the_result_of_the_step(project: Project) -> None:
    project.plan("""
subplans:
  - id: release
    steps:
      - {id: sure, action: ask, question: Really?}
      - {id: work, run: "echo {{ step.sure.result }} > said.txt"}
""").weft("run", "-q")
    project.weft("answer", "release:sure", "yes", "--text", "go ahead")
    assert project.weft("run", "-q").exit_code == 0
    assert project.result("said.txt") == "go ahead\n"


def test_a_run_that_was_given_up_asks_nothing(project: Project) -> None:
    project.plan(ASKS).weft("run", "-q")
    (first,) = project.runs()
    project.plan(ASKS.replace("Really?", "Are you sure?")).weft("run", "-q")
    assert project.weft("answer", "--run", first).exit_code == 0
    assert project.weft("answer").stdout == "release:sure  Are you sure?\n"


def test_questions_are_completed(asking: Project) -> None:
    words = {"_WEFT_COMPLETE": "bash_complete", "COMP_WORDS": "weft answer rel", "COMP_CWORD": "2"}
    result = asking.process(env=words).stdout.split()
    assert sorted(result) == ["plain,release:sure", "plain,release:tested"]


def test_an_answer_just_before_the_other_work_ends_is_heard(project: Project) -> None:
    project.plan("""
subplans:
  - {id: gate, steps: [{id: sure, action: ask, question: Really?}, {id: y, run: MARK}]}
  - {id: a, steps: [{id: x, run: 'GATE x'}]}
""")
    run = project.start("run", "--no-wait", "-q")
    project.reached()
    done = project.process("answer", "gate", "yes")
    project.let_through()
    assert done.stderr == "answered gate:sure: yes\n"
    _, errors = run.communicate()
    assert (run.returncode, project.marks()) == (0, ["gate:y"]), errors


def test_an_answer_to_a_coordinator_that_has_left_the_run_says_what_to_type(project: Project) -> None:
    """Its process is still there: it stands at a gate to notify people."""
    project.plan(f"notify: {{on: [gate], run: 'GATE y'}}\n{ASKS}")
    run = project.start("run", "--no-wait", "-q")
    project.reached("y")
    with open_book(project.root) as recorded_run:
        assert recorded_run.has_coordinator()
        while not recorded_run.has_left():
            os.sched_yield()
    done = project.process("answer", "release", "yes")
    assert done.stderr == (
        "answered release:sure: yes; the run is not active; to resume it, type: weft run\n"
    )
    project.let_through("y")
    run.communicate()
    assert run.returncode == 4
