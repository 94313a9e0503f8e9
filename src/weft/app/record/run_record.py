"""The plan of a run as its record has it, for whoever only wants to look at the run.

To load a plan is to check all of it; here only the few things are read that a picture of a run shows, and of most
subplans not even those. The record is JSON, but for plans that JSON cannot hold; those are loaded, which takes
longer.
"""

from collections.abc import Iterator, Mapping
from typing import Any, cast

import msgspec
from msgspec import Struct

from weft.ports.journal import RunRecord

_Data = Mapping[str, Any]


class RecordedSubplan(Struct, frozen=True, kw_only=True):
    path: str
    is_leaf: bool
    depends_on: tuple[str, ...] = ()
    """All that it waits for: what it and the groups around it depend on."""
    steps: int = 0
    """How many a slice has."""
    lands: bool = False
    """Whether its result lands by itself."""
    has_branch: bool = False
    branch_prefix: str = "weft/"


class RecordedPlan:
    def __init__(self, name: str, data: _Data) -> None:
        self.id = name
        self.budget: object = data.get("budget")
        """The ceiling of the whole, as it is written."""
        self._data = data
        self._subplans = dict(_walk(data))

    @property
    def paths(self) -> Mapping[str, _Data]:
        """In plan order, a group before what is in it."""
        return self._subplans

    def is_leaf(self, path: str) -> bool:
        return "subplans" not in self._subplans[path]

    def subplan(self, path: str) -> RecordedSubplan:
        own = self._subplans[path]
        around = [self._subplans[one] for one in _around(path)]
        scopes = [own, *around, self._data]
        is_leaf = "subplans" not in own
        depends_on = (name for one in (own, *around) for name in one.get("depends_on", ()))
        when = next((one["merge"]["when"] for one in scopes if "when" in one.get("merge", {})), "milestone")
        return RecordedSubplan(
            path=path,
            is_leaf=is_leaf,
            depends_on=tuple(dict.fromkeys(name.removeprefix("/") for name in depends_on)),
            steps=self._length(own) if is_leaf else 0,
            lands=is_leaf if when == "slice" else not around,
            has_branch=_first(scopes, "isolation") in {"worktree", "clone"},
            branch_prefix=str(_first(scopes, "branch_prefix") or "weft/"),
        )

    def _length(self, one: _Data) -> int:
        pipelines: _Data = self._data.get("pipelines", {})
        return len(one["steps"] if "steps" in one else pipelines.get(one.get("pipeline", ""), ()))


def recorded_plan(record: RunRecord) -> RecordedPlan:
    return RecordedPlan(record.plan, _data(record))


def _data(record: RunRecord) -> _Data:
    if record.text.startswith("{"):
        found: _Data = msgspec.json.decode(record.text, type=dict[str, Any])
        return found
    from weft.plan.display.show import plan_entries  # noqa: PLC0415
    from weft.plan.loader.load import Surroundings, load_plan  # noqa: PLC0415 - rarely needed, and slow to load

    return plan_entries(load_plan(record.text, record.file, surroundings=Surroundings(git=False)))


def _walk(plan: _Data) -> Iterator[tuple[str, _Data]]:
    """No recursion: however deep a plan is, it can be read."""
    stack = [("", iter(plan.get("subplans", ())))]
    while stack:
        prefix, children = stack[-1]
        one = next(children, None)
        if one is None:
            stack.pop()
            continue
        path = f"{prefix}{one['id']}"
        yield path, one
        if "subplans" in one:
            stack.append((f"{path}/", iter(one["subplans"])))


def _around(path: str) -> Iterator[str]:
    """The groups around it, the nearest first."""
    while path := path.rpartition("/")[0]:
        yield path


def _first(scopes: list[_Data], name: str) -> object:
    return next((one[name] for one in scopes if name in one), None)


def dollars_of(budget: object) -> float | None:
    """Of what is written as a budget."""
    if isinstance(budget, Mapping):
        budget = cast("Mapping[str, object]", budget).get("usd")
    return float(budget) if isinstance(budget, int | float) else None


def tokens_of(budget: object) -> str | None:
    """Of what is written as a budget, as it is written."""
    tokens = cast("Mapping[str, object]", budget).get("tokens") if isinstance(budget, Mapping) else None
    return None if tokens is None else str(tokens)
