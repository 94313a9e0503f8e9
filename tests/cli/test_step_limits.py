"""What a step can do with Weft, seen from inside real steps: look at its own subplan, and change nothing."""

import json
import os
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from msgspec import Struct

from cli.running import WEFT, Project
from weft.cli.effects import CommandEffect, WeftCommand, WeftGroup
from weft.cli.main import EXIT_INPUT, cli
from weft.errors import InputError

# --- the declaration ---


def all_commands() -> Iterator[tuple[str, click.Command]]:
    """Each command that can be called, by the words that call it."""
    context = click.Context(cli, info_name="weft")
    pending: list[tuple[str, click.Command]] = [
        (name, command) for name in cli.list_commands(context) if (command := cli.get_command(context, name))
    ]
    while pending:
        name, command = pending.pop()
        if isinstance(command, click.Group):
            pending += [(f"{name} {below}", each) for below, each in command.commands.items()]
        else:
            yield name, command


COMMANDS = dict(all_commands())
CHANGING = sorted(
    name
    for name, each in COMMANDS.items()
    if isinstance(each, WeftCommand) and each.effect is CommandEffect.CHANGES
)


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_each_command_declares_its_effect(name: str) -> None:
    command = COMMANDS[name]
    assert isinstance(command, WeftCommand)
    assert set(command.changes_with) <= {parameter.name for parameter in command.params}


def test_a_command_without_an_effect_cannot_be_added() -> None:
    group = WeftGroup("group")
    with pytest.raises(TypeError, match="declares no effect"):
        group.add_command(click.Command("new"))
    with pytest.raises(TypeError, match="effect"):
        group.command("new")(lambda: None)


def test_the_commands_that_steer_change_something() -> None:
    steering = {
        "answer", "clean", "config approve", "config revoke", "coordinate", "init", "merge", "pause", "resume",
        "retry", "run", "start", "stop",
    }  # fmt: skip
    assert steering <= set(CHANGING)


def refuse(name: str, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch, **params: object) -> str:
    """What the command says when it is called so."""
    command = COMMANDS[name]
    for variable, value in environ.items():
        monkeypatch.setenv(variable, value)
    root = click.Context(cli, info_name="weft")
    root.params = {"directory": "."}
    context = click.Context(command, parent=root, info_name=name)
    context.params = {parameter.name: None for parameter in command.params if parameter.name} | params
    with pytest.raises(InputError) as refused:
        command.invoke(context)
    return str(refused.value)


@pytest.mark.parametrize("name", CHANGING)
def test_each_command_that_changes_something_is_refused_by_the_environment(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    environ = {"WEFT_RUN": "r1", "WEFT_SUBPLAN": "store"}
    refusal = refuse(name, environ, monkeypatch)
    assert refusal.startswith(f"`weft {name}` is refused inside a step of store (run r1): ")


@pytest.mark.parametrize(
    ("name", "option"), [("agents", "probe"), ("decompose", "refine"), ("doctor", "fix")]
)
def test_an_option_can_make_a_command_change_something(
    name: str, option: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    refusal = refuse(name, {"WEFT_RUN": "r1"}, monkeypatch, **{option: "x"})
    assert refusal.startswith(f"`weft {name} --{option}` is refused inside a step (run r1): ")


def test_a_command_of_a_notification_is_no_step(project: Project) -> None:
    project.plan("subplans: [{id: a, steps: [{id: x, run: 'true'}]}]")
    done = project.process("run", "-q", env={"WEFT_RUN": "r1", "WEFT_NOTIFY_EVENT": "run_finished"})
    assert done.returncode == 0, done.stderr


# --- from inside real steps ---

PLAN = """
subplans:
  - {id: a, depends_on: [c], steps: [{id: probe, run: 'sh OUTSIDE/probe.sh'}]}
  - {id: b, steps: [{id: sure, action: ask, question: 'Deploy?'}, {id: deploy, run: 'MARK'}]}
  - {id: c, steps: [{id: x, run: 'echo of-c'}]}
"""
FRESH = "weft: 1\nplan: fresh\nisolation: dir\nsubplans: [{id: a, steps: [{id: x, run: 'true'}]}]\n"

CHANGES = (
    "stop --now", "pause", "resume", "start", "run -q", "retry", "answer b:sure yes", "merge", "clean", "init",
    "doctor --fix", "config approve --yes", "config revoke", "agents --probe", "-C OLDER answer b:sure yes",
    "-C FRESH run -q ROOT/weft.yaml",
)  # fmt: skip
"""Called by a process without any variables, whose parent is the supervisor."""
READS = (
    "status --json --all", "events --json", "logs /", "logs c", "logs a --run 20200101-000000-abcd", "replay",
    "check", "schema", "doctor --json", "-C FRESH run -q",
)  # fmt: skip
"""Called by the same process."""
PROGRAM = """
import json, pathlib, sys
from click.testing import CliRunner
from weft.cli.main import EXIT_INPUT, cli
def call(words):
    done = CliRunner().invoke(cli, words)
    return done.exit_code, done.output
said = {name: call(words) for name, words in json.loads(pathlib.Path(sys.argv[1]).read_text()).items()}
pathlib.Path(sys.argv[2]).write_text(json.dumps(said))
"""

GUISES = {
    "as it is": "WEFT stop",
    "in a session of its own": "setsid -w env -i WEFT stop",
    "a fresh project, with variables": "WEFT -C FRESH run -q",
    "as another subplan": "env WEFT_SUBPLAN=b WEFT logs b",
    "a daemon": "( setsid env -i WEFT -C ROOT stop > OUT 2>&1; echo $? > OUT.code; echo > DONE ) &",
}
"""Called by the shell of the step; each is a process of its own."""


class Said(Struct, frozen=True):
    code: int
    text: str

    @property
    def is_refused(self) -> bool:
        return self.code == EXIT_INPUT and "is refused inside a step" in self.text


class Inside(Struct, frozen=True):
    """What a step heard of the commands that it called."""

    project: Project
    replies: dict[str, Said]

    def data(self, name: str) -> Any:
        return json.loads(self.replies[name].text)["data"]


@pytest.fixture(scope="module")
def inside(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Inside]:
    """One run, whose slice `a` calls all of them once slice `c` is done."""
    folder = tmp_path_factory.mktemp("steps")
    project, older = Project(folder / "project"), Project(folder / "older")
    try:
        older.plan(PLAN)
        older.process("run", "-q", "c")
        yield _probe(project, older)
    finally:
        project.end()
        older.end()


def _probe(project: Project, older: Project) -> Inside:
    outside, fresh = project.outside, project.root.with_name("fresh")
    names = {"ROOT": str(project.root), "OLDER": str(older.root), "FRESH": str(fresh), "WEFT": WEFT}
    (outside / "fresh.yaml").write_text(FRESH)
    (outside / "probe.py").write_text(PROGRAM)
    calls = {call: ["-C", str(project.root), *_filled(call, names).split()] for call in (*READS, *CHANGES)}
    (outside / "calls.json").write_text(json.dumps(calls))
    os.mkfifo(outside / "done")
    program = [sys.executable, "probe.py", "calls.json", "replies.json"]
    lines = [
        f"mkdir {fresh}; cp {outside}/fresh.yaml {fresh}/weft.yaml; cd {outside}",
        f"env -i HOME={outside} PATH=$PATH {shlex.join(program)}",
        f"cd {project.root}",
    ]
    for number, call in enumerate(GUISES.values()):
        out = outside / str(number)
        line = _filled(call, names | {"OUT": str(out), "DONE": str(outside / "done")})
        is_daemon = line.endswith("&")
        lines.append(f"( {line} )" if is_daemon else f"{line} > {out} 2>&1; echo $? > {out}.code")
    lines.append(f"read _ < {outside}/done")
    (outside / "probe.sh").write_text("\n".join(lines) + "\n")
    project.plan(PLAN.replace("OUTSIDE", str(outside)))
    project.process("run", "--no-wait")
    by_program = json.loads((outside / "replies.json").read_text()).items()
    by_shell = {guise: _said(outside / str(number)) for number, guise in enumerate(GUISES)}
    return Inside(project, {call: Said(code, text) for call, (code, text) in by_program} | by_shell)


def _filled(call: str, names: dict[str, str]) -> str:
    for name, value in names.items():
        call = call.replace(name, value)
    return call


def _said(file: Path) -> Said:
    return Said(int(file.with_name(f"{file.name}.code").read_text()), file.read_text())


@pytest.mark.parametrize("change", CHANGES)
def test_a_step_changes_nothing_also_without_variables(inside: Inside, change: str) -> None:
    assert inside.replies[change].is_refused, inside.replies[change].text


@pytest.mark.parametrize(
    "guise", ["as it is", "in a session of its own", "a fresh project, with variables", "a daemon"]
)
def test_a_step_changes_nothing_whatever_it_pretends(inside: Inside, guise: str) -> None:
    assert inside.replies[guise].is_refused, inside.replies[guise].text


def test_the_question_of_another_slice_is_still_open(inside: Inside) -> None:
    assert inside.project.marks() == []
    assert inside.project.weft("answer").output == "b:sure  Deploy?\n"


def test_status_shows_the_subplan_of_the_step(inside: Inside) -> None:
    data = inside.data("status --json --all")
    assert [each["path"] for each in data["subplans"]] == ["a"]
    assert {state: count for state, count in data["counts"].items() if count} == {"running": 1}


def test_events_and_logs_are_those_of_the_subplan(inside: Inside) -> None:
    events = [json.loads(line) for line in inside.replies["events --json"].text.splitlines()]
    assert {event["subplan"] for event in events} == {"a"}
    assert inside.replies["logs /"].code == 0
    assert "of-c" not in inside.replies["logs /"].text


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("logs c", "inside a step of a only a can be seen, and not c"),
        ("as another subplan", "inside a step of a only a can be seen, and not b"),
        ("logs a --run 20200101-000000-abcd", "inside a step only its own run can be seen"),
        ("replay", "inside a step of a only a can be seen, and not the whole run"),
    ],
)
def test_nothing_else_can_be_seen(inside: Inside, call: str, said: str) -> None:
    assert inside.replies[call].code == EXIT_INPUT
    assert said in inside.replies[call].text


def test_commands_that_read_files_work_inside_a_step(inside: Inside) -> None:
    assert inside.replies["check"].code == 0
    assert inside.replies["schema"].text.startswith("{")
    assert inside.data("doctor --json")["healthy"]


def test_a_step_without_variables_uses_weft_in_a_project_of_its_own(inside: Inside) -> None:
    reply = inside.replies["-C FRESH run -q"]
    assert reply.code == 0, reply.text
