"""What a project's configuration loosens of the user's own settings.

The project's configuration is nearer to the work, so it outranks the user's. But it comes with a repository: it
may make a run stricter, while a wider sandbox, a higher budget or automatic landing need the user's approval.
Only settings that the user has set count; defaults do not.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from msgspec import Struct

from weft.plan.display import notation
from weft.plan.hosts import LOCAL, HostChoice
from weft.plan.language.commands import ConfiguredCommand, plain
from weft.plan.settings import DEFAULTS, Layer
from weft.plan.text.document import Node, Scalar, Table
from weft.plan.text.emit import Plain

Rule = Callable[[Any, Any], bool]
"""Returns whether the second value, the project's, is looser than the first, the user's."""


class Relaxation(Struct, frozen=True, kw_only=True):
    """A setting of the project that is looser than the user's."""

    setting: ConfiguredCommand
    """Its keys in the project's configuration, and its value."""
    users: str
    """What the user has set, for people."""


def _order(*strictest_first: str) -> Rule:
    rank = {value: position for position, value in enumerate(strictest_first)}
    # An unknown value counts as the loosest, and so needs approval.
    return lambda users, projects: rank.get(projects, len(rank)) > rank.get(users, len(rank))


def _is_higher(users: int | None, projects: int | None) -> bool:
    return users is not None and (projects is None or projects > users)


def _has_more(users: tuple[str, ...], projects: tuple[str, ...]) -> bool:
    return not set(projects) <= set(users)


def _is_elsewhere(users: HostChoice, projects: HostChoice) -> bool:
    """Returns whether the project's work may run where the user does not let it run; `local` is always allowed."""
    return projects != users and not set(projects.names or ("",)) <= {LOCAL, *users.names}


RULES: Mapping[str, Rule] = {
    "budget": _is_higher,
    "budget.tokens": _is_higher,
    "on_budget": _order("stop", "drain"),
    "host": _is_elsewhere,
    "isolated_home": lambda users, projects: users and not projects,
    "isolation": _order("clone", "worktree", "dir", "none"),
    "merge.allow_red_base": lambda users, projects: projects and not users,
    "merge.mode": _order("manual", "confirm", "auto"),
    "merge.push": lambda users, projects: projects is not False and projects != users,
    "merge.resolve": _order("hold", "agent"),
    "merge.sign": lambda users, projects: users is True and projects is not True,
    # Hiding less is looser, so the arguments are swapped.
    "sandbox.hide": lambda users, projects: _has_more(projects, users),
    "sandbox.network": lambda users, projects: projects and not users,
    "sandbox.read": _has_more,
    "sandbox.use": _order("bwrap", "none"),
    "sandbox.write": _has_more,
    "strict_files": lambda users, projects: users and not projects,
}
"""The settings in which one value is stricter than another."""


def find_relaxations(project: Layer, user: Layer | None) -> tuple[Relaxation, ...]:
    """Returns what the project loosens, in the order of the settings."""
    if user is None:
        return ()
    users = _users_values(user)
    loosened = [*_of_settings(project, users)]
    if project.document is not None and isinstance(project.document.root, Table):
        loosened += _of_agents(project.document.root, users)
        loosened += _of_prices(project.document.root, users)
        loosened += _of_slots(project.document.root, user)
    return tuple(loosened)


def _users_values(user: Layer) -> dict[str, Any]:
    """Returns the user's settings. If the sandbox is on, all of its parts count, also the defaults."""
    # A user who turns the sandbox on relies on its defaults, too.
    is_on = user.values.get("sandbox.use", "none") != "none"
    whole = {name: DEFAULTS.values[name] for name in RULES if is_on and name.startswith("sandbox.")}
    return {**whole, **user.values}


def _of_settings(project: Layer, users: Mapping[str, Any]) -> Iterator[Relaxation]:
    for name, is_looser in RULES.items():
        if name in project.values and name in users and is_looser(users[name], project.values[name]):
            yield _relaxation(name, _show_value(name, project.values[name]), _show_value(name, users[name]))


def _of_agents(root: Table, users: Mapping[str, Any]) -> Iterator[Relaxation]:
    """Yields what agents loosen: their sandbox and home outrank the settings."""
    agents = root.get("agents")
    for name, (_, agent) in agents.entries.items() if isinstance(agents, Table) else ():
        sandbox, home = _values(agent, "sandbox", "isolated_home")
        if users.get("sandbox.use", "none") != "none" and sandbox not in {None, "bwrap"}:
            yield _relaxation(
                f"agents.{name}.sandbox", sandbox, _show_value("sandbox.use", users["sandbox.use"])
            )
        if users.get("isolated_home") and home not in {None, "true"}:
            yield _relaxation(f"agents.{name}.isolated_home", home, "true")


def _values(agent: Node, *names: str) -> Iterator[Any]:
    for name in names:
        node = agent.get(name) if isinstance(agent, Table) else None
        value = None if node is None else plain(node)
        yield value if value is None or isinstance(value, str) else str(value)


def _of_prices(root: Table, users: Mapping[str, Any]) -> Iterator[Relaxation]:
    """Yields the project's prices, because a budget in dollars depends on them."""
    prices = root.get("prices")
    if prices is not None and users.get("budget") is not None:
        yield _relaxation("prices", plain(prices), f"budget: {_show_value('budget', users['budget'])}")


def _of_slots(root: Table, user: Layer) -> Iterator[Relaxation]:
    """Yields more slots for this machine than the user has set. All else about a host counts as a command."""
    if user.document is None:
        return
    projects, users = (_local_slots(node) for node in (root, user.document.root))
    if (
        users is not None
        and _local_host(root) is not None
        and (projects is None or int(projects) > int(users))
    ):
        yield _relaxation(f"hosts.{LOCAL}.slots", projects or "no limit", users)


def _local_host(root: Node) -> Node | None:
    hosts = root.get("hosts") if isinstance(root, Table) else None
    return hosts.get(LOCAL) if isinstance(hosts, Table) else None


def _local_slots(root: Node) -> str | None:
    entry = _local_host(root)
    slots = entry.get("slots") if isinstance(entry, Table) else None
    return slots.text if isinstance(slots, Scalar) else None


def _relaxation(path: str, value: Plain, users: Plain) -> Relaxation:
    return Relaxation(setting=ConfiguredCommand(path, value), users=str(users))


def _show_value(name: str, value: object) -> Plain:
    return notation.setting(name, value)
