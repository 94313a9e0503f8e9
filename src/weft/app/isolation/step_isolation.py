"""Homes and sandboxes for the steps of a run."""

from collections.abc import Mapping
from pathlib import Path

from weft.app.isolation.sandboxes import needs_homes
from weft.app.project.places import Places
from weft.plan.model import Plan
from weft.runtime.homes import Homes
from weft.runtime.isolation import Isolation
from weft.search_path import find_program


def isolation_of(
    plan: Plan, places: Places, run: str, directory: Path, environ: Mapping[str, str]
) -> Isolation:
    """Returns the isolation of a run's steps. A plan without homes and sandboxes causes no search for programs."""
    root = places.homes(run)
    if not needs_homes(plan):
        return Isolation(plan, Homes(root))
    from weft.runtime.sandbox.boxes import Boxes  # noqa: PLC0415 - most plans want no homes
    from weft.runtime.sandbox.probe import PROGRAM  # noqa: PLC0415
    from weft.runtime.sandbox.view import SandboxContext, users_homes  # noqa: PLC0415

    program = find_program(PROGRAM, environ)
    context = SandboxContext(
        homes=users_homes(environ), project=places.project, weft=places.weft, plan_dir=directory
    )
    boxes = None if program is None else Boxes(program=program, context=context)
    return Isolation(plan, Homes(root, git_config=_identity(directory, environ)), boxes)


def _identity(directory: Path, environ: Mapping[str, str]) -> str:
    """Returns a git configuration with the user's name and email; empty if git has neither."""
    from weft.workspaces.git.base.program import Git  # noqa: PLC0415 - most plans want no homes

    git = Git(directory, environ=environ)
    try:
        # Git refuses to commit without an identity, and a step with a home of its own does not see the user's
        # ~/.gitconfig.
        identity = {name: git.ask("config", "--get", f"user.{name}").text for name in ("name", "email")}
    except OSError:  # there is no git
        return ""
    lines = [f"\t{name} = {_quote(value)}\n" for name, value in identity.items() if value]
    return "".join(("[user]\n", *lines)) if lines else ""


def _quote(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
