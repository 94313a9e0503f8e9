"""Find a plan and load it with its configuration.

The project of a plan is the nearest directory around it that has `.weft` or `.git`. Variables such as
WEFT_MAX_PARALLEL come first, then the project's `.weft/config.yaml`, then the user's own configuration. Loading
runs no programs.
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from weft.app.project.files import STDIN, InputSource, read_text
from weft.app.project.places import PLAN_NAMES, absolute, project_around, user_folder, with_tilde
from weft.errors import FileFormatError, InputError
from weft.garbage import without_gc
from weft.plan.display.origins import flag_name
from weft.plan.language.agent_programs import AGENT_PROGRAMS
from weft.plan.language.money import amounts_in, kind_in_shell
from weft.plan.language.reader import BAD, Reader
from weft.plan.language.records import Values
from weft.plan.loader.load import (
    Config,
    Surroundings,
    configured_agents,
    load_plan,
    outer_layers,
    read_config,
)
from weft.plan.model import Plan
from weft.plan.order.outline import ROOT
from weft.plan.settings import AMOUNTS, VARIABLE_PREFIX, Layer, Scope, flag_setting, own_settings, setting_key
from weft.plan.text.document import LIMITS, Document, Scalar, Table
from weft.plan.text.problems import PlanError, Position, Problem
from weft.search_path import search_path
from weft.workspaces.git.base.discovery import repository_around

Flags = Mapping[str, str | None]
"""Texts from the command line by the names of settings, read as the plan language reads them; None: not given."""
NO_FLAGS: Flags = {}

_CONFIG = Path(".weft", "config.yaml")


# --- finding ---


def find_plan(name: str | None, directory: Path, *, command: str = "check") -> InputSource:
    """Returns the plan of this name or, without a name, the plan with a usual name in the directory."""
    if name is None:
        usual = usual_name(directory)
        if usual is None:
            looked_for = f"there is no {' and no '.join(PLAN_NAMES)} in {_directory_words(directory)}"
            raise InputError(
                f"{looked_for}; to write one, type: weft init; to name another file: weft {command} FILE"
            )
        name = usual
    elif name != STDIN and os.path.isdir(directory / name):  # noqa: PTH112 - also where nothing may be looked at
        usual = usual_name(directory / name)
        advice = "" if usual is None else f"; did you mean {os.path.join(name, usual)}?"  # noqa: PTH118 - as written
        raise InputError(f"cannot read {name}: is a directory{advice}")
    return InputSource(name=name, directory=directory, holds="plan")


def usual_name(directory: Path) -> str | None:
    """Returns the usual name that exists in the directory; None if there is none."""
    return next((name for name in PLAN_NAMES if os.path.lexists(directory / name)), None)


def _directory_words(directory: Path) -> str:
    return "this directory" if directory == Path() else str(directory)


# --- loading ---


def load(source: InputSource, *, flags: Flags = NO_FLAGS, environ: Mapping[str, str] = os.environ) -> Plan:
    """Returns the plan with its configuration; raises `PlanError` with all problems."""
    with without_gc():
        outranking = flags_layer(flags)
        text = _text(source)
        folder = folder_of(source)
        configs = tuple(_configs(source, folder, environ))
        git = repository_around(folder) is not None

        def load_source(programs: tuple[str, ...] = ()) -> Plan:
            surroundings = Surroundings(git=git, programs=programs)
            return load_plan(text, source.shown, configs=configs, flags=outranking, surroundings=surroundings)

        try:
            return load_source()
        except PlanError:
            # Only the message about a missing agent lists the installed agents, and the search can be slow.
            return load_source(installed_agents(environ))


def _text(source: InputSource) -> str:
    try:
        return read_text(source, most=LIMITS.size)
    except FileFormatError as error:
        at = Position(error.file, error.line or 1, error.column or 1)
        raise PlanError([Problem(at=at, message=error.bare_message)]) from None


def folder_of(source: InputSource) -> Path:
    """Returns the directory of the plan; the working directory for a plan from standard input."""
    path = source.directory if source.path is None else source.path.parent
    return absolute(path)


def _configs(source: InputSource, folder: Path, environ: Mapping[str, str]) -> Iterator[Config]:
    """Yields the configurations, those with the highest priority first."""
    yield from _variables(environ)
    for file in config_files(source, folder, environ):
        # `lexists`: a dangling link is reported as unreadable, not silently taken for a missing configuration.
        if os.path.lexists(file.path):
            text = _text(InputSource(name=str(file.path), label=file.shown))
            yield read_config(text, file.shown, file.where)


def _variables(environ: Mapping[str, str]) -> Iterator[Config]:
    variables = {name: value for name, value in environ.items() if name.startswith(VARIABLE_PREFIX)}
    if variables:
        from weft.plan.loader.variables import read_variables  # noqa: PLC0415 - most people set none
        from weft.runtime.environment import inside_step  # noqa: PLC0415

        if inside_step(environ) is None:  # inside a step, Weft itself has set them
            yield from read_variables(variables)


class ConfigFile(Struct, frozen=True):
    """A configuration file, which need not exist."""

    path: Path
    shown: str
    """The name in messages."""
    where: str
    """`project` or `user`."""


def config_files(source: InputSource, folder: Path, environ: Mapping[str, str]) -> Iterator[ConfigFile]:
    """Yields the configuration files of a plan, those with the highest priority first."""
    project = project_around(folder)
    if project is not None:
        beside = Path(source.name).parent if source.path is not None else Path()
        # Messages show the path as the user would write it, relative to the directory in which the plan was named.
        shown = os.path.normpath(beside / os.path.relpath(project / _CONFIG, folder))
        yield ConfigFile(project / _CONFIG, shown, "project")
    path = user_folder(environ, "XDG_CONFIG_HOME", ".config") / "config.yaml"
    yield ConfigFile(path, with_tilde(path, environ), "user")


def scope_around(source: InputSource, environ: Mapping[str, str]) -> Scope:
    """Returns the settings that a plan at this place would inherit."""
    folder = folder_of(source)
    configs = tuple(_configs(source, folder, environ))
    surroundings = Surroundings(git=repository_around(folder) is not None)
    return Scope(tuple(outer_layers(configs, configured_agents(configs), surroundings)))


_NOTHING = "weft: 1\nplan: none\nsubplans: [{id: none, steps: [{id: nothing, run: 'true'}]}]\n"


def empty_plan(directory: Path, environ: Mapping[str, str]) -> Plan:
    """Returns a plan with one empty step and with the agents and prices of the directory's configuration."""
    source = InputSource(name=STDIN, directory=directory, holds="plan")
    return load_plan(_NOTHING, source.shown, configs=tuple(_configs(source, folder_of(source), environ)))


def project_layer(plan: Plan) -> Layer | None:
    """Returns the layer of the project's configuration; None if there is none or it is empty."""
    layers = plan.scopes[ROOT].layers
    return next((layer for layer in layers if layer.where == "project" and layer.document is not None), None)


def user_layer(plan: Plan) -> Layer | None:
    """Returns the layer of the user's own configuration; None if there is none."""
    return next((layer for layer in plan.scopes[ROOT].layers if layer.where == "user"), None)


def installed_agents(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Returns the programs of agents that are installed."""
    folders = search_path(environ).split(os.pathsep)
    programs = [adapter.program for adapter in AGENT_PROGRAMS.values() if adapter.program is not None]
    return tuple(p for p in programs if any(_is_program(Path(folder, p)) for folder in folders))


def _is_program(path: Path) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)  # noqa: PTH113 - of what cannot be seen: no


def flags_layer(flags: Flags) -> Layer | None:
    """Returns the layer of the command-line flags; raises `InputError` for a value that is not allowed."""
    values: dict[str, object] = {}
    for flag, text in flags.items():
        if text is not None:
            setting = flag_setting(flag)
            value = _flag(setting, text)
            values |= (
                own_settings(Values({setting: value}, Table(1, 1))) if flag == setting else {setting: value}
            )
    return Layer("flags", values) if values else None


def _flag(setting: str, text: str) -> object:
    flag = flag_name(setting)
    node = amounts_in(text) if setting in AMOUNTS else Scalar(text, 1, 1, "")
    # A flag goes through the reader of the plan language, so that it accepts the same values and gives the same
    # messages.
    reader = Reader(Document(file=flag, text=text, root=node, problems=()))
    value: object = kind_in_shell(setting_key(setting).kind).read(node, reader, flag)
    if value is BAD or reader.failed:
        message = reader.problems[0].message
        raise InputError(message if message.startswith(flag) else f"{flag}: {message}")
    return value
