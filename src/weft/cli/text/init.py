"""How `weft init` tells what it has found and written."""

from collections.abc import Iterator
from typing import Any

from weft.app.init.init import InitResult
from weft.app.init.survey import GitState, ProjectSurvey
from weft.cli.terminal import Paragraph

_LABEL = 8
"""Columns for the word at the left."""


def init_lines(done: InitResult) -> Iterator[str]:
    for number, line in enumerate(_found(done.found)):
        yield f"{'' if number else 'found':<{_LABEL}} {line}"
    for file in done.files:
        note = f": {file.note}" if file.note else ""
        yield f"{'written' if file.is_new else 'kept':<{_LABEL}} {file.name}{note}"
    for number, warning in enumerate(done.warnings):
        yield Paragraph(f"{'' if number else 'warning':<{_LABEL}} {warning}", hang=_LABEL + 1)
    for number, command in enumerate(done.next):
        yield f"{'' if number else 'next':<{_LABEL}} {command}"
    if done.edit:
        yield Paragraph(f"{'edit':<{_LABEL}} {done.edit}", hang=_LABEL + 1)


def _found(found: ProjectSurvey) -> Iterator[str]:
    yield _git(found.git)
    yield f"agents: {', '.join(one.name for one in found.agents) or 'none'}"
    tests = [f"{one.command} ({one.file})" for one in found.tests]
    yield f"tests: {', '.join(tests) or 'none'}"
    if found.has_sandbox:
        yield "sandbox: bubblewrap works; to confine steps to their workspace, set `sandbox` in .weft/config.yaml"


def _git(git: GitState) -> str:
    if not git.is_repository:
        return "no git repository"
    commits = "" if git.has_commits else " without commits"
    return f"a git repository{commits}" + (f", default branch {git.branch}" if git.branch else "")


def init_data(done: InitResult) -> dict[str, Any]:
    found = done.found
    return {
        "project": str(done.project),
        "git": {
            "repository": found.git.is_repository,
            "commits": found.git.has_commits,
            "branch": found.git.branch or None,
        },
        "agents": [{"name": one.name, "program": one.program} for one in found.agents],
        "tests": [{"command": one.command, "file": one.file} for one in found.tests],
        "setup": found.setup or None,
        "sandbox": found.has_sandbox,
        "files": [
            {"file": one.name, "state": "written" if one.is_new else "kept", "note": one.note or None}
            for one in done.files
        ],
        "warnings": list(done.warnings),
        "next": list(done.next),
        "edit": done.edit or None,
    }
