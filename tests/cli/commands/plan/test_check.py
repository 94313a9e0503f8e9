"""`weft check`: all errors at once, the verdict as exit code, and which settings are in force where."""

import json
import os
import pty
import re
import signal
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner, Result
from inline_snapshot import snapshot

from app.programs import Programs
from weft.agents.adapters import ADAPTERS
from weft.app.check import check as plan_check
from weft.cli.main import cli
from weft.cli.output import note_lines
from weft.net.verdict import Answer
from weft.plan.proof.prove import Proof
from workspaces.git.repositories import repository

WEFT = str(Path(sysconfig.get_path("scripts")) / "weft")
NOTES = """\
weft: 1
plan: notes
max_parallel: 8
budget: 20
agents:
  coder: {use: claude, model: sonnet, pool: 3, max_cost: 0.50}
pools: {db: 1}
pipelines:
  checked:
    - {id: code, prompt: "{{ slice.prompt }}", timeout: 1h, resume: true, pool: db}
    - {id: check, action: verify, on_fail: {retry_from: code, max: 3}}
subplans:
  - id: store
    verify: make test
    budget: 2.50
    subplans:
      - {id: model, prompt: Note type, verify: make test, pipeline: checked}
      - {id: disk, prompt: Save notes, verify: make test, depends_on: [model]}
"""
BAD = """\
weft: 1
policy: seril
max_paralel: 4
plan: bad
subplans:
  - {id: a, prompt: x, agent: claude, retries: 11}
"""


@pytest.fixture(autouse=True)
def _an_empty_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)


@pytest.fixture(autouse=True)
def _an_agent_that_is_installed(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path_factory.mktemp("machine")
    machine = Programs(root)
    machine.add("claude")
    monkeypatch.setenv("PATH", f"{machine.folder}{os.pathsep}{os.environ['PATH']}")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "weft.yaml").write_text(NOTES)
    (tmp_path / "bad.yaml").write_text(BAD)
    return tmp_path


def check(folder: Path, *args: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(cli, ["-C", str(folder), "check", *args], input=stdin)


def data(result: Result) -> dict[str, Any]:
    envelope = json.loads(result.stdout)
    assert list(envelope) == ["weft", "data"]
    entry: dict[str, Any] = envelope["data"]
    return entry


# The plan.


def test_a_plan_that_is_all_right_is_proven_and_told_about(folder: Path) -> None:
    result = check(folder)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith("Finish    Every run of this plan ends: ")


def test_for_programs_there_is_the_whole_report(folder: Path) -> None:
    result = check(folder, "--json")
    assert result.exit_code == 0
    content = data(result)
    assert (content["valid"], content["plan"], content["finish"]["answer"]) == (True, "notes", "proved")


def test_warnings_do_not_change_the_exit_code(tmp_path: Path) -> None:
    text = NOTES.replace("    verify: make test\n", "")
    result = check(tmp_path, "-", stdin=text)
    assert result.exit_code == 0
    assert "1 group has no verify" in result.stdout


def test_verbose_says_how_the_proof_goes(folder: Path) -> None:
    assert "rank theorem" not in check(folder).stdout
    assert "rank theorem" in check(folder, "--verbose").stdout


def test_all_that_is_wrong_is_reported_at_once_with_the_place(folder: Path) -> None:
    result = check(folder, "bad.yaml")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == snapshot("""\
bad.yaml:2:9: error: policy is 'seril'; it must be serial | parallel; did you mean 'serial'?
     2 | policy: seril
       |         ^^^^^
bad.yaml:3:1: error: unknown key 'max_paralel' in the plan; did you mean 'max_parallel'?
     3 | max_paralel: 4
       | ^^^^^^^^^^^
bad.yaml:6:5: warning: 1 slice has no verify, so nothing checks what is done in it: a
     6 |   - {id: a, prompt: x, agent: claude, retries: 11}
       |     ^
bad.yaml:6:48: error: retries is 11 (a number); it must be a whole number from 0 to 10
     6 |   - {id: a, prompt: x, agent: claude, retries: 11}
       |                                                ^^
3 errors
""")


def test_for_programs_what_is_wrong_is_data(folder: Path) -> None:
    result = check(folder, "bad.yaml", "--json")
    assert (result.exit_code, result.stderr) == (2, "")
    content = data(result)
    assert list(content) == ["valid", "problems"]
    assert content["valid"] is False
    assert content["problems"][0] == snapshot(
        {
            "severity": "error",
            "file": "bad.yaml",
            "line": 2,
            "column": 9,
            "message": "policy is 'seril'; it must be serial | parallel; did you mean 'serial'?",
        }
    )


def test_for_programs_it_is_said_that_not_all_is_said(folder: Path) -> None:
    many = NOTES + "".join(f"key{number}: 1\n" for number in range(150))
    content = data(check(folder, "-", "--json", stdin=many))
    assert (len(content["problems"]), content["unsaid"]) == (100, 50)


@pytest.mark.parametrize(("answer", "code"), [(Answer.REFUTED, 2), (Answer.UNKNOWN, 4)])
def test_the_verdict_is_the_exit_code(
    folder: Path, monkeypatch: pytest.MonkeyPatch, answer: Answer, code: int
) -> None:
    # No plan that can be written is refuted; that this stays so is what the proof is for.
    monkeypatch.setattr(
        plan_check, "prove", lambda _: Proof(answer=answer, why="so it is", trace=("store starts",))
    )
    result = check(folder)
    assert (result.exit_code, result.stderr) == (code, "")
    assert "so it is" in result.stdout
    assert data(check(folder, "--json"))["finish"]["trace"] == ["store starts"]


def test_the_trace_of_a_refuted_plan_is_reported(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refuted = Proof(answer=Answer.REFUTED, why="so it is", trace=("store starts", "store waits"))
    monkeypatch.setattr(plan_check, "prove", lambda _: refuted)
    assert re.search(r"1\. store starts\n.*2\. store waits\n", check(folder).stdout)


def test_without_a_plan_it_is_said_what_to_type(tmp_path: Path) -> None:
    result = check(tmp_path)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == (
        f"error: there is no weft.yaml and no weft.yml in {tmp_path}; to write one, type: weft init; to name "
        f"another file: weft check FILE\n"
    )


def test_a_dash_is_standard_input(tmp_path: Path) -> None:
    assert check(tmp_path, "-", stdin=NOTES).exit_code == 0
    assert check(tmp_path, "-", stdin=BAD).stderr.startswith("standard input:2:9: error: policy is 'seril'")


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--max-parallel", "33"], " is 33 (a number); it must be a whole number from 1 to 32"),
        (["--retries", "x"], " is 'x'; it must be a whole number from 0 to 10"),
        (["--policy", "fast"], " is 'fast'; it must be serial | parallel"),
        (["--failure-mode", ""], " is empty; it must be fail_fast | continue_on_error"),
        (["--merge", "never"], " is 'never'; it must be auto | confirm | manual"),
        (["--budget", "eur=5"], ": unknown key 'eur' in a budget; known: usd, tokens"),
    ],
)
def test_a_flag_is_read_as_the_plan_would_be(folder: Path, args: list[str], said: str) -> None:
    result = check(folder, *args)
    assert (result.exit_code, result.stdout, result.stderr) == (2, "", f"error: {args[0]}{said}\n")


# Settings.


def test_the_settings_in_force_at_a_step_are_reported_with_their_origin(folder: Path) -> None:
    result = check(folder, "--explain", "store/model:code", "--retries", "4")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == snapshot("""\
In force at store/model, step code:
  max_parallel          8                                         weft.yaml:3
  max_concurrency       not set                                   default
  failure_mode          fail_fast                                 default
  policy                parallel                                  default
  agent                 coder                                     weft.yaml:6, the first of the plan's agents
  model                 sonnet                                    weft.yaml:6, the agent 'coder'
  retries               4                                         --retries
  infra_retries         2                                         default
  timeout               1h                                        weft.yaml:10
  idle_timeout          not set                                   default
  grace                 10s                                       default
  budget                2.5                                       weft.yaml:15
  budget.tokens         not set                                   default
  on_budget             stop                                      default
  reserve               not set                                   default
  reserve.tokens        not set                                   default
  merge.when            milestone                                 default
  merge.mode            confirm                                   default
  merge.order           sequential                                default
  merge.take_branch     []                                        default
  merge.resolve         hold                                      default
  merge.sign            auto                                      default
  merge.batch           32                                        default
  merge.push            false                                     default
  merge.allow_red_base  false                                     default
  strict_files          false                                     default
  overlap               warn                                      default
  isolation             dir                                       default
  worktrees             .weft/worktrees/{{ plan.id }}/{{ slice.…  default
  keep_worktrees        failed                                    default
  branch_prefix         weft/                                     default
  setup                 not set                                   default
  copy                  []                                        default
  link                  []                                        default
  sparse                []                                        default
  host                  local                                     default
  isolated_home         false                                     default
  sandbox.use           none                                      default
  sandbox.network       true                                      default
  sandbox.hide          []                                        default
  sandbox.read          []                                        default
  sandbox.write         []                                        default
The step itself says:
  max_cost  0.5                 weft.yaml:6, the agent 'coder'
  prompt    {{ slice.prompt }}  weft.yaml:10
  resume    true                weft.yaml:10
  pools     {"db": 1}           weft.yaml:10
Dollars spent here count against these budgets:
  /      20   weft.yaml:4
  store  2.5  weft.yaml:15
""")


def test_for_programs_each_setting_has_its_file_and_line(folder: Path) -> None:
    content = data(check(folder, "--explain", "/store/model:check", "--json"))
    assert (content["path"], content["step"]) == ("store/model", "check")
    settings = {entry["name"]: entry for entry in content["settings"]}
    assert settings["max_parallel"] == snapshot(
        {"name": "max_parallel", "value": 8, "origin": "weft.yaml:3", "file": "weft.yaml", "line": 3}
    )
    assert settings["retries"] == snapshot(
        {"name": "retries", "value": 3, "origin": "weft.yaml:11", "file": "weft.yaml", "line": 11}
    )
    assert settings["model"] == snapshot({"name": "model", "value": None, "origin": "default"})
    assert content["budgets"] == snapshot(
        [
            {"path": "/", "usd": 20, "origin": "weft.yaml:4", "file": "weft.yaml", "line": 4},
            {"path": "store", "usd": 2.5, "origin": "weft.yaml:15", "file": "weft.yaml", "line": 15},
        ]
    )
    assert [item["name"] for item in content["own"]] == ["action", "on_fail"]


def test_settings_are_reported_without_a_proof_also_of_groups_and_the_plan(folder: Path) -> None:
    for place in ("store", "/"):
        content = data(check(folder, "--explain", place, "--json"))
        assert (content["path"], content["step"], content["own"]) == (place, None, [])
    assert check(folder, "--explain", "/").stdout.startswith("In force at /:\n  max_parallel          8 ")


def test_steps_within_steps_have_addresses(tmp_path: Path) -> None:
    text = NOTES.replace(
        "prompt: Save notes,", "prompt: Save notes, steps: [{id: inner, pipeline: checked}],"
    )
    content = data(check(tmp_path, "-", "--explain", "store/disk:inner.code", "--json", stdin=text))
    timeout = next(item for item in content["settings"] if item["name"] == "timeout")
    assert (timeout["value"], timeout["origin"]) == ("1h", "standard input:10")


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("store/modle", "the plan has no subplan 'store/modle'; did you mean 'store/model'?"),
        ("", "the plan has no subplan ''; known: store, store/model, store/disk"),
        ("store/model:cod", "'store/model' has no step 'cod'; did you mean 'code'?"),
        ("store:code", "'store' has no steps: it is a group of subplans"),
        ("/:code", "'/' has no steps: it is a group of subplans"),
    ],
)
def test_of_an_unknown_place_the_nearest_is_named(folder: Path, place: str, said: str) -> None:
    result = check(folder, "--explain", place)
    assert (result.exit_code, result.stdout, result.stderr) == (2, "", f"error: {said}\n")


# Completion.


def completed(*args: str, incomplete: str = "") -> list[str]:
    complete = ShellComplete(cli, {}, "weft", "_WEFT_COMPLETE")
    return [item.value for item in complete.get_completions(list(args), incomplete)]


def test_places_are_completed(folder: Path) -> None:
    args = ("-C", str(folder), "check", "--explain")
    assert completed(*args) == ["store", "store/model", "store/disk"]
    assert completed(*args, incomplete="store/m") == ["store/model"]
    assert completed(*args, incomplete="/store/d") == ["/store/disk"]
    assert completed("check", str(folder / "weft.yaml"), "--explain", incomplete="store/m") == ["store/model"]


@pytest.mark.parametrize("content", [b"", b"[", b"\xff", b"a: 1"])
def test_of_a_broken_plan_nothing_is_completed_and_nothing_is_said(
    tmp_path: Path, content: bytes, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "weft.yaml").write_bytes(content)
    assert completed("-C", str(tmp_path), "check", "--explain") == []
    assert completed("-C", str(tmp_path), "check", "no.yaml", "--explain") == []
    assert capfd.readouterr() == ("", "")


def test_plans_are_completed_as_files() -> None:
    complete = ShellComplete(cli, {}, "weft", "_WEFT_COMPLETE")
    assert [item.type for item in complete.get_completions(["check"], "we")] == ["file"]


# Help.


@pytest.mark.parametrize("command", ["check", "show", "graph", "schema", "convert", "decompose"])
def test_every_help_has_an_example_and_fits_a_terminal(command: str) -> None:
    result = CliRunner().invoke(cli, [command, "--help"], terminal_width=80)
    assert result.exit_code == 0
    assert re.search(rf"\n  Examples?:\n    .*weft {command}", result.stdout)
    assert max(map(len, result.stdout.splitlines())) <= 80


# As a process.


def test_a_check_loads_nothing_heavy(folder: Path) -> None:
    script = """
import sys
from weft.cli import main
try:
    main(["check"])
finally:
    print(*sys.modules, file=sys.stderr)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=folder, capture_output=True, text=True, check=True
    )
    loaded = set(done.stderr.split())
    assert "weft.plan.proof.prove" in loaded
    assert not loaded & {
        "numpy",
        "jinja2",
        "jsonschema",
        "rich",
        "PIL",
        "anyio",
        "asyncio",
        "weft.plan.pictures",
    }
    assert not loaded & set(ADAPTERS.values())


def on_a_terminal(args: list[str], folder: Path, **environment: str) -> str:
    watching, terminal = pty.openpty()
    env = {**os.environ, "TERM": "xterm", **environment}
    subprocess.run(
        [WEFT, *args], cwd=folder, stderr=terminal, stdout=subprocess.DEVNULL, env=env, check=False
    )
    os.close(terminal)
    text = os.read(watching, 10_000).decode()
    os.close(watching)
    return text


@pytest.mark.parametrize("unwanted", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_problems_are_coloured_on_a_terminal_that_takes_it(folder: Path, unwanted: dict[str, str]) -> None:
    first = on_a_terminal(["check", "bad.yaml"], folder).splitlines()[0]
    assert first.startswith("\x1b[1mbad.yaml:2:9\x1b[0m: \x1b[31m\x1b[1merror\x1b[0m: policy is 'seril'")
    assert "\x1b" not in on_a_terminal(["check", "bad.yaml"], folder, **unwanted)


def test_what_a_file_holds_cannot_command_the_terminal(tmp_path: Path) -> None:
    result = check(tmp_path, "-", stdin='weft: 1\nplan: "\\e[2J"\nsubplans: []\n')
    assert result.exit_code == 2
    assert "\x1b" not in result.stderr


def test_lines_are_cleaned_each_by_itself(capsys: pytest.CaptureFixture[str]) -> None:
    note_lines(["one\ntwo", "three\x1b"])
    assert capsys.readouterr().err == "one\\ntwo\nthree\\x1b\n"


def test_ctrl_c_while_a_plan_comes_in_ends_with_exit_code_130(folder: Path) -> None:
    with subprocess.Popen(
        [WEFT, "check", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # A test run in the background of a shell ignores SIGINT, and so would what it starts.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
    ) as process:
        assert process.stdin
        process.stdin.write(b"x" * 1_000_000)  # more than a pipe holds: now it is being read
        process.send_signal(signal.SIGINT)
        out, error = process.communicate()
    assert (process.returncode, out, error.strip()) == (130, b"", b"interrupted")


def test_a_plan_that_lands_several_slices_without_a_verify_of_its_own_is_warned_of(tmp_path: Path) -> None:
    text = "The plan has no verify, so nothing checks what its subplans do together before it lands"
    plan = "weft: 1\nplan: p\nTOPsubplans: [{id: a, verify: 'true', prompt: x, agent: claude}MORE]\n"
    other = ", {id: b, verify: 'true', prompt: x, agent: claude}"
    repository(tmp_path / "top")
    texts = {"TOP": ["", "verify: 'true'\n", "isolation: dir\n", ""], "MORE": [other, other, other, ""]}
    for top, more, is_warned in zip(*texts.values(), [True, False, False, False], strict=True):
        result = check(tmp_path / "top", "-", stdin=plan.replace("TOP", top).replace("MORE", more))
        assert result.exit_code == 0
        assert (text in " ".join(result.stdout.split())) is is_warned
