"""Find packages through which tests in a worktree would import the code of the checkout instead of their own.

This happens where a package of the project is installed as a link: `pip install -e` for Python, workspaces and
`npm link` for Node, which also searches `node_modules` in all directories above a worktree.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from weft.app.preflight.findings import PreflightFinding, warning
from weft.app.preflight.plan_commands import planned_commands
from weft.app.preflight.python_installs import CheckoutLink, can_precede, checkout_links
from weft.plan.model import Command, Plan
from weft.workspaces.git.base.discovery import repository_around

_PYTHON = re.compile(r"(?<![\w./=-])((?:[\w.-]*/)*(?:python[\d.]*|pytest|py\.test))(?=\s|$)")
_ITS_OWN = frozenset({"uv", "poetry", "pdm", "hatch", "tox", "nox", "rye", "pipenv", "pixi"})
"""Programs that create an environment for each checkout."""
_SCRIPTS = frozenset({"make", "gmake", "just", "task", "sh", "bash", "doit", "invoke"})
"""Programs that run commands from a file of the project."""
_IN_PLACE = re.compile(r"python[\d.]*\s+-[mc]\b")
"""With `-m` and `-c`, Python puts its working directory first on the import path."""
_USUAL = ("pytest", "python3", "python")
_MAKES_ENVIRONMENT = re.compile(r"-m venv\b|\bvirtualenv\b|\buv\b|\bpoetry\b|\bpip3? install\b|\bconda\b")
_INSTALLS_MODULES = re.compile(r"\b(?:npm|pnpm|yarn|bun)\b")
_NODE = frozenset({"npm", "npx", "node", "yarn", "pnpm", "bun", "jest", "vitest", "mocha", *_SCRIPTS})


_HANDLED = "Weft sets PYTHONPATH to"


class PythonImports(Struct, frozen=True, kw_only=True):
    """The links into the checkout that the commands of a plan would import."""

    links: tuple[CheckoutLink, ...] = ()
    roots: tuple[Path, ...] = ()
    """Roots of links that each worktree puts first on its import path, relative to the plan's directory."""


def python_imports(plan: Plan, folder: Path, environ: Mapping[str, str]) -> PythonImports:
    top = repository_around(folder)
    if top is None or not _has_worktrees(plan):
        return PythonImports()
    commands = [*_commands(plan)]
    here = Path(os.path.realpath(folder))
    # If every command puts its working directory first, a link to the plan's own directory is never reached.
    is_in_place = all(_IN_PLACE.search(command) for command in commands if _named_interpreters(command))
    links = tuple(
        link
        for link in checkout_links(_programs(commands, folder), top, environ)
        if not (is_in_place and link.root == here)
    )
    # The user passes a PYTHONPATH of their own to the steps, which Weft must not overwrite.
    if "PYTHONPATH" in plan.env_allow:
        return PythonImports(links=links)
    roots = (link.root for link in links if can_precede(link, top))
    return PythonImports(
        links=links, roots=tuple(dict.fromkeys(Path(os.path.relpath(root, here)) for root in roots))
    )


def import_findings(plan: Plan, folder: Path, environ: Mapping[str, str]) -> Iterator[PreflightFinding]:
    imports = python_imports(plan, folder, environ)
    here = Path(os.path.realpath(folder))
    for link in imports.links:
        root = Path(os.path.relpath(link.root, here))
        yield warning("import", _python_message(link, root, is_first=root in imports.roots))
    yield from _node_findings(plan, folder)


def is_handled(finding: PreflightFinding) -> bool:
    """Returns whether Weft handles it with PYTHONPATH, so that the user has nothing to do."""
    return _HANDLED in finding.message


def _has_worktrees(plan: Plan) -> bool:
    rows = range(len(plan.subplans))
    return any(plan.scopes[row].settings.has_branch for row in rows if plan.outline.is_leaf(row))


# Python


def _commands(plan: Plan) -> Iterator[str]:
    """Yields the commands that may run Python in an environment that worktrees share."""
    for planned in planned_commands(plan):
        setup = " ".join(map(_text, plan.scopes[planned.row].settings.setup_commands))
        text = _text(planned.command)
        # A worktree that creates its own environment installs its own code there.
        if not planned.purpose.startswith("agent ") and not _MAKES_ENVIRONMENT.search(f"{setup} {text}"):
            yield text


def _programs(commands: Iterable[str], folder: Path) -> list[str]:
    """Returns the Python programs that the commands name; tests run in their environments."""
    names = dict.fromkeys(name for command in commands for name in _named_interpreters(command))
    places = ((name, folder / name) for name in names)
    return [str(place) if "/" in name and place.exists() else name for name, place in places]


def _named_interpreters(command: str) -> Sequence[str]:
    first = Path((command.split() or [""])[0]).name
    if first in _ITS_OWN or "PYTHONPATH=" in command:
        return ()
    return _PYTHON.findall(command) or (_USUAL if first in _SCRIPTS else ())


def _text(command: Command) -> str:
    return command if isinstance(command, str) else " ".join(command)


def _python_message(link: CheckoutLink, root: Path, *, is_first: bool) -> str:
    installed = (
        f"the package {link.package} is installed in {link.site} as a link to this checkout (pip install -e)"
    )
    if is_first:
        return f"{installed}; so that slices test their own code, {_HANDLED} {root} of each worktree"
    path = "$PWD" if root == Path() else f"$PWD/{root}"
    return (
        f"{installed}, so a slice would test the code of the checkout; write `verify: PYTHONPATH={path} pytest "
        "-q`, or give each worktree an environment of its own: `setup: python3 -m venv .venv && .venv/bin/pip "
        "install -e .` and `verify: .venv/bin/pytest -q`"
    )


# Node


def _node_findings(plan: Plan, folder: Path) -> Iterator[PreflightFinding]:
    top = repository_around(folder)
    if top is None or not _has_worktrees(plan) or not _runs_node(plan):
        return
    for modules in dict.fromkeys((folder / "node_modules", top / "node_modules")):
        linked = [*_linked_packages(modules, Path(os.path.realpath(top)))]
        if linked:
            more = f" and {len(linked) - 1} more" if len(linked) > 1 else ""
            yield warning(
                "import",
                f"{modules / linked[0]}{more} is a link to this checkout (a workspace, or npm link), and Node "
                "finds it from each worktree, so a slice would test the code of the checkout; write `setup: npm "
                "ci` (or what installs your packages), and do not name node_modules under `link`",
            )


def _runs_node(plan: Plan) -> bool:
    """Returns whether a command may load packages of the project in a worktree without installed packages."""
    for planned in planned_commands(plan):
        setup = " ".join(map(_text, plan.scopes[planned.row].settings.setup_commands))
        first = Path((_text(planned.command).split() or [""])[0]).name
        if first in _NODE and not _INSTALLS_MODULES.search(setup):
            return True
    return False


def _linked_packages(modules: Path, top: Path) -> Iterator[str]:
    """Yields the packages in `node_modules` that are links into the checkout."""
    if not modules.is_dir():
        return
    real = Path(os.path.realpath(modules))
    # Scoped packages are one level deeper: `node_modules/@scope/name`.
    for entry in sorted([*modules.iterdir(), *modules.glob("@*/*")]):
        if entry.is_symlink():
            target = Path(os.path.realpath(entry))
            # pnpm links every package to its own store inside `node_modules`; those links are harmless.
            if target.is_relative_to(top) and not target.is_relative_to(real) and target.is_dir():
                yield entry.relative_to(modules).as_posix()
