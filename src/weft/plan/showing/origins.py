"""Where the values of a plan come from, in words: a line of a file, a flag, a variable, a default."""

from msgspec import Struct

from weft.plan.model import Agent, Plan
from weft.plan.order.outline import ROOT
from weft.plan.settings import Layer, Scope
from weft.plan.text.document import Document, Table
from weft.plan.text.problems import Position


class Origin(Struct, frozen=True, kw_only=True):
    words: str = ""
    """What it is, where the place in a file does not say it: `default`, a flag."""
    at: Position | None = None

    def __str__(self) -> str:
        place = "" if self.at is None else f"{self.at.file}:{self.at.line}"
        return ", ".join(filter(None, (place, self.words)))

    def to_json(self) -> dict[str, object]:
        if self.at is None:
            return {"origin": self.words}
        return {"origin": str(self), "file": self.at.file, "line": self.at.line}


def origin(scope: Scope, setting: str) -> Origin:
    """Of the value that is in force."""
    _, layer = scope.find(setting)
    if layer is scope.flags:
        return Origin(words=flag_name(setting))
    return layer_origin(layer, setting)


def layer_origin(layer: Layer, setting: str) -> Origin:
    """Of what one place sets."""
    at = layer.origin(setting)
    plain = layer.where in _PLACES or layer.where.startswith("subplan ")
    return Origin(words="" if at is not None and plain else layer.where, at=at)


_PLACES = frozenset({"plan", "project", "user"})


def flag_name(setting: str) -> str:
    """The flag that sets it: `--budget` dollars and tokens, `--merge` the mode."""
    return "--" + setting.removesuffix(".tokens").removesuffix(".mode").replace("_", "-")


def agent_origin(plan: Plan, agent: Agent) -> Origin:
    """The file that defines it: the plan, or the nearest configuration that does."""
    documents = (layer.document for layer in plan.scopes[ROOT].layers if layer.document is not None)
    return next(
        Origin(at=document.position(agents.key(agent.name)))
        for document in documents
        if (agents := _agents_in(document)) is not None and agents.get(agent.name) is agent.source
    )


def notify_origin(plan: Plan) -> Origin:
    """The nearest that says who is told of what happens in a run."""
    documents = (layer.document for layer in plan.scopes[ROOT].layers if layer.document is not None)
    return next(
        Origin(at=document.position(document.root.key("notify")))
        for document in documents
        if isinstance(document.root, Table) and document.root.get("notify") is not None
    )


def _agents_in(document: Document) -> Table | None:
    agents = document.root.get("agents") if isinstance(document.root, Table) else None
    return agents if isinstance(agents, Table) else None
