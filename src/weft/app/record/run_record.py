"""The recorded plan of a run, for views.

Loading a plan checks all of it, which is slow. This module reads only the few fields that a view shows, and only
for the subplans in it. The record is JSON, except for plans that JSON cannot hold; those are loaded completely.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, cast

import msgspec
from msgspec import Raw, Struct

from weft.ports.journal import RunRecord

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


# Of a record, only these fields are decoded: the prompts of ten thousand slices are most of it.


class _Merge(Struct, frozen=True):
    when: str | None = None


class _Scope(Struct, frozen=True):
    """The plan, or a subplan of it."""

    id: str = ""
    isolation: str | None = None
    branch_prefix: str | None = None
    worktrees: str | None = None
    merge: _Merge = _Merge()
    subplans: tuple["_Scope", ...] | None = None
    depends_on: tuple[str, ...] = ()
    steps: tuple[Raw, ...] | None = None
    pipeline: str = ""


class _Agent(Struct, frozen=True):
    use: str = ""


class _Plan(_Scope, frozen=True):
    budget: Any = None
    agents: dict[str, _Agent] = {}
    pipelines: dict[str, tuple[Raw, ...]] = {}


class RecordedPlan:
    def __init__(self, name: str, record: bytes) -> None:
        """`record` is JSON."""
        self.id = name
        self._plan = msgspec.json.decode(record, type=_Plan)
        self.budget: object = self._plan.budget
        """The ceiling of the whole plan, as the plan file states it."""
        self._subplans = dict(_walk(self._plan))
        self._landing_settings: dict[str, tuple[str, str | None]] = {}
        """`merge.when` and `isolation` of each group that was asked for."""

    @property
    def paths(self) -> Collection[str]:
        """The paths of all subplans in plan order: a group comes before its contents."""
        return self._subplans

    # These two may go through ten thousand slices, and call no function for each.

    def slices(self, paths: Iterable[str]) -> list[str]:
        """Returns those of the subplans that have no subplans of their own."""
        subplans = self._subplans
        return [path for path in paths if subplans[path].subplans is None]

    def landing(self, paths: Iterable[str]) -> list[str]:
        """Returns those of the subplans that have a branch whose result lands by itself."""
        subplans, settings = self._subplans, self._landing_settings
        landing: list[str] = []
        if not any(scope.isolation in _WITH_BRANCH for scope in (self._plan, *subplans.values())):
            return landing
        for path in paths:
            own, group = subplans[path], path.rpartition("/")[0]
            if group not in settings or own.merge.when is not None or own.isolation is not None:
                when, isolation = self._settings_of(path)
            else:
                when, isolation = settings[group]
            if isolation in _WITH_BRANCH and (own.subplans is None if when == "slice" else not group):
                landing.append(path)
        return landing

    def subplan(self, path: str) -> RecordedSubplan:
        own = self._subplans[path]
        groups = [self._subplans[group] for group in _around(path)]
        scopes = [own, *groups, self._plan]
        is_leaf = own.subplans is None
        depends_on = (name for subplan in (own, *groups) for name in subplan.depends_on)
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
            branch_prefix=next((scope.branch_prefix for scope in scopes if scope.branch_prefix), "weft/"),
        )

    def worktrees_of(self, path: str) -> str:
        """Returns the template for the worktree of a slice."""
        scopes = [self._subplans[name] for name in (path, *_around(path))] + [self._plan]
        return next((scope.worktrees for scope in scopes if scope.worktrees is not None), "")

    def adapter_of(self, agent: str) -> str:
        """Returns the adapter of an agent; empty if the plan has no agent of that name."""
        return self._plan.agents[agent].use if agent in self._plan.agents else ""

    def _settings_of(self, path: str) -> tuple[str, str | None]:
        """Returns `merge.when` and `isolation`. As in the plan language, the innermost scope decides."""
        own, group = self._subplans[path], path.rpartition("/")[0]
        # Remembered by group, as a group can have thousands of slices that inherit the same two values.
        if group not in self._landing_settings:
            scopes = [*(self._subplans[name] for name in (group, *_around(group)) if name), self._plan]
            when = next((scope.merge.when for scope in scopes if scope.merge.when is not None), "milestone")
            isolation = next((scope.isolation for scope in scopes if scope.isolation is not None), None)
            self._landing_settings[group] = when, isolation
        when, isolation = self._landing_settings[group]
        return own.merge.when or when, own.isolation or isolation

    def _length(self, subplan: _Scope) -> int:
        if subplan.steps is not None:
            return len(subplan.steps)
        return len(self._plan.pipelines.get(subplan.pipeline, ()))


def recorded_plan(record: RunRecord) -> RecordedPlan:
    return RecordedPlan(record.plan, _json(record))


def _json(record: RunRecord) -> bytes:
    # JSON with a key of more than 1,024 characters is not valid YAML; such a plan is recorded as YAML proper.
    if record.text.startswith("{"):
        return record.text.encode(errors="surrogatepass")
    from weft.plan.display.show import plan_entries  # noqa: PLC0415
    from weft.plan.loader.load import Surroundings, load_plan  # noqa: PLC0415 - rarely needed, and slow to load

    plan = load_plan(record.text, record.file, surroundings=Surroundings(git=False))
    return msgspec.json.encode(plan_entries(plan))


def _walk(plan: _Scope) -> Iterator[tuple[str, _Scope]]:
    """Yields each subplan with its path. There is no recursion, so a plan may be nested to any depth."""
    stack = [("", iter(plan.subplans or ()))]
    while stack:
        prefix, children = stack[-1]
        for subplan in children:
            path = f"{prefix}{subplan.id}"
            yield path, subplan
            if subplan.subplans is not None:
                stack.append((f"{path}/", iter(subplan.subplans)))
                break
        else:
            stack.pop()


def _around(path: str) -> Iterator[str]:
    """Yields the paths of the groups around a subplan, the innermost first."""
    while path := path.rpartition("/")[0]:
        yield path


def dollars_of(budget: object) -> float | None:
    """Returns the dollars of a `budget` setting; None without any."""
    if isinstance(budget, Mapping):
        budget = cast("Mapping[str, object]", budget).get("usd")
    return float(budget) if isinstance(budget, int | float) else None


def tokens_of(budget: object) -> str | None:
    """Returns the tokens of a `budget` setting as the plan writes them; None without any."""
    tokens = cast("Mapping[str, object]", budget).get("tokens") if isinstance(budget, Mapping) else None
    return None if tokens is None else str(tokens)
