"""The plan and the configuration can be read."""

import os
import shlex
from collections.abc import Iterator

from weft.app.doctor.context import DoctorContext
from weft.app.doctor.findings import Check, Finding, fine, problem
from weft.app.project.files import InputSource, read_text
from weft.app.project.places import PLAN_NAMES
from weft.app.project.plans import ConfigFile, config_files
from weft.errors import InputError
from weft.plan.loader.load import read_config
from weft.plan.text.document import LIMITS
from weft.plan.text.problems import PlanError, Severity


def files(ground: DoctorContext) -> Iterator[ConfigFile]:
    """The configuration that counts here, as far as there is any."""
    source = ground.plan_file or InputSource(name=PLAN_NAMES[0], directory=ground.places.project)
    for one in config_files(source, source.directory, ground.environ):
        if os.path.lexists(one.path):
            yield one


def plan(ground: DoctorContext) -> Iterator[Finding]:
    if ground.plan_file is None:
        yield fine(f"there is no {PLAN_NAMES[0]} here")
        return
    shown = ground.plan_file.shown
    try:
        found = ground.plan
    except PlanError as error:
        own = [one for one in _told(error, f"weft check {shlex.quote(shown)}") if _is_about(one, shown)]
        yield from own or [fine(f"{shown} cannot be read before the configuration can")]
    except InputError as error:
        yield problem(str(error), command=f"weft check {shlex.quote(shown)}", subject=shown)
    else:
        assert found is not None
        yield fine(f"{shown}: the plan {found.id}")


def _is_about(finding: Finding, file: str) -> bool:
    return finding.subject.startswith(f"{file}:")


def configuration(ground: DoctorContext) -> Iterator[Finding]:
    for one in files(ground):
        try:
            text = read_text(InputSource(name=str(one.path), label=one.shown), most=LIMITS.size)
            read_config(text, one.shown, one.where)
        except PlanError as error:
            yield from _told(error, "weft schema --reference")
        except InputError as error:
            yield problem(str(error), command=f"ls -l {shlex.quote(str(one.path))}", subject=one.shown)
        else:
            yield fine(one.shown)


def _told(error: PlanError, command: str) -> Iterator[Finding]:
    """One line each, without the picture of the place."""
    for one in error.problems:
        if one.severity is Severity.ERROR:
            yield problem(f"{one.at}: {one.message}", command=command, subject=f"{one.at}: {one.message}")


CHECKS = (
    Check(
        id="plan",
        looks_at="`weft.yaml`, where you are or at the root of the project, can be read",
        why="it could not be run",
        examine=plan,
    ),
    Check(
        id="configuration",
        looks_at="the configuration of the project (`.weft/config.yaml`) and your own can be read",
        why="no plan can be run while one of them is wrong",
        examine=configuration,
    ),
)
