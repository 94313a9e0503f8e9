"""Shell commands: their output and exit, and that no process of them survives."""

import os
from pathlib import Path

import pytest

from hosts.places import pids, proc
from weft.agents.builtin import shell

ENVIRON = {"PATH": os.environ["PATH"]}


def run(command: str, folder: Path, *, seconds: float = 60, environ: dict[str, str] | None = None) -> str:
    return shell.run(command, root=str(folder), environ={**ENVIRON, **(environ or {})}, seconds=seconds)


def is_alive(pid: int) -> bool:
    """A process that has exited and was not reaped yet has no command line."""
    return bool(proc(pid, "cmdline"))


def left_alive() -> list[int]:
    """Of what this process has run; others may be tested at the same time."""
    mark = f"{shell.MARK}={os.getpid()}.".encode()
    return [pid for pid in pids() if mark in proc(pid, "environ")]


def test_output_and_exit_code_are_reported(tmp_path: Path) -> None:
    assert run("pwd; echo wrong >&2; exit 3", tmp_path) == f"{tmp_path}\nwrong\n\n[exit code 3]"


def test_there_is_no_input(tmp_path: Path) -> None:
    assert run("cat", tmp_path) == "\n[exit code 0]"


def test_of_a_long_output_the_ends_are_kept(tmp_path: Path) -> None:
    output = run("echo first; head -c 1000000 /dev/zero | tr '\\0' x; echo last", tmp_path)
    assert output.startswith("first\nxxx")
    assert output.endswith("xxxlast\n\n[exit code 0]")
    assert f"[… {1_000_011 - 20_000:,} bytes left out …]" in output


def test_a_command_that_takes_too_long_is_ended_with_all_it_started(tmp_path: Path) -> None:
    output = run("sleep 1000 & setsid sleep 1000 & wait", tmp_path, seconds=1)
    assert output == "\n[ended, as it took longer than 1 seconds]"
    assert left_alive() == []


def test_a_command_ends_when_its_shell_does_and_what_it_left_is_ended(tmp_path: Path) -> None:
    """Also one in a session of its own, and one that keeps on writing."""
    command = "setsid sh -c 'echo $$ > own; exec sleep 1000' & yes & echo $! > chatty; "
    command += "until test -s own; do :; done"
    assert run(f"{command}; echo ready >&2", tmp_path).endswith("[exit code 0]")
    for name in ("own", "chatty"):
        assert not is_alive(int((tmp_path / name).read_text()))
    assert left_alive() == []


def test_an_output_that_is_closed_early_does_not_disturb(tmp_path: Path) -> None:
    assert run("echo a; exec >&- 2>&-; echo done > file", tmp_path) == "a\n\n[exit code 0]"
    assert (tmp_path / "file").read_text() == "done\n"


def test_keys_and_the_report_are_not_for_commands(tmp_path: Path) -> None:
    environ = {
        "OPENAI_API_KEY": "secret",
        "ANTHROPIC_AUTH_TOKEN": "secret",
        "WEFT_RESULT": "/r",
        "WEFT_RUN": "run",
    }
    output = run("env", tmp_path, environ=environ)
    assert "secret" not in output
    assert "WEFT_RESULT" not in output
    assert "WEFT_RUN=run" in output


@pytest.mark.parametrize("command", ["echo \0", "x" * 300_000, "echo \ud800"])
def test_a_command_that_cannot_be_started_is_reported(tmp_path: Path, command: str) -> None:
    output = run(command, tmp_path)
    assert output.startswith("it could not be started: ")
    assert output.endswith("[failed]")
