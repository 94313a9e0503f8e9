"""`weft decompose --refine`: a real agent is asked, and what it answers is in the plan, or there is no plan."""

import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner, Result

from cli.running import KEPT, WEFT
from hosts.places import is_alive
from weft.cli.main import cli
from weft.cli.output import note
from weft.cli.text.decompose import show_progress
from weft.plan.loader.load import load_plan
from weft.testing.models.script import rules_of
from weft.testing.models.server import ModelServer

WRONG = json.dumps({"parts": [{"part": "nowhere"}]})
RIGHT = json.dumps(
    {
        "parts": [{"part": "store", "id": "base", "title": "Where: # things are", "prompt": "Fix\n{{ it }}"}],
        "moves": [{"file": "cli/m3.py", "to": "store"}],
    }
)
WITHOUT = "nothing has been written; for a plan that no agent has refined, leave out --refine"
INSTALL = "to install it, type: npm install -g @openai/codex"
AGAIN = "your answer is invalid"
RULES = rules_of(
    [
        {
            "name": "learns",
            "prompt_contains": AGAIN,
            "steps": [{"text": f"Of course:\n```json\n{RIGHT}\n```"}],
        },
        {"name": "learns", "steps": [{"text": WRONG}]},
    ]
)
PLAN = """\
weft: 1
plan: p
agent: thinker
prices: {{scripted: {{input: 3, output: 15}}}}
agents:
  thinker: {{use: builtin, model: scripted, args: [--retries, "0"], env: {{OPENAI_BASE_URL: {url}/v1}}}}
  stubborn: {{use: command, command: "cat >/dev/null; echo $WEFT_STEP $WEFT_ATTEMPT >>{tries}; cat {wrong}"}}
  silent: {{use: command, command: [sleep, "3600"]}}
  lost: {{use: codex}}
  waits: {{use: command, command: "echo $$ $PWD >{pid}; exec sleep 3600"}}
subplans: [{{id: a, prompt: x, verify: make}}]
"""


class Project:
    def __init__(self, root: Path) -> None:
        self.root = root / "project"
        self.home = root / "home"
        self.pid = root / "pid"
        self.tries = root / "tries"
        self.wrong = root / "wrong.json"
        self.wrong.write_text(WRONG)
        for folder in (self.root, self.home):
            folder.mkdir()
        for part in ("store", "cli"):
            (self.root / "src" / part).mkdir(parents=True)
            for number in range(4):
                (self.root / "src" / part / f"m{number}.py").write_text("import store.m0\n")

    def plan(self, url: str = "http://127.0.0.1:1") -> "Project":
        (self.root / "weft.yaml").write_text(
            PLAN.format(url=url, wrong=self.wrong, tries=self.tries, pid=self.pid)
        )
        return self

    def arguments(self, *more: str) -> list[str]:
        limits = ("--max-files", "5", "--goal", "Do it.", "--out", "new.yaml")
        return ["-C", str(self.root), "decompose", "src", *limits, *more]

    def decompose(self, *more: str) -> Result:
        env = {"HOME": str(self.home), "XDG_CONFIG_HOME": None}
        return CliRunner(env=env).invoke(cli, self.arguments(*more))

    def written(self) -> list[str]:
        return sorted(path.name for path in self.root.iterdir())


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path).plan()


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer(RULES) as server:
        yield server


def test_what_the_agent_says_at_the_second_try_is_in_the_plan(project: Project, server: ModelServer) -> None:
    project.plan(server.scenario("learns"))
    done = project.decompose("--refine", "thinker")
    assert (done.exit_code, done.stdout) == (0, ""), done.stderr
    lines = done.stderr.splitlines()
    assert lines[0] == "asking thinker for names, words and moves"
    assert lines[1].startswith("its answer is invalid: part nowhere does not exist here; there are ")
    assert lines[2].startswith(
        "thinker moved 1 file, gave another id to 1 part and other words to 1 part (in "
    )
    assert lines[2].endswith(" s, 2,100 tokens, <$0.01)")
    plan = load_plan((project.root / "new.yaml").read_text(), "new.yaml")
    base = next(subplan for subplan in plan.subplans if subplan.id == "base")
    assert (base.title, base.prompt) == ("Where: # things are", "Fix\n{{ it }}")
    assert "cli/m3.py" in base.files


def test_no_agent_is_asked_if_the_answer_could_not_be_written(project: Project) -> None:
    (project.root / "new.yaml").write_text("mine")
    done = project.decompose("--refine", "stubborn")
    assert (done.exit_code, project.tries.exists()) == (2, False)
    assert done.stderr.startswith("error: new.yaml exists with other content")


def test_the_agent_gets_no_tool_to_change_anything(project: Project, server: ModelServer) -> None:
    project.plan(server.scenario("learns"))
    done = project.decompose("--refine", "thinker", "--model", "other", "--json", "--dry-run")
    refined: dict[str, Any] = json.loads(done.stdout)["data"]["refined"]
    assert refined | {"seconds": 0} == {
        "agent": "thinker",
        "model": "other",
        "questions": 1,
        "tries": 2,
        "seconds": 0,
        "tokens": 2_100,
        "cost_usd": None,
        "moved": 1,
        "renamed": 1,
        "worded": 1,
    }
    assert {asked.model for asked in server.requests()} == {"other"}
    assert not {"shell", "write_file", "edit_file"} & {
        tool for asked in server.requests() for tool in asked.tools
    }
    assert project.written() == ["src", "weft.yaml"]


def test_an_answer_that_is_wrong_twice_is_refused_and_nothing_is_written(project: Project) -> None:
    done = project.decompose("--refine", "stubborn")
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr.splitlines()[2:] == [
        "error: stubborn was asked 2 times, and its answer is invalid:",
        "  - part nowhere does not exist here; there are cli, store",
        f"{WITHOUT} (tokens unknown, cost unknown)",
    ]
    assert project.tries.read_text() == "refine 1\nrefine 2\n"
    assert project.written() == ["src", "weft.yaml"]


def test_an_agent_that_does_not_answer_in_time_is_an_error(project: Project) -> None:
    done = project.decompose("--refine", "silent", "--timeout", "0.2")
    assert (done.exit_code, done.stderr.splitlines()[1:]) == (
        1,
        [f"error: silent did not answer: there was no answer within 0.2 s; {WITHOUT}"],
    )
    assert project.written() == ["src", "weft.yaml"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--refine", "codr"], "there is no agent 'codr'; did you mean 'codex'?"),
        (["--refine", "command"], "'command' needs a plan that names its command; name an agent of a plan"),
        (["--refine", "lost"], f"the agent lost needs codex, which is not on the PATH; {INSTALL}"),
        (["--model", "m"], "--model needs --refine AGENT"),
        (["--timeout", "3"], "--timeout needs --refine AGENT"),
    ],
)  # fmt: skip
def test_an_unusable_agent_is_reported_before_anything_is_read(
    project: Project, arguments: list[str], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(project.home))
    done = project.decompose(*arguments)
    assert (done.exit_code, done.stderr) == (2, f"error: {said}\n")


def test_commands_that_came_with_the_project_are_not_run_unapproved(project: Project) -> None:
    (project.root / ".weft").mkdir()
    (project.root / ".weft" / "config.yaml").write_text(
        "agents: {theirs: {use: command, command: sh evil.sh}}\n"
    )
    done = project.decompose("--refine", "theirs")
    assert (done.exit_code, "you have not approved" in done.stderr) == (2, True)


def test_a_plan_that_cannot_be_read_is_noted(project: Project) -> None:
    (project.root / "weft.yaml").write_text("weft: 2\n")
    done = project.decompose("--refine", "nobody")
    text = "weft.yaml cannot be read, and its agents are not known; type: weft check weft.yaml"
    assert (done.exit_code, done.stderr.splitlines()[0]) == (2, text)


def test_names_of_agents_are_completed(project: Project) -> None:
    complete = ShellComplete(cli, {}, "weft", "_WEFT_COMPLETE")
    completions = complete.get_completions(["-C", str(project.root), "decompose", "--refine"], "th")
    assert [item.value for item in completions] == ["thinker"]


def test_an_interruption_leaves_nothing_behind(project: Project) -> None:
    os.mkfifo(project.pid)
    temporary = project.home / "tmp"
    temporary.mkdir()
    env = {name: os.environ[name] for name in KEPT if name in os.environ}
    with subprocess.Popen(
        [WEFT, *project.arguments("--refine", "waits")],
        env={**env, "HOME": str(project.home), "TMPDIR": str(temporary)},
        stderr=subprocess.PIPE,
        text=True,
        # A test run in the background of a shell ignores SIGINT, and so would what it starts.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
    ) as process:
        pid, folder = project.pid.read_text().split()
        assert folder.startswith(str(temporary))
        process.send_signal(signal.SIGINT)
        assert process.communicate()[1].splitlines()[-1] == "interrupted"
    assert (process.returncode, is_alive(int(pid))) == (130, False)
    assert [*temporary.iterdir()] == []
    assert project.written() == ["src", "weft.yaml"]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_on_a_terminal_the_line_of_progress_makes_room_for_what_is_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("weft.cli.output.PROGRESS_AFTER", -1.0)
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    with show_progress(as_json=False) as watch:
        watch("splitting")
        watch("")
        note("asking claude")
    assert terminal.getvalue() == "\rsplitting\r         \rasking claude\n"
