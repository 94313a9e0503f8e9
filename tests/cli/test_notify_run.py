"""A real run tells people of itself."""

import json
import os
import subprocess
import sys
from itertools import groupby
from pathlib import Path
from typing import Any

from app.receivers import serving
from cli.running import Project
from e2e.repositories import Repository

TELL = "(cat; echo) >> $OUT/told"
ASKS = """
notify: {run: "TELL"}
subplans:
  - {id: a, steps: [{id: sure, action: ask, question: "Really?"}]}
  - {id: b, steps: [{id: only, run: "true"}]}
"""
FAILS = """
notify: {on: [failed], run: "TELL"}
failure_mode: continue_on_error
subplans:
  - {id: a, steps: [{id: only, run: "exit 3"}]}
  - {id: b, depends_on: [a], steps: [{id: only, run: "true"}]}
  - {id: c, steps: [{id: only, run: "true"}]}
"""


def telling(project: Project, text: str) -> Project:
    return project.plan(text.replace("TELL", TELL.replace("$OUT", str(project.outside))))


def told(project: Project) -> list[dict[str, Any]]:
    file = project.outside / "told"
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def in_short(project: Project) -> list[tuple[str, str | None, str | None]]:
    return [(event["event"], event["subplan"], event["next"]) for event in told(project)]


def test_a_question_and_the_end_are_reported_once_over_several_processes(project: Project) -> None:
    telling(project, ASKS)
    asked = ("gate", "a", "weft answer a:sure yes")
    for _ in range(2):  # the second goes on where the first was, and has nothing new to say
        assert project.process("run", "--no-wait").returncode == 4
        assert in_short(project) == [asked]
    project.process("answer", "a:sure", "yes")
    assert project.process("run").returncode == 0
    assert in_short(project) == [asked, ("finished", None, None)]
    assert {event["run"] for event in told(project)} == set(project.runs())


# Whichever way the processes are scheduled: e begins before d is merged, and writes after that.
CONFLICT = """
notify: {run: "(cat; echo) >> OUTSIDE/told"}
subplans:
  - {id: d, steps: [{id: w, run: "read _ < OUTSIDE/begun; echo d > same"}]}
  - {id: e, steps: [{id: w, run: "echo > OUTSIDE/begun; read _ < OUTSIDE/merged; echo e > same"}]}
  - {id: f, depends_on: [d], steps: [{id: w, run: "echo > OUTSIDE/merged; echo f > f"}]}
"""


def test_a_conflict_and_a_landing_are_reported_once_though_they_are_tried_again(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "project")
    for gate in ("begun", "merged"):
        os.mkfifo(repository.outside / gate)
    repository.plan(CONFLICT)
    for _ in range(2):  # the second tries again what is held
        assert repository.run(waits=False).state == "waiting"
        lines = (repository.outside / "told").read_text().splitlines()
        values = sorted((item["event"], item["subplan"], item["next"]) for item in map(json.loads, lines))
        assert values == [("conflict", "e", "weft merge e"), ("gate", "d", "weft merge d")]
    repository.end()


def test_what_failed_by_itself_and_the_run_are_reported_and_nothing_else(project: Project) -> None:
    assert telling(project, FAILS).process("run", "-q").returncode == 1
    assert in_short(project) == [("failed", "a", "weft logs a"), ("failed", None, "weft run")]


def test_the_user_sets_receivers_unless_the_plan_does(project: Project) -> None:
    folder = project.outside / ".config" / "weft"
    folder.mkdir(parents=True)
    steps = "subplans: [{id: a, steps: [{id: only, run: 'true'}]}]\n"
    with serving() as of_user, serving() as of_plan:
        (folder / "config.yaml").write_text(f"notify: {{webhook: '{of_user.url}'}}\n")
        project.plan(steps).process("run")
        project.plan(f"notify: [{{webhook: '{of_plan.url}'}}]\n{steps}").process("run", "--fresh")
        project.plan(f"notify: []\n{steps}").process("run", "--fresh")
        assert [item["event"] for item in of_user.got] == ["finished"]
        assert [entry["event"] for entry in of_plan.got] == ["finished"]


def test_receivers_do_not_delay_a_run(project: Project) -> None:
    with serving(hangs=True) as server:
        project.plan(f"""
notify: {{webhook: '{server.url}'}}
failure_mode: continue_on_error
subplans:
  - {{id: a, steps: [{{id: only, run: "exit 1"}}]}}
  - {{id: b, steps: [{{id: only, run: "GATE x"}}]}}
""")
        run = project.start("run")
        project.reached()
        server.reached.wait()  # it was told of a, and does not answer
        project.let_through()
        project.process("events", "--follow")  # until the run is over
        # On a busy machine the server hangs for longer than a webhook may, and the notice is sent once more.
        assert {notice["subplan"] for notice in server.got} == {"a"}
        server.let_go.set()
        assert run.wait() == 1
        assert [subplan for subplan, _ in groupby(notice["subplan"] for notice in server.got)] == ["a", None]


def test_failed_notifications_are_shown_in_the_lines_of_the_run(project: Project) -> None:
    project.plan(
        'notify: {run: "echo no >&2; exit 7"}\nsubplans: [{id: a, steps: [{id: only, run: "true"}]}]\n'
    )
    done = project.process("run")
    assert done.returncode == 0
    assert (
        "note: could not notify `echo no >&2; exit 7`: exit code 7: no (of: tried is completed)"
        in done.stderr
    )


def test_without_receivers_nothing_is_loaded_for_them(project: Project) -> None:
    script = """
import sys
from weft.cli import main
try:
    main(["run", "-q"])
finally:
    print(*sys.modules)
"""
    project.plan("subplans: [{id: a, steps: [{id: only, run: 'true'}]}]\n")
    command = [sys.executable, "-c", script]
    done = subprocess.run(
        command, cwd=project.root, env=project.env, capture_output=True, text=True, check=True
    )
    loaded = set(done.stdout.split())
    assert "weft.app.notify.hook" in loaded
    assert not loaded & {"weft.app.notify.notifier", "weft.app.notify.notices", "http.client", "tempfile"}
