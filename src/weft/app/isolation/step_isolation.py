"""Homes and sandboxes for the steps of a run."""

from collections.abc import Mapping
from pathlib import Path

from weft.app.isolation.sandboxes import homes_wanted
from weft.app.project.places import Places
from weft.plan.model import Plan
from weft.runtime.homes import Homes
from weft.runtime.isolation import Isolation
from weft.runtime.sandbox.boxes import Boxes
from weft.runtime.sandbox.probe import PROGRAM
from weft.runtime.sandbox.view import SandboxContext, users_homes
from weft.search_path import find_program


def isolation_of(
    plan: Plan, places: Places, run: str, directory: Path, environ: Mapping[str, str]
) -> Isolation:
    """Nothing is looked for where a plan wants neither."""
    root = places.homes(run)
    if not homes_wanted(plan):
        return Isolation(plan, Homes(root))
    program = find_program(PROGRAM, environ)
    grounds = SandboxContext(
        homes=users_homes(environ), project=places.project, weft=places.weft, plan_dir=directory
    )
    boxes = None if program is None else Boxes(program=program, grounds=grounds)
    return Isolation(plan, Homes(root, git_config=_identity(directory, environ)), boxes)


def _identity(directory: Path, environ: Mapping[str, str]) -> str:
    """Who the user is, for git; empty if nobody says."""
    from weft.workspaces.git.base.program import Git  # noqa: PLC0415 - most plans want no homes

    git = Git(directory, environ=environ)
    try:
        found = {name: git.ask("config", "--get", f"user.{name}").text for name in ("name", "email")}
    except OSError:  # there is no git
        return ""
    lines = [f"\t{name} = {_quoted(value)}\n" for name, value in found.items() if value]
    return "".join(("[user]\n", *lines)) if lines else ""


def _quoted(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
