"""`weft logs`: what steps wrote, in full, as it comes, and how much was not kept."""

import json
import subprocess
from collections.abc import Iterator, Sequence

import pytest

from cli.running import WEFT, Project

TALK = """
retries: 1
subplans:
  - id: store
    verify: echo both fit
    subplans:
      - id: model
        setup: ["echo set up"]
        steps:
          - {id: work, run: "echo one; echo warning >&2"}
          - {id: check, run: "echo two; [ -e tried ] || { touch tried; exit 1; }", on_fail: {retry_from: work}}
      - {id: disk, depends_on: [model], steps: [{id: work, run: [echo, "a b"]}]}
  - {id: quiet, steps: [{id: sure, action: ask, question: Really?}, {id: work, run: "true"}]}
"""


@pytest.fixture(scope="module")
def talked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """Has been run."""
    project = Project(tmp_path_factory.mktemp("talked") / "project")
    project.plan(TALK).weft("run", "-q")
    yield project
    project.end()


def test_the_page_has_headings_and_all_that_steps_wrote(talked: Project) -> None:
    shown = talked.weft("logs", "store/model")
    again = "[ -e tried ] || { touch tried; exit 1; }"
    assert (shown.exit_code, shown.stderr) == (0, "")
    assert shown.stdout.splitlines() == [
        "── store/model:@workspace: echo set up",
        "set up",
        "── store/model:@workspace done",
        "── store/model:work: echo one; echo warning >&2",
        "one",
        "warning",
        "── store/model:work done",
        f"── store/model:check: echo two; {again}",
        "two",
        "── store/model:check failed: exit code 1",
        "── store/model:work (attempt 2): echo one; echo warning >&2",
        "one",
        "warning",
        "── store/model:work (attempt 2) done",
        f"── store/model:check (attempt 2): echo two; {again}",
        "two",
        "── store/model:check (attempt 2) done",
    ]


def test_raw_output_is_what_was_written_each_stream_to_its_own(talked: Project) -> None:
    shown = talked.weft("logs", "store/model", "--raw")
    assert (shown.exit_code, shown.stdout) == (0, "set up\none\ntwo\none\ntwo\n")
    assert shown.stderr == "warning\nwarning\n"


def test_headings_stand_out_where_colours_are_forced(talked: Project) -> None:
    shown = talked.process("logs", "store/disk", env={"FORCE_COLOR": "1"}).stdout
    assert shown.splitlines()[0] == "\x1b[1m── store/disk:work: echo 'a b'\x1b[0m"


def test_a_step_of_the_whole_plan_has_a_name_that_can_be_typed(project: Project) -> None:
    project.plan("verify: echo fine\nsubplans: [{id: a, steps: [{id: work, run: 'true'}]}]").weft("run", "-q")
    expected = ["── /:@verify: echo fine", "fine", "── /:@verify done"]
    assert project.weft("logs", "/").stdout.splitlines()[-3:] == expected
    assert project.weft("logs", "/:@verify").stdout.splitlines() == expected


def test_a_heading_stands_on_a_line_of_its_own(project: Project) -> None:
    project.plan('subplans: [{id: a, steps: [{id: work, run: "printf no-newline"}]}]').weft("run", "-q")
    assert project.weft("logs", "a").stdout.splitlines() == [
        "── a:work: printf no-newline",
        "no-newline",
        "── a:work done",
    ]


FAILING = """
failure_mode: continue_on_error
retries: 1
subplans:
  - {id: fine, steps: [{id: work, run: "echo fine"}]}
  - id: fixed
    steps:
      - {id: work, run: "true"}
      - {id: check, run: "[ -e tried ] || { touch tried; echo wrong; exit 1; }", on_fail: {retry_from: work}}
  - id: broken
    steps:
      - {id: before, run: "echo all right"}
      - {id: work, run: "echo too bad; exit 3"}
      - {id: after, run: "echo never", condition: "false"}
  - {id: group, verify: "echo odd; exit 1", subplans: [{id: a, steps: [{id: work, run: "echo a"}]}]}
"""


def test_without_a_name_what_failed_is_shown(project: Project) -> None:
    project.plan(FAILING).weft("run", "-q")
    shown = project.weft("logs")
    assert (shown.exit_code, shown.stderr) == (0, "")
    assert sorted(shown.stdout.split("── ")) == [
        "",
        "broken:work failed: exit code 3\n",
        "broken:work: echo too bad; exit 3\ntoo bad\n",
        "group:@verify failed: exit code 1\n",
        "group:@verify: echo odd; exit 1\nodd\n",
    ]
    assert {json.loads(line)["subplan"] for line in project.weft("logs", "--json").stdout.splitlines()} == {
        "broken",
        "group",
    }


def test_without_a_name_what_runs_is_shown_and_with_follow_what_starts_later(project: Project) -> None:
    run = project.plan(
        """
subplans:
  - {id: before, steps: [{id: work, run: "echo before"}]}
  - {id: now, depends_on: [before], steps: [{id: work, run: "echo now; GATE x"}]}
  - {id: later, depends_on: [now], steps: [{id: work, run: "echo later"}]}
"""
    ).start("run")
    project.reached()
    assert project.weft("logs", "--raw").stdout == "now\n"
    follows = project.start("logs", "-f", "--raw")
    assert follows.stdout is not None
    assert follows.stdout.readline() == "now\n"
    project.let_through()
    assert follows.communicate()[0] == "later\n"
    run.communicate()


def test_where_nothing_failed_or_runs_that_is_said_with_what_to_type(talked: Project) -> None:
    shown = talked.weft("logs")
    assert (shown.exit_code, shown.stdout) == (0, "")
    assert talked.told(shown.stderr) == [
        "no step failed or runs in run RUN; to see all output, type: weft logs /"
    ]
    run = talked.runs()[0]
    assert talked.weft("logs", "--run", run).stderr.endswith(f"type: weft logs / --run {run}\n")


def test_with_standard_error_closed_the_rest_is_printed(talked: Project) -> None:
    done = subprocess.run(
        f"exec {WEFT} logs store/model --raw 2>&-", shell=True, cwd=talked.root, env=talked.env,
        stdout=subprocess.PIPE, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, b"set up\none\ntwo\none\ntwo\n")


@pytest.mark.parametrize(
    ("name", "out"),
    [
        ("store/model:check", "two\ntwo\n"),
        ("/store/disk", "a b\n"),
        ("store", "set up\none\ntwo\none\ntwo\na b\nboth fit\n"),
        ("store:@verify", "both fit\n"),
        ("store:work", "one\none\na b\n"),
        ("/", "set up\none\ntwo\none\ntwo\na b\nboth fit\n"),
    ],
)
def test_a_step_a_group_or_the_whole_plan_can_be_named(talked: Project, name: str, out: str) -> None:
    assert talked.weft("logs", name, "--raw").stdout == out


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("store/modle", "the plan has no subplan 'store/modle'; did you mean 'store/model'?"),
        ("", "the plan has no subplan ''; known: store, store/model, store/disk, quiet, /"),
        ("store/model:chek", "store/model has no step 'chek'; did you mean 'check'?"),
        ("store/disk:xyz", "store/disk has no step 'xyz'; known: work, @workspace, @verify, @merge, @land"),
        ("quiet", "no process of quiet has been started in run RUN"),
        ("quiet:work", "no process of quiet:work has been started in run RUN"),
    ],
)
def test_what_is_not_there_is_reported(talked: Project, name: str, said: str) -> None:
    done = talked.weft("logs", name)
    assert (done.exit_code, done.stdout) == (2, "")
    assert talked.told(done.stderr) == [f"error: {said}"]


def test_of_what_was_taken_over_the_run_is_named_that_did_it(project: Project) -> None:
    project.plan(TALK).weft("run", "-q")
    project.weft("answer", "quiet", "no")
    project.weft("run", "-q")
    project.weft("run", "-q")
    first, last = project.runs()
    done = project.weft("logs", "store/disk")
    assert done.stderr == (
        f"error: no process of store/disk has been started in run {last}; "
        f"for an earlier one, type: weft logs store/disk --run {first}\n"
    )
    assert project.weft("logs", "store/disk", "--run", first, "--raw").stdout == "a b\n"


def test_for_programs_it_is_lines_of_json(talked: Project) -> None:
    shown = talked.weft("logs", "store/model:work", "--json")
    about = {"subplan": "store/model", "step": "work"}
    records = [json.loads(line) for line in shown.stdout.splitlines()]
    assert shown.stderr == ""
    assert records[:4] == [
        {**about, "attempt": 1, "event": "step_started", "command": "echo one; echo warning >&2"},
        {**about, "attempt": 1, "event": "step_output", "stream": "out", "text": "one\n"},
        {**about, "attempt": 1, "event": "step_output", "stream": "err", "text": "warning\n"},
        {**about, "attempt": 1, "event": "step_finished", "outcome": "done", "message": None},
    ]
    assert [record["attempt"] for record in records[4:]] == [2, 2, 2, 2]


def test_following_shows_output_as_it_is_written(project: Project) -> None:
    run = project.plan('subplans: [{id: a, steps: [{id: work, run: "echo one; GATE x; echo two"}]}]').start(
        "run"
    )
    project.reached()
    follows = project.start("logs", "a", "-f")
    assert follows.stdout is not None
    assert follows.stdout.readline().startswith("── a:work: echo one")
    assert follows.stdout.readline() == "one\n"
    project.let_through()
    assert follows.communicate() == ("two\n── a:work done\n", "")
    assert follows.returncode == 0
    run.communicate()


def test_the_output_of_parallel_steps_has_headings(project: Project) -> None:
    run = project.plan(
        """
subplans:
  - {id: a, steps: [{id: work, run: "GATE x; echo of a"}]}
  - {id: b, steps: [{id: work, run: "GATE y; echo of b"}]}
"""
    ).start("run")
    project.reached("x")
    project.reached("y")
    follows = project.start("logs", "/", "-f")
    assert follows.stdout is not None
    assert {follows.stdout.readline()[:9] for _ in range(2)} == {"── a:work", "── b:work"}
    project.let_through("x")
    next(line for line in follows.stdout if line == "── a:work done\n")
    project.let_through("y")
    assert follows.communicate() == ("── b:work\nof b\n── b:work done\n", "")
    run.communicate()


def test_following_waits_for_a_step_that_has_not_started(project: Project) -> None:
    run = project.plan(
        """
subplans:
  - {id: a, steps: [{id: work, run: "GATE x"}]}
  - {id: b, depends_on: [a], steps: [{id: work, run: "echo two"}]}
"""
    ).start("run")
    project.reached()
    follows = project.start("logs", "b", "-f", "--raw")
    project.let_through()
    assert follows.communicate()[0] == "two\n"
    assert run.wait() == 0


LONG = 'subplans: [{id: a, steps: [{id: work, run: "yes $(printf %063d 0) | head -c 10000000; echo end"}]}]'


def test_of_what_is_too_long_the_middle_is_left_out_and_that_is_said(project: Project) -> None:
    project.plan(LONG).weft("run", "-q")
    shown = project.weft("logs", "a", "--raw")
    assert len(shown.stdout) == (8 << 20) + (1 << 20)
    assert shown.stdout.endswith("0\nend\n")
    left_out = 10_000_004 - (8 << 20) - (1 << 20)
    text = f"── a:work: {left_out:,} bytes of its stdout were not kept"
    assert shown.stderr.splitlines() == [text]
    assert text in project.weft("logs", "a").stdout.splitlines()
    records = [json.loads(line) for line in project.weft("logs", "a", "--json").stdout.splitlines()]
    assert [record["left_out"] for record in records if "left_out" in record] == [left_out]


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("st", ["store", "store/model", "store/disk"]),
        ("store/model:c", ["store/model:check"]),
        ("x", []),
    ],
)
def test_names_are_completed(talked: Project, typed: str, found: Sequence[str]) -> None:
    words = {"_WEFT_COMPLETE": "zsh_complete", "COMP_WORDS": f"weft logs {typed}", "COMP_CWORD": "2"}
    lines = talked.process(env=words).stdout.splitlines()
    assert lines[1::3] == found


def test_where_nothing_has_been_run_nothing_is_completed(project: Project) -> None:
    words = {"_WEFT_COMPLETE": "zsh_complete", "COMP_WORDS": "weft logs a", "COMP_CWORD": "2"}
    done = project.process(env=words)
    assert (done.stdout, done.stderr) == ("\n", "")
