"""A place to work in, and a server that plays a scenario there."""

import json
import os
import select
import sys
from pathlib import Path
from typing import Any

FAKE = Path(__file__).parent / "fake.py"


class Bench:
    def __init__(self, folder: Path) -> None:
        self.work = folder / "work"
        self.work.mkdir()
        self.file = folder / "scenario.json"
        self.result_file = folder / "step.result.json"

    def argv(self, scenario: dict[str, Any]) -> list[str]:
        self.file.write_text(json.dumps(scenario), encoding="utf-8")
        return [sys.executable, "-I", "-S", str(FAKE), str(self.file)]

    def heard(self) -> list[dict[str, Any]]:
        text = (self.work / "heard.jsonl").read_text(encoding="utf-8")
        return [json.loads(line) for line in text.splitlines()]

    def report(self) -> dict[str, Any]:
        return dict(json.loads(self.result_file.read_text(encoding="utf-8")))


def wait_until_gone(pid: int) -> None:
    """For ever, if need be."""
    try:
        end = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    select.select([end], [], [])
    os.close(end)
