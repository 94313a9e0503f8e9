"""Weft: plans of subplans, run with as much parallelism as they allow.

The names below are the library. Each is loaded when it is first used, so that `import weft`, and with it the
command, starts fast.
"""

from importlib import import_module

__version__ = "0.1.0.dev0"

TYPE_CHECKING = False  # type checkers take it as true; the module `typing` is slow to load
if TYPE_CHECKING:
    from weft.engine.states import FailureReason as FailureReason
    from weft.engine.states import SubplanExecutionState as SubplanExecutionState
    from weft.engine.states import SubplanTracker as SubplanTracker
    from weft.errors import ConfigError as ConfigError
    from weft.errors import FileFormatError as FileFormatError
    from weft.errors import InputError as InputError
    from weft.errors import MoveError as MoveError
    from weft.errors import NetError as NetError
    from weft.errors import NotEnabledError as NotEnabledError
    from weft.errors import NotRunningError as NotRunningError
    from weft.errors import StateError as StateError
    from weft.errors import SubplanTreeError as SubplanTreeError
    from weft.errors import UnknownOutcomeError as UnknownOutcomeError
    from weft.errors import WeftError as WeftError
    from weft.net.explore import Exploration as Exploration
    from weft.net.explore import explore as explore
    from weft.net.game import Firing as Firing
    from weft.net.game import TokenGame as TokenGame
    from weft.net.model import Arc as Arc
    from weft.net.model import Marking as Marking
    from weft.net.model import Net as Net
    from weft.net.model import Outcome as Outcome
    from weft.net.model import Place as Place
    from weft.net.model import PlaceKind as PlaceKind
    from weft.net.model import Transition as Transition
    from weft.net.plain import PlainNet as PlainNet
    from weft.net.plain import unfold as unfold
    from weft.plan.compile.compile import compile_plan as compile_plan
    from weft.plan.loader.load import load_plan as load_plan
    from weft.plan.model import Plan as Plan
    from weft.plan.text.problems import PlanError as PlanError
    from weft.subplans.agenda import Agenda as Agenda
    from weft.subplans.dispatcher import ParallelSubplanDispatcher as ParallelSubplanDispatcher
    from weft.subplans.limiter import AsyncSemaphoreLimiter as AsyncSemaphoreLimiter
    from weft.subplans.model import FailureMode as FailureMode
    from weft.subplans.model import ParallelExecutionConfig as ParallelExecutionConfig
    from weft.subplans.model import Policy as Policy
    from weft.subplans.model import Subplan as Subplan
    from weft.subplans.model import SubplanGroup as SubplanGroup
    from weft.subplans.results import AggregateSubplanError as AggregateSubplanError
    from weft.subplans.results import SubplanEvent as SubplanEvent
    from weft.subplans.results import SubplanExecutionError as SubplanExecutionError
    from weft.subplans.results import SubplanResult as SubplanResult
    from weft.subplans.simulate import Behaviour as Behaviour
    from weft.subplans.simulate import Simulation as Simulation
    from weft.subplans.simulate import simulate as simulate

_HOMES = {
    "weft.subplans.results": (
        "AggregateSubplanError", "SubplanEvent", "SubplanExecutionError", "SubplanResult",
    ),
    "weft.subplans.simulate": ("Behaviour", "Simulation", "simulate"),
    "weft.engine.states": ("FailureReason", "SubplanExecutionState", "SubplanTracker"),
    "weft.subplans.model": (
        "FailureMode", "ParallelExecutionConfig", "Policy", "Subplan", "SubplanGroup",
    ),
    "weft.errors": (
        "ConfigError", "FileFormatError", "InputError", "MoveError", "NetError", "NotEnabledError",
        "NotRunningError", "StateError", "SubplanTreeError", "UnknownOutcomeError", "WeftError",
    ),
    "weft.subplans.agenda": ("Agenda",),
    "weft.net.explore": ("Exploration", "explore"),
    "weft.net.game": ("Firing", "TokenGame"),
    "weft.net.model": ("Arc", "Marking", "Net", "Outcome", "Place", "PlaceKind", "Transition"),
    "weft.net.plain": ("PlainNet", "unfold"),
    "weft.plan.compile.compile": ("compile_plan",),
    "weft.plan.loader.load": ("load_plan",),
    "weft.plan.model": ("Plan",),
    "weft.plan.text.problems": ("PlanError",),
    "weft.subplans.dispatcher": ("ParallelSubplanDispatcher",),
    "weft.subplans.limiter": ("AsyncSemaphoreLimiter",),
}  # fmt: skip
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [*_HOME]  # noqa: PLE0604  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'weft' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOME[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
