"""What Tab completes, in click's own terms and in real shells."""

import os
import pty
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

from cli.running import WEFT, Project
from e2e.repositories import Repository
from weft.cli.main import SHELLS, cli
from weft.plan.settings import SETTING_NAMES

PLAN = """
subplans:
  - id: store
    title: The store, with what it needs
    subplans:
      - {id: model, title: "Notes:\\n a type", steps: [{id: check, run: "true"}, {id: code, run: "true"}]}
      - {id: disk, steps: [{id: only, run: "true"}]}
  - {id: sure, steps: [{id: gate, action: ask, question: "Is it good?"}]}
"""
NAMES = ["store", "sure", "store/model", "store/disk"]


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    project = Project(tmp_path_factory.mktemp("completions") / "project")
    project.plan(PLAN)
    assert project.process("run", "--no-wait").returncode == 4
    yield project
    project.end()


@pytest.fixture
def planned(project: Project) -> Project:
    """A plan that was never run."""
    return project.plan(PLAN)


def completed(project: Project, *args: str, incomplete: str = "") -> dict[str, str | None]:
    complete = ShellComplete(cli, {}, "weft", "_WEFT_COMPLETE")
    completions = complete.get_completions(["-C", str(project.root), *args], incomplete)
    assert {item.type for item in completions} <= {"plain"}
    return {item.value: item.help for item in completions}


# Subplans


@pytest.mark.parametrize("command", ["logs", "diff", "pause", "resume", "stop"])
def test_ids_are_those_of_the_last_run_with_their_titles(ran: Project, command: str) -> None:
    assert completed(ran, command) == {
        "store": "The store, with what it needs", "sure": None, "store/model": "Notes: a type", "store/disk": None,
    }  # fmt: skip
    assert list(completed(ran, command, incomplete="store/m")) == ["store/model"]


@pytest.mark.parametrize("command", ["logs", "diff", "pause"])
def test_where_nothing_has_been_run_ids_are_those_of_the_plan(planned: Project, command: str) -> None:
    assert list(completed(planned, command)) == NAMES


def test_after_a_colon_steps_are_completed(ran: Project) -> None:
    assert list(completed(ran, "logs", incomplete="store/model:c")) == [
        "store/model:check",
        "store/model:code",
    ]


def test_of_another_run_the_ids_are_its_own(ran: Project) -> None:
    assert completed(ran, "logs", "--run", "no-such-run") == completed(ran, "logs")
    assert list(completed(ran, "logs", "--run", ran.runs()[0])) == NAMES


def test_what_stands_there_already_is_not_suggested_again(ran: Project) -> None:
    assert list(completed(ran, "pause", "store", "sure")) == ["store/model", "store/disk"]


@pytest.mark.parametrize("command", ["run", "start"])
def test_a_run_can_be_of_a_plan_and_of_its_subplans(planned: Project, command: str) -> None:
    planned.plan("subplans: [{id: other, title: Another, steps: [{id: s, run: x}]}]\n", name="b.yaml")
    assert list(completed(planned, command)) == ["b.yaml", "weft.yaml", *NAMES]
    assert list(completed(planned, command, "store")) == NAMES[1:]
    assert list(completed(planned, command, incomplete="store/")) == ["store/model", "store/disk"]
    assert completed(planned, command, "b.yaml") == {"other": "Another"}


def test_a_place_may_be_written_from_the_root(planned: Project) -> None:
    assert list(completed(planned, "check", "--explain", incomplete="/store/")) == [
        "/store/model",
        "/store/disk",
    ]


def test_help_completes_commands_and_commands_of_commands(planned: Project) -> None:
    assert list(completed(planned, "help", incomplete="re")) == ["replay", "report", "resume", "retry"]
    assert list(completed(planned, "help", "net", incomplete="e")) == ["explore"]
    assert completed(planned, "help", "run") == {}


@pytest.mark.parametrize("command", ["run", "start", "check", "show"])
def test_the_values_of_a_flag_that_has_few_are_completed(planned: Project, command: str) -> None:
    assert list(completed(planned, command, "--merge")) == ["auto", "confirm", "manual"]
    assert list(completed(planned, command, "--policy", incomplete="s")) == ["serial"]
    assert completed(planned, command, "--retries") == {}


# What waits for people


def test_questions_are_completed_with_their_text(ran: Project) -> None:
    assert completed(ran, "answer") == {"sure:gate": "Is it good?"}


def test_what_is_held_is_completed_with_the_reason(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "project")
    repository.plan('subplans: [{id: a, steps: [{id: s, run: "echo a > a"}]}]\n')
    assert repository.run(waits=False).state == "waiting"
    complete = ShellComplete(cli, {}, "weft", "_WEFT_COMPLETE")
    (item,) = complete.get_completions(["-C", str(repository.root), "merge"], "")
    assert (item.value, item.help) == ("a", "a is ready to land on main; type: weft merge a")
    repository.end()


# Settings and files


def test_settings_are_completed(project: Project) -> None:
    result = completed(project, "config")
    assert set(SETTING_NAMES) < set(result)


@pytest.mark.parametrize("command", ["check", "show", "graph"])
def test_plans_are_completed_and_other_files_where_there_is_none(planned: Project, command: str) -> None:
    assert list(completed(planned, command)) == ["weft.yaml"]
    complete = ShellComplete(cli, {}, "weft", "_WEFT_COMPLETE")
    (item,) = complete.get_completions(["-C", str(planned.root), command], "no/such/fol")
    assert (item.type, item.value) == ("file", "no/such/fol")


# Nothing is ever said


BROKEN = ["weft: [", "\0", "subplans: {a: b}", "- 1"]


@pytest.mark.parametrize("command", ["run", "logs", "merge", "answer", "pause", "check --explain", "config"])
def test_where_nothing_can_be_read_nothing_is_said(project: Project, command: str) -> None:
    for number, text in enumerate(BROKEN):
        (project.root / "weft.yaml").write_text(text)
        (project.root / ".weft").mkdir(exist_ok=True)
        (project.root / ".weft" / "weft.db").write_text("no journal" * number)
        words = {"_WEFT_COMPLETE": "bash_complete", "COMP_WORDS": f"weft {command} no-such"}
        done = project.process(env=words)
        assert (done.stdout, done.stderr) == ("\n", "")


def test_an_error_while_a_shell_waits_is_swallowed(project: Project) -> None:
    done = project.process(
        env={"_WEFT_COMPLETE": "zsh_complete", "COMP_WORDS": "weft logs", "COMP_CWORD": "x"}
    )
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "")


def test_an_unknown_shell_gets_no_answer(project: Project) -> None:
    done = project.process(env={"_WEFT_COMPLETE": "csh_complete"})
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "")


def test_without_a_question_from_a_shell_a_command_runs_as_ever(project: Project) -> None:
    done = project.process("--version", env={"_WEFT_COMPLETE": ""})
    assert done.stdout.startswith("weft ")


# Real shells


def in_bash(project: Project, line: str, *, point: int | None = None) -> list[str]:
    """What bash would offer with the cursor there."""
    script = """
eval "$(weft completion bash)"
COMP_LINE=$1 COMP_POINT=$2 COMP_WORDBREAKS=$' \\t\\n"\\'><=;|&(:'
_weft_completion weft
printf '%s\\n' "${COMPREPLY[@]}"
"""
    env = project.env | {"PATH": f"{Path(WEFT).parent}:{os.environ['PATH']}"}
    command = ["bash", "--norc", "-c", script, "bash", line, str(len(line) if point is None else point)]
    done = subprocess.run(command, cwd=project.root, env=env, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("weft logs ", NAMES),
        ("weft logs st", ["store", "store/model", "store/disk"]),
        ("weft logs store/model:c", ["check", "code"]),
        ("weft logs store/model:@ver", ["@verify"]),
        ("weft -C . answer su", ["sure:gate"]),
        ("weft answer sure:", ["gate"]),
        ("weft diff --sta", ["--stat"]),
        ("weft ans", ["answer"]),
        ("weft run st", ["store", "store/model", "store/disk"]),
        ("weft run weft.yaml su", ["sure"]),
    ],
)
def test_bash_completes_also_names_with_colons(ran: Project, line: str, found: list[str]) -> None:
    assert in_bash(ran, line) == found


def test_bash_completes_the_word_before_the_cursor(ran: Project) -> None:
    assert in_bash(ran, "weft logs sto -f", point=len("weft logs su")) == in_bash(ran, "weft logs st")


def test_a_run_is_completed_after_an_equals_sign(ran: Project) -> None:
    (run,) = ran.runs()
    assert in_bash(ran, f"weft events --run={run[:4]}") == [run]


def test_tab_in_bash_writes_the_rest_of_the_name(ran: Project) -> None:
    """The line that was completed is then given to `echo` instead, by keys that readline knows."""
    master, slave = pty.openpty()
    env = ran.env | {"PATH": f"{Path(WEFT).parent}:{os.environ['PATH']}", "PS1": "", "TERM": "dumb"}
    bash = subprocess.Popen(
        ["bash", "--norc", "--noprofile", "-i"], cwd=ran.root, env=env, stdin=slave, stdout=slave, stderr=slave,
        start_new_session=True,
    )  # fmt: skip
    os.close(slave)
    to_beginning, to_end = b"\x01", b"\x05"
    os.write(master, b'eval "$(weft completion bash)"\n')
    os.write(master, b"weft logs store/model:ch\t" + to_beginning + b"echo '<" + to_end + b">'\nexit\n")
    text = b""
    while b"<weft logs store/model:check >" not in text.replace(b"echo '<", b""):
        text += os.read(master, 4096)
    assert bash.wait() == 0
    os.close(master)


@pytest.mark.parametrize("shell", [shell for shell in SHELLS if shell != "bash"])
def test_the_script_is_understood_by_its_shell(ran: Project, shell: str) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    script = ran.process("completion", shell).stdout
    subprocess.run([shell, "-n"], input=script, text=True, check=True)


def test_zsh_and_fish_get_descriptions_of_names(ran: Project) -> None:
    zsh = {"_WEFT_COMPLETE": "zsh_complete", "COMP_WORDS": "weft logs store/m", "COMP_CWORD": "2"}
    assert ran.process(env=zsh).stdout == "plain\nstore/model\nNotes: a type\n"
    fish = {"_WEFT_COMPLETE": "fish_complete", "COMP_WORDS": "weft logs store/m", "COMP_CWORD": "store/m"}
    assert ran.process(env=fish).stdout == "plain,store/model\tNotes: a type\n"
