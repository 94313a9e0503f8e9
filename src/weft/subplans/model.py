"""The input of the dispatcher: subplans, groups of subplans, and settings; checked before use."""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeVar, cast

from weft.errors import ConfigError, SubplanTreeError

MAX_PARALLEL_RANGE = (1, 32)

Work = Callable[[], Awaitable[Any]]
Choice = TypeVar("Choice", bound=StrEnum)


class FailureMode(StrEnum):
    """The effect of a subplan's failure on the others."""

    FAIL_FAST = "fail_fast"
    """The first failure cancels all running and waiting subplans."""
    CONTINUE_ON_ERROR = "continue_on_error"
    """Everything that does not depend on a failed subplan runs; failures are reported together."""


class Policy(StrEnum):
    """How many subplans run at once, and in which order they start."""

    PARALLEL = "parallel"
    """As many at once as fit, those on the longest remaining path first."""
    SERIAL = "serial"
    """One at a time, in the order written, depth first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParallelExecutionConfig:
    """Settings of a run; a group may override them."""

    max_parallel: int = 4
    failure_mode: FailureMode = FailureMode.FAIL_FAST
    policy: Policy = Policy.PARALLEL

    def __post_init__(self) -> None:
        check_max_parallel(self.max_parallel, "")
        object.__setattr__(
            self, "failure_mode", checked_choice(FailureMode, self.failure_mode, "failure_mode")
        )
        object.__setattr__(self, "policy", checked_choice(Policy, self.policy, "policy"))


@dataclass(frozen=True, slots=True)
class Subplan:
    """One piece of work: an async function without arguments."""

    id: str
    work: Work
    depends_on: tuple[str, ...] = ()
    """Ids of siblings, or paths from the root such as `/store/model`."""
    estimate: float = 1.0
    """The expected duration, in any unit; longer remaining paths start first."""


@dataclass(frozen=True, slots=True)
class SubplanGroup:
    """Subplans that together are one subplan. A setting of None is inherited from the group around it."""

    id: str
    subplans: "tuple[Subplan | SubplanGroup, ...]"
    depends_on: tuple[str, ...] = ()
    max_parallel: int | None = None
    """The most subplans inside it that run at once; the limits of outer groups hold as well."""
    failure_mode: FailureMode | None = None
    policy: Policy | None = None


AnySubplan = Subplan | SubplanGroup | Work
"""A bare async function is a subplan that is named by its position: `subplan-1`, `subplan-2` …"""


def check_max_parallel(value: object, where: str) -> None:
    low, high = MAX_PARALLEL_RANGE
    if type(value) is not int or not low <= value <= high:
        raise ConfigError(
            f"{where}max_parallel is {value!r}; a whole number from {low} to {high} is needed (default 4)"
        )


def checked_choice(kind: type[Choice], value: object, where: str) -> Choice:
    try:
        return kind(str(value))
    except ValueError:
        raise ConfigError(f"{where} is {value!r}; allowed: {', '.join(kind)}") from None


def checked(subplan: object, position: int, around: str) -> Subplan | SubplanGroup:
    """Returns a valid subplan. `around` is the path of the group that contains it."""
    if not isinstance(subplan, Subplan | SubplanGroup):
        if not callable(subplan):
            raise SubplanTreeError(
                f"number {position} of {around or 'the subplans'} is {subplan!r} ({type(subplan).__name__}); "
                "a Subplan, a SubplanGroup or an async function is needed"
            )
        return Subplan(f"subplan-{position}", cast("Work", subplan))
    _check_id(subplan.id, around)
    path = f"{around}/{subplan.id}" if around else subplan.id
    if isinstance(subplan, SubplanGroup):
        _check_group(subplan, path)
    else:
        _check_leaf(subplan, path)
    return subplan


def _check_id(id_: object, around: str) -> None:
    if not isinstance(id_, str) or not id_.isprintable() or "/" in id_ or id_.strip() in {"", ".", ".."}:
        raise SubplanTreeError(
            f"a subplan in {around or 'the plan'} has the id {id_!r}; "
            "printable characters without '/' are needed"
        )


def _check_group(group: SubplanGroup, path: str) -> None:
    if group.max_parallel is not None:
        check_max_parallel(group.max_parallel, f"{path}: ")
    if group.failure_mode is not None:
        checked_choice(FailureMode, group.failure_mode, f"{path}: failure_mode")
    if group.policy is not None:
        checked_choice(Policy, group.policy, f"{path}: policy")
    check_many(group.subplans, f"{path}: subplans")
    if not tuple(group.subplans):
        raise SubplanTreeError(f"{path}: the group is empty; a group needs at least one subplan")


def _check_leaf(subplan: Subplan, path: str) -> None:
    work: object = subplan.work
    if not callable(work):
        hint = "the function itself, not the coroutine it returns" if hasattr(work, "cr_code") else ""
        raise SubplanTreeError(
            f"{path}: work is {work!r} ({type(work).__name__}), which cannot be called; "
            f"give {hint or 'an async function without arguments'}"
        )
    estimate: object = subplan.estimate
    if type(estimate) not in {int, float} or not 0 <= subplan.estimate < float("inf"):
        raise SubplanTreeError(f"{path}: estimate is {estimate!r}; a number ≥ 0 is needed")


def check_many(values: object, where: str) -> None:
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise SubplanTreeError(f"{where} is {values!r}; a list is needed")


def checked_depends_on(subplan: Subplan | SubplanGroup, path: str) -> tuple[str, ...]:
    check_many(subplan.depends_on, f"{path}: depends_on")
    for name in cast("Iterable[object]", subplan.depends_on):
        if not isinstance(name, str):
            raise SubplanTreeError(f"{path}: depends_on holds {name!r}; ids are needed")
    return tuple(subplan.depends_on)
