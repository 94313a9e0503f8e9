"""Looking never executes what the project brings: every command that only reads, in a project full of traps."""

import os
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from cli.running import Project
from e2e.repositories import Repository
from test_interpreter import SHADOWS
from weft.cli.effects import CommandEffect, WeftCommand
from weft.cli.main import cli
from workspaces.git.base.test_repository_programs import PROGRAMS

PLAN = """
merge: {mode: auto}
subplans:
  - {id: model, steps: [{id: work, run: "echo m > model; echo more >> README"}]}
  - {id: asks, steps: [{id: sure, action: ask, question: Really?}, {id: work, run: "true"}]}
"""
NET = '{"name": "n", "places": ["a", "b"], "transitions": {"t": {"in": ["a"], "out": ["b"]}}, "marking": {"a": 1}}'
COMMANDS: dict[str, tuple[tuple[str, ...], ...]] = {
    "agents": (("agents",), ("agents", "--json")),
    "check": (("check",), ("check", "--explain", "model"), ("check", "--json")),
    "completion": (("completion", "bash"),),
    "config settings": (("config",), ("config", "--files"), ("config", "merge.mode")),
    "config approvals": (("config", "approvals"),),
    "convert": (("convert", "ail", "weft.yaml"),),
    "decompose": (("decompose", "--max-files", "5"),),
    "diff": (
        ("diff", "model"),
        ("diff", "model", "--stat"),
        ("diff", "--json"),
        ("diff", "asks", "--name-only"),
    ),
    "doctor": (("doctor",), ("doctor", "--json")),
    "events": (("events",),),
    "graph": (("graph",),),
    "help": (("help", "run"),),
    "hosts": (("hosts",), ("hosts", "--json")),
    "logs": (("logs", "model"),),
    "net check": (("net", "check", "net.json"),),
    "net convert": (("net", "convert", "net.json", "--to", "dot"),),
    "net explore": (("net", "explore", "net.json"),),
    "net invariants": (("net", "invariants", "net.json"),),
    "replay": (("replay",),),
    "schema": (("schema",),),
    "show": (("show",),),
    "simulate": (("simulate", "--runs", "5"), ("simulate", "--backtest")),
    "status": (("status",), ("status", "--json")),
}
"""How each of them is tried."""
INSTALLED = (
    "claude",
    "codex",
    "gemini",
    "goose",
    "aider",
    "opencode",
    "pi",
    "vibe",
    "mini",
    "git",
    "bwrap",
    "node",
    "sh",
    "env",
)
TRAPS = (*INSTALLED, "less", "cat", "notify-send", "uv", "npm")


def reading(command: click.Command = cli, name: str = "") -> Iterator[str]:
    if isinstance(command, WeftCommand) and command.effect is CommandEffect.READS:
        yield name
    if isinstance(command, click.Group):
        context = click.Context(command)
        for inner in command.list_commands(context):
            result = command.get_command(context, inner)
            assert result is not None
            yield from reading(result, f"{name} {inner}".strip())


class Trapped(Repository):
    """A project with a run, in which every program that git or Weft might start leaves a mark."""

    def set_traps(self) -> None:
        script = self.outside / "evil.sh"
        script.write_text(f'#!/bin/sh\necho "$0 $@" >> {self.mark}\ncat\n')
        script.chmod(0o755)
        for key in PROGRAMS:
            self.git("config", key, str(script))
        for name in TRAPS:
            (self.root / name).write_text(script.read_text())
            (self.root / name).chmod(0o755)
        for hook in (
            "post-checkout",
            "post-index-change",
            "reference-transaction",
            "pre-auto-gc",
            "fsmonitor-watchman",
        ):
            (self.root / ".git/hooks").mkdir(exist_ok=True)
            (self.root / ".git/hooks" / hook).write_text(script.read_text())
            (self.root / ".git/hooks" / hook).chmod(0o755)
        (self.root / ".gitattributes").write_text("* filter=evil diff=evil merge=evil\n")
        (self.root / "net.json").write_text(NET)
        for place in (self.root, self.worktree("asks"), self.worktree("model")):
            (place / ".gitattributes").write_text("* filter=evil diff=evil merge=evil\n")
            # Its time differs and its size does not, so git has to read it, and a filter would run.
            (place / "README").write_text((place / "README").read_text().upper())
            os.utime(place / "README", (1, 1))

    @property
    def mark(self) -> Path:
        return self.outside / "mark"


@pytest.fixture(scope="module")
def trapped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trapped]:
    repository = Trapped(tmp_path_factory.mktemp("trapped") / "project")
    assert repository.plan(PLAN).run(waits=False).state == "waiting"
    repository.set_traps()
    yield repository
    repository.end()


def test_every_command_that_reads_is_tried() -> None:
    assert sorted(set(reading())) == sorted(COMMANDS)


@pytest.mark.parametrize(
    "arguments",
    [item for some in COMMANDS.values() for item in some],
    ids=" ".join,
)
def test_it_runs_nothing_that_the_project_brings(
    arguments: tuple[str, ...], trapped: Trapped, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(trapped.root)
    environ = {"PATH": f".::{os.environ['PATH']}", "HOME": str(trapped.outside)}
    done = CliRunner(env=environ).invoke(cli, [*arguments])
    assert not trapped.mark.exists(), trapped.mark.read_text()
    assert done.exit_code in {0, 1, 2}, done.output


def test_the_traps_work(trapped: Trapped) -> None:
    """So the marks of the test above could have been left."""
    trapped.ask_git("status")
    assert trapped.mark.exists()
    trapped.mark.unlink()


# --- modules of Python ---

SCRIPTED = """
agents: {player: {use: scripted, script: play.json}}
subplans:
  - {id: one, steps: [{id: work, prompt: Do it, agent: player}, {id: check, run: "true"}]}
"""


@pytest.mark.parametrize("command", ["run", "start"])
def test_a_project_full_of_modules_changes_nothing_for_a_run(command: str, tmp_path: Path) -> None:
    """Each process of it: the coordinator, the supervisor, the agent; also with a relative PYTHONPATH."""
    project = Project(tmp_path / "project").plan(SCRIPTED)
    (project.root / "play.json").write_text('[{"do": [{"write": {"made.txt": "text"}}]}]')
    mark = project.outside / "mark"
    for name in SHADOWS:
        (project.root / f"{name}.py").write_text(f"open({str(mark)!r}, 'a').write({name!r})\n")
    # The first process is the user's own call, which reads PYTHONPATH before Weft can: it is started elsewhere.
    arguments = ("-C", str(project.root), command)
    done = project.process(*arguments, cwd=project.outside, env={"PYTHONPATH": ".:"})
    assert done.returncode == 0, done.stderr
    if command == "start":
        assert project.process("events", "--follow").returncode == 0  # until the run has ended
    assert project.result("made.txt") == "text"
    assert not mark.exists(), mark.read_text()
