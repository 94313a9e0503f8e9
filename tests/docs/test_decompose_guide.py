"""The guide to decomposing says what is so: its commands print what it shows."""

import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from weft.cli.main import cli

GUIDE = (Path(__file__).parents[2] / "docs/guide/decomposing.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", GUIDE, flags=re.MULTILINE | re.DOTALL)


def test_the_commands_of_the_guide_print_what_it_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    subprocess.run(["sh", "-ec", blocks("sh")[0]], cwd=tmp_path, check=True)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/claude").touch(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    monkeypatch.chdir(tmp_path / "shop")
    for block in blocks("console"):
        command, _, output = block.partition("\n")
        done = CliRunner().invoke(cli, shlex.split(command.removeprefix("$ weft ")))
        assert (done.exit_code, done.stdout + done.stderr) == (0, output)
    assert Path("weft.yaml").read_text() == blocks("yaml")[0]
    assert CliRunner().invoke(cli, ["check", "--plan-only"]).exit_code == 0
