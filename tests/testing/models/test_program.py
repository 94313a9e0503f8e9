"""The server as a program: it says where it is, and at its end what was asked."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from testing.models.asking import CHAT, send
from weft.testing.models.__main__ import main


def test_it_says_where_it_is_and_what_was_asked(tmp_path: Path) -> None:
    (tmp_path / "script.json").write_text('{"mine": [{"text": "Mine."}]}')
    argv = [sys.executable, "-m", "weft.testing.models", "script.json", "--log", "log"]
    with subprocess.Popen(argv, cwd=tmp_path, stdout=subprocess.PIPE, text=True, env=os.environ) as program:
        assert program.stdout is not None
        url = program.stdout.readline().strip()
        assert send(url + CHAT, {}).json["choices"][0]["message"]["content"] == "Mine."
        program.send_signal(signal.SIGTERM)
    assert program.returncode == 0
    (request,) = map(json.loads, (tmp_path / "log").read_text().splitlines())
    assert request["text"] == "Mine."


@pytest.mark.parametrize(("text", "problem"), [("[", "is not JSON"), (None, "No such file")])
def test_a_script_that_is_none_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str | None, problem: str
) -> None:
    script = tmp_path / "script.json"
    if text is not None:
        script.write_text(text)
    assert main([str(script)]) == 2
    assert problem in capsys.readouterr().err
