"""The settings in force in a directory, with their origins and the files that set them."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from weft.app.project import plans
from weft.app.project.approval import ApprovalRequest, request_of, request_of_hosts
from weft.app.project.files import InputSource
from weft.app.project.places import FOLDER, PLAN_NAMES, absolute, project_of
from weft.errors import InputError
from weft.plan.display import notation
from weft.plan.display.explain import EffectiveValue
from weft.plan.display.origins import Origin, layer_origin, origin
from weft.plan.language.commands import plain
from weft.plan.language.kinds_of_many import MapOf
from weft.plan.language.records import Key
from weft.plan.language.tables import CONFIG, SETTINGS
from weft.plan.order.outline import ROOT
from weft.plan.settings import (
    DEFAULTS,
    SETTING_NAMES,
    VARIABLE_SETTINGS,
    Layer,
    Scope,
    setting_key,
    variable_name,
)
from weft.plan.text.document import Document, Node, Table
from weft.plan.text.emit import Plain
from weft.plan.text.problems import suggestion

OTHER_KEYS = tuple(key for key in CONFIG.keys if key not in SETTINGS)
"""Keys of a configuration that are not settings; subplans do not inherit them."""


class Configuration(Struct, frozen=True, kw_only=True):
    plan: str | None
    """The file of the plan, if there is one with a usual name."""
    scope: Scope

    def settings(self) -> Iterator[EffectiveValue]:
        for name, value, _ in self.scope.settings_with_origin():
            yield EffectiveValue(
                name=name, value=notation.setting(name, value), origin=origin(self.scope, name)
            )

    def others(self) -> Iterator[EffectiveValue]:
        """Yields the values of keys that are not settings, such as agents."""
        for key in OTHER_KEYS:
            yield from (place.row for place in self.places(key) if place.wins)

    def places(self, key: Key) -> Iterator["SetValue"]:
        """Yields all values of a key that is not a setting, those nearest to the plan first."""
        # The documents come in the order of their priority, so the first value of a name is the one in force.
        names: set[str] = set()
        for document in self._documents():
            for name, node, value in _values_in(document, key):
                at = Origin(at=document.position(node))
                yield SetValue(row=EffectiveValue(name=name, value=value, origin=at), wins=name not in names)
                names.add(name)

    def _documents(self) -> Iterator[Document]:
        documents = (layer.document for layer in self.scope.layers if layer.document is not None)
        return iter({id(document): document for document in documents}.values())


def _values_in(document: Document, key: Key) -> Iterator[tuple[str, Node, Plain]]:
    """Yields the values of a key in a document; a mapping of names, such as agents, has a value for each name."""
    assert isinstance(document.root, Table), "it has been read without an error"
    node = document.root.get(key.name)
    if isinstance(key.kind, MapOf) and isinstance(node, Table):
        for name, (at, value) in node.entries.items():
            yield f"{key.name}.{name}", at, plain(value)
    elif node is not None:
        yield key.name, node, plain(node)


class SetValue(Struct, frozen=True, kw_only=True):
    """A value that a file, a variable or a default sets."""

    row: EffectiveValue
    wins: bool
    """Whether this value is in force."""


class KeyExplanation(Struct, frozen=True, kw_only=True):
    name: str
    key: Key
    variable: str | None
    """The environment variable that also sets it."""
    places: tuple[SetValue, ...]
    """The values, the one in force first."""


def configuration_of(directory: Path, environ: Mapping[str, str]) -> Configuration:
    """Returns the configuration of a directory, with its plan if there is one with a usual name."""
    name = plans.usual_name(directory)
    if name is None:
        return Configuration(plan=None, scope=plans.scope_around(_beside(directory), environ))
    plan = plans.load(InputSource(name=name, directory=directory, holds="plan"), environ=environ)
    return Configuration(plan=name, scope=plan.scopes[ROOT])


def _beside(directory: Path) -> InputSource:
    """Returns the source of a plan in this directory, which need not exist."""
    return InputSource(name=PLAN_NAMES[0], directory=directory, holds="plan")


def explain_key(directory: Path, name: str, environ: Mapping[str, str]) -> KeyExplanation:
    """Explains one key; raises `InputError` if it does not exist."""
    others = {key.name: key for key in OTHER_KEYS}
    if name not in SETTING_NAMES and name not in others:
        raise InputError(f"there is no setting {name!r}{suggestion(name, [*SETTING_NAMES, *others])}")
    configuration = configuration_of(directory, environ)
    if name in others:
        places = tuple(configuration.places(others[name]))
        return KeyExplanation(name=name, key=others[name], variable=None, places=places)
    return KeyExplanation(
        name=name,
        key=setting_key(name),
        variable=variable_name(name) if name in VARIABLE_SETTINGS else None,
        places=tuple(_places(name, configuration.scope)),
    )


def _places(name: str, scope: Scope) -> Iterator[SetValue]:
    """Yields all values of a setting, the one in force first; of the defaults, only the effective one, last."""
    layers = [layer for layer in scope.layers if name in layer.values]
    if all(layer.where != DEFAULTS.where for layer in layers):
        layers.append(DEFAULTS)
    for number, layer in enumerate(layers):
        yield SetValue(row=_row(name, layer), wins=number == 0)


def _row(name: str, layer: Layer) -> EffectiveValue:
    value = notation.setting(name, layer.values[name])
    return EffectiveValue(name=name, value=value, origin=layer_origin(layer, name))


# --- files ---


class ReadFile(Struct, frozen=True, kw_only=True):
    what: str
    """"plan", "project", "user"."""
    path: Path
    there: bool


def files(directory: Path, environ: Mapping[str, str]) -> Iterator[ReadFile]:
    """Yields the files that are read for a directory if they exist, those nearest to the plan first."""
    folder = absolute(directory)
    name = plans.usual_name(directory) or PLAN_NAMES[0]
    named = {file.where: file.path for file in plans.config_files(_beside(directory), folder, environ)}
    project = project_of(folder).project / FOLDER / "config.yaml"
    for kind, path in {"plan": folder / name, "project": project, "user": named["user"]}.items():
        yield ReadFile(what=kind, path=path, there=os.path.lexists(path))


# --- commands to approve ---


def approval_requests(
    directory: Path, environ: Mapping[str, str], plan: str | None = None
) -> tuple[ApprovalRequest, ...]:
    """Returns what the user has to approve: for the project's configuration, and for the hosts of a plan.

    `plan` is the plan's file; None for the one with a usual name, if there is one.
    """
    requests = (approval_request(directory, environ), _hosts_request(directory, environ, plan))
    return tuple(request for request in requests if request is not None)


def _hosts_request(directory: Path, environ: Mapping[str, str], name: str | None) -> ApprovalRequest | None:
    name = plans.usual_name(directory) if name is None else name
    if name is None:
        return None
    source = plans.find_plan(name, directory, command="config approve --plan")
    folder = plans.folder_of(source)
    loaded = plans.load(source, environ=environ)
    return request_of_hosts(loaded, source.path, project_of(folder).project, environ)


def approval_request(directory: Path, environ: Mapping[str, str]) -> ApprovalRequest | None:
    """Returns what the user has to approve in the project around a directory, independent of its plans."""
    layers = plans.scope_around(_beside(directory), environ).layers
    layer, user = (
        next((candidate for candidate in layers if candidate.where == where), None)
        for where in ("project", "user")
    )
    if layer is None:
        return None
    return request_of(layer, project_of(absolute(directory)).project, environ, user=user)
