"""The recorded plan of a run, for views.

Loading a plan checks all of it, which is slow. This module reads only the few fields that a view shows, and only
for the subplans in it. The record is JSON, except for plans that JSON cannot hold; those are loaded completely.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

import msgspec
from msgspec import Struct

from weft.ports.journal import RunRecord

_Data = Mapping[str, Any]
_WITH_BRANCH = frozenset({"worktree", "clone"})
"""Values of `isolation` with which a subplan has a branch."""


class RecordedSubplan(Struct, frozen=True, kw_only=True):
    path: str
    is_leaf: bool
    depends_on: tuple[str, ...] = ()
    """The dependencies of the subplan and of the groups around it."""
    steps: int = 0
    """Number of steps of a slice."""
    lands: bool = False
    """Whether its result lands by itself."""
    has_branch: bool = False
    branch_prefix: str = "weft/"


class RecordedPlan:
    def __init__(self, name: str, data: _Data) -> None:
        self.id = name
        self.budget: object = data.get("budget")
        """The ceiling of the whole plan, as the plan file states it."""
        self._data = data
        self._subplans = dict(_walk(data))
        self._landing_settings: dict[str, tuple[str, object]] = {}
        """`merge.when` and `isolation` of each group that was asked for."""

    @property
    def paths(self) -> Mapping[str, _Data]:
        """Subplans by path, in plan order: a group comes before its contents."""
        return self._subplans

    # These two may go through ten thousand slices, and call no function for each.

    def slices(self, paths: Iterable[str]) -> list[str]:
        """Returns those of the subplans that have no subplans of their own."""
        subplans = self._subplans
        return [path for path in paths if "subplans" not in subplans[path]]

    def landing(self, paths: Iterable[str]) -> list[str]:
        """Returns those of the subplans that have a branch whose result lands by itself."""
        subplans, settings = self._subplans, self._landing_settings
        landing: list[str] = []
        if not any(scope.get("isolation") in _WITH_BRANCH for scope in (self._data, *subplans.values())):
            return landing
        for path in paths:
            own, group = subplans[path], path.rpartition("/")[0]
            if group not in settings or "merge" in own or "isolation" in own:
                when, isolation = self._settings_of(path)
            else:
                when, isolation = settings[group]
            if isolation in _WITH_BRANCH and ("subplans" not in own if when == "slice" else not group):
                landing.append(path)
        return landing

    def subplan(self, path: str) -> RecordedSubplan:
        own = self._subplans[path]
        groups = [self._subplans[group] for group in _around(path)]
        scopes = [own, *groups, self._data]
        is_leaf = "subplans" not in own
        depends_on = (name for subplan in (own, *groups) for name in subplan.get("depends_on", ()))
        when, isolation = self._settings_of(path)
        return RecordedSubplan(
            path=path,
            is_leaf=is_leaf,
            depends_on=tuple(dict.fromkeys(name.removeprefix("/") for name in depends_on)),
            steps=self._length(own) if is_leaf else 0,
            # With `merge.when: slice` each slice lands by itself; otherwise the subplans at the top of the plan
            # do, with all that was merged into them.
            lands=is_leaf if when == "slice" else not groups,
            has_branch=isolation in _WITH_BRANCH,
            branch_prefix=str(_first(scopes, "branch_prefix") or "weft/"),
        )

    def _settings_of(self, path: str) -> tuple[str, object]:
        """Returns `merge.when` and `isolation`. As in the plan language, the innermost scope decides."""
        own, group = self._subplans[path], path.rpartition("/")[0]
        # Remembered by group, as a group can have thousands of slices that inherit the same two values.
        if group not in self._landing_settings:
            scopes = [*(self._subplans[name] for name in (group, *_around(group)) if name), self._data]
            whens = (scope["merge"]["when"] for scope in scopes if "when" in scope.get("merge", {}))
            self._landing_settings[group] = next(whens, "milestone"), _first(scopes, "isolation")
        when, isolation = self._landing_settings[group]
        return own.get("merge", {}).get("when", when), own.get("isolation", isolation)

    def _length(self, subplan: _Data) -> int:
        pipelines: _Data = self._data.get("pipelines", {})
        return len(subplan["steps"] if "steps" in subplan else pipelines.get(subplan.get("pipeline", ""), ()))


def recorded_plan(record: RunRecord) -> RecordedPlan:
    return RecordedPlan(record.plan, _data(record))


def _data(record: RunRecord) -> _Data:
    # JSON with a key of more than 1,024 characters is not valid YAML; such a plan is recorded as YAML proper.
    if record.text.startswith("{"):
        data: _Data = msgspec.json.decode(record.text, type=dict[str, Any])
        return data
    from weft.plan.display.show import plan_entries  # noqa: PLC0415
    from weft.plan.loader.load import Surroundings, load_plan  # noqa: PLC0415 - rarely needed, and slow to load

    return plan_entries(load_plan(record.text, record.file, surroundings=Surroundings(git=False)))


def _walk(plan: _Data) -> Iterator[tuple[str, _Data]]:
    """Yields each subplan with its path. There is no recursion, so a plan may be nested to any depth."""
    stack = [("", iter(plan.get("subplans", ())))]
    while stack:
        prefix, children = stack[-1]
        for subplan in children:
            path = f"{prefix}{subplan['id']}"
            yield path, subplan
            if "subplans" in subplan:
                stack.append((f"{path}/", iter(subplan["subplans"])))
                break
        else:
            stack.pop()


def _around(path: str) -> Iterator[str]:
    """Yields the paths of the groups around a subplan, the innermost first."""
    while path := path.rpartition("/")[0]:
        yield path


def _first(scopes: list[_Data], name: str) -> object:
    return next((scope[name] for scope in scopes if name in scope), None)


def dollars_of(budget: object) -> float | None:
    """Returns the dollars of a `budget` setting; None without any."""
    if isinstance(budget, Mapping):
        budget = cast("Mapping[str, object]", budget).get("usd")
    return float(budget) if isinstance(budget, int | float) else None


def tokens_of(budget: object) -> str | None:
    """Returns the tokens of a `budget` setting as the plan writes them; None without any."""
    tokens = cast("Mapping[str, object]", budget).get("tokens") if isinstance(budget, Mapping) else None
    return None if tokens is None else str(tokens)
