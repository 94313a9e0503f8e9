"""`weft init`: write a first plan and configuration. Existing files are kept.

It checks all paths before it writes, and removes the files it has written if one cannot be written.
"""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from weft.app.init.survey import ProjectSurvey, survey
from weft.app.init.templates import config_text, plan_text, what_to_edit
from weft.app.preflight.imports import import_findings
from weft.app.project.files import InputSource, failure, save_text
from weft.app.project.places import FOLDER, IGNORED, PLAN_NAMES, absolute, project_of
from weft.app.project.plans import load
from weft.errors import InputError, WeftError
from weft.plan.language.schema import plan_schema

_SCHEMA = "schema.json"


class File(Struct, frozen=True, kw_only=True):
    name: str
    """The path, relative to the current directory."""
    is_new: bool
    note: str = ""
    """A remark for the user."""


class InitResult(Struct, frozen=True, kw_only=True):
    project: Path
    found: ProjectSurvey
    files: tuple[File, ...]
    next: tuple[str, ...]
    """The commands to type next."""
    edit: str = ""
    """What to change in the plan; empty if the plan existed before."""
    warnings: tuple[str, ...] = ()
    """Reasons why tests in worktrees might test the code of the checkout."""


class _NewFile(Struct, frozen=True):
    path: Path
    text: str


def initialize(folder: Path, environ: Mapping[str, str]) -> InitResult:
    """Writes the missing files. Raises `InputError` if it cannot, and has changed nothing then."""
    folder = absolute(folder)
    places = project_of(folder)
    project = places.project
    findings = survey(folder, environ)
    new_files = list(_new_files(folder, project, findings))
    _refuse_what_is_in_the_way(new_files, project)
    # `lexists`: a dangling link is something of the user's as well, and writing through it would create a file
    # elsewhere.
    new = [wanted_file for wanted_file in new_files if not os.path.lexists(wanted_file.path)]
    renewed = [places.ignore] if places.ignores_too_much else []
    _write(new, project)
    places.make()
    files = (
        _file(wanted_file, folder, is_new=wanted_file in new, is_renewed=wanted_file.path in renewed)
        for wanted_file in new_files
    )
    return InitResult(
        project=project,
        found=findings,
        files=tuple(files),
        next=tuple(_next(findings)),
        edit=what_to_edit(findings, new_files[-1].path.name) if new_files[-1] in new else "",
        warnings=tuple(_warnings(new_files[-1].path, environ)),
    )


def _warnings(plan: Path, environ: Mapping[str, str]) -> Iterator[str]:
    """Yields warnings about imports. A plan that cannot be loaded has none; `weft check` reports its errors."""
    try:
        loaded = load(InputSource(name=plan.name, directory=plan.parent, holds="plan"), environ=environ)
    except InputError:
        return
    yield from (finding.message for finding in import_findings(loaded, plan.parent, environ))


def _new_files(folder: Path, project: Path, found: ProjectSurvey) -> Iterator[_NewFile]:
    """Yields the files to write.

    The plan is last, so that the files it refers to exist as soon as it does.
    """
    home = project / FOLDER
    schema = json.dumps(plan_schema(), indent=2, ensure_ascii=False) + "\n"
    yield _NewFile(home / ".gitignore", IGNORED)
    yield _NewFile(home / _SCHEMA, schema)
    yield _NewFile(home / "config.yaml", config_text(found))
    plan = next((name for name in PLAN_NAMES if os.path.lexists(folder / name)), PLAN_NAMES[0])
    where = os.path.relpath(home / _SCHEMA, folder)
    yield _NewFile(folder / plan, plan_text(found, name=folder.name, schema=where))


def _refuse_what_is_in_the_way(wanted: list[_NewFile], project: Path) -> None:
    home = project / FOLDER
    if os.path.lexists(home) and not home.is_dir():
        raise InputError(f"{home} is not a directory, but Weft needs a directory of that name; move it away")
    for wanted_file in wanted:
        if wanted_file.path.is_dir():
            raise InputError(f"{wanted_file.path} is a directory, but must be a file; move it away")


def _write(new: list[_NewFile], project: Path) -> None:
    home = project / FOLDER
    created = [wanted_file.path for wanted_file in new]
    is_new = not os.path.lexists(home)
    try:
        home.mkdir(exist_ok=True)
        for file in new:
            save_text(file.text, file.path.name, source=InputSource(name="-", directory=file.path.parent))
    except (OSError, WeftError) as error:
        _remove_created(created, home if is_new else None)
        raise failure(f"cannot make {home}", error) if isinstance(error, OSError) else error from None


def _remove_created(created: list[Path], home: Path | None) -> None:
    for path in created:
        with suppress(OSError):
            path.unlink()
    if home is not None:
        with suppress(OSError):
            home.rmdir()


def _file(wanted_file: _NewFile, folder: Path, *, is_new: bool, is_renewed: bool) -> File:
    is_old_schema = (
        not is_new and wanted_file.path.name == _SCHEMA and not _holds(wanted_file.path, wanted_file.text)
    )
    note = "of another version of Weft; to replace it, delete it and type this again" if is_old_schema else ""
    note = "was of an earlier version of Weft and is replaced: git keeps schema.json" if is_renewed else note
    return File(name=os.path.relpath(wanted_file.path, folder), is_new=is_new, note=note)


def _holds(file: Path, text: str) -> bool:
    try:
        return file.read_bytes() == text.encode()
    except OSError:
        return False


def _next(found: ProjectSurvey) -> Iterator[str]:
    if found.git.is_repository and not found.git.has_commits:
        yield "git add --all && git commit -m start"  # slices start from a commit
    yield "weft check"
