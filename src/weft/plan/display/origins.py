"""Where the values of a plan come from, in words: a line of a file, a flag, a variable, a default."""

from msgspec import Struct

from weft.plan.model import Agent, Plan
from weft.plan.order.outline import ROOT
from weft.plan.settings import Layer, Scope
from weft.plan.text.document import Document, Table
from weft.plan.text.problems import Position


class Origin(Struct, frozen=True, kw_only=True):
    """Where a value comes from."""

    words: str = ""
    """A description, if the position in a file is not enough: `default`, a flag."""
    at: Position | None = None

    def __str__(self) -> str:
        place = "" if self.at is None else f"{self.at.file}:{self.at.line}"
        return ", ".join(filter(None, (place, self.words)))

    def to_json(self) -> dict[str, object]:
        if self.at is None:
            return {"origin": self.words}
        return {"origin": str(self), "file": self.at.file, "line": self.at.line}


def origin(scope: Scope, setting: str) -> Origin:
    """Returns the origin of the value in force."""
    _, layer = scope.find(setting)
    if layer is scope.flags:
        return Origin(words=flag_name(setting))
    return layer_origin(layer, setting)


def layer_origin(layer: Layer, setting: str) -> Origin:
    """Returns the origin of a value that one layer sets."""
    at = layer.origin(setting)
    # The file name already says that it is the plan or a configuration.
    plain = layer.where in _PLACES or layer.where.startswith("subplan ")
    return Origin(words="" if at is not None and plain else layer.where, at=at)


_PLACES = frozenset({"plan", "project", "user"})


def flag_name(setting: str) -> str:
    """Returns the flag for a setting: `--budget` sets dollars and tokens, `--merge` the mode."""
    return "--" + setting.removesuffix(".tokens").removesuffix(".mode").replace("_", "-")


def agent_origin(plan: Plan, agent: Agent) -> Origin:
    """Returns the file that defines the agent: the plan, or the nearest configuration."""
    documents = (layer.document for layer in plan.scopes[ROOT].layers if layer.document is not None)
    return next(
        Origin(at=document.position(agents.key(agent.name)))
        for document in documents
        # By identity: a name may be defined in several files, and only one of them is in force.
        if (agents := _agents_in(document)) is not None and agents.get(agent.name) is agent.source
    )


def host_origin(plan: Plan, name: str) -> Origin:
    """Returns the nearest file that defines a host."""
    documents = (layer.document for layer in plan.scopes[ROOT].layers if layer.document is not None)
    return next(
        Origin(at=document.position(hosts.key(name)))
        for document in documents
        if isinstance(document.root, Table)
        and isinstance(hosts := document.root.get("hosts"), Table)
        and name in hosts.entries
    )


def notify_origin(plan: Plan) -> Origin:
    """Returns the nearest file with `notify`."""
    documents = (layer.document for layer in plan.scopes[ROOT].layers if layer.document is not None)
    return next(
        Origin(at=document.position(document.root.key("notify")))
        for document in documents
        if isinstance(document.root, Table) and document.root.get("notify") is not None
    )


def _agents_in(document: Document) -> Table | None:
    agents = document.root.get("agents") if isinstance(document.root, Table) else None
    return agents if isinstance(agents, Table) else None
