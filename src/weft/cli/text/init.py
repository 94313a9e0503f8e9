"""Output of `weft init`: what was detected and which files were written."""

from collections.abc import Iterator
from typing import Any

from weft.app.init.init import InitResult
from weft.app.init.survey import GitState, ProjectSurvey
from weft.cli.terminal import Paragraph

_LABEL = 8
"""Columns for the word at the left."""


def init_lines(result: InitResult) -> Iterator[str]:
    for number, line in enumerate(_survey_lines(result.found)):
        yield f"{'' if number else 'found':<{_LABEL}} {line}"
    for file in result.files:
        note = f": {file.note}" if file.note else ""
        yield f"{'written' if file.is_new else 'kept':<{_LABEL}} {file.name}{note}"
    for number, warning in enumerate(result.warnings):
        yield Paragraph(f"{'' if number else 'warning':<{_LABEL}} {warning}", hang=_LABEL + 1)
    for number, command in enumerate(result.next):
        yield f"{'' if number else 'next':<{_LABEL}} {command}"
    if result.edit:
        yield Paragraph(f"{'edit':<{_LABEL}} {result.edit}", hang=_LABEL + 1)


def _survey_lines(survey: ProjectSurvey) -> Iterator[str]:
    yield _git(survey.git)
    yield f"agents: {', '.join(agent.name for agent in survey.agents) or 'none'}"
    tests = [f"{test.command} ({test.file})" for test in survey.tests]
    yield f"tests: {', '.join(tests) or 'none'}"
    if survey.has_sandbox:
        yield "sandbox: bubblewrap works; to confine steps to their workspace, set `sandbox` in .weft/config.yaml"


def _git(git: GitState) -> str:
    if not git.is_repository:
        return "no git repository"
    commits = "" if git.has_commits else " without commits"
    return f"a git repository{commits}" + (f", default branch {git.branch}" if git.branch else "")


def init_data(result: InitResult) -> dict[str, Any]:
    survey = result.found
    return {
        "project": str(result.project),
        "git": {
            "repository": survey.git.is_repository,
            "commits": survey.git.has_commits,
            "branch": survey.git.branch or None,
        },
        "agents": [{"name": agent.name, "program": agent.program} for agent in survey.agents],
        "tests": [{"command": test.command, "file": test.file} for test in survey.tests],
        "setup": survey.setup or None,
        "sandbox": survey.has_sandbox,
        "files": [
            {"file": file.name, "state": "written" if file.is_new else "kept", "note": file.note or None}
            for file in result.files
        ],
        "warnings": list(result.warnings),
        "next": list(result.next),
        "edit": result.edit or None,
    }
