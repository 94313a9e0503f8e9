"""What a command loads: a command that answers at once must not wait for modules it does not need.

Time depends on the machine, so modules are counted. A larger count is no error in itself: raise the bar if the
new module is needed to do what the command does, and import it where it is used if it is not.
"""

import subprocess
import sys
from collections.abc import Sequence

import pytest

from cli.running import Project

SCRIPT = """
import sys
sys.argv = ["weft", *sys.argv[1:]]
from weft.__main__ import main
try:
    main()
finally:
    sys.stdout.flush()
    print("", *sys.modules, sep="\\n", file=sys.stderr)
"""
PLAN = "subplans: [{id: a, steps: [{id: only, run: 'true'}]}]\n"

LIBRARIES = {"numpy", "jinja2", "jsonschema", "re2", "rich", "importlib.metadata", "difflib", "http.client"}
"""No command of the table needs one of them for a plan without mistakes, templates, schemas and webhooks."""
LOOP = {"anyio", "asyncio", "ssl"}
LANGUAGE = {
    "yaml",
    "fractions",
    "weft.plan.loader.load",
    "weft.plan.compile.compile",
    "weft.plan.proof.prove",
}
ENGINE = {"weft.engine.engine", "weft.runtime.effects", "weft.runtime.coordinator", "weft.hosts.local"}
GIT = {"weft.workspaces.git.base.program", "weft.workspaces.worktrees"}
TERMINAL = {"weft.cli.live.screen", "weft.cli.live.table", "termios"}
SANDBOX = {"weft.runtime.sandbox.boxes", "weft.runtime.sandbox.probe", "weft.runtime.sandbox.view"}
RARE = {
    "weft.app.run.replacement",
    "weft.app.control.control",
    "weft.plan.text.yaml_faults",
    "weft.plan.results.json_schemas",
}

READERS = LIBRARIES | LOOP | LANGUAGE | ENGINE | GIT | TERMINAL | SANDBOX | RARE
BARS = {
    ("--version",): (2, READERS | {"click", "msgspec", "typing", "re", "pathlib", "sqlite3"}),
    ("status", "--help"): (20, READERS | {"sqlite3"}),
    ("status",): (117, READERS | {"shutil"}),
    ("status", "--json"): (117, READERS | {"shutil"}),
    ("events", "--json"): (80, READERS | {"shutil"}),
    ("check",): (201, LIBRARIES | LOOP | ENGINE | GIT | TERMINAL | RARE),
    ("run", "--quiet", "--fresh"): (346, LIBRARIES | GIT | TERMINAL | SANDBOX | RARE),
}
"""For each command, the most modules of Weft that it loads, and modules that it never loads."""


def loaded_by(project: Project, words: Sequence[str]) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *words],
        cwd=project.root, env=project.env, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return set(done.stderr.split("\n\n")[-1].split())


@pytest.mark.parametrize("words", BARS, ids=" ".join)
def test_a_command_loads_only_what_it_needs(project: Project, words: Sequence[str]) -> None:
    project.plan(PLAN)
    if words[0] in {"status", "events"}:
        assert project.process("run", "--quiet").returncode == 0
    most, forbidden = BARS[tuple(words)]
    loaded = loaded_by(project, words)
    assert loaded & forbidden == set()
    assert len([name for name in loaded if name.startswith("weft")]) <= most
